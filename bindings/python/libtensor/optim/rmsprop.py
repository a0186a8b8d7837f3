"""RMSprop (Hinton, 2012; centered: Graves, 2013)."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .._data.lists import (
    foreach_add,
    foreach_add_,
    foreach_addcdiv_,
    foreach_addcmul,
    foreach_addcmul_,
    foreach_lerp_,
    foreach_mul_,
    foreach_sqrt,
)
from ._lists import (
    Scalar,
    Tensors,
    add_scaled_,
    addcdiv_,
    check_capturable,
    check_lr,
    check_steps,
    decay,
    gradients,
    kept,
    new_step,
    number,
    real,
    require,
    scalar,
)
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(ListOptimizer):
    """RMSprop: `param -= lr * grad / (sqrt(v) + eps)`, where v is the moving average of squared gradients with decay `alpha`, minus the
    square of the average gradient if `centered`; with `momentum` the updates are accumulated.

    `weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        require(momentum >= 0.0, "Invalid momentum value", momentum)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        require(alpha >= 0.0, "Invalid alpha value", alpha)
        defaults = {"lr": scalar(lr), "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay}
        super().__init__(
            params, defaults | {"capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        )

    _ADDED = ListOptimizer._ADDED | {"momentum": 0, "centered": False}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        state = {"step": new_step(), "square_avg": zeros(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(param)
        if group["centered"]:
            state["grad_avg"] = zeros(param)
        return state

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        rmsprop(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "grad_avg") if group["centered"] else [],
            column(states, "momentum_buffer") if group["momentum"] > 0 else [],
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            **options(
                group, "foreach", "maximize", "differentiable", "capturable", "lr", "alpha", "eps", "weight_decay", "momentum", "centered"
            ),
        )


def rmsprop(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    grad_avgs: Tensors,
    momentum_buffer_list: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: Scalar,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `RMSprop`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = decay(params, gradients(grads, maximize), weight_decay)
    if has_complex:
        params, grads, square_avgs, grad_avgs, momentum_buffer_list = map(
            real, (params, grads, square_avgs, grad_avgs, momentum_buffer_list)
        )
    foreach_mul_(square_avgs, alpha)
    foreach_addcmul_(square_avgs, grads, grads, 1 - alpha)
    if centered:
        foreach_lerp_(grad_avgs, grads, 1 - alpha)
        means = kept(grad_avgs)
        denoms = foreach_addcmul(square_avgs, means, means, -1)
        denoms = foreach_sqrt(denoms)
    else:
        denoms = foreach_sqrt(square_avgs)
    denoms = foreach_add(denoms, eps)
    rates = [-lr if differentiable else -number(lr)] * len(params)
    if momentum > 0:
        foreach_mul_(momentum_buffer_list, momentum)
        foreach_addcdiv_(momentum_buffer_list, grads, denoms, 1)
        add_scaled_(params, momentum_buffer_list, rates)
    else:
        addcdiv_(params, grads, denoms, rates)
