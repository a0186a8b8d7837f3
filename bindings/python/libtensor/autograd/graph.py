"""The autograd graph: gradient edges and saved-tensor hooks."""

from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from .._base.extend import publish as _publish
from .._base.overrides import Mode, state
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .._gradients.hooks import disable_saved_tensors_hooks, register_multi_grad_hook, save_on_cpu, saved_tensors_hooks
from .._gradients.nodes import GradientEdge, Node, edge_of

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor):
    """Returns the edge that receives the gradient of a tensor: its grad_fn, or the AccumulateGrad node of a leaf, and the output number.

    >>> torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True).exp()).node.name()
    'ExpBackward0'
    """
    return GradientEdge(*edge_of(tensor))


def increment_version(tensor):
    """Increments the version counter of a tensor, or of each of several, after a write that no operator made, so that a backward pass that
    needs the previous value raises RuntimeError."""
    for one in [tensor] if isinstance(tensor, Tensor) else tensor:
        _f.increment_version(one)


class Saved:
    """A saved tensor: the tensor, or after a write to it a copy of its previous value."""

    __slots__ = ("known", "tensor", "__weakref__")

    def __init__(self, tensor, known):
        self.tensor, self.known = tensor, known


class Sparing(Mode):
    """Copies saved tensors before a call writes to their memory."""

    receives_all = True

    def __init__(self):
        self.open = True
        self.places = {}  # saved tensors, by the address of their storage
        self.tid_to_weakhandle = WeakValueDictionary()  # saved tensors that were not written to, once for any number of operations
        self.cloned = WeakKeyDictionary()  # copied tensors, with the copy
        self.writing = {}  # tensors that the current call writes to: the previous version, by the address of the storage

    def close(self):
        self.open = False
        for kept in (self.places, self.tid_to_weakhandle, self.cloned):
            kept.clear()

    def pack(self, tensor):
        known = tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor._version
        saved = self.tid_to_weakhandle.get(known)
        if saved is None:
            saved = self.tid_to_weakhandle[known] = Saved(tensor.detach(), known)
            at = place(tensor)
            if self.writing.get(at) == tensor._version:  # an operand that shares memory with an output of the operation
                self.spare(saved)
            else:
                self.places.setdefault(at, WeakSet()).add(saved)
        return saved

    def unpack(self, saved):
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded."
            )
        return saved.tensor

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        outer, self.writing = self.writing, {place(t): t._version for t in written(func.__name__, args, kwargs)}
        try:
            for at in self.writing:
                for saved in self.places.pop(at, ()):
                    self.spare(saved)
            return func(*args, **kwargs)
        finally:
            self.writing = outer

    def spare(self, saved):
        """Copies the saved tensors that are about to be written to."""
        del self.tid_to_weakhandle[saved.known]
        with no_grad():
            saved.tensor = saved.tensor.clone()
        self.cloned[saved] = saved.tensor


def place(tensor):
    return tensor.untyped_storage().data_ptr()


def written(name, args, kwargs):
    """Returns the tensors that a call writes to: its outputs, and the first argument of in-place operators."""
    out = kwargs.get("out")
    several = out if isinstance(out, (tuple, list)) else (out,)
    in_place = name == "__setitem__" or (name.startswith("__i") if name.endswith("__") else name.endswith("_"))
    return [t for t in (*several, *(args[:1] if in_place else ())) if isinstance(t, Tensor)]


@contextmanager
def allow_mutation_on_saved_tensors():
    """Returns a context manager in which saved tensors may be written to in place: functions and methods that are called in it copy the
    saved tensor first.

    The backward pass of operations in the context must also run in the context.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.tensor([2.0, 3.0], requires_grad=True)
    ...     y = x * 1
    ...     z = y.square()
    ...     _ = y.zero_()
    ...     torch.autograd.grad(z.sum(), x)
    (tensor([4., 6.]),)
    """
    if any(isinstance(mode, Sparing) for mode in state.modes):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    sparing = Sparing()
    with saved_tensors_hooks(sparing.pack, sparing.unpack), sparing:
        try:
            yield sparing
        finally:
            sparing.close()


_publish(globals(), __all__)
