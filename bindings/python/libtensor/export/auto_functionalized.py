"""Calls of operators with copies of the tensors that they write to, which PyTorch's programs without mutation contain."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core.tensor import Tensor
from ..library.operators import OpOverload

__all__ = ["call_functionalized"]

VIEW_PARTS = ("base_index", "alias", "size", "stride", "storage_offset", "slice_dim", "slice_start", "slice_end")


def copy_storage(value: Any) -> Any:
    """Returns a copy of a tensor with its strides and storage offset, or of each tensor of a list."""
    if isinstance(value, list):
        return [copy_storage(x) for x in value]
    if not isinstance(value, Tensor):
        return value
    if not value.numel():
        return value.clone()
    reach = value.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
    whole = ops.aten.as_strided.default(value, [reach], [1], 0).clone()
    return ops.aten.as_strided.default(whole, list(value.shape), list(value.stride()), value.storage_offset())


def call_functionalized(op: OpOverload, given: dict[str, Any], has_bases: bool, count: int) -> list[Any]:
    """Returns the `count` results of auto_functionalized: those of an operator, then copies of the tensors that it writes to.

    With `has_bases`, as in auto_functionalized_v2, `given` has these tensors as a list `_all_bases`, and describes views of them."""
    arguments = op._schema.arguments
    if has_bases:
        copies = [copy_storage(x) for x in given["_all_bases"]]
        given = read_views(given, copies)
    else:
        written = [a.name for a in arguments if a.is_write]
        given = given | {name: copy_storage(given[name]) for name in written if name in given}
        copies = [given.get(name) for name in written]
    positional: list[Any] = []
    for a in arguments:
        if a.kwarg_only or a.name not in given:
            break
        positional.append(given.pop(a.name))
    made = op(*positional, **given)
    own = count - len(copies)
    return [*([made] if own == 1 else made or ())][:own] + copies


def read_views(given: dict[str, Any], copies: list[Any]) -> dict[str, Any]:
    """Returns the arguments of an operator from those of auto_functionalized_v2. A view NAME has _NAME_base_index, the index of a copy, and
    possibly its geometry; a list of views has _NAME_length, and _NAME_0_base_index and so on for its items."""
    made = {name: value for name, value in given.items() if name != "_all_bases"}

    def take_view(prefix: str) -> Any:
        parts = {part: made.pop(f"{prefix}_{part}", None) for part in VIEW_PARTS if f"{prefix}_{part}" in made}
        if parts["base_index"] is None:
            return None
        base = copies[parts["base_index"]]
        if "storage_offset" in parts:
            return ops.aten.as_strided.default(base, parts["size"], parts["stride"], parts["storage_offset"])
        if "slice_dim" in parts:
            return ops.aten.slice.Tensor(base, parts["slice_dim"], parts["slice_start"], parts["slice_end"])
        return base

    for name, length in given.items():
        prefix = name.removesuffix("_length")
        if prefix != name and name.startswith("_") and (not length or f"{prefix}_0_base_index" in given):
            del made[name]
            made[prefix[1:]] = None if length is None else [take_view(f"{prefix}_{i}") for i in range(length)]
    for name in given:
        prefix = name.removesuffix("_base_index")
        if prefix != name and name.startswith("_") and name in made:
            made[prefix[1:]] = take_view(prefix)
    return made
