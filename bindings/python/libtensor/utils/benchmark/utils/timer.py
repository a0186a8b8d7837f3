"""Timing of statements."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit
from collections.abc import Callable
from typing import Any

from .... import cuda
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Returns the time in seconds, after the submitted operations of accelerators have completed."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


class Timer:
    """Measures the time of a statement, with one thread by default.

    `globals` are the variables of `stmt` and `setup`. `label`, `sub_label`, `description` and `env` name the row and the column in a table
    of Compare. Raises NotImplementedError for statements in C++.

    >>> measurement = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10)
    >>> measurement.number_per_run, len(measurement.times)
    (10, 1)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer: statements in C++ are not supported; language must be 'python'")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._globals = dict(globals or {})
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Returns the time of `number` executions."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError; `blocked_autorange` measures several times."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> None:
        """Raises NotImplementedError; `blocked_autorange` finds the number of executions."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """Returns the number of executions that take a thousandth of `min_run_time`, to amortize the overhead of the clock."""
        number = 1
        while self._timeit(number) < min_run_time / 1000 and number < 1 << 30:
            number *= 10
        return number

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Returns times of blocks of executions, for at least `min_run_time` seconds. `callback` is called with the number of executions
        and the seconds of each block.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while not times or sum(times) < min_run_time:
                times.append(self._timeit(number))
                if callback:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Returns times of blocks of executions until their interquartile range is less than `threshold` of the median, for at least
        `min_run_time` and at most `max_run_time` seconds.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            found = Measurement(number, [], self._task_spec)
            while True:
                found.raw_times.append(self._timeit(number))
                if callback:
                    callback(number, found.raw_times[-1])
                spent = sum(found.raw_times)
                if spent >= max_run_time or (spent >= min_run_time and len(found.raw_times) > 3 and found.meets_confidence(threshold)):
                    return found

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Raises NotImplementedError: instructions are not counted."""
        raise NotImplementedError("Timer.collect_callgrind: instruction counts are not supported; use blocked_autorange()")
