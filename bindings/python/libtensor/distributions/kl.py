"""Kullback-Leibler divergences between distributions, by formulas for pairs of classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from .. import Tensor, erf, full_like, inf
from ..autograd import grad
from ..linalg import solve_triangular
from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost
from .utils import euler_constant as _euler_gamma

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorates a function of instances p and q, and registers it as the divergence of `type_p` from `type_q` and of their subclasses.

    The function of the most specific pair is chosen. If the classes of p and of q select different pairs, that of p is used with a warning.
    Raises TypeError for an argument that is not a class.
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):  # packages have distributions of other base classes
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def decorator(fun: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


@total_ordering
class _Match:
    """Classes that are compared by how specific they are, the first ones first."""

    __slots__ = ["types"]

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    def __le__(self, other: _Match) -> bool:
        for mine, theirs in zip(self.types, other.types, strict=True):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _dispatch_kl(type_p: type, type_q: type) -> Callable[[Any, Any], Any]:
    """Returns the registered function of the most specific pair, or NotImplemented."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    left_p, left_q = min(_Match(*pair) for pair in matches).types
    right_q, right_p = min(_Match(*reversed(pair)) for pair in matches).types
    left, right = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if left is not right:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Returns the Kullback-Leibler divergence KL(p || q) in nats, of the shape of the batch: the mean of log p(x) - log q(x) over x of p.

    Raises NotImplementedError if no function is registered for the classes (`register_kl`).

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    fun = _KL_MEMOIZE.get(key)
    if fun is None:
        fun = _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if fun is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {key[0].__name__} and q type {key[1].__name__}")
    return fun(p, q)


def _infinite_like(tensor: Tensor) -> Tensor:
    return full_like(tensor, inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return tensor.xlogy(tensor)


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """Returns the trace of X X^T: the sum of squares of each matrix."""
    return bmat.pow(2).flatten(-2).sum(-1)


def _half_log_det(of: Any) -> Tensor:
    """Returns half the logarithm of the determinant of a normal distribution's covariance."""
    return of._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


# Members of one family


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Any:
    success = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    success = success.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    failure = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return success + failure.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    norm_p = p.concentration1.lgamma() + p.concentration0.lgamma() - total_p.lgamma()
    norm_q = q.concentration1.lgamma() + q.concentration0.lgamma() - total_q.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return norm_q - norm_p + first + second + (total_q - total_p) * total_p.digamma()


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return kl.masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: Any, q: Any) -> Any:
    norm_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    norm_q = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + norm_p - norm_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    norm = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    mean_log = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return norm + ((p.concentration - q.concentration) * mean_log).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normalizer, between the natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params = [param.detach().requires_grad_() for param in p._natural_params]
    normalizer = p._log_normalizer(*params)
    result = q._log_normalizer(*q._natural_params) - normalizer
    batch = max(len(p.batch_shape), len(q.batch_shape))
    for at_p, at_q, slope in zip(params, q._natural_params, grad(normalizer.sum(), params, create_graph=True), strict=True):
        term = (at_q - at_p) * slope
        result = result - _sum_rightmost(term, term.dim() - batch)
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Any:
    scale = q.concentration * (p.rate / q.rate).log() + (q.rate - p.rate) * (p.concentration / p.rate)
    shape = q.concentration.lgamma() - p.concentration.lgamma() + (p.concentration - q.concentration) * p.concentration.digamma()
    return scale + shape


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - shift + ratio * _euler_gamma + (shift + (1 + ratio).lgamma()).exp() - (1 + _euler_gamma)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Any:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _same_event_shape(p: Any, q: Any, of: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {of} with different event shapes cannot be computed")


def _lowrank_log_det(of: Any) -> Tensor:
    return _batch_lowrank_logdet(of._unbroadcasted_cov_factor, of._unbroadcasted_cov_diag, of._capacitance_tril)


def _lowrank_distance(p: Any, q: Any) -> Tensor:
    return _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)


