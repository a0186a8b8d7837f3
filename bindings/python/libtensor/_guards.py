"""Questions about tracing."""

from ._inert import refuse


def active_fake_mode():
    """Returns None: there are no fake tensors."""
    return None


def detect_fake_mode(inputs=None):
    """Returns None: nothing is traced."""
    return None


refuse(globals(), "tracing is not supported", "TracingContext CompileContext Source Guard")
