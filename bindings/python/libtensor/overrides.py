"""Support for classes with __torch_function__ and for modes, under the names of torch.overrides."""

import sys

from ._base import overrides as _overrides
from ._base.overrides import Mode as TorchFunctionMode
from ._base.torch_names import ROOT, TORCH
from ._core.tensor import Tensor

__all__ = ["TorchFunctionMode", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"]
__all__ += ["is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function"]

TorchFunctionMode.__module__, TorchFunctionMode.__name__, TorchFunctionMode.__qualname__ = __name__, *("TorchFunctionMode",) * 2


def has_torch_function(relevant_args):
    """Returns whether an argument overrides calls: it has __torch_function__ and is not a plain Tensor."""
    return _overrides.concerned(tuple(relevant_args), {})


def has_torch_function_unary(tensor):
    """Returns whether the argument overrides calls; see has_torch_function."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*args):
    """Returns whether an argument overrides calls; see has_torch_function."""
    return has_torch_function(args)


def is_tensor_method_or_property(func):
    """Returns whether an object is a method of Tensor, or the getter of a property."""
    return func in _methods() or getattr(func, "__name__", "") == "__get__"


def resolve_name(f):
    """Returns the name of a function or method, such as `torch.add` or `torch.Tensor.item`; None for other objects. A function that is also
    a method is one object, which has the function's name.

    >>> torch.overrides.resolve_name(torch.Tensor.item)
    'torch.Tensor.item'
    """
    name, module = getattr(f, "__name__", None), sys.modules.get(getattr(f, "__module__", None) or "")
    if module is not None and name and getattr(module, name, None) is f:
        return f"torch{module.__name__.removeprefix(TORCH).removeprefix(ROOT)}.{name}"
    return f"torch.Tensor.{name}" if f in _methods() else None


def _methods():
    """Returns the methods of Tensor and its base classes."""
    return {value for kind in Tensor.__mro__[:-1] for value in vars(kind).values() if callable(value)}


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Returns the result of the argument that overrides the call public_api(*args, **kwargs)."""
    found = _overrides.dispatch(public_api, (tuple(relevant_args),), {}, (args, kwargs))
    if found is _overrides.NOBODY:
        raise TypeError(f"no implementation found for '{public_api.__name__}': none of its arguments has __torch_function__")
    return found


def is_tensor_like(inp):
    """Returns whether an object is a Tensor or has __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def wrap_torch_function(dispatcher):
    """Decorates a function so that its arguments can override its calls; dispatcher(*args, **kwargs) returns the arguments that may."""

    def decorate(function):
        def call(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            return handle_torch_function(call, relevant, *args, **kwargs) if has_torch_function(relevant) else function(*args, **kwargs)

        call.__name__, call.__doc__, call.__wrapped__ = function.__name__, function.__doc__, function
        return call

    return decorate
