"""Elementwise operators over as many elements as a thread has one of, and over more, of which it has several at a time (cuda/elementwise.go)."""

import pytest
from operands import check

import libtensor as torch

SIZES = [(1 << 18) - 1, (1 << 18) + 1, (1 << 20) + 3]


def values(dtype, n, seed=1):
    x = torch.randint(-4, 5, (n,), generator=torch.Generator().manual_seed(seed))
    return torch.complex(x.double(), x.flip(0).double()).to(dtype) if dtype.is_complex else x.to(dtype)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex128], ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_lines(n, dtype):
    """Operands that are adjacent, apart, backwards, the same all along, and numbers; one, two and three of them."""
    x, y = values(dtype, 2 * n), values(dtype, 2 * n, 2)
    check(lambda x, y: (x * y, x == y, x.clone()), x[:n], y[n:])
    check(lambda x, y: (x * y, torch.where(x == y, x, y)), x[::2], y[:n])
    check(lambda x, y: (x * y[3:4], y[3:4] != x, x * 3), x[1::2], y)
    check(lambda x: (x.masked_fill(x == 1, 2), x.flip(0)), x[:n])
    check(lambda x, y: x.clone().mul_(y), x[:n], y[:n])


@pytest.mark.parametrize("n", SIZES)
def test_conversions(n):
    """Halves are read and written where they lie, other dtypes one element at a time."""
    x = values(torch.float32, n)
    for to in (torch.float16, torch.bfloat16, torch.float64, torch.int32):
        check(lambda x, to=to: (x.to(to), x.to(to) + x, torch.add(x, x, out=torch.empty_like(x, dtype=torch.float64))), x)
    check(lambda x, y: (y + x, x.clone().add_(y), torch.mul(x, 2.5, out=torch.empty_like(y))), x.half(), x + 1)
    check(lambda x, y: (y + x, x.clone().add_(y), torch.mul(y, x, out=torch.empty_like(x))), x.bfloat16(), x.bfloat16() + 1)


@pytest.mark.parametrize("rows", [511, 513, 1500])
def test_planes(rows):
    """More dimensions than one."""
    x = values(torch.float32, rows * 600).view(rows, 600)
    check(lambda x: (x + x[:, :1], x.t() + x.t()[:1], x[:, 1:] * 2, x[1:].half()[:, ::3] + 1), x)


def test_results_of_two_dtypes():
    x = values(torch.float32, (1 << 18) + 5) * 1.5
    check(lambda x: tuple(torch.frexp(x)), x)
    check(lambda x: (torch.complex(x, x), torch.complex(x, x).abs()), x)
