"""Special functions."""

from .gen_special import *  # noqa: F403
from .gen_special import __all__  # noqa: F401
