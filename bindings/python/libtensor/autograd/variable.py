"""Variable, the former name of tensors that require grad."""

from .._core.tensor import Tensor
from .._gen.gen_functions import empty
from .._gradients.grad import queue_callback

__all__ = ["ImperativeEngine", "Variable"]


class ImperativeEngine:
    """The engine of backward passes, as Variable._execution_engine returns it.

    >>> x, ended = torch.ones(1, requires_grad=True), []
    >>> _ = x.register_hook(lambda grad: torch.autograd.Variable._execution_engine.queue_callback(lambda: ended.append(x.grad)))
    >>> (x * 2).backward()
    >>> ended
    [tensor([2.])]
    """

    queue_callback = staticmethod(queue_callback)


class VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """Variable(data) is the tensor `data` without its grad_fn, which shares its memory; every tensor is an instance of it.

    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data=None, requires_grad=False):
        if data is None:
            return empty(0).requires_grad_(requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
