"""Grouping of tensors for operators on lists."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._core.tensor import Tensor

Indices = list[int]
TensorListList = list[list[Tensor | None]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Returns the device types on which operators on lists are one call."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Returns the device types that fused optimizers support."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[Any, tuple[TensorListList, Indices]]:
    """Returns lists of tensors by the device and dtype of those of the first list: `{(device, dtype): (lists, indices)}`."""
    return _C._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)  # type: ignore[no-any-return]


def _device_has_foreach_support(device: Any) -> bool:
    """Returns whether operators on lists are PyTorch's default on a device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Tensor], device: Any) -> bool:
    """Returns whether tensors can be operands of operators on lists."""
    return _device_has_foreach_support(device) and all(t is None or isinstance(t, Tensor) for t in tensors)
