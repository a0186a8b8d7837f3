"""The protocol __torch_function__: classes, among them subclasses of Tensor, override the calls that have their instances as arguments.

Functions call `dispatch` if an argument has __torch_function__ or a mode is active. Tensor's own __torch_function__ overrides no call.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from ctypes import c_bool, c_char_p

from .library import getter

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

NOBODY = object()  # the result of dispatch if no argument or mode overrides the call
Tensor: Any = None  # the class, once it is created
Kin: Any = None  # the subclass whose instances calls return directly


# The __torch_function__ of PyTorch's tensors and of another copy of this package, which override no call.
DEFAULTS = ("torch._tensor", __name__)


class State(threading.local):
    disabled = False
    modes: tuple[Any, ...] = ()
    called: Any = None  # the function that Tensor's own __torch_function__ calls


state = State()
lowered: Any = None  # calls __torch_dispatch__ of a class for the operators of a call; set with the first tensor of such a class
intercept: Any = None  # counts the active modes of all threads; with one, every call goes to dispatch


def disabled_torch_function(*_):
    """A __torch_function__ for subclasses whose operations return plain tensors."""
    return NotImplemented


@contextmanager
def disabled():
    """Disables __torch_function__ of arguments."""
    before = state.disabled
    state.disabled = True
    try:
        yield
    finally:
        state.disabled = before


def own(kind):
    """Returns whether only a mode can override the calls of a class: Tensor, or the registered subclass."""
    return kind is Tensor or kind is Kin


def hook(value):
    """Returns the __torch_function__ of a value, None if it overrides no call."""
    kind = type(value)
    found = getattr(kind, "__torch_function__", None)
    if found is None or found is disabled_torch_function or own(kind):
        return None
    if not issubclass(kind, Tensor) and getattr(getattr(found, "__func__", None), "__module__", None) in DEFAULTS:
        return None
    return value.__torch_function__


def keeps(value):
    """Returns whether results computed from a tensor have its class."""
    return type(value) is Kin or hook(value) is not None


def values(args, kwargs):
    for value in (*args, *kwargs.values()):
        yield value
        if isinstance(value, (list, tuple)):
            yield from value
            for item in value:
                if isinstance(item, (list, tuple)):
                    yield from item


def overloaded(args, kwargs):
    """Returns one argument of each class that overrides the call, in order, subclasses before their bases."""
    found: list[Any] = []
    for value in values(args, kwargs):
        kind = type(value)
        if hook(value) is not None and kind not in map(type, found):
            at = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(at, value)
    return found


def concerned(args, kwargs):
    """Returns whether a call must go to dispatch."""
    return bool(state.modes) or any(hook(value) is not None for value in values(args, kwargs))


_is_unobserved = getter("tensor_is_unobserved", c_bool, c_char_p)


@functools.cache
def is_internal(name):
    """Returns whether a function of a name is no operator, but one of the library behind attributes, storages, hooks or generators."""
    return _is_unobserved(name.encode())


def receiving(modes, function):
    """Returns the modes that receive a function: the innermost ones that internal functions are hidden from are left out for these."""
    while modes and not modes[-1].receives_all and is_internal(getattr(function, "__name__", "")):
        modes = modes[:-1]
    return modes


def dispatch(function, args, kwargs, call=None):
    """Returns the result of the mode or argument that overrides the call, NOBODY without one. `call` replaces the arguments, (args,
    kwargs), that the override receives.
    """
    active = state.modes
    modes = receiving(active, function)
    if state.disabled and not modes:
        return NOBODY
    kwargs = kwargs or {}
    found = [] if state.disabled else overloaded(args, kwargs)
    args, kwargs = call or (args, kwargs)
    types = tuple(map(type, found))
    if modes:
        state.modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(function, types, args, kwargs)
        finally:
            state.modes = active
        if result is not NotImplemented:
            return result
    for value in found:
        result = hook(value)(function, types, args, kwargs or None)
        if result is not NotImplemented:
            return result
    if not found and not modes:
        return NOBODY
    names = ", ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in types)
    raise TypeError(f"no implementation found for 'torch.{function.__name__}' on types that implement __torch_function__: [{names}]")


def overridable(method):
    """Decorates a method of Tensor that calls functions: active modes receive the method in their place."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        taken = dispatch(call, (self, *args), kwargs) if state.modes else NOBODY
        return method(self, *args, **kwargs) if taken is NOBODY else taken

    return call


def torch_function(cls, function, types, args=(), kwargs=None):
    """Tensor.__torch_function__: the result of `function`, with tensors as instances of the class."""
    if lowered is not None and getattr(cls, "__torch_dispatch__", None) is not None:
        return lowered(cls, function, args, kwargs or {})
    if state.called is function or not all(issubclass(cls, kind) for kind in types):
        return NotImplemented  # also for a function of another library, which asks again
    before, state.called = state.called, function
    try:
        with disabled():
            return converted(function(*args, **(kwargs or {})), cls)
    finally:
        state.called = before


def converted(value, cls):
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (list, tuple)):
        return type(value)([converted(item, cls) for item in value])
    return value


def note_read(name, tensor):
    """Notifies the active modes that a method, which does not go to dispatch, reads the elements of a tensor."""
    for mode in state.modes:
        mode.check_read(name, tensor)


class Mode:
    """A context manager whose __torch_function__ receives every call of a function or method while it is active."""

    receives_all = (
        False  # whether it receives functions that are no operators, such as those behind attributes, and the operators of control flow
    )
    is_observer = False  # whether it only records calls, and those of exported programs by other means

    def __enter__(self) -> Any:
        state.modes = (*state.modes, self)
        intercept(1)
        return self

    def __exit__(self, *_: Any) -> None:
        state.modes = state.modes[:-1]
        intercept(-1)

    def check_read(self, name, value):
        """Called before a method such as numpy() reads the elements of a tensor."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__")
