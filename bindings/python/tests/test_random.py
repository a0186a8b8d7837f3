"""Generators: what they share with PyTorch's, and those that count."""

import copy
import math
import pickle
import threading

import pytest

import libtensor as torch


def philox(seed=3):
    return torch.Generator(engine="philox").manual_seed(seed)


DRAWS = {
    "uniform_": lambda t, g: t.uniform_(-1, 2, generator=g),
    "normal_": lambda t, g: t.normal_(1, 2, generator=g),
    "random_": lambda t, g: t.random_(0, 1000, generator=g),
    "bernoulli_": lambda t, g: t.bernoulli_(0.3, generator=g),
    "bernoulli_ of each": lambda t, g: t.bernoulli_(torch.linspace(0, 1, t.numel()).view(t.shape), generator=g),
    "exponential_": lambda t, g: t.exponential_(generator=g),
    "cauchy_": lambda t, g: t.cauchy_(generator=g),
    "log_normal_": lambda t, g: t.log_normal_(generator=g),
    "geometric_": lambda t, g: t.geometric_(0.2, generator=g),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_numbers_that_are_counted_do_not_depend_on_strides(draw, dtype):
    want = draw(torch.empty(70, 300, dtype=dtype), philox())
    room = torch.zeros(70, 900, dtype=dtype)
    for t in (torch.empty(300, 70, dtype=dtype).t(), room[:, 1:900:3][:, :300]):
        assert torch.equal(draw(t, philox()), want)
    assert room[:, ::3].count_nonzero() == 0 and room[:, 2::3].count_nonzero() == 0
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.equal(draw(torch.empty(70, 300, dtype=dtype), philox()), want)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_numbers_in_order_come_in_the_order_of_memory_whatever_the_gaps(draw):
    room = torch.zeros(8, 12, 14)
    for gaps, order in [(room[:, ::3, ::2].permute(2, 0, 1), (1, 2, 0)), (room[::2, 1:, 3:].mT, (0, 2, 1)), (room[1].t()[::2], (1, 0))]:
        back = [order.index(i) for i in range(len(order))]
        dense = torch.empty(gaps.permute(order).shape).permute(back)
        want = draw(dense, torch.Generator().manual_seed(3))
        assert not want.is_contiguous() and torch.equal(draw(gaps, torch.Generator().manual_seed(3)), want)


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
def test_normals_of_each_element_come_in_the_order_of_their_out(engine):
    def seeded():
        return torch.Generator(engine=engine).manual_seed(3)

    mean, std = torch.arange(40.0).view(20, 2), torch.arange(1.0, 41).view(20, 2)
    room = torch.zeros(20, 4)
    for out in (torch.zeros(20, 2), torch.zeros(2, 20).t(), room[:, ::2], room[:, 1:3], torch.zeros(4, 20)[::2].t()):
        want = out.normal_(generator=seeded()).mul(std).add(mean)
        assert torch.normal(mean, std, generator=seeded(), out=out) is out and torch.equal(out, want)
    assert torch.equal(torch.normal(mean, std, generator=seeded(), out=torch.zeros(0)), torch.normal(mean, std, generator=seeded()))
    drawn = seeded()
    with pytest.raises(NotImplementedError, match="int64"):
        torch.normal(mean, std, generator=drawn, out=torch.zeros(20, 2, dtype=torch.int64))
    assert torch.equal(drawn.get_state(), seeded().get_state())


def test_parameters_of_elements_go_with_their_indices():
    rates = torch.arange(600.0).view(20, 30) / 20
    want = torch.poisson(rates, generator=philox())
    assert torch.equal(torch.poisson(rates.t().contiguous().t(), generator=philox()), want)
    chances = rates / 30
    want = torch.bernoulli(chances, generator=philox())
    out = torch.empty(30, 20).t()
    assert torch.bernoulli(chances, generator=philox(), out=out) is out and torch.equal(out, want)
    assert torch.equal(torch.normal(rates, 2, generator=philox()), rates + 2 * torch.randn(20, 30, generator=philox()))
    out = torch.zeros(5, 3, dtype=torch.int64).t()
    torch.multinomial(chances[:3], 5, generator=philox(), out=out)
    assert torch.equal(out, torch.multinomial(chances[:3], 5, generator=philox()))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n, g: torch.rand(n, generator=g), 1),
        (lambda n, g: torch.rand(n, dtype=torch.float64, generator=g), 2),
        (lambda n, g: torch.randn(n, dtype=torch.complex64, generator=g), 2),
        (lambda n, g: torch.randint(2**27, (n,), generator=g), 1),
        (lambda n, g: torch.randint(2**28, (n,), generator=g), 2),
        (lambda n, g: torch.poisson(torch.full((n,), 30.0), generator=g), 4),
        (lambda n, g: torch.poisson(torch.full((n,), 3.0), generator=g), 4),
        (lambda n, g: torch.binomial(torch.full((n,), 30.0), torch.tensor(0.3), g), 4),
    ],
)
def test_elements_are_found_by_their_offset(make, words):
    g = philox()
    whole = make(1000, g)
    assert g.get_offset() == (1000 * words + 31) // 32 * 32
    assert torch.equal(make(7, philox()), whole[:7])
    g.set_offset(160 * words)
    assert g.initial_seed() == 3 and torch.equal(make(840, g), whole[160:])


