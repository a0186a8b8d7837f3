"""Functions of sparse tensors, and the way to SciPy's arrays and back."""

from . import _sparse
from ._dlpack import from_numpy
from ._dtypes import sparse_bsr, sparse_coo, sparse_csr
from ._serialize import parts
from .gen_sparse import *  # noqa: F403
from .gen_sparse import __all__ as _names

__all__ = [*_names, "as_sparse_gradcheck", "from_scipy", "to_scipy"]

_MAKERS = {"csr": _sparse.sparse_csr_tensor, "csc": _sparse.sparse_csc_tensor, "bsr": _sparse.sparse_bsr_tensor}


def as_sparse_gradcheck(gradcheck):
    """A function like autograd.gradcheck that takes sparse tensors: the function itself, since gradcheck and gradgradcheck take them.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> check(lambda s: s.to_dense() ** 2, torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_())
    True
    """
    return gradcheck


def from_scipy(array):
    """A sparse tensor over the memory of a sparse array or matrix of SciPy's: CSR, CSC and BSR share indices and values, COO the values.

    Other formats come as CSR. Arrays with entries that are out of order or repeated are put in order in a copy.
    """
    kind = getattr(array, "format", None)
    if not isinstance(kind, str) or not hasattr(array, "tocsr"):
        raise TypeError(f"sparse.from_scipy(): expected a sparse array or matrix of SciPy's, not {type(array).__name__}")
    if kind == "coo":
        at = [from_numpy(index) for index in getattr(array, "coords", None) or (array.row, array.col)]
        indices = at[0].new_empty((len(at), len(at[0])), dtype=_sparse.int64)
        for i, row in enumerate(at):
            indices[i] = row
        return _sparse.sparse_coo_tensor(indices, from_numpy(array.data), array.shape)
    if kind not in _MAKERS:
        array, kind = array.tocsr(), "csr"
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    return _MAKERS[kind](from_numpy(array.indptr), from_numpy(array.indices), from_numpy(array.data), array.shape)


def to_scipy(tensor):
    """A sparse array of SciPy's over the memory of a sparse matrix of layout sparse_coo, sparse_csr, sparse_csc or sparse_bsr."""
    import scipy.sparse as sp

    if tensor.dense_dim() or tensor.layout is not sparse_coo and tensor.dim() != 2:
        raise RuntimeError(
            f"to_scipy: SciPy has sparse matrices, but the tensor has sizes {tuple(tensor.shape)} with {tensor.dense_dim()} dense dimensions"
        )
    *indices, values = (part.detach().numpy() for part in parts(tensor))
    if tensor.layout is sparse_coo:
        return sp.coo_array((values, tuple(indices[0])), shape=tuple(tensor.shape))
    kinds = {sparse_csr: sp.csr_array, sparse_bsr: sp.bsr_array}
    name = str(tensor.layout)
    if name.endswith("sparse_bsc"):
        raise RuntimeError("to_scipy: SciPy has no format for layout sparse_bsc; to_sparse_bsr() converts")
    compressed, plain = indices
    return kinds.get(tensor.layout, sp.csc_array)((values, plain, compressed), shape=tuple(tensor.shape), copy=False)
