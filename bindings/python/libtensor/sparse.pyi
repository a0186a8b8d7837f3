from typing import Any

from ._tensor import Tensor
from .gen_sparse import *  # noqa: F403

def from_scipy(array: Any) -> Tensor: ...
def to_scipy(tensor: Tensor) -> Any: ...
