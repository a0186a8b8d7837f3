"""The worker processes of a DataLoader in its own process: start, messages and termination."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
import weakref
from typing import Any

from ...._storages import sharing as _sharing
from . import arena, channel
from .carry import Carried
from .channel import MP_STATUS_CHECK_INTERVAL
from .worker import _worker_loop

__all__ = ["Workers"]

PATIENCE = 5.0  # seconds between the end of the connection and SIGTERM
live: weakref.WeakSet[Workers] = weakref.WeakSet()  # whose sockets a forked process inherits


class Workers:
    """Worker processes with a connection to each. `work` is passed to each of them."""

    def __init__(self, context: Any, count: int, base_seed: int, work: Any) -> None:
        _sharing.register()
        self.owner = os.getpid()
        self.channels: list[channel.Channel] = []
        self.processes: list[Any] = []
        self.poll = select.poll()
        self.by_fd: dict[int, int] = {}
        live.add(self)
        forks = context.get_start_method() == "fork"
        if forks:
            # Each worker seeds NumPy's generator: modules that the parent has imported are imported in workers.
            with contextlib.suppress(ImportError):
                import numpy  # noqa: F401
        try:
            for i in range(count):
                here, there = channel.pair()
                self.channels.append(channel.Channel(here, waits=False))
                inherited = [end.end for workers in list(live) for end in workers.channels] if forks else []
                process = context.Process(target=_worker_loop, args=(there, inherited, i, count, base_seed, Carried(work)), daemon=True)
                try:
                    process.start()
                finally:
                    there.close()
                self.processes.append(process)
                self.poll.register(here, select.POLLIN)
                self.poll.register(process.sentinel, select.POLLIN)
                self.by_fd[here.fileno()] = self.by_fd[process.sentinel] = i
        except BaseException:
            self.close()
            raise

    def send(self, worker: int, order: Any) -> None:
        """Sends a request, which is queued if the worker has no room for it."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the worker has ended, which receive() reports
            self.channels[worker].send_object(order)

    def receive(self, timeout: float) -> Any:
        """Returns the next message of a worker and its number. Raises RuntimeError if none comes within `timeout` seconds, or if a worker
        has ended without one."""
        deadline = time.monotonic() + timeout if timeout > 0 else None
        while True:
            left = MP_STATUS_CHECK_INTERVAL if deadline is None else min(MP_STATUS_CHECK_INTERVAL, deadline - time.monotonic())
            self.flush()
            ready = dict(self.poll.poll(max(left, 0) * 1000))
            for fd in ready:
                worker = self.by_fd[fd]
                if fd == self.channels[worker].fileno() and (message := self.channels[worker].receive()) is not None:
                    return worker, arena.load(*message)
            self.check()
            if not ready and deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {timeout:g} seconds")

    def flush(self) -> None:
        """Sends queued requests."""
        for end in self.channels:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                end.flush()

    def check(self) -> None:
        """Raises RuntimeError if a worker has ended and all of its messages have been read."""
        ended = [process for process in self.processes if process.pid is not None and process.exitcode is not None]
        if not ended or self.readable():
            return
        pids = ", ".join(str(process.pid) for process in ended)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from RuntimeError(_reason(ended[0]))

    def readable(self) -> bool:
        """Returns whether a message of a worker waits, other than the end of its connection."""
        for end in self.channels:
            try:
                if end.end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    return True
            except OSError:
                continue
        return False

    def close(self) -> None:
        """Ends all workers: closes their connections, and terminates those that do not exit."""
        if self.owner != os.getpid():  # a forked process inherits copies of the connections only
            for end in self.channels:
                end.close()
            return
        live.discard(self)
        for end in self.channels:
            end.close()
        deadline = time.monotonic() + PATIENCE
        for process in self.processes:
            process.join(max(deadline - time.monotonic(), 0))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
        self.channels, self.processes = [], []


def _reason(process: Any) -> str:
    if process.exitcode < 0:
        return f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-process.exitcode)}. "
    return (
        f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {process.exitcode}. Details are lost due to "
        "multiprocessing. "
        "Rerunning with num_workers=0 may give better error trace."
    )
