"""Results that a dtype can hold are right where intermediate values overflow or underflow."""

import math

import numpy as np
import pytest

import libtensor as torch
import libtensor.nn.functional as F

HUGE = {torch.float64: 1.7e308, torch.float32: 3e38, torch.bfloat16: 3e38, torch.float16: 6e4}
TINY = {torch.float64: 1e-300, torch.float32: 1e-37, torch.bfloat16: 1e-37, torch.float16: 6e-5}
FLOATS = [torch.float64, torch.float32]


def close(made, want, dtype):
    relative = {torch.float64: 1e-14, torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}[dtype]
    made, want = np.array(made.double().tolist()), np.array(want, dtype=np.longdouble)
    assert np.all(np.abs(made - want) <= relative * np.abs(want)), (made, want)


def exact(t):
    return np.array(t.double().tolist(), dtype=np.longdouble)


def norm_of(x, p, axis=-1):
    if p == 0:
        return (x != 0).sum(axis)
    return (np.abs(x) ** np.longdouble(p)).sum(axis) ** (1 / np.longdouble(p))


@pytest.mark.parametrize("dtype", HUGE, ids=str)
@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, 7, -1, -2, -3])
def test_norms_are_scaled(dtype, p):
    for size in (HUGE[dtype] / 64, TINY[dtype] * 8, 1.0):
        for n in (2, 3, 17):
            x = (torch.tensor([[1 + (7 * i + j) % 5 / 8 for i in range(n)] for j in range(3)], dtype=torch.float64) * size).to(dtype)
            if p == 0.5 and size > 1:
                x = x / n**2
            want = norm_of(exact(x), p)
            if want.max() > HUGE[dtype] or want.min() < TINY[dtype] / 4:
                continue
            close(torch.linalg.vector_norm(x, p, dim=-1), want, dtype)
            close(torch.linalg.vector_norm(x.t(), p, dim=0, keepdim=True)[0], want, dtype)
            close(x[0].norm(p), want[0], dtype)
            out = torch.empty(3, dtype=dtype)
            assert torch.linalg.vector_norm(x, p, dim=-1, out=out) is out
            close(out, want, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms_of_zeros_infinities_and_nan(dtype):
    h = HUGE[dtype] / 4
    x = torch.tensor([[0, 0], [h, h], [math.inf, h], [math.nan, h], [-math.inf, math.inf], [TINY[dtype], 0]], dtype=dtype)
    made = x.norm(dim=1).tolist()
    assert made[0] == 0 and made[2] == math.inf and math.isnan(made[3]) and made[4] == math.inf
    close(x.norm(dim=1)[[1, 5]], [h * np.sqrt(np.longdouble(2)), TINY[dtype]], dtype)
    assert x.norm(-2, dim=1)[0] == 0


def test_norms_at_powers_that_may_have_lost_digits():
    for dtype, tiniest in ((torch.float32, -149), (torch.float64, -1074)):
        for exponent in range(tiniest, 0, 3 if dtype == torch.float32 else 31):
            x = (
                torch.tensor([3.0, 4.0], dtype=torch.float64)
                .mul(2.0 ** max(exponent, -1000))
                .mul(2.0 ** (exponent - max(exponent, -1000)))
                .to(dtype)
            )
            assert x.norm().item() == 5 / 3 * x[0].item() or abs(x.norm().item() / (5 / 3 * x[0].item()) - 1) < 1e-6
            assert torch.cdist(x[None], torch.zeros(1, 2, dtype=dtype)).item() == pytest.approx(x.norm().item(), rel=1e-6, abs=0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_distances_are_scaled(dtype, p):
    for size in (HUGE[dtype] / 64, TINY[dtype] * 8):
        for n in (2, 16, 17, 33):
            a = (torch.arange(3 * n, dtype=torch.float64).reshape(3, n) % 7 * size / 8).to(dtype)
            b = (torch.arange(2 * n, dtype=torch.float64).reshape(2, n) % 5 * size / 8).to(dtype)
            want = norm_of(exact(a)[:, None] - exact(b)[None], p)
            close(torch.cdist(a, b, p=p), want, dtype)
            close(F.pdist(a, p=p), norm_of(exact(a)[[0, 0, 1]] - exact(a)[[1, 2, 2]], p), dtype)
            close(torch.dist(a[0], b[0], p), want[0, 0], dtype)
            if size > 1:
                close(F.pairwise_distance(a[:2], b, p=p, eps=0), np.diag(want[:2]), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("rows", [25, 26])
def test_distances_by_products_are_scaled(dtype, mode, rows):
    for size in (HUGE[dtype] / 8, TINY[dtype] * 8):
        a = (torch.arange(3 * rows, dtype=torch.float64).reshape(rows, 3) * (size / (3 * rows))).to(dtype)
        b = a.flip(0) / 2
        close(torch.cdist(a, b, compute_mode=mode), norm_of(exact(a)[:, None] - exact(b)[None], 2), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_directions_are_scaled(dtype):
    for size in (HUGE[dtype] / 4, TINY[dtype] * 4):
        x = torch.tensor([[3.0, 4.0], [1.0, 1.0]], dtype=dtype) / 4 * size
        close(F.normalize(x, eps=0), [[0.6, 0.8], [0.5**0.5] * 2], dtype)
        close(F.cosine_similarity(x, x, eps=0), [1, 1], dtype)
        if size > 1:
            close(x.renorm(2, 0, size / 8), [[size * 0.6 / 8, size * 0.8 / 8], [size / 8 * 0.5**0.5] * 2], dtype)


def test_moments_of_huge_float64():
    h = HUGE[torch.float64]
    x = torch.tensor([[h, h, h], [h, -h, h], [-h / 2, h / 2, 0], [1e-200, 3e-200, 2e-200], [1, 2, 3]], dtype=torch.float64)
    close(x.mean(1), [h, h / 3, 0, 2e-200, 2], torch.float64)
    close(x[2:].std(1), [h / 2, 1e-200, 1], torch.float64)
    assert x[0].var() == 0 and x[0].std() == 0
    close(x[[0, 1]].mean(), exact(x[[0, 1]]).mean() if np.finfo(np.longdouble).max > 1e309 else 2 / 3 * h, torch.float64)
    close(x.nanmean(1), [h, h / 3, 0, 2e-200, 2], torch.float64)
    spread, mean = torch.var_mean(x[0])
    assert (spread.item(), mean.item()) == (0, h)
    complex_mean = torch.complex(x[0], -x[0]).mean()
    assert complex_mean.item() == complex(h, -h)
    assert torch.tensor([math.inf, 1.0]).double().mean() == math.inf
    assert torch.tensor([math.inf, -math.inf]).double().mean().isnan()


@pytest.mark.parametrize("dtype", HUGE, ids=str)
def test_ranges_of_all_numbers(dtype):
    h = HUGE[dtype]
    for steps in (2, 3, 5, 8):
        made = torch.linspace(-h, h, steps, dtype=dtype)
        close(made, [(2 * i - steps + 1) / (steps - 1) * np.longdouble(h) for i in range(steps)], dtype)
    start, end, weight = (torch.tensor(t, dtype=dtype) for t in ([-h, -h, h], [h, h, -h], [0.25, 0.75, 0.125]))
    close(torch.lerp(start, end, weight), [-h / 2, h / 2, h * 0.75], dtype)


@pytest.mark.parametrize("dtype", HUGE, ids=str)
@pytest.mark.parametrize("bins", [1, 2, 3, 7, 1000])
def test_histograms_of_all_numbers(dtype, bins):
    h = HUGE[dtype]
    x = torch.linspace(-h, h, 3 * bins + 1, dtype=dtype)[1::3]  # one in the middle of the first third of each bin
    if dtype in FLOATS or bins < 100:
        assert torch.histc(x, bins, -h, h).tolist() == [1] * bins
    if dtype in FLOATS:
        assert torch.histogram(x, bins, range=(-h, h))[0].tolist() == [1] * bins
        assert torch.histogramdd(x[:, None], [bins], range=(-h, h))[0].tolist() == [1] * bins


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_quantiles_next_to_infinities(dtype):
    inf = math.inf
    rows = {
        (-inf, 1, 2, inf): {0: -inf, 0.25: -inf, 1 / 3: 1, 0.5: 1.5, 0.75: inf, 1: inf},
        (inf, inf, inf): {0: inf, 0.4: inf, 1: inf},
        (-inf, -inf, 3): {0: -inf, 0.3: -inf, 0.75: -inf, 1: 3},
    }
    for values, wants in rows.items():
        for q, want in wants.items():
            for f in (torch.quantile, torch.nanquantile):
                assert f(torch.tensor(values, dtype=dtype), q).item() == pytest.approx(want, rel=1e-6)
    assert torch.quantile(torch.tensor([-inf, inf], dtype=dtype), 0.5).isnan()
    assert torch.quantile(torch.tensor([-HUGE[dtype], HUGE[dtype]], dtype=dtype), 0.5).item() == 0


@pytest.mark.parametrize("dtype", HUGE, ids=str)
def test_draws_by_huge_and_tiny_weights(dtype):
    generator = torch.Generator().manual_seed(5)
    for size in (HUGE[dtype], TINY[dtype] * 2):
        weights = torch.tensor([0, 1, 0.5, 0, 1, 0], dtype=torch.float64).mul(size).to(dtype)
        for made in (
            torch.multinomial(weights, 6000, replacement=True, generator=generator),
            torch.multinomial(weights.expand(6000, 6), 1, generator=generator).flatten(),
            torch.multinomial(weights.expand(6000, 6), 3, generator=generator)[:, 0],
        ):
            counts = made.bincount(minlength=6).tolist()
            assert [counts[i] for i in (0, 3, 5)] == [0, 0, 0]
            assert all(abs(counts[i] - share) < 250 for i, share in ((1, 2400), (2, 1200), (4, 2400)))


def test_nothing_draws_a_weight_of_0():
    """Exponentials that are 0 in 16 bits made 0 / 0 the winner."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        weights = torch.zeros(1 << 22, dtype=dtype)
        weights[-1] = 1
        for _ in range(4):
            assert torch.multinomial(weights, 1).item() == (1 << 22) - 1
    few = torch.tensor([0, 1e-7, 0, 6e4], dtype=torch.float16)
    for _ in range(200):
        assert sorted(torch.multinomial(few, 2).tolist()) == [1, 3]


def test_nan_is_last_wherever_values_are_ordered():
    nan = math.nan
    for dtype in HUGE:
        x = torch.tensor([3, nan, 1, nan, 2], dtype=dtype)
        ordered = x.sort()[0]
        for values in (x, x[:2]):  # more values than positions, and fewer
            for right in (False, True):
                before = {3: 2, 1: 0, 2: 1}
                want = [before[v] + right if v in before else (5 if right else 3) for v in values.tolist()]
                assert torch.searchsorted(ordered, values, right=right).tolist() == want
                assert torch.bucketize(values, ordered, right=right).tolist() == want
                assert torch.searchsorted(x, values, right=right, sorter=x.argsort()).tolist() == want
        rows = torch.tensor([[nan, 1], [2, nan], [nan, 1], [0, 0], [2, 5], [0, 0], [2, nan]], dtype=dtype)
        values, inverse, counts = torch.unique(rows, dim=0, return_inverse=True, return_counts=True)
        assert str(values.tolist()) == "[[0.0, 0.0], [2.0, 5.0], [2.0, nan], [2.0, nan], [nan, 1.0], [nan, 1.0]]"
        assert inverse.tolist() == [4, 2, 5, 0, 1, 0, 3] and counts.tolist() == [2, 1, 1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "area"])
def test_positions_beyond_float32(mode):
    n = (1 << 24) + 8
    x = torch.arange(n, dtype=torch.float64)[None, None]
    assert torch.equal(F.interpolate(x, size=n, mode=mode), x)
    if mode.startswith("nearest"):
        doubled = F.interpolate(x[..., : n // 2], size=n, mode=mode)[0, 0]
        assert torch.equal(doubled[::2], doubled[1::2]) and torch.equal(doubled[::2], x[0, 0, : n // 2])
        scaled = F.interpolate(x[..., : n // 2], scale_factor=2.0, mode=mode)[0, 0]
        assert torch.equal(scaled, doubled)
