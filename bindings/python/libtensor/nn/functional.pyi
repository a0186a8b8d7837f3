from collections.abc import Callable

from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor
from .._gen.gen_functions import sigmoid as sigmoid
from .._gen.gen_functions import tanh as tanh
from .._gen.gen_nn_functional import *  # noqa: F403

def softmax(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def log_softmax(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def softmin(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = ...,
    margin: float = ...,
    swap: bool = ...,
    reduction: str = ...,
) -> Tensor: ...
