"""Distributions: shapes, densities, moments, reparameterized gradients, divergences, and facts of PyTorch's streams."""

import copy
import math
import pickle
import warnings

import pytest

import libtensor as torch

D, C, t = torch.distributions, torch.distributions.constraints, torch.tensor
EYE = torch.eye(2, dtype=torch.float64)
CORRELATED = t([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)


def d64(*values):
    return t(values, dtype=torch.float64)


# Continuous distributions of numbers on [low, high] with most of their probability there.
CONTINUOUS = [
    (lambda: D.Beta(d64(1.5, 2), d64(1.5, 3)), 0, 1),
    (lambda: D.Cauchy(d64(0, 1), d64(1, 2)), -4e4, 4e4),
    (lambda: D.Chi2(d64(3, 5)), 0, 80),
    (lambda: D.ContinuousBernoulli(d64(0.2, 0.8)), 0, 1),
    (lambda: D.Exponential(d64(0.5, 2)), 0, 60),
    (lambda: D.FisherSnedecor(d64(5, 7), d64(8, 9)), 0, 4000),
    (lambda: D.Gamma(d64(1.5, 3), d64(1, 2)), 0, 60),
    (lambda: D.GeneralizedPareto(d64(0, 1), d64(1, 2), d64(0.1, 0.2)), d64(0, 1), 4000),
    (lambda: D.Gumbel(d64(0, 1), d64(1, 2)), -20, 80),
    (lambda: D.HalfCauchy(d64(1, 2)), 0, 4e4),
    (lambda: D.HalfNormal(d64(1, 2)), 0, 30),
    (lambda: D.InverseGamma(d64(3, 4), d64(1, 2)), 0, 2000),
    (lambda: D.Kumaraswamy(d64(1.5, 3), d64(2, 1.5)), 0, 1),
    (lambda: D.Laplace(d64(0, 1), d64(1, 2)), -80, 80),
    (lambda: D.LogNormal(d64(0, 0.5), d64(0.5, 0.7)), 0, 200),
    (lambda: D.Normal(d64(0, 1), d64(1, 2)), -30, 30),
    (lambda: D.Pareto(d64(1, 2), d64(3, 4)), d64(1, 2), 4000),
    (lambda: D.RelaxedBernoulli(t(1.5, dtype=torch.float64), d64(0.3, 0.6)), 0, 1),
    (lambda: D.StudentT(d64(5, 9), d64(0, 1), d64(1, 2)), -2000, 2000),
    (lambda: D.Uniform(d64(0, 1), d64(1, 3)), d64(0, 1), d64(1, 3)),
    (lambda: D.VonMises(d64(0, 1), d64(1, 4)), -math.pi, math.pi),
    (lambda: D.Weibull(d64(1, 2), d64(1.5, 3)), 0, 40),
    (lambda: D.MixtureSameFamily(D.Categorical(d64(0.3, 0.7)), D.Normal(d64(0, 1).expand(2, 2), d64(1, 2))), -30, 30),
    (lambda: D.TransformedDistribution(D.Normal(d64(0, 0.5), 0.5), [D.AffineTransform(0.5, -1.0), D.ExpTransform()]), 0, 200),
]
DISCRETE = [
    (lambda: D.Bernoulli(d64(0.3, 0.6)), 1),
    (lambda: D.Binomial(10, d64(0.2, 0.7)), 10),
    (lambda: D.Categorical(t([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], dtype=torch.float64)), 2),
    (lambda: D.Geometric(d64(0.3, 0.8)), 120),
    (lambda: D.NegativeBinomial(d64(3, 5), d64(0.2, 0.7)), 200),
    (lambda: D.Poisson(d64(0.5, 20)), 100),
]
VECTORS = [
    lambda: D.Dirichlet(t([[0.5, 1, 2], [3, 1, 1]], dtype=torch.float64)),
    lambda: D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1),
    lambda: D.LKJCholesky(3, d64(0.5, 2)),
    lambda: D.LogisticNormal(t([[0.0, 1], [1, 0]], dtype=torch.float64), d64(1, 2)),
    lambda: D.LowRankMultivariateNormal(torch.zeros(2, 3), t([[1.0], [0.2], [0.4]]), t([1.0, 2, 0.5])),
    lambda: D.Multinomial(5, t([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    lambda: D.MultivariateNormal(torch.zeros(2, 2, dtype=torch.float64), CORRELATED),
    lambda: D.OneHotCategorical(t([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    lambda: D.OneHotCategoricalStraightThrough(logits=t([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    lambda: D.RelaxedOneHotCategorical(t(0.5), t([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])),
    lambda: D.Wishart(d64(4, 5), CORRELATED),
]
ALL = [make for make, *_ in CONTINUOUS + DISCRETE] + VECTORS


def name(make):
    return type(make()).__name__


@pytest.mark.parametrize("make", ALL, ids=name)
def test_shapes(make):
    d = make()
    assert d.batch_shape == (2,)
    for shape in ((), (3,), (2, 3)):
        x = d.sample(shape)
        assert x.shape == shape + d.batch_shape + d.event_shape and not x.requires_grad
        assert d.support.check(x).all()
        assert d.log_prob(x).shape == shape + (2,)
    wide = d.expand((4, 2))
    assert type(wide) is type(d) and wide.batch_shape == (4, 2) and wide.event_shape == d.event_shape
    assert wide.sample((3,)).shape == (3, 4, 2) + d.event_shape
    assert torch.allclose(wide.log_prob(x[0, 0]), d.log_prob(x[0, 0]).expand(4, 2))
    for other in (copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert repr(other) == repr(d) and torch.equal(other.log_prob(x), d.log_prob(x))


@pytest.mark.parametrize(("make", "low", "high"), CONTINUOUS, ids=[name(make) for make, *_ in CONTINUOUS])
def test_density_integrates_to_probability(make, low, high):
    d, n = make(), 40001
    # Points that are dense at both ends, where densities may be steep, and around 0.
    low, high = torch.broadcast_tensors(torch.as_tensor(low, dtype=torch.float64), torch.as_tensor(high, dtype=torch.float64))
    u = torch.linspace(-1, 1, n, dtype=torch.float64)[:, None]
    inner = torch.sinh(6 * u) / math.sinh(6) if (high - low).max() > 10 else u
    x = (low + high) / 2 + (high - low) / 2 * inner
    if low.min() >= 0 and (high - low).max() > 10:
        x = low + (high - low) * ((u + 1) / 2) ** 6
    x = x.expand(n, 2).clone()
    x[0], x[-1] = x[0] * (1 - 1e-9) + x[1] * 1e-9, x[-1] * (1 - 1e-9) + x[-2] * 1e-9
    density = d.log_prob(x).exp()
    assert torch.allclose(torch.trapezoid(density, x, dim=0), torch.ones(2, dtype=torch.float64), atol=2e-3)
    if (high - low).max() < 5000 and not isinstance(d, D.VonMises):
        mean = torch.trapezoid(density * x, x, dim=0)
        if not isinstance(d, (D.RelaxedBernoulli, D.TransformedDistribution)) or isinstance(d, (D.LogNormal, D.Gumbel)):
            assert torch.allclose(d.mean, mean, rtol=5e-3, atol=5e-3)
            assert torch.allclose(d.variance, torch.trapezoid(density * (x - mean) ** 2, x, dim=0), rtol=0.02)
        try:
            entropy = d.entropy()
        except NotImplementedError:
            return
        assert torch.allclose(entropy, -torch.trapezoid(torch.xlogy(density, density), x, dim=0), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("make", [make for make, *_ in CONTINUOUS], ids=name)
def test_cdf_and_icdf_are_inverse(make):
    d = make()
    q = d64(0.1, 0.4, 0.7)[:, None].expand(3, 2)
    try:
        x = d.icdf(q)
        back = d.cdf(x)
    except NotImplementedError:
        return
    assert torch.allclose(back, q, atol=1e-6)
    h = 1e-5
    slope = (d.cdf(x + h) - d.cdf(x - h)) / (2 * h)
    assert torch.allclose(slope, d.log_prob(x).exp(), rtol=1e-4)


@pytest.mark.parametrize(("make", "last"), DISCRETE, ids=[name(make) for make, _ in DISCRETE])
def test_masses_sum_to_one(make, last):
    d = make()
    values = torch.arange(last + 1, dtype=torch.float64)[:, None].expand(-1, 2)
    mass = d.log_prob(values).exp()
    assert torch.allclose(mass.sum(0), torch.ones(2, dtype=torch.float64))
    if not isinstance(d, D.Categorical):
        mean = (mass * values).sum(0)
        assert torch.allclose(d.mean, mean)
        assert torch.allclose(d.variance, (mass * (values - mean) ** 2).sum(0))
    if d.has_enumerate_support:
        support = d.enumerate_support()
        assert torch.equal(support.double(), values)
        assert torch.allclose(d.entropy(), -(mass * mass.log()).sum(0))


@pytest.mark.parametrize("shape", [1e-3, 0.1, 0.7, 1.0, 2.5, 9.0, 80.0, 3e4, 2e5])
def test_gamma_gradient_is_that_of_the_quantile(shape):
    special = pytest.importorskip("scipy.special")
    p = torch.linspace(0.02, 0.98, 25, dtype=torch.float64)
    a, h = torch.full_like(p, shape), (1e-6 if shape < 1 else 1e-4) * shape
    x = torch.from_numpy(special.gammaincinv(a.numpy(), p.numpy()))
    want = torch.from_numpy((special.gammaincinv(a.numpy() + h, p.numpy()) - special.gammaincinv(a.numpy() - h, p.numpy())) / (2 * h))
    assert torch.allclose(torch._standard_gamma_grad(a, x), want, rtol=2e-6, atol=0)


@pytest.mark.parametrize(("a", "b"), [(0.05, 0.3), (0.5, 0.5), (1.0, 1.0), (2.0, 5.0), (9.0, 0.7), (300.0, 40.0), (2e4, 3e4)])
def test_beta_gradient_is_that_of_the_quantile(a, b):
    special = pytest.importorskip("scipy.special")
    p, h = torch.linspace(0.05, 0.95, 19, dtype=torch.float64), 1e-4 * a
    x = torch.from_numpy(special.betaincinv(a, b, p.numpy()))
    inner = (x > 1e-200) & (x < 1 - 1e-9)
    want = torch.from_numpy((special.betaincinv(a + h, b, p.numpy()) - special.betaincinv(a - h, b, p.numpy())) / (2 * h)) / (1 - x)
    got = torch._dirichlet_grad(x, torch.full_like(x, a), torch.full_like(x, a + b))
    assert inner.any() and torch.allclose(got[inner], want[inner], rtol=2e-5)


def test_samples_are_those_of_pytorch():
    torch.manual_seed(0)
    drawn = torch._standard_gamma(t([2.0] * 4, dtype=torch.float64))
    assert [v.hex() for v in drawn.tolist()] == [
        "0x1.235e2c0ac5469p+2",
        "0x1.50da08c958aa1p+0",
        "0x1.3e79a318b3556p-1",
        "0x1.bd0e798cde9d8p-2",
    ]
    drawn = torch._standard_gamma(t([2.0] * 4))
    assert [v.hex() for v in drawn.tolist()] == [
        "0x1.ccbcce0000000p-1",
        "0x1.32c3b20000000p+0",
        "0x1.9318be0000000p-1",
        "0x1.c3c8c60000000p+1",
    ]


@pytest.mark.parametrize("make", [make for make, *_ in CONTINUOUS if make().has_rsample], ids=name)
def test_gradients_of_samples_are_those_of_means(make):
    """d mean / d parameter is the mean of the gradients of reparameterized samples."""
    d = make()
    names = [n for n in d.arg_constraints if n in d.__dict__]
    if not names or isinstance(d, (D.Cauchy, D.RelaxedBernoulli, D.TransformedDistribution, D.Beta, D.Chi2)) or "df2" in names:
        return
    params = {n: getattr(d, n).detach().requires_grad_() for n in names if n != "probs" or isinstance(d, D.ContinuousBernoulli)}
    d = type(d)(**params)
    torch.manual_seed(0)
    drawn = torch.autograd.grad(d.rsample((40000,)).mean(0).sum(), list(params.values()), retain_graph=True)
    exact = torch.autograd.grad(d.mean.sum(), list(params.values()), allow_unused=True)
    for got, want in zip(drawn, exact, strict=True):
        assert torch.allclose(got, torch.zeros_like(got) if want is None else want, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("draw", [torch._standard_gamma, torch._sample_dirichlet])
def test_second_derivatives_of_draws_are_rejected(draw):
    shape = torch.tensor([0.5, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad(draw(shape)[0], shape, create_graph=True)
    with pytest.raises(NotImplementedError, match="derivative"):
        first.sum().backward()


PAIRS = [
    (lambda: D.Bernoulli(d64(0.3, 0.6)), lambda: D.Bernoulli(d64(0.5, 0.2))),
    (lambda: D.Bernoulli(d64(0.3, 0.6)), lambda: D.Poisson(d64(0.5, 0.2))),
    (lambda: D.Poisson(d64(3, 6)), lambda: D.Poisson(d64(5, 4))),
    (lambda: D.Geometric(d64(0.3, 0.6)), lambda: D.Geometric(d64(0.5, 0.4))),
    (lambda: D.Cauchy(d64(0, 1), d64(1, 2)), lambda: D.Cauchy(d64(1, 1), d64(2, 1))),
    (lambda: D.Dirichlet(t([[1.5, 1, 2], [3, 1, 1]])), lambda: D.Dirichlet(t([[1.0, 1, 1], [2, 2, 1]]))),
    (lambda: D.MultivariateNormal(d64(0, 1), CORRELATED), lambda: D.MultivariateNormal(d64(1, 1), EYE)),
    (lambda: D.Pareto(d64(2, 3), d64(5, 4)), lambda: D.Pareto(d64(1, 2), d64(3, 4))),
    (lambda: D.Wishart(d64(4, 5), CORRELATED), lambda: D.Wishart(d64(5, 6), EYE)),
]
REAL = [lambda: D.Normal(d64(0.2, 1), d64(1, 1.5)), lambda: D.Laplace(d64(0, 1), d64(1, 2)), lambda: D.Gumbel(d64(0, 1), d64(1, 2))]
HALF = [lambda: D.Gamma(d64(1.5, 3), d64(1, 2)), lambda: D.Exponential(d64(0.5, 2))]
UNIT = [
    lambda: D.Beta(d64(1.5, 2), d64(1.5, 3)),
    lambda: D.ContinuousBernoulli(d64(0.2, 0.8)),
    lambda: D.Uniform(d64(0.1, 0.2), d64(0.7, 0.9)),
]
PAIRS += [(p, q) for p in REAL + HALF + UNIT for q in REAL] + [(p, q) for p in HALF + UNIT for q in HALF]
PAIRS += [(p, q) for p in UNIT for q in UNIT[:2]] + [(UNIT[2], lambda: D.Uniform(d64(0, 0), d64(1, 1)))]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=[f"{name(p)}-{name(q)}" for p, q in PAIRS])
def test_divergence_is_the_mean_difference_of_log_probabilities(p, q):
    p, q = p(), q()
    try:
        kl = D.kl_divergence(p, q)
    except NotImplementedError:
        assert (type(p), type(q)) not in D.kl._KL_REGISTRY
        return
    torch.manual_seed(1)
    x = p.sample((40000,))
    difference = (p.log_prob(x) - q.log_prob(x)).to(torch.float64)
    error = 6 * difference.std(0) / 200
    assert (abs(difference.mean(0) - kl) < error + 1e-3).all()


def test_divergence_is_chosen_by_class():
    class Mine(D.Normal):
        pass

    class Other(D.Normal):
        pass

    assert D.kl_divergence(Mine(0.0, 1.0), Other(1.0, 1.0)) == 0.5
    D.register_kl(Mine, D.Normal)(lambda p, q: "mine")
    D.register_kl(D.Normal, Other)(lambda p, q: "other")
    try:
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Other\). Please register_kl\(Mine, Other\)"):
            assert D.kl_divergence(Mine(0.0, 1.0), Other(1.0, 1.0)) == "mine"
        D.register_kl(Mine, Other)(lambda p, q: "both")
        assert D.kl_divergence(Mine(0.0, 1.0), Other(1.0, 1.0)) == "both"
        with pytest.raises(NotImplementedError, match="No KL"):
            D.kl_divergence(D.VonMises(0.0, 1.0), D.Normal(0.0, 1.0))
        with pytest.raises(TypeError, match="type_p"):
            D.register_kl(1, D.Normal)
    finally:
        for pair in [(Mine, D.Normal), (D.Normal, Other), (Mine, Other)]:
            D.kl._KL_REGISTRY.pop(pair, None)
        D.kl._KL_MEMOIZE.clear()


def test_rejected_parameters_and_values():
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(2,\)\).*GreaterThan\(lower_bound=0.0\)"):
        D.Normal(t([0.0, 1]), t([1.0, -1]))
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    with pytest.raises(ValueError, match="within the support"):
        D.Exponential(1.0).log_prob(t(-1.0))
    with pytest.raises(ValueError, match="right-most size"):
        D.Dirichlet(torch.ones(2)).log_prob(torch.ones(3))
    with pytest.raises(ValueError, match="not broadcastable"):
        D.Normal(torch.zeros(2), 1.0).log_prob(torch.ones(3))
    with pytest.raises(ValueError, match="Either `probs` or `logits`"):
        D.Bernoulli()

    class Fixed(D.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match=r"Subclass Fixed of Normal .* custom .expand\(\)"):
        Fixed().expand((2,))


def test_defaults_of_validation():
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Distribution.set_default_validate_args(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        D.Normal(0.0, 1.0)


def test_scalar_parameters_have_no_batch():
    for d in (D.Normal(0.0, 1.0), D.Bernoulli(0.5), D.Gamma(1.0, 2.0), D.Poisson(3), D.Beta(1.0, 2.0)):
        assert d.batch_shape == () and d.sample().dtype == torch.float32
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Categorical(torch.ones(3))) == "Categorical(probs: torch.Size([3]))"


def test_gradients_of_draws_end_for_numbers_of_any_size():
    """Series and continued fractions that do not converge, for example for NaN, end."""
    sizes = [0.0, 5e-324, 1e-308, 1e-30, 0.5, 1.0, 100.0, 1e5, 1.1e5, 1e10, 1e30, 1e300, 1.7e308, math.inf, math.nan, -1.0]
    e = torch.tensor(sizes, dtype=torch.float64)
    n = len(sizes)
    made = torch._standard_gamma_grad(e[:, None].expand(n, n).contiguous(), e.expand(n, n).contiguous())
    assert made.shape == (n, n)
    x = torch.tensor([0.0, 5e-324, 1e-10, 0.5, 1 - 1e-10, 1.0, math.nan, 2.0], dtype=torch.float64)
    shape = (len(x), n, n)
    made = torch._dirichlet_grad(*(t.expand(shape).contiguous() for t in (x[:, None, None], e[:, None], e)))
    assert made.shape == shape and made[-1].isnan().all()
