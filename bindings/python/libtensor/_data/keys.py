"""Converts the key of x[...] to values that the library accepts: sequences and arrays become tensors."""

from __future__ import annotations

from .._base import dtypes as _dtypes
from .._base.warnings import warn
from .._core.tensor import Tensor
from . import create as _create
from .sequence import is_sequence

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

KNOWN = {bool, type(None), type(Ellipsis)}


def plain(key):
    """Returns a key of ints, slices, bools, tensors, None and Ellipsis: a tuple of them, or one."""
    if isinstance(key, tuple):
        return tuple(map(item, key))
    if key.__class__ is list and stands_for_tuple(key):
        warn(
            "index: using a non-tuple sequence for multidimensional indexing is deprecated; "
            "use x[tuple(key)], or x[torch.tensor(key)] to index with integers"
        )
        return tuple(map(item, key))
    return item(key)


def converted(key, function, argument):
    """Returns the converted key as the arguments of a call."""
    return plain(key)


def stands_for_tuple(key):
    """Returns whether a list is treated as a tuple, as in PyTorch: a short list with other items than numbers."""
    return len(key) < 32 and any(isinstance(k, (Tensor, slice)) or k is None or k is Ellipsis or is_sequence(k) for k in key)


def item(k):
    if k.__class__ in KNOWN or isinstance(k, Tensor):
        return k
    if k.__class__ is slice:
        if not k.step and k.step is not None:
            raise ValueError("slice step cannot be zero")
        return slice(*map(bound, (k.start, k.stop, k.step)))
    if hasattr(k, "__index__") and not getattr(k, "shape", ()):
        found = k.__index__()
        if not -(2**63) <= found < 2**63:
            raise ValueError(f"index {found} does not fit into 64 bits")
        return found
    return listed(k)


def backwards(key):
    """Returns whether a key has a slice with a negative step."""
    return any(k.__class__ is slice and k.step is not None and k.step < 0 for k in (key if isinstance(key, tuple) else (key,)))


def width(k):
    """Returns the number of dimensions that an item of a key indexes."""
    if k is None or k is Ellipsis or isinstance(k, bool):
        return 0
    return k.dim() if isinstance(k, Tensor) and k.dtype in MASKS else 1


def forwards(tensor, key):
    """Replaces slices with negative steps by positive ones. Returns the key, the dimensions to reverse, and the key for the result."""
    parts = key if isinstance(key, tuple) else (key,)
    left = tensor.dim() - sum(map(width, parts))
    if left < 0:
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    taken, reversed, rest = [slice(None)] * tensor.dim(), [], []
    dim = 0
    k: Any
    for k in parts:
        if backwards(k):
            places = range(tensor.shape[dim])[k]
            taken[dim] = slice(places[-1], places[0] + 1, -k.step) if places else slice(0, 0)
            reversed.append(dim)
            k = slice(None)
        rest.append(k)
        dim += left if k is Ellipsis else width(k)
    return tensor[tuple(taken)], reversed, tuple(rest)


def bound(value):
    """Returns the start, stop or step of a slice."""
    if value is None:
        return None
    if not hasattr(value, "__index__"):
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(value).__name__}")
    return value.__index__()


MASKS = {_dtypes.bool_, _dtypes.uint8}

# Integer dtypes that index tensors do not have, but NumPy's index arrays do. A uint8 tensor is a mask, a uint8 array is not.
POSITIONS = {_dtypes.int8, _dtypes.int16, _dtypes.uint8}


def listed(k):
    """Returns the index tensor of a sequence, or of an array or column of another library, on the CPU for any default device: it can index
    tensors on every device.
    """
    if isinstance(k, (list, tuple, range)) or _create.is_array(k):
        none = isinstance(k, (list, tuple, range)) and not k
        made = _create.tensor(k, dtype=_dtypes.int64 if none else None, device="cpu")
        return made.to(_dtypes.int64) if made.dtype in POSITIONS else made
    kind = TypeError if isinstance(k, (str, bytes)) else IndexError
    raise kind(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})")
