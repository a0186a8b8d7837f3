from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from .._hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from .._hooks import register_multi_grad_hook as register_multi_grad_hook
from .._hooks import save_on_cpu as save_on_cpu
from .._hooks import saved_tensors_hooks as saved_tensors_hooks
from .._nodes import GradientEdge as GradientEdge
from .._nodes import Node as Node
from .._tensor import Tensor

def get_gradient_edge(tensor: Tensor) -> GradientEdge: ...
def increment_version(tensor: Tensor | Iterable[Tensor]) -> None: ...
def allow_mutation_on_saved_tensors() -> AbstractContextManager[Any]: ...
