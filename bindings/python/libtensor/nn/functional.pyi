from .._tensor import Tensor
from ..gen_functions import pdist as pdist
from ..gen_functions import relu_ as relu_
from ..gen_nn_functional import *  # noqa: F403

def relu(input: Tensor, inplace: bool = ...) -> Tensor: ...
