"""Resilient backpropagation (Riedmiller and Braun, 1993)."""

from __future__ import annotations

from typing import Any

from .. import full_like, preserve_format
from .._core.tensor import Tensor
from .._data.lists import foreach_add_, foreach_copy_, foreach_mul, foreach_mul_, foreach_sign
from ._lists import Scalar, Tensors, check_capturable, check_lr, check_steps, gradients, new_step, number, real
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


class Rprop(ListOptimizer):
    """Resilient backpropagation: each element has its own step size, which is multiplied by `etas[1]` where the gradient keeps its sign and
    by `etas[0]` where it changes it, within `step_sizes`; the step goes against the sign of the gradient, and is left out after a change.

    `foreach`, `maximize`, `capturable` and `differentiable` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize}
        super().__init__(params, defaults | {"differentiable": differentiable, "capturable": capturable})

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        lr = float(number(group["lr"]))
        size = full_like(param, complex(lr, lr) if param.is_complex() else lr, memory_format=preserve_format, requires_grad=False)
        return {"step": new_step(), "prev": zeros(param), "step_size": size}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        rprop(
            params,
            grads,
            column(states, "prev"),
            column(states, "step_size"),
            column(states, "step"),
            has_complex=any(param.is_complex() for param in params),
            step_size_min=group["step_sizes"][0],
            step_size_max=group["step_sizes"][1],
            etaminus=group["etas"][0],
            etaplus=group["etas"][1],
            **options(group, "foreach", "capturable", "maximize", "differentiable"),
        )


def rprop(
    params: Tensors,
    grads: Tensors,
    prevs: Tensors,
    step_sizes: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Rprop`."""
    check_steps(state_steps)
    check_capturable(capturable, params)
    foreach_add_(state_steps, 1)
    grads = gradients(grads, maximize)
    if has_complex:
        params, grads, prevs, step_sizes = map(real, (params, grads, prevs, step_sizes))
    kept = []
    for product, size, grad in zip(foreach_mul(grads, prevs), step_sizes, grads, strict=True):
        turned = product < 0
        factor = full_like(size, 1).masked_fill(product > 0, etaplus).masked_fill(turned, etaminus)
        size.copy_((size * factor).clamp(step_size_min, step_size_max))
        kept.append(grad.masked_fill(turned, 0))
    steps = foreach_sign(kept)
    foreach_mul_(steps, step_sizes)
    foreach_add_(params, steps, alpha=-1)
    foreach_copy_(prevs, kept)
