"""Softmax and its relatives, whose lanes some threads of a block share (cuda/kernels/soft.h)."""

import pytest
from operands import FLOATS

import libtensor as torch

SHAPES = {  # and the dimension
    "short": ((300, 3), 1),
    "odd": ((7, 100), 1),
    "row": ((5, 1000), -1),
    "longer than registers": ((2, 9001), 1),
    "columns": ((130, 70), 0),
    "long columns": ((1000, 5), 0),
    "middle": ((3, 40, 9), 1),
    "one": ((4, 1), 1),
}


def close(here, there):
    eps = torch.finfo(here.dtype).eps * (16 if here.dtype == torch.float64 else 1)  # which sums are accumulated in
    return torch.allclose(here.double(), there.cpu().double(), 4 * eps, 2 * eps, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape, dim", SHAPES.values(), ids=SHAPES)
def test_softmax(shape, dim, dtype):
    x = (torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 4).to(dtype)
    g = torch.randn(shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    for f in (torch.softmax, torch.log_softmax):
        here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
        y, z = f(here, dim), f(there, dim)
        assert close(y.detach(), z.detach())
        y.backward(g)
        z.backward(g.cuda())
        scale = max(here.grad.abs().max().item(), 1)
        assert torch.allclose(
            here.grad.double(), there.grad.cpu().double(), 0, 16 * torch.finfo(dtype).eps * scale * max(1, shape[dim] ** 0.5)
        )
    assert close(torch.logsumexp(x, dim), torch.logsumexp(x.cuda(), dim))


def test_infinities_and_nan():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[1.0, -inf, 2.0], [-inf, -inf, -inf], [inf, 1.0, inf], [nan, 1.0, 2.0], [1.0, 2.0, nan]])
    for f in (torch.softmax, torch.log_softmax, torch.logsumexp):
        assert close(f(x, 1), f(x.cuda(), 1))
    assert torch.equal(torch.logsumexp(torch.empty(3, 0).cuda(), 1).cpu(), torch.full((3,), -inf))


def test_a_row_does_not_depend_on_the_others():
    x = torch.randn(64, 5000, generator=torch.Generator().manual_seed(3)).cuda()
    assert torch.equal(x.softmax(1)[7:8], x[7:8].softmax(1))
