"""libtensor.array_api has every function of the array API standard, with its signatures, promotion and special cases."""

import ast
import inspect
import itertools
import math
import operator
from pathlib import Path

import numpy as np
import pytest

import libtensor as torch
from libtensor import array_api as xp

inf, nan = math.inf, math.nan

# By signature, as the standard (2025.12) has them.
SIGNATURES = {
    "(start, /, stop=None, step=1, *, dtype=None, device=None)": "arange",
    "(obj, /, *, dtype=None, device=None, copy=None)": "asarray",
    "(shape, *, dtype=None, device=None)": "empty ones zeros",
    "(x, /, *, dtype=None, device=None)": "empty_like ones_like zeros_like",
    "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)": "eye",
    "(x, /, *, device=None, copy=None)": "from_dlpack",
    "(shape, fill_value, *, dtype=None, device=None)": "full",
    "(x, /, fill_value, *, dtype=None, device=None)": "full_like",
    "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)": "linspace",
    "(*arrays, indexing='xy')": "meshgrid",
    "(x, /, *, k=0)": "tril triu",
    "(x, dtype, /, *, copy=True, device=None)": "astype",
    "(from_, to, /)": "can_cast",
    "(type, /)": "finfo iinfo",
    "(dtype, kind)": "isdtype",
    "(*arrays_and_dtypes)": "result_type",
    "(x, /)": """
        abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p
        log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh trunc
        matrix_transpose nonzero unique_all unique_counts unique_inverse unique_values linalg.det linalg.eigh linalg.eigvalsh
        linalg.eig linalg.eigvals linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals
    """,
    "(x1, x2, /)": """
        add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide
        greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter
        not_equal pow remainder subtract matmul linalg.matmul linalg.outer linalg.solve
    """,
    "(x, /, min=None, max=None)": "clip",
    "(x, indices, /, *, axis=None)": "take",
    "(x, indices, /, *, axis=-1)": "take_along_axis",
    "(x1, x2, /, *, axes=2)": "tensordot linalg.tensordot",
    "(x1, x2, /, *, axis=-1)": "vecdot linalg.cross linalg.vecdot",
    "(*arrays)": "broadcast_arrays",
    "(*shapes)": "broadcast_shapes",
    "(x, /, shape)": "broadcast_to",
    "(arrays, /, *, axis=0)": "concat stack",
    "(x, /, axis)": "expand_dims squeeze",
    "(x, /, *, axis=None)": "flip",
    "(x, source, destination, /)": "moveaxis",
    "(x, /, axes)": "permute_dims",
    "(x, repeats, /, *, axis=None)": "repeat",
    "(x, /, shape, *, copy=None)": "reshape",
    "(x, /, shift, *, axis=None)": "roll",
    "(x, repetitions, /)": "tile",
    "(x, /, *, axis=0)": "unstack",
    "(x, /, *, axis=None, keepdims=False)": "argmax argmin count_nonzero max mean min all any",
    "(x1, x2, /, *, side='left', sorter=None)": "searchsorted",
    "(condition, x1, x2, /)": "where",
    "(x1, x2, /, *, invert=False)": "isin",
    "(x, /, *, axis=-1, descending=False, stable=True)": "argsort sort",
    "(x, /, *, axis=None, dtype=None, include_initial=False)": "cumulative_prod cumulative_sum",
    "(x, /, *, axis=None, dtype=None, keepdims=False)": "prod sum",
    "(x, /, *, axis=None, correction=0.0, keepdims=False)": "std var",
    "(x, /, *, axis=-1, n=1, prepend=None, append=None)": "diff",
    "(x, /, *, upper=False)": "linalg.cholesky",
    "(x, /, *, offset=0)": "linalg.diagonal",
    "(x, /, *, keepdims=False, ord='fro')": "linalg.matrix_norm",
    "(x, n, /)": "linalg.matrix_power",
    "(x, /, *, rtol=None)": "linalg.matrix_rank linalg.pinv",
    "(x, /, *, mode='reduced')": "linalg.qr",
    "(x, /, *, full_matrices=True)": "linalg.svd",
    "(x, /, *, offset=0, dtype=None)": "linalg.trace",
    "(x, /, *, axis=None, keepdims=False, ord=2)": "linalg.vector_norm",
    "(x, /, *, n=None, axis=-1, norm='backward')": "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft",
    "(x, /, *, s=None, axes=None, norm='backward')": "fft.fftn fft.ifftn fft.rfftn fft.irfftn",
    "(n, /, *, d=1.0, dtype=None, device=None)": "fft.fftfreq fft.rfftfreq",
    "(x, /, *, axes=None)": "fft.fftshift fft.ifftshift",
}
FUNCTIONS = [(name, signature) for signature, names in SIGNATURES.items() for name in names.split()]

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = BOOL + SIGNED + UNSIGNED + FLOATS + COMPLEX
NUMPY = {"int": int, "bool": bool, "float": float, "complex": complex}


def dtype(name):
    return getattr(xp, name)


@pytest.mark.parametrize("name, signature", FUNCTIONS)
def test_signatures_are_those_of_the_standard(name, signature):
    function = operator.attrgetter(name)(xp)
    assert str(inspect.signature(function)) == signature
    assert function.__name__ == name.rpartition(".")[2] and function.__doc__


