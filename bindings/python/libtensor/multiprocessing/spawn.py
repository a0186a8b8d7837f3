"""Starts processes that call a function with their index; if one fails, the others are terminated."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .reductions import init_reductions

__all__ = [
    *("ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"),
]

PATIENCE = 30.0  # seconds between SIGTERM and SIGKILL


class ProcessException(Exception):
    """A process failed: `error_index` is its index, `error_pid` its process ID."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception. The message contains its traceback."""


class ProcessExitedException(ProcessException):
    """A process was terminated by a signal, `signal_name`, or exited with a nonzero code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], number: int, args: tuple[Any, ...], error_file: str) -> None:
    """Calls the function in the new process, and writes the traceback of an exception to a file."""
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass  # Ctrl-C in the terminal, which the parent receives as well
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """The running processes of start_processes."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Returns the ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits up to `timeout` seconds for the next process to end. Returns whether all have ended.

        If a process fails, terminates the others by SIGTERM, and by SIGKILL after `grace_period` seconds. Raises ProcessRaisedException for
        an exception, ProcessExitedException for a signal or an exit code.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels, timeout):
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode and failed is None:
                failed = number
        if failed is None:
            self._remove_files(all_of_them=not self.sentinels)
            return not self.sentinels
        self._end(PATIENCE if grace_period is None else grace_period)
        try:
            raise self._exception(failed)
        finally:
            self._remove_files(all_of_them=True)

    def _end(self, patience: float) -> None:
        alive = [process for process in self.processes if process.is_alive()]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + patience
        for process in alive:
            process.join(max(deadline - time.monotonic(), 0))
        for process in alive:
            if process.is_alive():
                process.kill()
            process.join()
        self.sentinels = {}

    def _exception(self, number: int) -> ProcessException:
        process = self.processes[number]
        if os.path.getsize(self.error_files[number]):
            with open(self.error_files[number], "rb") as file:
                text = pickle.load(file)
            return ProcessRaisedException(f"\n\n-- Process {number} terminated with the following error:\n{text}", number, process.pid)
        if process.exitcode < 0:
            try:
                name = signal.Signals(-process.exitcode).name
            except ValueError:
                name = f"<Unknown signal {-process.exitcode}>"
            return ProcessExitedException(f"process {number} terminated with signal {name}", number, process.pid, process.exitcode, name)
        return ProcessExitedException(
            f"process {number} terminated with exit code {process.exitcode}", number, process.pid, process.exitcode
        )

    def _remove_files(self, all_of_them: bool) -> None:
        for path in self.error_files if all_of_them else ():
            if os.path.exists(path):
                os.unlink(path)


class SpawnContext(ProcessContext):
    """The running processes of spawn."""


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in `nprocs` new processes, for i from 0, and waits for them; with `join=False`, returns their ProcessContext
    instead. `start_method` is a start method of multiprocessing. `daemon` processes are terminated when this one exits.

    Raises ProcessRaisedException or ProcessExitedException if a process fails, after terminating the others.
    """
    init_reductions()
    context: Any = multiprocessing.get_context(start_method)
    processes: list[Any] = []
    error_files: list[str] = []
    started = ProcessContext
    for number in range(nprocs):
        descriptor, path = tempfile.mkstemp(prefix="libtensor-errors-", suffix=".pickle")
        os.close(descriptor)
        error_files.append(path)
        process = context.Process(target=_run, args=(fn, number, tuple(args), path), daemon=daemon)
        process.start()
        processes.append(process)
    if start_method == "spawn":
        started = SpawnContext
    running = started(processes, error_files)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in `nprocs` processes with the start method "spawn". See start_processes."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
