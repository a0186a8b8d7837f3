from collections.abc import Callable
from typing import Any, NamedTuple

from ._hooks import RemovableHandle
from ._tensor import Tensor

_Gradients = tuple[Tensor | None, ...]

class Node:
    def name(self) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    def register_hook(self, fn: Callable[[_Gradients, _Gradients], _Gradients | None]) -> RemovableHandle: ...
    def register_prehook(self, fn: Callable[[_Gradients], _Gradients | None]) -> RemovableHandle: ...

class AccumulateGrad(Node):
    @property
    def variable(self) -> Tensor: ...

class GradientEdge(NamedTuple):
    node: Node
    output_nr: int
