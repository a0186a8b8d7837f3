"""Neural network functions without state."""

from ..gen_nn_functional import *  # noqa: F403
from ..gen_nn_functional import __all__  # noqa: F401
