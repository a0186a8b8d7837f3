"""Special functions."""

from ._gen.gen_special import *  # noqa: F403
from ._gen.gen_special import __all__  # noqa: F401
