"""AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, 2017)."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from ._lists import Scalar, Tensors
from .adam import Adam, adam
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Adam with decoupled weight decay: `lr * weight_decay * param` is subtracted from the parameters and does not enter the moving
    averages of gradients.

    `foreach`, `maximize`, `capturable`, `differentiable` and `fused` are options of `Optimizer`.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=1.0)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1e-3,
        betas: tuple[Scalar, Scalar] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adamw(
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
    *,
    amsgrad: bool,
    beta1: Scalar,
    beta2: Scalar,
    lr: Scalar,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Updates `params` and their states by `grads` in place; see `AdamW`."""
    adam(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        foreach=foreach,
        capturable=capturable,
        differentiable=differentiable,
        fused=fused,
        grad_scale=grad_scale,
        found_inf=found_inf,
        has_complex=has_complex,
        decoupled_weight_decay=True,
        amsgrad=amsgrad,
        beta1=beta1,
        beta2=beta2,
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
    )
