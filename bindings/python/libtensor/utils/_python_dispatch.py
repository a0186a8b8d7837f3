"""Modes that receive operators: TorchDispatchMode. Subclasses of Tensor that receive operators."""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from .. import ops
from .._base import overrides
from .._core.modes import is_grad_enabled
from .._core.tensor import Tensor
from .._inert import declare_unsupported

list_values: Any = overrides.values
_state: Any = overrides.state
__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]


class TorchDispatchMode(overrides.Mode):
    """A context manager whose `__torch_dispatch__(func, types, args, kwargs)` receives the operators of ATen that the calling thread's
    calls consist of, and custom operators: `func` is an overload such as `torch.ops.aten.add.Tensor`. The mode is inactive inside of the
    method.

    The method receives the operators of functions, not those of the backward pass. Functions that are not known as operators of ATen raise
    NotImplementedError.

    >>> from torch.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     y = torch.nn.functional.linear(torch.ones(1, 2), torch.zeros(3, 2))
    aten.ones.default
    aten.zeros.default
    aten.t.default
    aten.mm.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ..library.lowering import lower, set_modes

        def emit(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            kinds = tuple(dict.fromkeys(type(v) for v in list_values(args, kwargs) if isinstance(v, Tensor)))
            rule = getattr(op, "dispatch_rules", {}).get(type(self))
            return self.__torch_dispatch__(op, kinds, args, kwargs) if rule is None else rule(self, op, kinds, args, kwargs)

        return lower(func, args, kwargs, emit, lambda: set_modes((*_state.modes, self)))


READS = ("tolist", "numpy", "__array__", "data_ptr", "untyped_storage", "storage", "__dlpack__")


def _dispatch_subclass(cls: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the result of a call whose operators the class's __torch_dispatch__ receives."""
    from ..library.lowering import lower

    name = getattr(function, "__name__", "").rpartition(".")[2]

    def emit(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kinds = tuple(dict.fromkeys(type(v) for v in list_values(args, kwargs) if isinstance(v, Tensor)))
        rule = getattr(op, "dispatch_rules", {}).get(cls)
        with enabled():
            return cls.__torch_dispatch__(op, kinds, args, kwargs) if rule is None else rule(cls, op, kinds, args, kwargs)

    if name in ("item", "__bool__", "__int__", "__float__", "__index__"):
        value = emit(ops.aten._local_scalar_dense.default, (args[0],), {})
        convert: Any = {"__bool__": bool, "__int__": int, "__float__": float, "__index__": operator.index}.get(name)
        return value if convert is None else convert(value)
    with overrides.disabled():
        result = lower(function, args, kwargs, emit, enabled)
    if is_grad_enabled() and cls not in _warned and loses_gradient(name, result, list_values(args, kwargs)):
        _warned.add(cls)
        warnings.warn(
            f"{name}: the result has no gradient, although an argument requires grad: autograd does not record operators that "
            f"{cls.__name__}.__torch_dispatch__ receives. Call it inside no_grad(), or define a torch.autograd.Function",
            stacklevel=2,
        )
    return result


_warned: set[Any] = set()  # the classes for which a lost gradient was reported


def loses_gradient(name: str, result: Any, values: Iterable[Any]) -> bool:
    """Returns whether the result of a differentiable function does not require grad, although one of the arguments does."""
    if name == "detach" or name.endswith("_like") or not isinstance(result, Tensor) or result.requires_grad:
        return False
    if not (result.is_floating_point() or result.is_complex()):
        return False
    return any(isinstance(v, Tensor) and v.requires_grad for v in values)


@contextlib.contextmanager
def enabled() -> Iterator[None]:
    """A context manager that enables __torch_function__ of arguments."""
    before, _state.disabled = _state.disabled, False
    try:
        yield
    finally:
        _state.disabled = before


def _make_unsupported(name: str) -> Any:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name}(): {type(self).__name__} receives operators, and its instances have no elements of their own")

    return read


def enable_subclass(cls: Any) -> None:
    """Makes calls with instances of a class with __torch_dispatch__ call it, and methods that read elements raise NotImplementedError,
    except for those that the class defines."""
    overrides.lowered = _dispatch_subclass
    for name in READS:
        if getattr(cls, name) is getattr(Tensor, name):
            setattr(cls, name, _make_unsupported(name))
    if cls.__torch_function__ is overrides.disabled_torch_function:
        cls.__torch_function__ = classmethod(overrides.torch_function)  # by which calls reach __torch_dispatch__


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Returns whether a tensor's class wraps others: it has __tensor_flatten__ and __tensor_unflatten__."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Returns whether instances of a subclass of Tensor wrap others: it has __tensor_flatten__ and __tensor_unflatten__."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Returns the active modes of the calling thread, the innermost one last."""
    return [mode for mode in _state.modes if isinstance(mode, TorchDispatchMode)]


def _get_current_dispatch_mode() -> Any:
    """Returns the innermost active mode of the calling thread; None without one."""
    return next(reversed(_get_current_dispatch_mode_stack()), None)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Returns whether a mode is active."""
    return bool(_get_current_dispatch_mode_stack())


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context manager in which the active modes are inactive."""
    before, modes = _state.modes, _get_current_dispatch_mode_stack()
    _state.modes = tuple(mode for mode in before if not isinstance(mode, TorchDispatchMode))
    try:
        yield modes
    finally:
        _state.modes = before


declare_unsupported(globals(), "dispatching operators to Python is not supported", "transform_subclass return_and_correct_aliasing")
