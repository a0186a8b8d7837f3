"""Linear algebra."""

from .gen_linalg import *  # noqa: F403
from .gen_linalg import __all__  # noqa: F401
