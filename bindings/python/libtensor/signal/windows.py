"""Windows of signals."""

from ..gen_signal_windows import *  # noqa: F403
from ..gen_signal_windows import __all__  # noqa: F401
