"""What classes with __torch_function__ and modes need: the same names as in torch.overrides."""

from ._base import overrides as _overrides
from ._base.overrides import Mode as TorchFunctionMode
from ._core.tensor import Tensor

__all__ = ["TorchFunctionMode", "handle_torch_function", "has_torch_function", "is_tensor_like", "wrap_torch_function"]

TorchFunctionMode.__module__, TorchFunctionMode.__name__, TorchFunctionMode.__qualname__ = __name__, *("TorchFunctionMode",) * 2


def has_torch_function(relevant_args):
    """True when one of the arguments takes calls over: it has __torch_function__ and is not a plain Tensor."""
    return _overrides.concerned(tuple(relevant_args), {})


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the argument gives that takes over the call public_api(*args, **kwargs)."""
    found = _overrides.dispatch(public_api, (tuple(relevant_args),), {}, (args, kwargs))
    if found is _overrides.NOBODY:
        raise TypeError(f"no implementation found for '{public_api.__name__}': none of its arguments has __torch_function__")
    return found


def is_tensor_like(inp):
    """True for a Tensor and for what has __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def wrap_torch_function(dispatcher):
    """The decorator that opens a function of one's own; dispatcher(*args, **kwargs) gives the arguments that may take a call over."""

    def decorate(function):
        def call(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            return handle_torch_function(call, relevant, *args, **kwargs) if has_torch_function(relevant) else function(*args, **kwargs)

        call.__name__, call.__doc__, call.__wrapped__ = function.__name__, function.__doc__, function
        return call

    return decorate
