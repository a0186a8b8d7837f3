"""Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_addcmul_, foreach_div, foreach_mul, foreach_mul_, foreach_sqrt
from ._lists import (
    Scalar,
    Tensors,
    add_scaled_,
    check_capturable,
    check_lr,
    check_steps,
    decay,
    gradients,
    new_step,
    number,
    real,
    require,
    scalar,
)
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


class Adadelta(ListOptimizer):
    """Adadelta: `param -= lr * sqrt(u + eps) / sqrt(v + eps) * grad`, where v is the exponential moving average of squared gradients and u
    that of squared updates, both with decay `rho`.

    `weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(0.0 <= rho <= 1.0, "Invalid rho value", rho)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        defaults = {"lr": scalar(lr), "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable}
        super().__init__(params, defaults | {"foreach": foreach, "differentiable": differentiable})

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        return {"step": new_step(), "square_avg": zeros(param), "acc_delta": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        adadelta(
            params,
            grads,
            column(states, "square_avg"),
            column(states, "acc_delta"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            **options(group, "capturable", "foreach", "differentiable", "lr", "rho", "eps", "weight_decay", "maximize"),
        )


def adadelta(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    acc_deltas: Tensors,
    state_steps: Tensors,
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: Scalar,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Adadelta`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = decay(params, gradients(grads, maximize), weight_decay)
    if has_complex:
        params, grads, square_avgs, acc_deltas = map(real, (params, grads, square_avgs, acc_deltas))
    foreach_mul_(square_avgs, rho)
    foreach_addcmul_(square_avgs, grads, grads, 1 - rho)
    deltas = foreach_div(foreach_sqrt(foreach_add(acc_deltas, eps)), foreach_sqrt(foreach_add(square_avgs, eps)))
    deltas = foreach_mul(deltas, grads)
    foreach_mul_(acc_deltas, rho)
    foreach_addcmul_(acc_deltas, deltas, deltas, 1 - rho)
    add_scaled_(params, deltas, [-lr if differentiable else -number(lr)] * len(params))
