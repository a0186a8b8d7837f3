"""Lists and dictionaries of arguments of nodes, which raise TypeError when they are changed."""

from typing import Any, NoReturn

from ..utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

HELP = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object, instead create a new copy of it and assign the copy to "
    "the node: "
    "new_args = ...  # copy and mutate args; node.args = new_args"
)


def _raise_immutable(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. {HELP}")


def _freeze(cls: type, methods: str) -> None:
    for name in methods.split():
        setattr(cls, name, _raise_immutable)


class immutable_list(list):  # type: ignore[type-arg]
    """A list that cannot be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict):  # type: ignore[type-arg]
    """A dictionary that cannot be changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


_freeze(immutable_list, "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort")
_freeze(immutable_dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update")

register_pytree_node(immutable_list, lambda x: (list(x), None), lambda values, _: immutable_list(values))
register_pytree_node(
    immutable_dict, lambda x: (list(x.values()), list(x)), lambda values, keys: immutable_dict(zip(keys, values, strict=True))
)
