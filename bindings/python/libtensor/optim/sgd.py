"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .. import empty_like, preserve_format
from .._core.modes import is_grad_enabled
from .._core.tensor import Tensor
from .._data.lists import foreach_add, foreach_add_, foreach_mul_, fused_sgd_
from ._lists import Closure, Scalar, Tensors, check_choice, check_fused, check_lr, fuses, gradients, number, require, scalar
from ._steps import evaluate, options
from .optimizer import Optimizer, ParamsT, _use_grad_for_differentiable

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent with momentum: `v = momentum * v + (1 - dampening) * grad`, `param -= lr * v`.

    `weight_decay * param` is added to the gradient first; with `nesterov` the update is `grad + momentum * v`; `maximize` maximizes the
    objective. `fused=True` uses the fused operator.

    `foreach` and `differentiable` are options of `Optimizer`.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     w.sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.7100, 0.7100], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Scalar = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        require(momentum >= 0.0, "Invalid momentum value", momentum)
        require(weight_decay >= 0.0, "Invalid weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": scalar(lr), "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        defaults |= {"maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused}
        super().__init__(params, defaults)
        check_choice(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False), ("fused", False)):
                group.setdefault(name, value)

    @_use_grad_for_differentiable
    def step(self, closure: Closure = None) -> Any:
        """Updates the parameters; returns the result of `closure`."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params: Tensors = [param for param in group["params"] if param.grad is not None]
            if not params:
                continue
            grads: Tensors = [param.grad for param in params]
            if group["fused"]:
                check_fused(params)
            has_momentum = group["momentum"] != 0
            states = [self.state[param] for param in params] if has_momentum else []
            buffers: list[Tensor | None] = [state.get("momentum_buffer") for state in states]
            sgd(
                params,
                grads,
                buffers,
                has_sparse_grad=any(grad.is_sparse for grad in grads),
                grad_scale=getattr(self, "grad_scale", None),
                found_inf=getattr(self, "found_inf", None),
                **options(group, "foreach", "fused", "weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize"),
            )
            for state, buffer in zip(states, buffers, strict=True):
                state["momentum_buffer"] = buffer
        return loss


def sgd(
    params: Tensors,
    d_p_list: Tensors,
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: Scalar,
    momentum: float,
    lr: Scalar,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Updates `params` in place by the gradients `d_p_list`, and stores momentum buffers in the list that has None for missing ones; see
    `SGD`.
    """
    if not params:
        return
    if fused and has_sparse_grad:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    known = [buffer for buffer in momentum_buffer_list if buffer is not None]
    if fused or fused is None and not (foreach or is_grad_enabled()) and fuses(params, d_p_list) and fuses(known):
        numbers = {
            "weight_decay": number(weight_decay),
            "momentum": momentum,
            "lr": number(lr),
            "dampening": dampening,
            "nesterov": nesterov,
        }
        _fused(params, d_p_list, momentum_buffer_list, numbers | {"maximize": maximize, "grad_scale": grad_scale, "found_inf": found_inf})
        return
    grads = gradients(d_p_list, maximize)
    if isinstance(weight_decay, Tensor):
        grads = [grad + weight_decay * param for grad, param in zip(grads, params, strict=True)]
    elif weight_decay != 0:
        grads = foreach_add(grads, params, alpha=weight_decay)
    if momentum != 0:
        old = [i for i, buffer in enumerate(momentum_buffer_list) if buffer is not None]
        if old:
            buffers: Tensors = [momentum_buffer_list[i] for i in old]  # type: ignore[misc]
            foreach_mul_(buffers, momentum)
            foreach_add_(buffers, [grads[i] for i in old], alpha=1 - dampening)
        for i, grad in enumerate(grads):
            if momentum_buffer_list[i] is None:
                momentum_buffer_list[i] = grad.detach().clone()
        moved: Tensors = momentum_buffer_list  # type: ignore[assignment]
        grads = foreach_add(grads, moved, alpha=momentum) if nesterov else moved
    if isinstance(lr, Tensor) and lr.requires_grad:
        foreach_add_(params, [grad * -lr for grad in grads])
    else:
        foreach_add_(params, grads, alpha=-number(lr))


def _fused(params: Tensors, grads: Tensors, buffers: list[Tensor | None], numbers: dict[str, Any]) -> None:
    """Updates parameters by the fused operator, which initializes missing momentum buffers."""
    if numbers["momentum"] == 0:
        fused_sgd_(params, grads, [], **numbers, is_first_step=True)
        return
    new = [i for i, buffer in enumerate(buffers) if buffer is None]
    old = [i for i, buffer in enumerate(buffers) if buffer is not None]
    for i in new:
        buffers[i] = empty_like(params[i], memory_format=preserve_format, requires_grad=False)
    for rows, first in ((new, True), (old, False)):
        if rows:
            lists = [[items[i] for i in rows] for items in (params, grads, buffers)]
            fused_sgd_(*lists, **numbers, is_first_step=first)
