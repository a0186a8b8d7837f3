from collections.abc import Sequence
from typing import Any

from ._core.tensor import Tensor

def __getattr__(name: str) -> Any: ...
def zero_(inputs: Sequence[Tensor]) -> Sequence[Tensor]: ...
