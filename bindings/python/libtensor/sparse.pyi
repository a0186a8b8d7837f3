from collections.abc import Callable
from typing import Any, TypeVar

from ._tensor import Tensor
from .gen_sparse import *  # noqa: F403

_Check = TypeVar("_Check", bound=Callable[..., bool])

def as_sparse_gradcheck(gradcheck: _Check) -> _Check: ...
def from_scipy(array: Any) -> Tensor: ...
def to_scipy(tensor: Tensor) -> Any: ...
