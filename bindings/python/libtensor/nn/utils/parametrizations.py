"""Parametrizations of weights: orthogonal matrices, weight and spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, TypeVar

from ... import _weight_norm, cat, eye, finfo, geqrf, matrix_exp, norm_except_dim, randn, zeros_like
from ..._core.modes import no_grad
from ..._core.tensor import Tensor
from ..._gen.gen_linalg import householder_product, solve
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_M = TypeVar("_M", bound=Module)


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    """Returns whether the columns of Q are orthonormal, to a precision of `eps` times the number of rows."""
    n, k = Q.size(-2), Q.size(-1)
    identity = eye(k, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * n * finfo(Q.dtype).eps if eps is None else eps
    return bool((Q.mH @ Q - identity).abs().le(eps).all())


def _make_orthogonal(A: Tensor) -> Tensor:
    """Returns the orthogonal factor Q of A, with the signs for which the diagonal of R is positive."""
    X, tau = geqrf(A)
    Q = householder_product(X, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        Q = self._reflected(tall) if self.orthogonal_map is _OrthMaps.householder else self._rotated(tall)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """Maps a skew-Hermitian matrix, from the lower triangle of X, to an orthogonal one."""
        n, k = X.size(-2), X.size(-1)
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = matrix_exp(A)
        else:
            identity = eye(n, dtype=A.dtype, device=A.device)
            Q = solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :k] if n != k else Q

    def _reflected(self, X: Tensor) -> Tensor:
        """Returns the product of the Householder reflections in the columns of X below the diagonal; the diagonal has the signs of the
        columns.
        """
        A = X.tril(-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        return householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        given, wide = Q, Q.size(-2) < Q.size(-1)
        if wide:
            Q = Q.mT
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            A, tau = geqrf(Q)
            signs = A.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1
            return A.mT if wide else A
        if n != k:
            Q = _make_orthogonal(cat([Q, randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype, device=Q.device)], -1))
        else:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        self.base = Q
        # The map sends minus the identity to the identity, which multiplies `base`.
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module: _M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> _M:
    """Keeps the parameter `name` orthogonal: its columns, or rows if it is wide, orthonormal. Returns the module.

    `orthogonal_map` is matrix_exp, the exponential of a skew-symmetric matrix, the default for square and complex weights; cayley, `(I -
    A/2)^-1 (I + A/2)`; or householder, a product of reflections, the default for others. With `use_trivialization` the result is multiplied
    by a matrix that follows assignments, the buffer `base`. Raises ValueError for other maps and for tensors of less than two dimensions.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, chosen, use_trivialization=use_trivialization), unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        if weight.dim() == 0:
            raise IndexError(f"Dimension specified as {self.dim} but tensor has no dimensions")
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: _M, name: str = "weight", dim: int | None = 0) -> _M:
    """Computes the parameter `name` as `g * v / |v|`, with norms over all dimensions except `dim` (Salimans and Kingma, 2016). Returns the
    module.

    `module.parametrizations.NAME.original0` is g, `original1` v. `dim=None` computes one norm of all elements. State dictionaries of
    `torch.nn.utils.weight_norm` can be loaded.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_former(
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        former = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in former):
            for i, key in enumerate(former):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_former)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        n = weight.dim()
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % n, eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            u, v = (matrix.new_empty(size).normal_(0, 1) for size in matrix.size())
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1) if self.dim else weight.flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(weight_mat.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Later calls write to the vectors, which the backward pass of this call needs.
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        # Any matrix is a valid original; the result is normalized.
        return value


def spectral_norm(module: _M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> _M:
    """Divides the parameter `name` by its largest singular value, which a power method estimates at each use during training
    (Miyato et al., 2018). Returns the module.

    Rows of the matrix are dimension `dim`, by default 0, and 1 for transposed convolutions; vectors are divided by their norm. Raises
    ValueError unless `n_power_iterations` is positive."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
