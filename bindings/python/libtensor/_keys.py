"""What may stand between the brackets of x[...], turned into what the library knows: sequences and arrays become tensors."""

from . import _create, _dtypes
from ._sequence import is_sequence
from ._tensor import Tensor

KNOWN = {int, slice, bool, type(None), type(Ellipsis)}


def plain(key):
    """A key of ints, slices, bools, tensors, None and Ellipsis: a tuple of them, or one."""
    if isinstance(key, tuple) or key.__class__ is list and stands_for_tuple(key):
        return tuple(map(item, key))
    return item(key)


def converted(key, function, argument):
    """The plain key, for the arguments of a call."""
    return plain(key)


def stands_for_tuple(key):
    """Tells whether a list counts as a tuple, as in PyTorch: a short one that has more than numbers."""
    return len(key) < 32 and any(isinstance(k, (Tensor, slice)) or k is None or k is Ellipsis or is_sequence(k) for k in key)


def item(k):
    if k.__class__ in KNOWN or isinstance(k, Tensor):
        return k
    if hasattr(k, "__index__") and not getattr(k, "shape", ()):
        return k.__index__()
    return listed(k)


def listed(k):
    """The index tensor of a sequence or of another library's array, on the CPU whatever the default device: it indexes tensors anywhere."""
    if isinstance(k, (list, tuple, range)):
        return _create.tensor(k, dtype=None if k else _dtypes.int64, device="cpu")
    if hasattr(k, "__array_interface__"):
        made = _create.tensor(k, device="cpu")
        return made.to(_dtypes.int64) if made.dtype in (_dtypes.int8, _dtypes.int16) else made
    kind = TypeError if isinstance(k, (str, bytes)) else IndexError
    raise kind(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})")
