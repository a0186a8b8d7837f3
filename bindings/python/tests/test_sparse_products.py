"""Products of sparse matrices in special forms."""

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
    with pytest.raises(RuntimeError, match=r"sspaddmm: input must have the sizes \[3, 2\] of the product, but got \[3, 3\]"):
        torch.sspaddmm(s, s, b)
    with pytest.raises(RuntimeError, match="hspmm: expected a sparse tensor as operand 1, but got layout strided"):
        torch.hspmm(d, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reductions_of_products(layout):
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
    with pytest.raises(RuntimeError, match="ccol_indices must have 9223372036854775808 elements"):
        torch.sparse_csc_tensor([0], [], torch.zeros(0), [0, 2**63 - 1])


def test_an_error_of_a_batched_product_names_the_operand():
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


def of(layout, d):
    return d.to_sparse(layout=getattr(torch, layout), blocksize=(1, 1) if "_bs" in layout else None)


ALL = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


@pytest.mark.parametrize("layout", ALL)
def test_the_addend_of_a_product_is_ignored_if_beta_is_zero(layout):
    d, gone = torch.tensor(DENSE), torch.full((3, 3), float("nan"))
    s = of(layout, d)
    for left, right in ((s, s), (s, d), (d, s)):
        got = torch.addmm(gone, left, right, beta=0, alpha=2)
        assert got.layout is torch.strided and torch.equal(got, 2 * (d @ d))
    for other in ALL:
        got = torch.addmm(of(other, gone), s, s, beta=0)
        assert got.layout is getattr(torch, other) and torch.equal(got.to_dense(), d @ d)
        assert torch.addmm(of(other, d), s, s).layout is got.layout
    assert torch.equal(torch.addmv(gone[0], s, d[0], beta=0), d @ d[0])
    with pytest.raises(RuntimeError, match=r"the added sparse tensor must have the sizes \[3, 3\] of the product, but got \[1, 3\]"):
        torch.addmm(gone[:1].to_sparse(), s, s, beta=0)


@pytest.mark.parametrize("layout", ALL)
def test_factors_of_products_are_numbers_of_their_dtype(layout):
    d = torch.tensor(DENSE)
    s, t = of(layout, d), of(layout, d.long())
    for beta, alpha in ((1j, 1), (1, 1j), (0, 1j)):
        for call in (
            lambda b, a: torch.addmm(d, s, d, beta=b, alpha=a),
            lambda b, a: torch.addmm(d.long(), t, d.long(), beta=b, alpha=a),
            lambda b, a: torch.sparse.sampled_addmm(s, d, d, beta=b, alpha=a),
        ):
            with pytest.raises(RuntimeError, match="value .*1j.* cannot be converted to type (float32|int64) without overflow"):
                call(beta, alpha)
    assert torch.equal(torch.addmm(d, s, d, beta=True, alpha=True), d + d @ d)
    assert torch.equal(torch.addmm(d.long(), t, d.long(), beta=1.9, alpha=2.9), d.long() + 2 * (d @ d).long())
    with pytest.raises(RuntimeError, match="expected the added tensor to have the dtype float32 of the matrices, but got float64"):
        torch.addmm(d.double(), s, d)


@pytest.mark.parametrize("layout", ALL)
def test_bools_have_no_products(layout):
    d = torch.tensor(DENSE) != 0
    s, b = of(layout, d), d.expand(2, 3, 3).contiguous()
    calls = {
        "mm": (lambda: torch.mm(s, d), lambda: torch.mm(d, s), lambda: torch.mm(s, s)),
        "mv": (lambda: torch.mv(s, d[0]),),
        "matmul": (lambda: s @ s, lambda: s @ d[0], lambda: d[0] @ s, lambda: d[0].to_sparse() @ d[0]),
        "addmm": (lambda: torch.addmm(d, s, d),),
        "addmv": (lambda: torch.addmv(d[0], s, d[0]),),
        "bmm": (lambda: torch.bmm(b.to_sparse(), b),),
        "sparse.mm": (lambda: torch.sparse.mm(s, d),),
        "sparse.sampled_addmm": (lambda: torch.sparse.sampled_addmm(s, d, d),),
    }
    for name, tried in calls.items():
        for call in tried:
            with pytest.raises(NotImplementedError, match=f"{name}: not implemented for dtype bool"):
                call()


def test_the_product_of_csc_matrices_is_csc_where_it_is_sparse_mm():
    d = torch.tensor(DENSE)
    s = d.to_sparse_csc().requires_grad_()
    got = torch.sparse.mm(s, s)
    assert got.layout is torch.sparse_csc and torch.equal(got.to_dense(), d @ d) and got.row_indices().tolist() == [0, 1, 1]
    got.to_dense().sum().backward()
    (want,) = torch.autograd.grad((d.requires_grad_() @ d).sum(), d)
    assert torch.equal(s.grad.to_dense(), want * (d != 0))


@pytest.mark.parametrize("batch", [(2,), (0,), (2, 3)])
def test_sampled_products_of_batches(batch):
    g = torch.Generator().manual_seed(1)
    a, b = torch.randn(*batch, 3, 5, generator=g), torch.randn(*batch, 5, 4, generator=g)
    pattern = torch.tensor([[1.0, 0, 2, 0], [0, 0, 0, 3], [0, 4, 0, 0]]).expand(*batch, 3, 4)
    s = pattern.to_sparse_csr() if batch[0] else pattern.new_ones(1, 3, 4).to_sparse_csr().narrow(0, 0, 0)
    got = torch.sparse.sampled_addmm(s, a, b, alpha=2, beta=3)
    assert got.shape == pattern.shape and torch.allclose(got.to_dense(), (2 * (a @ b) + 3 * pattern) * (pattern != 0))
    assert torch.allclose(torch.sparse.sampled_addmm(s, a, b, beta=0, out=s).to_dense(), (a @ b) * (pattern != 0))
    with pytest.raises(RuntimeError, match="the batch sizes must be the same"):
        torch.sparse.sampled_addmm(s, torch.cat([a, a[:1]] if batch[0] else [a, torch.ones(1, 3, 5)]), b)


@pytest.mark.filterwarnings("ignore:triangular_solve")
@pytest.mark.parametrize("layout", ALL)
def test_triangles_are_solved(layout):
    a = torch.tensor([[2.0, 0, 0], [1, 4, 0], [1, 1, 5]], dtype=torch.float64)
    b, s = torch.tensor([[1.0, 2], [3, 4], [5, 6]], dtype=torch.float64), of(layout, a)
    for upper, transpose, unit in ((False, False, False), (False, True, False), (False, False, True), (True, False, False)):
        want = torch.triangular_solve(b, a, upper, transpose, unit).solution
        got = torch.triangular_solve(b, s, upper, transpose, unit)
        assert torch.equal(got.solution, want) and got.cloned_coefficient.numel() == 0
    none = of(layout, torch.zeros(3, 3, dtype=torch.float64))
    assert torch.triangular_solve(b, none).solution.isnan().all() and torch.equal(
        torch.triangular_solve(b, none, unitriangular=True).solution, b
    )
    out = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    torch.triangular_solve(b, s, upper=False, out=out)
    assert torch.allclose(a @ out[0], b)
    with pytest.raises(RuntimeError, match="triangular_solve: expected a strided tensor of right-hand sides"):
        torch.triangular_solve(s, s)


def test_names_of_products():
    d = torch.tensor(DENSE)
    s = d.to_sparse()
    assert torch.equal(torch.hsmm(s, d).values(), torch.hspmm(s, d).values())
    assert torch.equal(torch.saddmm(s, s, d, beta=2).to_dense(), 2 * d + d @ d)


def test_bools_are_not_subtracted_from_strided_tensors_either():
    d = torch.tensor(DENSE)
    for layout in ALL:
        for x, y in ((d != 0, of(layout, d)), (d, of(layout, d != 0)), (d != 0, of(layout, d != 0))):
            with pytest.raises(NotImplementedError, match="sub: subtraction, the `-` operator, with a bool tensor is not supported"):
                x - y


@pytest.mark.parametrize("layout", ALL)
def test_batches_of_matrices_times_one(layout):
    d, batch = torch.tensor(DENSE), torch.arange(36.0).reshape(2, 2, 3, 3)
    for b in (batch, batch[0], batch[:0]):
        assert torch.equal(b @ of(layout, d), b @ d) and torch.equal((b.to_sparse() @ d).to_dense(), b @ d)
    assert torch.equal(batch @ d[0].to_sparse(), batch @ d[0])


@pytest.mark.parametrize("left", ["to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("right", ["to_sparse_csr", "to_sparse_csc"])
def test_a_strided_out_takes_the_product_of_compressed_matrices(left, right):
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    a, b, out = getattr(x, left)(), getattr(x, right)(), torch.empty(2, 2)
    assert torch.mm(a, b, out=out) is out and out.tolist() == [[1, 8], [0, 9]]
    assert torch.matmul(a, b, out=out) is out and out.tolist() == [[1, 8], [0, 9]]
    with pytest.raises(RuntimeError, match="cannot be written to a tensor of layout strided"):
        torch.mm(x.to_sparse(), x.to_sparse(), out=out)
