"""Manipulation of shapes, concatenation, and reordering."""

from .._base.dtypes import int64
from .._core.tensor import Tensor, checked, wrapped_dim
from .._data import create as _create
from .._data.axes import expand_dims as expand_dims
from .._gen import gen_functions as _f
from .dtypes import promoted


def broadcast_arrays(*arrays):
    """Returns a tuple of views broadcast to one shape."""
    return tuple(_f.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_shapes(*shapes):
    """Returns the shape to which shapes broadcast. Raises ValueError if they do not."""
    try:
        return tuple(_create.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x, /, shape):
    """Returns a view broadcast to a larger shape."""
    return _f.broadcast_to(checked(x, "broadcast_to", "x"), shape)


def concat(arrays, /, *, axis=0):
    """Concatenates arrays along an axis, or flattened for None, in the promoted dtype."""
    arrays = promoted("concat", *arrays)
    return _f.cat([x.flatten() for x in arrays] if axis is None else arrays, axis or 0)


def stack(arrays, /, *, axis=0):
    """Stacks arrays of one shape along a new axis, in the promoted dtype."""
    return _f.stack(promoted("stack", *arrays), axis)


def unstack(x, /, *, axis=0):
    """Returns a tuple of the slices of x along an axis, without it."""
    return tuple(_f.unbind(checked(x, "unstack", "x"), axis))


def squeeze(x, /, axis):
    """Returns a view without axes, which must have size one."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    wrong = next((d for d in axes if checked(x, "squeeze", "x").shape[wrapped_dim(d, x, "squeeze()")] != 1), None)
    if wrong is not None:
        raise ValueError(f"squeeze(): axis {wrong} has size {x.shape[wrong]}; only axes of size 1 can be squeezed")
    return _f.squeeze(x, axes)


def flip(x, /, *, axis=None):
    """Returns a copy with elements reversed along axes, by default along all."""
    return _f.flip(checked(x, "flip", "x"), tuple(range(x.dim())) if axis is None else axis)


def roll(x, /, shift, *, axis=None):
    """Returns a copy with elements shifted along axes, the last ones to the front; without axes, in flattened order."""
    if axis is None:
        return _f.roll(checked(x, "roll", "x"), shift)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return _f.roll(checked(x, "roll", "x"), shift if isinstance(shift, tuple) else (shift,) * len(axes), axes)


def moveaxis(x, source, destination, /):
    """Returns a view with axes moved to other positions; the others keep their order."""
    return _f.moveaxis(checked(x, "moveaxis", "x"), source, destination)


def permute_dims(x, /, axes):
    """Returns a view with axes permuted."""
    return _f.permute(checked(x, "permute_dims", "x"), axes)


def reshape(x, /, shape, *, copy=None):
    """Returns x with another shape, in which one size may be -1: a copy with `copy=True`, a view with False (ValueError if there is none),
    otherwise a view if possible.
    """
    made = _f.reshape(checked(x, "reshape", "x"), shape)
    shares = made.data_ptr() == x.data_ptr()
    if copy is False and not shares:
        raise ValueError(
            f"reshape(): a tensor of {list(x.shape)} and strides {list(x.stride())} cannot be viewed as {list(made.shape)}; use copy=None"
        )
    return made.clone() if copy and shares else made


def repeat(x, repeats, /, *, axis=None):
    """Repeats each element along an axis, or in flattened order, a number of times, or as often as a tensor has for each."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(int64)
    return _f.repeat_interleave(checked(x, "repeat", "x"), repeats, axis)


def tile(x, repetitions, /):
    """Repeats x along each axis; the shorter one of shape and repetitions is padded with ones in front."""
    return _f.tile(checked(x, "tile", "x"), repetitions)
