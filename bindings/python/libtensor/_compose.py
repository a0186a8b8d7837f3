"""Functions whose Python form is made of others."""

from . import gen_functions as _f
from ._convert import sequence
from ._tensor import Tensor


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that are not zero: a row for each, or with `as_tuple` a tensor for each dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 5]))
    tensor([[1],
            [2]])
    """
    if not as_tuple:
        return _f.nonzero(input, out=out)
    return _f.unbind(_f.nonzero(input if input.dim() else _f.unsqueeze(input, 0)), 1)


def tensordot(a, b, dims=2, out=None):
    """Sums the products of `a` and `b` over the last `dims` dimensions of `a` and the first of `b`, or over two lists of them.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), 1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims)
    if not sequence(dims):
        return _f.tensordot(a, b, dims, out=out)
    if len(dims) != 2:
        raise RuntimeError(f"tensordot(): dims must be a number or two lists of dimensions, not {len(dims)} of them")
    return _f.tensordot(a, b, *dims, out=out)


Tensor.nonzero = nonzero
