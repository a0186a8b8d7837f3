"""Arguments of functions whose graphs take the leaves of lists, tuples and dictionaries as inputs."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_flatteners: dict[type, Callable[[Any, Any], list[Any]]] = {}


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Callable[[Any, Any], list[Any]], flatten_fn_exact_match_spec: Any = None
) -> None:
    """Registers the function that returns the children of an instance of `cls` for a structure: flatten_fn_spec(x, spec)."""
    _flatteners[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: Any, exact_structural_match: bool = False) -> list[Any]:
    """Returns the leaves of a tree, as a structure divides it."""
    if spec.is_leaf():
        return [tree]
    flatten = _flatteners.get(spec.type)
    if flatten is None:
        raise RuntimeError(
            f"{type(tree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec"
        )
    children = flatten(tree, spec)
    return [
        leaf
        for child, below in zip(children, spec.children(), strict=False)
        for leaf in tree_flatten_spec(child, below, exact_structural_match)
    ]


register_pytree_flatten_spec(dict, lambda x, spec: [x[key] for key in spec.context])
register_pytree_flatten_spec(list, lambda x, spec: [x[i] for i in range(spec.num_children)])
register_pytree_flatten_spec(tuple, lambda x, spec: [x[i] for i in range(spec.num_children)])
register_pytree_flatten_spec(namedtuple, lambda x, spec: [x[i] for i in range(spec.num_children)])  # type: ignore[arg-type]
