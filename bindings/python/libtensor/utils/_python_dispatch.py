"""Modes that receive operators: TorchDispatchMode. Subclasses of Tensor with __torch_dispatch__ are not supported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._base import overrides
from .._core.tensor import Tensor
from .._inert import refuse

list_values: Any = overrides.values
_state: Any = overrides.state
__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]


class TorchDispatchMode(overrides.Mode):
    """A context manager whose `__torch_dispatch__(func, types, args, kwargs)` receives the operators of ATen that the calling thread's calls
    consist of, and custom operators: `func` is an overload such as `torch.ops.aten.add.Tensor`. The mode is inactive inside of the method.

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
        from ..library.lowering import lower

        def emit(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            kinds = tuple(dict.fromkeys(type(v) for v in list_values(args, kwargs) if isinstance(v, Tensor)))
            return self.__torch_dispatch__(op, kinds, args, kwargs)

        return lower(func, args, kwargs, emit)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Returns False: no subclass of Tensor wraps others by __torch_dispatch__."""
    return False


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Returns False: no subclass of Tensor wraps others by __torch_dispatch__."""
    return False


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


refuse(globals(), "dispatching operators to Python is not supported", "transform_subclass return_and_correct_aliasing")
