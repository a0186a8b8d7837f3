from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor

Tensors = Tensor | tuple[Tensor, ...]
# A tensor, or tuples of them that follow the outputs and the inputs.
Nested = Any

def vjp(
    func: Callable[..., Tensors], inputs: Tensors, v: Tensors | None = ..., create_graph: bool = ..., strict: bool = ...
) -> tuple[Tensors, Tensors]: ...
def jvp(
    func: Callable[..., Tensors], inputs: Tensors, v: Tensors | None = ..., create_graph: bool = ..., strict: bool = ...
) -> tuple[Tensors, Tensors]: ...
def vhp(
    func: Callable[..., Tensor], inputs: Tensors, v: Tensors | None = ..., create_graph: bool = ..., strict: bool = ...
) -> tuple[Tensor, Tensors]: ...
def hvp(
    func: Callable[..., Tensor], inputs: Tensors, v: Tensors | None = ..., create_graph: bool = ..., strict: bool = ...
) -> tuple[Tensor, Tensors]: ...
def jacobian(
    func: Callable[..., Tensors],
    inputs: Tensors,
    create_graph: bool = ...,
    strict: bool = ...,
    vectorize: bool = ...,
    strategy: str = ...,
) -> Nested: ...
def hessian(
    func: Callable[..., Tensor],
    inputs: Tensors,
    create_graph: bool = ...,
    strict: bool = ...,
    vectorize: bool = ...,
    outer_jacobian_strategy: str = ...,
) -> Nested: ...
