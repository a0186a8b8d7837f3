"""Questions about tracing."""

from ._inert import declare_unsupported


def active_fake_mode():
    """Returns None: there are no fake tensors."""
    return None


def detect_fake_mode(inputs=None):
    """Returns None: nothing is traced."""
    return None


declare_unsupported(globals(), "tracing is not supported", "TracingContext CompileContext Source Guard")
