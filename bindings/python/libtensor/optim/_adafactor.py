"""Adafactor (Shazeer and Stern, 2018)."""

from __future__ import annotations

from typing import Any

from .. import finfo
from .._core.tensor import Tensor
from .._data.lists import foreach_add_
from ._lists import Scalar, Tensors, check_lr, gradients, new_step, number, require, scalar
from ._steps import ListOptimizer, State, column, options
from .optimizer import ParamsT

__all__ = ["Adafactor", "adafactor"]


class Adafactor(ListOptimizer):
    """Adafactor: Adam with factored second moments, the means over rows and columns of the squared gradients of a matrix; the update is
    `lr` relative to the parameters (at least `eps[1]`), clipped to the root mean square `d`.

    `weight_decay`, `foreach` and `maximize` are options of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is")
        require(beta2_decay <= 0.0, "beta2_decay should be <= 0 but is", beta2_decay)
        require(eps[0] is None or eps[0] >= 0.0, "epsilon1 should be >= 0 but is", eps[0])
        require(eps[1] >= 0.0, "epsilon2 should be >= 0 but is", eps[1])
        require(d >= 1.0, "Clipping threshold d should be >= 1 but is", d)
        require(weight_decay >= 0.0, "weight_decay should be >= 0 but is", weight_decay)
        defaults = {"lr": scalar(lr), "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"foreach": foreach, "maximize": maximize})

    _ADDED = {"foreach": None}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.dim() <= 1:
            return {"step": new_step(), "variance": param.new_zeros(param.shape)}
        rows, columns = (*param.shape[:-1], 1), (*param.shape[:-2], 1, param.shape[-1])
        return {"step": new_step(), "row_var": param.new_zeros(rows), "col_var": param.new_zeros(columns)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        adafactor(
            params,
            grads,
            [state.get("row_var") for state in states],
            [state.get("col_var") for state in states],
            [state.get("variance") for state in states],
            column(states, "step"),
            eps1=group["eps"][0],
            eps2=group["eps"][1],
            **options(group, "foreach", "d", "lr", "beta2_decay", "weight_decay", "maximize"),
        )


def adafactor(
    params: Tensors,
    grads: Tensors,
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: Tensors,
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: Scalar,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `Adafactor`."""
    if not all(isinstance(step, Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    foreach_add_(state_steps, 1)
    lr = number(lr)
    for i, (param, grad) in enumerate(zip(params, gradients(grads, maximize), strict=True)):
        step = state_steps[i].item()
        least = finfo(param.dtype).eps if eps1 is None else eps1
        weight = step**beta2_decay
        alpha = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        rows, columns, variance = row_vars[i], col_vars[i], variances[i]
        if rows is not None and columns is not None:
            rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            estimate = rows @ columns
            estimate.div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))
        else:
            assert variance is not None
            variance.lerp_(grad.square(), weight)
            estimate = variance.clone()
        update = estimate.clamp_(min=least * least).rsqrt_().mul_(grad)
        param.add_(update, alpha=-alpha / max(1.0, _rms(update) / d))


def _rms(x: Tensor) -> float:
    """Returns the root mean square of the elements."""
    return float(x.norm(2).item() / x.numel() ** 0.5)