# Blocks of normal numbers are of 16 reals: of 16 elements, or of 8 complex ones.
@pytest.mark.parametrize(
    ("dtype", "words", "together"),
    [(torch.float16, 1, 16), (torch.float32, 1, 16), (torch.float64, 2, 16), (torch.complex64, 2, 8), (torch.complex128, 4, 8)],
)
def test_normal_numbers_are_found_by_the_offsets_of_their_blocks(dtype, words, together):
    whole = torch.randn(200, dtype=dtype, generator=philox())
    g = philox()
    for i in (together, 3 * together):
        g.set_offset(i * words)
        assert torch.equal(torch.randn(100, dtype=dtype, generator=g), whole[i : i + 100])
    g.set_offset(together // 2 * words)
    assert not torch.equal(torch.randn(100, dtype=dtype, generator=g), whole[together // 2 : together // 2 + 100])
    if dtype.is_floating_point:
        whole = torch.empty(200, dtype=dtype).log_normal_(generator=philox())
        g.set_offset(16 * 2)
        assert torch.equal(torch.empty(100, dtype=dtype).log_normal_(generator=g), whole[16:116])


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
def test_generators_are_copied_with_their_states(engine):
    g = torch.Generator(engine=engine).manual_seed(-5)
    assert g.engine == engine and g.initial_seed() == 2**64 - 5
    torch.randn(3, generator=g)  # half of a pair is kept
    state = g.get_state()
    others = [g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g)), torch.Generator(engine=engine)]
    assert others[-1].set_state(state) is others[-1]
    want = torch.randn(5, generator=g)
    for other in others:
        assert other.engine == engine and other.initial_seed() == 2**64 - 5
        assert torch.equal(torch.randn(5, generator=other), want)
    assert g.seed() == g.initial_seed() != 2**64 - 5
    assert not torch.equal(torch.randn(5, generator=g.set_state(state)), torch.randn(5, generator=g))


def test_states_of_counters_are_seed_and_offset():
    g = philox(258)
    torch.rand(33, generator=g)
    assert g.get_state().tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda g: torch.Generator(engine="pcg"), "expected the engine mt19937 or philox, but got .pcg"),
        (lambda g: g.set_offset(2), "from 0 to 2.62 that is a multiple of 4, but got 2"),
        (lambda g: g.set_offset(-4), "but got -4"),
        (lambda g: g.set_offset(2**62 + 4), "but got 4611686018427387908"),
        (lambda g: g.set_state(torch.Generator().get_state()), "a state of philox, 16 bytes, but found 5056"),
        (lambda g: g.set_state(torch.full((16,), 255, dtype=torch.uint8)), "multiple of 4"),
        (lambda g: g.set_state(g.get_state().long()), "uint8"),
        (lambda g: torch.Generator().set_state(g.get_state()), "a state of mt19937, 5056 bytes, but found 16"),
        (lambda g: torch.Generator().get_offset(), "mt19937 generators have no offset"),
        (lambda g: torch.Generator().set_offset(0), "mt19937 generators have no offset"),
        (lambda g: torch.poisson(torch.tensor([1.0] * 9000 + [-1]), generator=g), "element 9000 is -1"),
        (lambda g: torch.multinomial(torch.tensor([0.0, 0]), 1, generator=g), "sum of probabilities"),
        (lambda g: torch.empty(3).normal_(std=-1, generator=g), "std=-1"),
    ],
)
def test_rejected_calls_draw_nothing(spoil, text):
    g = philox()
    torch.rand(100, generator=g)
    state = g.get_state()
    with pytest.raises((RuntimeError, TypeError), match=text):
        spoil(g)
    assert torch.equal(g.get_state(), state)


