"""Functions whose Python form is made of others."""

from . import gen_functions as _f
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


Tensor.nonzero = nonzero
