"""Products of sparse matrices in forms of their own."""

import pytest

import libtensor as torch

DENSE = [[0.0, 2.0, -3.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
LAYOUTS = ["to_sparse", "to_sparse_csr", "to_sparse_csc"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_with_products_are_sparse(layout):
    d, b = torch.tensor(DENSE), torch.arange(6.0).reshape(3, 2) - 2
    s = getattr(d, layout)()
    added = torch.tensor([[0.0, 1.0], [0.0, 0.0], [5.0, 0.0]])
    got = torch.sspaddmm(getattr(added, layout)(), s, b, beta=2, alpha=0.5)
    assert got.layout is torch.sparse_coo and torch.equal(got.to_dense(), 2 * added + 0.5 * (d @ b))
    assert got.coalesce().indices().tolist() == [[0, 0, 1, 1, 2], [0, 1, 0, 1, 0]]
    assert torch.equal(added.to_sparse().sspaddmm(s, b).to_dense(), added + d @ b)
    hybrid = torch.hspmm(s, b)
    assert (hybrid.sparse_dim(), hybrid.dense_dim(), hybrid.indices().tolist()) == (1, 1, [[0, 1]])
    assert torch.equal(hybrid.values(), (d @ b)[:2]) and hybrid.is_coalesced()
    with pytest.raises(RuntimeError, match=r"sspaddmm: self must have the sizes \[3 2\] of the product, but got \[3 3\]"):
        torch.sspaddmm(s, s, b)
    with pytest.raises(RuntimeError, match="hspmm: expected a sparse tensor as operand 1, but got layout strided"):
        torch.hspmm(d, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_products_are_reduced_to(layout):
    d, b = torch.tensor(DENSE), (torch.arange(6.0).reshape(3, 2) - 2).requires_grad_()
    s = getattr(d, layout)()
    parts = torch.tensor([[[0.0, 2.0], [-6.0, -9.0]], [[-8.0, -4.0], [-8.0, -4.0]]])  # of the entries of the rows that have some
    for reduce, want in (("sum", parts.sum(1)), ("mean", parts.mean(1)), ("amax", parts.amax(1)), ("amin", parts.amin(1))):
        if reduce == "sum":
            want = (d @ b.detach())[:2]
        got = torch.sparse.mm(s, b, reduce)
        assert torch.equal(got[:2], want) and got[2].tolist() == [0, 0]
        (grad,) = torch.autograd.grad(got.sum(), b)
        counts = {"sum": [4, 2, -3], "mean": [4, 1, -1.5], "amax": [4, 2, 0], "amin": [4, 0, -3]}[reduce]
        assert grad.tolist() == [[n, n] for n in counts]
    with pytest.raises(RuntimeError, match="sparse.mm: reduce must be one of sum, mean, amax and amin, but got prod"):
        torch.sparse.mm(s, b, "prod")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bools_are_not_subtracted(layout):
    a, b = getattr(torch.tensor(DENSE), layout)(), getattr(torch.tensor(DENSE) > 0, layout)()
    for x, y in ((a, b), (b, a), (b, b)):
        with pytest.raises(NotImplementedError, match="sub: subtraction, the `-` operator, with a bool tensor is not supported"):
            x - y
    assert torch.equal((a + b).to_dense(), torch.tensor(DENSE) + (torch.tensor(DENSE) > 0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_sparse_tensors_are_checked(layout):
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    s = getattr(torch.tensor(DENSE, dtype=torch.float64), layout)().requires_grad_()
    b = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert check(lambda s, b: torch.sspaddmm(s @ s, s, torch.eye(3, dtype=s.dtype)).to_dense() @ b, (s, b), masked=True)
    assert check(lambda s, b: torch.hspmm(s, b).to_dense(), (s, b))
    for reduce in ("mean", "amax", "amin"):
        assert check(lambda s, b, reduce=reduce: torch.sparse.mm(s, b, reduce), (s, b))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        check(lambda s: s.to_dense() * s.to_dense().detach(), (s,))


def test_sizes_with_the_largest_integer_are_named():
    with pytest.raises(RuntimeError, match="ccol_indices must have 9223372036854775808 entries"):
        torch.sparse_csc_tensor([0], [], torch.zeros(0), [0, 2**63 - 1])


def test_a_product_of_a_batch_tells_what_failed():
    c = torch.ones(2, 4, 6).to_sparse_csr()
    c.crow_indices()[1, 4] = 6
    with pytest.raises(RuntimeError, match="crow_indices|indices"):
        c @ torch.ones(6)
    c = torch.ones(2, 40, 600).to_sparse_csr()
    torch.set_memory_limit(torch.memory_stats().in_use + 1000)
    try:
        with pytest.raises(MemoryError):
            c @ torch.ones(600)
    finally:
        torch.set_memory_limit(0)
