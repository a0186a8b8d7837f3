"""The autograd methods and attributes of Tensor, and the functions of libtensor.autograd."""

from __future__ import annotations

from itertools import count
from threading import local

from .._base.direct import function
from .._base.extend import extends
from .._base.warnings import warn
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .nodes import GradientEdge, leaf, node_of

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

if TYPE_CHECKING:
    Extended = Tensor
else:
    Extended = object


class Evaluating(local):
    """The evaluation of func that the thread is in, the innermost one; None for none."""

    current = None


evaluating = Evaluating()

# Also for instances of subclasses, which do not override these calls.
_grad, _is_grad = function("_grad", "grad"), function("_is_grad", "is_grad")


def as_list(tensors):
    """Returns a tensor or several as a list; None as an empty one."""
    if tensors is None:
        return []
    return [tensors] if isinstance(tensors, (Tensor, GradientEdge)) else list(tensors)


def ends(tensors, where):
    """Returns tensors, or edges of a graph, that gradients are computed of or with respect to; an edge is represented by a tensor."""
    if tensors is None:
        raise TypeError(f"{where} must be Tensors or GradientEdges, but is None")
    made = [_f.node_result(end.node._h, end.output_nr) if isinstance(end, GradientEdge) else end for end in as_list(tensors)]
    for i, end in enumerate(made):
        if not isinstance(end, Tensor):
            raise TypeError(f"{where} must be Tensors or GradientEdges, but element {i} is of type {type(end).__name__}")
    return made


def switch(value, name):
    """Converts a truth value; functions that run a backward pass accept an integer too."""
    if value.__class__ is bool:
        return value
    if hasattr(value, "__index__"):
        return value.__index__() != 0
    raise TypeError(f"{name} must be bool or int, not {type(value).__name__}")


def undeletable(name, instead):
    return RuntimeError(f"{name} of a tensor cannot be deleted; {instead}")


@extends(Tensor)
class Tensor(Extended):  # type: ignore[no-redef]  # extends() returns the imported class
    @property
    def requires_grad(self):
        """Whether operations on the tensor are added to the autograd graph."""
        return _f.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, wanted):
        _f.set_requires_grad(leaf(self), wanted)

    @requires_grad.deleter
    def requires_grad(self):
        raise undeletable("requires_grad", "set it to False")

    def requires_grad_(self, requires_grad=True):
        """Sets whether the tensor requires grad, and returns it.

        >>> torch.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        _f.set_requires_grad(leaf(self), requires_grad)
        return self

    @property
    def is_leaf(self):
        """Whether the tensor has no grad_fn."""
        return _f.is_leaf(self)

    @property
    def output_nr(self):
        """The number of the tensor among the outputs of its grad_fn."""
        return _f.output_nr(self)

    def is_inference(self):
        """Returns whether the tensor was created in inference_mode().

        >>> torch.ones(1).is_inference()
        False
        """
        return _f.is_inference(self)

    @property
    def _version(self):
        return _f.get_version(self)

    @property
    def retains_grad(self):
        """Whether backward() also stores the gradient of this non-leaf tensor; see retain_grad()."""
        return _f.retains_grad(self)

    def retain_grad(self):
        """Makes backward() also store the gradient of a non-leaf tensor in `grad`."""
        if evaluating.current is not None or _f.transform_level():
            raise RuntimeError(
                "retain_grad: You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch "
                "transform, "
                "which accumulates no gradients; return the tensor and differentiate with respect to it"
            )
        _f.retain_grad(self)

    @property
    def grad(self):
        """The gradient that backward() accumulated, None before the first one."""
        known = getattr(self, "_known_grad", None)
        if known is None or not _is_grad(self, known):
            self._known_grad = known = _grad(self)
        return known

    @grad.setter
    def grad(self, value):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        _f.set_grad(self, value)
        self._known_grad = value

    @grad.deleter
    def grad(self):
        _f.set_grad(self, None)
        self._known_grad = None

    _grad = grad

    @property
    def grad_fn(self):
        """The node of the autograd graph that created the tensor, None for a leaf."""
        return node_of(_f.grad_fn(self))

    @property
    def _grad_fn(self):
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self):
        raise undeletable("_grad_fn", "use detach_()")

    @property
    def _backward_hooks(self):
        return self.__dict__.get("_backward_hooks", getattr(self, "_hooks", None) or None)

    @_backward_hooks.setter
    def _backward_hooks(self, value):
        self.__dict__["_backward_hooks"] = value

    @_backward_hooks.deleter
    def _backward_hooks(self):
        raise undeletable("_backward_hooks", "call remove() of the hook's handle")

    def detach_(self):
        """Detaches the tensor from the autograd graph in place, and returns it. Raises RuntimeError for views."""
        return _f.detach_(self)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Computes the gradients of the leaves that the tensor depends on, and adds them to their attribute `grad`; with `inputs`, only to
        those of `inputs`.

        `gradient` is the gradient with respect to this tensor; it defaults to 1 for tensors of one element, and is required for others.
        `create_graph` adds the operations of the backward pass to the autograd graph. `retain_graph`, by default the value of
        `create_graph`, keeps the saved tensors for another backward pass.

        >>> x = torch.ones(2, requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


class Runs(local):
    """The innermost backward pass of the thread: whether it computes gradients of given inputs only, its callbacks, and its number."""

    choose = False
    callbacks: Any = None  # outside of backward passes
    number: int | None = None  # the number of the backward pass


runs = Runs()
numbers = count()


def run(choose, function, *args):
    """Runs a backward pass, then the callbacks that its hooks have queued, and returns its result."""
    before = runs.choose, runs.callbacks, runs.number
    runs.choose, runs.callbacks, runs.number = choose, (), next(numbers)
    try:
        made = function(*args)
        while runs.callbacks:
            callback, *runs.callbacks = runs.callbacks
            callback()
        return made
    finally:
        runs.choose, runs.callbacks, runs.number = before


def queue_callback(callback):
    """Calls `callback` without arguments at the end of the innermost backward pass of the thread."""
    if runs.callbacks is None:
        raise RuntimeError(
            "Final callbacks can only be installed during backward pass: call queue_callback() in a hook, on the thread that runs it"
        )
    runs.callbacks = (*runs.callbacks, callback)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulates the gradients of tensors, or of graph edges, in the leaves that they depend on, or only in `inputs` if given."""
    only = [] if inputs is None else ends(inputs, "backward(): argument 'inputs'")
    if inputs is not None and not only:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if grad_variables is not None:
        warn("backward: argument 'grad_variables' is deprecated, as in PyTorch; use grad_tensors", FutureWarning)
    gradients = as_list(grad_tensors if grad_variables is None else grad_variables)
    create_graph = switch(create_graph, "backward(): argument 'create_graph'")
    keep = create_graph if retain_graph is None else switch(retain_graph, "backward(): argument 'retain_graph'")
    of = ends(tensors, "backward(): argument 'tensors'")
    run(bool(only), _f.backward, of, gradients, keep, create_graph, only)