def test_types_are_of_these_signatures():
    typed = {}
    for file in ("__init__", "linalg", "fft"):
        for node in ast.walk(ast.parse((Path(xp.__file__).parent / f"{file}.pyi").read_text())):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                a = node.args
                kinds = [[x.arg for x in group] for group in (a.posonlyargs, a.args, [a.vararg] if a.vararg else [], a.kwonlyargs)]
                typed[node.name if file == "__init__" else f"{file}.{node.name}"] = kinds
    P = inspect.Parameter
    for name, _ in FUNCTIONS:
        if name in ("finfo", "iinfo"):
            continue  # classes
        found = inspect.signature(operator.attrgetter(name)(xp)).parameters.values()
        kinds = (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD, P.VAR_POSITIONAL, P.KEYWORD_ONLY)
        key = name if name in typed else f"linalg.{name}"
        assert [[p.name for p in found if p.kind is kind] for kind in kinds] == typed[key], name


def test_constants_and_names():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, inf, None) and math.isnan(xp.nan)
    assert xp.__array_api_version__ == "2025.12"
    assert [getattr(xp, name) is getattr(torch, name) for name in ALL] == [True] * len(ALL)
    assert {"add", "float32", "linalg", "fft", "astype"} < set(dir(xp)) and not {"Tensor", "elementwise", "creation"} & set(dir(xp))


def test_tensors_know_their_namespace():
    x = torch.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is torch.array_api is xp
    with pytest.raises(ValueError, match="api_version must be None or one of .*2025.12, not '2020.1'"):
        x.__array_namespace__(api_version="2020.1")
    assert x.to_device("cpu") is x and x.to_device(torch.device("meta")).device.type == "meta"
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device("cpu", stream=1)


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}
    assert info.default_device() == torch.device("cpu") and info.devices()[0] == torch.device("cpu")
    assert info.default_dtypes() == {
        "real floating": torch.float32,
        "complex floating": torch.complex64,
        "integral": torch.int64,
        "indexing": torch.int64,
    }
    assert list(info.dtypes()) == ALL
    assert info.dtypes(kind=("bool", "real floating"), device="cpu") == {name: dtype(name) for name in BOOL + FLOATS}
    assert [list(info.dtypes(kind=kind)) for kind in ("integral", "numeric")] == [SIGNED + UNSIGNED, ALL[1:]]
    for kind, names in {"signed integer": SIGNED, "unsigned integer": UNSIGNED, "complex floating": COMPLEX}.items():
        assert list(info.dtypes(kind=kind)) == names


# ------------------------------------------------------------------------------------------------------------ promotion


def expected_of(a, b):
    """The dtype to which the standard promotes two; None where it leaves that open."""
    if a == b:
        return a
    for kinds in (SIGNED, UNSIGNED, FLOATS, COMPLEX):
        if a in kinds and b in kinds:
            return max(a, b, key=kinds.index)
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if signed in SIGNED and unsigned in UNSIGNED and unsigned != "uint64":
        return max(signed, SIGNED[UNSIGNED.index(unsigned) + 1], key=SIGNED.index)
    real, complex_ = (a, b) if a in FLOATS else (b, a)
    if real in FLOATS and complex_ in COMPLEX:
        return COMPLEX[max(FLOATS.index(real), COMPLEX.index(complex_))]
    return None


PAIRS = [(a, b, expected_of(a, b)) for a, b in itertools.product(ALL, ALL) if expected_of(a, b)]


@pytest.mark.parametrize("a, b, expected", PAIRS)
def test_promotion_of_two(a, b, expected):
    assert xp.result_type(dtype(a), dtype(b)) is dtype(expected)
    for one, other in itertools.product(((), (1,), (2, 1)), repeat=2):  # no dimensions count as much as some
        x, y = xp.ones(one, dtype=dtype(a)), xp.ones(other, dtype=dtype(b))
        assert xp.result_type(x, y) is xp.result_type(x, dtype(b)) is dtype(expected)
        if expected != "bool":
            found = xp.multiply(x, y)
            assert found.dtype is dtype(expected) and found.tolist() == np.ones(np.broadcast_shapes(one, other)).tolist()
        assert xp.where(xp.asarray(True), x, y).dtype is xp.concat([x, y], axis=None).dtype is dtype(expected)
    assert xp.can_cast(dtype(a), dtype(expected)) and xp.can_cast(xp.ones(2, dtype=dtype(b)), dtype(expected))
    assert xp.can_cast(dtype(a), dtype(b)) is (expected == b)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(), (2,)])
def test_promotion_of_numbers(name, shape):
    x = xp.ones(shape, dtype=dtype(name))
    for number, names in ((True, ALL), (1, ALL[1:]), (1.0, FLOATS + COMPLEX), (1j, COMPLEX)):
        if name in names:
            assert xp.result_type(x, number) is xp.result_type(dtype(name), number) is x.dtype
            assert xp.not_equal(x, number).dtype is xp.not_equal(number, x).dtype is xp.bool
            if name != "bool":
                assert xp.add(x, number).dtype is xp.add(number, x).dtype is x.dtype
    if name in FLOATS:
        assert xp.multiply(x, 1j).dtype is dtype(COMPLEX[FLOATS.index(name)])
    if name in SIGNED + UNSIGNED + BOOL:
        assert xp.add(x, 0.5).dtype is xp.float32 and xp.add(x, 1j).dtype is xp.complex64


