"""Objects that own a handle of the library's."""


class Owner:
    """The base of storages and generators. An object that only object.__new__ made has no handle: it can be dropped, and not used."""

    __slots__ = ("_h",)

    def __getattr__(self, name):
        kind = type(self).__name__
        if name == "_h":
            raise TypeError(f"this {kind} was made by object.__new__ and holds nothing; call torch.{kind}() to make one")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")
