"""Hooks: the handle that removes one, and the hooks of a module's backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._base.extend import publish as _publish
from .._base.removable import RemovableHandle
from .._core.modes import is_grad_enabled
from .._core.tensor import Tensor
from .._gen.gen_functions import zeros
from ..autograd.function import Function

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

Gradients = tuple[Tensor | None, ...]


class BackwardHookFunction(Function):
    """The identity. The attribute `hook` of its node replaces gradients in the backward pass: it receives those of the outputs, None for
    those that are not used, and returns those of the inputs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*args: Tensor) -> tuple[Tensor, ...]:
        return args

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*(made for given, made in zip(inputs, output, strict=True) if not given.requires_grad))
        ctx.set_materialize_grads(False)
        ctx.hook = None

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Gradients:
        return ctx.hook(grads) if ctx.hook else grads


def spread(positions: Sequence[int], values: Sequence[Tensor | None], count: int) -> Gradients:
    """Returns `count` values: `values` at `positions`, None elsewhere."""
    placed: list[Tensor | None] = [None] * count
    for position, value in zip(positions, values, strict=True):
        placed[position] = value
    return tuple(placed)


class BackwardHook:
    """Calls the full backward hooks of a module, with the gradients of its inputs and outputs, and its backward pre-hooks, with those of
    its outputs.

    A value that a hook returns replaces the gradients of the inputs; a value that a pre-hook returns replaces those of the outputs.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable[..., Any]], user_pre_hooks: Sequence[Callable[..., Any]]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Gradients | None = None
        self.input_positions: list[int] | None = None
        self.zeros: list[Callable[[], Tensor]] = []  # for the inputs that no gradient arrives at
        self.n_inputs = -1

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments of the module, with a node that calls the hooks in the graph of its tensors."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        node, self.input_positions, args = self._observed(args)
        self.n_inputs = len(args)
        if node is not None:
            self.zeros = [_zeros_of(tensor) for tensor in tensors]
            node.hook = self._leave
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """Returns the result of the module, with a node that calls the pre-hooks in the graph of its tensors."""
        single = not isinstance(result, tuple)
        node, positions, observed = self._observed((result,) if single else result)
        count = len(observed)  # the hook must not refer to the results, whose node refers to it
        if node is not None:
            node.hook = lambda grads: self._enter(grads, positions, count)
        return observed[0] if single else observed

    @staticmethod
    def _observed(values: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
        """Returns the node of an identity that is applied to the tensors of `values`, their positions, and the values behind it."""
        positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        if not is_grad_enabled() or not any(values[i].requires_grad for i in positions):
            return None, None, values
        changed = list(values)
        for i, made in zip(positions, BackwardHookFunction.apply(*(values[i] for i in positions)), strict=True):
            changed[i] = made
        node = next(changed[i].grad_fn for i in positions if changed[i].requires_grad)
        if not hasattr(node, "hook"):  # inside vmap, whose node it is: modules have no hooks there
            return None, None, values
        return node, positions, tuple(changed) if type(values) is tuple else type(values)(*changed)

    def _enter(self, grads: Gradients, positions: list[int], count: int) -> Gradients:
        self.grad_outputs = spread(positions, grads, count)
        for hook in self.user_pre_hooks:
            made = hook(self.module, self.grad_outputs)
            if made is not None:
                self.grad_outputs = _checked(made, count, "Backward pre hook returned an invalid number of grad_output")
        replaced = self.grad_outputs
        if self.input_positions is None:
            self._call_without_inputs()
        return tuple(replaced[i] for i in positions)

    def _call_without_inputs(self) -> None:
        """Calls the hooks of a module none of whose inputs requires a gradient, as soon as the gradients of its outputs are known."""
        if self.user_hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                "gradients.",
                stacklevel=5,
            )
        for hook in self.user_hooks:
            made = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if made is not None and not (isinstance(made, tuple) and all(grad is None for grad in made)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                )
        self.grad_outputs = None

    def _leave(self, grads: Gradients) -> Gradients:
        grads = tuple(zeros() if grad is None else grad for grad, zeros in zip(grads, self.zeros, strict=True))
        # These gradients did not come through the outputs of the module.
        if self.grad_outputs is None or self.input_positions is None:
            return grads
        found = spread(self.input_positions, grads, self.n_inputs)
        for hook in self.user_hooks:
            made = hook(self.module, found, self.grad_outputs)
            if made is not None:
                found = _checked(made, self.n_inputs, "Backward hook returned an invalid number of grad_input")
        self.grad_outputs = None
        return tuple(found[i] for i in self.input_positions)


def _zeros_of(tensor: Tensor) -> Callable[[], Tensor]:
    """Returns a function that returns zeros like `tensor`, without a reference to it."""
    size, dtype, device = tensor.shape, tensor.dtype, tensor.device
    return lambda: zeros(size, dtype=dtype, device=device)


def _checked(made: Any, count: int, what: str) -> Gradients:
    made = made if isinstance(made, (tuple, list)) else (made,)
    if len(made) != count:
        raise RuntimeError(f"{what}, got {len(made)}, but expected {count}")
    return tuple(made)


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook that pickle must not keep: warn_if_has_hooks() does not warn of it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warns of each hook of `tensor` that a pickle of the tensor loses."""
    for hook in (getattr(tensor, "_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.", stacklevel=3)


_publish(globals(), ["RemovableHandle"])