def test_promotion_is_rejected_without_tensors_and_beyond_the_dtype():
    for function in (xp.sum, xp.prod, xp.cumulative_sum):
        with pytest.raises(TypeError, match=r"\(\): argument 'x' must be Tensor, not ndarray"):
            function(np.ones(3))
    with pytest.raises(ValueError, match=r"cumulative_sum\(\): include_initial requires x to have at least one dimension"):
        xp.cumulative_sum(t(1.0), axis=-1, include_initial=True)
    with pytest.raises(ValueError, match="at least one tensor or dtype is required"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError, match=r"add\(\): one operand must be a tensor, not int and float"):
        xp.add(1, 2.0)
    with pytest.raises(TypeError, match=r"add\(\): argument 'x2' must be Tensor or Number, not list"):
        xp.add(xp.ones(2), [1])
    for number in (-1, 256):
        with pytest.raises(OverflowError, match=rf"equal\(\): {number} is out of range for torch.uint8"):
            xp.equal(xp.asarray([255], dtype=xp.uint8), number)
    assert xp.add(xp.ones(1, dtype=xp.float64), np.float32(0.5)).dtype is xp.float64  # a number of NumPy's
    assert xp.result_type(xp.uint8, xp.int8, xp.uint16) is xp.int32
    assert xp.result_type(torch.float16, torch.bfloat16) is xp.float32


# ------------------------------------------------------------------------------------------------ each element, with NumPy

NUMBERS = {
    "bool": [False, True],
    "int": [-128, -7, -1, 0, 1, 2, 5, 127],
    "uint": [0, 1, 2, 5, 127, 255],
    "float": [-inf, -2.5, -1.5, -0.5, -0.0],
}
NUMBERS["float"] += [0.0, 0.25, 0.5, 1.0, 2.5, 3.0, inf, nan]
NUMBERS["complex"] = [complex(a, b) for a, b in itertools.product((-2.5, -0.5, 0.0, 1.0, 3.0), repeat=2)]
ONE = {
    "abs negative positive sign square": ALL[1:],
    "ceil floor trunc": ALL[1:-2],
    "round": ALL[1:],
    "isfinite isinf isnan": ALL[1:],
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log10 log2 sin sinh sqrt tan tanh reciprocal": FLOATS,
    "exp log sin cos sinh cosh sqrt tanh conj real imag": COMPLEX,
    "signbit": FLOATS,
    "bitwise_invert": BOOL + SIGNED + UNSIGNED,
    "logical_not": BOOL,
}
TWO = {
    "add multiply subtract equal not_equal": ALL[1:],
    "divide": FLOATS + COMPLEX,
    "pow": FLOATS,
    "atan2 copysign hypot logaddexp nextafter": FLOATS,
    "less less_equal greater greater_equal maximum minimum": ALL[1:-2],
    "remainder": FLOATS,
    "bitwise_and bitwise_or bitwise_xor": BOOL + SIGNED + UNSIGNED,
    "logical_and logical_or logical_xor": BOOL,
}


def test_zeros_of_complex_numbers():
    shown = [repr(x.item()) for x in (xp.tanh(t(complex(inf, 2))), xp.tanh(t(complex(-inf, -2))), xp.expm1(t(complex(-0.0, 0))))]
    assert shown == ["(1+0j)", "(-1-0j)", "0j"]


def numbers(name):
    """Elements of a dtype as an array of NumPy's."""
    kind = name.rstrip("0123456789")
    return np.array(NUMBERS[kind]).astype(name)


def agree(found, expected, exact):
    assert tuple(found.shape) == expected.shape and found.dtype.name == expected.dtype.name
    if exact:
        np.testing.assert_array_equal(found.numpy(), expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found.numpy()[expected == 0]), np.signbit(expected[expected == 0]))
    else:
        np.testing.assert_allclose(found.numpy(), expected, rtol=8 * np.finfo(expected.dtype).eps)


@pytest.mark.parametrize("name, kind", [(name, kind) for names, kinds in ONE.items() for name in names.split() for kind in kinds])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one_are_numpys(name, kind):
    a = numbers(kind)
    expected = getattr(np, name)(a)
    agree(getattr(xp, name)(torch.from_numpy(a)), expected, kind not in FLOATS + COMPLEX or expected.dtype.kind == "b")


