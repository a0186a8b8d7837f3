"""Functions of complex numbers, which devices make from those of real ones: the CPU's, but for the errors that libm has."""

import itertools

import numpy as np
import pytest
from cuda_player import ULP, distance

import libtensor as torch

NAMES = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "reciprocal", "abs", "angle", "sgn", "square", "sinc"),
]
# Units in the last place of a part by which results may differ: most of them are libm's.
BOUND = dict.fromkeys(("sin", "cos", "sinh", "cosh"), 3) | dict.fromkeys(("asin", "acos", "asinh", "acosh"), 5)
BOUND |= dict.fromkeys(("tan", "atan", "tanh", "atanh"), 6)
# The same of the larger part, where the CPU's own formulas let digits cancel.
LOOSE = {"sigmoid": 40, "sinc": 8, "exp2": 4, "log1p": 4, "rsqrt": 4, "expm1": 4}
ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, float("inf"), -float("inf"), float("nan")]


def grid(dtype):
    """Numbers of every size and kind, and at the ends of what there are."""
    g = torch.Generator().manual_seed(4)
    small = torch.randn(4000, generator=g, dtype=torch.float64) * 3
    sizes = torch.randn(4000, generator=g, dtype=torch.float64) * 10 ** (torch.rand(4000, generator=g, dtype=torch.float64) * 12 - 6)
    unit = torch.polar(torch.ones(500, dtype=torch.float64), torch.rand(500, generator=g, dtype=torch.float64) * 7)
    made = torch.cat([torch.complex(small[:2000], small[2000:]), torch.complex(sizes[:2000], sizes[2000:]), unit]).to(dtype)
    return made


def ends(dtype):
    return torch.tensor([complex(x, y) for x, y in itertools.product(ENDS, ENDS)], dtype=dtype)


def parts(x):
    a = np.atleast_1d(x.cpu().numpy())
    return (a.real.copy(), a.imag.copy()) if a.dtype.kind == "c" else (a,)


def apart(here, there, scaled):
    """How far results are from each other, in units in the last place of the parts, or of the larger one of each."""
    a, b = parts(here), parts(there)
    if not scaled:
        return max(map(distance, a, b))
    size = np.max(np.abs(np.stack(a)), 0)
    with np.errstate(all="ignore"):
        unit = np.maximum(np.spacing(size), np.finfo(size.dtype).tiny)
        far = [np.where((x == y) | np.isnan(x) & np.isnan(y), 0, np.abs(x - y) / unit) for x, y in zip(a, b, strict=True)]
    return np.nanmax(np.stack(far))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_functions_are_the_cpus(name, dtype):
    f, x = getattr(torch, name), grid(dtype)
    here, there = f(x), f(x.cuda())
    assert here.dtype == there.dtype and apart(here, there, name in LOOSE) <= (LOOSE.get(name) or BOUND.get(name, ULP))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_ends_are_the_cpus(name, dtype):
    f, x = getattr(torch, name), ends(dtype)
    for a, b in zip(parts(f(x)), parts(f(x.cuda())), strict=True):
        nan = np.isnan(a)
        assert np.array_equal(nan, np.isnan(b)), [
            (z, p, q) for z, p, q in zip(x.tolist(), f(x).tolist(), f(x.cuda()).tolist(), strict=True) if repr(p) != repr(q)
        ]
        assert distance(a[~nan], b[~nan]) <= 2 * ULP
        signed = ~nan & ~((a == 0) & np.isnan(x.numpy()))  # devices need not keep the sign of NaN, which such a zero may have
        assert np.array_equal(np.signbit(a[signed]), np.signbit(b[signed]))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_powers(dtype):
    x, y = grid(dtype)[:2000], grid(dtype)[1000:3000]
    for exponent in (2, 3, 1, -1, -2, 0.5, -0.5, 0, 1 + 2j, 2.5):
        assert apart(x**exponent, x.cuda() ** exponent, True) <= 20, exponent  # of e^(y log x), where units of y log x count
    near = y / y.abs().clamp(1)
    assert apart(x**near, x.cuda() ** near.cuda(), True) <= 40
    assert apart((1 + 2j) ** near, (1 + 2j) ** near.cuda(), True) <= 20


def test_compositions():
    x = grid(torch.complex128)[:300]
    for f in (
        lambda x: torch.logaddexp(x, x.flip(0)),
        lambda x: x.logsumexp(0),
        lambda x: x.view(10, 30).logsumexp(1),
        lambda x: torch.float_power(x, 2),
        lambda x: torch.ldexp(x, (x.real * 2).long() % 5),
        lambda x: (x / x.abs().clamp(1)).logcumsumexp(0),
    ):
        assert torch.allclose(f(x), f(x.cuda()).cpu(), 1e-13, 1e-13)


def test_halves():
    x = (torch.complex(torch.randn(50), torch.randn(50))).to(torch.complex32)
    for name in ("exp", "log", "sqrt", "sin", "tanh", "acos"):
        f = getattr(torch, name)
        assert torch.allclose(f(x).to(torch.complex64), f(x.cuda()).cpu().to(torch.complex64), 2e-3, 1e-3)
