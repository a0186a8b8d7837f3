"""Profiles of programs: which operators are called, how long they take, and how many bytes they allocate."""

from ..autograd.profiler import kineto_available, record_function
from . import itt
from .profiler import (
    DeviceType,
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function"]
__all__ += ["schedule", "supported_activities", "tensorboard_trace_handler"]
