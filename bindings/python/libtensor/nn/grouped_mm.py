"""`functional.grouped_mm`, the matrix products of a mixture of experts."""

from .._base.direct import open_to_overrides
from .._base.dtypes import int32
from .._core.tensor import Tensor
from .._gen.gen_functions import bmm, cat, stack


def _ends(offs, mat_a, mat_b):
    """Checks `offs` and returns its elements as a list, with the length of the dimension that they divide."""
    if not isinstance(offs, Tensor) or offs.dim() != 1 or offs.dtype != int32:
        given = f"a tensor of shape {tuple(offs.shape)} and dtype {offs.dtype}" if isinstance(offs, Tensor) else type(offs).__name__
        raise RuntimeError(f"grouped_mm: Offsets have to be int32: offs is {given}; pass a 1-D tensor of dtype int32")
    ends = offs.tolist()
    length = mat_b.shape[-1] if mat_a.dim() == 3 else mat_a.shape[-1 if mat_b.dim() == 2 else 0]
    if any(end < start for start, end in zip([0, *ends], ends, strict=False)) or ends and ends[-1] > length:
        raise RuntimeError(f"grouped_mm: offs must be increasing from 0 to at most {length}, but are {ends}")
    groups = [m.shape[0] for m in (mat_a, mat_b) if m.dim() == 3]
    if groups and groups[0] != len(ends):
        raise RuntimeError(f"grouped_mm: matrix batch sizes have to match: got {groups[0]} matrices and {len(ends)} offsets")
    return ends, length


@open_to_overrides
def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Returns the matrix products of groups of different sizes, such as the tokens of each expert in a mixture of experts.

    `offs`, of dtype int32, holds the end of each group in the dimension that the groups divide. With G groups:

    - `mat_a` (M, K) and `mat_b` (G, K, N): rows of `mat_a` times the matrix of their group, (M, N).
    - `mat_a` (G, M, K) and `mat_b` (K, N): the matrix of their group times columns of `mat_b`, (M, N).
    - `mat_a` (M, K) and `mat_b` (K, N): for each group, its columns of `mat_a` times its rows of `mat_b`, (G, M, N).
    - `mat_a` (G, M, K) and `mat_b` (G, K, N), without `offs`: as `bmm`, (G, M, N).

    Rows or columns after the last group are zeros; PyTorch leaves them uninitialized. Any floating-point dtype and any strides are
    supported, and `out_dtype` is the dtype of the result.

    >>> x, experts = torch.ones(3, 2), torch.tensor([[[1.], [1.]], [[2.], [3.]]])
    >>> torch.nn.functional.grouped_mm(x, experts, offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[2.],
            [5.],
            [5.]])
    """
    for name, m in (("mat_a", mat_a), ("mat_b", mat_b)):
        if m.dim() not in (2, 3):
            raise RuntimeError(f"grouped_mm: {name} has to be 2 or 3d, but has shape {tuple(m.shape)}")
        if not m.is_floating_point():
            raise RuntimeError(f"grouped_mm: {name} must have a floating-point dtype, but has {m.dtype}")
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(f"grouped_mm: Expected mat_a and mat_b to have the same dtype, got {mat_a.dtype} and {mat_b.dtype}")
    if (offs is None) != (mat_a.dim() == mat_b.dim() == 3):
        raise RuntimeError("grouped_mm: Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        shapes = f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}"
        raise RuntimeError(f"grouped_mm: contraction dimension of mat_a and mat_b must match, but their shapes are {shapes}")
    if bias is not None:
        raise RuntimeError("grouped_mm: Bias not supported yet; add it to the result")
    if out_dtype is not None and out_dtype != mat_a.dtype:
        mat_a, mat_b = mat_a.to(out_dtype), mat_b.to(out_dtype)
    if offs is None:
        return bmm(mat_a, mat_b)
    ends, length = _ends(offs, mat_a, mat_b)
    groups = list(zip([0, *ends], ends, strict=False))
    if mat_a.dim() == mat_b.dim():
        products = [mat_a[:, start:end] @ mat_b[start:end] for start, end in groups]
        return stack(products) if products else mat_a.new_zeros(0, mat_a.shape[0], mat_b.shape[1])
    rest = length - (ends[-1] if ends else 0)
    if mat_b.dim() == 3:
        products = [mat_a[start:end] @ mat_b[i] for i, (start, end) in enumerate(groups) if end > start]
        return cat([*products, mat_a.new_zeros(rest, mat_b.shape[-1])])
    products = [mat_a[i] @ mat_b[:, start:end] for i, (start, end) in enumerate(groups) if end > start]
    return cat([*products, mat_a.new_zeros(mat_a.shape[1], rest)], 1)
