"""Tensors that own handles, and named tuples of results."""

from __future__ import annotations

from .._base.direct import TensorBase
from .._base.errors import in_name_of
from .tensor import Tensor

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

new = TensorBase.__new__


def wrap(handle):
    """Returns a Tensor that owns a handle."""
    tensor = new(Tensor)
    tensor._h = handle
    return tensor


def leaf(tensor):
    """Makes a new tensor require grad, and returns it."""
    return tensor.requires_grad_()


def pinned(tensor):
    """Returns a copy of a new tensor in pinned memory."""
    return tensor.pin_memory()


def result_type(name, fields):
    """Returns the named tuple type of a function with several results, as in torch.return_types."""

    def show(self):
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True)) + ")"

    def reduce(self):
        return rebuild, (name, fields, tuple(self))

    body: dict[str, Any] = {"__slots__": (), "__repr__": show, "__reduce__": reduce, "_fields": fields, "__match_args__": fields}
    body |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "__module__": "libtensor.return_types"}
    for i, field in enumerate(fields):
        body[field] = property(lambda self, i=i: self[i])  # type: ignore[misc]
    kind = type(name, (tuple,), body)
    types.setdefault(name, kind)
    return kind


# The result types by name, which libtensor.return_types exports.
types: dict[str, Any] = {}


def make_results(name, values):
    """Returns several results of an operator: in its class of results, a tuple without one."""
    kind = types.get(name, tuple)
    return kind(values) if kind is not tuple and len(kind._fields) == len(values) else tuple(values)


def rebuild(name, fields, values):
    return result_type(name, fields)(values) if name not in types else types[name](values)


def named(tensor, names, function):
    """Sets the dimension names of a new tensor, and returns it."""
    if isinstance(names, str):
        raise TypeError(f"{function}(): argument 'names' must be a list with a name for each dimension, not the str '{names}'")
    if any(name is ... or isinstance(name, str) and name == "..." for name in names):
        raise RuntimeError(
            f"{function}(): an ellipsis in names is only supported for existing tensors; use None for a dimension without a name"
        )
    with in_name_of(function):
        return tensor.rename_(*names)
