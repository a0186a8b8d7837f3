"""Turns x[...] into tensor_index items."""

from ._library import ABSENT, IndexItem
from ._tensor import Tensor

arrays = [IndexItem * n for n in range(17)]


def bound(value):
    """A slice's start, stop or step."""
    if value is None:
        return ABSENT
    if value.__class__ is not int:
        value = value.__index__()
    return max(min(value, 2**63 - 1), 1 - 2**63)


def index(key):
    """The array of items for a key, their number, and the objects that must live until the call."""
    if key.__class__ is not tuple:
        if isinstance(key, list) and any(isinstance(k, (Tensor, slice)) or k is None or k is Ellipsis for k in key):
            key = tuple(key)
        else:
            key = (key,)
    n = len(key)
    items = (arrays[n] if n < len(arrays) else IndexItem * n)()
    kept = []
    for item, k in zip(items, key, strict=True):
        fill(item, k, kept)
    return items, n, kept


def fill(item, k, kept):
    kind = k.__class__
    if kind is int:
        item.start = k
    elif kind is slice:
        item.kind = 1
        item.start, item.stop, item.step = bound(k.start), bound(k.stop), bound(k.step)
    elif k is None:
        item.kind = 2
    elif k is Ellipsis:
        item.kind = 3
    elif kind is bool:
        item.kind = 5
        item.start = k
    else:
        if not isinstance(k, Tensor):
            if hasattr(k, "__index__") and not getattr(k, "shape", ()):
                item.start = k.__index__()
                return
            k = listed(k)
            kept.append(k)
        item.kind = 4
        item.tensor = k._h


def listed(k):
    """The index tensor of a sequence or of another library's array."""
    from ._create import tensor
    from ._dtypes import int64

    if isinstance(k, (list, tuple, range)) or hasattr(k, "__array__") or hasattr(k, "__array_interface__"):
        return tensor(k, dtype=int64) if isinstance(k, (list, tuple, range)) and not k else tensor(k)
    raise TypeError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(k).__name__})")
