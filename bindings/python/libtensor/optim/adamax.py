"""Adamax: Adam with the infinity norm (Kingma and Ba, 2014)."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .._data.lists import foreach_abs, foreach_add_, foreach_lerp_, foreach_maximum_, foreach_mul_
from ._lists import (
    Scalar,
    Tensors,
    addcdiv_,
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

__all__ = ["Adamax", "adamax"]


class Adamax(ListOptimizer):
    """Adamax: `param -= lr / (1 - beta1**t) * m / u`, where m is the moving average of gradients and `u = max(beta2 * u, |grad| + eps)`.

    `weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}", beta)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        defaults = {"lr": scalar(lr), "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize}
        super().__init__(params, defaults | {"differentiable": differentiable, "capturable": capturable})

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        return {"step": new_step(), "exp_avg": zeros(param), "exp_inf": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        adamax(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_inf"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **options(group, "foreach", "maximize", "differentiable", "capturable", "eps", "lr", "weight_decay"),
        )


def adamax(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_infs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: Scalar,
    weight_decay: float,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Adamax`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = decay(params, gradients(grads, maximize), weight_decay)
    if has_complex:
        params, grads, exp_avgs, exp_infs = map(real, (params, grads, exp_avgs, exp_infs))
    foreach_lerp_(exp_avgs, grads, 1 - beta1)
    foreach_mul_(exp_infs, beta2)
    sizes = foreach_abs(grads)
    foreach_add_(sizes, eps)
    foreach_maximum_(exp_infs, sizes)
    steps, lr = (state_steps, lr) if differentiable else ([step.item() for step in state_steps], number(lr))
    addcdiv_(params, exp_avgs, exp_infs, [-lr / (1 - beta1**step) for step in steps])