@pytest.mark.parametrize("name, kind", [(name, kind) for names, kinds in TWO.items() for name in names.split() for kind in kinds])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_two_are_numpys(name, kind):
    a = numbers(kind)
    expected = getattr(np, name)(a[:, None], a)
    x = torch.from_numpy(a)
    inexact = kind in FLOATS + COMPLEX and name in ("atan2", "divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "pow")
    agree(getattr(xp, name)(x[:, None], x), expected, not inexact)


FLOOR_DIVIDE = {
    (7.0, 2.0): 3.0,
    (-7.0, 2.0): -4.0,
    (1.0, 0.1): 9.0,
    (inf, 2.0): inf,
    (inf, -2.0): -inf,
    (-inf, 2.0): -inf,
    (5.0, -inf): -0.0,
    (-5.0, inf): -0.0,
    (5.0, inf): 0.0,
    (inf, inf): nan,
    (nan, 1.0): nan,
    (1.0, 0.0): inf,
    (0.0, 0.0): nan,
}


@pytest.mark.parametrize("operands, expected", FLOOR_DIVIDE.items())
@pytest.mark.parametrize("name", FLOATS)
def test_floor_divide(operands, expected, name):
    found = xp.floor_divide(*(xp.asarray(x, dtype=dtype(name)) for x in operands)).item()
    assert math.isnan(found) if math.isnan(expected) else (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_integer_division(name):
    a = numbers(name)
    a = a[a != a.min()] if name in SIGNED else a  # -128 // -1
    b = a[a != 0]
    x, y = torch.from_numpy(a)[:, None], torch.from_numpy(b)
    agree(xp.floor_divide(x, y), a[:, None] // b, True)
    agree(xp.remainder(x, y), a[:, None] % b, True)
    agree(xp.floor_divide(x, 3), a[:, None] // 3, True)


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_clip_by_numbers_that_the_dtype_does_not_hold(name):
    least, most = xp.iinfo(dtype(name)).min, xp.iinfo(dtype(name)).max
    x = xp.asarray([least, 1, most], dtype=dtype(name))
    for low, high in itertools.product((None, -(2**63), least, -5, 0, 1), (None, 1, 5, most, 300, 2**64 - 1)):
        found = xp.clip(x, low, high)
        expected = [min(max(v, -(2**70) if low is None else low), 2**70 if high is None else high) for v in (least, 1, most)]
        assert found.tolist() == expected and found.dtype is x.dtype and found is not x


def test_clip():
    assert xp.clip(xp.asarray([nan, 2.0, -1.0]), 0, 1).tolist()[1:] == [1.0, 0.0]
    assert math.isnan(xp.clip(xp.asarray(nan), 0, 1).item()) and math.isnan(xp.clip(xp.asarray(1.0), nan).item())
    assert math.isnan(xp.clip(xp.asarray(1.0), None, xp.asarray(nan)).item())
    assert xp.clip(xp.asarray([1, 9], dtype=xp.int8), xp.asarray(2), xp.asarray([300])).tolist() == [2, 9]
    found = xp.clip(xp.asarray(2.0), xp.ones(3), max=1.5)
    assert found.shape == (3,) and found.tolist() == [1.5] * 3


# ---------------------------------------------------------------------------------------------------- tables of the rest


def t(values, name=None):
    return xp.asarray(values, dtype=name and dtype(name))


GRID = t([[0, 1, 2], [3, 4, 5]])
# A call, and the elements and the dtype of its result.
RESULTS = {
    "arange leads away": (lambda: xp.arange(5, 0), [], "int64"),
    "arange of a stop": (lambda: xp.arange(2.5), [0.0, 1.0, 2.0], "float32"),
    "arange back": (lambda: xp.arange(5, 0, -2, dtype=xp.uint8), [5, 3, 1], "uint8"),
    "arange away by a float": (lambda: xp.arange(0, 5, -0.5), [], "float32"),
    "linspace without its end": (lambda: xp.linspace(0, 1, 4, endpoint=False), [0.0, 0.25, 0.5, 0.75], "float32"),
    "linspace of none": (lambda: xp.linspace(0, 1, 0, endpoint=False), [], "float32"),
    "linspace of complex numbers": (lambda: xp.linspace(0, 2j, 3), [0j, 1j, 2j], "complex64"),
    "eye above": (lambda: xp.eye(2, 3, k=1, dtype=xp.int8), [[0, 1, 0], [0, 0, 1]], "int8"),
    "eye beyond": (lambda: xp.eye(2, k=-(2**70)), [[0.0, 0.0], [0.0, 0.0]], "float32"),
    "full of one size": (lambda: xp.full(2, True), [True, True], "bool"),
    "full of complex": (lambda: xp.full((), 1j), 1j, "complex64"),
    "meshgrid": (lambda: xp.meshgrid(t([1, 2]), t([3, 4, 5]))[0], [[1, 2], [1, 2], [1, 2]], "int64"),
    "asarray of tensors": (lambda: xp.asarray([[t(1)], [2]]), [[1], [2]], "int64"),
    "asarray of a buffer": (lambda: xp.asarray(memoryview(bytes(range(4))).cast("B", (2, 2))), [[0, 1], [2, 3]], "uint8"),
    "round of complex numbers": (lambda: xp.round(t([1.5 + 2.5j, -0.4 - 1.6j])), [2 + 2j, 0 - 2j], "complex64"),
    "sign of complex numbers": (lambda: xp.sign(t([0j, -2 + 0j, 3j])), [0j, -1 + 0j, 1j], "complex64"),
    "shift beyond the bits": (lambda: xp.bitwise_left_shift(t([1], "uint8"), 9 - 1), [0], "uint8"),
    "sum of uint8": (lambda: xp.sum(t([200, 100], "uint8")), 300, "uint64"),
    "sum of int8": (lambda: xp.sum(t([100, 100], "int8")), 200, "int64"),
    "sum of bools": (lambda: xp.sum(t([True, True])), 2, "int64"),
    "sum in a dtype": (lambda: xp.sum(t([1, 2]), dtype=xp.float64), 3.0, "float64"),
    "sum over none": (lambda: xp.sum(GRID, axis=()), [[0, 1, 2], [3, 4, 5]], "int64"),
    "sum over two": (lambda: xp.sum(GRID, axis=(0, 1), keepdims=True), [[15]], "int64"),
    "sum of nothing": (lambda: xp.sum(t([], "float32")), 0.0, "float32"),
    "prod over two": (lambda: xp.prod(xp.full((2, 3), 2, dtype=xp.uint8), axis=(-1, 0)), 64, "uint64"),
    "prod over all": (lambda: xp.prod(GRID + 1, keepdims=True), [[720]], "int64"),
    "prod of nothing": (lambda: xp.prod(t([], "int8")), 1, "int64"),
    "prod over none": (lambda: xp.prod(t([2, 3], "float64"), axis=()), [2.0, 3.0], "float64"),
    "max over two": (lambda: xp.max(GRID, axis=(0, 1)), 5, "int64"),
    "min of one": (lambda: xp.min(t(3, "uint16")), 3, "uint16"),
    "mean over two": (lambda: xp.mean(t([[1.0, 2], [3, 6]]), axis=(0, -1)), 3.0, "float32"),
    "var": (lambda: xp.var(t([1.0, 2, 3, 6])), 3.5, "float32"),
    "var with a correction": (lambda: xp.var(t([1.0, 2, 3]), correction=1), 1.0, "float32"),
    "std over none": (lambda: xp.std(t([5.0, 7.0]), axis=()), [0.0, 0.0], "float32"),
    "all of uint8": (lambda: xp.all(t([1, 2], "uint8")), True, "bool"),
    "all of NaN": (lambda: xp.all(t([nan])), True, "bool"),
    "all over two": (lambda: xp.all(GRID, axis=(0, 1)), False, "bool"),
    "any of complex numbers": (lambda: xp.any(t([0j, 1j]), keepdims=True), [True], "bool"),
    "count_nonzero": (lambda: xp.count_nonzero(GRID, axis=0, keepdims=True), [[1, 2, 2]], "int64"),
    "cumulative_sum": (lambda: xp.cumulative_sum(t([200, 100], "uint8")), [200, 300], "uint64"),
    "cumulative_sum from 0": (lambda: xp.cumulative_sum(GRID, axis=-1, include_initial=True), [[0, 0, 1, 3], [0, 3, 7, 12]], "int64"),
    "cumulative_prod from 1": (lambda: xp.cumulative_prod(GRID, axis=0, include_initial=True), [[1, 1, 1], [0, 1, 2], [0, 4, 10]], "int64"),
    "diff": (lambda: xp.diff(t([1, 4]), prepend=t([0]), append=t([9])), [1, 3, 5], "int64"),
    "diff of no order": (lambda: xp.diff(t([1, 4]), n=0), [1, 4], "int64"),
    "diff of a high order": (lambda: xp.diff(t([1, 4, 9]), n=5), [], "int64"),
    "argmax keeps axes": (lambda: xp.argmax(GRID, keepdims=True), [[5]], "int64"),
    "argmin of one": (lambda: xp.argmin(t(3)), 0, "int64"),
    "argmax of NaN": (lambda: xp.argmax(t([1.0, nan, nan])), 1, "int64"),
    "argsort keeps ties": (lambda: xp.argsort(t([1, 0, 1, 0]), descending=True), [0, 2, 1, 3], "int64"),
    "sort along axis 0": (lambda: xp.sort(GRID, axis=0, descending=True), [[3, 4, 5], [0, 1, 2]], "int64"),
    "searchsorted by a sorter": (lambda: xp.searchsorted(t([3, 1, 2]), t([2, 9]), sorter=t([1, 2, 0], "int32")), [1, 3], "int64"),
    "searchsorted of a number": (lambda: xp.searchsorted(t([1, 2, 2, 3]), 2, side="right"), 3, "int64"),
    "searchsorted of two dtypes": (lambda: xp.searchsorted(t([1, 2, 3], "int8"), t([2.5], "float64")), [2], "int64"),
    "where of numbers": (lambda: xp.where(t([True, False]), 1, t([2.5, 3.5], "float64")), [1.0, 3.5], "float64"),
    "isin": (lambda: xp.isin(t([1, 2], "int8"), t([2, 300])), [False, True], "bool"),
    "isin of a number": (lambda: xp.isin(1, t([1, 2]), invert=True), False, "bool"),
    "take from the end": (lambda: xp.take(t([1, 2, 3]), t([-1, 0], "int8")), [3, 1], "int64"),
    "take by uint8": (lambda: xp.take(GRID, t([1, 1], "uint8"), axis=0), [[3, 4, 5], [3, 4, 5]], "int64"),
    "take along the last": (lambda: xp.take(GRID, t([2, 0]), axis=-1), [[2, 0], [5, 3]], "int64"),
    "take_along_axis": (lambda: xp.take_along_axis(GRID, t([[-1], [0]])), [[2], [3]], "int64"),
    "take_along_axis broadcasts": (lambda: xp.take_along_axis(GRID, t([[1, 0]], "uint16")), [[1, 0], [4, 3]], "int64"),
    "repeat": (lambda: xp.repeat(GRID, 2), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "int64"),
    "repeat along an axis": (lambda: xp.repeat(GRID, t([0, 2, 1], "uint8"), axis=-1), [[1, 1, 2], [4, 4, 5]], "int64"),
    "repeat of one": (lambda: xp.repeat(t(3), t([2])), [3, 3], "int64"),
    "tile": (lambda: xp.tile(t([1, 2]), (2, 2)), [[1, 2, 1, 2], [1, 2, 1, 2]], "int64"),
    "tile by fewer": (lambda: xp.tile(t([[1], [2]]), (2,)), [[1, 1], [2, 2]], "int64"),
    "roll": (lambda: xp.roll(GRID, -1), [[1, 2, 3], [4, 5, 0]], "int64"),
    "roll along two": (lambda: xp.roll(GRID, 1, axis=(0, 1)), [[5, 3, 4], [2, 0, 1]], "int64"),
    "roll by two": (lambda: xp.roll(GRID, (1, 2), axis=(0, 1)), [[4, 5, 3], [1, 2, 0]], "int64"),
    "flip": (lambda: xp.flip(GRID), [[5, 4, 3], [2, 1, 0]], "int64"),
    "flip along one": (lambda: xp.flip(GRID, axis=-1), [[2, 1, 0], [5, 4, 3]], "int64"),
    "concat of all": (lambda: xp.concat([GRID, t(9)], axis=None), [0, 1, 2, 3, 4, 5, 9], "int64"),
    "concat promotes": (lambda: xp.concat([t([1], "int8"), t([2], "uint8")]), [1, 2], "int16"),
    "stack promotes": (lambda: xp.stack([t(1, "int8"), t(2, "int32")], axis=-1), [1, 2], "int32"),
    "unstack": (lambda: xp.unstack(GRID, axis=1)[2], [2, 5], "int64"),
    "moveaxis": (lambda: xp.moveaxis(GRID, 0, -1), [[0, 3], [1, 4], [2, 5]], "int64"),
    "permute_dims": (lambda: xp.permute_dims(GRID, (1, 0)), [[0, 3], [1, 4], [2, 5]], "int64"),
    "astype to bool": (lambda: xp.astype(t([0j, 1j, complex(nan, 0)]), xp.bool), [False, True, True], "bool"),
    "matmul promotes": (lambda: xp.matmul(GRID, xp.ones(3, dtype=xp.uint8)), [3, 12], "int64"),
    "matmul of integers": (lambda: t([[100]], "uint8") @ t([[2]], "uint8"), [[200]], "uint8"),
    "tensordot": (lambda: xp.tensordot(GRID, GRID, axes=((0, 1), (0, 1))), 55, "int64"),
    "vecdot conjugates": (lambda: xp.vecdot(t([1j, 2]), t([1j, 1])), 3 + 0j, "complex64"),
    "vecdot of integers": (lambda: xp.vecdot(GRID, t([1, 1, 1], "int8"), axis=-1), [3, 12], "int64"),
    "cross broadcasts": (lambda: xp.linalg.cross(t([1, 0, 0]), t([[0, 1, 0], [0, 0, 1]])), [[0, 0, 1], [0, -1, 0]], "int64"),
    "outer promotes": (lambda: xp.linalg.outer(t([1, 2]), t([1.5], "float64")), [[1.5], [3.0]], "float64"),
    "trace of uint8": (lambda: xp.linalg.trace(t([[200, 0], [0, 100]], "uint8")), 300, "uint64"),
    "trace above": (lambda: xp.linalg.trace(GRID, offset=1), 6, "int64"),
    "diagonal": (lambda: xp.linalg.diagonal(GRID, offset=1), [1, 5], "int64"),
    "solve of a vector": (lambda: xp.linalg.solve(xp.eye(2)[None, ...], t([1.0, 2])), [[1.0, 2]], "float32"),
    "solve of a matrix for a batch": (lambda: xp.linalg.solve(xp.ones((3, 1, 1)), t([[2.0, 3]])), [[[2.0, 3]]] * 3, "float32"),
    "vector_norm of one": (lambda: xp.linalg.vector_norm(t(-3.0)), 3.0, "float32"),
    "vector_norm over none": (lambda: xp.linalg.vector_norm(t([-3.0, 4]), axis=()), [3.0, 4.0], "float32"),
    "vector_norm over all": (lambda: xp.linalg.vector_norm(t([[-3.0, 4]]), keepdims=True, ord=1), [[7.0]], "float32"),
    "matrix_norm": (lambda: xp.linalg.matrix_norm(t([[3.0, 0], [0, 4]]), ord=None, keepdims=True), [[5.0]], "float32"),
    "matrix_rank": (lambda: xp.linalg.matrix_rank(t([[1.0, 0], [0, 1e-3]]), rtol=0.1), 1, "int64"),
    "fftfreq": (lambda: xp.fft.fftfreq(4, d=0.5, dtype=xp.float64), [0.0, 0.5, -1.0, -0.5], "float64"),
    "fft of integers": (lambda: xp.fft.fft(t([1, 1]), norm="forward"), [1 + 0j, 0j], "complex64"),
    "irfftn along one": (lambda: xp.fft.irfftn(t([[2 + 0j, 0]]), s=(2,), axes=(1,)), [[1.0, 1.0]], "float32"),
    "fftshift": (lambda: xp.fft.fftshift(t([0, 1, 2, 3]), axes=0), [2, 3, 0, 1], "int64"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    call, expected, kind = RESULTS[name]
    found = call()
    assert found.tolist() == expected and found.dtype is dtype(kind) and isinstance(found, torch.Tensor)


SHAPES = {
    "expand_dims": (lambda: xp.expand_dims(GRID, -1), (2, 3, 1)),
    "expand_dims at two": (lambda: xp.expand_dims(GRID, (-1, 0)), (1, 2, 3, 1)),
    "expand_dims at none": (lambda: xp.expand_dims(GRID, ()), (2, 3)),
    "squeeze": (lambda: xp.squeeze(xp.ones((1, 2, 1)), (0, -1)), (2,)),
    "squeeze of none": (lambda: xp.squeeze(xp.ones((1, 2)), ()), (1, 2)),
    "broadcast_to": (lambda: xp.broadcast_to(GRID, (4, 2, 3)), (4, 2, 3)),
    "broadcast_arrays": (lambda: xp.broadcast_arrays(t([1, 2]), t([[1]]))[1], (1, 2)),
    "solve for as many vectors as matrices": (lambda: xp.linalg.solve(xp.stack([xp.eye(3)] * 3), xp.ones((3, 3))), (3, 3, 3)),
    "svd": (lambda: xp.linalg.svd(xp.ones((2, 3)), full_matrices=False)[2], (2, 3)),
    "qr": (lambda: xp.linalg.qr(xp.ones((3, 2)), mode="complete").Q, (3, 3)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    call, expected = SHAPES[name]
    assert call().shape == expected


def test_functions_of_several_arrays_return_tuples():
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3) and xp.broadcast_shapes() == xp.meshgrid() == xp.broadcast_arrays() == ()
    for found in (xp.meshgrid(t([1, 2]), indexing="ij"), xp.broadcast_arrays(t(1)), xp.unstack(GRID), xp.nonzero(GRID)):
        assert type(found) is tuple
    assert [x.tolist() for x in xp.nonzero(t([[0, 1], [2, 0]]))] == [[0, 1], [1, 0]]
    assert [x.tolist() for x in xp.linalg.slogdet(t([[-1.0]]))] == [-1.0, 0.0] and xp.linalg.slogdet(xp.eye(2)).sign.item() == 1
    assert xp.linalg.eigh(xp.eye(2)).eigenvalues.tolist() == [1.0, 1.0] and xp.linalg.svd(xp.eye(1)).S.tolist() == [1.0]


DISTINCT = {
    "integers": (t([[3, 1], [1, 2]]), [1, 2, 3], [1, 3, 0], [[2, 0], [0, 1]], [2, 1, 1]),
    "one": (t(5, "uint16"), [5], [0], 0, [1]),
    "none": (t([], "float64"), [], [], [], []),
    "zeros of both signs": (t([-0.0, 0.0]), [0.0], [0], [0, 0], [2]),
    "complex numbers": (t([1j, 1, 1j, -1j]), [-1j, 1j, 1], [3, 0, 1], [1, 2, 1, 0], [1, 2, 1]),
}


@pytest.mark.parametrize("name", DISTINCT)
def test_distinct_elements(name):
    x, values, indices, inverse, counts = DISTINCT[name]
    found = xp.unique_all(x)
    assert [part.tolist() for part in found] == [values, indices, inverse, counts]
    assert found.values.dtype is x.dtype and found.inverse_indices.shape == x.shape
    assert [part.tolist() for part in xp.unique_counts(x)] == [values, counts]
    assert xp.unique_inverse(x).values.tolist() == xp.unique_values(x).tolist() == values
    assert xp.unique_inverse(x).inverse_indices.tolist() == inverse and xp.unique_counts(x).counts.tolist() == counts


def test_nan_is_distinct_from_nan():
    for x in (t([[3.0, nan], [nan, 3.0]]), t([[3.0 + 0j, nan], [nan, 3.0]])):
        values, indices, inverse, counts = xp.unique_all(x)
        assert sorted(counts.tolist()) == [1, 1, 2] and xp.count_nonzero(xp.isnan(values)) == 2
        again = xp.take(values, xp.reshape(inverse, (-1,)))
        assert xp.all((again == x.flatten()) | xp.isnan(x.flatten())) and sorted(indices.tolist()) == [0, 1, 2]


# ------------------------------------------------------------------------------------------------------ memory and types


def test_asarray_shares_and_copies():
    x = t([1.0, 2.0])
    assert xp.asarray(x) is x is xp.asarray(x, copy=False) is xp.asarray(x, dtype=xp.float32, device="cpu")
    copied = xp.asarray(x, copy=True)
    assert copied is not x and copied.data_ptr() != x.data_ptr() and copied.tolist() == x.tolist()
    array = np.arange(3)
    assert (
        xp.asarray(array).data_ptr()
        == xp.asarray(array, copy=False).data_ptr()
        == array.ctypes.data
        != xp.asarray(array, copy=True).data_ptr()
    )
    leaf = torch.ones(2, requires_grad=True)
    assert xp.asarray(leaf * 2).requires_grad  # the autograd graph is kept
    for obj, options in ((x, {"dtype": xp.float64}), ([1], {}), (1, {}), (array, {"dtype": xp.float64})):
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(obj, copy=False, **options)


def test_from_dlpack_shares_and_copies():
    array = np.arange(3)
    assert xp.from_dlpack(array).data_ptr() == xp.from_dlpack(array, device="cpu", copy=False).data_ptr() == array.ctypes.data
    assert xp.from_dlpack(array, copy=True).data_ptr() != array.ctypes.data
    with pytest.raises(ValueError, match="copy=False"):
        xp.from_dlpack(array, device="meta", copy=False)


class Old:
    """A producer of a version of DLPack's protocol that knows no copies."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_from_dlpack_copies_memory_of_older_producers():
    array = np.arange(3)
    assert xp.from_dlpack(Old(array)).data_ptr() == array.ctypes.data != xp.from_dlpack(Old(array), copy=True).data_ptr()
    assert xp.from_dlpack(Old(array), copy=True).tolist() == [0, 1, 2]


def test_reshape_shares_and_copies():
    for copy, shares in ((None, True), (False, True), (True, False)):
        assert (xp.reshape(GRID, (3, -1), copy=copy).data_ptr() == GRID.data_ptr()) is shares
    assert xp.reshape(GRID.T, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(ValueError, match="use copy=None"):
        xp.reshape(GRID.T, (6,), copy=False)


def test_astype():
    x = t([1, 2])
    assert xp.astype(x, xp.int64, copy=False) is x is not xp.astype(x, xp.int64)
    assert xp.astype(x, xp.int64).data_ptr() != x.data_ptr() and xp.astype(x, xp.int8, device="meta").device.type == "meta"
    with pytest.raises(TypeError, match=r"complex64 cannot be converted to torch.float32; use real\(x\) or imag\(x\)"):
        xp.astype(t([1j]), xp.float32)


KINDS = {"bool": BOOL, "signed integer": SIGNED, "unsigned integer": UNSIGNED, "real floating": FLOATS, "complex floating": COMPLEX}
KINDS |= {"integral": SIGNED + UNSIGNED, "numeric": ALL[1:]}


@pytest.mark.parametrize("name", ALL)
def test_kinds_of_dtypes(name):
    assert {kind for kind in KINDS if xp.isdtype(dtype(name), kind)} == {kind for kind, names in KINDS.items() if name in names}
    assert xp.isdtype(dtype(name), dtype(name)) and xp.isdtype(dtype(name), ("bool", (dtype(name),)))
    assert not xp.isdtype(dtype(name), ()) and not xp.isdtype(dtype(name), torch.float16)
    with pytest.raises(ValueError, match="kind must be a dtype, a tuple, or one of 'bool', .* not 'whole'"):
        xp.isdtype(dtype(name), "whole")


def test_kinds_of_floats_of_16_bits():
    assert (
        xp.isdtype(torch.bfloat16, "real floating") and xp.isdtype(torch.float16, "numeric") and not xp.isdtype(torch.float16, "integral")
    )


@pytest.mark.parametrize("name", SIGNED + UNSIGNED + FLOATS + COMPLEX)
def test_limits_of_dtypes(name):
    function, of_numpy = (xp.iinfo, np.iinfo) if name in SIGNED + UNSIGNED else (xp.finfo, np.finfo)
    fields = ("bits", "max", "min", *(() if function is xp.iinfo else ("eps", "smallest_normal")))
    for found in (function(dtype(name)), function(xp.ones(1, dtype=dtype(name)))):
        assert [getattr(found, field) for field in fields] == [getattr(of_numpy(name), field) for field in fields]
        assert found.dtype is dtype(of_numpy(name).dtype.name)


REJECTED = {
    "nonzero of one": (ValueError, lambda: xp.nonzero(t(1)), "0-dim tensors are not supported"),
    "take of two dimensions without an axis": (ValueError, lambda: xp.take(GRID, t([0])), "axis is required for a tensor of 2 dimensions"),
    "take beyond the axes": (IndexError, lambda: xp.take(GRID, t([0]), axis=2), "dimension 2 is out of range"),
    "take beyond the elements": (IndexError, lambda: xp.take(t([1]), t([1])), "out of bounds"),
    "cumulative_sum without an axis": (ValueError, lambda: xp.cumulative_sum(GRID), "axis is required for a tensor of 2 dimensions"),
    "squeeze of size 2": (ValueError, lambda: xp.squeeze(GRID, 0), "axis 0 has size 2; only axes of size 1 can be squeezed"),
    "expand_dims twice at one place": (IndexError, lambda: xp.expand_dims(GRID, (0, -4)), "2 different axes of a result of 4 dimensions"),
    "expand_dims beyond": (IndexError, lambda: xp.expand_dims(GRID, (0, 9)), "2 different axes"),
    "broadcast_shapes": (ValueError, lambda: xp.broadcast_shapes((2,), (3,)), r"2\].*3\]"),
    "vecdot of sizes that would broadcast": (
        ValueError,
        lambda: xp.vecdot(xp.ones(1), xp.ones(3)),
        "x1 has 1 elements along axis -1, but x2 has 3",
    ),
    "cross of two": (ValueError, lambda: xp.linalg.cross(xp.ones(2), xp.ones(2)), "axis -1 must have size 3, not 2 in x1 and 2 in x2"),
    "sum over one axis twice": (RuntimeError, lambda: xp.sum(GRID, axis=(0, -2)), "multiple times"),
    "max of nothing": (IndexError, lambda: xp.max(t([])), "non-zero size"),
    "a list": (TypeError, lambda: xp.exp([1.0]), r"exp\(\): argument 'x' must be Tensor, not list"),
    "imag of real numbers": (TypeError, lambda: xp.imag(t([1.0])), "complex"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_errors(name):
    error, call, text = REJECTED[name]
    with pytest.raises(error, match=text):
        call()


def test_gradients_go_through():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.multiply(xp.clip(xp.concat([x, x]), 0, 1.5), t([1.0, 2, 3, 4], "float64"))).backward()
    assert x.grad.tolist() == [4.0, 0.0]
