"""The eight-bit floats: conversions, creation, views, comparison, files, exchange; what they raise."""

import copy
import functools
import io
import itertools
import math
import pickle
import struct
import warnings
from fractions import Fraction

import numpy as np
import pytest

import libtensor as torch
from libtensor import safetensors

# Bits of the fraction, bias of the exponent.
SHAPES = {
    "float8_e4m3fn": (3, 7),
    "float8_e5m2": (2, 15),
    "float8_e4m3fnuz": (3, 8),
    "float8_e5m2fnuz": (2, 16),
    "float8_e8m0fnu": (0, 127),
}
dtypes = pytest.mark.parametrize("dtype", [getattr(torch, name) for name in SHAPES], ids=lambda d: d.name)
OTHERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
OTHERS += ["complex32", "complex64", "complex128"]


def number(dtype, code):
    """The number of a code, a Fraction; None for NaN, a float for infinity and negative zero."""
    fraction, bias = SHAPES[dtype.name]
    if dtype is torch.float8_e8m0fnu:
        return None if code == 255 else Fraction(2) ** (code - bias)
    sign, exponent, digits = -1 if code & 128 else 1, (code & 127) >> fraction, code & (1 << fraction) - 1
    if dtype.name.endswith("uz"):
        if code == 128:
            return None
    elif dtype is torch.float8_e4m3fn:
        if code & 127 == 127:
            return None
    elif exponent == 31:
        return None if digits else sign * math.inf
    if code == 128:
        return -0.0
    return sign * (Fraction(digits, 1 << fraction) + bool(exponent)) * Fraction(2) ** (max(exponent, 1) - bias)


@functools.cache
def finite(dtype):
    """The finite numbers by code."""
    return {code: Fraction(x) for code in range(256) if (x := number(dtype, code)) is not None and abs(x) != math.inf}


@functools.cache
def positive(dtype):
    """The codes of numbers without a sign."""
    return {value: code for code, value in finite(dtype).items() if code < 128}


def nearest(dtype, x):
    """Returns the code of a float: that of the nearest number, ties to even; beyond the largest one, that of the dtype's rule."""
    negative = math.copysign(1, x) < 0
    if dtype is torch.float8_e8m0fnu:
        return nearest_power(x)
    nan = 128 if dtype.name.endswith("uz") else 127 | negative << 7
    beyond = {"float8_e4m3fn": 126, "float8_e5m2": 124}.get(dtype.name)
    beyond = 128 if beyond is None else beyond | negative << 7
    if math.isnan(x):
        return nan
    if math.isinf(x):
        return beyond
    fraction, bias = SHAPES[dtype.name]
    size = abs(Fraction(x))
    exponent = max(math.frexp(x)[1] - 1, 1 - bias)
    rounded = round(size / Fraction(2) ** (exponent - fraction)) * Fraction(2) ** (exponent - fraction)  # round() is to even
    if rounded not in positive(dtype):
        return beyond
    return positive(dtype)[rounded] | (negative << 7 if rounded or not dtype.name.endswith("uz") else 0)


def nearest_power(x):
    """The exponent nearest to a float's: ties and all above the smallest number go up."""
    if not math.isfinite(x):
        return 255
    size, smallest = abs(Fraction(x)), Fraction(2) ** -127
    if size < 2 * smallest:
        return int(size > smallest)
    exponent = math.frexp(x)[1] - 1
    return exponent + 127 + (size >= Fraction(3, 2) * Fraction(2) ** exponent)


