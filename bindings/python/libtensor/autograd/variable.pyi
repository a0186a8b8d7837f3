from .._core.tensor import Tensor

class Variable:
    def __new__(cls, data: Tensor, requires_grad: bool = ...) -> Tensor: ...  # type: ignore[misc]
