"""Gradients of tensors that only the function of cond uses that was not called: PyTorch's are 0."""

from .._base import overrides
from .._base.dtypes import strided
from .._core.modes import no_grad
from .._core.tensor import Tensor
from ..utils import _pytree as pytree

__all__ = ["connect", "list_used"]

_state = overrides.state


class UsedTensors(overrides.Mode):
    """Executes calls on the device meta, and records the tensors that exist before them. Control flow calls each function once."""

    receives_all = True

    def __init__(self):
        self.copies = {}  # of a tensor and its copy on the device meta, by the tensor's id

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map(self._copy, (args, kwargs or {}))
        return func(*args, **kwargs)

    def _copy(self, value):
        if not isinstance(value, Tensor) or value.device.type == "meta":
            return value
        if id(value) not in self.copies:
            self.copies[id(value)] = value, value.detach().to("meta")
        return self.copies[id(value)][1]

    def record_cond(self, pred, true_fn, false_fn, operands):
        false_fn(*operands)
        return true_fn(*operands)

    def record_while(self, cond_fn, body_fn, carried):
        cond_fn(*carried)
        made = body_fn(*carried)
        return made if isinstance(made, tuple | list) else (made,)

    def record_map(self, f, xs, spec, args):
        return repeat(f(spec.unflatten([x[0] for x in xs]), *args), len(xs[0]))

    def record_scan(self, combine_fn, init, xs, spec):
        carry, result = combine_fn(init, spec.unflatten([x[0] for x in xs]))
        return carry, repeat(result, len(xs[0]))


def repeat(tree, count):
    """Returns a tree of tensors on the device meta as those of `count` results that are stacked."""
    return pytree.tree_map(lambda x: x.new_empty((count, *x.shape)), tree)


def list_used(function, operands):
    """Returns the tensors that require grad among those that function(*operands) uses. It is called on the device meta; a call that fails
    there, as one that depends on elements does, uses all operands and what it has used before."""
    modes, _state.modes = _state.modes, ()
    finder = UsedTensors()
    try:
        with no_grad(), finder:
            function(*operands)
    except Exception:
        pytree.tree_map(finder._copy, operands)
    finally:
        _state.modes = modes
    return [value for value, _ in finder.copies.values() if value.requires_grad and value.layout is strided]


def connect(result, used):
    """Returns a tree of results whose floating-point tensors have the `used` ones in their autograd graph, with gradients of 0. The
    application's modes do not receive the operators of that."""
    if not used:
        return result
    modes = _state.modes
    _state.modes = tuple(mode for mode in modes if mode.receives_all)
    try:
        return subtract_zero(result, used)
    finally:
        _state.modes = modes


def subtract_zero(result, used):
    """Returns a tree of results without a sum of no elements of the `used` tensors."""
    zero = sum((x.real if x.is_complex() else x).unsqueeze(0).narrow(0, 0, 0).sum() for x in used)

    def subtract(value):
        if not isinstance(value, Tensor) or not (value.is_floating_point() or value.is_complex()):
            return value
        return value - zero.to(value)

    return pytree.tree_map(subtract, result)
