"""The page on tensor attributes: its examples in order. Examples that need a GPU raise a clear error."""

import pytest

import libtensor as torch

NAMES = {"float": torch.float, "double": torch.double, "cfloat": torch.complex64, "cdouble": torch.complex128, "int": torch.int}
NAMES |= {"long": torch.long, "uint": torch.uint8, "bool": torch.bool}


def tensors():
    return {name: torch.ones(1, dtype=dtype) for name, dtype in NAMES.items()}


def test_twelve_dtypes():
    names = ["float32", "float64", "complex64", "complex128", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool"]
    assert len({getattr(torch, name) for name in names}) == 12
    assert torch.float is torch.float32 and torch.half is torch.float16 and torch.cfloat is torch.complex64 and torch.long is torch.int64
    assert torch.float32.is_floating_point and not torch.int32.is_floating_point
    assert torch.complex64.is_complex and not torch.float64.is_complex


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        ("int", 5, torch.int32),
        ("long", "int", torch.int64),
        ("bool", "long", torch.int64),
        ("bool", "uint", torch.uint8),
        ("float", "double", torch.float64),
        ("cfloat", "cdouble", torch.complex128),
        ("bool", "int", torch.int32),
        ("long", "float", torch.float32),
    ],
)
def test_promotion(left, right, dtype):
    t = tensors()
    assert torch.add(t[left], t[right] if isinstance(right, str) else right).dtype is dtype


def test_numbers_and_zero_dim_tensors():
    assert torch.add(5, 5).dtype is torch.int64
    assert (torch.ones(1, dtype=torch.int) + torch.tensor(1, dtype=torch.long)).dtype is torch.int32


@pytest.mark.parametrize(
    ("left", "right"),
    [*[("float", n) for n in ("float", "int", "uint", "bool", "double")], ("int", "long"), ("int", "uint"), ("uint", "int")],
)
def test_allowed_in_place(left, right):
    t = tensors()
    kept = t[left].dtype
    t[left] *= t[right]
    assert t[left].dtype is kept


@pytest.mark.parametrize(("left", "right"), [("int", "float"), ("bool", "int"), ("bool", "uint"), ("float", "cfloat")])
def test_rejected_in_place(left, right):
    t = tensors()
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        t[left] *= t[right]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (("cuda:0",), "device(type='cuda', index=0)"),
        (("cpu",), "device(type='cpu')"),
        (("mps",), "device(type='mps')"),
        (("cuda",), "device(type='cuda')"),
        (("cuda", 0), "device(type='cuda', index=0)"),
        (("mps", 0), "device(type='mps', index=0)"),
        (("cpu", 0), "device(type='cpu', index=0)"),
        ((1,), "device(type='cuda', index=1)"),
    ],
)
def test_devices(arguments, printed):
    assert repr(torch.device(*arguments)) == printed


def test_device_as_a_context():
    with torch.device("meta"):
        r = torch.randn(2, 3)
        s = torch.randn(2, 3, device="cpu")
    assert r.device == torch.device("meta") and s.device == torch.device("cpu")
    with pytest.raises(RuntimeError, match="cuda"), torch.device("cuda:1"):
        torch.randn(2, 3)


@pytest.mark.parametrize("device", [torch.device("cuda:1"), "cuda:1", 1])
def test_tensors_on_a_gpu(device):
    with pytest.raises(RuntimeError, match="cuda"):
        torch.randn((2, 3), device=device)
    with pytest.raises(RuntimeError, match="cuda"):
        torch.ones(()).cuda()


def test_layout_and_strides():
    x = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    assert x.layout is torch.strided and x.stride() == (5, 1) and x.t().stride() == (1, 5)


def test_memory_formats():
    x = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3) and x.clone(memory_format=torch.preserve_format).stride() == x.stride()
    y = torch.empty(2, 3, 4, 5, 6, memory_format=torch.channels_last_3d)
    assert y.stride() == (360, 1, 90, 18, 3) and x.contiguous(memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)


def test_methods_of_the_complex_dtypes():
    t = torch.ones(2)
    assert [f().dtype for f in (t.chalf, t.cfloat, t.cdouble)] == [torch.complex32, torch.complex64, torch.complex128]
