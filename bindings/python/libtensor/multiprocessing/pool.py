"""Pools of processes to which tensors are sent in shared memory."""

from __future__ import annotations

from multiprocessing.pool import Pool

from .reductions import init_reductions

__all__ = ["Pool"]

init_reductions()
