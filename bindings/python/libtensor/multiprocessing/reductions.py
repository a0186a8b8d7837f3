"""Pickling of tensors and storages for other processes."""

from __future__ import annotations

from typing import Any

from .._core.owner import UntypedStorage
from .._core.tensor import Tensor
from .._storages import sharing as _sharing

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor"]


def init_reductions() -> None:
    """Makes multiprocessing send tensors and storages as shared memory."""
    _sharing.register()


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Returns the pickle of a tensor for another process, whose storage moves to shared memory. Raises RuntimeError for a tensor with a
    grad_fn."""
    return _sharing.send(tensor)


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """Returns the pickle of a storage for another process. The storage moves to shared memory."""
    return _sharing.reduce_storage(storage)
