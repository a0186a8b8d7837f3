"""Cumulative sums, products and extremes, whose lanes some threads of a block share (cuda/kernels/scanning.h)."""

import pytest
from operands import DTYPES, FLOATS, ORDERED, same, values

import libtensor as torch

SHAPES = {  # and the dimension
    "one row": ((70000,), 0),
    "long rows": ((3, 5000), 1),
    "short rows": ((300, 7), 1),
    "columns": ((5000, 3), 0),
    "many columns": ((20, 4200), 0),
    "middle": ((3, 50, 9), 1),
}


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("shape, dim", SHAPES.values(), ids=SHAPES)
def test_extremes(shape, dim, dtype):
    """With NaN, and indices of the last of equal elements."""
    x = values(dtype, *shape)
    for f in (torch.cummax, torch.cummin):
        assert same(tuple(f(x, dim)), tuple(f(x.cuda(), dim)))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not torch.complex32], ids=str)
@pytest.mark.parametrize("shape, dim", SHAPES.values(), ids=SHAPES)
def test_sums_and_products(shape, dim, dtype):
    x = (
        values(dtype, *shape)
        if dtype not in FLOATS
        else torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(1)).to(dtype) / 8
    )
    here, there = torch.cumsum(x, dim), torch.cumsum(x.cuda(), dim)
    assert torch.equal(here, there.cpu())  # sums that float64 holds exactly
    x = torch.where(x == 0, torch.ones_like(x), x.sgn())
    assert torch.equal(torch.cumprod(x, dim), torch.cumprod(x.cuda(), dim).cpu())


@pytest.mark.parametrize("shape, dim", SHAPES.values(), ids=SHAPES)
def test_logarithms_of_sums(shape, dim):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    for x in (x, x.double(), torch.complex(x, x.flip(0))):
        here, there = torch.logcumsumexp(x, dim), torch.logcumsumexp(x.cuda(), dim).cpu()
        assert torch.allclose(here, there, 1e-5, 1e-5) and torch.equal(here.isnan(), there.isnan())


def test_launches(simulation):
    """A long row takes two launches, a batch of rows one; a copy of strided elements or of another dtype takes another."""
    long = torch.ones(1 << 20).cuda()
    for x, launches in (
        (long, 2),
        (long[::2], 3),
        (long.half(), 2),
        (long.int(), 3),
        (torch.ones(3, 5000).cuda(), 1),
        (torch.ones(5000, 3).cuda().t(), 2),
        (torch.ones(600, 2000).cuda(), 1),
    ):
        torch.cumsum(x, -1)
        before = simulation.calls("cuLaunchKernel")
        torch.cumsum(x, -1)
        assert simulation.calls("cuLaunchKernel") - before == launches
