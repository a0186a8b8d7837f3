"""Linear algebra: the extension, and the products that the namespace itself has too."""

from .._core.tensor import checked
from .._data import compose as _compose
from .._gen import gen_functions as _f
from .._gen import gen_linalg as _linalg
from . import statistical
from .dtypes import promoted


def matmul(x1, x2, /):
    """The product of matrices, of batches of them, or of vectors, in the dtype to which they are promoted."""
    return _f.matmul(*promoted("matmul", x1, x2))


def matrix_transpose(x, /):
    """A view with the last two axes in each other's place."""
    return _f.mT(checked(x, "matrix_transpose", "x"))


def tensordot(x1, x2, /, *, axes=2):
    """The sums of products over the last `axes` axes of x1 and the first of x2, or over two sequences of axes."""
    return _compose.tensordot(*promoted("tensordot", x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of the products of conj(x1) and x2 along an axis, in the dtype to which they are promoted."""
    x1, x2 = promoted("vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot(): x1 has {x1.shape[axis]} elements along axis {axis}, x2 has {x2.shape[axis]}; the numbers must be the same")
    return _f.sum(_f.conj(x1) * x2, axis, dtype=x1.dtype)


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices, lower unless `upper`."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product along an axis of size 3."""
    x1, x2 = promoted("cross", x1, x2)
    if not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"cross(): axis {axis} must have size 3, not {x1.shape[axis]} in x1 and {x2.shape[axis]} in x2")
    return _linalg.cross(*_f.broadcast_tensors(x1, x2), dim=axis)


def det(x, /):
    """The determinant of matrices."""
    return _linalg.det(x)


def diagonal(x, /, *, offset=0):
    """A view of a diagonal of matrices, above the main one where `offset` is positive."""
    return _f.diagonal(checked(x, "diagonal", "x"), offset, -2, -1)


def eig(x, /):
    """Eigenvalues and eigenvectors of matrices, which are complex."""
    return _linalg.eig(x)


def eigvals(x, /):
    """Eigenvalues of matrices, which are complex."""
    return _linalg.eigvals(x)


def eigh(x, /):
    """Eigenvalues in order, which are real, and eigenvectors of Hermitian matrices, of which the lower triangle is read."""
    return _linalg.eigh(x)


def eigvalsh(x, /):
    """Eigenvalues of Hermitian matrices in order, which are real."""
    return _linalg.eigvalsh(x)


def inv(x, /):
    """The inverse of matrices."""
    return _linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of matrices: "fro", as None, "nuc", or of order 1, 2, infinity, and the negatives of these."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """The product of `n` times a matrix; of its inverse where n is negative."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are larger than `rtol` times the largest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """The products of each element of one vector and each of another."""
    return _f.outer(*promoted("outer", x1, x2))


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse of matrices, in which singular values up to `rtol` times the largest count as 0."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """A matrix with orthonormal columns Q and a triangular one R whose product is x; "complete" gives a square Q."""
    return _linalg.qr(x, mode)


def slogdet(x, /):
    """The sign of the determinant and the logarithm of its absolute value."""
    return _linalg.slogdet(x)


def solve(x1, x2, /):
    """What x1, square matrices, times it is x2: a vector where x2 has one dimension, otherwise matrices."""
    x1, x2 = promoted("solve", x1, x2)
    if x2.dim() == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    if x2.dim() < x1.dim():  # which would count as a batch of vectors
        x2 = x2[(None,) * (x1.dim() - x2.dim())]
    return _linalg.solve(x1, x2)


def svd(x, /, *, full_matrices=True):
    """The singular value decomposition U, S, Vh of matrices."""
    return _linalg.svd(x, full_matrices)


def svdvals(x, /):
    """The singular values of matrices, the largest first."""
    return _linalg.svdvals(x)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal of matrices, in the dtype of a sum."""
    return statistical.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm of the elements over axes, or over all of them."""
    return statistical.reduced("vector_norm", lambda x, axis, keepdims: _linalg.vector_norm(x, ord, axis, keepdims), x, axis, keepdims)
