"""The worker processes of a DataLoader, which read batches by the indices that they receive, and send them."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import select
import sys
from dataclasses import dataclass
from typing import Any

from .... import manual_seed, set_num_threads
from ...._utils import ExceptionWrapper
from ..datapipes._graph import apply_random_seed
from . import arena
from .channel import MP_STATUS_CHECK_INTERVAL, Channel
from .fetch import create_fetcher

__all__ = ["ManagerWatchdog", "WorkerInfo", "get_worker_info"]

_worker_info: WorkerInfo | None = None


@dataclass(frozen=True)
class WorkerInfo:
    """A worker process of a DataLoader: its index `id` of `num_workers`, its seed, and its copy of the dataset. `rng` is None."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """Returns the WorkerInfo of this worker process, None in other processes.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The message that the stream of a worker has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """The message that another epoch begins, with the seed of random pipes if the dataset is a pipe."""

    seed: int | None = None


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Returns the seed of NumPy's generator in a worker: four 32-bit numbers. Requires NumPy."""
    from numpy.random import SeedSequence

    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return SeedSequence(entropy).generate_state(4).tolist()  # type: ignore[no-any-return]


def _seed(base_seed: int, worker_id: int) -> int:
    """Seeds the generators of this process: Python's, the library's and NumPy's, if it is installed. Returns the seed of the first two."""
    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    try:
        import numpy
    except ImportError:
        return seed
    numpy.random.seed(_generate_state(base_seed, worker_id))
    return seed


class ManagerWatchdog:
    """Checks whether the process that started this one is alive."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Returns whether the process is alive."""
        if not self.manager_dead:
            self.manager_dead = os.getppid() != self.manager_pid
        return not self.manager_dead


class _Worker:
    """The loop of a worker process. `work` is the dataset, its kind, and the collation of batches."""

    def __init__(self, channel: Channel, worker_id: int, num_workers: int, base_seed: int, work: Any) -> None:
        self.channel, self.id = channel, worker_id
        self.iterable, self.dataset, self.auto_collation, self.collate_fn, self.drop_last, self.init_fn, self.persistent = work
        global _worker_info
        set_num_threads(1)
        seed = _seed(base_seed, worker_id)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, self.dataset)
        self.watchdog = ManagerWatchdog()
        self.fetcher: Any = None
        self.failed: ExceptionWrapper | None = None
        self.ended = False

    def caught(self) -> ExceptionWrapper:
        wrapper: Any = ExceptionWrapper
        return wrapper(where=f"in DataLoader worker process {self.id}")  # type: ignore[no-any-return]

    def begin(self) -> None:
        """Creates the fetcher of an epoch. Its exception is sent instead of each batch."""
        self.ended, self.failed = False, None
        try:
            self.fetcher = create_fetcher(self.iterable, self.dataset, self.auto_collation, self.collate_fn, self.drop_last)
        except Exception:
            self.failed = self.caught()

    def initialize(self) -> None:
        """Calls `worker_init_fn`, before all batches."""
        try:
            if self.init_fn is not None:
                self.init_fn(self.id)
        except Exception:
            self.failed = self.caught()
            return
        self.begin()

    def receive(self) -> Any:
        """Returns the next message of the loader, None if the loader no longer exists."""
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        while not poll.poll(MP_STATUS_CHECK_INTERVAL * 1000):
            if not self.watchdog.is_alive():
                return None
        message = self.channel.receive()
        return None if message is None else pickle.loads(message[0])

    def fetch(self, index: Any) -> Any:
        if self.failed is not None:
            return self.failed
        try:
            return self.fetcher.fetch(index)
        except StopIteration:
            if not self.iterable:
                return self.caught()
            self.ended = True
            return _IterableDatasetStopIteration(self.id)
        except Exception:
            return self.caught()

    def answer(self, number: int, index: Any) -> None:
        """Sends the batch of an index."""
        arena.current = arena.Arena()
        try:
            made = self.fetch(index)
            try:
                message, descriptors = arena.dump((number, made), arena.current)
            except Exception:
                made = self.caught()
                arena.current.close()
                message, descriptors = dump_exception(number, made)
            del made
            self.channel.send(message, descriptors)
        finally:
            arena.current.close()
            arena.current = None

    def loop(self) -> None:
        self.initialize()
        while (order := self.receive()) is not None:
            if isinstance(order, _ResumeIteration):
                if order.seed is not None:
                    apply_random_seed(self.dataset, order.seed)
                self.channel.send(*arena.dump((None, order), arena.Arena()))
                self.begin()
            elif not self.ended:
                self.answer(*order)


def dump_exception(number: int, caught: ExceptionWrapper) -> tuple[bytes, list[int]]:
    """Returns the message of an exception, as a RuntimeError if its type cannot be pickled."""
    try:
        return arena.dump((number, caught), arena.Arena())
    except Exception:
        caught.exc_type = RuntimeError
        return arena.dump((number, caught), arena.Arena())


def _worker_loop(end: Any, inherited: Any, worker_id: int, num_workers: int, base_seed: int, work: Any) -> None:
    """Runs a worker process until the loader closes its end of the connection. `inherited` are the ends of the loader in a forked
    process."""
    for other in inherited:
        other.close()
    channel = Channel(end, waits=True)
    # The loader receives Ctrl-C of the terminal as well, or no longer exists.
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        _Worker(channel, worker_id, num_workers, base_seed, work.value).loop()
    sys.stdout.flush()
    channel.close()
