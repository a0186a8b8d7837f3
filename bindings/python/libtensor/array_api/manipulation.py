"""Shapes, joins and the order of elements."""

from .._base.dtypes import int64
from .._core.tensor import Tensor, checked, wrapped_dim
from .._data import create as _create
from .._data.axes import expand_dims as expand_dims
from .._gen import gen_functions as _f
from .dtypes import promoted


def broadcast_arrays(*arrays):
    """A tuple of views of one shape."""
    return tuple(_f.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_shapes(*shapes):
    """The shape to which shapes broadcast together; ValueError where they do not."""
    try:
        return tuple(_create.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_to(x, /, shape):
    """A view of a larger shape, in which elements stand in several places."""
    return _f.broadcast_to(checked(x, "broadcast_to", "x"), shape)


def concat(arrays, /, *, axis=0):
    """The tensors one after another along an axis, or with None all their elements; in the dtype to which they are promoted."""
    arrays = promoted("concat", *arrays)
    return _f.cat([x.flatten() for x in arrays] if axis is None else arrays, axis or 0)


def stack(arrays, /, *, axis=0):
    """The tensors, all of one shape, along a new axis; in the dtype to which they are promoted."""
    return _f.stack(promoted("stack", *arrays), axis)


def unstack(x, /, *, axis=0):
    """A tuple of the parts of x along an axis, which they do not have."""
    return tuple(_f.unbind(checked(x, "unstack", "x"), axis))


def squeeze(x, /, axis):
    """A view without axes, which must have size one."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    wrong = next((d for d in axes if checked(x, "squeeze", "x").shape[wrapped_dim(d, x, "squeeze()")] != 1), None)
    if wrong is not None:
        raise ValueError(f"squeeze(): axis {wrong} has size {x.shape[wrong]}; only axes of size 1 can go")
    return _f.squeeze(x, axes)


def flip(x, /, *, axis=None):
    """A copy with the order of the elements reversed along axes, or along all of them."""
    return _f.flip(checked(x, "flip", "x"), tuple(range(x.dim())) if axis is None else axis)


def roll(x, /, shift, *, axis=None):
    """A copy with the elements moved along axes, the last ones to the front; without axes, in the order of all elements."""
    if axis is None:
        return _f.roll(checked(x, "roll", "x"), shift)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return _f.roll(checked(x, "roll", "x"), shift if isinstance(shift, tuple) else (shift,) * len(axes), axes)


def moveaxis(x, source, destination, /):
    """A view with axes at other places; those that are not named keep their order."""
    return _f.moveaxis(checked(x, "moveaxis", "x"), source, destination)


def permute_dims(x, /, axes):
    """A view with the axes in another order."""
    return _f.permute(checked(x, "permute_dims", "x"), axes)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape, one of whose sizes may be -1 for what is left: a copy with `copy=True`, a view with False, which
    raises ValueError where there is none, and with None a view where there is one.
    """
    made = _f.reshape(checked(x, "reshape", "x"), shape)
    shares = made.data_ptr() == x.data_ptr()
    if copy is False and not shares:
        raise ValueError(f"reshape(): a tensor of {list(x.shape)} and strides {list(x.stride())} has no view of {list(made.shape)}; copy=None copies")
    return made.clone() if copy and shares else made


def repeat(x, repeats, /, *, axis=None):
    """Each element several times, along an axis or in the order of all of them: a number of times, or a tensor of one for each."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(int64)
    return _f.repeat_interleave(checked(x, "repeat", "x"), repeats, axis)


def tile(x, repetitions, /):
    """Copies of x beside each other, as many along each axis as told; the shorter of shape and repetitions gets ones in front."""
    return _f.tile(checked(x, "tile", "x"), repetitions)
