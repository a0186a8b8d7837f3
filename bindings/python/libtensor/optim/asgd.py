"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

from __future__ import annotations

from typing import Any

from .. import as_tensor, ones
from .._core.tensor import Tensor
from .._data.lists import foreach_add_, foreach_lerp_, foreach_mul_
from ._lists import Scalar, Tensors, add_scaled_, check_capturable, check_lr, decay, gradients, new_step, number, real, require, scalar
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


class ASGD(ListOptimizer):
    """Averaged stochastic gradient descent: `param = param * (1 - lambd * eta) - eta * grad` with `eta = lr / (1 + lambd * lr * t)**alpha`;
    from step `t0` on the entry `ax` of the states is the mean of the parameters.

    `weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        require(lambd >= 0.0, "Invalid lambd value", lambd)
        require(alpha >= 0.0, "Invalid alpha value", alpha)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        defaults = {"lr": scalar(lr), "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach}
        super().__init__(params, defaults | {"maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        step = new_step()
        eta = as_tensor(group["lr"], device=param.device, dtype=step.dtype).clone().detach()
        return {"step": step, "eta": eta, "mu": ones((), device=param.device, dtype=step.dtype), "ax": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        asgd(
            params,
            grads,
            column(states, "ax"),
            column(states, "mu"),
            column(states, "eta"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            **options(group, "foreach", "maximize", "differentiable", "capturable", "lambd", "lr", "t0", "alpha", "weight_decay"),
        )


def asgd(
    params: Tensors,
    grads: Tensors,
    axs: Tensors,
    mus: Tensors,
    etas: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: Scalar,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Updates `params` and their states by `grads` in place; see `ASGD`."""
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = decay(params, gradients(grads, maximize), weight_decay)
    if has_complex:
        params, grads, axs = map(real, (params, grads, axs))
    rates = [eta.item() for eta in etas]
    foreach_mul_(params, [1 - lambd * rate for rate in rates])
    add_scaled_(params, grads, [-rate for rate in rates])
    foreach_lerp_(axs, params, [mu.item() for mu in mus])
    lr = number(lr)
    for step, eta, mu in zip(state_steps, etas, mus, strict=True):
        count = step.item()
        eta.fill_(lr / (1 + lambd * lr * count) ** alpha)
        mu.fill_(1 / max(1, count - t0))
