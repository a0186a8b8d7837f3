"""The array API standard (data-apis.org/array-api), version 2025.12, for tensors: `x.__array_namespace__()`. docs/array-api.md describes
it.
"""

from .._base.dtypes import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .._core.tensor import Tensor
from . import fft, linalg
from .creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .dtypes import astype, bool, can_cast, e, finfo, iinfo, inf, isdtype, nan, newaxis, pi, result_type
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .info import __array_namespace_info__
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .searching import (
    argmax,
    argmin,
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from .statistical import all, any, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var

__array_api_version__ = "2025.12"


def __dir__():
    """Returns the names of the standard, without those of its modules."""
    from types import ModuleType

    others = {"Tensor", *(name for name, value in globals().items() if isinstance(value, ModuleType))} - {"fft", "linalg"}
    return [name for name in globals() if name not in others]
