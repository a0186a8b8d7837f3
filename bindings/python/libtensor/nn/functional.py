"""Neural network functions without state."""

from .._gen.gen_functions import pdist as pdist
from .._gen.gen_functions import sigmoid as sigmoid
from .._gen.gen_functions import tanh as tanh
from .._gen.gen_nn_functional import *  # noqa: F403
from .._gen.gen_nn_functional import __all__  # noqa: F401