def test_threads_share_a_counter_without_drawing_a_number_twice():
    def rows(g, n):
        return {tuple(torch.randn(64, generator=g).tolist()) for _ in range(n)}

    g, found = philox(), []
    threads = [threading.Thread(target=lambda: found.append(rows(g, 50))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set.union(*found) == rows(philox(), 200) and sum(map(len, found)) == 200


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
def test_states_that_are_set_meanwhile_leave_whole_draws(engine):
    g = torch.Generator(engine=engine).manual_seed(1)
    state, wrong = g.get_state(), []
    known = {tuple(torch.rand(5000, generator=g)[:4].tolist()) for _ in range(8)}  # two threads draw no more after a state is set

    def draw():
        for _ in range(200):
            g.set_state(state)
            for _ in range(4):
                if tuple(torch.rand(5000, generator=g)[:4].tolist()) not in known:
                    wrong.append(1)

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize(("name", "most"), [("uint8", 256), ("int8", 128), ("int16", 32768), ("float16", 2049), ("bfloat16", 257)])
def test_permutations_reach_the_largest_number_of_a_dtype(name, most):
    dtype = getattr(torch, name)
    assert torch.randperm(most, dtype=dtype).long().sort().values.tolist() == list(range(most))
    with pytest.raises(RuntimeError, match=f"n={most + 1} is too large for {name}, which holds integers up to {most - 1}"):
        torch.randperm(most + 1, dtype=dtype)


def test_forks_name_devices_that_are_there():
    absent = torch.cuda.device_count()
    for device in (absent, f"cuda:{absent}", torch.device("cuda", absent)):
        with pytest.raises(RuntimeError, match=f"cuda:{absent}"), torch.random.fork_rng(devices=[device]):
            pass
        with torch.random.fork_rng([device], enabled=False):
            pass
    with pytest.raises(TypeError, match="not iterable"), torch.random.fork_rng(devices=0):
        pass
    with pytest.raises(RuntimeError, match="xyz"), torch.random.fork_rng(device_type="xyz"):
        pass


def test_forks_restore_the_default_generator():
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    with pytest.raises(KeyError), torch.random.fork_rng():
        torch.rand(5)
        raise KeyError
    assert torch.equal(torch.rand(2), want)
    torch.manual_seed(3)
    with torch.random.fork_rng(enabled=False):
        torch.rand(5)
    assert not torch.equal(torch.rand(2), want)
    torch.manual_seed(3)

    @torch.random.fork_rng()
    def draws():
        return torch.rand(2)

    assert torch.equal(draws(), want) and torch.equal(draws(), want)
    with torch.random.fork_rng(devices=[], device_type="cpu"):
        assert torch.equal(torch.rand(2), want)
    assert torch.random.default_generator.engine == "mt19937"
    assert torch.random.default_generator is torch.default_generator is torch.default_generator
    state = torch.random.get_rng_state()
    assert state.shape == (5056,) and torch.random.initial_seed() == 3
    assert torch.random.manual_seed(4) is torch.default_generator or torch.initial_seed() == 4
    torch.random.set_rng_state(state)
    assert torch.random.initial_seed() == 3 and torch.equal(torch.rand(2), want)
    assert torch.random.seed() == torch.random.initial_seed()


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_poisson_of_an_infinite_rate_is_infinite(engine, dtype):
    def draw(rates):
        return torch.poisson(rates, generator=torch.Generator(engine=engine).manual_seed(3))

    assert draw(torch.full((300,), math.inf, dtype=dtype)).tolist() == [math.inf] * 300
    mixed = draw(torch.tensor([math.inf, 0, math.inf, 4], dtype=dtype))
    assert mixed[:3].tolist() == [math.inf, 0, math.inf] and 0 <= mixed[3].item() < 30
    with pytest.raises(RuntimeError, match="element 0 is NaN"):
        draw(torch.full((1,), math.nan, dtype=dtype))


@pytest.mark.parametrize(
    ("dtype", "want"),
    [
        (torch.float32, [[1, 0, 7, 94, 3523, 1800769, 199982448, 10], [0, 0, 5, 93, 3608, 1798537, 199996160, 14]]),
        (torch.float64, [[1, 0, 7, 94, 3523, 1800769, 199982441, 10], [0, 0, 5, 93, 3608, 1798537, 199996165, 14]]),
    ],
)
def test_binomial_draws_pytorchs_numbers(dtype, want):
    count = torch.tensor([1, 7, 30, 100, 1e4, 3e6, 8e8, 25], dtype=dtype)
    prob = torch.tensor([0.5, 0.01, 0.2, 0.93, 0.35, 0.6, 0.25, 0.5], dtype=dtype)
    for seed, numbers in zip((0, 11), want, strict=True):
        drawn = torch.binomial(count, prob, torch.Generator().manual_seed(seed))
        assert drawn.dtype == dtype and drawn.tolist() == numbers


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_binomial_with_probabilities_0_and_1(engine, dtype):
    nan, inf = float("nan"), float("inf")
    count = torch.tensor([0, -3, 5, 5, 5, 5, inf, inf, nan, 5], dtype=dtype)
    prob = torch.tensor([0.5, 0.5, 0, -1, 1, 2, 0.25, 0, 0.5, nan], dtype=dtype)
    drawn = torch.binomial(count, prob, torch.Generator(engine=engine))
    assert repr(drawn.tolist()) == "[0.0, 0.0, 0.0, 0.0, 5.0, 5.0, inf, 0.0, nan, nan]"


@pytest.mark.parametrize("engine", ["mt19937", "philox"])
@pytest.mark.parametrize(("count", "prob"), [(10, 0.3), (100, 0.4), (1000, 0.002), (50, 0.9), (1e6, 0.5), (20, 0.97)])
def test_binomial_has_the_moments_of_its_distribution(count, prob, engine):
    n = 40000
    drawn = torch.binomial(
        torch.tensor(count, dtype=torch.float64), torch.full((n,), prob, dtype=torch.float64), torch.Generator(engine=engine).manual_seed(1)
    )
    variance = count * prob * (1 - prob)
    assert drawn.shape == (n,) and drawn.min().item() >= 0 and drawn.max().item() <= count
    assert abs(drawn.mean().item() - count * prob) < 5 * (variance / n) ** 0.5
    assert abs(drawn.var().item() / variance - 1) < 0.05
    assert torch.equal(drawn, drawn.round())


def test_parameters_of_binomial_broadcast_and_go_with_their_elements():
    count = torch.arange(60.0).view(20, 3)
    prob = torch.tensor([0.0, 0.5, 1.0])
    want = torch.binomial(count, prob, philox())
    assert want[:, 0].count_nonzero() == 0 and torch.equal(want[:, 2], count[:, 2])
    assert torch.equal(torch.binomial(count.t().contiguous().t(), prob.expand(20, 3), philox()), want)
    assert torch.binomial(count[:0], prob).shape == (0, 3)
    assert torch.binomial(torch.empty(4, 1, device="meta"), torch.empty(3, device="meta")).shape == (4, 3)
    g = philox()
    torch.binomial(count, prob, g)
    assert g.get_offset() == 256
    threads = torch.get_num_threads()
    many = torch.full((40000,), 30.0)
    try:
        torch.set_num_threads(1)
        alone = torch.binomial(many, prob[1], philox())
        torch.set_num_threads(3)
        assert torch.equal(torch.binomial(many, prob[1], philox()), alone)
    finally:
        torch.set_num_threads(threads)
    count.requires_grad_()
    torch.binomial(count, prob).sum().backward()
    assert count.grad.count_nonzero() == 0


@pytest.mark.parametrize(
    ("draw", "error", "text"),
    [
        (lambda c, p: torch.binomial(c.int(), p), ValueError, "expected count of a floating-point dtype, but got int32"),
        (lambda c, p: torch.binomial(c.to(torch.complex64), p), ValueError, "but got complex64"),
        (lambda c, p: torch.binomial(c, p.double()), RuntimeError, "prob of the dtype of count, float32, but got float64"),
        (lambda c, p: torch.binomial(c, p[:2]), RuntimeError, "3.*2"),
    ],
)
def test_errors_of_binomial(draw, error, text):
    with pytest.raises(error, match=text):
        draw(torch.ones(3), torch.ones(3))


def test_bernoulli_of_a_probability_without_dimensions():
    for dtype in (torch.float32, torch.float64):
        p = torch.tensor(0.3, dtype=dtype)
        drawn = []
        for given in (p, p.expand(50), p.reshape(1)):
            torch.manual_seed(3)
            drawn.append((torch.zeros(50).bernoulli_(given).tolist(), torch.rand(1).item()))
        assert drawn[0] == drawn[1] == drawn[2]
