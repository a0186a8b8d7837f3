"""uint16, uint32 and uint64, compared with NumPy: operators, promotion, numbers, conversions, indices, printing, random numbers."""

import array
import copy
import operator
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

import libtensor as torch

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
dtypes = pytest.mark.parametrize("dtype", UNSIGNED, ids=lambda d: d.name)


def bits(dtype):
    return 8 * dtype.itemsize


def values(dtype, n=37, seed=0):
    """Numbers of all magnitudes, both ends of the range and the middle, where the sign of a signed dtype would be, among them."""
    rng = np.random.default_rng(seed)
    top = 2 ** bits(dtype) - 1
    edges = [0, 1, 2, 3, 7, top, top - 1, top // 2, top // 2 + 1, top // 2 + 2]
    rest = [int(x) >> int(rng.integers(0, bits(dtype))) for x in rng.integers(0, top, n - len(edges), dtype=np.uint64, endpoint=True)]
    return rng.permutation(np.array(edges + rest, dtype=dtype.name))


def both(array):
    """Returns the array as a tensor with separate memory, and the array."""
    return torch.from_numpy(array.copy()), array


def agree(found, expected, rtol=0.0):
    found = found if isinstance(found, (tuple, list)) else (found,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    for f, e in zip(found, expected, strict=True):
        e = np.asarray(e)
        assert tuple(f.shape) == e.shape
        if rtol:
            np.testing.assert_allclose(f.double().numpy(), e.astype("f8"), rtol=rtol)
        else:
            np.testing.assert_array_equal(f.numpy(), e)


BINARY = {
    "add": (lambda x, y: x + y, lambda a, b: a + b),
    "sub": (lambda x, y: x - y, lambda a, b: a - b),
    "mul": (lambda x, y: x * y, lambda a, b: a * b),
    "maximum": (torch.maximum, np.maximum),
    "minimum": (torch.minimum, np.minimum),
    "fmax": (torch.fmax, np.fmax),
    "fmin": (torch.fmin, np.fmin),
    "and": (lambda x, y: x & y, lambda a, b: a & b),
    "or": (lambda x, y: x | y, lambda a, b: a | b),
    "xor": (lambda x, y: x ^ y, lambda a, b: a ^ b),
    "eq": (lambda x, y: x == y, lambda a, b: a == b),
    "ne": (lambda x, y: x != y, lambda a, b: a != b),
    "lt": (lambda x, y: x < y, lambda a, b: a < b),
    "le": (lambda x, y: x <= y, lambda a, b: a <= b),
    "gt": (lambda x, y: x > y, lambda a, b: a > b),
    "ge": (lambda x, y: x >= y, lambda a, b: a >= b),
    "logical_and": (torch.logical_and, np.logical_and),
    "logical_or": (torch.logical_or, np.logical_or),
    "logical_xor": (torch.logical_xor, np.logical_xor),
    "gcd": (torch.gcd, np.gcd),
    "isin": (torch.isin, np.isin),
    "outer": (torch.outer, np.outer),
    "dot": (torch.dot, lambda a, b: (a * b).sum(dtype=a.dtype)),
    "where": (lambda x, y: torch.where(x > y, x, y), lambda a, b: np.where(a > b, a, b)),
    "cat": (lambda x, y: torch.cat([x, y]), lambda a, b: np.concatenate([a, b])),
    "stack": (lambda x, y: torch.stack([x, y], 1), lambda a, b: np.stack([a, b], 1)),
    "searchsorted": (lambda x, y: torch.searchsorted(x.sort().values, y), lambda a, b: np.searchsorted(np.sort(a), b)),
    "bucketize": (lambda x, y: torch.bucketize(y, x.sort().values, right=True), lambda a, b: np.searchsorted(np.sort(a), b, "right")),
    "equal": (lambda x, y: torch.tensor([torch.equal(x, x), torch.equal(x, y)]), lambda a, b: np.array([True, False])),
}


@dtypes
@pytest.mark.parametrize("name", BINARY)
def test_operators_of_two(name, dtype):
    ours, theirs = BINARY[name]
    (x, a), (y, b) = both(values(dtype)), both(values(dtype, seed=1))
    agree(ours(x, y), theirs(a, b))


DIVISIONS = {
    "floor_divide": (lambda x, y: x // y, lambda a, b: a // b),
    "trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), lambda a, b: a // b),
    "remainder": (lambda x, y: x % y, lambda a, b: a % b),
    "fmod": (torch.fmod, np.fmod),
}


@dtypes
@pytest.mark.parametrize("name", DIVISIONS)
def test_division(name, dtype):
    ours, theirs = DIVISIONS[name]
    (x, a), (y, b) = both(values(dtype)), both(np.maximum(values(dtype, seed=1), 1))
    agree(ours(x, y), theirs(a, b))
    for number in (1, 3, 2 ** (bits(dtype) - 1), 2 ** bits(dtype) - 1):
        agree(ours(x, number), theirs(a, a.dtype.type(number)))
    with pytest.raises(RuntimeError, match="ZeroDivisionError|zero"):
        ours(x, torch.zeros_like(x))
    assert (x / y).dtype == torch.float32
    agree(x / y, a / b, rtol=1e-6)
    agree(x.double() / y, a / b, rtol=1e-15)


SHIFTS = {
    "lshift": (lambda x, y: x << y, lambda a, b: a << b),
    "rshift": (lambda x, y: x >> y, lambda a, b: a >> b),
    "left": (torch.bitwise_left_shift, np.left_shift),
    "right": (torch.bitwise_right_shift, np.right_shift),
}


@dtypes
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name, dtype):
    ours, theirs = SHIFTS[name]
    (x, a), by = both(values(dtype)), np.arange(37, dtype=dtype.name) % (bits(dtype) + 2)
    agree(ours(x, torch.from_numpy(by)), theirs(a, by))
    for number in (0, 1, bits(dtype) - 1):
        agree(ours(x, number), theirs(a, a.dtype.type(number)))


UNARY = {
    "neg": (lambda x: -x, lambda a: -a),
    "not": (lambda x: ~x, lambda a: ~a),
    "abs": (abs, np.abs),
    "sign": (torch.sign, np.sign),
    "square": (torch.square, np.square),
    "positive": (torch.positive, np.positive),
    "floor": (torch.floor, lambda a: a),
    "ceil": (torch.ceil, lambda a: a),
    "trunc": (torch.trunc, lambda a: a),
    "round": (torch.round, lambda a: a),
    "signbit": (torch.signbit, lambda a: np.zeros(a.shape, bool)),
    "isfinite": (torch.isfinite, np.isfinite),
    "isnan": (torch.isnan, np.isnan),
    "logical_not": (torch.logical_not, np.logical_not),
    "cube": (lambda x: x**3, lambda a: a**3),
    "clamp": (lambda x: x.clamp(3, 2000), lambda a: np.clip(a, 3, 2000)),
    "clamp_min": (lambda x: x.clamp(min=x[5]), lambda a: np.maximum(a, a[5])),
    "relu": (torch.relu, lambda a: a),
    "flip": (lambda x: x.flip(0), np.flip),
    "roll": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "repeat": (lambda x: x.repeat(2, 3), lambda a: np.tile(a, (2, 3))),
    "repeat_interleave": (lambda x: x.repeat_interleave(3), lambda a: np.repeat(a, 3)),
    "diff": (torch.diff, np.diff),
    "diag": (torch.diag, np.diag),
    "tril": (lambda x: x[:36].reshape(6, 6).tril(), lambda a: np.tril(a[:36].reshape(6, 6))),
    "triu": (lambda x: x[:36].reshape(6, 6).triu(1), lambda a: np.triu(a[:36].reshape(6, 6), 1)),
    "transposed": (lambda x: x[:36].reshape(4, 9).t().contiguous(), lambda a: np.ascontiguousarray(a[:36].reshape(4, 9).T)),
    "index": (lambda x: x[torch.tensor([3, -1, 3])], lambda a: a[[3, -1, 3]]),
    "mask": (lambda x: x[x > 5], lambda a: a[a > 5]),
    "take": (lambda x: torch.take(x, torch.tensor([[0, 5], [7, 1]])), lambda a: np.take(a, [[0, 5], [7, 1]])),
    "gather": (lambda x: x.gather(0, torch.arange(36, -1, -1)), lambda a: a[::-1]),
    "index_select": (lambda x: x.index_select(0, torch.tensor([1, 1, 2])), lambda a: a[[1, 1, 2]]),
    "masked_fill": (lambda x: x.masked_fill(x > 5, 9), lambda a: np.where(a > 5, a.dtype.type(9), a)),
    "nonzero": (lambda x: torch.nonzero(x, as_tuple=True), lambda a: tuple(np.nonzero(a))),
    "sort": (lambda x: x.sort().values, np.sort),
    "descending": (lambda x: x.sort(descending=True).values, lambda a: np.sort(a)[::-1]),
    "argsort": (lambda x: x.argsort(stable=True), lambda a: np.argsort(a, kind="stable")),
    "unique": (
        lambda x: torch.unique(x % 10, return_inverse=True, return_counts=True),
        lambda a: np.unique(a % 10, return_inverse=True, return_counts=True),
    ),
    "topk": (lambda x: x.topk(5).values, lambda a: np.sort(a)[::-1][:5]),
    "kthvalue": (lambda x: x.kthvalue(30).values, lambda a: np.sort(a)[29]),
    "median": (torch.median, lambda a: np.sort(a)[18]),
    "bincount": (lambda x: torch.bincount(x % 10), lambda a: np.bincount((a % 10).astype("i8"))),
    "max": (torch.max, np.max),
    "min": (torch.min, np.min),
    "amax": (lambda x: x[:36].reshape(6, 6).amax(1), lambda a: a[:36].reshape(6, 6).max(1)),
    "amin": (lambda x: x[:36].reshape(6, 6).amin(0), lambda a: a[:36].reshape(6, 6).min(0)),
    "aminmax": (lambda x: tuple(torch.aminmax(x)), lambda a: (a.min(), a.max())),
    "argmax": (torch.argmax, np.argmax),
    "argmin": (torch.argmin, np.argmin),
    "cummax": (lambda x: x.cummax(0).values, np.maximum.accumulate),
    "cummin": (lambda x: x.cummin(0).values, np.minimum.accumulate),
    "sum_own": (lambda x: x.sum(dtype=x.dtype), lambda a: a.sum(dtype=a.dtype)),
    "prod_own": (lambda x: (x | 1).prod(dtype=x.dtype), lambda a: (a | 1).prod(dtype=a.dtype)),
    "cumsum_own": (lambda x: x.cumsum(0, dtype=x.dtype), lambda a: a.cumsum(dtype=a.dtype)),
    "sum": (lambda x: x.sum().view(torch.uint64), lambda a: a.sum(dtype="u8")),
    "prod": (lambda x: (x | 1).prod().view(torch.uint64), lambda a: (a | 1).prod(dtype="u8")),
    "cumsum": (lambda x: x.cumsum(0).view(torch.uint64), lambda a: a.cumsum(dtype="u8")),
    "cumprod": (lambda x: (x | 1).cumprod(0).view(torch.uint64), lambda a: (a | 1).cumprod(dtype="u8")),
    "any": (torch.any, np.any),
    "all": (torch.all, np.all),
    "count_nonzero": (torch.count_nonzero, np.count_nonzero),
    "matmul": (lambda x: x[:36].reshape(4, 9) @ x[:36].reshape(9, 4), lambda a: a[:36].reshape(4, 9) @ a[:36].reshape(9, 4)),
    "einsum": (lambda x: torch.einsum("i,j->ij", x, x), lambda a: np.outer(a, a)),
    "scatter_add": (
        lambda x: torch.zeros(5, dtype=x.dtype).scatter_add_(0, torch.arange(37) % 5, x),
        lambda a: np.array([a[i::5].sum(dtype=a.dtype) for i in range(5)]),
    ),
    "scatter_amax": (
        lambda x: torch.zeros(5, dtype=x.dtype).scatter_reduce_(0, torch.arange(37) % 5, x, "amax"),
        lambda a: np.array([a[i::5].max() for i in range(5)]),
    ),
    "scatter_amin": (
        lambda x: torch.zeros(5, dtype=x.dtype).scatter_reduce_(0, torch.arange(37) % 5, x, "amin", include_self=False),
        lambda a: np.array([a[i::5].min() for i in range(5)]),
    ),
}


@dtypes
@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one(name, dtype):
    ours, theirs = UNARY[name]
    x, a = both(values(dtype))
    agree(ours(x), theirs(a))


@dtypes
def test_lcm_and_power(dtype):
    (x, a), (y, b) = both(values(dtype) % 50 + 1), both(values(dtype, seed=1) % 50 + 1)
    agree(torch.lcm(x, y), np.lcm(a, b))
    agree(x**y, a**b)
    agree(2 ** (y % 8), 2 ** (b % 8))


FLOATS = {
    "sqrt": (torch.sqrt, np.sqrt),
    "rsqrt": (torch.rsqrt, lambda a: 1 / np.sqrt(a)),
    "reciprocal": (torch.reciprocal, lambda a: 1 / a.astype("f8")),
    "log": (torch.log, np.log),
    "log1p": (torch.log1p, np.log1p),
    "log2": (torch.log2, np.log2),
    "exp": (lambda x: torch.exp(x.clamp(max=50)), lambda a: np.exp(np.minimum(a, 50))),
    "atan": (torch.atan, np.arctan),
    "mean": (lambda x: x.mean(dtype=torch.float64), lambda a: a.astype("f8").mean()),
    "deg2rad": (torch.deg2rad, lambda a: np.deg2rad(a.astype("f8"))),
    "times": (lambda x: x * 0.5, lambda a: a * 0.5),
}


@dtypes
@pytest.mark.parametrize("name", FLOATS)
def test_operators_that_return_floats(name, dtype):
    ours, theirs = FLOATS[name]
    x, a = both(np.maximum(values(dtype), 1))
    agree(ours(x), theirs(a.astype("f8")), rtol=2e-6)


@dtypes
@pytest.mark.parametrize("n", [0, 1, 1000, 100_003])
def test_large_ones(dtype, n):
    rng = np.random.default_rng(3)
    top = 2 ** bits(dtype) - 1
    (x, a), (y, b) = (both(rng.integers(0, top, n, dtype=dtype.name, endpoint=True)) for _ in range(2))
    agree(x + y, a + b)
    agree(torch.maximum(x, y), np.maximum(a, b))
    agree(x < y, a < b)
    agree(x.sort().values, np.sort(a))
    agree(x.sum().view(torch.uint64), a.sum(dtype="u8"))
    agree(torch.unique(x), np.unique(a))
    if n:
        agree(torch.stack((x.max(), x.min())), np.array([a.max(), a.min()]))


# ---------------------------------------------------------------------------------------------------- other dtypes

SIGNED = ("int8", "int16", "int32", "int64")
PROMOTED = {
    ("uint16", "bool"): "uint16",
    ("uint16", "uint8"): "uint16",
    ("uint16", "int8"): "int32",
    ("uint16", "int16"): "int32",
    ("uint16", "int32"): "int32",
    ("uint16", "int64"): "int64",
    ("uint16", "uint32"): "uint32",
    ("uint16", "uint64"): "uint64",
    ("uint32", "bool"): "uint32",
    ("uint32", "uint8"): "uint32",
    ("uint32", "int8"): "int64",
    ("uint32", "int16"): "int64",
    ("uint32", "int32"): "int64",
    ("uint32", "int64"): "int64",
    ("uint32", "uint64"): "uint64",
    ("uint64", "bool"): "uint64",
    ("uint64", "uint8"): "uint64",
    ("uint64", "int8"): "float64",
    ("uint64", "int16"): "float64",
    ("uint64", "int32"): "float64",
    ("uint64", "int64"): "float64",
    **{(u, f): f for u in ("uint16", "uint32", "uint64") for f in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")},
}


@pytest.mark.parametrize(("a", "b"), PROMOTED)
def test_promotion(a, b):
    expected = getattr(torch, PROMOTED[a, b])
    first, second = getattr(torch, a), getattr(torch, b)
    assert torch.promote_types(first, second) is torch.promote_types(second, first) is expected
    x, y = torch.ones(2, dtype=first), torch.ones(2, dtype=second)
    assert (x * y).dtype is (y * x).dtype is torch.result_type(x, y) is expected
    if "complex" not in b:
        assert (x == y).tolist() == [True, True]


@dtypes
def test_numbers_leave_the_dtype(dtype):
    x = torch.ones(2, dtype=dtype)
    for number in (1, 2 ** bits(dtype) - 1, True):
        assert torch.result_type(x, number) is (x + number).dtype is (number * x).dtype is dtype
    assert (x + 2 ** (bits(dtype) - 1)).tolist() == [2 ** (bits(dtype) - 1) + 1] * 2
    assert (x - 2).tolist() == [2 ** bits(dtype) - 1] * 2 and (0 - x).tolist() == [2 ** bits(dtype) - 1] * 2
    assert (x + 1.5).dtype is torch.float32 and (x * 1j).dtype is torch.complex64
    assert (x + torch.tensor(1)).dtype is dtype and torch.result_type(x, torch.tensor(1.0)) is torch.float32


@dtypes
@pytest.mark.parametrize("other", SIGNED)
def test_comparisons_across_signs(dtype, other):
    theirs = np.array([-1, 0, 1, 100, -128], dtype=other)
    a = np.array([2 ** bits(dtype) - 1, 0, 1, 100, 2 ** bits(dtype) - 128], dtype=dtype.name)
    x, y = torch.from_numpy(a), torch.from_numpy(theirs)
    for compare in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        agree(getattr(x, compare)(y), getattr(a, compare)(theirs))
        agree(getattr(y, compare)(x), getattr(theirs, compare)(a))


COMPARISONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
EDGES = [v for n in (0, 8, 16, 32, 63, 64) for v in (-(2**n) - 1, -(2**n), 1 - 2**n, 2**n - 1, 2**n, 2**n + 1)]


def pairs(dtype, other):
    """Returns all edge values of a dtype and all of another one, as a column and a row."""

    def held(d):
        if d is torch.bool:
            return [False, True]
        return [v for v in dict.fromkeys(EDGES) if torch.iinfo(d).min <= v <= torch.iinfo(d).max]

    a, b = held(dtype), held(other)
    return a, b, torch.tensor(a, dtype=dtype)[:, None], torch.tensor(b, dtype=other)


@dtypes
@pytest.mark.parametrize("other", INTEGERS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_exact(name, dtype, other):
    compare, ours = COMPARISONS[name], getattr(torch, name)
    a, b, x, y = pairs(dtype, getattr(torch, other))
    table, turned = [[compare(v, w) for w in b] for v in a], [[compare(w, v) for w in b] for v in a]
    assert ours(x, y).tolist() == table and ours(y, x).tolist() == turned
    assert ours(x, y, out=torch.empty(0, dtype=torch.bool)).tolist() == table
    assert ours(x, y, out=torch.empty(len(a), len(b))).tolist() == [[float(v) for v in row] for row in table]
    assert torch.vmap(ours, (0, None))(x[:, 0], y).tolist() == table and torch.vmap(ours, (None, 0), 1)(x[:, 0], y).tolist() == table
    assert [[ours(v, w).item() for w in y] for v in x[:, 0]] == table  # both without dimensions
    assert [ours(x[:, 0], w).tolist() for w in y] == [list(column) for column in zip(*table, strict=True)]
    assert [ours(w, x[:, 0]).tolist() for w in y] == [list(column) for column in zip(*turned, strict=True)]
    assert ours(x.to("meta"), y.to("meta")).shape == (len(a), len(b))
    whole, wide = x.expand(len(a), len(b)).clone(), y.expand(len(a), len(b)).clone()
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        getattr(y[0], name + "_")(x)
    assert getattr(whole, name + "_")(y).tolist() == table and whole.dtype is dtype
    assert getattr(wide, name + "_")(x).tolist() == turned and wide.dtype is y.dtype
    if other != "bool":
        assert torch.isin(x, y, invert=True).tolist() == [[v not in b] for v in a] and torch.isin(y, x).tolist() == [w in a for w in b]
    assert [torch.equal(v, w) for v in x[:, 0] for w in y] == [v == w for v in a for w in b]
    assert torch.equal(x[:, 0], x[:, 0].to(y.dtype)) == all(v in b for v in a)


@dtypes
def test_comparisons_with_numbers_are_exact(dtype):
    a, _, x, _ = pairs(dtype, dtype)
    for number in [v for v in EDGES if -(2**63) <= v < 2**64] + [True, False]:
        for name, compare in COMPARISONS.items():
            assert getattr(torch, name)(x[:, 0], number).tolist() == compare(x[:, 0], number).tolist() == [compare(v, number) for v in a], (
                name,
                number,
            )
            assert compare(number, x[:, 0]).tolist() == [compare(number, v) for v in a], (name, number)
        if not isinstance(number, bool):
            assert torch.isin(x[:, 0], number).tolist() == [v == number for v in a]
        assert torch.bucketize(number, x[:, 0].sort().values).item() == sum(v < number for v in a)


@dtypes
@pytest.mark.parametrize("other", INTEGERS[1:])
@pytest.mark.parametrize("right", [False, True])
def test_searches_are_exact(dtype, other, right):
    a, b, x, y = pairs(dtype, getattr(torch, other))
    x = x[:, 0].sort().values
    y = y.sort().values
    side = operator.le if right else operator.lt
    for values, ours, kept, theirs in ((x, a, y, b), (y, b, x, a)):
        expected = [sum(side(w, v) for w in theirs) for v in sorted(ours)]
        assert torch.searchsorted(kept, values, right=right).tolist() == expected == torch.bucketize(values, kept, right=right).tolist()
        assert [torch.searchsorted(kept, v, right=right).item() for v in values] == expected
        assert (
            torch.searchsorted(kept.flip(0), values, right=right, sorter=torch.arange(len(kept)).flip(0), out_int32=True).tolist()
            == expected
        )
        assert torch.searchsorted(kept, values, out=torch.empty(0, dtype=torch.int64), right=right).tolist() == expected


@dtypes
def test_scalars_with_other_operands(dtype):
    top = 2 ** bits(dtype) - 1
    x = torch.tensor([0, 1, top // 2 + 1, top], dtype=dtype)
    assert (x == top).tolist() == [False, False, False, True]
    assert (x >= top // 2 + 1).tolist() == [False, False, True, True]
    assert (x < 1).tolist() == [True, False, False, False]
    assert (top > x).tolist() == [True, True, True, False]
    assert x.clamp(max=top).tolist() == x.tolist() and x.clamp(min=top).tolist() == [top] * 4
    assert torch.where(x > 1, x, top).tolist() == [top, top, top // 2 + 1, top]
    assert x.clone().fill_(top).tolist() == [top] * 4 and torch.full((2,), top, dtype=dtype).tolist() == [top] * 2
    assert x.masked_fill(x == 0, top)[0].item() == top
    x[1] = top
    assert x[1] == top
    with pytest.raises(RuntimeError, match=f"{dtype.name} without overflow"):
        x.fill_(top + 1) if dtype is not torch.uint64 else x.fill_(1e20)


CASTS = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128")


@dtypes
@pytest.mark.parametrize("other", CASTS)
def test_casts(dtype, other):
    x, a = both(values(dtype))
    there = getattr(torch, other)
    agree(x.to(there), a.astype(other))
    back = np.arange(-3, 100).astype(other)
    if back.dtype.kind in "fc":
        back = np.abs(back) + back.dtype.type(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(torch.from_numpy(back.copy()).to(dtype), back.astype(dtype.name))
    y = torch.zeros(37, dtype=dtype).copy_(x.to(there))
    assert y.dtype is dtype


@dtypes
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_casts_of_16_bit_floats(dtype, half):
    x = torch.tensor([0.0, 1.0, 2.5, 300.0], dtype=half)
    assert x.to(dtype).tolist() == [0, 1, 2, 300]
    assert torch.tensor([0, 1, 300], dtype=dtype).to(half).tolist() == [0, 1, 300]


def test_floats_beyond_int64():
    f = torch.tensor([2.0**63, 1.5e19, 2.0**64 - 2048], dtype=torch.float64)
    assert f.to(torch.uint64).tolist() == [2**63, int(1.5e19), 2**64 - 2048]
    x = torch.tensor([2**64 - 1, 2**63 + 1, 2**53 + 1], dtype=torch.uint64)
    assert x.double().tolist() == [2.0**64, 2.0**63, 2.0**53] and x.float().tolist() == [2.0**64, 2.0**63, 2.0**53]
    assert x.to(torch.int64).tolist() == [-1, -(2**63) + 1, 2**53 + 1]


# ---------------------------------------------------------------------------------------------------- objects of Python


@dtypes
def test_properties_of_dtypes(dtype):
    assert (dtype.itemsize, dtype.is_signed, dtype.is_floating_point, dtype.is_complex) == (bits(dtype) // 8, False, False, False)
    assert repr(dtype) == f"torch.{dtype.name}" and pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
    info = torch.iinfo(dtype)
    assert (info.min, info.max, info.bits) == (0, 2 ** bits(dtype) - 1, bits(dtype))
    assert torch.can_cast(dtype, torch.int8) and torch.can_cast(dtype, torch.float16) and not torch.can_cast(torch.float16, dtype)
    x = torch.zeros(2, dtype=dtype)
    assert not x.is_signed() and not x.is_floating_point() and x.element_size() == dtype.itemsize
    assert x.type() == f"torch.UI{dtype.name[2:]}Tensor" and torch.ones(2).type(x.type()).dtype is dtype
    assert torch.ones(2).type(dtype).dtype is dtype and x.float().type_as(x).dtype is dtype
    with pytest.raises(RuntimeError, match="floating point"):
        x.requires_grad_()


@dtypes
def test_numbers_and_lists(dtype):
    top = 2 ** bits(dtype) - 1
    x = torch.tensor([[0, 1], [top, top // 2 + 1]], dtype=dtype)
    assert x.tolist() == [[0, 1], [top, top // 2 + 1]]
    number = x[1, 0]
    assert number.item() == number.tolist() == int(number) == number.__index__() == top and type(number.item()) is int
    assert float(number) == float(top) and bool(number) and f"{number}" == str(top) and range(top)[number - 1] == top - 1
    assert torch.tensor(top, dtype=dtype).item() == torch.scalar_tensor(top, dtype=dtype).item() == top
    assert torch.tensor([True, 1.5], dtype=dtype).tolist() == [1, 1]
    for scalar in (getattr(np, dtype.name)(top), torch.tensor(top, dtype=dtype)):
        made = torch.tensor([scalar, scalar])
        assert made.dtype is dtype and made.tolist() == [top, top]
    assert torch.tensor([getattr(np, dtype.name)(top), 0.5]).dtype is torch.float32
    with pytest.raises((RuntimeError, ValueError), match=str(top + 1)):
        torch.tensor([top + 1], dtype=dtype)
    with pytest.raises(RuntimeError, match="overflow: -1.5"):
        torch.tensor([-1.5], dtype=dtype)


def test_lists_beyond_int64():
    big = np.uint64(2**63)
    assert torch.tensor([big, np.uint64(1)]).tolist() == [2**63, 1]
    for numbers in ([1, 2**64 - 1, 3], [2**63, 1], [2**63, True, 2.5]):
        assert torch.tensor(numbers, dtype=torch.uint64).tolist() == [int(n) for n in numbers]
        assert torch.tensor(numbers, dtype=torch.float64).tolist() == [float(n) for n in numbers]
    for mixed in ([big, -1], [-1, big], [np.int8(-1), big]):
        made = torch.tensor(mixed)
        assert made.dtype is torch.float64 and made.tolist() == [float(n) for n in mixed]
    assert torch.tensor([big, 0.5, -1]).tolist() == [2.0**63, 0.5, -1] and torch.tensor([big, 1j]).tolist() == [2.0**63, 1j]
    for rejected, text in (([2**63, -1], "-1"), ([-5, 2**63], "-5"), ([-1], "-1"), ([2**64], "18446744073709551616")):
        with pytest.raises((RuntimeError, ValueError), match=text):
            torch.tensor(rejected, dtype=torch.uint64)
    with pytest.raises(ValueError, match="9223372036854775808"):
        torch.tensor([2**63])
    assert torch.tensor([-1, -65535], dtype=torch.uint16).tolist() == [65535, 1]
    with pytest.raises(RuntimeError, match="-65536"):
        torch.tensor([-65536], dtype=torch.uint16)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_buffers(code):
    held = array.array(code, [1, 2])
    shared = torch.asarray(held)
    assert shared.dtype is getattr(torch, np.asarray(held).dtype.name) and shared.tolist() == [1, 2]
    shared[0] = 7
    assert held[0] == 7 and torch.tensor(np.asarray(held)).tolist() == [7, 2]


@dtypes
def test_printing(dtype):
    assert repr(torch.tensor([1, 2], dtype=dtype)) == f"tensor([1, 2], dtype=torch.{dtype.name})"
    top = str(2 ** bits(dtype) - 1)
    assert repr(torch.tensor([5, int(top)], dtype=dtype)) == f"tensor([{'5':>{len(top)}}, {top}], dtype=torch.{dtype.name})"
    assert repr(torch.tensor(int(top), dtype=dtype)) == f"tensor({top}, dtype=torch.{dtype.name})"
    assert "torch." + dtype.name in repr(torch.empty(2, dtype=dtype, device="meta"))


@dtypes
def test_storages_and_copies(dtype):
    x = torch.tensor([1, 2 ** bits(dtype) - 1], dtype=dtype)
    storage = torch.TypedStorage([1, 2 ** bits(dtype) - 1], dtype=dtype)
    assert storage.tolist() == x.storage().tolist() == x.tolist() and storage.dtype is dtype and storage[1] == x[1]
    assert x.untyped_storage().nbytes() == 2 * dtype.itemsize
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert other.dtype is dtype and other.tolist() == x.tolist()
    signed = getattr(torch, dtype.name[1:])
    assert x.view(signed).tolist() == [1, -1] and x.view(signed).view(dtype).tolist() == x.tolist()


# ---------------------------------------------------------------------------------------------------- indices, random numbers


@dtypes
def test_indices(dtype):
    x, positions = torch.arange(5.0), np.array([3, 0], dtype=dtype.name)
    assert x[positions].tolist() == x[[*positions]].tolist() == [3, 0] and x[positions[0]].item() == 3
    assert x[torch.tensor(3, dtype=dtype)].item() == 3 and [1, 2, 3][torch.tensor(1, dtype=dtype)] == 2
    y = torch.zeros(4, dtype=dtype)
    y[1:3] = 7
    y[torch.tensor([True, False, False, False])] = 9
    y[-1] = torch.tensor(5)
    assert y.tolist() == [9, 7, 7, 5]


TOP, LARGEST, LEAST = 2**64 - 1, 2**63 - 1, -(2**63)


RANGES = [
    (0, TOP, 2**63),
    (1, TOP, TOP),
    (2**62, TOP, TOP),
    (0, TOP, TOP - 1),
    (0, TOP, TOP),
    (TOP, 0, -(2**62)),
    (TOP, TOP - 3, -1),
    (TOP, TOP, 1),
    (LEAST, LARGEST, 2**62),
    (LARGEST, LEAST, -(2**62)),
    (LARGEST, LEAST, LEAST),
    (LARGEST - 1, LARGEST, 1),
    (2**62, 2**62 + 2, 1),
]


@pytest.mark.parametrize("start, end, step", RANGES)
def test_ranges_are_counted_in_integers(start, end, step):
    dtype = torch.uint64 if max(start, end) > LARGEST else torch.int64
    expected = list(range(start, end, step))
    assert torch.arange(start, end, step, dtype=dtype).tolist() == expected
    assert torch.arange(start, end, step, dtype=dtype, device="meta").shape == (len(expected),)


@pytest.mark.filterwarnings("ignore:range")  # deprecated
def test_ranges_of_integers_that_floats_do_not_distinguish():
    assert torch.range(2**62, 2**62 + 2, dtype=torch.int64).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    for end in (2**63 - 1, 2**63 - 2):
        with pytest.raises(RuntimeError, match=f"inconsistent with step sign: from {2**63} to {end} by 1"):
            torch.arange(2**63, end, dtype=torch.uint64)
    with pytest.raises(RuntimeError, match="invalid size"):
        torch.arange(-2, TOP, dtype=torch.uint64)


@pytest.mark.parametrize(
    "dtype, start, end, steps",
    [
        *[
            (torch.uint64, *case)
            for case in ((0, TOP, 3), (TOP, TOP, 1), (TOP, 0, 1), (TOP, 0, 4), (TOP - 10, TOP, 6), (TOP - 1, TOP, 3), (2**63, 2**63 + 2, 3))
        ],
        *[
            (torch.int64, *case)
            for case in ((0, LARGEST, 3), (LEAST, LARGEST, 3), (LARGEST, LEAST, 4), (LEAST, LEAST + 3, 3), (2**53 + 1, 2**53 + 9, 5))
        ],
        (torch.uint64, 0, TOP, 1000),
        (torch.int64, LARGEST, LEAST, 1000),
    ],
)
def test_linspace_between_ends_that_floats_do_not_have(dtype, start, end, steps):
    def at(i):
        value = Fraction(start) + Fraction((end - start) * i, max(steps - 1, 1))
        return int(value)

    expected = [at(i) for i in range(steps)]
    assert torch.linspace(start, end, steps, dtype=dtype).tolist() == expected
    out = torch.zeros(steps, 2, dtype=dtype)[:, 0]
    assert torch.linspace(start, end, steps, out=out) is out and out.tolist() == expected
    assert torch.linspace(start, end, steps, dtype=dtype, device="meta").shape == (steps,)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint64], ids=str)
def test_closeness_is_counted_in_integers(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    numbers = [low, low + 1, low + 3, 2**53, 2**53 + 1, 7, high - 2, high - 1, high]
    x, y = torch.tensor(numbers, dtype=dtype)[:, None], torch.tensor(numbers, dtype=dtype)
    for rtol, atol in ((0, 0), (0, 0.5), (0, 1), (0, 2.5), (1e-20, 0), (1e-20, 1), (2.0**-61, 0), (0, float("inf")), (1e-5, 0)):
        expected = [[abs(v - w) <= atol + rtol * abs(w) for w in numbers] for v in numbers]
        assert torch.isclose(x, y, rtol=rtol, atol=atol).tolist() == expected, (rtol, atol)
        assert torch.allclose(x[:, 0], y, rtol=rtol, atol=atol)
        assert [torch.allclose(v, w, rtol=rtol, atol=atol) for v in x for w in y] == [v for row in expected for v in row]
    assert torch.isclose(x.to("meta"), y.to("meta"), rtol=0, atol=0).shape == (len(numbers),) * 2
    assert torch.vmap(lambda v: torch.isclose(v, y, rtol=0, atol=0))(x[:, 0]).tolist() == [[v == w for w in numbers] for v in numbers]


SUMS = {
    "sum": lambda x: x.sum(),
    "sum over dims": lambda x: x.sum((0, 1)),
    "nansum": lambda x: x.nansum(),
    "trace": lambda x: x.trace(),
    "cumsum": lambda x: x.cumsum(0)[-1].cumsum(0)[-1],
    "sum of sparse": lambda x: torch.sparse.sum(x.to_sparse()),
    "einsum": lambda x: torch.einsum("ij->", x),
    "prod": lambda x: (x | 1).prod() - 1,
    "cumprod": lambda x: (x | 1).cumprod(0)[-1].cumprod(0)[-1] - 1,
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_uint64_are_not_negative(name):
    x = torch.tensor([[2**63, 0], [0, 0]], dtype=torch.uint64)
    assert SUMS[name](x).dtype is torch.uint64 and SUMS[name](x).item() == 2**63
    assert SUMS[name](x.bool().to(torch.uint32)).dtype is torch.int64  # as for other integers


ROWS = torch.arange(6.0).reshape(2, 3)
INDEXED = {
    "x[i]": lambda i: ROWS[i],
    "x[:, i]": lambda i: ROWS[:, i],
    "x[i, i]": lambda i: ROWS[i, i],
    "x[i] = v": lambda i: ROWS.clone().index_put_((i,), torch.tensor(9.0)),
    "gather": lambda i: ROWS.gather(0, i[:, None]),
    "scatter": lambda i: ROWS.scatter(0, i[:, None], 9.0),
    "scatter_add": lambda i: ROWS.scatter_add(0, i[:, None], ROWS),
    "index_select": lambda i: ROWS.index_select(0, i),
    "index_add": lambda i: ROWS.index_add(0, i, ROWS),
    "repeat_interleave": lambda i: ROWS.repeat_interleave(i, 0),
    "vmap": lambda i: torch.vmap(lambda k: ROWS[k])(i),
    "grad": lambda i: torch.func.grad(lambda v: (v[i] * v[:, i].sum()).sum())(ROWS),
}


@dtypes
@pytest.mark.parametrize("name", INDEXED)
def test_they_are_indices_as_int32_is(name, dtype):
    places = [1, 0]
    assert torch.equal(INDEXED[name](torch.tensor(places, dtype=dtype)), INDEXED[name](torch.tensor(places, dtype=torch.int32)))


@pytest.mark.parametrize("name", ["x[i]", "x[:, i]", "x[i] = v", "gather", "scatter", "index_select", "index_add"])
def test_indices_beyond_int64_are_out_of_bounds(name):
    with pytest.raises((IndexError, RuntimeError), match="index 9223372036854775807 is out of bounds for dimension"):
        INDEXED[name](torch.tensor([2**64 - 1, 2**64 - 1], dtype=torch.uint64))
    with pytest.raises(IndexError, match="out of bounds"):
        ROWS[np.array([2**64 - 1], dtype="u8")]


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"])
def test_operators_of_integers_alone_name_both_dtypes(name):
    x, y = torch.tensor([1], dtype=torch.uint64), torch.tensor([1])
    with pytest.raises(
        NotImplementedError,
        match=f"{name}: not implemented for operands of dtype uint64 and int64, which promote to float64; "
        "convert one of them to the dtype of the other",
    ):
        getattr(torch, name)(x, y)
    with pytest.raises(NotImplementedError, match="dtype int64 and uint64"):
        getattr(torch, name)(y, x)


def test_numbers_beyond_int64_name_the_dtype_that_has_them():
    for value in (2**63, 2**64 - 1):
        with pytest.raises(ValueError, match=f"{value} does not fit into 64 bits with a sign; use dtype uint64"):
            torch.tensor([value])
        with pytest.raises(ValueError, match=f"argument 'low': {value} does not fit into 64 bits; the range is {-(2**63)} to {2**63 - 1}"):
            torch.randint(value, (2,), dtype=torch.uint64)
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"{value} does not fit into 64 bits$"):
            torch.tensor([value])


@dtypes
def test_factories(dtype):
    for made, expected in (
        (torch.zeros(2, dtype=dtype), [0, 0]),
        (torch.ones(2, dtype=dtype), [1, 1]),
        (torch.arange(4, dtype=dtype), [0, 1, 2, 3]),
        (torch.arange(2 ** bits(dtype) - 3, 2 ** bits(dtype) - 1, dtype=dtype), [2 ** bits(dtype) - 3, 2 ** bits(dtype) - 2]),
        (torch.linspace(0, 8, 3, dtype=dtype), [0, 4, 8]),
        (torch.eye(2, dtype=dtype), [[1, 0], [0, 1]]),
        (torch.full_like(torch.zeros(2, dtype=dtype), 7), [7, 7]),
        (torch.zeros(2, dtype=dtype).new_full((1,), 3), [3]),
    ):
        assert made.dtype is dtype and made.tolist() == expected


@dtypes
def test_random_numbers(dtype):
    """randint and random_(from, to) draw what PyTorch draws."""
    recorded = {"uint16": [4, 9, 3, 0, 3], "uint32": [4, 9, 3, 0, 3], "uint64": [4, 9, 3, 0, 3]}
    torch.manual_seed(0)
    x = torch.randint(0, 10, (5,), dtype=dtype)
    assert x.dtype is dtype and x.tolist() == recorded[dtype.name]
    for n, draw in (
        (1000, lambda: torch.zeros(1000, dtype=dtype).random_()),
        (1000, lambda: torch.zeros(1000, dtype=dtype).random_(0, None)),
    ):
        drawn = draw().double()
        assert drawn.max() > 0.9 * 2 ** bits(dtype) and drawn.min() < 0.1 * 2 ** bits(dtype) and drawn.unique().numel() > n // 2
    assert torch.randperm(100, dtype=dtype).sort().values.tolist() == list(range(100))
    assert set(torch.zeros(100, dtype=dtype).bernoulli_(0.5).tolist()) == {0, 1}
    assert torch.zeros(100, dtype=dtype).geometric_(0.5).min() >= 1
    assert torch.randint_like(x, 3).dtype is dtype
    for rejected in (lambda: x.random_(-1, 5), lambda: torch.randint(-1, 5, (2,), dtype=dtype)):
        with pytest.raises(RuntimeError, match="out of bounds"):
            rejected()
    if dtype is torch.uint16:
        with pytest.raises(RuntimeError, match="65536 is out of bounds for uint16"):
            torch.randint(0, 65537, (2,), dtype=dtype)
        with pytest.raises(RuntimeError, match="too large for uint16"):
            torch.randperm(65537, dtype=dtype)


@dtypes
def test_sparse_values(dtype):
    x = torch.sparse_coo_tensor(torch.tensor([[0, 2, 0]]), torch.tensor([1, 2, 2 ** bits(dtype) - 1], dtype=dtype), (3,))
    assert x.dtype is dtype and x.to_dense().tolist() == [0, 0, 2]
