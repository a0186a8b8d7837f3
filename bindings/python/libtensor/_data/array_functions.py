"""Implementations of NumPy's functions by libtensor's functions, for tensors whose memory NumPy cannot read.

A row has the function and NumPy's parameters in order; a colon separates libtensor's name of a parameter if it differs. Functions that no
row can describe have NumPy's signature. Other arguments are not supported.
"""

from functools import partial
from inspect import Parameter, Signature, signature
from math import pi
from math import prod as product_of
from operator import index
from typing import Any

from .._base import dtypes as _dtypes
from .._base.dtypes import bool_, complex64, complex128, float32, float64
from .._core.tensor import Tensor
from .._gen import gen_fft, gen_linalg
from .._gen import gen_functions as _f
from . import axes as _axes
from . import compose, create


class NotThere(TypeError):
    """A function or an argument that is not implemented."""


NOTHING, EMPTY = "libtensor has no equivalent function", "an empty axis is not supported for this tensor"

WIDE = {float32: float64, complex64: complex128}

# Parameters that are arrays, which may be lists of numbers.
ARRAYS = frozenset(
    [
        "a",
        "b",
        "x",
        "y",
        "v",
        "m",
        "q",
        "x1",
        "x2",
        "ar",
        "arr",
        "ary",
        "array",
        "condition",
        "element",
        "test_elements",
        "weights",
        "val",
        "z",
    ]
)


def as_array(value, *beside):
    """Returns a tensor or a scalar; lists become tensors of NumPy's dtype, on the device of the first tensor among the arguments."""
    if not isinstance(value, (list, tuple)):
        return value
    device = next((x.device for x in beside if isinstance(x, Tensor)), None)
    made = create.tensor(value, device=device)
    return create.tensor(value, dtype=WIDE[made.dtype], device=device) if made.dtype in WIDE else made


def as_arrays(*values):
    """Converts lists and scalars among the values to tensors; the dtype of a scalar does not take part in promotion, as before."""
    arrays = [as_array(value, *values) for value in values]
    first = next((value for value in arrays if isinstance(value, Tensor)), None)
    if first is None:
        raise NotThere("no operand is a tensor, and out= is not an array that NumPy can write to")
    return [
        create.tensor(x, dtype=_f.result_type(first, x), device=first.device) if isinstance(x, (int, float, complex)) else x for x in arrays
    ]


def row(function, parameters, **always):
    """Returns a function with NumPy's parameters that calls `function` with its own names; `always` are arguments whose default differs in
    NumPy.
    """
    names = {theirs: ours or theirs for theirs, _, ours in (text.partition(":") for text in parameters.split())}

    def call(*args, **kwargs):
        found = dict(always)
        given = dict(zip(names, args, strict=False)) | kwargs
        for name, value in given.items():
            if value is not None:
                found[names[name]] = _dtypes.of_numpy(value) if name == "dtype" else value
        return function(**found)

    named: Any = call
    named.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in names])
    return call


def alike(function):
    """Wraps a function of tensors of one dtype: promotes its tensors first."""

    def call(*args, **kwargs):
        values = [*args, *kwargs.values()]
        found = [t for value in values for t in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(t, Tensor)]
        dtype = found[0].dtype
        for t in found[1:]:
            dtype = _f.promote_types(dtype, t.dtype)
        return function(*(cast(value, dtype) for value in args), **{name: cast(value, dtype) for name, value in kwargs.items()})

    return call


def cast(value, dtype):
    """Converts a tensor, or a list of tensors, to a dtype; returns other values unchanged."""
    if isinstance(value, (list, tuple)):
        return [cast(item, dtype) for item in value]
    return value.to(dtype) if isinstance(value, Tensor) else value


def whole(function):
    """Wraps a function along an axis: without axis, or with None, it applies to the flattened tensor."""

    def call(input, dim, **others):
        return function(_f.flatten(input), dim=0, **others) if dim is None or not input.dim() else function(input, dim=dim, **others)

    return call


# ------------------------------------------------------------------------------------------ functions with a signature of NumPy's


