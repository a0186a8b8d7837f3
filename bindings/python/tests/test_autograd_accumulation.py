"""Gradients that are added up piece by piece: how much memory they take, and that they are those of the whole."""

import math

import pytest

import libtensor as torch

MB = 1 << 20


def peak_of_backward(program, *sizes):
    """Of a run to leaves of ones, in bytes beside what the graph holds."""
    total = program(*(torch.rand(*size, requires_grad=True) for size in sizes)).sum()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    total.backward()
    return torch.memory_stats().peak - before


def derivatives(program, *leaves):
    """Gradients of the first order and of the second, also with respect to the first's weights."""
    result = program(*leaves)
    weights = (torch.arange(result.numel(), dtype=result.dtype) + 1).sin().reshape(result.shape).requires_grad_()
    first = torch.autograd.grad((result * weights).sum(), leaves, create_graph=True)
    total = sum(((leaf * 1.7).cos() * grad).sum() for leaf, grad in zip(leaves, first, strict=True))
    second = torch.autograd.grad(total, (*leaves, weights), allow_unused=True)
    return [torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip((*leaves, *leaves, weights), (*first, *second), strict=True)]


def assert_same_derivatives(program, plain, *sizes):
    leaves = [torch.rand(*size, dtype=torch.float64, requires_grad=True) for size in sizes]
    for made, expected in zip(derivatives(program, *leaves), derivatives(plain, *leaves), strict=True):
        assert made.shape == expected.shape
        assert torch.allclose(made, expected, rtol=1e-9, atol=1e-9)


def distances(x1, x2, p):
    """cdist of differences."""
    apart = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    return apart.amax(-1) if p == math.inf else apart.pow(p).sum(-1).pow(1 / p)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
def test_cdist_has_few_differences_at_a_time(p):
    assert peak_of_backward(lambda a, b: torch.cdist(a, b, p=p), (500, 64), (400, 64)) < 9 * MB  # all of them are 49 MB


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
@pytest.mark.parametrize("sizes", [((4, 3), (5, 3)), ((2, 4, 3), (5, 3)), ((3, 1, 4, 3), (2, 5, 3)), ((0, 3), (4, 3)), ((90, 70), (60, 70)), ((3, 50, 60), (50, 60))])
def test_gradients_of_cdist(p, mode, sizes):
    assert_same_derivatives(lambda a, b: torch.cdist(a, b, p=p, compute_mode=mode), lambda a, b: distances(a, b, p), *sizes)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_gradients_of_cdist_where_rows_are_equal(p, mode):
    x1 = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    x2 = torch.tensor([[1.0, 2.0]], requires_grad=True)
    torch.cdist(x1, x2, p=p, compute_mode=mode)[0].sum().backward()
    assert x1.grad.tolist() == [[0, 0], [0, 0]] and x2.grad.tolist() == [[0, 0]]


def test_cdist_of_different_dtypes():
    x1, x2 = torch.rand(3, 2, requires_grad=True), torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    torch.cdist(x1, x2, compute_mode="use_mm_for_euclid_dist").sum().backward()
    wide = x1.detach().to(torch.float64).requires_grad_()
    distances(wide, x2.detach(), 2).sum().backward()
    assert x1.grad.dtype == torch.float32 and x2.grad.dtype == torch.float64
    assert torch.allclose(x1.grad, wide.grad.to(torch.float32))
