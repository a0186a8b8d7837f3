"""Sparse tensors from Python data: indices and values may be tensors, sequences or arrays of other libraries."""

from .._base.dtypes import int32, int64, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._base.errors import in_name_of
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from . import create as _create


def _part(data, dtype=None, device=None):
    return data if isinstance(data, Tensor) else _create.as_tensor(data, dtype=dtype, device=device)


def _indices(data, device):
    made = _part(data, device=device)
    return made if isinstance(data, Tensor) or made.numel() else made.to(int64)


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """Returns a sparse COO tensor from `indices`, with a column for each entry, and `values`, with a row for each; from `size` alone, one
    without entries.

    Indices are always checked. Entries with equal indices are summed.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        if size is None:
            size, indices = indices, None
        if indices is not None or size is None:
            raise TypeError("sparse_coo_tensor(): indices require values")
        with in_name_of("sparse_coo_tensor"):
            made = _f.zeros(size, dtype=dtype, layout=sparse_coo, device=device)
        return made.requires_grad_() if requires_grad else made
    values = _part(values, dtype, device)
    values = values.detach() if requires_grad else values
    made = _f.sparse_coo_tensor(_indices(indices, values.device), values, size, dtype=dtype, device=device, is_coalesced=is_coalesced)
    return made.requires_grad_() if requires_grad else made


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Returns a tensor of `layout` sparse_csr, sparse_csc, sparse_bsr or sparse_bsc. Indices are always checked.

    >>> torch.sparse_compressed_tensor([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0], (2, 2), layout=torch.sparse_csr).to_dense()
    tensor([[1., 2.],
            [0., 3.]])
    """
    values = _part(values, dtype, device)
    values = values.detach() if requires_grad else values
    compressed, plain = (_indices(data, values.device) for data in (compressed_indices, plain_indices))
    made = _f.sparse_compressed_tensor(compressed, plain, values, size, dtype=dtype, layout=layout, device=device)
    return made.requires_grad_() if requires_grad else made


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, **options):
    """Returns a sparse CSR tensor; the options are those of sparse_compressed_tensor.

    >>> torch.sparse_csr_tensor([0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0]).to_dense()
    tensor([[1., 2.],
            [0., 3.]])
    """
    with in_name_of("sparse_csr_tensor"):
        return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{"layout": sparse_csr} | options)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, **options):
    """Returns a sparse CSC tensor; the options are those of sparse_compressed_tensor.

    >>> torch.sparse_csc_tensor([0, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0]).to_dense()
    tensor([[1., 2.],
            [0., 3.]])
    """
    with in_name_of("sparse_csc_tensor"):
        return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{"layout": sparse_csc} | options)


def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, **options):
    """Returns a sparse BSR tensor; the options are those of sparse_compressed_tensor.

    >>> torch.sparse_bsr_tensor([0, 1], [1], [[[1, 2], [3, 4]]], (2, 4)).to_dense()
    tensor([[0, 0, 1, 2],
            [0, 0, 3, 4]])
    """
    with in_name_of("sparse_bsr_tensor"):
        return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{"layout": sparse_bsr} | options)


def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, **options):
    """Returns a sparse BSC tensor; the options are those of sparse_compressed_tensor.

    >>> torch.sparse_bsc_tensor([0, 1], [1], [[[1, 2], [3, 4]]], (4, 2)).to_dense()
    tensor([[0, 0],
            [0, 0],
            [1, 2],
            [3, 4]])
    """
    with in_name_of("sparse_bsc_tensor"):
        return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{"layout": sparse_bsc} | options)


def new(like, args, device):
    """Tensor.new of a sparse COO tensor: from sizes, without entries, or from indices, values and sizes."""
    if like.layout is not sparse_coo:
        raise RuntimeError(f"new: a tensor of layout {like.layout} cannot be created by new(); use sparse_compressed_tensor()")
    if len(args) in (2, 3) and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, device=device)
    return empty_coo("new()", args, like.dtype, device or like.device)


def empty_coo(function, args, dtype, device):
    """Returns a sparse COO tensor without entries; `args` are its sizes, or a tuple of them."""
    size = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args or (0,)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in size):
        raise TypeError(f"{function}: expected sizes, or indices and values; use sparse_coo_tensor() or to_sparse() for other data")
    return sparse_coo_tensor(size, dtype=dtype, device=device)


def validate_coo(indices, values, size, is_coalesced=None):
    """Raises the errors of sparse_coo_tensor() for invalid indices and values."""
    sparse_coo_tensor(indices, values, size, is_coalesced=is_coalesced)


def validate_compressed(compressed_indices, plain_indices, values, size, layout):
    """Raises the errors of sparse_compressed_tensor() for invalid indices and values."""
    sparse_compressed_tensor(compressed_indices, plain_indices, values, size, layout=layout)


def compressed_rows(input, size, *, out_int32=False):
    """Returns the compressed row indices: for each of `size` rows its first entry, and the number of entries at the end. `rows` are the
    sorted row indices.
    """
    return _f.searchsorted(input, _f.arange(size + 1, dtype=input.dtype, device=input.device)).to(int32 if out_int32 else int64)


def coordinates(crow_indices, col_indices, *, out_int32=False, transpose=False):
    """Returns the batch, row and column indices of the entries of compressed rows, a column for each; with `transpose`, of compressed
    columns.
    """
    each = _f.arange(col_indices.shape[-1], dtype=crow_indices.dtype, device=crow_indices.device).expand(col_indices.shape).contiguous()
    rows = _f.searchsorted(crow_indices[..., 1:].contiguous(), each, right=True).to(col_indices.dtype)
    places = [col_indices, rows] if transpose else [rows, col_indices]
    for d, n in reversed(list(enumerate(col_indices.shape[:-1]))):
        batch = _f.arange(n, dtype=rows.dtype, device=rows.device).reshape(*(n if i == d else 1 for i in range(rows.dim())))
        places.insert(0, batch.expand(rows.shape))
    return _f.stack([place.reshape(-1) for place in places]).to(int32 if out_int32 else int64)
