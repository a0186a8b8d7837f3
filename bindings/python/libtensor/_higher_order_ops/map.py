"""Functions of slices."""

from .._inert.control_flow import find_recorder, offered
from .scan import list_slices, stack_results

__all__ = ["map"]


@offered
def map(f, xs, *args):
    """Returns the results of f(x, *args) for each slice x of `xs` along the first dimension, stacked. `xs` is a tensor or a tree of
    tensors.

    >>> from libtensor._higher_order_ops.map import map
    >>> map(lambda x, y: x + y, torch.arange(3), torch.tensor(10))
    tensor([10, 11, 12])
    """
    leaves, spec, length = list_slices("map", xs)
    recorder = find_recorder()
    if recorder is not None:
        return recorder.record_map(f, leaves, spec, args)
    return stack_results([f(spec.unflatten([x[i] for x in leaves]), *args) for i in range(length)])
