"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

from .. import (
    Size,
    Tensor,
    arange,
    broadcast_shapes,
    cholesky_inverse,
    cholesky_solve,
    digamma,
    einsum,
    finfo,
    mvlgamma,
    nan,
    randn,
    tensor,
    tril_indices,
)
from ..linalg import cholesky, slogdet
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Returns the derivative of the logarithm of the multivariate gamma function of dimension `p`. Raises AssertionError for
    x <= (p - 1) / 2."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return digamma(x.unsqueeze(-1) - arange(p, dtype=x.dtype, device=x.device).div(2).expand(x.shape + (-1,))).sum(-1)


class Wishart(ExponentialFamily):
    """The Wishart distribution of `df` > K - 1 degrees of freedom and one of `covariance_matrix`, `precision_matrix` and `scale_tril`, the
    lower Cholesky factor of the covariance (..., K, K): of sums of `df` outer products of normal vectors with this covariance."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given: dict[str, Any] = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        ((name, matrix), *more) = [(k, v) for k, v in given.items() if v is not None] or [("", None)]
        if matrix is None or more:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._set_chi2()

    def _set_chi2(self) -> None:
        """Sets the distribution of the squared diagonal of Bartlett's factor: chi-squared numbers of df, df - 1, ... degrees of freedom."""
        less = arange(self._event_shape[-1], dtype=self._unbroadcasted_scale_tril.dtype, device=self._unbroadcasted_scale_tril.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - less.expand(tuple(self._batch_shape) + (-1,)))

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Wishart:
        new = self._expanded(Wishart, _instance, batch_shape, df=0, covariance_matrix=2, precision_matrix=2, scale_tril=2)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(tuple(batch_shape) + self.event_shape)
        new._set_chi2()
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the normal vectors."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._full(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, nan).view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        squares = V.pow(2) + einsum("...i,...j->...ij", diagonal, diagonal)
        return self.df.view(self._batch_shape + (1, 1)) * squares

    def _bartlett_sampling(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        p = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        factor = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed()
        i, j = tril_indices(p, p, offset=-1)
        shape = Size(tuple(sample_shape) + self._batch_shape + (p * (p - 1) // 2,))
        factor[..., i, j] = randn(shape, dtype=factor.dtype, device=factor.device)
        chol = self._unbroadcasted_scale_tril @ factor
        return chol @ chol.mT

    def rsample(self, sample_shape: Sequence[int] = Size(), max_try_correction: int | None = None) -> Tensor:
        """Returns random matrices by Bartlett's decomposition. Those that rounding makes singular are drawn again, up to
        `max_try_correction` times (default: 10), with a warning."""
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch's stream: positive definite samples are drawn a second time.
        again = self._any_of_batch(self.support.check(sample))
        for attempt in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            if attempt > 0:
                warnings.warn("Singular sample detected.", stacklevel=2)
            sample = sample.clone()
            sample[again] = self._bartlett_sampling(again[again].shape)
            again = self._any_of_batch(~self.support.check(sample))
        return sample

    def _any_of_batch(self, mask: Tensor) -> Tensor:
        """Returns which samples have an element of the batch that `mask` holds for."""
        for _ in self._batch_shape:
            mask = mask.any(-1)
        return mask

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        normalizer = -nu * (p * math.log(2) / 2 + self._half_log_det()) - mvlgamma(nu / 2, p=p)
        return normalizer + (nu - p - 1) / 2 * slogdet(value).logabsdet - trace / 2

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        scale = (p + 1) * (p * math.log(2) / 2 + self._half_log_det())
        return scale + mvlgamma(nu / 2, p=p) - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        x, y = natural_params
        p = self._event_shape[-1]
        half_df = y + (p + 1) / 2
        return half_df * (-slogdet(-2 * x).logabsdet + math.log(2) * p) + mvlgamma(half_df, p=p)
