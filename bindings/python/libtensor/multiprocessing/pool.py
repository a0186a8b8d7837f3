"""The pool of multiprocessing, whose processes are sent tensors in shared memory."""

from __future__ import annotations

from multiprocessing.pool import Pool

from .reductions import init_reductions

__all__ = ["Pool"]

init_reductions()
