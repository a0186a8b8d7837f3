"""Anomaly mode: reports the operation whose gradient failed or is NaN, with the stack trace of its call."""

import warnings

from .._base.library import SUBINTERPRETER
from .._gen import gen_functions as _f
from .callbacks import address, watcher
from .nodes import metadata_of

TRACE = "traceback_"
REFERS = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
UNKNOWN = "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more information."


def watch(node, failed):
    """Stores the stack of a call that adds a node to the graph, and prints that of a node whose gradient failed."""
    if not failed:
        import traceback  # importing it takes milliseconds

        metadata_of(node)[TRACE] = traceback.format_stack()[:-2]
        return
    stack, name = metadata_of(node).get(TRACE), _f.node_name(node)
    warnings.warn(REFERS.format(name, "".join(stack)) if stack else UNKNOWN.format(name), stacklevel=3)


watching = watcher(watch)


class set_detect_anomaly:
    """Sets anomaly mode: backward() raises RuntimeError for NaN gradients, unless check_nan is False, and warns with the stack trace of the
    operation whose gradient failed.

    Also a context manager, which restores the previous mode. Anomaly mode slows programs down.
    """

    def __init__(self, mode, check_nan=True):
        self.before = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        if not SUBINTERPRETER:
            _f.set_anomaly_watcher(address(watching), 0)  # at the first call, when the library's threads start
        _f.set_detect_anomaly(bool(mode), check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _f.set_detect_anomaly(*self.before)


class detect_anomaly(set_detect_anomaly):
    """A context manager with anomaly mode on; see set_detect_anomaly."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        super().__init__(True, self.check_nan)


def is_anomaly_enabled():
    """Returns whether anomaly mode is on."""
    return _f.is_anomaly_enabled()


def is_anomaly_check_nan_enabled():
    """Returns whether anomaly mode raises for NaN gradients."""
    return _f.is_anomaly_check_nan_enabled()
