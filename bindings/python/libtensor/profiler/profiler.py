"""The profiler of programs that go by steps."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any

from ..autograd import profiler as _profiler
from ..autograd.profiler_util import EventList, write_trace

__all__ = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities"]
__all__ += ["tensorboard_trace_handler"]


class ProfilerActivity(Enum):
    """What can be recorded: calls of operators (CPU). Others are accepted and record nothing."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class DeviceType(IntEnum):
    """The device that an event is of."""

    CPU = 0
    CUDA = 1


class ProfilerAction(Enum):
    """What the profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Returns what can be recorded."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Returns the action for the number of a step, for profile: `skip_first` steps of nothing, then cycles of `wait` steps of nothing,
    `warmup` steps, and `active` recorded steps; `repeat` cycles, or without end for 0. With `skip_first_wait` the first cycle does not
    wait.

    Raises ValueError for negative numbers and for no active steps.

    >>> action = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [action(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError(
            f"schedule: wait, warmup, repeat and skip_first must not be negative and active must be positive, but they are {wait}, "
            f"{warmup}, {repeat}, {skip_first} and "
            f"{active}"
        )

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: the number of a step must not be negative, but is {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """Returns a function for `on_trace_ready` that writes each trace to a separate file in a folder, which is created if necessary.

    Raises RuntimeError if it cannot be created.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def save(made: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        made.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"))

    return save


RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """A context manager that records the calls of operators, as autograd.profiler.profile does, in the steps that `schedule` chooses; all
    without one.
    The program calls step() at the end of each step. `on_trace_ready` is called with the profiler whenever a cycle of recorded steps ends.

    >>> with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    ...     y = torch.ones(2).add(1)
    >>> sorted(event.key for event in profile.key_averages())
    ['aten::add', 'aten::ones']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(activities) if activities else supported_activities()
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.on_trace_ready = on_trace_ready
        self.schedule = schedule or (lambda _: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _profiler.profile | None = None
        self._step: _profiler.record_function | None = None
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins the first step."""
        if self.current_action in RECORDS:
            self._begin()
        self._begin_step()

    def stop(self) -> None:
        """Ends the last step, and calls `on_trace_ready` where one was being recorded."""
        self._end_step()
        if self.current_action in RECORDS:
            self._end()
            if self.on_trace_ready:
                self.on_trace_ready(self)

    def step(self) -> None:
        """Ends a step and begins the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before in RECORDS and (before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in RECORDS):
            self._end()
            if before is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready:
                self.on_trace_ready(self)
            if self.current_action in RECORDS:
                self._begin()
        elif before not in RECORDS and self.current_action in RECORDS:
            self._begin()
        self._begin_step()

    def _begin(self) -> None:
        self.profiler = _profiler.profile(record_shapes=self.record_shapes, profile_memory=self.profile_memory, with_stack=self.with_stack)
        self.profiler.__enter__()

    def _end(self) -> None:
        if self.profiler is not None:
            self.profiler.__exit__(None, None, None)

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = _profiler.record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _recorded(self) -> _profiler.profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before its events are accessed: no step has been recorded")
        return self.profiler

    def events(self) -> EventList:
        """Returns the events of the last recorded cycle, in the order in which they began. Raises AssertionError without one."""
        return self._recorded().function_events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Returns the sums of the events by name, or by name and input shapes."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events to a file that chrome://tracing and Perfetto read; compressed where the name ends with .gz."""
        made = self._recorded()
        more = {"record_shapes": int(self.record_shapes), "profile_memory": int(self.profile_memory), "host_name": socket.gethostname()}
        write_trace(path, made.function_events, more | self._metadata)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each stack with a time in microseconds, as flame graphs take them. Needs with_stack=True."""
        self._recorded().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the traces that are exported."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a value, given as JSON, to the traces that are exported. Raises ValueError for other text."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Accepted: calls are recorded throughout a recorded step."""


class ExecutionTraceObserver:
    """Accepted: execution traces are not written."""

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Returns self."""
        return self

    def unregister_callback(self) -> None:
        """Returns at once."""

    def start(self) -> None:
        """Returns at once."""

    def stop(self) -> None:
        """Returns at once."""
