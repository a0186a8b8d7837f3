"""Integers beyond int64, and NumPy's arrays without dimensions, as operands."""

import math

import numpy as np
import pytest

import libtensor as torch

BEYOND = 2**63
INTS = torch.tensor([1, -2, 3])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
def test_an_upper_bound_beyond_int64_limits_nothing(dtype):
    x = torch.tensor([1, 100, 3], dtype=dtype)
    for clamped in (x.clamp(max=BEYOND), torch.clamp_max(x, BEYOND), x.clip(0, 2**64 - 1), x.clone().clamp_(max=np.uint64(BEYOND))):
        assert clamped.dtype == dtype and clamped.tolist() == [1, 100, 3]
    for rejected in (lambda: x.clamp(min=BEYOND), lambda: torch.clamp_min(x, BEYOND), lambda: torch.clip(x, BEYOND, BEYOND)):
        with pytest.raises(RuntimeError, match=f"value {BEYOND} cannot be converted to type {dtype.name} without overflow"):
            rejected()


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: x.fill_(v),
        lambda x, v: x.masked_fill_(x > 0, v),
        lambda x, v: x.index_fill_(0, torch.tensor([0]), v),
        lambda x, v: x.scatter_(0, torch.tensor([0]), v),
        lambda x, v: x.__setitem__(0, v),
        lambda x, v: torch.where(x > 0, x, v),
        lambda x, v: torch.where(x > 0, v, x),
        lambda x, v: torch.full_like(x, v),
        lambda x, v: x.pow(v),
        lambda x, v: torch.arange(1, v),
    ],
)
@pytest.mark.parametrize("value", [BEYOND, 2**64 - 1, np.uint64(BEYOND)])
def test_integer_elements_reject_them(write, value):
    x = INTS.clone()
    with pytest.raises(RuntimeError, match=f"value {value} cannot be converted to type int64 without overflow"):
        write(x, value)
    assert x.tolist() == INTS.tolist()


def test_floats_hold_them():
    f = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert (INTS / BEYOND).tolist() == pytest.approx([2.0**-63, -(2.0**-62), 3 * 2.0**-63])
    assert torch.copysign(INTS, BEYOND).tolist() == [1.0, 2.0, 3.0]
    assert torch.xlogy(INTS, BEYOND).tolist() == pytest.approx([43.668273, -87.336546, 131.004822])
    assert (BEYOND - f).dtype == torch.float64 and (BEYOND * f).tolist() == [2.0**63, 2.0**64]
    assert f.clamp(max=BEYOND).tolist() == [1, 2] and f.clone().fill_(BEYOND).tolist() == [2.0**63] * 2


def test_arithmetic_of_integers_wraps_around():
    wrapped = [-(2**63) + 1, 2**63 - 2, -(2**63) + 3]
    assert (INTS + BEYOND).tolist() == wrapped == (BEYOND + INTS).tolist() == (INTS + np.uint64(BEYOND)).tolist()
    assert (BEYOND - INTS).dtype == torch.int64 and (BEYOND - INTS).tolist() == [2**63 - 1, -(2**63) + 2, 2**63 - 3]
    assert (INTS * BEYOND).tolist() == [-(2**63), 0, -(2**63)]


def test_arrays_without_dimensions_count_by_their_dtype():
    half = np.array(1.5)
    for mixed in (INTS + half, half + INTS, torch.add(INTS, half), INTS.add(half)):
        assert mixed.dtype == torch.float64 and mixed.tolist() == [2.5, -0.5, 4.5]
    assert (INTS * np.array(2, "f4")).dtype == torch.float32 and (torch.tensor(1.5) + half).dtype == torch.float64
    assert (torch.ones(2, dtype=torch.float16) * half).dtype == torch.float16  # as with a zero-dim tensor
    assert (np.array(3) == INTS).tolist() == [False, False, True]
    with pytest.raises(RuntimeError, match="result type float64 can't be cast to the desired output type int64"):
        INTS.clone().add_(half)
    scalars = (np.float64(1.5), np.float32(1.5), 1.5)
    assert [(INTS + s).dtype for s in scalars] == [torch.float32] * 3


def test_bounds_are_of_the_dtype_of_the_result():
    assert torch.ones(1, dtype=torch.int16).clamp(2**31, math.inf).tolist() == [2.0**31]
    assert torch.ones(1, dtype=torch.uint8).clamp(min=math.inf, max=-3).tolist() == [-3.0]
    with pytest.raises(RuntimeError, match="overflow"):
        torch.ones(1, dtype=torch.int16).clamp(2**31, 2**32)
