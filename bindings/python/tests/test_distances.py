"""Distances of rows: cdist and pdist."""

import math

import numpy as np
import pytest

import libtensor as torch

ORDERS = [0, 0.5, 1, 2, 2.5, 3, math.inf]
NAN, INF = math.nan, math.inf


def distances(a, b, p):
    d = np.abs(a[:, None, :] - b[None, :, :])
    if p == 0:
        return np.where(np.isnan(d), d, d != 0).sum(-1)
    if p == INF:
        return d.max(-1, initial=0)
    return (d**p).sum(-1) ** (1 / p)


# Widths below and above the number of interleaved sums.
@pytest.mark.parametrize("width", [0, 1, 3, 15, 16, 17, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", ORDERS)
def test_distances_are_norms_of_differences(p, dtype, width):
    generator = torch.Generator()
    generator.manual_seed(width)
    a, b = (torch.randn(n, width, dtype=dtype, generator=generator) for n in (5, 4))
    if width:
        b[1] = a[2]
        a[0, -1] = NAN
        a[1, 0] = b[2, 0] = INF
        b[3, -1] = -INF
    bound = 20 * torch.finfo(dtype).eps
    with np.errstate(invalid="ignore", over="ignore"):
        want = distances(a.double().numpy(), b.double().numpy(), p)
        among = distances(a.double().numpy(), a.double().numpy(), p)
    got = torch.cdist(a, b, p=p, compute_mode="donot_use_mm_for_euclid_dist").double().numpy()
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
    np.testing.assert_allclose(torch.pdist(a, p).double().numpy(), among[np.triu_indices(5, 1)], rtol=bound, atol=bound)


def test_distances_of_one_row_have_second_derivatives():
    x = torch.ones(1, 3, requires_grad=True)
    (g,) = torch.autograd.grad(torch.nn.functional.pdist(x).sum(), x, create_graph=True)
    assert g.tolist() == [[0, 0, 0]]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [[0, 0, 0]]
