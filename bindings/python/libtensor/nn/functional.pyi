from .._core.tensor import Tensor
from .._gen.gen_functions import pdist as pdist
from .._gen.gen_functions import relu_ as relu_
from .._gen.gen_nn_functional import *  # noqa: F403

def relu(input: Tensor, inplace: bool = ...) -> Tensor: ...