def prod(input, dim=None, keepdim=False):
    """Returns prod() over any dimensions."""
    if dim is None:
        return _f.prod(input) if not keepdim else prod(input, tuple(range(input.dim())), True)
    for one in sorted((d % max(input.dim(), 1) for d in (dim if isinstance(dim, tuple) else (dim,))), reverse=True):
        input = _f.prod(input, one, keepdim)
    return input


def cumulative(function):
    return lambda a, axis=None, dtype=None, out=None: whole(function)(a, axis, dtype=_dtypes.of_numpy(dtype), out=out)


def sort(a, axis=-1, kind=None, *, stable=None):
    return whole(_f.sort)(a, axis, stable=bool(stable or kind == "stable")).values


def argsort(a, axis=-1, kind=None, *, stable=None):
    return whole(_f.sort)(a, axis, stable=bool(stable or kind == "stable")).indices


def quantile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    if isinstance(axis, tuple):
        raise NotThere("several axes are not supported for this tensor")
    if method not in INTERPOLATIONS:
        raise NotThere(f"method {method!r} is not supported for this tensor; supported are {', '.join(INTERPOLATIONS)}")
    wide = a.to(float32) if a.dtype.itemsize == 2 else a
    made = _f.quantile(wide, q.to(wide.dtype) if isinstance(q, Tensor) else q, axis, keepdims, interpolation=method)
    return into(out, made.to(a.dtype))


def percentile(a, q, axis=None, out=None, *, method="linear", keepdims=False):
    return quantile(a, q / 100, axis, out, method=method, keepdims=keepdims)


def median(a, axis=None, out=None, *, keepdims=False):
    return quantile(a, 0.5, axis, out, keepdims=keepdims)


def average(a, axis=None, weights=None, *, keepdims=False):
    if weights is None:
        return _f.mean(a, axis, keepdims)
    if weights.dim() != a.dim() and axis is not None:
        weights = weights.reshape([-1 if d == axis % a.dim() else 1 for d in range(a.dim())])
    weights = weights.expand(a.shape)
    return _f.sum(a * weights, axis, keepdims) / _f.sum(weights, axis, keepdims)


def ptp(a, axis=None, out=None, keepdims=False):
    dim = () if axis is None else axis
    return _f.sub(_f.amax(a, dim, keepdims), _f.amin(a, dim, keepdims), out=out)


def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    low, high = as_array(a_min if min is None else min, a), as_array(a_max if max is None else max, a)
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        _, low, high = as_arrays(a, low, high)
    return into(out, _f.clone(a) if low is high is None else _f.clamp(a, low, high))


def where(condition, *values):
    if len(values) == 1:
        raise ValueError("numpy.where: either both or neither of x and y should be given")
    condition, *values = as_arrays(condition, *values)
    return _f.where(condition.to(bool_), *values) if values else nonzero(condition)


def transpose(a, axes=None):
    return _f.permute(a, tuple(range(a.dim()))[::-1] if axes is None else axes)


def trace(a, offset=0, axis1=0, axis2=1):
    return _f.diagonal(a, offset, axis1, axis2).sum(-1)


def squeeze(a, axis=None):
    axes = () if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if any(a.size(one) != 1 for one in axes):
        raise ValueError(f"numpy.squeeze: {tuple(a.shape)} along axis {axis} is not 1")
    return _f.squeeze(a) if axis is None else _f.squeeze(a, axes)


def expand_dims(a, axis):
    return _axes.expand_dims(a, tuple(axis) if isinstance(axis, list) else axis)


def joins(function):
    """Wraps a function of a list of tensors, whose items may be lists of numbers and scalars."""
    return lambda tup: function(as_arrays(*tup))


def concatenate(arrays, axis=0, out=None):
    arrays = as_arrays(*arrays)
    return _f.cat([_f.flatten(a) for a in arrays] if axis is None else arrays, axis or 0, out=out)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    def end(value):
        """Returns a value to prepend or append: a scalar becomes one element of each row."""
        if value is None:
            return None
        _, value = as_arrays(a, value)
        return value if value.dim() else value.expand([1 if d == axis % a.dim() else size for d, size in enumerate(a.shape)])

    return _f.diff(a, n, axis, end(prepend), end(append))


def triangle(function):
    """Returns the matrix whose rows all are the given one."""
    return lambda m, k=0: function(m if m.dim() != 1 else m.expand(len(m), len(m)), k)


