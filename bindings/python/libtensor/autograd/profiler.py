"""Profiles of the calls of operators: profile records their times, shapes and bytes, record_function names blocks of code in them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_void_p
from functools import wraps
from types import TracebackType
from typing import Any

from .._base.direct import function
from .._base.dtypes import DTYPES
from .._base.errors import failure
from .._base.events import Event
from .._base.library import called_back, getter
from .._base.overrides import Mode
from .._core.tensor import Tensor
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, write_trace

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]

_memory: Callable[[], Any] = function("_memory_now", "memory_stats")  # not visible to modes
_recorders: list[_Recorder] = []  # the active profilers of all threads


def kineto_available() -> bool:
    """Returns whether traces of the kind that profile exports are available."""
    return True


def _key(function: Any) -> str:
    """The name of an operator in a profile: aten::add for torch.add, Tensor.add, torch.ops.aten.add.Tensor and `+`, ns::op for
    torch.ops.ns.op."""
    qualname = getattr(function, "_qualified_op_name", None) or getattr(function, "qualname", None)
    if qualname is not None:
        return str(qualname)
    name: str = function.__name__
    if name.startswith("__") and name.endswith("__"):
        name = name.strip("_")
        if name.startswith("i") and name[1:] in ("add", "sub", "mul", "truediv", "floordiv", "pow", "matmul", "mod", "and", "or", "xor"):
            name = name[1:] + "_"
        name = {"radd": "add", "rsub": "rsub", "rmul": "mul", "rtruediv": "div", "truediv": "div", "truediv_": "div_"}.get(name, name)
    module = str(getattr(function, "__module__", None)).rpartition(".")[2]
    return f"aten::{module}_{name}" if module in ("fft", "linalg", "special") else "aten::" + name


def _is_custom(function: Any) -> bool:
    """Returns whether a function is a custom operator, whose calls the observer receives."""
    overloads = getattr(function, "_overloads", None)
    return hasattr(next(iter(overloads.values()), None) if overloads else function, "kernels")


class _Recorder(Mode):
    """Records the calls of the thread that starts it, and the blocks of record_function."""

    receives_all = is_observer = True

    def __init__(self, record_shapes: bool, profile_memory: bool, with_stack: bool) -> None:
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.events: list[FunctionEvent] = []
        self.open: list[tuple[FunctionEvent, int]] = []
        self.calls = 0  # the calls of functions that are recorded, whose operators are not
        self.arguments: Any = None  # those of the custom operator whose beginning the observer receives next
        self.observed = 0  # the operators of programs that have begun
        self.thread = threading.get_ident()

    def start(self) -> None:
        self.origin, self.wall = time.perf_counter_ns(), time.time_ns()
        _recorders.append(self)
        self.__enter__()

    def stop(self) -> None:
        self.__exit__()
        _recorders.remove(self)
        while self.open:
            self.end()

    def now(self) -> float:
        return (time.perf_counter_ns() - self.origin) / 1e3

    def begin(self, name: str, is_user_annotation: bool) -> FunctionEvent:
        parent = self.open[-1][0] if self.open else None
        before = _memory()[0] if self.profile_memory else 0
        event = FunctionEvent(len(self.events) + 1, name, threading.get_native_id(), self.now(), is_user_annotation, parent)
        if parent is not None:
            parent.cpu_children.append(event)
        self.events.append(event)
        self.open.append((event, before))
        return event

    def end(self) -> None:
        event, before = self.open.pop()
        event.time_range.end = self.now()
        if self.profile_memory:
            event.cpu_memory_usage = _memory()[0] - before

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "__get__")
        if _is_custom(func):
            self.arguments = args
            try:
                with observed_operators():
                    return func(*args, **(kwargs or {}))
            finally:
                self.arguments = None
        if name in ("__get__", "__set__", "__delete__") or _is_unobserved(name.encode()):
            return func(*args, **(kwargs or {}))
        event = self.begin(_key(func), False)
        if self.record_shapes:
            event.input_shapes, event.input_dtypes = _describe(args)
        if self.with_stack:
            event.stack = _stack()
        self.calls += 1
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.calls -= 1
            self.end()

    def observe(self, event: Event) -> None:
        """Records the beginning or the end of an operator that a program or a custom operator calls."""
        if self.calls or self.thread != threading.get_ident():
            return
        if event.is_end:
            if self.observed:
                self.observed -= 1
                self.end()
            return
        self.observed += 1
        made = self.begin(_name_operator(event.name.decode()), False)
        arguments, self.arguments = self.arguments, None
        if self.record_shapes and arguments is not None:
            made.input_shapes, made.input_dtypes = _describe(arguments)
        elif self.record_shapes:
            tensors = [event.tensors[i] for i in range(event.tensor_count)]
            made.input_shapes = [list(t.sizes[: t.dim]) for t in tensors]
            made.input_dtypes = [str(DTYPES[t.dtype]).removeprefix("torch.") for t in tensors]
        if self.with_stack:
            made.stack = _stack()


def _describe(args: Any) -> tuple[list[list[int]], list[str]]:
    """Returns the shapes and the dtypes of arguments: empty shapes, and names of types, for those that are no tensors."""
    shapes = [list(a.shape) if isinstance(a, Tensor) else [] for a in args]
    return shapes, [str(a.dtype).removeprefix("torch.") if isinstance(a, Tensor) else type(a).__name__ for a in args]


_is_unobserved = getter("tensor_is_unobserved", c_bool, c_char_p)
_replace_observer = getter("tensor_replace_observer", c_int32, c_void_p, c_void_p, c_void_p, POINTER(c_int64))
_restore_observer = getter("tensor_restore_observer", c_int32, c_int64)
_observations: list[_Recorder] = []  # of the runs of programs that are observed, one each
_previous = c_int64()  # the observer that was replaced while there are observations
_lock = threading.Lock()


@called_back(None, c_void_p, POINTER(Event))
def _observe(_: object, event: ctypes._Pointer[Event], recorders: list[_Recorder] = _recorders) -> None:
    for recorder in list(recorders):
        recorder.observe(event.contents)


def _name_operator(name: str) -> str:
    """The name in a profile of an operator of the library, such as linalg.svd or max.dim."""
    first, _, rest = name.partition(".")
    if "::" in name:
        return first
    if first == "nn":
        first = rest.partition(".")[0]
    elif first in ("fft", "linalg", "special"):
        first = f"{first}_{rest.partition('.')[0]}"
    return "aten::" + first


@contextlib.contextmanager
def observed_operators() -> Iterator[None]:
    """Records the operators that the library calls in the block, for a program or the kernel of a custom operator, in the profiles of the
    thread."""
    found = [recorder for recorder in _recorders if recorder.thread == threading.get_ident()]
    before = [recorder.calls for recorder in found]
    with _lock:
        if found and not _observations:
            status = _replace_observer(ctypes.cast(_observe, c_void_p), None, None, byref(_previous))
            if status:
                raise failure(status)
        _observations.extend(found)
    for recorder in found:
        recorder.calls = 0
    try:
        yield
    finally:
        for recorder, calls in zip(found, before, strict=True):
            recorder.calls = calls
        with _lock:
            for recorder in found:
                _observations.remove(recorder)
            if found and not _observations:
                _restore_observer(_previous)  # cannot fail: the id is restored once


def _stack() -> list[str]:
    """The lines of the program that the call comes from, the innermost first."""
    frame, found = sys._getframe(2), []
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return found


class record_function:
    """A context manager and decorator that names a block of code in the profile that is being recorded. Without one it does nothing.

    >>> with torch.autograd.profiler.profile() as profile:
    ...     with torch.autograd.profiler.record_function("products"):
    ...         y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> [event.name for event in profile.function_events]
    ['products', 'aten::ones', 'aten::ones', 'aten::matmul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[list[_Recorder]] = []

    def __enter__(self) -> record_function:
        thread = threading.get_ident() if _recorders else 0
        found = [r for r in _recorders if r.thread == thread]
        for recorder in found:
            recorder.begin(self.name, True)
        self._open.append(found)
        return self

    def __exit__(self, *_: object) -> None:
        for recorder in self._open.pop():
            if recorder in _recorders and recorder.open:
                recorder.end()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return decorated


class profile:
    """A context manager that records the calls of operators by the calling thread: their times, with `record_shapes` the shapes of their
    arguments, with
    `profile_memory` the bytes that they allocate, with `with_stack` the lines of the program. Calls on other threads, and operators that a
    call runs inside the library, are not recorded one by one. With `enabled=False` it does nothing.

    >>> with torch.autograd.profiler.profile(record_shapes=True) as profile:
    ...     y = torch.add(torch.ones(2, 3), 1)
    >>> event = profile.function_events[-1]
    >>> event.name, event.input_shapes
    ('aten::add', [[2, 3], []])
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **_: Any,
    ) -> None:
        self.enabled, self.use_device = enabled, use_device
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.entered = False
        self._recorder: _Recorder | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder = _Recorder(self.record_shapes, self.profile_memory, self.with_stack)
        self._recorder.start()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None) -> None:
        if self.enabled and self._recorder is not None and self._events is None:
            self._recorder.stop()
            self._events = EventList(self._recorder.events, self.profile_memory)

    @property
    def function_events(self) -> EventList:
        """The events in the order in which they began. Raises RuntimeError while they are being recorded."""
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """EventList.table of the events."""
        return self.function_events.table(*args, **kwargs)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, *args: Any, **kwargs: Any) -> EventList:
        """EventList.key_averages of the events."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """EventList.total_average of the events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the events' own times, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """EventList.export_chrome_trace of the events."""
        more = {"record_shapes": int(self.record_shapes), "profile_memory": int(self.profile_memory)}
        write_trace(path, self.function_events, more | {"baseTimeNanoseconds": self._recorder.wall if self._recorder else 0})

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """EventList.export_stacks of the events."""
        self.function_events.export_stacks(path, metric)


class _Marks:
    """A context manager for marks of another profiler, which are not made."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> _Marks:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class emit_nvtx(_Marks):
    """Accepted: NVTX ranges are not emitted."""


class emit_itt(_Marks):
    """Accepted: ITT ranges are not emitted."""
