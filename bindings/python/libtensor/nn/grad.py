"""Gradients of convolutions with respect to their input and weight."""

from __future__ import annotations

from typing import Any

from .. import empty, zeros
from .._core.modes import enable_grad
from .._core.tensor import Tensor
from ..autograd import grad
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _of_input(function: Any, input_size: Any, weight: Tensor, grad_output: Tensor, *options: Any) -> Tensor:
    with enable_grad():
        input = zeros(tuple(input_size), dtype=grad_output.dtype, device=grad_output.device, requires_grad=True)
        return grad(function(input, weight, None, *options), input, grad_output)[0]


def _of_weight(function: Any, input: Tensor, weight_size: Any, grad_output: Tensor, *options: Any) -> Tensor:
    with enable_grad():
        weight = empty(tuple(weight_size), dtype=grad_output.dtype, device=grad_output.device).requires_grad_()
        return grad(function(input, weight, None, *options), weight, grad_output)[0]


def conv1d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv1d` with respect to an input of sizes `input_size`."""
    return _of_input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv1d` with respect to a weight of sizes `weight_size`."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv2d` with respect to an input of sizes `input_size`."""
    return _of_input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv2d` with respect to a weight of sizes `weight_size`."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv3d` with respect to an input of sizes `input_size`."""
    return _of_input(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Returns the gradient of `conv3d` with respect to a weight of sizes `weight_size`."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)
