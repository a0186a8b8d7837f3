"""Memory formats of convolution weights."""

from __future__ import annotations

from typing import TypeVar

from ..._base.dtypes import memory_format as _memory_format
from ..._core.tensor import Tensor
from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def _convert(module: _M, kinds: tuple[type, ...], format: _memory_format) -> _M:
    if isinstance(module, kinds):
        weight: Tensor = module.weight  # type: ignore[attr-defined]
        weight.data = weight.detach().clone(memory_format=format)
    for child in module.children():
        _convert(child, kinds, format)
    return module


def convert_conv2d_weight_memory_format(module: _M, memory_format: _memory_format) -> _M:
    """Copies the weights of all Conv2d and ConvTranspose2d of the tree to `memory_format`, in place, and returns the module."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: _M, memory_format: _memory_format) -> _M:
    """Copies the weights of all Conv3d and ConvTranspose3d of the tree to `memory_format`, in place, and returns the module."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