def split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int) and ary.size(axis) % indices_or_sections:
        raise ValueError(
            f"numpy.split: {ary.size(axis)} elements along axis {axis} cannot be split into {indices_or_sections} equal parts; use "
            "array_split"
        )
    return array_split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    return list(_f.tensor_split(ary, indices_or_sections, axis))


def parts(function):
    return lambda ary, indices_or_sections: list(function(ary, indices_or_sections))


def repeat(a, repeats, axis=None):
    return _f.repeat_interleave(a, as_array(repeats, a), axis)


def flip(m, axis=None):
    return _f.flip(m, tuple(range(m.dim())) if axis is None else axis)


def tile(A, reps):
    return _f.tile(A, (reps,) if isinstance(reps, int) else reps)


def roll(a, shift, axis=None):
    return _f.roll(a, shift) if axis is None else _f.roll(a, shift, axis)


def take(a, indices, axis=None, out=None):
    indices = as_array(indices, a)
    if not isinstance(indices, Tensor):
        indices = create.tensor(indices, device=a.device)
    if axis is None:
        return _f.take(a, indices, out=out)
    axis %= max(a.dim(), 1)
    from_start = _f.where(indices < 0, indices + (a.size(axis) if a.dim() else 1), indices)
    found = _f.index_select(a, axis, _f.flatten(from_start)).reshape((*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]))
    return into(out, found)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return alike(_f.isclose)(*as_arrays(a, b), rtol, atol, equal_nan)


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return isclose(a, b, rtol, atol, equal_nan).all().item()


def nonzero(a):
    if not a.dim():
        raise ValueError("numpy.nonzero: not supported for 0-dim tensors; use atleast_1d(t).nonzero()")
    return compose.nonzero(a, as_tuple=True)


def dot(a, b, out=None):
    if not all(isinstance(x, Tensor) and x.dim() for x in (a, b)):
        return into(out, a * b)
    return into(out, alike(_f.matmul)(a, b) if b.dim() <= 2 else alike(compose.tensordot)(a, b, ([-1], [-2])))


def vdot(a, b):
    return alike(_f.vdot)(_f.flatten(a), _f.flatten(b))


def outer(a, b, out=None):
    return into(out, _f.outer(*map(_f.flatten, as_arrays(a, b))))


def angle(z, deg=False):
    made = _f.angle(z)
    if not z.dtype.is_complex:
        made = _f.where((z == 0) & _f.signbit(z), pi, made)
    return _f.rad2deg(made) if deg else made


def inner(a, b):
    a, b = as_arrays(a, b)
    return alike(_f.inner)(a, b) if a.dim() and b.dim() else a * b


def outer_of_vectors(x1, x2):
    if any(x.dim() != 1 for x in as_arrays(x1, x2)):
        raise ValueError(f"numpy.linalg.outer: vectors have one dimension, not {x1.dim()} and {x2.dim()}")
    return outer(x1, x2)


def cross(a, b, *, axis=-1):
    return alike(gen_linalg.cross)(*_f.broadcast_tensors(a, b), dim=axis)


def einsum(subscripts, *operands, optimize=False):
    return alike(compose.einsum)(subscripts, *operands)


def svd(a, full_matrices=True, compute_uv=True):
    return gen_linalg.svd(a, full_matrices) if compute_uv else gen_linalg.svdvals(a)


def qr(a, mode="reduced"):
    return gen_linalg.qr(a, mode).R if mode == "r" else gen_linalg.qr(a, mode)


def solve(a, b):
    """NumPy 2's solve: an operand with one dimension is a vector, others are batches of matrices."""
    if b.dim() == 1:
        return alike(gen_linalg.solve)(a, b[:, None])[..., 0]
    return alike(gen_linalg.solve)(a, b.reshape(*(1,) * (a.dim() - b.dim()), *b.shape))


def meshgrid(*xi, indexing="xy"):
    return tuple(alike(_f.meshgrid)(*map(_f.flatten, as_arrays(*xi)), indexing=indexing))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        raise NotThere("copy=False is not supported for this tensor")
    return _f.nan_to_num(x, nan, posinf, neginf)


