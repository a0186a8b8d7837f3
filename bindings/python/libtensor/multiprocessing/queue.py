"""Queues that send tensors in shared memory."""

from __future__ import annotations

from multiprocessing.queues import JoinableQueue, Queue, SimpleQueue

from .reductions import init_reductions

__all__ = ["JoinableQueue", "Queue", "SimpleQueue"]

init_reductions()
