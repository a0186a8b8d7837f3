"""Functions that are implemented by other functions."""

from string import ascii_letters

from .._base.direct import open_to_overrides
from .._base.dtypes import bfloat16, float16, float32
from .._core.convert import is_integer, sequence
from .._core.results import result_type
from .._core.tensor import Tensor, checked
from .._gen import gen_functions as _f


@open_to_overrides
def nonzero(input, *, out=None, as_tuple=False):
    """Returns the indices of the nonzero elements: a row for each, or with `as_tuple` a tensor for each dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 5]))
    tensor([[1],
            [2]])
    """
    if not as_tuple:
        return _f.nonzero(input, out=out)
    input = checked(input, "nonzero", "input")
    if out is not None:
        raise RuntimeError("nonzero(): does not support the out kwarg when as_tuple is True; use as_tuple=False")
    return _f.unbind(_f.nonzero(input if input.dim() else _f.unsqueeze(input, 0)), 1)


@open_to_overrides
def positive(input):
    """Returns `input`. Raises NotImplementedError for bool.

    >>> x = torch.tensor([1., -2.])
    >>> torch.positive(x) is x
    True
    """
    _f.positive(input)
    return input


def norm_except_dim(v, pow=2, dim=0):
    """Returns the norms over all dimensions except `dim`, as a tensor with size 1 in these; for `dim=-1`, one norm of all elements.

    Raises IndexError for a `dim` that `v` does not have.

    >>> torch.norm_except_dim(torch.tensor([[3., 4.], [5., 12.]]), 2, 0)
    tensor([[ 5.],
            [13.]])
    """
    if dim == -1:
        return v.norm(pow)
    if not -max(v.dim(), 1) <= dim < max(v.dim(), 1):
        raise IndexError(
            f"norm_except_dim: Dimension out of range (expected to be in range of [{-max(v.dim(), 1)}, {max(v.dim(), 1) - 1}], but got "
            f"{dim})"
        )
    return v.norm(pow, [i for i in range(v.dim()) if i != dim % v.dim()], True) if v.dim() > 1 else v.abs()


def weight_norm(v, g, dim=0):
    """Returns `v * g`, divided by the norms of `v` over all dimensions except `dim`. Computes in float32 for 16-bit floats."""
    if v.dtype in (float16, bfloat16):
        return weight_norm(v.to(float32), g, dim).to(v.dtype)
    return v * (g / norm_except_dim(v, 2, dim))


def typename(obj):
    """Returns the name of an object's type; for a tensor, its legacy type, such as torch.FloatTensor.

    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@open_to_overrides
def tensordot(a, b, dims=2, out=None):
    """Returns the sums of products of `a` and `b` over the last `dims` dimensions of `a` and the first of `b`, or over two lists of
    dimensions.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), 1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims)
    if not sequence(dims):
        return _f.tensordot(a, b, dims, out=out)
    if len(dims) != 2:
        raise RuntimeError(f"tensordot(): dims must be an int or two lists of dimensions, not {len(dims)} lists")
    return _f.tensordot(a, b, *dims, out=out)


def _labels(sublist):
    """Returns the subscripts of one operand: letters for the numbers 0 to 51."""
    if not sequence(sublist):
        raise TypeError(f"einsum(): a list of labels must follow each tensor, not {type(sublist).__name__}")
    wrong = next((label for label in sublist if label is not Ellipsis and (not is_integer(label) or not 0 <= label < 52)), None)
    if wrong is not None:
        raise ValueError(f"einsum(): label {wrong!r} of {list(sublist)} is neither Ellipsis nor an integer from 0 to 51")
    return "".join("..." if label is Ellipsis else ascii_letters[label] for label in sublist)


@open_to_overrides
def einsum(*args):
    if args and not isinstance(args[0], str):
        last = [_labels(args[-1])] if len(args) % 2 else []
        operands, sublists = args[: len(args) - len(last) : 2], args[1 : len(args) - len(last) : 2]
        args = "->".join([",".join(map(_labels, sublists)), *last]), *operands
    return _f.einsum(*args)


einsum.__doc__ = (
    (_f.einsum.__doc__ or "")  # python -OO removes them
    + """
    In place of the equation, lists of numbers may follow the tensors, and one for the result: einsum(a, [0, 1], b, [1, 2], [0, 2]).

    >>> torch.einsum(torch.tensor([[1, 2], [3, 4]]), [0, 1], [1, 0])
    tensor([[1, 3],
            [2, 4]])
    """
)


def _wanted(results, return_inverse, return_counts):
    values, inverse, counts = results
    parts = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return parts if len(parts) > 1 else values


@open_to_overrides
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Returns the distinct elements in order; with `dim`, the distinct slices along it. NaNs are last, and distinct from each other.

    With `return_inverse` and `return_counts`, returns a tuple with the index of each input element among them, and with the number of times
    that each occurs.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _wanted(_f.unique(input, sorted, return_inverse, return_counts, dim), return_inverse, return_counts)


@open_to_overrides
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Returns the elements without consecutive duplicates: `unique` without sorting.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 3, 1]))
    tensor([1, 3, 1])
    """
    return _wanted(_f.unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


_lu_with_info = result_type("_lu_with_info", ("LU", "pivots", "info"))


@open_to_overrides
def lu(A, pivot=True, get_infos=False, out=None):
    """Returns the LU factorization and pivots of matrices, as `linalg.lu_factor_ex`; with `get_infos`, also the infos.

    >>> torch.lu(torch.tensor([[1., 2.], [4., 4.]]))[1]
    tensor([2, 2], dtype=torch.int32)
    """
    made = _lu_with_info(_f.lu(A, pivot))
    if not get_infos:
        made = made[:2]
    if out is None:
        return made
    if len(out) != len(made):
        raise TypeError(f"lu(): expected out to be {len(made)} tensors, but got {len(out)}")
    for given, result in zip(out, made, strict=True):
        given.resize_(result.shape).copy_(result)
    return tuple(out)


_histogramdd = result_type("histogramdd", ("hist", "bin_edges"))


@open_to_overrides
def histogramdd(input, bins, range=None, weight=None, density=False):
    """Counts the points in the last dimension of `input` in a grid of bins, and returns (hist, bin_edges).

    `bins` is a number, a number for each dimension, or the edges for each dimension. The other arguments are those of `histogram`.

    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.]]), 2).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if is_integer(bins) and isinstance(input, Tensor) and input.dim():
        bins = [bins] * input.shape[-1]
    hist, *edges = _f.histogramdd(input, bins, range, weight, density)
    return _histogramdd((hist, tuple(edges)))


def _polygamma(self, n):
    """Returns the `n`-th derivative of the digamma function at each element, as `torch.polygamma` does: n >= 0."""
    return _f.polygamma(n, self)


def _polygamma_(self, n):
    """Replaces each element by the `n`-th derivative of the digamma function: `polygamma` in place, for floating-point tensors."""
    return _f.polygamma(n, self, out=self)


_polygamma.__name__ = _polygamma.__qualname__ = "polygamma"
_polygamma_.__name__ = _polygamma_.__qualname__ = "polygamma_"
for _function in (nonzero, positive, unique, unique_consecutive, lu, _polygamma, _polygamma_):
    setattr(Tensor, _function.__name__, _function)
Tensor.__pos__ = positive  # type: ignore[method-assign]
