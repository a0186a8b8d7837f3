"""Adam: adaptive moment estimation (Kingma and Ba, 2014)."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .._data.lists import (
    foreach_add,
    foreach_add_,
    foreach_addcmul_,
    foreach_div,
    foreach_lerp_,
    foreach_maximum_,
    foreach_mul_,
    foreach_sqrt,
    fused_adam_,
    fused_adamw_,
)
from ._lists import (
    Scalar,
    Tensors,
    addcdiv_,
    check_capturable,
    check_choice,
    check_fused,
    check_lr,
    check_steps,
    decay,
    fuses,
    gradients,
    new_step,
    number,
    real,
    require,
    scalar,
)
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["Adam", "adam"]


class Adam(ListOptimizer):
    """Adam: the moving average of gradients divided by the square root of the moving average of their squares.

    `m = lerp(m, grad, 1 - beta1)`, `v = lerp(v, grad**2, 1 - beta2)`, and at step t `param -= lr * m / (1 - beta1**t) / (sqrt(v / (1 -
    beta2**t)) + eps)`; with `amsgrad` the maximum of all `v` replaces `v`. `weight_decay * param` is added to the gradient, or with
    `decoupled_weight_decay` `lr * weight_decay * param` is subtracted from the parameter. `maximize` maximizes the objective. `fused=True`
    uses the fused operator.

    `foreach`, `capturable` and `differentiable` are options of `Optimizer`.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-3,
        betas: tuple[Scalar, Scalar] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}", beta)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        kinds = [Tensor if isinstance(beta, Tensor) else float if isinstance(beta, float) else None for beta in betas]
        if kinds[0] is None or kinds[0] is not kinds[1]:
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = {"lr": scalar(lr), "betas": tuple(map(scalar, betas)), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        defaults |= {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, defaults | {"decoupled_weight_decay": decoupled_weight_decay})
        check_choice(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)

    _ADDED = ListOptimizer._ADDED | {"amsgrad": False, "decoupled_weight_decay": False, "fused": None}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        state = {"step": new_step(), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(param)
        return state

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        if group["fused"]:
            check_fused(params)
        steps = column(states, "step")
        if group["differentiable"] and any(step.requires_grad for step in steps):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        adam(
            params,
            grads,
            column(states, "exp_avg"),
            column(states, "exp_avg_sq"),
            column(states, "max_exp_avg_sq") if group["amsgrad"] else [],
            steps,
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
            has_complex=any(param.is_complex() for param in params),
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **options(group, "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay", "amsgrad", "lr", "weight_decay"),
            **options(group, "eps", "maximize"),
        )


def adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: Scalar,
    beta2: Scalar,
    lr: Scalar,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Adam`."""
    check_steps(state_steps)
    if not params:
        return
    if not differentiable:
        beta1, beta2, lr = number(beta1), number(beta2), number(lr)
    if not fused:
        check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    if (
        fused
        or fused is None
        and not (foreach or differentiable)
        and fuses(params, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] * amsgrad))
    ):
        if found_inf is not None:
            foreach_add_(state_steps, found_inf, alpha=-1)
        update = fused_adamw_ if decoupled_weight_decay else fused_adam_
        numbers = {
            "lr": lr,
            "beta1": beta1,
            "beta2": beta2,
            "weight_decay": weight_decay,
            "eps": eps,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        update(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, **numbers, grad_scale=grad_scale, found_inf=found_inf)
        return
    grads = gradients(grads, maximize)
    if decoupled_weight_decay and weight_decay != 0:
        foreach_mul_(params, 1 - lr * weight_decay)
    elif not decoupled_weight_decay:
        grads = decay(params, grads, weight_decay)
    if has_complex:
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs = map(real, (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs))
    foreach_lerp_(exp_avgs, grads, 1 - beta1)
    foreach_mul_(exp_avg_sqs, beta2)
    foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
    if amsgrad:
        foreach_maximum_(max_exp_avg_sqs, exp_avg_sqs)
    steps: list[Any] = list(state_steps) if differentiable else [step.item() for step in state_steps]
    denoms = foreach_sqrt(max_exp_avg_sqs if amsgrad else exp_avg_sqs)
    denoms = foreach_div(denoms, [(1 - beta2**step) ** 0.5 for step in steps])
    denoms = foreach_add(denoms, eps)
    addcdiv_(params, exp_avgs, denoms, [-lr / (1 - beta1**step) for step in steps])
