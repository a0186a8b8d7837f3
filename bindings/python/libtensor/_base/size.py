"""torch.Size."""


def size(value, at):
    if not hasattr(value, "__index__"):
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {at} is '{type(value).__name__}')")
    return value.__index__()


class Size(tuple):
    """The sizes of a tensor: a tuple of integers."""

    __slots__ = ()

    def __new__(cls, sizes=()):
        return tuple.__new__(cls, [s if s.__class__ is int else size(s, at) for at, s in enumerate(sizes)])

    def numel(self):
        """Returns the number of elements of a tensor of this size."""
        n = 1
        for s in self:
            n *= s
        return n

    def __repr__(self):
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __getitem__(self, key):
        found = tuple.__getitem__(self, key)
        return tuple.__new__(Size, found) if key.__class__ is slice else found

    def __add__(self, other):
        return tuple.__new__(Size, tuple(self) + tuple(other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other):
        return tuple.__new__(Size, tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n):
        return tuple.__new__(Size, tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return Size, (tuple(self),)
