"""RAdam: Adam whose adaptive rate is rectified (Liu et al., 2019)."""

from __future__ import annotations

from typing import Any

from .. import where
from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_addcmul_, foreach_lerp_, foreach_mul_, foreach_sqrt
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
    new_step,
    number,
    real,
    require,
    scalar,
)
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["RAdam", "radam"]


class RAdam(ListOptimizer):
    """RAdam: Adam with a factor that rectifies the variance of the adaptive learning rate. While this variance is not finite, in the first
    steps, the update is `param -= lr * m / (1 - beta1**t)`, with the moving average m of the gradients.

    `weight_decay`, `decoupled_weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}", beta)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        defaults = {"lr": scalar(lr), "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach}
        defaults |= {"capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable}
        super().__init__(params, defaults)

    _ADDED = ListOptimizer._ADDED | {"decoupled_weight_decay": False}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        return {"step": new_step(), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        radam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **options(group, "decoupled_weight_decay", "foreach", "differentiable", "capturable", "maximize", "lr", "weight_decay", "eps"),
        )


def radam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: Scalar,
    weight_decay: float,
    eps: float,
) -> None:
    """Updates `params` and their states by `grads` in place; see `RAdam`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = gradients(grads, maximize)
    steps, lr = (state_steps, lr) if differentiable else ([step.item() for step in state_steps], number(lr))
    if has_complex:
        params, grads, exp_avgs, exp_avg_sqs = map(real, (params, grads, exp_avgs, exp_avg_sqs))
    if decoupled_weight_decay and weight_decay != 0:
        foreach_mul_(params, 1 - lr * weight_decay)
    else:
        grads = decay(params, grads, weight_decay)
    foreach_lerp_(exp_avgs, grads, 1 - beta1)
    foreach_mul_(exp_avg_sqs, beta2)
    foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
    denoms = foreach_sqrt(exp_avg_sqs)
    denoms = foreach_add(denoms, eps)
    most = 2 / (1 - beta2) - 1
    plain, adaptive = [], []
    for step in steps:
        bias = 1 - beta2**step
        rho = most - 2 * step * beta2**step / bias
        enough: Any = rho > 5
        bounded = where(enough, rho, 5.0) if isinstance(rho, Tensor) else max(rho, 5.0)
        rectified = ((bounded - 4) * (bounded - 2) * most / ((most - 4) * (most - 2) * bounded)) ** 0.5
        rate = -lr / (1 - beta1**step)
        plain.append(rate * ~enough if isinstance(enough, Tensor) else rate * (not enough))
        adaptive.append(rate * enough * rectified * bias**0.5)
    add_scaled_(params, exp_avgs, plain)
    addcdiv_(params, exp_avgs, denoms, adaptive)