def _lowrank_root(q: Any) -> Tensor:
    """Returns A with D^-1 - A^T A = (W W^T + D)^-1, by the Woodbury identity."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return solve_triangular(q._capacitance_tril, scaled, upper=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Any:
    _same_event_shape(p, q, "Low Rank Multivariate Normals")
    root, diag_p, diag_q = _lowrank_root(q), p._unbroadcasted_cov_diag, q._unbroadcasted_cov_diag
    trace = (diag_p / diag_q).sum(-1) + _batch_trace_XXT(p._unbroadcasted_cov_factor * diag_q.rsqrt().unsqueeze(-1))
    trace = trace - _batch_trace_XXT(root * diag_p.sqrt().unsqueeze(-2)) - _batch_trace_XXT(root @ p._unbroadcasted_cov_factor)
    return 0.5 * (_lowrank_log_det(q) - _lowrank_log_det(p) + trace + _lowrank_distance(p, q) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Any:
    _same_event_shape(p, q, "(Low Rank) Multivariate Normals")
    factor = p._unbroadcasted_scale_tril
    trace = _batch_trace_XXT(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _batch_trace_XXT(_lowrank_root(q) @ factor)
    return 0.5 * (_lowrank_log_det(q) - 2 * _half_log_det(p) + trace + _lowrank_distance(p, q) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: Any, q: Any) -> Any:
    _same_event_shape(p, q, "(Low Rank) Multivariate Normals")
    factor = q._unbroadcasted_scale_tril
    trace = _batch_trace_XXT(solve_triangular(factor, p._unbroadcasted_cov_factor, upper=False))
    trace = trace + _batch_trace_XXT(solve_triangular(factor, p._unbroadcasted_cov_diag.sqrt().diag_embed(), upper=False))
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    return 0.5 * (2 * _half_log_det(q) - _lowrank_log_det(p) + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Any:
    _same_event_shape(p, q, "Multivariate Normals")
    trace = _batch_trace_XXT(solve_triangular(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril, upper=False))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Any:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), inf)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


# Different families: minus the entropy of p less the mean of log q


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _mean_continuous_bernoulli(mean: Any, q: Any) -> Any:
    """Returns the mean of -log q(x) of a ContinuousBernoulli over x of `mean`."""
    return -mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_continuous_bernoulli(p.mean, q)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Any:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + norm - (q.concentration - 1) * mean_log + q.rate * p.mean


def _mean_normal(mean: Any, variance: Any, q: Any) -> Any:
    """Returns the mean of -log q(x) of a Normal over x of `mean` and `variance`."""
    return 0.5 * (2 * math.pi * q.variance).log() + 0.5 * (variance + (mean - q.loc).pow(2)) / q.variance


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_normal(p.mean, p.variance, q)


_kl_continuous_bernoulli_normal = _kl_beta_normal


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Any:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), inf)


_kl_continuous_bernoulli_uniform = _kl_beta_uniform


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * _euler_gamma - (1 + _euler_gamma)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Any:
    product, shift = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - shift + shift.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Any:
    return p.rate.log() - 1 + _mean_normal(p.mean, p.variance, q)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Any:
    product, shift, a = p.rate * q.scale, q.loc / q.scale, p.concentration
    mean_exp = shift.exp() * (1 + product.reciprocal()).pow(-a)
    return (a - 1) * a.digamma() - a.lgamma() - a + product.log() + a / product + mean_exp - shift


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_normal(p.mean, p.variance, q)


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_normal(p.mean, p.variance, q)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_normal(p.mean, p.variance, q)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Any:
    distance, ratio = (p.loc - q.loc) / q.scale, (p.scale / q.scale).pow(2)
    return -0.5 * ratio.log() + distance + (0.5 * ratio - distance).exp() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    scaled = distance / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * scaled.pow(2)).exp() + distance * erf(math.sqrt(0.5) * scaled)
    return -(p.scale / q.scale).log() + mean_distance / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return result.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Any:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    linear = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - mean_log + norm + (1 - q.concentration) * mean_log + linear - 1
    return result.masked_fill(p.alpha <= 1, inf)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Any:
    return (-p.entropy() + _mean_normal(p.mean, p.variance, q)).masked_fill(p.alpha <= 2, inf)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Any:
    width = p.high - p.low
    first = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    second = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    norm = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return (second + norm - width.log() - first).masked_fill((p.high > 1) | (p.low < 0), inf)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Any, q: Any) -> Any:
    result = -p.entropy() + _mean_continuous_bernoulli(p.mean, q)
    return result.masked_fill((p.high > 1) | (p.low < 0), inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Any, q: Any) -> Any:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < 0, inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Any:
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = -width.log() + norm + (1 - q.concentration) * mean_log + q.rate * (p.high + p.low) / 2
    return result.masked_fill(p.low < 0, inf)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Any:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Any:
    return -p.entropy() + _mean_normal(p.mean, p.variance, q)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Any:
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return result.masked_fill(p.low < q.scale, inf)


# Values of p that are outside of the support of q


def _infinite(p: type, parameter: str, *others: type) -> Callable[[Any, Any], Any]:
    """Registers infinity, of the shape of a parameter of p, for `p` and each of `others`."""

    def infinite(p: Any, q: Any) -> Any:
        return _infinite_like(getattr(p, parameter))

    for q in others:
        register_kl(p, q)(infinite)
    return infinite


_kl_beta_infinity = _infinite(Beta, "concentration1", Pareto)
_kl_continuous_bernoulli_infinity = _infinite(ContinuousBernoulli, "probs", Pareto)
_kl_exponential_infinity = _infinite(Exponential, "rate", Beta, ContinuousBernoulli, Pareto, Uniform)
_kl_gamma_infinity = _infinite(Gamma, "concentration", Beta, ContinuousBernoulli, Pareto, Uniform)
_kl_gumbel_infinity = _infinite(Gumbel, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_kl_laplace_infinity = _infinite(Laplace, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_kl_normal_infinity = _infinite(Normal, "loc", Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_kl_pareto_infinity = _infinite(Pareto, "scale", Beta, ContinuousBernoulli, Uniform)
_kl_poisson_infinity = _infinite(Poisson, "rate", Bernoulli, Binomial)
