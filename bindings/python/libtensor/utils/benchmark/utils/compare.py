"""Tables of measurements."""

from __future__ import annotations

import enum
from typing import Any

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

BEST, NORMAL = "\033[92m\033[1m", "\033[0m\033[0m"


class Colorize(enum.Enum):
    """The cells in which the best number is colored: none, one for each column, or one for each row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements for each label: a row for each sub-label, a column for each description, a part for each number of threads.

    >>> timers = [torch.utils.benchmark.Timer("1 + 1", label="sum", description=name) for name in ("first", "second")]
    >>> "first" in str(torch.utils.benchmark.Compare([timer.timeit(10) for timer in timers]))
    True
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim, self._colorize, self._warnings = False, Colorize.NONE, False

    def extend_results(self, results: Any) -> None:
        """Adds measurements. Raises ValueError for other objects."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Prints only significant digits."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colors the best number of each column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks times that vary much."""
        self._warnings = True

    def __str__(self) -> str:
        return "\n".join(self._table(label) for label in ordered_unique(m.task_spec.label or m.task_spec.stmt for m in self._merged()))

    def print(self) -> None:
        """Prints the table."""
        print(str(self))

    def _merged(self) -> list[Measurement]:
        return Measurement.merge(self._results)

    def _table(self, label: str) -> str:
        found = [m for m in self._merged() if (m.task_spec.label or m.task_spec.stmt) == label]
        columns = ordered_unique(m.task_spec.description or m.task_spec.stmt for m in found)
        rows = ordered_unique((m.task_spec.num_threads, m.env, m.as_row_name) for m in found)
        unit, scale = select_unit(min(m.median for m in found))
        cells = {(m.task_spec.num_threads, m.env, m.as_row_name, m.task_spec.description or m.task_spec.stmt): m for m in found}
        texts = [[self._text(cells.get((*row, column)), scale) for column in columns] for row in rows]
        widths = [max(len(column), *(len(line[i]) for line in texts)) for i, column in enumerate(columns)]
        names = max(len(row[2]) for row in rows) + 6
        header = " " * names + "".join(f"  |  {column:^{width}}" for column, width in zip(columns, widths, strict=True))
        lines = [f"[{f' {label} ':-^{max(len(header) - 2, 0)}}]", header]
        part: Any = None
        for row, line in zip(rows, texts, strict=True):
            if row[:2] != part:
                part = row[:2]
                env = "" if row[1] == "Unspecified env" else f" ({row[1]})"
                lines.append(f"{row[0]} threads{env}: ".ljust(len(header), "-"))
            colored = self._colored(row, line, columns, cells, rows, widths)
            lines.append(f"{row[2]:>{names}}" + "".join(f"  |  {text}" for text in colored))
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""])

    def _text(self, measurement: Measurement | None, scale: float) -> str:
        if measurement is None:
            return ""
        value = measurement.median / scale
        if self._trim:
            value = trim_sigfig(value, measurement.significant_figures)
        mark = (
            "  (! XX%)".replace("XX", str(round(100 * measurement.iqr / measurement.median)))
            if self._warnings and measurement.has_warnings
            else ""
        )
        return f"{value:.1f}{mark}"

    def _colored(self, row: Any, line: list[str], columns: list[str], cells: Any, rows: list[Any], widths: list[int]) -> list[str]:
        made = []
        for text, column, width in zip(line, columns, widths, strict=True):
            padded = f"{text:>{width}}"
            mine = cells.get((*row, column))
            others = (
                [cells.get((*row, c)) for c in columns] if self._colorize is Colorize.ROWWISE else [cells.get((*r, column)) for r in rows]
            )
            if mine is not None and self._colorize is not Colorize.NONE and mine.median <= min(m.median for m in others if m is not None):
                padded = BEST + padded + NORMAL
            made.append(padded)
        return made
