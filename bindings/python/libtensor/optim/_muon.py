"""Muon: momentum made orthogonal by Newton-Schulz iterations (Jordan et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import addmm, bfloat16
from .._core.tensor import Tensor
from ._lists import Tensors, check_lr, require
from ._steps import ListOptimizer, State, column, options, zeros
from .optimizer import ParamsT

__all__ = ["Muon"]

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
# The factor of the learning rate for a matrix of shape (rows, columns).
_RATIOS: dict[str, Callable[[int, int], float]] = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}


class Muon(ListOptimizer):
    """Muon: steps of an approximately orthogonal matrix near the running mean of gradients, for matrices alone.

    `ns_coefficients` are those of the polynomial that `ns_steps` iterations apply to the singular values. The learning rate of a matrix (A,
    B) is multiplied by `sqrt(max(1, A / B))` ("original"), by `sqrt(A / B)` ("spectral_unclamped"), or by `0.2 * sqrt(max(A, B))`
    ("match_rms_adamw"). Raises ValueError for parameters that are not matrices.

    `weight_decay` is an option of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = _COEFFICIENTS,
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is")
        require(momentum >= 0.0, "momentum should be >= 0 but is", momentum)
        require(weight_decay >= 0.0, "weight decay should be >= 0 but is", weight_decay)
        if adjust_lr_fn not in (None, *_RATIOS):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients}
        super().__init__(params, defaults | {"eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}")

    _ADDED = {}

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> State:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": zeros(param)}

    def _update(self, group: dict[str, Any], params: Tensors, grads: Tensors, states: list[State]) -> None:
        names = ("lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "ns_steps", "eps", "adjust_lr_fn")
        muon(params, grads, column(states, "momentum_buffer"), has_complex=False, **options(group, *names))


def _orthogonal(grad: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    """Returns a matrix near the orthogonal factor of the polar decomposition of `grad`, in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.to(bfloat16, copy=True)
    if tall:
        x = x.T
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def muon(
    params: Tensors,
    grads: Tensors,
    muon_momentum_bufs: Tensors,
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """Updates the matrices `params` and their momenta by `grads` in place; see `Muon`."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    lr = float(lr)
    for param, grad, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
        if grad.dim() != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        buffer.lerp_(grad, 1 - momentum)
        update = _orthogonal(grad.lerp(buffer, momentum) if nesterov else buffer, ns_coefficients, ns_steps, eps)
        rows, columns = param.shape
        ratio = _RATIOS[adjust_lr_fn or "original"](rows, columns)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-lr * ratio)
