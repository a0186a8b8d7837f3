"""Fusion of layers with the batch normalization that follows them, in evaluation mode."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ... import ones_like, zeros_like
from ..._core.tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_M = TypeVar("_M", bound=Module)


def _checked(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("batch normalization must track running statistics to be fused")


def _factors(mean: Tensor, var: Tensor, eps: float, weight: Tensor | None) -> Tensor:
    return (ones_like(mean) if weight is None else weight) * (var + eps).rsqrt()


def fuse_conv_bn_eval(conv: _M, bn: Module, transpose: bool = False) -> _M:
    """Returns a copy of a convolution, fused with the batch normalization that follows it, both in evaluation mode. With `transpose` the
    convolution is a transposed one.
    """
    _checked(conv, bn)
    fused: Any = copy.deepcopy(conv)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, *statistics, transpose)
    return fused  # type: ignore[no-any-return]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Returns weight and bias of the convolution that is fused with a batch normalization."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    factors = _factors(bn_rm, bn_rv, bn_eps, bn_w)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * factors.reshape(shape)).to(conv_w.dtype)
    bias = ((bias - bn_rm) * factors + (0 if bn_b is None else bn_b)).to(conv_w.dtype)
    needs = conv_b.requires_grad if conv_b is not None else conv_w.requires_grad
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, needs)


def fuse_linear_bn_eval(linear: _M, bn: Module) -> _M:
    """Returns a copy of a linear layer, fused with the batch normalization that follows it, both in evaluation mode.

    The normalization must have one feature, or as many as the layer has outputs; otherwise AssertionError is raised.
    """
    _checked(linear, bn)
    fused: Any = copy.deepcopy(linear)
    if bn.num_features not in (fused.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *statistics)
    return fused  # type: ignore[no-any-return]


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None
) -> tuple[Parameter, Parameter]:
    """Returns weight and bias of the linear layer that is fused with a batch normalization."""
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    factors = _factors(bn_rm, bn_rv, bn_eps, bn_w)
    weight = (linear_w * factors.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((bias - bn_rm) * factors + (0 if bn_b is None else bn_b)).to(linear_w.dtype)
    needs = linear_b.requires_grad if linear_b is not None else linear_w.requires_grad
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, needs)
