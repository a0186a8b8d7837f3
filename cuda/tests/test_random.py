"""Random numbers on the device: those that a philox generator draws on the CPU."""

import pytest
from operands import COMPLEX, FLOATS, INTEGERS, ORDERED, UNSIGNED, same

import libtensor as torch

FILLS = {
    "uniform": (FLOATS + COMPLEX, lambda x, g: x.uniform_(generator=g)),
    "uniform of a range": (FLOATS + COMPLEX, lambda x, g: x.uniform_(-3, 1.5, generator=g)),
    "normal": (FLOATS + COMPLEX, lambda x, g: x.normal_(1, 3, generator=g)),
    "log_normal": (FLOATS, lambda x, g: x.log_normal_(0.5, 1.5, generator=g)),
    "random": (ORDERED, lambda x, g: x.random_(generator=g)),
    "random to": (ORDERED, lambda x, g: x.random_(1, generator=g)),
    "random of a range": ([d for d in INTEGERS if d not in UNSIGNED] + FLOATS, lambda x, g: x.random_(-7, 99, generator=g)),
    "random of a wide range": ([torch.int64, torch.float64], lambda x, g: x.random_(-(2**40), 2**41, generator=g)),
    "random from": ([torch.int32, torch.int64, torch.float32], lambda x, g: x.random_(5, None, generator=g)),
    "random of all": ([torch.int64], lambda x, g: x.random_(-(2**63), None, generator=g)),
    "bernoulli": (ORDERED, lambda x, g: x.bernoulli_(0.3, generator=g)),
    "exponential": (FLOATS, lambda x, g: x.exponential_(2.5, generator=g)),
    "cauchy": (FLOATS, lambda x, g: x.cauchy_(1, 0.5, generator=g)),
    "geometric": (INTEGERS + FLOATS, lambda x, g: x.geometric_(0.2, generator=g)),
}


def generators(seed=5, offset=64):
    both = torch.Generator(engine="philox"), torch.Generator(device="cuda")
    for g in both:
        g.manual_seed(seed)
        g.set_offset(offset)
    return both


