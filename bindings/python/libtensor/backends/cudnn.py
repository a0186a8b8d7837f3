"""cuDNN is not used; its settings are stored."""

from ._flags import Precision, settable

enabled = allow_tf32 = True
benchmark = deterministic = False
benchmark_limit = 10
conv, rnn = Precision("tf32"), Precision("tf32")
fp32_precision = "none"

_FLAGS = {"enabled": False, "benchmark": False, "benchmark_limit": 10, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"}
set_flags, flags = settable(__name__, _FLAGS)


def is_available():
    return False


def version():
    """Returns None: there is no cuDNN."""
    return None


def is_acceptable(tensor):
    return False
