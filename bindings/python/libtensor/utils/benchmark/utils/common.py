"""Measurements and their printed form."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .... import get_num_threads, set_num_threads

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"]

UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1.0, "second")}


@dataclass(frozen=True)
class TaskSpec:
    """The statement of a measurement, and its labels."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Returns the printed form of the setup."""
        return "" if self.setup in ("", "pass") else f"setup:\n  {self.setup}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Returns the lines before the times."""
        return "\n".join(line for line in (self.title, self.description or "", self.setup_str()) if line)


@dataclass
class Measurement:
    """Times of a statement: `raw_times` in seconds, each for `number_per_run` executions."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds for one execution."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times in seconds."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times in seconds."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of the times in seconds."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median, from 1 to 5, given the spread of the times."""
        if len(self.times) < 2:
            return 3
        spread = self.iqr / 1.35 / math.sqrt(len(self.times)) * 1.645 * 2
        return max(1, min(5, int(math.floor(math.log10(self.median / spread))) + 1 if spread else 5))

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary so much that the median may be misleading."""
        return not self.meets_confidence(0.25)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Returns whether the distance between the quartiles is less than a fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The label, or the statement."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The name of the environment."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        spec = self.task_spec
        runs, count = len(self.raw_times), self.number_per_run
        lines = [object.__repr__(self), spec.summarize()]
        median = trim_sigfig(self.median / scale, self.significant_figures)
        if runs == 1:
            lines.append(f"  {median:.2f} {unit}")
        else:
            lines += [f"  Median: {median:.2f} {unit}", f"  IQR:    {self.iqr / scale:.2f} {unit}"]
        plural = "" if runs == 1 else "s"
        threads = f"{spec.num_threads} thread{'' if spec.num_threads == 1 else 's'}"
        lines.append(f"  {runs} measurement{plural}, {count} runs {'per measurement' if runs > 1 else ''}, {threads}")
        if runs > 1 and self.has_warnings:
            lines.append(f"  WARNING: Interquartile range is {100 * self.iqr / self.median:.1f}% of the median measurement.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Returns one measurement for each statement, with all of its times."""
        groups: dict[TaskSpec, list[Measurement]] = defaultdict(list)
        for measurement in measurements:
            groups[measurement.task_spec].append(measurement)
        return [Measurement(1, [t for m in group for t in m.times], replace(spec), None) for spec, group in groups.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Returns the unit in which a time in seconds is printed, and its length in seconds.

    >>> torch.utils.benchmark.select_unit(3e-5)
    ('us', 1e-06)
    """
    for unit, (scale, _) in reversed(UNITS.items()):
        if t >= scale:
            return unit, scale
    return "ns", 1e-9


def unit_to_english(u: str) -> str:
    """Returns the name of a unit."""
    return UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """Returns `x` rounded to `n` significant digits.

    >>> torch.utils.benchmark.trim_sigfig(1234.5, 2)
    1200.0
    """
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Returns the distinct elements in order."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A context manager that sets the number of threads."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)