def in_batches(outputs, inputs, grad_outputs, retain_graph, **others):
    """Returns the gradients for each item along the first dimension of `grad_outputs`, stacked."""
    outputs, batches = as_list(outputs), as_list(grad_outputs)
    sizes = {len(b) if b.ndim else None for b in batches if b is not None}
    for i, (t, b) in enumerate(zip(outputs, batches, strict=True)):
        if b is not None and (len(sizes) > 1 or b.ndim == 0 or b.shape[1:] != t.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch, the same for all: "
                f"grad_outputs[{i}] "
                f"has shape {tuple(b.shape)}, and outputs[{i}] {tuple(t.shape)}"
            )
    if not sizes:
        raise RuntimeError("grad(): is_grads_batched=True requires grad_outputs, whose first dimension is the batch")
    n: Any = sizes.pop()
    keep = [True] * (n - 1) + [retain_graph]
    rows = [grad(outputs, inputs, [b if b is None else b[k] for b in batches], retain_graph=keep[k], **others) for k in range(n)]
    return tuple(None if column[0] is None else _f.stack(column) for column in zip(*rows, strict=True))


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """Returns the gradients of `outputs` with respect to `inputs` as a tuple. Both are tensors or graph edges
    (autograd.graph.get_gradient_edge).

    With `is_grads_batched` the first dimension of each of `grad_outputs`, and of each gradient, is a batch dimension. `only_inputs` is
    deprecated and ignored.

    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True); backward() accumulates other gradients",
            FutureWarning,
        )
    if is_grads_batched:
        return in_batches(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
    create_graph = switch(create_graph, "grad(): argument 'create_graph'")
    keep = create_graph if retain_graph is None else switch(retain_graph, "grad(): argument 'retain_graph'")
    materialize_grads = switch(materialize_grads, "grad(): argument 'materialize_grads'")
    unused = materialize_grads if allow_unused is None else switch(allow_unused, "grad(): argument 'allow_unused'")
    if materialize_grads and not unused:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    of, to = ends(outputs, "grad(): argument 'outputs'"), ends(inputs, "grad(): argument 'inputs'")
    if evaluating.current is not None and not create_graph:
        evaluating.current.require_own(of, to)
    return run(True, _f.autograd_grad, of, to, as_list(grad_outputs), keep, create_graph, unused, materialize_grads)


def compute_gradients(*args, **kwargs):
    """Returns what grad() returns, for backward passes of transforms, inside of which gradients may be constants."""
    outer, evaluating.current = evaluating.current, None
    try:
        return grad(*args, **kwargs)
    finally:
        evaluating.current = outer
