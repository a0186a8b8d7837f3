"""Events of the profiler, their sums by name, and tables of them."""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def _format_time(time_us: float) -> str:
    """A time in microseconds as text."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3f}ms"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    return "NaN" if total_time_us == 0 else f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: float) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{int(nbytes)} B"


class Interval:
    """A span of time, in microseconds since the profiler started."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Returns the length of the span in microseconds."""
        return self.end - self.start


class _Times:
    """Attributes that events and their sums share: no time is spent on other devices than the CPU."""

    use_device: str | None = None
    device_time = device_time_total = self_device_time_total = cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = self_cuda_memory_usage = flops = 0
    is_async = is_remote = is_legacy = False
    node_id = -1
    overload_name = ""
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean time of a call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return _format_time(self.self_cpu_time_total)

    device_time_str = device_time_total_str = self_device_time_total_str = "0.000us"


class FunctionEvent(_Times):
    """A call of an operator or a block of record_function, with its time and the bytes that it allocated."""

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, is_user_annotation: bool, cpu_parent: FunctionEvent | None
    ) -> None:
        self.id, self.name, self.key, self.trace_name, self.thread = id, name, name, name, thread
        self.time_range = Interval(start_us, start_us)
        self.is_user_annotation = is_user_annotation
        self.cpu_parent = cpu_parent
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[list[int]] = []
        self.input_dtypes: list[str] = []
        self.stack: list[str] = []
        self.cpu_memory_usage = 0
        self.kernels: list[Any] = []
        self.sequence_nr = -1
        self.scope = 7 if is_user_annotation else 0

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time of the call in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time of the call in microseconds, without that of the calls within it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes that the call allocated less those it released, without those of the calls within it."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type=DeviceType.CPU node_id=-1 cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} cpu_children={[c.id for c in self.cpu_children]} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(_Times):
    """The sums over all events of a name, or of a name and input shapes."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        self.is_user_annotation = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds an event, or other sums. Returns self."""
        if self.key is None:
            self.key = other.key
        self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.stack = self.stack or other.stack
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
            "self_cuda_time=0.000us "
            f"cuda_time=0.000us input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


SORT_KEYS: tuple[str, ...] = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count")
SORT_KEYS += ("cuda_time", "cuda_time_total", "self_cuda_time_total", "device_time", "device_time_total", "self_device_time_total")


class EventList(list[Any]):
    """Events, or their sums: a list that makes tables, sums and traces."""

    def __init__(
        self, events: Iterable[Any] = (), profile_memory: bool = False, with_flops: bool = False, use_device: str | None = None
    ) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times, in microseconds."""
        return float(sum(e.self_cpu_time_total for e in self))

    def total_average(self) -> FunctionEventAvg:
        """Returns the sums over all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Returns the sums by name, or by name and input shapes, and by the innermost `group_by_stack_n` lines of the stack."""
        sums: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "", tuple(event.stack[:group_by_stack_n]))
            made = sums[key].add(event)
            made.input_shapes = event.input_shapes if group_by_input_shapes else ""
            made.stack = event.stack[:group_by_stack_n]
        return EventList(sums.values(), self._profile_memory)

    def __str__(self) -> str:
        return self.table()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Returns a table with a row for each event, the largest value of the attribute `sort_by` first, and at most `row_limit` rows (-1:
        all).

        Raises AttributeError for a `sort_by` that is not a numeric attribute of events.
        """
        if not self:
            return ""
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise AttributeError(f"'FunctionEventAvg' object has no attribute '{sort_by}'; sort_by is one of {', '.join(SORT_KEYS)}")
        events = sorted(self, key=lambda e: getattr(e, sort_by), reverse=True) if sort_by else list(self)
        if top_level_events_only:
            events = [e for e in events if getattr(e, "cpu_parent", None) is None]
        if row_limit >= 0:
            events = events[:row_limit]
        total = self.self_cpu_time_total
        columns = [("Name", max(4, min(max_name_column_width, max((len(e.key) for e in events), default=4))))]
        columns += [(name, 12) for name in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")]
        if self._profile_memory:
            columns += [("CPU Mem", 12), ("Self CPU Mem", 12)]
        columns.append(("# of Calls", 12))
        has_shapes = any(e.input_shapes for e in events)
        if has_shapes:
            columns.append(("Input Shapes", min(max_shapes_column_width, max(12, max(len(str(e.input_shapes)) for e in events)))))
        line = "  ".join("-" * width for _, width in columns)
        rows = []
        for e in events:
            cells = [_clip(e.key, columns[0][1]), _format_time_share(e.self_cpu_time_total, total), e.self_cpu_time_total_str]
            cells += [_format_time_share(e.cpu_time_total, total), e.cpu_time_total_str, e.cpu_time_str]
            if self._profile_memory:
                cells += [_format_memory(e.cpu_memory_usage), _format_memory(e.self_cpu_memory_usage)]
            cells.append(str(e.count))
            if has_shapes:
                cells.append(_clip(str(e.input_shapes), columns[-1][1]))
            rows.append("  ".join(cell.rjust(width) for cell, (_, width) in zip(cells, columns, strict=True)))
        head = ["=" * len(line), header] if header else []
        names = "  ".join(name.rjust(width) for name, width in columns)
        return "\n".join([*head, line, names, line, *rows, line, f"Self CPU time total: {_format_time(total)}", ""])

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events to a file that chrome://tracing and Perfetto read; compressed where the name ends with .gz."""
        write_trace(path, self, {})

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each stack with the sum of a time in microseconds, as flame graphs take them. Needs events recorded
        with_stack."""
        sums: dict[str, int] = defaultdict(int)
        for event in self:
            if event.stack:
                sums[";".join(reversed([s.replace(" ", "_").replace(";", ",") for s in event.stack]))] += int(getattr(event, metric))
        with open(path, "w") as file:
            file.writelines(f"{stack} {value}\n" for stack, value in sums.items() if value > 0)


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def write_trace(path: str | os.PathLike[str], events: Iterable[FunctionEvent], more: dict[str, Any]) -> None:
    """Writes events as a Chrome trace, with more entries at its top."""
    pid = os.getpid()
    spans = []
    for e in events:
        args: dict[str, Any] = {"External id": e.id, "Ev Idx": e.id - 1}
        if e.input_shapes:
            args |= {"Input Dims": e.input_shapes, "Input type": e.input_dtypes}
        if e.stack:
            args["Call stack"] = ";".join(e.stack)
        kind = "user_annotation" if e.is_user_annotation else "cpu_op"
        span = {"ph": "X", "cat": kind, "name": e.name, "pid": pid, "tid": e.thread, "ts": e.time_range.start, "dur": e.cpu_time_total}
        spans.append(span | {"args": args})
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "displayTimeUnit": "ms",
        **more,
        "traceEvents": spans,
        "traceName": os.fspath(path),
    }
    text = json.dumps(trace)
    if os.fspath(path).endswith(".gz"):
        with gzip.open(path, "wt") as file:
            file.write(text)
    else:
        with open(path, "w") as plain:
            plain.write(text)
