"""The time of each operator in runs of a program, from the library's observer (tensor_replace_observer)."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import Counter
from collections.abc import Callable
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p

from .._base.errors import failure
from .._base.events import Event
from .._base.library import called_back, getter

_replace_observer = getter("tensor_replace_observer", c_int32, c_void_p, c_void_p, c_void_p, POINTER(c_int64))
_restore_observer = getter("tensor_restore_observer", c_int32, c_int64)


class _Times:
    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.nanoseconds: Counter[str] = Counter()
        self.depth = 0

    def add(self, event: Event) -> None:
        """Adds the end of a call; operators that a custom operator calls are part of that operator."""
        self.depth += -1 if event.is_end else 1
        if event.is_end and not self.depth:
            name = event.name.decode()
            self.calls[name] += 1
            self.nanoseconds[name] += event.nanoseconds


_active: dict[int, list[_Times]] = {}  # by thread
_previous = c_int64()  # the observer that was replaced while there are tables
_lock = threading.Lock()


@called_back(None, c_void_p, POINTER(Event))
def _observe(_: object, event: ctypes._Pointer[Event], active: dict[int, list[_Times]] = _active) -> None:
    times = active.get(threading.get_ident())
    if times:
        times[-1].add(event.contents)


def _begin(times: _Times) -> None:
    with _lock:
        if not _active:
            status = _replace_observer(ctypes.cast(_observe, c_void_p), None, None, byref(_previous))
            if status:
                raise failure(status)
        _active.setdefault(threading.get_ident(), []).append(times)


def _end(times: _Times) -> None:
    with _lock:
        _active[threading.get_ident()].remove(times)
        if not _active[threading.get_ident()]:
            del _active[threading.get_ident()]
        if not _active:
            _restore_observer(_previous)  # cannot fail: the id is restored once


def operator_table(run: Callable[[], object], seconds: float) -> str:
    """Calls `run` repeatedly for some seconds, and returns a table of the operators that it calls on this thread, the slowest first: calls
    and milliseconds of one run, and the share of its time. Meanwhile another observer of the process, such as a profiler's, is not called.
    """
    times, runs, total = _Times(), 0, 0.0
    _begin(times)
    try:
        while not runs or (total < seconds and runs < 100000):
            begin = time.perf_counter()
            run()
            total += time.perf_counter() - begin
            runs += 1
    finally:
        _end(times)
    rows = [(name, times.calls[name] / runs, spent * 1e-6 / runs) for name, spent in times.nanoseconds.most_common()]
    each = total * 1e3 / runs
    rows.append(("between operators", 0, each - sum(row[2] for row in rows)))
    lines = [f"{'operator':36} {'calls':>8} {'ms a run':>12} {'share':>8}"]
    lines += [f"{name:36} {calls:8.0f} {spent:12.4f} {100 * spent / each:6.1f} %" for name, calls, spent in rows]
    return "\n".join(lines)
