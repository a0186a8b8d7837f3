"""Functions of sparse tensors."""

from .gen_sparse import *  # noqa: F403
from .gen_sparse import __all__  # noqa: F401
