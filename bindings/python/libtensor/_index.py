"""Turns x[...] into the bytes of tensor_index items."""

from struct import Struct, error

from . import _create, _dtypes
from ._library import ABSENT
from ._sequence import is_sequence
from ._tensor import Tensor

pack = Struct("i4xPqqq").pack  # kind, tensor, start, stop, step
INT, SLICE, NEW_AXIS, ELLIPSIS, TENSOR, BOOL = range(6)


def bound(value):
    """A slice's start, stop or step."""
    if value is None:
        return ABSENT
    if value.__class__ is not int:
        if not hasattr(value, "__index__"):
            raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(value).__name__}")
        value = value.__index__()
    return max(min(value, 2**63 - 1), 1 - 2**63)


def part(key):
    start, stop, step = key.start, key.stop, key.step
    try:
        return pack(SLICE, 0, ABSENT if start is None else start, ABSENT if stop is None else stop, ABSENT if step is None else step)
    except error:
        return pack(SLICE, 0, bound(start), bound(stop), bound(step))


def index(key):
    """The bytes of the items for a key, their number, and the objects that must live until the call."""
    kind = key.__class__
    if kind is int:
        return item(key, None), 1, None
    if kind is slice:
        return part(key), 1, None
    if kind is list and stands_for_tuple(key):
        key = tuple(key)
    elif kind is not tuple and not isinstance(key, tuple):
        key = (key,)
    kept = []
    return b"".join([item(k, kept) for k in key]), len(key), kept


def stands_for_tuple(key):
    """Tells whether a list counts as a tuple, as in PyTorch: a short one that has more than numbers."""
    return len(key) < 32 and any(isinstance(k, (Tensor, slice)) or k is None or k is Ellipsis or is_sequence(k) for k in key)


def item(k, kept):
    kind = k.__class__
    if kind is int:
        if not -(2**63) <= k < 2**63:
            raise ValueError(f"index {k} does not fit into 64 bits")
        return pack(INT, 0, k, 0, 0)
    if kind is slice:
        return part(k)
    if k is None:
        return pack(NEW_AXIS, 0, 0, 0, 0)
    if k is Ellipsis:
        return pack(ELLIPSIS, 0, 0, 0, 0)
    if kind is bool:
        return pack(BOOL, 0, k, 0, 0)
    if not isinstance(k, Tensor):
        if hasattr(k, "__index__") and not getattr(k, "shape", ()):
            return pack(INT, 0, k.__index__(), 0, 0)
        k = listed(k)
        kept.append(k)
    return pack(TENSOR, k._h, 0, 0, 0)


def listed(k):
    """The index tensor of a sequence or of another library's array."""
    if isinstance(k, (list, tuple, range)):
        return _create.tensor(k, dtype=None if k else _dtypes.int64)
    if hasattr(k, "__array_interface__"):
        made = _create.tensor(k)
        return made.to(_dtypes.int64) if made.dtype in (_dtypes.int8, _dtypes.int16) else made
    kind = TypeError if isinstance(k, (str, bytes)) else IndexError
    raise kind(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})")
