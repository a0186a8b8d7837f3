"""What may stand between the brackets of x[...], turned into what the library knows: sequences and arrays become tensors."""

from .._base import dtypes as _dtypes
from .._base.warnings import warn
from .._core.tensor import Tensor
from . import create as _create
from .sequence import is_sequence

KNOWN = {bool, type(None), type(Ellipsis)}


def plain(key):
    """A key of ints, slices, bools, tensors, None and Ellipsis: a tuple of them, or one."""
    if isinstance(key, tuple):
        return tuple(map(item, key))
    if key.__class__ is list and stands_for_tuple(key):
        warn(
            "index: a list that has more than numbers stands for a tuple, which is deprecated; "
            "use x[tuple(key)], or x[torch.tensor(key)] for positions"
        )
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
    """Tells whether a plain key has a slice with a negative step."""
    return any(k.__class__ is slice and k.step is not None and k.step < 0 for k in (key if isinstance(key, tuple) else (key,)))


def width(k):
    """How many dimensions a part of a plain key is about."""
    if k is None or k is Ellipsis or isinstance(k, bool):
        return 0
    return k.dim() if isinstance(k, Tensor) and k.dtype in MASKS else 1


def forwards(tensor, key):
    """What slices with negative steps take of a tensor, in its own order; the dimensions that they reverse; the key for what comes of that."""
    parts = key if isinstance(key, tuple) else (key,)
    left = tensor.dim() - sum(map(width, parts))
    if left < 0:
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    taken, reversed, rest = [slice(None)] * tensor.dim(), [], []
    dim = 0
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
    """A slice's start, stop or step."""
    if value is None:
        return None
    if not hasattr(value, "__index__"):
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(value).__name__}")
    return value.__index__()


MASKS = {_dtypes.bool_, _dtypes.uint8}

# Integers that are no dtype of index tensors, but positions as NumPy's. A tensor of uint8 is a mask, an array of it is not.
POSITIONS = {_dtypes.int8, _dtypes.int16, _dtypes.uint8}


def listed(k):
    """The index tensor of a sequence or of another library's array or column, on the CPU whatever the default device: it indexes tensors anywhere."""
    if isinstance(k, (list, tuple, range)) or _create.is_array(k):
        none = isinstance(k, (list, tuple, range)) and not k
        made = _create.tensor(k, dtype=_dtypes.int64 if none else None, device="cpu")
        return made.to(_dtypes.int64) if made.dtype in POSITIONS else made
    kind = TypeError if isinstance(k, (str, bytes)) else IndexError
    raise kind(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})")
