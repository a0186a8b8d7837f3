"""The protocol __torch_function__: classes, subclasses of Tensor among them, that take over the calls that they are arguments of.

The functions ask `dispatch` when an argument has __torch_function__, or when a mode is active. Tensor's own takes nothing over.
"""

import threading
from contextlib import contextmanager

NOBODY = object()  # what dispatch gives when nobody takes a call over
Tensor = None  # the class, once it is made
Kin = None  # a subclass that calls give by themselves


# Where the tensors of PyTorch, and of another copy of this package, have theirs, which takes nothing over either.
DEFAULTS = ("torch._tensor", __name__)


class State(threading.local):
    disabled = False
    modes = ()
    called = None  # the function that Tensor's own __torch_function__ calls


state = State()
intercept = None  # counts a mode that begins or ends, of any thread; with one, every call comes to dispatch


def disabled_torch_function(*_):
    """The __torch_function__ of subclasses whose operations give plain tensors."""
    return NotImplemented


@contextmanager
def disabled():
    """While arguments take no calls over."""
    before = state.disabled
    state.disabled = True
    try:
        yield
    finally:
        state.disabled = before


def own(kind):
    """Whether nothing but a mode takes over the calls of a class: Tensor, and the one that is its kin."""
    return kind is Tensor or kind is Kin


def hook(value):
    """The __torch_function__ of a value that takes calls over; None for every other value."""
    kind = type(value)
    found = getattr(kind, "__torch_function__", None)
    if found is None or found is disabled_torch_function or own(kind):
        return None
    if not issubclass(kind, Tensor) and getattr(getattr(found, "__func__", None), "__module__", None) in DEFAULTS:
        return None
    return value.__torch_function__


def keeps(value):
    """Whether what is computed of a tensor is of its class."""
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
    """One argument of each class that takes calls over, in their order, but a subclass before its base."""
    found = []
    for value in values(args, kwargs):
        kind = type(value)
        if hook(value) is not None and kind not in map(type, found):
            at = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(at, value)
    return found


def concerned(args, kwargs):
    """Tells whether dispatch has to be asked."""
    return bool(state.modes) or any(hook(value) is not None for value in values(args, kwargs))


def dispatch(function, args, kwargs, call=None):
    """What the mode or the argument gives that takes the call over; NOBODY without one. The call is of the arguments themselves
    unless another one, (args, kwargs), is given."""
    modes = state.modes
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
            state.modes = modes
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


def torch_function(cls, function, types, args=(), kwargs=None):
    """Tensor.__torch_function__: what `function` gives, with its tensors as ones of the class."""
    if state.called is function or not all(issubclass(cls, kind) for kind in types):
        return NotImplemented  # also to another library's function, which asks again
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


class Mode:
    """A context manager whose __torch_function__ sees every call of a function or method while it is active."""

    def __enter__(self):
        state.modes = (*state.modes, self)
        intercept(1)
        return self

    def __exit__(self, *_):
        state.modes = state.modes[:-1]
        intercept(-1)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__")
