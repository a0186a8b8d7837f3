"""A name of earlier versions."""

from __future__ import annotations

import warnings


def worker_init_fn(worker_id: int) -> None:
    """Does nothing, after a warning: data pipes are sharded among workers without it."""
    warnings.warn(
        "Usage of backward_compatibility.worker_init_fn is deprecated: data pipes are sharded among workers automatically", stacklevel=2
    )