def unique(ar, *, return_inverse=False, return_counts=False, axis=None, equal_nan=True):
    found = compose.unique(ar, True, return_inverse, return_counts, axis)
    if axis is not None or not equal_nan or ar.dtype.is_complex:
        return found
    values, *others = found if isinstance(found, tuple) else (found,)
    last = len(values) - _f.isnan(values).sum().item()  # the index of the first NaN; NaNs count as one value
    if last >= len(values) - 1:
        return found
    made = [values[: last + 1]]
    if return_inverse:
        made.append(others[0].clamp_max(last))
    if return_counts:
        made.append(_f.cat((others[-1][:last], others[-1][last:].sum(0, True))))
    return tuple(made) if others else made[0]


def array_equal(a1, a2):
    return _f.equal(*as_arrays(a1, a2))


def of_dtype(function):
    """Wraps a reduction whose elements `dtype` converts first, with out=."""

    def call(input, dim=None, keepdim=False, dtype=None, out=None, **others):
        return into(out, function(cast(input, dtype or input.dtype), dim, keepdim=keepdim, **others))

    return call


def nan_stays(function):
    """Wraps an elementwise function so that NaN returns NaN; for complex numbers it is sgn()."""

    def call(x, *others):
        if x.dtype.is_complex:
            return _f.sgn(x)
        made = function(x, *others)
        return _f.where(_f.isnan(x), x.detach(), made) if x.dtype.is_floating_point else made

    return call


def matrix(x):
    if x.dim() < 2:
        raise ValueError(f"a matrix has two dimensions or more, not {x.dim()}")
    return x


def shape(a):
    return tuple(a.shape)


def size(a, axis=None):
    return a.numel() if axis is None else product_of(map(a.size, axis if isinstance(axis, tuple) else (axis,)))


def full_like(a, fill_value, dtype=None):
    value = as_array(fill_value, a)
    made = _f.full_like(a, 0 if isinstance(value, Tensor) else value, dtype=_dtypes.of_numpy(dtype))
    return made.copy_(value) if isinstance(value, Tensor) else made


def cumulative_part(name, function, start):
    def call(x, *, axis=None, dtype=None, out=None, include_initial=False):
        return into(out, _axes.cumulative(name, function, x, axis, _dtypes.of_numpy(dtype), start if include_initial else None))

    return call


def astype(x, dtype, copy=True):
    return x.to(_dtypes.of_numpy(dtype), copy=copy)


# ---------------------------------------------------------------------------------------------------------------- the tables

REDUCES = "a:input axis:dim dtype out keepdims:keepdim"
OF_EACH = "x:input out"
DEVIATES = "a:input axis:dim dtype out ddof:correction keepdims:keepdim"
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")

