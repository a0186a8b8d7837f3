"""The dtypes of eight and four bits, which have names and numerical properties."""

import copy
import pickle

import pytest

import libtensor as torch

NAMES = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"]


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    d = getattr(torch, name)
    assert str(d) == f"torch.{name}" and d.itemsize == 1 and d.is_floating_point and not d.is_complex
    assert d.is_signed is (name != "float8_e8m0fnu")
    assert d == d and d != torch.uint8 and d.to_real() is d
    assert copy.copy(d) is copy.deepcopy(d) is pickle.loads(pickle.dumps(d)) is d
    assert torch.zeros(1).dtype != d and {d: 1}[getattr(torch, name)] == 1


@pytest.mark.parametrize(
    ("name", "eps", "smallest", "largest"),
    [
        ("float8_e4m3fn", 0.125, 0.015625, 448.0),
        ("float8_e5m2", 0.25, 2.0**-14, 57344.0),
        ("float8_e4m3fnuz", 0.125, 2.0**-7, 240.0),
        ("float8_e5m2fnuz", 0.25, 2.0**-15, 57344.0),
    ],
)
def test_numerical_properties(name, eps, smallest, largest):
    f = torch.finfo(getattr(torch, name))
    assert (f.eps, f.tiny, f.smallest_normal, f.max, f.min) == (eps, smallest, smallest, largest, -largest)
    assert f.bits == 8 and f.resolution == 1.0 and f.dtype == name and repr(f).endswith(f"dtype={name})")


def test_numerical_properties_of_exponents():
    f = torch.finfo(torch.float8_e8m0fnu)
    assert (f.eps, f.min, f.max) == (1.0, 2.0**-127, 2.0**127)
    with pytest.raises(NotImplementedError, match="Float4_e2m1fn_x2"):
        torch.finfo(torch.float4_e2m1fn_x2)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_them_raise(name):
    d = getattr(torch, name)
    for call in (
        lambda: torch.empty(2, dtype=d),
        lambda: torch.ones(2).to(d),
        lambda: torch.ones(2).to(dtype=d),
        lambda: torch.ones(2).sum(dtype=d),
    ):
        with pytest.raises(NotImplementedError, match=f"tensors of torch.{name} are not supported"):
            call()
    with pytest.raises((NotImplementedError, TypeError, ValueError)):
        torch.tensor([1.0], dtype=d)
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
        d.to_complex()
