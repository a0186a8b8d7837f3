"""Comparison of tensors in tests, and random tensors for tests."""

import math
import warnings
from collections.abc import Mapping, Sequence

from ._base import dtypes as _dtypes
from ._core.tensor import Tensor
from ._data.create import tensor
from ._gen import gen_functions as _f

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

TOLERANCES = {
    _dtypes.float16: (1e-3, 1e-5),
    _dtypes.bfloat16: (1.6e-2, 1e-5),
    _dtypes.float32: (1.3e-6, 1e-5),
    _dtypes.float64: (1e-7, 1e-7),
    _dtypes.complex64: (1.3e-6, 1e-5),
    _dtypes.complex128: (1e-7, 1e-7),
}


def tolerances(actual, expected, rtol, atol):
    """Returns the larger of the tolerances of both dtypes, or the given ones."""
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
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| for all elements.

    Also compares shapes and, by default, dtypes, devices and layouts. Sequences and mappings are compared item by item. The default
    tolerances depend on the dtype.
    """
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_device": check_device, "check_dtype": check_dtype}
    options |= {"check_layout": check_layout, "check_stride": check_stride}
    problem = difference(actual, expected, "", options)
    if problem:
        raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Raises AssertionError as assert_close, without a comparison of dtypes. Deprecated by PyTorch: use assert_close."""
    warnings.warn("torch.testing.assert_allclose() is deprecated; use torch.testing.assert_close()", FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def difference(actual, expected, where, options):
    """Returns the description of the difference of two values, "" if they are close."""
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
    if (
        not isinstance(actual, Tensor)
        and not isinstance(expected, Tensor)
        and options["rtol"] is None
        and type(actual) is not type(expected)
    ):
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
    if common in _dtypes.FLOAT8:
        if rtol or atol:
            return (
                f"rtol={rtol} and atol={atol} are not supported for {common}, which is compared by its bits{where}; use rtol=0 and atol=0"
            )
        close = _f.eq(actual.view(_dtypes.uint8), expected.view(_dtypes.uint8))
    elif rtol == 0 and atol == 0 and not common.is_floating_point and not common.is_complex:
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
    return (
        f"{head} are not close{where}!\n{share}\nFirst difference: {a} and {e} at flat index {wrong[0]} (allowed: rtol={rtol}, atol={atol})"
    )


def make_tensor(
    *shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None
):
    """Returns a tensor of random values, drawn uniformly from [low, high).

    Defaults: [0, 2) for bool, [0, 10) for unsigned integers, [-9, 10) for signed ones, [-9, 9) for floating-point and complex dtypes (real
    and imaginary part). A bound that the dtype cannot represent is replaced by its least or greatest finite value.

    shape: sizes, or one sequence of them. noncontiguous: every second element of a storage twice as large. exclude_zero: replaces 0 by 1,
    or by the least normal value of a floating-point dtype.

    Raises ValueError if low is not less than high, for NaN, for requires_grad=True with an integral dtype, and if both noncontiguous and
    memory_format are given; TypeError for quantized dtypes.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    real = dtype.to_real() if dtype.is_complex else dtype
    fractional = real.is_floating_point
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not fractional:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    low, high = interval(real, low, high)

    made = _f.empty(sizes, dtype=dtype, device=device)
    parts = _f.view_as_real(made) if dtype.is_complex else made
    if not fractional:
        parts.copy_(_f.randint(low, high, sizes, dtype=_dtypes.int64, device=device))
    elif high - low <= _dtypes.finfo(real).max:
        parts.uniform_(low, high)
    else:  # the width of the interval overflows
        parts.uniform_(low / 2, high / 2).mul_(2)
    if noncontiguous and made.numel() > 1:
        made = _f.repeat_interleave(made, 2, dim=-1)[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = _dtypes.finfo(real).tiny * (1 + 1j if dtype.is_complex else 1) if fractional else 1
    return made.requires_grad_(requires_grad)


def interval(dtype, low, high):
    """Returns the interval of make_tensor for a real dtype: integers for integral dtypes, finite values for floating-point ones."""
    if dtype is _dtypes.bool_:
        least, most, default = 0, 2, (0, 2)
    elif dtype.is_floating_point:
        info = _dtypes.finfo(dtype)
        least, most, default = info.min, info.max, (-9, 9)
    else:
        info = _dtypes.iinfo(dtype)
        least, most, default = info.min, min(info.max + 1, 2**63 - 1), (-9 if info.min else 0, 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.is_floating_point:
        warnings.warn("make_tensor: low equals high; use torch.full() instead", FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low > most or not dtype.is_floating_point and low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})"
        )
    low, high = max(low, least), min(high, most)
    return (low, high) if dtype.is_floating_point else (math.ceil(low), math.ceil(high))


def __dir__():
    return __all__
