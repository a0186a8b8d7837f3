"""Linear algebra."""

from ._base.errors import LinAlgError
from ._gen.gen_linalg import *  # noqa: F403
from ._gen.gen_linalg import __all__ as _names

__all__ = [*_names, "LinAlgError"]
