"""Settings of logs of PyTorch's compiler, which change nothing."""

from typing import Any


def set_logs(**options):
    """Does nothing: there is no compiler."""


def warning_once(logger, *args, **kwargs):
    """Logs a warning the first time that it is given."""
    key = (logger.name, args)
    if key not in _seen:
        _seen.add(key)
        logger.warning(*args, **kwargs)


def trace_structured(*args, **kwargs):
    """Does nothing."""


_seen: set[tuple[Any, ...]] = set()
