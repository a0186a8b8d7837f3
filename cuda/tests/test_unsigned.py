"""Arithmetic on uint16, uint32 and uint64, with values of the whole range: the results of the CPU."""

import operator

import pytest
from operands import DTYPES, check

import libtensor as torch

UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]
dtypes = pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
UNARY = [
    "abs",
    "sign",
    "square",
    "neg",
    "bitwise_not",
    "logical_not",
    "isnan",
    "isfinite",
    "signbit",
    "sqrt",
    "exp",
    "sigmoid",
    "floor",
    "positive",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "fmax",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "eq",
    "lt",
    "ge",
    "gcd",
    "floor_divide",
]
BINARY += ["remainder", "fmod", "true_divide", "outer", "dot", "isin", "logical_xor"]
REDUCED = [
    "sum",
    "prod",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "cumsum",
    "cumprod",
    "cummax",
    "sort",
    "unique",
    "mode",
    "median",
    "aminmax",
]


def values(dtype, n=300, seed=0):
    """Values of all magnitudes, among them the ends of the range and those of the signed dtype of the same size."""
    top = torch.iinfo(dtype).max
    edges = [0, 1, 2, 3, 7, top, top - 1, top // 2, top // 2 + 1, top // 2 + 2]
    g = torch.Generator().manual_seed(seed)
    drawn = [
        word >> shift
        for word, shift in zip(
            torch.randint(0, 2**62, (n - len(edges),), generator=g).tolist(),
            torch.randint(0, 62, (n - len(edges),), generator=g).tolist(),
            strict=True,
        )
    ]
    return torch.tensor(edges + [word & top for word in drawn], dtype=dtype)


@dtypes
@pytest.mark.parametrize("name", UNARY)
def test_elements(dtype, name):
    check(getattr(torch, name), values(dtype))
    check(getattr(torch, name), values(dtype)[::3])


@dtypes
@pytest.mark.parametrize("name", BINARY)
def test_pairs(dtype, name):
    x, y = values(dtype), values(dtype, seed=1).flip(0).clamp(min=1)
    check(getattr(torch, name), x, y)


@dtypes
def test_shifts_powers_and_scalars(dtype):
    x = values(dtype)
    for f in (
        lambda x: x + 3,
        lambda x: 7 - x,
        lambda x: x * 2.5,
        lambda x: x << 3,
        lambda x: x >> 2,
        lambda x: x**2,
        lambda x: x // 5,
        lambda x: x % 7,
    ):
        check(f, x)
    for compare in (operator.lt, operator.ge, operator.eq):
        check(lambda x, c=compare: c(x, -1), x)
        check(lambda x, c=compare: c(x, torch.iinfo(dtype).max // 2 + 1), x)


@dtypes
@pytest.mark.parametrize("name", REDUCED)
def test_reductions(dtype, name):
    x = values(dtype)[:296].reshape(8, 37)
    arguments = () if name in ("unique", "aminmax") else (1,)
    check(lambda x: getattr(x, name)(*arguments), x)
    check(lambda x: getattr(x, name)(*arguments), x[:, ::2])


@dtypes
@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_conversions(dtype, to):
    x = values(dtype)
    check(lambda x: x.to(to), x)
    check(lambda x: x.to(to), x[::2])
    numbers = torch.tensor([0, 1, 77.5, 255, 3, 0.9]).to(to)
    check(lambda x: x.to(dtype), numbers)


@dtypes
@pytest.mark.parametrize("other", DTYPES, ids=str)
def test_promotion(dtype, other):
    if other == torch.complex32:
        pytest.skip("no operator computes in complex32")
    x, y = values(dtype), torch.arange(300).to(other)
    check(torch.add, x, y)
    check(torch.lt, x, y) if not other.is_complex else check(torch.eq, x, y)


@dtypes
def test_negative_values_of_signed_dtypes_wrap(dtype):
    for source in (torch.int8, torch.int64, torch.float32, torch.float64):
        check(lambda x: x.to(dtype), torch.tensor([-1, -2, -100, 5]).to(source))
    check(lambda x: x.to(dtype), torch.tensor([0.0, 2.0**63, 2.0**63 + 2048, 1e15], dtype=torch.float64)) if dtype == torch.uint64 else None


@dtypes
def test_products_of_matrices(dtype):
    a, b = values(dtype)[:77].reshape(7, 11), values(dtype, seed=2)[:88].reshape(11, 8)
    check(torch.mm, a, b)
    check(lambda a, b: torch.addmm(a[:, :8], a, b, beta=3, alpha=2), a, b)


@dtypes
def test_indices_of_the_dtype_and_writes_at_indices(dtype):
    x, at = values(dtype), torch.tensor([5, 0, 299, 5, 17]).to(dtype)
    check(lambda x, at: x[at], x, at)
    check(lambda x, at: x.index_add(0, at.long(), x[:5]), x, at)
    check(lambda x, at: x.scatter_reduce(0, at.long(), x[:5], "amax"), x, at)
    check(lambda x: x.masked_fill(x > 7, 3), x)
    check(lambda x, at: torch.searchsorted(x.sort().values, x[at]), x, at)
    check(lambda x, at: torch.where(x > 5, x, 7), x, at)


@dtypes
def test_creation(dtype):
    for f in (
        lambda d: torch.arange(3, 90, 4, dtype=dtype, device=d),
        lambda d: torch.full((4,), torch.iinfo(dtype).max, dtype=dtype, device=d),
    ):
        assert torch.equal(f("cuda").cpu(), f("cpu"))
    x = torch.zeros(1000, dtype=dtype, device="cuda").random_()
    assert x.float().std() > 0 and x.max().item() <= torch.iinfo(dtype).max
