"""The backend of einops for tensors, which einops finds among the subclasses of its AbstractBackend."""

from typing import Any

from einops._backends import AbstractBackend

from .._core.tensor import Tensor
from .._data.dlpack import from_numpy
from .._gen import gen_functions as _f

# Functions that reduce several dimensions at once, by einops' names; prod reduces one after the other.
REDUCTIONS: dict[str, Any] = {"min": _f.amin, "max": _f.amax, "sum": _f.sum, "mean": _f.mean, "any": _f.any, "all": _f.all}


class Backend(AbstractBackend):
    framework_name = "libtensor"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, Tensor)

    def from_numpy(self, x):
        return from_numpy(x)

    def to_numpy(self, x):
        return x.numpy(force=True)

    def arange(self, start, stop):
        return _f.arange(start, stop)

    def shape(self, x):
        return tuple(x.shape)

    def reduce(self, x, operation, axes):
        if operation != "prod":
            return REDUCTIONS[operation](x, axes)
        for dim in sorted(axes, reverse=True):
            x = _f.prod(x, dim)
        return x

    def transpose(self, x, axes):
        return x.permute(axes)

    def stack_on_zeroth_dimension(self, tensors):
        return _f.stack(tensors)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def add_axes(self, x, n_axes, pos2len):
        for position in sorted(pos2len):
            x = x.unsqueeze(position)
        return x.expand([pos2len.get(position, -1) for position in range(n_axes)])

    def tile(self, x, repeats):
        return x.repeat(repeats)

    def concat(self, tensors, axis):
        return _f.cat(tensors, axis)

    def is_float_type(self, x):
        return x.is_floating_point() or x.is_complex()

    def einsum(self, pattern, *x):
        return _f.einsum(pattern, x)
