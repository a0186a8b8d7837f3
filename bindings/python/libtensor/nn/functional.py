"""Neural network functions without state."""

from .._gen.gen_functions import pdist as pdist
from .._gen.gen_functions import relu as _relu
from .._gen.gen_functions import relu_ as relu_
from .._gen.gen_nn_functional import *  # noqa: F403
from .._gen.gen_nn_functional import __all__  # noqa: F401


def relu(input, inplace=False):
    """The larger of each element and 0; with `inplace` written to `input`.

    >>> torch.nn.functional.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return relu_(input) if inplace else _relu(input)