@pytest.mark.parametrize("name", FILLS)
def test_fills_are_those_of_the_cpu(name):
    dtypes, fill = FILLS[name]
    for dtype in dtypes:
        here, there = generators()
        for shape, view in (
            ((0,), lambda x: x),
            ((1,), lambda x: x),
            ((3, 5, 7), lambda x: x),
            ((6, 7, 4), lambda x: x.transpose(0, 2)[1:, ::2]),
            ((70_001,), lambda x: x[1:]),
        ):
            a, b = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype, device="cuda")
            fill(view(a), here)
            fill(view(b), there)
            assert here.get_offset() == there.get_offset(), (dtype, shape)
            parts = (lambda x: torch.view_as_real(x)) if dtype in (torch.complex64, torch.complex128) else lambda x: x
            assert same(parts(a), parts(b)), (dtype, shape)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_counts(dtype):
    """Each element takes as many numbers as it needs."""
    rates = (torch.rand(60, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 40).to(dtype).t()
    rates[:3, 0] = torch.tensor([0.0, float("inf"), 1e4], dtype=dtype)
    trials, chance = rates.floor(), torch.rand(50, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).to(dtype)
    trials[5, 5] = float("nan")
    for x, p in ((rates, chance), (rates[1:, ::2], chance[1:]), (rates[:0], chance[:0])):
        here, there = generators()
        assert same(torch.poisson(x, generator=here), torch.poisson(x.cuda(), generator=there))
        n = trials[: len(x), : x.shape[1]]
        assert same(torch.binomial(n, p, generator=here), torch.binomial(n.cuda(), p.cuda(), generator=there))
        assert here.get_offset() == there.get_offset()
    for wrong in (-1.0, float("nan")):
        here, there = generators()
        with pytest.raises(RuntimeError, match="poisson: expected a non-negative rate, but an element is"):
            torch.poisson(torch.tensor([1.0, wrong], device="cuda"), generator=there)
        assert here.get_offset() == there.get_offset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_bernoulli_of_a_tensor(dtype):
    here, there = generators()
    p = torch.rand(30, 40, dtype=dtype, generator=torch.Generator().manual_seed(1)).t()
    assert same(torch.bernoulli(p, generator=here), torch.bernoulli(p.cuda(), generator=there))
    a, b = torch.zeros(40, 30, dtype=torch.int64), torch.zeros(40, 30, dtype=torch.int64).cuda()
    assert same(a.bernoulli_(p, generator=here), b.bernoulli_(p.cuda(), generator=there))
    for bad in (-0.1, 1.5, float("nan")):
        offset = there.get_offset()
        p[3, 4] = bad
        with pytest.raises(RuntimeError, match="bernoulli: expected a probability in"):
            torch.bernoulli(p.cuda(), generator=there)
        assert there.get_offset() == offset


def test_factories():
    for f in (
        lambda d, g: torch.rand(3, 4, device=d, generator=g),
        lambda d, g: torch.randn(50, device=d, generator=g, dtype=torch.complex64).real,
        lambda d, g: torch.randint(3, 90, (5, 5), device=d, generator=g),
        lambda d, g: torch.rand_like(torch.zeros(3, 4, device=d))
        if g is None
        else torch.normal(torch.arange(5.0, device=d), 2.0, generator=g),
    ):
        here, there = generators()
        assert same(f("cpu", here), f("cuda", there))


def test_default_generators():
    torch.manual_seed(9)
    x, host = torch.rand(5, device="cuda"), torch.rand(5)
    assert same(torch.rand(5, generator=torch.Generator(engine="philox").manual_seed(9)), x)
    y = torch.rand(5, device="cuda")
    torch.manual_seed(9)
    assert (
        torch.equal(torch.rand(5, device="cuda"), x) and torch.equal(torch.rand(5, device="cuda"), y) and torch.equal(torch.rand(5), host)
    )
    assert torch.equal(torch.rand(5, device="cuda:1").cpu(), x.cpu())
    assert torch.randn(1000, device="cuda").std().item() == pytest.approx(1, abs=0.2)


def test_the_generators_of_devices():
    torch.cuda.manual_seed(4)
    x, state = torch.rand(3, device="cuda"), torch.cuda.get_rng_state()
    assert torch.cuda.initial_seed() == 4 and state.shape == (16,) and state.device.type == "cpu"
    y = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="cuda"), y)
    torch.cuda.manual_seed_all(4)
    assert torch.equal(torch.rand(3, device="cuda:1").cpu(), x.cpu()) and torch.equal(torch.rand(3, device="cuda"), x)
    states = torch.cuda.get_rng_state_all()
    torch.cuda.seed_all()
    assert len(states) == 2 and torch.cuda.initial_seed() != 4 and not torch.equal(torch.rand(3, device="cuda"), y)
    torch.cuda.set_rng_state_all(states)
    assert torch.equal(torch.rand(3, device="cuda:1").cpu(), y.cpu())
    torch.cuda.seed()
    torch.manual_seed(6)
    assert torch.cuda.initial_seed() == 6 == torch.initial_seed()


def test_permutations():
    here, there = generators()
    for n in (0, 1, 10, 5000):
        for dtype in (torch.int64, torch.float32, torch.int16):
            assert same(torch.randperm(n, dtype=dtype, generator=here), torch.randperm(n, dtype=dtype, generator=there, device="cuda"))
    assert here.get_offset() == there.get_offset()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_indices_of_weights(dtype):
    weights = torch.rand(9, 40, generator=torch.Generator().manual_seed(2)).to(dtype)
    weights[:, ::7] = 0
    here, there = generators()
    for w in (weights, weights.t()[1:7].repeat(1, 5), weights[3], weights[:0]):
        for samples, replacement in ((1, False), (5, False), (5, True), (300, True)):
            a, b = (torch.multinomial(x, samples, replacement, generator=g) for x, g in ((w, here), (w.cuda(), there)))
            assert same(a, b) and here.get_offset() == there.get_offset()
    out, expected = torch.zeros(5, 9, dtype=torch.int64).cuda().t(), torch.zeros(5, 9, dtype=torch.int64).t()
    assert same(torch.multinomial(weights, 5, out=expected, generator=here), torch.multinomial(weights.cuda(), 5, out=out, generator=there))
    for bad, why in ((-1, "entry -1, expected >= 0"), (float("inf"), "infinity"), (float("nan"), "entry NaN"), (0, "row 4 <= 0")):
        w = weights.clone()
        w[4] = bad
        for samples in (1, 5):
            with pytest.raises(RuntimeError, match=why):
                torch.multinomial(w.cuda(), samples, True, generator=there)
    assert here.get_offset() == there.get_offset()


def test_errors():
    x = torch.zeros(3, device="cuda")
    with pytest.raises(
        RuntimeError, match="uniform_: mt19937 generators support only the cpu; use Generator.device='cuda'., a philox generator"
    ):
        x.uniform_(generator=torch.Generator())
    with pytest.raises(RuntimeError, match="expected from <= to"):
        x.uniform_(3, 1)
    assert x.tolist() == [0, 0, 0]
