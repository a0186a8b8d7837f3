"""A custom operator in Python: gate(x, w) = x * sigmoid(w), computed by NumPy, with a derivative of any order. python gate.py

Prints:
[0.5, 1.0, 1.5]
[0.25, 0.5, 0.75]
[[0.5, 1.0, 1.5], [0.5, 1.0, 1.5]]
gate: x has the shape (3,) and w (4,); they must be equal
"""

from typing import Any

import libtensor as torch
import numpy


@torch.library.custom_op("examples::gate", mutates_args=())
def gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    if x.shape != w.shape:
        raise ValueError(f"gate: x has the shape {tuple(x.shape)} and w {tuple(w.shape)}; they must be equal")
    return torch.from_numpy(x.numpy() / (1 + numpy.exp(-w.numpy())))


@gate.register_fake
def _(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def setup_context(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs)


def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of operators of the library, so that the derivative can be differentiated again."""
    x, w = ctx.saved_tensors
    s = w.sigmoid()
    return grad * s, grad * x * s * (1 - s)


gate.register_autograd(backward, setup_context=setup_context)

if __name__ == "__main__":
    x = torch.tensor([1.0, 2.0, 3.0])
    w = torch.zeros(3, requires_grad=True)
    print(torch.ops.examples.gate(x, w).tolist())
    (first,) = torch.autograd.grad(gate(x, w).sum(), w, create_graph=True)
    print(first.tolist())
    # One row at a time, for each of a batch of weights.
    print(torch.vmap(gate, in_dims=(None, 0))(x, torch.zeros(2, 3)).tolist())
    try:
        gate(x, torch.zeros(4))
    except ValueError as error:
        print(error)
