"""Cumulative results of an associative function."""

from .._inert.control_flow import offered
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


@offered
def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """Returns the cumulative results of combine_fn(a, b) along a dimension of the tensors in `xs`: the first element, the combination of
    the first two, and so on; from the last with `reverse`. `combine_mode` is accepted. The function is called with slices, in log2(n)
    rounds.

    >>> from libtensor._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a + b, torch.arange(4), 0)
    tensor([0, 1, 3, 6])
    """
    import libtensor as torch

    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("associative_scan: xs has no tensors; give at least one")
    leaves = [leaf.flip(dim) if reverse else leaf for leaf in leaves]
    size = leaves[0].shape[dim]
    if any(leaf.shape[dim] != size for leaf in leaves):
        raise ValueError(f"associative_scan: tensors have different sizes in dimension {dim}: {[leaf.shape[dim] for leaf in leaves]}")
    step = 1
    while step < size:
        before = [leaf.narrow(dim, 0, size - step) for leaf in leaves]
        after = [leaf.narrow(dim, step, size - step) for leaf in leaves]
        combined, _ = tree_flatten(combine_fn(tree_unflatten(before, spec), tree_unflatten(after, spec)))
        leaves = [torch.cat((leaf.narrow(dim, 0, step), made), dim) for leaf, made in zip(leaves, combined, strict=True)]
        step *= 2
    return tree_unflatten([leaf.flip(dim) if reverse else leaf for leaf in leaves], spec)
