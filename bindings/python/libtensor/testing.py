"""Comparison of tensors in tests."""

from collections.abc import Mapping, Sequence

from ._base import dtypes as _dtypes
from ._core.tensor import Tensor
from ._data.create import tensor
from ._gen import gen_functions as _f

__all__ = ["assert_close"]

TOLERANCES = {
    _dtypes.float16: (1e-3, 1e-5),
    _dtypes.bfloat16: (1.6e-2, 1e-5),
    _dtypes.float32: (1.3e-6, 1e-5),
    _dtypes.float64: (1e-7, 1e-7),
    _dtypes.complex64: (1.3e-6, 1e-5),
    _dtypes.complex128: (1e-7, 1e-7),
}


def tolerances(actual, expected, rtol, atol):
    """The larger of both dtypes' tolerances, unless given together."""
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol must both be specified or both be unspecified, but got rtol={rtol} and atol={atol}")
    if rtol is not None:
        return rtol, atol
    pairs = [TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Also compares shapes and, unless told otherwise, dtypes, devices and layouts. Sequences and mappings are compared item
    by item. The tolerances follow the dtype unless given.
    """
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_device": check_device, "check_dtype": check_dtype}
    options |= {"check_layout": check_layout, "check_stride": check_stride}
    problem = difference(actual, expected, "", options)
    if problem:
        raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


def difference(actual, expected, where, options):
    """What differs between two values, "" when they are close."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"The keys of the mappings do not match{where}: {sorted(map(str, actual.keys() ^ expected.keys()))} are in one only"
        found = (difference(actual[k], expected[k], f"{where} at item [{k!r}]", options) for k in actual)
        return next(filter(None, found), "")
    if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch{where}: {len(actual)} != {len(expected)}"
        found = (difference(a, e, f"{where} at item [{i}]", options) for i, (a, e) in enumerate(zip(actual, expected, strict=True)))
        return next(filter(None, found), "")
    if not isinstance(actual, Tensor) and not isinstance(expected, Tensor) and options["rtol"] is None and type(actual) is not type(expected):
        raise TypeError(f"assert_close(): {type(actual).__name__} and {type(expected).__name__} cannot be compared{where}")
    return tensor_difference(as_operand(actual), as_operand(expected), where, options)


def as_operand(value):
    if isinstance(value, Tensor):
        return value
    kinds = {float: _dtypes.float64, complex: _dtypes.complex128}
    return tensor(value, dtype=kinds.get(type(value)))


def tensor_difference(actual, expected, where, options):
    for name, check in (("dtype", "check_dtype"), ("device", "check_device"), ("layout", "check_layout")):
        if options[check] and getattr(actual, name) != getattr(expected, name):
            return f"The values for attribute '{name}' do not match{where}: {getattr(actual, name)} != {getattr(expected, name)}."
    if actual.shape != expected.shape:
        return f"The values for attribute 'shape' do not match{where}: {actual.shape} != {expected.shape}."
    if options["check_stride"] and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match{where}: {actual.stride()} != {expected.stride()}."
    if actual.layout is not _dtypes.strided or expected.layout is not _dtypes.strided:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.is_quantized and expected.is_quantized:
        if options["check_dtype"] and actual.qscheme() != expected.qscheme():
            return f"The values for attribute 'qscheme()' do not match{where}: {actual.qscheme()} != {expected.qscheme()}."
        actual, expected = actual.dequantize(), expected.dequantize()
    rtol, atol = tolerances(actual, expected, options["rtol"], options["atol"])
    common = _f.promote_types(actual.dtype, expected.dtype)
    actual, expected = actual.to(common), expected.to(common).to(actual.device)
    if rtol == 0 and atol == 0 and not common.is_floating_point and not common.is_complex:
        close = _f.eq(actual, expected)
    else:
        close = _f.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    wrong = [i for i, good in enumerate(close.flatten().tolist()) if not good]
    if not wrong:
        return ""
    a, e = actual.flatten()[wrong[0]].item(), expected.flatten()[wrong[0]].item()
    n = close.numel()
    head = "Scalars" if not close.dim() else "Tensor-likes"
    share = f"\nMismatched elements: {len(wrong)} / {n} ({100 * len(wrong) / n:.1f}%)" if close.dim() else ""
    return f"{head} are not close{where}!\n{share}\nFirst difference: {a} and {e} at flat index {wrong[0]} (allowed: rtol={rtol}, atol={atol})"
