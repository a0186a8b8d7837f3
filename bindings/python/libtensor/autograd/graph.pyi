from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from .._core.tensor import Tensor
from .._gradients.hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from .._gradients.hooks import register_multi_grad_hook as register_multi_grad_hook
from .._gradients.hooks import save_on_cpu as save_on_cpu
from .._gradients.hooks import saved_tensors_hooks as saved_tensors_hooks
from .._gradients.nodes import GradientEdge as GradientEdge
from .._gradients.nodes import Node as Node

def get_gradient_edge(tensor: Tensor) -> GradientEdge: ...
def increment_version(tensor: Tensor | Iterable[Tensor]) -> None: ...
def allow_mutation_on_saved_tensors() -> AbstractContextManager[Any]: ...
