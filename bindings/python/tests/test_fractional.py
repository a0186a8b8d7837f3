"""fractional_max_pool2d and 3d, compared with a loop over windows."""

import itertools
import math

import pytest

import libtensor as torch

F = torch.nn.functional


def begins(u, size, kernel, count):
    """Where windows of a dimension begin."""
    if count == 1:
        return [size - kernel]
    apart = (size - kernel) / (count - 1)
    return [int((i + u) * apart) - int(u * apart) for i in range(count - 1)] + [size - kernel]


def walk(x, kernel, sizes, samples):
    values, places = torch.empty(*x.shape[:2], *sizes, dtype=x.dtype), torch.empty(*x.shape[:2], *sizes, dtype=torch.int64)
    for n, c in itertools.product(range(x.shape[0]), range(x.shape[1])):
        numbers = samples[n, c].tolist()
        if len(kernel) == 2:
            numbers = numbers[::-1]  # for images the width is first
        starts = [begins(u, s, k, m) for u, s, k, m in zip(numbers, x.shape[2:], kernel, sizes, strict=True)]
        for at in itertools.product(*map(range, sizes)):
            best = (-math.inf, -1)
            for tap in itertools.product(*map(range, kernel)):
                place = 0
                for d, size in enumerate(x.shape[2:]):
                    place = place * size + starts[d][at[d]] + tap[d]
                v = x[n, c].flatten()[place].item()
                if v > best[0] or math.isnan(v):
                    best = (v, place)
            values[(n, c, *at)], places[(n, c, *at)] = best
    return values, places


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_values(dtype):
    torch.manual_seed(0)
    for sizes, kernel, wanted in [
        ((2, 3, 7, 9), (2, 3), (3, 4)),
        ((1, 2, 5, 5), (1, 2), (5, 1)),
        ((2, 2, 6, 5, 8), (2, 1, 3), (2, 5, 4)),
        ((1, 1, 3, 4, 4), (3, 2, 2), (1, 3, 2)),
    ]:
        n = len(kernel)
        x = torch.randn(sizes, dtype=dtype)
        x[0, 0, ..., 1, 1] = math.nan
        samples = torch.rand(sizes[0], sizes[1], n, dtype=dtype)
        placed = getattr(F, f"fractional_max_pool{n}d_with_indices")
        plain = getattr(F, f"fractional_max_pool{n}d")
        for laid in (x, x.transpose(-1, 1).contiguous().transpose(-1, 1)):
            values, indices = placed(laid, kernel, wanted, _random_samples=samples)
            want, places = walk(x, kernel, wanted, samples)
            assert values.is_contiguous() and indices.equal(places)
            torch.testing.assert_close(values, want, rtol=0, atol=0, equal_nan=True)
            torch.testing.assert_close(plain(laid, kernel, wanted, _random_samples=samples), values, rtol=0, atol=0, equal_nan=True)
        one = placed(x[0], kernel, wanted, _random_samples=samples)
        assert one[1].equal(indices[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_16_bit_floats(dtype):
    x = torch.arange(49.0).reshape(1, 1, 7, 7).to(dtype)
    values, indices = F.fractional_max_pool2d_with_indices(x, 2, 4, _random_samples=torch.full((1, 1, 2), 0.5, dtype=dtype))
    assert values.dtype == dtype and values.long().equal(indices)
    assert indices.tolist() == [[[[8, 10, 12, 13], [22, 24, 26, 27], [36, 38, 40, 41], [43, 45, 47, 48]]]]


def test_numbers_are_drawn_as_rand_draws_them():
    x = torch.randn(2, 3, 9, 9)
    torch.manual_seed(5)
    found = F.fractional_max_pool2d(x, 2, output_ratio=0.5)
    after = torch.rand(1)
    torch.manual_seed(5)
    samples = torch.rand(2, 3, 2)
    assert found.equal(F.fractional_max_pool2d(x, 2, 4, _random_samples=samples)) and after.equal(torch.rand(1))


def test_gradients():
    torch.manual_seed(0)
    for n in (2, 3):
        x = torch.randn(2, 2, *(5, 6, 7)[:n], dtype=torch.float64, requires_grad=True)
        samples = torch.rand(2, 2, n, dtype=torch.float64)
        pool = getattr(F, f"fractional_max_pool{n}d")
        assert torch.autograd.gradcheck(lambda t, p=pool, s=samples: p(t, 2, 3, _random_samples=s), (x,))
        assert torch.autograd.gradgradcheck(lambda t, p=pool, s=samples: p(t, 2, 3, _random_samples=s), (x,))
        values, indices = pool(x, 3, 2, return_indices=True, _random_samples=samples)
        (grad,) = torch.autograd.grad(values.sum(), x)
        assert grad.flatten(2).sum(2).tolist() == [[2.0**n] * 2] * 2
        assert (grad.flatten(2).gather(2, indices.flatten(2)) > 0).all()


def test_sizes():
    x = torch.ones(2, 3, 9, 8)
    assert F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.25)).shape == (2, 3, 4, 2)
    assert F.fractional_max_pool2d(x, (3, 2), (2, 0)).shape == (2, 3, 2, 0)
    assert F.fractional_max_pool2d(x[:0], 2, 3).shape == (0, 3, 3, 3)
    assert F.fractional_max_pool2d(x.to("meta"), 2, 3).shape == (2, 3, 3, 3)
    wild = torch.tensor([math.nan, math.inf, -5.0, 1e30]).reshape(1, 2, 2)
    assert F.fractional_max_pool2d(x[:1, :2], 2, 3, _random_samples=wild).equal(torch.ones(1, 2, 3, 3))


X = torch.ones(2, 3, 9, 9)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: F.fractional_max_pool2d(X, 2), ValueError, "output_size or output_ratio"),
        (lambda: F.fractional_max_pool2d(X, 9, 3), RuntimeError, "do not fit.*9, 9.*3, 3"),
        (lambda: F.fractional_max_pool2d(X, 0, 3), RuntimeError, "kernel_size should be greater than zero"),
        (lambda: F.fractional_max_pool2d(X, 2, 9), RuntimeError, "do not fit"),
        (lambda: F.fractional_max_pool2d(X, 2, -1), RuntimeError, "do not fit"),
        (lambda: F.fractional_max_pool2d(X, 2, (2, 2, 2)), RuntimeError, "output_size must either be a single Int or tuple of 2 Ints"),
        (lambda: F.fractional_max_pool2d(X, 2, output_ratio=1.5), RuntimeError, "from 0 to 1.*1.5"),
        (lambda: F.fractional_max_pool2d(X, 2, output_ratio=(0.5, 0.5, 0.5)), ValueError, "must have 2 numbers"),
        (lambda: F.fractional_max_pool2d(X, 2, 3, _random_samples=torch.rand(1, 3, 2)), RuntimeError, r"2, 3, 2.*1, 3, 2"),
        (lambda: F.fractional_max_pool2d(X, 2, 3, _random_samples=torch.rand(2, 3, 2).double()), RuntimeError, "float32.*float64"),
        (lambda: F.fractional_max_pool2d(X[0, 0], 2, 3), IndexError, "3 or 4 dimensions"),
        (lambda: F.fractional_max_pool2d(X.int(), 2, 3), NotImplementedError, "int32"),
    ],
)
def test_errors(call, error, facts):
    with pytest.raises(error, match=facts):
        call()
