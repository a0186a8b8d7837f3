"""Distributions at the edge of their parameters."""

import math

import pytest

import libtensor as torch
from libtensor import distributions as d
from libtensor.distributions.dirichlet import _Dirichlet_backward


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("end", [0, 1])
def test_continuous_bernoulli_of_huge_log_odds(dtype, end):
    logits = torch.tensor([torch.finfo(dtype).max * (1 if end else -1)], dtype=dtype, requires_grad=True)
    density = d.ContinuousBernoulli(logits=logits).log_prob(torch.tensor([end], dtype=dtype))
    eps = torch.finfo(dtype).eps
    assert density.item() == pytest.approx(math.log((math.log1p(-eps) - math.log(eps)) / (1 - 2 * eps)), rel=1e-4)
    density.sum().backward()
    assert logits.grad.item() == 0


def test_supports_of_mixtures_have_the_shape_of_the_value():
    weights = d.Categorical(torch.tensor([0.3, 0.7]))
    for components, event in (
        (d.Normal(torch.zeros(2), 1.0), ()),
        (d.Independent(d.Normal(torch.zeros(2, 3), 1.0), 1), (3,)),
        (d.MultivariateNormal(torch.zeros(2, 3), torch.eye(3)), (3,)),
    ):
        mixture = d.MixtureSameFamily(weights, components)
        for batch in ((), (4,), (5, 4)):
            assert mixture.support.check(torch.zeros((*batch, *event))).shape == batch


def test_dirichlet_backward_is_the_gradient_of_samples():
    a = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.2, 1.0]], dtype=torch.float64, requires_grad=True)
    x = d.Dirichlet(a).rsample()
    weight = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    (x * weight).sum().backward()
    assert torch.allclose(_Dirichlet_backward(x.detach(), a.detach(), weight), a.grad)


@pytest.mark.parametrize("make", [lambda: d.Gamma(torch.tensor([0.5, 3.0]), 2.0), lambda: d.Chi2(torch.tensor([1.0, 4.0]))])
def test_gamma_samples_of_a_generator(make):
    def draw(method, seed):
        return getattr(make(), method)((3,), generator=torch.Generator().manual_seed(seed))

    torch.manual_seed(5)
    want = make().sample((3,))
    before = torch.get_rng_state()
    for method in ("sample", "rsample"):
        assert torch.equal(draw(method, 5), want) and not torch.equal(draw(method, 6), want)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["HalfCauchy", "HalfNormal"])
def test_probabilities_by_name(name):
    half = getattr(d, name)(torch.tensor(2.0))
    assert torch.allclose(half.cdf(half.icdf(prob=torch.tensor([0.1, 0.9]))), torch.tensor([0.1, 0.9]))
