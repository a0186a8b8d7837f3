"""Linear algebra: the extension, and the matrix products of the main namespace."""

from .._core.tensor import checked
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .._gen import gen_linalg as _linalg
from . import statistical
from .dtypes import promoted


def matmul(x1, x2, /):
    """Returns the product of matrices, batches of them, or vectors, in the promoted dtype."""
    return _f.matmul(*promoted("matmul", x1, x2))


def matrix_transpose(x, /):
    """Returns a view with the last two axes exchanged."""
    return _f.mT(checked(x, "matrix_transpose", "x"))


def tensordot(x1, x2, /, *, axes=2):
    """Returns the sums of products over the last `axes` axes of x1 and the first of x2, or over two sequences of axes."""
    return _compose.tensordot(*promoted("tensordot", x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Returns the sum of conj(x1) * x2 along an axis, in the promoted dtype."""
    x1, x2 = promoted("vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot(): x1 has {x1.shape[axis]} elements along axis {axis}, but x2 has {x2.shape[axis]}; the sizes must be equal"
        )
    return _f.sum(_f.conj(x1) * x2, axis, dtype=x1.dtype)


def cholesky(x, /, *, upper=False):
    """Returns the Cholesky factor of positive definite matrices, lower triangular unless `upper`."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """Returns the cross product along an axis of size 3."""
    x1, x2 = promoted("cross", x1, x2)
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"cross(): axis {axis} must have size 3, not {x1.shape[axis]} in x1 and {x2.shape[axis]} in x2")
    return _linalg.cross(*_f.broadcast_tensors(x1, x2), dim=axis)


def det(x, /):
    """Returns the determinants of matrices."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """Returns a view of a diagonal of matrices, above the main one if `offset` is positive."""
    return _f.diagonal(checked(x, "diagonal", "x"), offset, -2, -1)


def eig(x, /):
    """Returns the complex eigenvalues and eigenvectors of matrices."""
    return _linalg.eig(x)


def eigvals(x, /):
    """Returns the complex eigenvalues of matrices."""
    return _linalg.eigvals(x)


def eigh(x, /):
    """Returns the real eigenvalues in ascending order, and the eigenvectors, of Hermitian matrices. Reads the lower triangle."""
    return _linalg.eigh(x)


def eigvalsh(x, /):
    """Returns the real eigenvalues of Hermitian matrices in ascending order."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """Returns the inverses of matrices."""
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Returns the norms of matrices: "fro" (default), "nuc", or of order 1, 2, infinity and their negatives."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """Returns the `n`-th power of matrices; of their inverses for negative `n`."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """Returns the number of singular values larger than `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """Returns the outer product of two vectors."""
    return _f.outer(*promoted("outer", x1, x2))


def pinv(x, /, *, rtol=None):
    """Returns the pseudo-inverses of matrices; singular values up to `rtol` times the largest count as 0."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """Returns Q with orthonormal columns and the upper triangular R whose product is x; "complete" returns a square Q."""
    return _linalg.qr(x, mode)


def slogdet(x, /):
    """Returns the sign of the determinant and the logarithm of its absolute value."""
    return _linalg.slogdet(x)


def solve(x1, x2, /):
    """Solves x1 @ x = x2 for square matrices x1; x2 is a vector if it has one dimension, otherwise a batch of matrices."""
    x1, x2 = promoted("solve", x1, x2)
    if x2.dim() == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    if x2.dim() < x1.dim():  # which would count as a batch of vectors
        x2 = x2[(None,) * (x1.dim() - x2.dim())]
    return _linalg.solve(x1, x2)


def svd(x, /, *, full_matrices=True):
    """Returns the singular value decomposition U, S, Vh of matrices."""
    return _linalg.svd(x, full_matrices)


def svdvals(x, /):
    """Returns the singular values of matrices in descending order."""
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """Returns the sum of a diagonal of matrices, in the dtype of a sum."""
    return statistical.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Returns the norm of the elements over axes, by default over all."""
    return statistical.reduced("vector_norm", lambda x, axis, keepdims: _linalg.vector_norm(x, ord, axis, keepdims), x, axis, keepdims)
