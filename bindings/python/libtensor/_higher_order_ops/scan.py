"""Loops over slices that carry values."""

from .. import Tensor, stack
from .._inert.control_flow import find_recorder, offered
from ..utils import _pytree as pytree

__all__ = ["scan"]


def list_slices(name, xs, dim=0):
    """Returns the leaves of a tree of tensors, their structure and their size along `dim`. Raises ValueError if it is 0, or if sizes
    differ."""
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(x, Tensor) and x.dim() for x in leaves):
        raise ValueError(f"{name}: xs must contain tensors of at least one dimension, and nothing else")
    sizes = [x.size(dim) for x in leaves]
    if len(set(sizes)) > 1 or not sizes[0]:
        raise ValueError(f"{name}: xs must have one size, which is not 0, in dimension {dim}; the sizes are {sizes}")
    return leaves, spec, sizes[0]


def stack_results(results):
    """Returns trees of tensors as one tree of stacked tensors."""
    return pytree.tree_map(lambda *tensors: stack(tensors), *results)


@offered
def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """Returns the last carry and the stacked results of carry, result = combine_fn(carry, x) for each slice x of `xs` along `dim`.

    The first carry is `init`. `init`, `xs` and the results are tensors or trees of tensors. With `reverse` the last slice is the first.

    >>> from libtensor._higher_order_ops.scan import scan
    >>> scan(lambda carry, x: (carry + x, carry * x), torch.tensor(1), torch.tensor([1, 2, 3]))
    (tensor(7), tensor([1, 4, 12]))
    """
    leaves, spec, length = list_slices("scan", xs, dim)
    leaves = [x.movedim(dim, 0) if dim else x for x in leaves]
    leaves = [x.flip(0) if reverse else x for x in leaves]
    recorder = find_recorder()
    if recorder is not None:
        carry, made = recorder.record_scan(combine_fn, init, leaves, spec)
    else:
        carry, results = init, []
        for i in range(length):
            carry, result = combine_fn(carry, spec.unflatten([x[i] for x in leaves]))
            results.append(result)
        made = stack_results(results)
    return carry, pytree.tree_map(lambda x: x.flip(0), made) if reverse else made
