"""Batches in page-locked memory, which devices copy asynchronously."""

from __future__ import annotations

import collections.abc
from typing import Any

from ...._core.tensor import Tensor
from .collate import _copied_container

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """Returns `data` with its tensors in page-locked memory, at any depth of mappings, named tuples and sequences. Other objects with a
    method `pin_memory` are replaced by its result. Raises an error without an accelerator.
    """
    if isinstance(data, Tensor):
        return data.pin_memory(device) if device else data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        made = {key: pin_memory(value, device) for key, value in data.items()}
        filled = _copied_container(data, made.items())
        return made if filled is None else filled
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value, device) for value in data]
    if isinstance(data, collections.abc.Sequence):
        values = [pin_memory(value, device) for value in data]
        filled = _copied_container(data, enumerate(values))
        return values if filled is None else filled
    return data
