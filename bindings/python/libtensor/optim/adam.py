"""Adam: adaptive moment estimation (Kingma and Ba, 2014)."""

from __future__ import annotations

from typing import Any

from .. import preserve_format, zeros_like
from .._core.modes import enable_grad
from .._core.tensor import Tensor
from ._lists import (
    Closure,
    Scalar,
    Tensors,
    _foreach_add,
    _foreach_add_,
    _foreach_addcdiv_,
    _foreach_addcmul_,
    _foreach_div_,
    _foreach_lerp_,
    _foreach_maximum_,
    _foreach_mul_,
    _foreach_sqrt,
    check_capturable,
    check_choice,
    check_fused,
    check_lr,
    check_steps,
    gradients,
    new_step,
    number,
    real,
    require,
    scalar,
)
from .optimizer import Optimizer, ParamsT, _use_grad_for_differentiable

__all__ = ["Adam", "adam"]


class Adam(Optimizer):
    """Adam: steps of the running mean of gradients over the root of the running mean of their squares.

    `m = lerp(m, grad, 1 - beta1)`, `v = lerp(v, grad**2, 1 - beta2)`, and at step t
    `param -= lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)`; with `amsgrad` the largest `v` so far divides. `weight_decay * param`
    is added to the gradient, or `lr * weight_decay * param` subtracted from the parameter with `decoupled_weight_decay`.

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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"):
                group.setdefault(name, False)
            group.setdefault("foreach", None)
            group.setdefault("fused", None)
        upgrade_steps(self)

    @_use_grad_for_differentiable
    def step(self, closure: Closure = None) -> Any:
        """Updates the parameters; returns what `closure` returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params: Tensors = [param for param in group["params"] if param.grad is not None]
            grads: Tensors = [param.grad for param in params]  # type: ignore[misc]
            if any(grad.is_sparse for grad in grads):
                raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")
            if group["fused"]:
                check_fused(params)
            states = [self.state[param] for param in params]
            for param, state in zip(params, states, strict=False):
                if not state:
                    state["step"] = new_step()
                    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
                    state.update((name, zeros_like(param, memory_format=preserve_format)) for name in names)
            steps = [state["step"] for state in states]
            if group["differentiable"] and any(step.requires_grad for step in steps):
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
            if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
                raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
            adam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
                steps,
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                fused=group["fused"],
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                has_complex=any(param.is_complex() for param in params),
                decoupled_weight_decay=group["decoupled_weight_decay"],
                amsgrad=group["amsgrad"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def upgrade_steps(optimizer: Optimizer) -> None:
    """Makes tensors of counts of steps that are numbers, as old versions of PyTorch saved them."""
    for group in optimizer.param_groups:
        for param in group["params"]:
            state = optimizer.state.get(param)
            if state and "step" in state and not isinstance(state["step"], Tensor):
                state["step"] = new_step().fill_(float(state["step"]))


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
    check_capturable(capturable, params)
    if not differentiable:
        beta1, beta2, lr = number(beta1), number(beta2), number(lr)
    grads = gradients(grads, maximize)
    if has_complex:
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs = map(real, (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs))
    _foreach_add_(state_steps, 1)
    if weight_decay != 0:
        if decoupled_weight_decay:
            _foreach_mul_(params, 1 - lr * weight_decay)
        else:
            grads = _foreach_add(grads, params, alpha=weight_decay)
    steps = state_steps if differentiable else [step.item() for step in state_steps]
    _foreach_lerp_(exp_avgs, grads, 1 - beta1)
    _foreach_mul_(exp_avg_sqs, beta2)
    _foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
    if amsgrad:
        _foreach_maximum_(max_exp_avg_sqs, exp_avg_sqs)
    denoms = _foreach_sqrt(max_exp_avg_sqs if amsgrad else exp_avg_sqs)
    _foreach_div_(denoms, [(1 - beta2**step) ** 0.5 for step in steps])
    _foreach_add_(denoms, eps)
    _foreach_addcdiv_(params, exp_avgs, denoms, [-lr / (1 - beta1**step) for step in steps])