FUNCTIONS = {
    **{name: row(getattr(_f, name), REDUCES) for name in ("sum", "mean", "nansum", "nanmean")},
    "prod": row(of_dtype(prod), REDUCES),
    **{name: row(getattr(_f, "a" + name[-3:]), "a:input axis:dim out keepdims:keepdim") for name in ("max", "min", "amax", "amin")},
    **{name: row(getattr(_f, name), "a:input axis:dim out keepdims:keepdim") for name in ("any", "all", "argmax", "argmin")},
    **{name: row(of_dtype(getattr(_f, name)), DEVIATES, correction=0) for name in ("std", "var")},
    "count_nonzero": row(_f.count_nonzero, "a:input axis:dim"),
    "cumsum": cumulative(_f.cumsum),
    "cumprod": cumulative(_f.cumprod),
    **{made.__name__: made for made in (sort, argsort, quantile, percentile, median, average, ptp, clip, where)},
    "diff": diff,
    "cumulative_sum": cumulative_part("cumulative_sum", _f.cumsum, 0),
    "cumulative_prod": cumulative_part("cumulative_prod", _f.cumprod, 1),
    "trapezoid": row(_f.trapezoid, "y x dx axis:dim"),
    # shapes
    **{made.__name__: made for made in (transpose, expand_dims, squeeze, trace, flip, tile, roll, repeat, shape, size, astype)},
    "permute_dims": transpose,
    "matrix_transpose": row(_f.mT, "x:input"),
    "reshape": row(_f.reshape, "a:input shape"),
    "ravel": row(_f.ravel, "a:input"),
    "moveaxis": row(_f.moveaxis, "a:input source destination"),
    "swapaxes": row(_f.swapaxes, "a:input axis1:axis0 axis2:axis1"),
    "broadcast_to": row(_f.broadcast_to, "array:input shape:size"),
    "broadcast_arrays": lambda *args: tuple(_f.broadcast_tensors(*args)),
    **{name: row(getattr(_f, name), "m:input") for name in ("fliplr", "flipud")},
    "rot90": row(_f.rot90, "m:input k axes:dims"),
    **{name: getattr(_f, name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    "ndim": lambda a: a.dim(),
    "iscomplexobj": lambda x: x.is_complex(),
    "isrealobj": lambda x: not x.is_complex(),
    # joins and splits
    **{made.__name__: made for made in (concatenate, split, array_split, take, nonzero)},
    "stack": row(_f.stack, "arrays:tensors axis:dim out"),
    **{name: joins(getattr(_f, name)) for name in ("vstack", "hstack", "dstack", "column_stack")},
    **{name: parts(getattr(_f, name)) for name in ("hsplit", "vsplit", "dsplit")},
    **{name: triangle(getattr(_f, name)) for name in ("tril", "triu")},
    "diag": row(_f.diag, "v:input k:diagonal"),
    "diagonal": row(_f.diagonal, "a:input offset axis1:dim1 axis2:dim2", dim1=0, dim2=1),
    "take_along_axis": row(_f.take_along_dim, "arr:input indices axis:dim", dim=-1),
    "diagflat": row(_f.diagflat, "v:input k:offset"),
    "argwhere": row(_f.argwhere, "a:input"),
    "flatnonzero": lambda a: nonzero(_f.flatten(a))[0],
    "append": lambda arr, values, axis=None: concatenate([arr, values], axis),
    "unstack": lambda x, axis=0: _f.unbind(x, axis),
    # products
    **{made.__name__: made for made in (dot, vdot, outer, inner, cross, einsum)},
    "tensordot": row(alike(compose.tensordot), "a b axes:dims"),
    "kron": row(_f.kron, "a:input b:other"),
    # elements
    "real": row(_f.real, "val:input"),
    "imag": lambda val: _f.imag(val) if val.is_complex() else _f.zeros_like(val),
    "angle": angle,
    **{name: row(_f.round, "a:input decimals out") for name in ("round", "around")},
    **{name: row(getattr(_f, name), "x:input") for name in ("sinc", "i0", "isreal")},
    **{name: row(getattr(_f, name), OF_EACH) for name in ("isposinf", "isneginf")},
    "fix": row(_f.trunc, OF_EACH),
    "nan_to_num": nan_to_num,
    "isin": row(_f.isin, "element:elements test_elements assume_unique invert"),
    # sets, indices, counts
    **{made.__name__: made for made in (unique, meshgrid, array_equal, isclose, allclose)},
    "searchsorted": row(_f.searchsorted, "a:sorted_sequence v:input side sorter"),
    "bincount": row(_f.bincount, "x:input weights minlength"),
    # creation
    **{name: row(getattr(_f, name), "a:input dtype") for name in ("zeros_like", "ones_like", "empty_like")},
    "full_like": full_like,
    "copy": row(_f.clone, "a:input"),
    # linear algebra
    "linalg.norm": row(gen_linalg.norm, "x:input ord axis:dim keepdims:keepdim"),
    "linalg.vector_norm": row(gen_linalg.vector_norm, "x axis:dim keepdims:keepdim ord"),
    "linalg.matrix_norm": row(gen_linalg.matrix_norm, "x:input keepdims:keepdim ord"),
    **{f"linalg.{name}": row(getattr(gen_linalg, name), "a:A") for name in ("det", "slogdet", "inv")},
    **{f"linalg.{name}": row(getattr(gen_linalg, name), "a:input") for name in ("pinv", "cholesky", "eig", "eigvals")},
    **{f"linalg.{name}": row(getattr(gen_linalg, name), "a:input UPLO") for name in ("eigh", "eigvalsh")},
    "linalg.matrix_rank": row(gen_linalg.matrix_rank, "A:input"),
    "linalg.matrix_power": row(gen_linalg.matrix_power, "a:input n"),
    "linalg.cond": row(gen_linalg.cond, "x:input p"),
    "linalg.outer": outer_of_vectors,
    "linalg.diagonal": lambda x, *, offset=0: _f.diagonal(x, offset, -2, -1),
    "linalg.trace": lambda x, *, offset=0, dtype=None: trace(x, offset, -2, -1).to(_dtypes.of_numpy(dtype) or x.dtype),
    "linalg.matrix_transpose": lambda x: _f.mT(x),
    "linalg.cross": lambda x1, x2, *, axis=-1: cross(x1, x2, axis=axis),
    "linalg.matmul": alike(_f.matmul),
    "linalg.vecdot": row(alike(gen_linalg.vecdot), "x1:x x2:y axis:dim"),
    "linalg.tensordot": row(alike(compose.tensordot), "x1:a x2:b axes:dims"),
    "linalg.multi_dot": row(alike(gen_linalg.multi_dot), "arrays:tensors out"),
    "linalg.solve": solve,
    "linalg.svd": svd,
    "linalg.svdvals": row(gen_linalg.svdvals, "x:A"),
    "linalg.qr": qr,
    # Fourier transforms
    **{
        f"fft.{kind}": row(getattr(gen_fft, kind), "a:input n axis:dim norm out")
        for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{kind}": row(getattr(gen_fft, kind), "a:input s axes:dim norm out")
        for kind in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    **{f"fft.{kind}": row(getattr(gen_fft, kind), "x:input axes:dim") for kind in ("fftshift", "ifftshift")},
}

# ufuncs whose libtensor function has another name
NAMES = {
    "absolute": "abs",
    "fabs": "abs",
    "conjugate": "conj_physical",
    "rint": "round",
    "power": "pow",
    "degrees": "rad2deg",
    "radians": "deg2rad",
}
NAMES |= {
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "equal": "eq",
    "not_equal": "ne",
}
SAME = """
add subtract multiply divide floor_divide remainder fmod float_power matmul negative positive square sqrt reciprocal exp exp2 expm1 log
log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot deg2rad
rad2deg sign signbit copysign nextafter ldexp floor ceil trunc maximum minimum fmax fmin greater greater_equal less less_equal logical_and
logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_count isnan isinf isfinite gcd lcm heaviside frexp
"""
UFUNCS = {name: getattr(_f, ours) for name, ours in {**NAMES, **{n: n for n in SAME.split()}}.items() if hasattr(_f, ours)}
UFUNCS |= {name: alike(UFUNCS[name]) for name in ("matmul", "heaviside")}
UFUNCS |= {name: nan_stays(UFUNCS[name]) for name in ("heaviside", "sign")}
UFUNCS |= {
    "matvec": lambda x, y: UFUNCS["matmul"](matrix(x), y[..., None])[..., 0],
    "vecmat": lambda x, y: UFUNCS["matmul"](x.conj()[..., None, :], matrix(y))[..., 0, :],
}
UFUNCS |= {"vecdot": alike(gen_linalg.vecdot), "divmod": lambda x, y: (_f.floor_divide(x, y), _f.remainder(x, y))}
# functions of two operands that accept no scalars
TENSORS = frozenset(
    [
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "logical_and",
        "logical_or",
        "logical_xor",
        "arctan2",
        "hypot",
        "nextafter",
        "logaddexp",
        "logaddexp2",
        "heaviside",
        "gcd",
        "lcm",
        "ldexp",
    ]
)
SUMS: dict[str, Any] = {
    "add": _f.sum,
    "multiply": prod,
    "maximum": _f.amax,
    "minimum": _f.amin,
    "logical_and": _f.all,
    "logical_or": _f.any,
}
RUNNING: dict[str, Any] = {
    "add": _f.cumsum,
    "multiply": _f.cumprod,
    "maximum": lambda x, dim: _f.cummax(x, dim).values,
    "minimum": lambda x, dim: _f.cummin(x, dim).values,
}


def into(out, made):
    """Writes a result to out=, if it is given: a tensor, or a tuple with one."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None:
        return made
    if made.requires_grad:
        raise NotThere("out= is not supported for results that require grad")
    if not _f.can_cast(made.dtype, out.dtype):
        raise NotThere(f"out= has dtype {out.dtype}, but the result has {made.dtype}")
    return out.copy_(made)


def cast_all(values, dtype):
    return list(values) if dtype is None else [cast(value, _dtypes.of_numpy(dtype)) for value in values]


def elements(name, *inputs, out=None, where=True, dtype=None):
    if name not in UFUNCS:
        raise NotThere(NOTHING)
    inputs = cast_all((as_array(x, *inputs) for x in inputs), dtype)
    if name in TENSORS or not isinstance(inputs[0], Tensor):
        inputs = as_arrays(*inputs)
    made = UFUNCS[name](*inputs)
    if where is True:
        return into(out, made)
    if out is None:
        raise NotThere("where= requires out=")
    return into(out, _f.where(as_array(where, out[0]), made, out[0]))


def reduce(name, array, axis=0, dtype=None, out=None, keepdims=False):
    if name not in SUMS:
        raise NotThere(f"reduce is supported for {', '.join(SUMS)}")
    return into(out, SUMS[name](*cast_all([array], dtype), tuple(range(array.dim())) if axis is None else axis, keepdim=keepdims))


def accumulate(name, array, axis=0, dtype=None, out=None):
    if name not in RUNNING:
        raise NotThere(f"accumulate is supported for {', '.join(RUNNING)}")
    return into(out, RUNNING[name](*cast_all([array], dtype), axis))


def outer_of(name, a, b, **others):
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        a = a.reshape(*a.shape, *(1,) * b.dim())
    return elements(name, a, b, **others)


METHODS: dict[str, Any] = {"__call__": elements, "reduce": reduce, "accumulate": accumulate, "outer": outer_of}


# Functions that do not accept axis 0 of a tensor without dimensions; all others do.
STRICT = frozenset(
    ("sort", "argsort", "flip", "swapaxes", "moveaxis", "roll", "median", "linalg.norm", "linalg.vector_norm", "take_along_axis")
)
OF_RESULT = frozenset(("expand_dims", "stack"))  # axes refer to the result


def check_axes(name, given):
    """Raises NumPy's errors for axes that are not integers, out of range or repeated."""
    from numpy.exceptions import AxisError

    tensor = next(iter(given.values()), None)
    if not isinstance(tensor, Tensor) or name in OF_RESULT:
        return
    n = tensor.dim() if name in STRICT or name.startswith("fft.") else max(tensor.dim(), 1)
    for axes in map(given.get, ("axis", "axis1", "axis2", "source", "destination")):
        several = axes if isinstance(axes, (tuple, list)) else () if axes is None else (axes,)
        for axis in several:
            if isinstance(axis, bool) or not -n <= index(axis) < n:
                raise TypeError(f"numpy.{name}: axis must be an integer, not {axis}") if isinstance(axis, bool) else AxisError(axis, n)
        if len({axis % n for axis in several}) < len(several):
            raise ValueError(f"numpy.{name}: duplicate value in axis {axes}")


def checked(function, name):
    """Wraps a function: arguments without a parameter raise NotThere."""
    parameters = signature(function)

    def call(*args, **kwargs):
        try:
            bound = parameters.bind(*args, **kwargs)
        except TypeError as error:
            extra = ", ".join(kwargs.keys() - parameters.parameters)
            said = f"argument {extra} is not supported for this tensor" if extra else f"{error}, for this tensor"
            raise NotThere(f"{said}; supported are {', '.join(parameters.parameters)}") from None
        bound.apply_defaults()
        given = bound.arguments
        if given.get("axis") == ():
            raise NotThere(EMPTY)
        for key in ARRAYS & given.keys():
            given[key] = as_array(given[key], *given.values())
        check_axes(name, given)
        return function(*bound.args, **bound.kwargs)

    return call


def function(name):
    """Returns the implementation of a NumPy function, by its full name."""
    package, _, rest = name.partition(".")
    if package != "numpy" or rest not in FUNCTIONS:
        raise NotThere(NOTHING)
    return checked(FUNCTIONS[rest], rest)


def ufunc(ufunc, method):
    """Returns the implementation of a method or call of a NumPy ufunc."""
    import numpy

    if getattr(numpy, ufunc.__name__, None) is not ufunc or method not in METHODS:
        raise NotThere(NOTHING)
    return checked(partial(METHODS[method], ufunc.__name__), f"{ufunc.__name__}.{method}")
