"""NAdam: Adam with Nesterov momentum (Dozat, 2016)."""

from __future__ import annotations

from typing import Any

from .. import ones
from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_addcmul_, foreach_div, foreach_lerp_, foreach_mul_, foreach_sqrt
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

__all__ = ["NAdam", "nadam"]


class NAdam(ListOptimizer):
    """NAdam: Adam whose steps look ahead: with `mu_t = beta1 * (1 - 0.96**(t * momentum_decay) / 2)` and its products M_t, they are `lr *
    ((1 - mu_t) / (1 - M_t) * grad + mu_{t+1} / (1 - M_{t+1}) * m) / (sqrt(v / (1 - beta2**t)) + eps)`.

    `weight_decay`, `decoupled_weight_decay`, `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        require(momentum_decay >= 0.0, "Invalid momentum_decay value", momentum_decay)
        defaults = {"lr": scalar(lr), "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay}
        defaults |= {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach, "capturable": capturable}
        super().__init__(params, defaults | {"differentiable": differentiable})

    _ADDED = ListOptimizer._ADDED | {"decoupled_weight_decay": False}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        step = new_step()
        return {"step": step, "mu_product": ones((), dtype=step.dtype), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        nadam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "mu_product"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **options(group, "decoupled_weight_decay", "foreach", "capturable", "differentiable", "maximize", "lr", "weight_decay"),
            **options(group, "momentum_decay", "eps"),
        )


def nadam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    mu_products: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: Scalar,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Updates `params` and their states by `grads` in place; see `NAdam`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = gradients(grads, maximize)
    steps, lr = (state_steps, lr) if differentiable else ([step.item() for step in state_steps], number(lr))
    if decoupled_weight_decay and weight_decay != 0:
        foreach_mul_(params, 1 - lr * weight_decay)
    else:
        grads = decay(params, grads, weight_decay)
    if has_complex:
        params, grads, exp_avgs, exp_avg_sqs = map(real, (params, grads, exp_avgs, exp_avg_sqs))
    now, then = ([beta1 * (1 - 0.5 * 0.96 ** ((step + ahead) * momentum_decay)) for step in steps] for ahead in (0, 1))
    foreach_mul_(mu_products, now)
    products: list[Any] = list(mu_products) if differentiable else [product.item() for product in mu_products]
    foreach_lerp_(exp_avgs, grads, 1 - beta1)
    foreach_mul_(exp_avg_sqs, beta2)
    foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
    denoms = foreach_div(exp_avg_sqs, [1 - beta2**step for step in steps])
    denoms = foreach_sqrt(denoms)
    denoms = foreach_add(denoms, eps)
    addcdiv_(params, grads, denoms, [-lr * (1 - mu) / (1 - product) for mu, product in zip(now, products, strict=True)])
    addcdiv_(params, exp_avgs, denoms, [-lr * mu / (1 - product * mu) for mu, product in zip(then, products, strict=True)])
