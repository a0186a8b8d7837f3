"""Adam for sparse gradients: only elements with entries are updated."""

from __future__ import annotations

from typing import Any

from .. import sparse_coo_tensor
from .._core.tensor import Tensor
from ._lists import Scalar, Tensors, check_lr, number, require, scalar
from ._steps import evaluate, zeros
from .optimizer import Optimizer, ParamsT, _use_grad_for_differentiable

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates the elements of parameters and means for which a sparse gradient has entries, and leaves others as they are.

    `maximize` is an option of `Optimizer`.
    """

    def __init__(
        self, params: ParamsT, lr: Scalar = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        check_lr(lr)
        require(eps > 0.0, "Invalid epsilon value", eps)
        for i, beta in enumerate(betas):
            require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}", beta)
        super().__init__(params, {"lr": scalar(lr), "betas": betas, "eps": eps, "maximize": maximize})
        places = [([i, k], param) for i, group in enumerate(self.param_groups) for k, param in enumerate(group["params"])]
        sparse, complexes = [at for at, param in places if param.is_sparse], [at for at, param in places if param.is_complex()]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complexes:
            raise ValueError(f"Complex params at indices {complexes}: SparseAdam does not support complex parameters")

    @_use_grad_for_differentiable
    def step(self, closure: Any = None) -> Any:
        """Updates the parameters by their gradients; returns what `closure` returns."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params: Tensors = [param for param in group["params"] if param.grad is not None]
            grads: Tensors = [param.grad for param in params]
            if not all(grad.is_sparse for grad in grads):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            states = [self.state[param] for param in params]
            for param, state in zip(params, states, strict=True):
                if not state:
                    state.update({"step": 0, "exp_avg": zeros(param), "exp_avg_sq": zeros(param)})
                state["step"] += 1
            sparse_adam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["step"] for state in states],
                eps=group["eps"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=number(group["lr"]),
                maximize=group["maximize"],
            )
        return loss


def sparse_adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """Updates the elements of `params` and their states for which `grads` have entries in place; see `SparseAdam`."""
    for param, given, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        grad = (-given if maximize else given).coalesce()
        indices, values = grad._indices(), grad._values()
        if values.numel() == 0:
            continue

        def entries(of: Tensor, grad: Tensor = grad) -> Tensor:
            return of.sparse_mask(grad)._values()

        def add(to: Tensor, values: Tensor, grad: Tensor = grad, indices: Tensor = indices) -> None:
            to.add_(sparse_coo_tensor(indices, values, grad.shape))

        old_mean, old_square = entries(mean), entries(square)
        mean_step, square_step = (values - old_mean) * (1 - beta1), (values**2 - old_square) * (1 - beta2)
        add(mean, mean_step)
        add(square, square_step)
        denom = (old_square + square_step).sqrt_().add_(eps)
        rate = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        add(param, (old_mean + mean_step) / denom * -rate)
