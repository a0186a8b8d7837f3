"""Conditions that differ between batch elements, inside vmap."""

from .._base import overrides
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from ..utils import _pytree as pytree

__all__ = ["reject_loop", "select_results"]


def version_of(t):
    """Returns the version of the memory of a tensor, outside of all transforms."""
    while level := max(_f.vmap_level(t), _f.jvp_level(t)):
        t = _f.vmap_unwrap(t, 0, level) if _f.vmap_level(t) == level else _f.jvp_primal(t, level)
    return t._version


class UnwrittenTensors(overrides.Mode):
    """Records the versions of the tensors that exist before the calls of a function."""

    receives_all = True

    def __init__(self):
        self.versions = {}  # of a tensor and its version, by the tensor's id
        self.made = {}  # tensors that the function created, by id

    def __torch_function__(self, func, types, args=(), kwargs=None):
        pytree.tree_map(self._add, (args, kwargs or {}))
        result = func(*args, **(kwargs or {}))
        pytree.tree_map(self._keep, result)
        return result

    def _add(self, value):
        if isinstance(value, Tensor) and id(value) not in self.made and not value.is_inference():
            self.versions.setdefault(id(value), (value, version_of(value)))

    def _keep(self, value):
        if isinstance(value, Tensor) and id(value) not in self.versions:
            self.made[id(value)] = value

    def find_written(self):
        """Returns a tensor that the function has written to; None if there is none."""
        return next((t for t, version in self.versions.values() if version_of(t) != version), None)


def call_branch(name, function, operands):
    """Returns the results of a function of cond, which is called for all batch elements. Raises RuntimeError if it writes to a tensor."""
    with UnwrittenTensors() as mode:
        pytree.tree_map(mode._add, operands)
        made = function(*operands)
    written = mode.find_written()
    if written is not None:
        raise RuntimeError(
            f"cond: inside vmap: {name} writes to a tensor of shape {list(written.shape)}, but the condition differs between batch "
            "elements, "
            "so that both functions are called for all of them; return a new tensor instead"
        )
    return made


def select_results(pred, true_fn, false_fn, operands):
    """Returns the results of cond for a condition that differs between batch elements: both functions are called for all of them, and
    where() chooses the results.

    Raises RuntimeError if the results of the functions differ in structure, shape or dtype, or if a function writes to a tensor.
    """
    pred = pred.reshape(()).bool()
    chosen, spec = pytree.tree_flatten(call_branch("true_fn", true_fn, operands))
    others, other_spec = pytree.tree_flatten(call_branch("false_fn", false_fn, operands))
    if spec != other_spec:
        raise RuntimeError(f"cond: inside vmap: the results of true_fn and false_fn have different structures: {spec} and {other_spec}")
    return pytree.tree_unflatten([choose(pred, *pair) for pair in zip(chosen, others, strict=True)], spec)


def choose(pred, a, b):
    """Returns a result of true_fn where `pred` is true, that of false_fn elsewhere."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor) and type(a) is type(b) and a == b:
        return a
    kinds = [(list(x.shape), x.dtype) if isinstance(x, Tensor) else x for x in (a, b)]
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or kinds[0] != kinds[1]:
        shown = [f"shape {x[0]} and dtype {x[1]}" if isinstance(x, tuple) else repr(x) for x in kinds]
        raise RuntimeError(
            "cond: inside vmap: the condition differs between batch elements, so the results of both functions must be alike, but true_fn "
            f"returned {shown[0]}, false_fn {shown[1]}"
        )
    return _f.where(pred, a, b)


def reject_loop(condition):
    """Raises RuntimeError for a condition of while_loop that differs between batch elements."""
    if isinstance(condition, Tensor) and _f.vmap_level(condition):
        raise RuntimeError(
            "while_loop: inside vmap: the condition differs between batch elements, which need different numbers of iterations; call "
            "while_loop outside of vmap for each of them, or repeat for a fixed number of times with where()"
        )
