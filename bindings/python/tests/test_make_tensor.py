"""testing.make_tensor: dtypes, intervals, layouts and errors."""

import math

import pytest

import libtensor as torch
from libtensor.testing import make_tensor

DEFAULTS = {
    torch.bool: (0, 2),
    torch.uint8: (0, 10),
    torch.uint64: (0, 10),
    torch.int8: (-9, 10),
    torch.int64: (-9, 10),
    torch.float16: (-9, 9),
    torch.bfloat16: (-9, 9),
    torch.float64: (-9, 9),
    torch.complex32: (-9, 9),
    torch.complex64: (-9, 9),
}


@pytest.mark.parametrize("dtype", DEFAULTS, ids=str)
def test_default_interval(dtype):
    low, high = DEFAULTS[dtype]
    made = make_tensor(400, 5, dtype=dtype, device="cpu")
    assert made.dtype is dtype and made.shape == (400, 5) and made.is_contiguous() and not made.requires_grad
    parts = (torch.view_as_real(made) if dtype.is_complex else made).double()
    assert low <= parts.min() < low + (high - low) / 2 <= parts.max() <= high
    if not (dtype.is_floating_point or dtype.is_complex):
        assert parts.max() < high


@pytest.mark.parametrize("bounds", [(-1e300, 1e300), (-math.inf, math.inf)])
def test_bounds_beyond_the_dtype_are_clamped(bounds):
    made = make_tensor((1000,), dtype=torch.float32, device="cpu", low=bounds[0], high=bounds[1])
    assert made.isfinite().all() and made.max() > 1e38 and made.min() < -1e38
    made = make_tensor((1000,), dtype=torch.int8, device="cpu", low=-1000, high=1000)
    assert made.min() < -100 and made.max() > 100


def test_noncontiguous_has_every_second_element():
    made = make_tensor(2, 3, dtype=torch.float32, device="cpu", noncontiguous=True)
    assert made.stride() == (6, 2) and made.storage_offset() == 1 and made.untyped_storage().nbytes() == 48
    assert make_tensor(1, dtype=torch.float32, device="cpu", noncontiguous=True).is_contiguous()
    assert make_tensor((), dtype=torch.float32, device="cpu", noncontiguous=True).shape == ()


def test_memory_format_and_gradient():
    made = make_tensor(2, 3, 4, 5, dtype=torch.float32, device="cpu", memory_format=torch.channels_last, requires_grad=True)
    assert made.is_contiguous(memory_format=torch.channels_last) and made.requires_grad and made.is_leaf


def test_exclude_zero_replaces_zeros():
    assert make_tensor(50, dtype=torch.int64, device="cpu", low=0, high=1, exclude_zero=True).eq(1).all()
    assert make_tensor(50, dtype=torch.bool, device="cpu", exclude_zero=True).all()
    assert make_tensor(50, dtype=torch.float16, device="meta", exclude_zero=False).device.type == "meta"


def test_errors_name_the_values():
    def make(**options):
        make_tensor(2, **{"dtype": torch.float32, "device": "cpu"} | options)

    for options, text in (
        ({"low": 5, "high": 3}, "5 >= 3"),
        ({"low": 3, "high": 3, "dtype": torch.int64}, "3 >= 3"),
        ({"high": math.nan}, "high=nan"),
        ({"low": 200, "high": 400, "dtype": torch.int8}, r"\[200, 400\), but torch.int8 only supports \[-128, 128\)"),
        ({"requires_grad": True, "dtype": torch.int64}, "dtype=torch.int64"),
        ({"noncontiguous": True, "memory_format": torch.contiguous_format}, "mutually exclusive"),
    ):
        with pytest.raises(ValueError, match=text):
            make(**options)
    with pytest.warns(FutureWarning, match="full"):
        make(low=3, high=3)
