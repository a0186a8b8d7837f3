"""Selective activation checkpointing: a policy decides for each operator of a checkpoint whether its results are saved or recomputed.

A saved operator does not run in the recomputation. The tensors that autograd saves for it are found again: among its arguments, which are
recomputed, or its results, which are saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .._core.tensor import Tensor
from ..library.operators import OpOverload
from . import _pytree as pytree
from . import checkpoint as _checkpoint
from ._python_dispatch import TorchDispatchMode
from .checkpoint import CheckpointPolicy, SelectiveCheckpointContext

__all__ = ["make_contexts"]

current: Any = vars(_checkpoint)["current"]
version_of: Any = vars(_checkpoint)["version_of"]

SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)
IGNORED = ("detach",)
Policy = Callable[..., Any]


def _is_same(a: Tensor, b: Tensor) -> bool:
    """Returns whether tensors are views of the same elements."""
    return a is b or (a.dtype == b.dtype and a.shape == b.shape and a.device == b.device and a.is_set_to(b))


class Entry:
    """The results of a call of an operator, and where the tensors are that autograd saved for it: (list, index), of arguments and
    results."""

    def __init__(self, args: Sequence[Any], result: Any, packed: Sequence[Tensor]) -> None:
        leaves, self.spec = pytree.tree_flatten(result)
        self.results = [t.detach() if isinstance(t, Tensor) else t for t in leaves]
        self.versions = [version_of(t) if isinstance(t, Tensor) else None for t in self.results]
        self.requires_grad = [isinstance(t, Tensor) and t.requires_grad for t in leaves]
        self.packed = [self._find(t, _tensors(args)) for t in packed]

    def _find(self, t: Tensor, arguments: Sequence[Tensor]) -> Any:
        for i, argument in enumerate(arguments):
            if _is_same(argument, t):
                return 0, i
        for i, result in enumerate(self.results):
            if isinstance(result, Tensor) and _is_same(result, t):
                return 1, i
        return t.detach()

    def recall(self, args: Sequence[Any], is_mutable: bool, keep: Callable[[Tensor], Any] | None) -> Any:
        """Returns the results, after autograd's saved tensors are kept."""
        for t, version in zip(self.results, self.versions, strict=True):
            if isinstance(t, Tensor) and not is_mutable and version_of(t) != version:
                raise RuntimeError(
                    f"Tensor cached during selective activation checkpoint has been mutated: a tensor of shape {tuple(t.shape)} is at "
                    "version "
                    f"{version_of(t)}; expected version {version} instead. Pass allow_cache_entry_mutation=True if that is intended"
                )
        lists = _tensors(args), self.results
        put: Any = keep
        for found in self.packed if keep is not None else ():
            put(found if isinstance(found, Tensor) else lists[found[0]][found[1]])
        values = [t.detach().requires_grad_() if needs else t for t, needs in zip(self.results, self.requires_grad, strict=True)]
        return pytree.tree_unflatten(values, self.spec)


def _tensors(args: Any) -> list[Tensor]:
    return [t for t in pytree.tree_leaves(args) if isinstance(t, Tensor)]


class Used:
    """A saved call whose results a recomputation has taken."""


class Decisions:
    """The calls of each operator in order: an Entry of those that are saved, None for those that are recomputed."""

    def __init__(self, policy: Policy, is_mutable: bool) -> None:
        self.policy, self.is_mutable = policy, is_mutable
        self.calls: dict[Any, list[Entry | type[Used] | None]] = defaultdict(list)


class Saving(TorchDispatchMode):
    """Saves the results of operators in the call of the function."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions

    def _is_saved(self, func: Any, args: Any, kwargs: Any, result: Any) -> bool:
        found = self.decisions.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        if not isinstance(found, bool | CheckpointPolicy):
            raise TypeError(
                f"create_selective_checkpoint_contexts: the policy must return a CheckpointPolicy or a bool, but returned {found!r}"
            )
        is_saved = found in SAVED if isinstance(found, CheckpointPolicy) else found
        return is_saved and not getattr(func._schema, "is_mutable", False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.op_name in IGNORED:
            return func(*args, **kwargs)
        call, packed = current.call, []  # type: Any, list[Tensor]
        if call is not None:
            call.watcher = packed.append
        try:
            result = func(*args, **kwargs)
        finally:
            if call is not None:
                call.watcher = None
        is_saved = self._is_saved(func, args, kwargs, result)
        self.decisions.calls[func].append(Entry((args, kwargs), result, packed) if is_saved else None)
        return result


class Recalling(TorchDispatchMode):
    """Returns the saved results of operators in the recomputation."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions

    def __enter__(self) -> Any:
        self._positions: dict[Any, int] = defaultdict(int)
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.op_name in IGNORED:
            return func(*args, **kwargs)
        at, calls = self._positions[func], self.decisions.calls[func]
        self._positions[func] += 1
        entry = calls[at] if at < len(calls) else None
        if entry is None:
            return func(*args, **kwargs)
        if not isinstance(entry, Entry):
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective activation "
                f"checkpoint: the saved results of {func} are used up"
            )
        calls[at] = Used
        return entry.recall((args, kwargs), self.decisions.is_mutable, None if current.call is None else current.call.keep)


def make_contexts(policy_fn_or_list: Any, is_mutable: bool) -> tuple[Saving, Recalling]:
    """Returns the contexts of create_selective_checkpoint_contexts()."""
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. Please update the OpOverloadPacket to "
                    "a "
                    "specific OpOverload, such as torch.ops.aten.mm.default"
                )
        saved = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in saved

        chosen: Policy = policy
    elif callable(policy_fn_or_list):
        chosen = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    decisions = Decisions(chosen, is_mutable)
    return Saving(decisions), Recalling(decisions)
