"""The step that optimizers of dense gradients share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import preserve_format, zeros_like
from .._core.modes import enable_grad
from .._core.tensor import Tensor
from ._lists import Tensors, new_step
from .optimizer import Optimizer, _use_grad_for_differentiable

State = dict[str, Any]


def zeros(param: Tensor) -> Tensor:
    """Returns zeros of the shape, dtype and strides of a parameter."""
    return zeros_like(param, memory_format=preserve_format)


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """Returns what `closure` returns, called with gradients enabled."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


class ListOptimizer(Optimizer):
    """An optimizer whose step updates all parameters of a group, with their gradients and states in lists."""

    _ADDED: ClassVar[dict[str, Any]] = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    """The options that groups of old files lack, with their defaults."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._ADDED.items():
                group.setdefault(name, value)
            for param in group["params"]:
                state = self.state.get(param)  # type: ignore[assignment]
                if state and "step" in state and not isinstance(state["step"], Tensor):
                    state["step"] = new_step().fill_(float(state["step"]))

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        """Returns the state of a parameter that was not updated yet."""
        raise NotImplementedError

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        """Updates the parameters of a group that have gradients; at least one has."""
        raise NotImplementedError

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters by their gradients; returns what `closure` returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params: Tensors = [param for param in group["params"] if param.grad is not None]
            if not params:
                continue
            grads: Tensors = [param.grad for param in params]
            if any(grad.is_sparse for grad in grads):
                instead = ", please consider SparseAdam instead" if "Adam" in _names(self) else ""
                raise RuntimeError(f"{_names(self)[0]} does not support sparse gradients{instead}")
            states = [self.state[param] for param in params]
            for param, state in zip(params, states, strict=True):
                if not state:
                    state.update(self._new_state(param, group))
            self._update(group, params, grads, states)
        return loss


def _names(optimizer: Optimizer) -> list[str]:
    """Returns the names of the optimizer's class and its base classes, from the most general one on."""
    return [cls.__name__ for cls in type(optimizer).__mro__ if issubclass(cls, ListOptimizer) and cls is not ListOptimizer][::-1]


def options(group: dict[str, Any], *names: str) -> dict[str, Any]:
    """Returns some options of a group."""
    return {name: group[name] for name in names}


def column(states: list[State], name: str) -> list[Any]:
    """Returns one entry of each state."""
    return [state[name] for state in states]
