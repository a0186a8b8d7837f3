"""Random operators inside vmap draw the numbers that one call for all batch elements draws."""

import pytest

import libtensor as torch
from libtensor.func import grad, jvp, vmap

F = torch.nn.functional
ALL = {  # a function of a batch element, and the call for all of them
    "rand": (lambda x: torch.rand(3), lambda n: torch.rand(n, 3)),
    "randn, fewer than 16 each": (lambda x: torch.randn(5), lambda n: torch.randn(n, 5)),
    "randn, 17 each": (lambda x: torch.randn(17), lambda n: torch.randn(n, 17)),
    "randn, a number each": (lambda x: torch.randn(()), lambda n: torch.randn(n)),
    "randn of float64": (lambda x: torch.randn(5, dtype=torch.float64), lambda n: torch.randn(n, 5, dtype=torch.float64)),
    "randint": (lambda x: torch.randint(0, 9, (5,)), lambda n: torch.randint(0, 9, (n, 5))),
    "normal": (lambda x: torch.normal(torch.zeros(5), 1.0), lambda n: torch.normal(torch.zeros(n, 5), 1.0)),
    "normal of mapped means": (lambda x: torch.normal(x * torch.ones(5), 1.0), lambda n: torch.normal(torch.zeros(n, 5), 1.0)),
    "normal of sizes": (lambda x: torch.normal(0.0, 1.0, (5,)), lambda n: torch.normal(0.0, 1.0, (n, 5))),
    "normal_": (lambda x: (x * torch.ones(5)).normal_(), lambda n: torch.zeros(n, 5).normal_()),
    "rand_like of what is not mapped over": (lambda x: torch.rand_like(torch.ones(5)), lambda n: torch.rand_like(torch.ones(n, 5))),
    "bernoulli": (lambda x: torch.bernoulli(torch.ones(5) / 2), lambda n: torch.bernoulli(torch.ones(n, 5) / 2)),
    "bernoulli_ of mapped chances": (
        lambda x: (x * torch.ones(5)).bernoulli_(x + torch.ones(5) / 2),
        lambda n: torch.zeros(n, 5).bernoulli_(torch.ones(n, 5) / 2),
    ),
    "poisson": (lambda x: torch.poisson(torch.ones(5)), lambda n: torch.poisson(torch.ones(n, 5))),
    "dropout": (lambda x: F.dropout(x + torch.ones(5)), lambda n: F.dropout(torch.ones(n, 5))),
    "dropout in place": (lambda x: F.dropout(x + torch.ones(5), inplace=True), lambda n: F.dropout(torch.ones(n, 5))),
    "dropout of what is not mapped over": (lambda x: F.dropout(torch.ones(5)), lambda n: F.dropout(torch.ones(n, 5))),
    "alpha_dropout of what is not mapped over": (
        lambda x: F.alpha_dropout(torch.ones(5), training=True),
        lambda n: F.alpha_dropout(torch.ones(n, 5), training=True),
    ),
    "dropout2d of what is not mapped over": (
        lambda x: F.dropout2d(torch.ones(2, 3, 2, 2)).flatten(),
        lambda n: F.dropout2d(torch.ones(n * 2, 3, 2, 2)).reshape(n, -1),
    ),
    "gradient of dropout": (lambda x: grad(lambda w: F.dropout(w).sum())(torch.ones(5)), lambda n: F.dropout(torch.ones(n, 5))),
    "tangent of dropout": (lambda x: jvp(F.dropout, (torch.ones(5),), (torch.ones(5),))[1], lambda n: F.dropout(torch.ones(n, 5))),
}


def drawn(call):
    torch.manual_seed(3)
    return call(), torch.rand(1).item()


def assert_drawn_alike(got, want):
    assert torch.equal(got[0], want[0]) and got[1] == want[1]


@pytest.mark.parametrize("name", ALL)
def test_batch_elements_draw_the_values_of_one_call(name):
    each, together = ALL[name]
    for n in (1, 4, 20):
        assert_drawn_alike(drawn(lambda n=n: vmap(each, randomness="different")(torch.zeros(n))), drawn(lambda n=n: together(n)))


@pytest.mark.parametrize("name", ALL)
def test_nested_maps_draw_the_values_of_one_call(name):
    each, together = ALL[name]

    def nested():
        return vmap(lambda row: vmap(each, randomness="different")(row), randomness="different")(torch.zeros(2, 3)).flatten(0, 1)

    assert_drawn_alike(drawn(nested), drawn(lambda: together(6)))


@pytest.mark.parametrize("name", [name for name in ALL if "of mapped" not in name])
def test_the_same_numbers_are_drawn_once(name):
    each, together = ALL[name]
    torch.manual_seed(3)
    got = vmap(each, randomness="same")(torch.zeros(4))
    assert torch.equal(got, got[:1].expand_as(got))
    assert_drawn_alike(drawn(lambda: vmap(each, randomness="same")(torch.zeros(4))[:1]), drawn(lambda: together(1)))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize(
    "like", [torch.rand_like, torch.randn_like, lambda x: torch.randint_like(x, 10), lambda x: x.clone().exponential_()]
)
def test_memory_is_filled_in_its_order(like, dim):
    x = torch.zeros(3, 4, 2)
    got = drawn(lambda: vmap(like, in_dims=dim, randomness="different")(x))
    assert_drawn_alike(got, drawn(lambda: like(x.movedim(dim, 0))))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_nothing_is_drawn_for_no_batch_elements(randomness):
    for each, sizes in (
        (lambda x: torch.rand(3), (0, 3)),
        (torch.rand_like, (0, 2)),
        (F.dropout, (0, 2)),
        (lambda x: x.clone().normal_(), (0, 2)),
    ):
        assert vmap(each, randomness=randomness)(torch.zeros(0, 2)).shape == sizes
    assert vmap(lambda x: torch.rand(3, device="meta"), randomness=randomness)(torch.zeros(0, 2, device="meta")).device.type == "meta"


def test_calls_that_draw_nothing_are_no_random_operations():
    x = torch.ones(3, 4)
    assert torch.equal(vmap(lambda x: F.dropout(x, training=False))(x), x)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: F.dropout(torch.ones(4)))(x)
