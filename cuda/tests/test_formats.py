"""Sparse and quantized tensors, and weights of few bits: composite operators whose results are the CPU's."""

import pytest

import libtensor as torch


def matrix(rows, columns, seed=1, dtype=torch.float32):
    """A matrix of which about a third of the elements are not zero."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-9, 10, (rows, columns), generator=g)
    return torch.where(torch.rand(rows, columns, generator=g) < 0.4, x, torch.zeros_like(x)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64], ids=str)
def test_layouts(dtype):
    x = matrix(6, 8, dtype=dtype)
    for convert in (
        lambda t: t.to_sparse(),
        lambda t: t.to_sparse_csr(),
        lambda t: t.to_sparse_csc(),
        lambda t: t.to_sparse_bsr((2, 4)),
        lambda t: t.to_sparse_bsc((3, 2)),
    ):
        there = convert(x.cuda())
        assert there.layout is convert(x).layout and torch.equal(there.to_dense().cpu(), x)


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_products_and_sums(layout, dtype):
    """Of integers, which are exact."""
    a, b, dense = matrix(6, 8, dtype=dtype), matrix(6, 8, 2, dtype), matrix(8, 3, 3, dtype)
    x, y, z = (getattr(t.cuda(), layout)() for t in (a, b, dense))
    assert torch.equal((x @ dense.cuda()).cpu(), a @ dense)
    assert torch.equal((x + y).to_dense().cpu(), a + b)
    assert torch.equal((x @ z).to_dense().cpu(), a @ dense)


def test_duplicate_entries():
    indices, values = torch.tensor([[1, 0, 1, 1], [2, 0, 2, 0]]), torch.tensor([1.0, 2.0, 4.0, 8.0])
    here = torch.sparse_coo_tensor(indices, values, (3, 4)).coalesce()
    there = torch.sparse_coo_tensor(indices.cuda(), values.cuda(), (3, 4)).coalesce()
    assert torch.equal(here.indices(), there.indices().cpu()) and torch.equal(here.values(), there.values().cpu())


def test_sampled_product():
    at, a, b = matrix(4, 5), matrix(4, 6, 2), matrix(6, 5, 3)
    here = torch.sparse.sampled_addmm(at.to_sparse_csr(), a, b)
    assert torch.equal(here.to_dense(), torch.sparse.sampled_addmm(at.cuda().to_sparse_csr(), a.cuda(), b.cuda()).to_dense().cpu())


def test_products_of_bytes():
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-128, 128, size, generator=g).to(torch.int8) for size in ((20, 24), (24, 16)))
    assert torch.equal(torch._int_mm(a, b), torch._int_mm(a.cuda(), b.cuda()).cpu())


def test_random_gamma_numbers():
    """The CPU's, for generators that count."""
    alpha = torch.tensor([0.2, 1.0, 3.5, 40.0]).repeat(50)
    here = torch._standard_gamma(alpha, generator=torch.Generator(engine="philox").manual_seed(3))
    there = torch._standard_gamma(alpha.cuda(), generator=torch.Generator("cuda").manual_seed(3))
    assert torch.allclose(here, there.cpu(), 1e-6, 0)
    assert torch.allclose(torch._sample_dirichlet(alpha.reshape(50, 4).cuda()).sum(-1).cpu(), torch.ones(50))
