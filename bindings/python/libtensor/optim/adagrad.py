"""Adagrad (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from typing import Any

from .. import full_like, preserve_format, sparse_coo_tensor
from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_addcmul_, foreach_sqrt, fused_adagrad_
from ._lists import (
    Scalar,
    Tensors,
    addcdiv_,
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
from ._steps import evaluate, options
from .optimizer import Optimizer, ParamsT, _use_grad_for_differentiable

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Adagrad: `param -= lr / (1 + (t - 1) * lr_decay) * grad / (sqrt(s) + eps)`, where s is the sum of squared gradients, initially
    `initial_accumulator_value`. Supports sparse gradients.

    `weight_decay`, `foreach`, `maximize`, `differentiable` and `fused` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        require(lr_decay >= 0.0, "Invalid lr_decay value", lr_decay)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        require(initial_accumulator_value >= 0.0, "Invalid initial_accumulator_value value", initial_accumulator_value)
        require(eps >= 0.0, "Invalid epsilon value", eps)
        defaults = {"lr": scalar(lr), "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        defaults |= {"initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize}
        super().__init__(params, defaults | {"differentiable": differentiable, "fused": fused})
        check_choice(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)
        for group in self.param_groups:
            for param in group["params"]:
                value: Any = (
                    complex(initial_accumulator_value, initial_accumulator_value) if param.is_complex() else initial_accumulator_value
                )
                total = full_like(param, value, memory_format=preserve_format, requires_grad=False)
                self.state[param].update({"step": new_step(), "sum": total})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("foreach", None), ("maximize", False), ("differentiable", False), ("fused", None)):
                group.setdefault(name, value)
        for entry in self.state.values():
            if "step" in entry and not isinstance(entry["step"], Tensor):
                entry["step"] = new_step().fill_(float(entry["step"]))

    def share_memory(self) -> None:
        """Moves the sums of squared gradients to shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    @_use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Updates the parameters by their gradients; returns the result of `closure`."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params: Tensors = [param for param in group["params"] if param.grad is not None]
            if not params:
                continue
            grads: Tensors = [param.grad for param in params]
            if group["fused"]:
                check_fused(params)
            adagrad(
                params,
                grads,
                [self.state[param]["sum"] for param in params],
                [self.state[param]["step"] for param in params],
                has_sparse_grad=any(grad.is_sparse for grad in grads),
                has_complex=any(param.is_complex() for param in params),
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                **options(group, "fused", "foreach", "differentiable", "lr", "weight_decay", "lr_decay", "eps", "maximize"),
            )
        return loss


def adagrad(
    params: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: Scalar,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Adagrad`."""
    check_steps(state_steps)
    if fused and (has_sparse_grad or has_complex):
        raise RuntimeError("`fused` does not support sparse grad or complex param")
    foreach_add_(state_steps, 1)
    if fused or fused is None and not foreach and not differentiable and fuses(params, grads, state_sums):
        if found_inf is not None:
            foreach_add_(state_steps, found_inf, alpha=-1)
        numbers = {"lr": number(lr), "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps, "maximize": maximize}
        fused_adagrad_(params, grads, state_sums, state_steps, **numbers, grad_scale=grad_scale, found_inf=found_inf)
        return
    grads = gradients(grads, maximize)
    if has_sparse_grad:
        if weight_decay != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        for param, grad, total, step in zip(params, grads, state_sums, state_steps, strict=True):
            if grad.is_sparse:
                _sparse(param, grad.coalesce(), total, number(lr) / (1 + (step.item() - 1) * lr_decay), eps)
        dense = [i for i, grad in enumerate(grads) if not grad.is_sparse]
        if not dense:
            return
        params, grads, state_sums, state_steps = ([items[i] for i in dense] for items in (params, grads, state_sums, state_steps))
    grads = decay(params, grads, weight_decay)
    if has_complex:
        params, grads, state_sums = map(real, (params, grads, state_sums))
    foreach_addcmul_(state_sums, grads, grads, 1)
    denoms = foreach_sqrt(state_sums)
    denoms = foreach_add(denoms, eps)
    steps, lr = (state_steps, lr) if differentiable else ([step.item() for step in state_steps], number(lr))
    addcdiv_(params, grads, denoms, [-lr / (1 + (step - 1) * lr_decay) for step in steps])


def _sparse(param: Tensor, grad: Tensor, total: Tensor, rate: float, eps: float) -> None:
    """Updates the elements of a parameter at the indices of its coalesced gradient."""
    indices, values = grad._indices(), grad._values()
    total.add_(sparse_coo_tensor(indices, values**2, grad.shape))
    denoms = total.sparse_mask(grad)._values().sqrt() + eps
    param.add_(sparse_coo_tensor(indices, values / denoms, grad.shape), alpha=-rate)
