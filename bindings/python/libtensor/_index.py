"""Turns what stands between the brackets of x[...] into the bytes of tensor_index items."""

from struct import Struct, error

from ._library import ABSENT

pack = Struct("i4xPqqq").pack  # kind, tensor, start, stop, step
INT, SLICE, NEW_AXIS, ELLIPSIS, TENSOR, BOOL = range(6)


def index(key):
    """The bytes of the items for a key, and their number. The key holds what _keys.plain leaves; its tensors must live until the call."""
    if key.__class__ is tuple:
        return b"".join(map(item, key)), len(key)
    return item(key), 1


def item(k):
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
    return pack(TENSOR, k._h, 0, 0, 0)


def part(key):
    start, stop, step = key.start, key.stop, key.step
    try:
        return pack(SLICE, 0, ABSENT if start is None else start, ABSENT if stop is None else stop, ABSENT if step is None else step)
    except error:
        return pack(SLICE, 0, bound(start), bound(stop), bound(step))


def bound(value):
    """A slice's start, stop or step."""
    if value is None:
        return ABSENT
    if value.__class__ is not int:
        if not hasattr(value, "__index__"):
            raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(value).__name__}")
        value = value.__index__()
    return max(min(value, 2**63 - 1), 1 - 2**63)