def single(x):
    """A float rounded to float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def floats(dtype):
    """Returns numbers of the dtype, midpoints, their adjacent float32 values, special values and random ones of all sizes."""
    numbers = sorted(set(finite(dtype).values()))
    middle = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    steps = [
        float(x)
        for x in numbers
        + middle
        + [numbers[-1] * 2, numbers[-1] * Fraction(17, 16), numbers[-1] * Fraction(33, 32), numbers[-1] * Fraction(9, 8)]
    ]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 1e-45, -1e-45, 3.4e38, 2.0**-126, 2.0**-127, 2.0**-128, 1.5 * 2.0**127]
    rng = np.random.default_rng(len(dtype.name))
    drawn = rng.integers(0, 2**32, 3000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = (rng.standard_normal(3000) * np.exp2(rng.integers(-20, 18, 3000))).astype(np.float32)
    with np.errstate(all="ignore"):
        values = np.array(steps + [-x for x in steps], dtype=np.float32)
        beside = [np.nextafter(values, np.float32(np.inf)), np.nextafter(values, np.float32(-np.inf))]
        return np.concatenate([values, *beside, np.array(special, dtype=np.float32), drawn, near])


def codes(tensor):
    return tensor.contiguous().view(torch.uint8).flatten().tolist()


def every(dtype):
    """A tensor of all codes."""
    return torch.arange(256, dtype=torch.uint8).view(dtype)


def plain(x):
    return math.nan if x is None else float(x)


def same(found, expected):
    """Equal numbers, and equal signs of zero; NaN is NaN."""
    return (found != found and expected != expected) or (found == expected and math.copysign(1, found) == math.copysign(1, expected))


@dtypes
def test_numbers_of_all_codes(dtype):
    expected = [plain(number(dtype, code)) for code in range(256)]
    x = every(dtype)
    for found in (x.tolist(), x.float().tolist(), x.double().tolist(), [v.item() for v in x], x.to(torch.complex64).real.tolist()):
        assert all(map(same, found, expected))
    with np.errstate(over="ignore"):
        assert all(map(same, x.half().tolist(), np.array(expected).astype(np.float16).tolist()))
    assert x.to(torch.bool).tolist() == [bool(v) for v in expected]
    small = [code for code, v in finite(dtype).items() if abs(v) < 2**31]
    for name in ("int32", "int64"):
        assert torch.tensor(small, dtype=torch.uint8).view(dtype).to(getattr(torch, name)).tolist() == [
            int(finite(dtype)[code]) for code in small
        ]


@dtypes
def test_rounding_of_float32(dtype):
    values = floats(dtype)
    found = codes(torch.from_numpy(values).to(dtype))
    wrong = [(float(x), code) for x, code in zip(values, found, strict=True) if code != nearest(dtype, float(x))]
    assert not wrong[:5], [(x, code, nearest(dtype, x)) for x, code in wrong[:5]]


@dtypes
def test_rounding_of_other_dtypes(dtype):
    """Every dtype is converted through float32."""
    bits = np.arange(0, 65536, 7, dtype=np.uint16)
    half = bits.view(np.float16)
    assert codes(torch.from_numpy(half.copy()).to(dtype)) == [nearest(dtype, float(x)) for x in half]
    wide = torch.from_numpy(bits.astype(np.int32).astype(np.int16)).view(torch.bfloat16)
    assert codes(wide.to(dtype)) == [nearest(dtype, x) for x in wide.tolist()]
    middle = np.nan_to_num(floats(dtype)[:1500]).astype(np.float64) * (1 + 2.0**-40)
    assert codes(torch.from_numpy(middle).to(dtype)) == [nearest(dtype, single(x)) for x in middle]
    whole = [0, 1, -1, 3, 5, 17, 100, -100, 447, 464, 465, 60000, 61440, -(2**40), 2**62, 2**24 + 1]
    for name, most in (("int64", 2**63), ("int32", 2**31), ("int16", 2**15), ("int8", 2**7)):
        kept = [x for x in whole if abs(x) < most]
        assert codes(torch.tensor(kept, dtype=getattr(torch, name)).to(dtype)) == [nearest(dtype, single(x)) for x in kept]
    assert codes(torch.tensor([True, False]).to(dtype)) == [nearest(dtype, 1.0), nearest(dtype, 0.0)]
    with warnings.catch_warnings(action="ignore"):  # imaginary parts are discarded
        assert codes(torch.tensor([1.5 + 2j, -3 - 1j]).to(dtype)) == [nearest(dtype, 1.5), nearest(dtype, -3.0)]


@dtypes
def test_conversion_among_them(dtype):
    x = every(dtype)
    for name in SHAPES:
        to = getattr(torch, name)
        expected = list(range(256)) if to is dtype else [nearest(to, v) for v in x.float().tolist()]
        assert codes(x.to(to)) == expected


@dtypes
@pytest.mark.parametrize("name", OTHERS)
def test_every_layout_is_converted(dtype, name):
    other = getattr(torch, name)
    source = torch.arange(1, 4 * 5 * 6 + 1).reshape(4, 5, 6).remainder(16).to(other)
    expected = source.contiguous().flatten().to(dtype).float().reshape(4, 5, 6)
    for view in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[::2, 1:, ::3], lambda t: t[1, :, None].expand(5, 3, 6)):
        assert torch.equal(view(source).to(dtype).float(), view(expected))
        target = torch.zeros(view(source).shape, dtype=dtype).transpose(0, 1).contiguous().transpose(0, 1)
        assert torch.equal(target.copy_(view(source)).float(), view(expected))
        back = torch.zeros(view(source).shape, dtype=other)
        assert torch.equal(back.copy_(view(source.to(dtype))), view(expected).to(other))


def test_conversion_on_several_threads_is_the_same():
    x = torch.linspace(-500, 500, 300_001).reshape(1, -1).expand(2, -1)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        made = x.to(dtype)
        assert made.shape == x.shape and torch.equal(made[1, 1234:5678].float(), x[0, 1234:5678].clone().to(dtype).float())
        assert torch.equal(made.float()[0, -1000:], made[0, -1000:].clone().float())


@dtypes
def test_creation(dtype):
    assert torch.empty(2, 3, dtype=dtype).shape == (2, 3) and dtype.itemsize == 1 and torch.empty(3, dtype=dtype).nbytes == 3
    zero, one = nearest(dtype, 0.0), nearest(dtype, 1.0)
    assert codes(torch.zeros(300, dtype=dtype)) == [zero] * 300 and codes(torch.ones(300, dtype=dtype)) == [one] * 300
    for n in (2, 300):
        assert codes(torch.full((n,), 3.0, dtype=dtype)) == codes(torch.full((n,), 3, dtype=dtype)) == [nearest(dtype, 3.0)] * n
        assert codes(torch.zeros(n, dtype=dtype).fill_(torch.tensor(2.7))) == [nearest(dtype, 2.7)] * n
    numbers = [1.0, -2.0, 3.3, 1e10, math.inf, math.nan, 0.0]
    assert codes(torch.tensor(numbers, dtype=dtype)) == codes(torch.asarray(numbers, dtype=dtype)) == [nearest(dtype, x) for x in numbers]
    assert codes(torch.tensor([[1, 2], [300, -7]], dtype=dtype)[1]) == [nearest(dtype, 300.0), nearest(dtype, -7.0)]
    x = torch.tensor([1.0, 4.0], dtype=dtype)
    assert codes(torch.zeros_like(x)) == codes(x.new_zeros(2)) == [zero, zero] and codes(torch.ones_like(x)) == [one, one]
    assert codes(torch.eye(2, dtype=dtype)) == [one, zero, zero, one]
    assert x.dtype is dtype and x.is_floating_point() and torch.is_floating_point(x) and x.element_size() == 1
    assert x.is_signed() is (dtype is not torch.float8_e8m0fnu)
    assert x.type() == f"torch.{dtype.name.capitalize()}Tensor"
    assert torch.frombuffer(bytearray([one, zero]), dtype=dtype).view(torch.uint8).tolist() == [one, zero]


@dtypes
def test_numbers_beyond_the_range_are_not_filled_in(dtype):
    x = torch.ones(3, dtype=dtype)
    largest = max(finite(dtype).values())
    for value in (float(largest) * 2, 1j):
        for call in (lambda v: torch.full((3,), v, dtype=dtype), x.fill_):
            with pytest.raises(RuntimeError, match=f"cannot be converted to type {dtype.name} without overflow"):
                call(value)
    assert codes(x) == [nearest(dtype, 1.0)] * 3
    x[1] = float(largest) * 2  # an element is converted
    assert codes(x)[1] == nearest(dtype, single(float(largest) * 2))
    assert codes(torch.full((3,), math.nan, dtype=dtype)) == [nearest(dtype, math.nan)] * 3


@dtypes
def test_views_and_moves(dtype):
    x = every(dtype)[32:92].clone()
    bits = x.view(torch.uint8)
    assert bits.data_ptr() == x.data_ptr() and torch.equal(bits.view(dtype).view(torch.uint8), bits)
    m, b = x.reshape(3, 4, 5), bits.reshape(3, 4, 5)
    moves = {
        "contiguous": lambda t: t.transpose(0, 2).contiguous(),
        "clone": lambda t: t[:, 1:3].clone(),
        "select": lambda t: t[1, 2],
        "slice": lambda t: t[::2, 1:],
        "cat": lambda t: torch.cat([t, t[:1], t.flip(0)]),
        "cat of strides": lambda t: torch.cat([t.transpose(0, 1), t.transpose(0, 1)], 1),
        "stack": lambda t: torch.stack([t, t], 1),
        "index": lambda t: t[torch.tensor([2, 0, 2])],
        "mask": lambda t: t[torch.arange(60).reshape(3, 4, 5) % 2 == 0],
        "index_select": lambda t: t.index_select(1, torch.tensor([3, 1])),
        "roll": lambda t: t.roll(2, 1),
        "repeat": lambda t: t.repeat(2, 1, 1),
        "unfold": lambda t: t.unfold(1, 2, 1).contiguous(),
        "where": lambda t: torch.where(torch.arange(60).reshape(3, 4, 5) % 3 == 0, t, t.roll(1, 0)),
        "masked_select": lambda t: t.masked_select(torch.arange(60).reshape(3, 4, 5) > 7),
        "split": lambda t: t.split(2)[1],
        "memory format": lambda t: t[None].contiguous(memory_format=torch.channels_last),
        "deepcopy": copy.deepcopy,
        "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    }
    for name, move in moves.items():
        found, expected = move(m), move(b)
        assert found.dtype is dtype and torch.equal(found.contiguous().view(torch.uint8), expected), name
        assert found.stride() == expected.stride(), name
    for write in (
        lambda t, v: t.__setitem__(1, v[0]),
        lambda t, v: t.__setitem__((slice(None), slice(1, 3)), v[:, :2]),
        lambda t, v: t.__setitem__(torch.tensor([0, 2]), v[:2]),
        lambda t, v: t.copy_(v.flip(0)),
        lambda t, v: t.index_put_((torch.tensor([1]),), v[:1]),
    ):
        to, expected = m.clone(), b.clone()
        write(to, m.flip(1)), write(expected, b.flip(1))
        assert torch.equal(to.view(torch.uint8), expected)
    word = x.view(torch.float32)
    assert word.shape == (15,) and word.data_ptr() == x.data_ptr()


@dtypes
def test_comparison(dtype):
    numbers = [plain(number(dtype, code)) for code in range(256)]
    x = every(dtype)
    for shift in (0, 1, 128):
        y, other = x.roll(shift), numbers[-shift:] + numbers[:-shift] if shift else numbers
        assert (x == y).tolist() == [a == b for a, b in zip(numbers, other, strict=True)]
        assert (x != y).tolist() == [a != b for a, b in zip(numbers, other, strict=True)]
    assert x.isnan().tolist() == [v != v for v in numbers] and x.isinf().tolist() == [abs(v) == math.inf for v in numbers]
    assert x.isfinite().tolist() == [math.isfinite(v) for v in numbers]
    assert (x == 1.0).tolist() == [v == 1 for v in numbers] and (x == 2).tolist() == [v == 2 for v in numbers]
    whole = torch.tensor([1.0, 2.0, 0.5], dtype=dtype)
    assert torch.equal(whole, whole.clone()) and not torch.equal(whole, whole.flip(0)) and not torch.equal(x, x.clone())
    assert not torch.equal(whole, whole[:2]) and 0.5 in whole and 3.0 not in whole
    if dtype.name in ("float8_e4m3fn", "float8_e5m2"):
        assert torch.equal(torch.tensor([0.0], dtype=dtype), torch.tensor([-0.0], dtype=dtype))


@dtypes
def test_they_promote_with_no_dtype(dtype):
    x = torch.ones(2, dtype=dtype)
    assert torch.promote_types(dtype, dtype) is dtype and torch.result_type(x, 1.5) is torch.result_type(x, 2) is dtype
    assert torch.result_type(x, torch.tensor(1.0)) is dtype and torch.result_type(torch.ones(2), x[0]) is torch.float32
    names = {
        "bool": "Bool",
        "uint8": "Byte",
        "int64": "Long",
        "float32": "Float",
        "float16": "Half",
        "bfloat16": "BFloat16",
        "complex64": "ComplexFloat",
    }
    mine = dtype.name.capitalize()
    for name, shown in names.items():
        other = getattr(torch, name)
        y = torch.ones(2, dtype=other)
        for a, b, fact in (
            (dtype, other, f"{mine} and {shown}"),
            (other, dtype, f"{shown} and {mine}"),
        ):
            with pytest.raises(RuntimeError, match=f"Promotion for Float8 Types is not supported, attempted to promote {fact}"):
                torch.promote_types(a, b)
        for call in (
            lambda y: x + y,
            lambda y: y * x,
            lambda y: torch.cat([x, y]),
            lambda y: x == y,
            lambda y: torch.equal(x, y),
            lambda y: torch.where(x == x, x, y),
        ):
            with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
                call(y)
        before = y.tolist()
        with pytest.raises(RuntimeError, match=f"attempted to promote {shown} and {mine}"):
            y.add_(x)
        assert y.tolist() == before
    for call in (
        lambda: torch.where(x == x, x, 1j),
        lambda: torch.result_type(x, 1j),
        lambda: torch.ldexp(torch.ones(2, dtype=torch.int32), x[0]),
        lambda: torch.ldexp(x, torch.tensor(1j)),
        lambda: torch.cosine_similarity(torch.ones(2, dtype=torch.int32), x[0], 0),
        lambda: torch.sub(x, torch.ones(2), alpha=1e30),
        lambda: torch.result_type(torch.ones(2, dtype=torch.int32), x[0]),
    ):
        with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
            call()
    for other in (getattr(torch, name) for name in SHAPES):
        if other is not dtype:
            with pytest.raises(RuntimeError, match=f"attempted to promote {mine} and {other.name.capitalize()}"):
                x + torch.ones(2, dtype=other)
    assert torch.can_cast(dtype, torch.float32) and torch.can_cast(torch.float32, dtype) and not torch.can_cast(dtype, torch.int32)
    with pytest.raises(TypeError, match="set_default_dtype"):
        torch.set_default_dtype(dtype)


@dtypes
def test_operators_without_kernels_raise(dtype):
    x, m = torch.ones(4, dtype=dtype), torch.ones(2, 2, dtype=dtype)
    calls = {
        "add": lambda: x + x,
        "add a number": lambda: x + 1,
        "sub": lambda: x - x,
        "div": lambda: x / 2,
        "neg": lambda: -x,
        "lt": lambda: x < x,
        "exp": lambda: x.exp(),
        "sum": lambda: x.sum(),
        "max": lambda: x.max(),
        "sort": lambda: x.sort(),
        "mm": lambda: m @ m,
        "cumsum": lambda: x.cumsum(0),
        "softmax": lambda: x.softmax(0),
        "relu": lambda: x.relu(),
        "round": lambda: x.round(),
        "clamp": lambda: x.clamp(1, 2),
        "pow": lambda: x**2,
        "unique": lambda: x.unique(),
        "arange": lambda: torch.arange(1, 3, dtype=dtype),
        "rand": lambda: torch.rand(2, dtype=dtype),
        "randn": lambda: torch.randn(2, dtype=dtype),
        "rand_like": lambda: torch.rand_like(x),
        "randint": lambda: torch.randint(3, (2,), dtype=dtype),
        "randperm": lambda: torch.randperm(3, dtype=dtype),
        "uniform_": lambda: x.uniform_(),
        "normal_": lambda: x.normal_(),
        "random_": lambda: x.random_(),
        "bernoulli": lambda: x.bernoulli(),
        "bernoulli_": lambda: x.bernoulli_(0.5),
        "exponential_": lambda: x.exponential_(),
        "geometric_": lambda: x.geometric_(0.5),
        "dropout": lambda: torch.nn.functional.dropout(x, 0.5),
        "multinomial": lambda: x.multinomial(1),
        "add_": lambda: x.add_(x),
        "fft": lambda: torch.fft.fft(x),
        "rfft2": lambda: torch.fft.rfft2(m),
        "inv": lambda: torch.linalg.inv(m),
        "svd": lambda: torch.linalg.svd(m),
        "solve": lambda: torch.linalg.solve(m, m),
        "conv1d": lambda: torch.nn.functional.conv1d(x[None, None], x[None, None]),
        "index_add": lambda: x.index_add(0, torch.tensor([0]), x[:1]),
    }
    state = torch.random.get_rng_state()
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=f"not implemented for dtype {dtype.name}"):
            call()
            pytest.fail(name)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert codes(x) == [nearest(dtype, 1.0)] * 4


@dtypes
def test_operands_are_converted(dtype):
    """Scalar tensors, outputs and reductions of another dtype."""
    values = torch.tensor([1.0, 2.0, 0.5, 4.0])
    x = values.to(dtype)
    assert torch.equal(values + x[3], values + 4)
    assert torch.equal(x.sum(dtype=torch.float32), values.sum()) and torch.equal(x.sum(0, dtype=torch.float64), values.double().sum())
    out = torch.zeros(4, dtype=dtype)
    assert torch.add(values, 1, out=out) is out and codes(out) == [nearest(dtype, v + 1) for v in values.tolist()]
    assert x.any().item() is True and x.all().item() is True and x.reshape(2, 2).all(1).tolist() == [True, True]
    loss = values.clone().requires_grad_()
    (loss.to(dtype).float() * torch.arange(4.0)).sum().backward()
    rounded = torch.arange(4.0).to(dtype).float()  # the gradient of a conversion has its dtype
    assert torch.equal(loss.grad, rounded)


@dtypes
@pytest.mark.filterwarnings("ignore")
def test_operators_return_the_results_of_float32(dtype):
    """Whatever an operator returns for a tensor is what it returns for the same numbers in float32, in the dtype of the result."""
    random = {"empty", "rand", "randn", "randint", "bernoulli", "dropout", "new"}
    values = torch.tensor([1.0, 2.0, 0.5, 4.0, 8.0, 0.25])
    shapes = {"vector": (6,), "matrix": (2, 3), "images": (1, 1, 2, 3)}
    supported = set()
    for name in sorted(set(dir(torch)) & set(dir(torch.Tensor))):
        if name.startswith("_") or name.rstrip("_") in random or name.endswith("_like"):
            continue
        for shape in shapes.values():
            for arguments in ((), (1,)):
                x, y = values.to(dtype).reshape(shape), values.clone().reshape(shape)
                try:
                    found = getattr(x, name)(*arguments)
                except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
                    continue
                expected = getattr(y, name)(*arguments)
                if not isinstance(found, torch.Tensor):
                    continue
                supported.add(name)
                assert torch.equal(found.to_dense().double().nan_to_num(), expected.to(found.dtype).to_dense().double().nan_to_num()), name
    assert {"clone", "flatten", "diag", "isnan", "eq", "flipud", "t"} <= supported


@dtypes
def test_assert_close_compares_bits(dtype):
    x = every(dtype)
    torch.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match=r"Mismatched elements: 255 / 256|Mismatched elements: 256 / 256"):
        torch.testing.assert_close(x, x.roll(1))
    with pytest.raises(AssertionError, match="not supported"):
        torch.testing.assert_close(x, x.clone(), rtol=0.1, atol=0)


@dtypes
def test_printing(dtype):
    assert repr(torch.tensor([1.0, 2.0, 4.0], dtype=dtype)) == f"tensor([1., 2., 4.], dtype=torch.{dtype.name})"
    assert repr(torch.tensor([0.5, 2.0], dtype=dtype)) == f"tensor([0.5000, 2.0000], dtype=torch.{dtype.name})"
    assert repr(torch.zeros(2, dtype=dtype)) == f"tensor([0., 0.], dtype=torch.{dtype.name})"
    assert repr(torch.empty(0, dtype=dtype)) == f"tensor([], dtype=torch.{dtype.name})"
    assert f"{torch.tensor(0.25, dtype=dtype):.3f}" == "0.250" and float(torch.tensor(0.5, dtype=dtype)) == 0.5


@dtypes
def test_files(dtype, tmp_path):
    x = every(dtype)
    m = x.reshape(16, 16).t()
    for old in (False, True):
        file = io.BytesIO()
        torch.save({"x": x, "m": m[2:5], "dtype": dtype}, file, _use_new_zipfile_serialization=not old)
        file.seek(0)
        found = torch.load(file)
        assert found["dtype"] is dtype and codes(found["x"]) == list(range(256))
        assert found["m"].dtype is dtype and codes(found["m"]) == codes(m[2:5]) and found["m"].stride() == m[2:5].stride()
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": x, "m": m.contiguous()}, path)
    tag = {"float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0"}.get(dtype.name, dtype.name.upper().replace("FLOAT8", "F8"))
    header = path.read_bytes()
    assert f'"dtype":"{tag}"'.encode() in header[8 : 8 + struct.unpack("<Q", header[:8])[0]]
    found = safetensors.load_file(path)
    assert found["x"].dtype is dtype and codes(found["x"]) == list(range(256)) and codes(found["m"]) == codes(m)


@dtypes
def test_exchange(dtype):
    x = every(dtype)
    y = torch.from_dlpack(x)
    assert y.dtype is dtype and y.data_ptr() == x.data_ptr() and codes(y) == codes(x)
    for call in (x.numpy, lambda: np.array(x), lambda: np.asarray(x), lambda: memoryview(x)):
        with pytest.raises((TypeError, BufferError), match=f"{dtype.name.capitalize()}|{dtype.name}"):
            call()
    storage = x.untyped_storage()
    assert storage.nbytes() == 256 and list(storage[:3]) == [0, 1, 2]
    assert x.storage().dtype is dtype and same(x.storage()[60], plain(number(dtype, 60)))


@pytest.mark.parametrize("name", [*SHAPES, "float4_e2m1fn_x2"])
def test_dtype_objects(name):
    d = getattr(torch, name)
    assert str(d) == f"torch.{name}" and d.itemsize == 1 and d.is_floating_point and not d.is_complex
    assert d.is_signed is (name != "float8_e8m0fnu")
    assert d == d and d != torch.uint8 and d.to_real() is d
    assert copy.copy(d) is copy.deepcopy(d) is pickle.loads(pickle.dumps(d)) is d
    assert torch.zeros(1).dtype != d and {d: 1}[getattr(torch, name)] == 1
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
        d.to_complex()


@dtypes
def test_numerical_properties(dtype):
    f, fraction = torch.finfo(dtype), SHAPES[dtype.name][0]
    numbers = [v for v in finite(dtype).values() if v > 0]
    normal = [v for code, v in finite(dtype).items() if code < 128 and code >> fraction] if fraction else numbers
    assert (f.max, f.tiny, f.smallest_normal) == (max(numbers), min(normal), min(normal))
    assert f.min == (-max(numbers) if dtype.is_signed else min(numbers))
    assert (
        f.eps == 2.0**-fraction
        and f.bits == 8
        and f.resolution == 1.0
        and f.dtype == dtype.name
        and repr(f).endswith(f"dtype={dtype.name})")
    )


def test_float4_has_no_tensors():
    d = torch.float4_e2m1fn_x2
    with pytest.raises(NotImplementedError, match="Float4_e2m1fn_x2"):
        torch.finfo(d)
    for call in (lambda: torch.empty(2, dtype=d), lambda: torch.ones(2).to(d), lambda: torch.ones(2).sum(dtype=d)):
        with pytest.raises(NotImplementedError, match="tensors of torch.float4_e2m1fn_x2 are not supported"):
            call()
    with pytest.raises((NotImplementedError, TypeError, ValueError)):
        torch.tensor([1.0], dtype=d)
