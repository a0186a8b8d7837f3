"""Linear algebra."""

from ._errors import LinAlgError
from .gen_linalg import *  # noqa: F403
from .gen_linalg import __all__ as _names

__all__ = [*_names, "LinAlgError"]
