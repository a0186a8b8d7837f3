"""Unique parts of decompositions: their values, and the products of their factors. Vectors are unique up to a factor, and pivots depend on
which of several equal magnitudes is selected.
"""

import numpy as np
from compare import STEP
from inputs import decode


def _matrix(t):
    return decode(t.elements, t.dtype).astype(np.complex128)


def _adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def _scaled(vectors, values):
    return vectors * values[..., None, :]


def _svd(u, s, v):
    """Singular values, and the product U diag(S) V^H if there are vectors."""
    yield "singular values", s
    if u.size and v.size:
        k = s.shape[-1]
        yield "U diag(S) V^H", _scaled(u[..., :k], s) @ _adjoint(v[..., :k])


def _low_rank(u, s, v):
    """The same if all singular values are computed: fewer of them are approximations from random vectors."""
    if s.shape[-1] == min(u.shape[-2], v.shape[-2]):
        yield from _svd(u, s, v)


def _eigh(values, vectors):
    yield "eigenvalues", values
    yield "V diag(L) V^H", _scaled(vectors, values) @ _adjoint(vectors)


def _eigenvalues(values, *_):
    """The characteristic polynomial: eigenvalues have no order, and can change much more than their matrix does."""
    flat = values.reshape(-1, values.shape[-1])
    scale = max(1.0, np.abs(flat).max(initial=0))
    yield "characteristic polynomial", np.array([np.poly(row / scale) for row in flat])


def _polar(u, h):
    yield "H", h
    yield "U H", u @ h
    smallest, largest = np.linalg.eigvalsh(h)[..., [0, -1]].reshape(-1, 2).T
    if (smallest > 1e-2 * largest).all():  # U is not unique for a singular matrix
        yield "U", u


def _lu(p, lower, upper):
    yield "P L U", p @ lower @ upper


def _packed_lu(packed, pivots, *_):
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    product = (np.tril(packed, -1) + np.eye(rows, columns))[..., :k] @ np.triu(packed)[..., :k, :]
    flat, swaps = (
        product.reshape(-1, rows, columns),
        pivots.real.astype(int).reshape(-1, k),
    )
    for matrix, swapped in zip(flat, swaps, strict=True):
        for i in range(k)[::-1]:
            matrix[[i, swapped[i] - 1]] = matrix[[swapped[i] - 1, i]]
    yield "P L U", flat


UNIQUE = {
    "linalg.svd": lambda u, s, vh: _svd(u, s, _adjoint(vh)),
    "svd": _svd,
    "svd_lowrank": _low_rank,
    "pca_lowrank": _low_rank,
    "linalg.eigh": _eigh,
    "linalg.eig": _eigenvalues,
    "linalg.eigvals": _eigenvalues,
    "linalg.polar": _polar,
    "linalg.lu": _lu,
    "linalg.lu_factor": _packed_lu,
    "linalg.lu_factor_ex": _packed_lu,
}


def unique_parts_differ(name, a, b):
    """Text on how the unique parts of two results of a decomposition differ, "" when they do not."""
    if [(t.dtype, t.size) for t in a] != [(t.dtype, t.size) for t in b]:
        return "the dtypes or sizes of the results"
    if any(0 in t.size for t in a[:2]):
        return ""
    here, there = [_matrix(t) for t in a], [_matrix(t) for t in b]
    if not all(np.isfinite(x).all() for x in here + there):
        return ""
    tolerance = STEP[a[0].dtype]
    for (part, x), (_, y) in zip(UNIQUE[name](*here), UNIQUE[name](*there), strict=False):
        with np.errstate(all="ignore"):
            error, scale = (
                np.abs(x - y).max(initial=0),
                max(1.0, np.abs(x).max(initial=0)),
            )
        if not error <= tolerance * scale and np.isfinite(scale):
            return f"{part}, by up to {error:g} of {scale:g}"
    return ""
