"""Window functions."""

from .._gen.gen_signal_windows import *  # noqa: F403
from .._gen.gen_signal_windows import __all__  # noqa: F401
