"""Hooks on tensors, on nodes of the autograd graph, and on saved tensors."""

from contextlib import contextmanager
from threading import local
from weakref import ref

from .._base.extend import extends
from .._base.removable import RemovableHandle
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .callbacks import CALL, DELETER, PACK, UNPACK, kept_by
from .nodes import Node


class Latest(local):
    """The gradient of the previous hook on this thread, so that consecutive hooks of a tensor get one object with its attributes."""

    ref = None

    def set(self, grad):
        self.ref = None if grad is None else ref(grad)

    def find(self, grad):
        """Returns the object of the previous hook if it is the same gradient, and `grad` otherwise."""
        before = self.ref() if self.ref else None
        if before is None or grad is None or self.facts(before) != self.facts(grad) or before.grad_fn is not grad.grad_fn:
            return grad
        try:
            return before if before.is_set_to(grad) else grad
        except RuntimeError:  # sparse gradients have no storage
            return grad

    @staticmethod
    def facts(grad):
        return grad.dtype, grad.layout, grad.requires_grad, grad.is_conj(), grad.is_neg()


latest = Latest()


class Weakly:
    """Calls a function that other objects own, while it exists."""

    __slots__ = ("held",)

    def __init__(self, function):
        self.held = ref(function)

    def __call__(self, *args):
        function = self.held()
        return function and function(*args)

    def hold(self):
        """Keeps a reference to the function, too."""
        function = self.held()
        self.held = lambda: function


class GraphHandle(RemovableHandle):
    """Removes a hook on a tensor or a node, by remove() or at the end of a `with` block. A running backward pass still calls the hook."""

    def __init__(self, number):
        self.id = number
        self.leaves, self.weakly = (), None

    def remove(self):
        """Removes the hook. It has no effect if it is already removed."""
        if self.weakly is not None:
            self.weakly.hold()  # until the backward passes end that still call it
            self.weakly = None
        _f.remove_hook(self.id)
        for leaf in (one() for one in self.leaves):
            if leaf is not None:
                leaf._hooks.pop(self.id, None)


def registered(register, on, function):
    """Returns the handle of a function that `register` of the library has registered."""
    return GraphHandle(kept_by(lambda number: register(on, CALL, number, DELETER), function))


def registered_on(leaves, register, function, on=None):
    """registered() for leaves, which own the function: a reference cycle through a leaf is visible to the garbage collector."""
    weakly = Weakly(function)
    handle = registered(register, leaves[0] if on is None else on, weakly)
    for leaf in leaves:
        try:
            hooks = leaf._hooks
        except AttributeError:
            hooks = leaf._hooks = {}
        hooks[handle.id] = function
    handle.leaves, handle.weakly = tuple(map(ref, leaves)), weakly
    return handle


def named(hook):
    return f"hook '{getattr(hook, '__name__', type(hook).__name__)}'"


def replacement(hook, old, new):
    """Returns the replacement of a gradient, which must be of the same kind; None keeps the gradient."""
    if new is None:
        return None
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if new.dtype is not old.dtype:
        raise RuntimeError(f"{named(hook)} has changed the type of value (was {old.type()} got {new.type()})")
    if new.shape != old.shape:
        raise RuntimeError(f"{named(hook)} has changed the size of value")
    return new


def replacements(hook, olds, news):
    """Returns the replacements of several gradients; None is a gradient of zeros."""
    if news is None:
        return None
    if not isinstance(news, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(news).__name__}'")
    if len(news) != len(olds):
        raise RuntimeError(f"{named(hook)} has returned an incorrect number of values (got {len(news)}, but expected {len(olds)})")
    zeros = (old if new is not None or old is None else _f.zeros_like(old) for old, new in zip(olds, news, strict=True))
    return [replacement(hook, old, zero if new is None else new) for old, new, zero in zip(olds, news, zeros, strict=True)]


@extends(Tensor)
class Tensor:
    def register_hook(self, hook):
        """Registers a hook that is called with the gradient of the tensor, and returns a handle that removes it. A tensor that the hook
        returns replaces the gradient.

        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        >>> handle.remove()
        """

        def came(given, _):
            grad = latest.find(given[0])
            made = replacement(hook, grad, hook(grad))
            latest.set(grad if made is None else made)
            return [made]

        if self.is_leaf:
            return registered_on([self], _f.register_hook, came)
        return registered(_f.register_hook, self, came)

    def register_post_accumulate_grad_hook(self, hook):
        """Registers a hook that is called with the leaf after its gradient was accumulated, and returns a handle that removes it."""
        this = ref(self)

        def accumulated(given, _):
            tensor = this()
            replacement(hook, None, hook(given[0] if tensor is None else tensor))

        return registered_on([self], _f.register_post_accumulate_grad_hook, accumulated)


@extends(Node)
class Node:
    def register_hook(self, fn):
        """Registers a hook `fn(grad_inputs, grad_outputs)` that is called after the node was executed, and returns a handle that removes
        it. A tuple that it returns replaces grad_inputs."""

        def left(given, count):
            operands, results = tuple(given[:count]), tuple(given[count:])
            return replacements(fn, operands, fn(operands, results))

        return registered(_f.node_register_hook, self._h, left)

    def register_prehook(self, fn):
        """Registers a hook `fn(grad_outputs)` that is called before the node is executed, and returns a handle that removes it. A tuple
        that it returns replaces grad_outputs."""
        return registered(_f.node_register_prehook, self._h, lambda given, _: replacements(fn, tuple(given), fn(tuple(given))))


class HooksState(local):
    """The messages of disabled saved-tensor hooks of the thread; the innermost one is raised."""

    text = None
    depth = 0


hooks_state = HooksState()


class saved_tensors_hooks:
    """Returns a context manager in which operations save `pack_hook(tensor)` for backward instead of the tensor; `unpack_hook` converts it
    back when it is needed.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), torch.from_numpy):
    ...     y = (x.detach() * x).sum()
    >>> y.backward()
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if hooks_state.text is not None:
            raise RuntimeError(hooks_state.text)
        hooks = (self.pack_hook, self.unpack_hook)
        kept_by(lambda number: _f.push_saved_tensors_hooks(PACK, UNPACK, DELETER, number, DELETER), hooks)
        hooks_state.depth += 1

    def __exit__(self, *_):
        hooks_state.depth -= 1
        _f.pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Returns a context manager in which operations save copies on the CPU of the tensors that backward needs."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            return tensor.device, tensor if tensor.is_cpu else tensor.cpu()

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message):
    """Returns a context manager in which saved_tensors_hooks raises RuntimeError with the given message."""
    if hooks_state.depth:
        raise RuntimeError(error_message)
    before, hooks_state.text = hooks_state.text, error_message
    try:
        yield
    finally:
        hooks_state.text = before


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Registers a hook on several tensors, and returns a handle that removes it.

    With mode="all" each backward pass calls `fn` with the gradients of all tensors, None for undefined ones, once they are computed. With
    mode="any" it calls `fn` with the first gradient.

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print([grad is not None for grad in grads]))
    >>> (a * 2).sum().backward()
    [True, False]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        tensors = [tensor for tensor in tensors if tensor.requires_grad]

    def came(given, _):
        fn(given[0] if mode == "any" else given)

    def register(on, *hook):
        return _f.register_multi_grad_hook(on, mode == "any", *hook)

    tensors = list(tensors)
    if tensors and all(tensor.is_leaf for tensor in tensors):
        return registered_on(tensors, register, came, tensors)
    return registered(register, tensors, came)
