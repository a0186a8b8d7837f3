"""Sparse tensors with other shapes, and what reduces or replaces all of their elements."""

import itertools
import math

import pytest

import libtensor as torch

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
DENSE = [[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0, 0], [0, -1, 5, 0]]


def to(layout, dense):
    return dense.to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)


def pair(layout, dtype=torch.float64):
    d = torch.tensor(DENSE).to(dtype)
    return d, to(layout, d)


def same(sparse, dense):
    assert torch.equal(sparse.to_dense(), dense) and sparse.shape == dense.shape and sparse.dtype == dense.dtype


SHAPES = (
    lambda t: t.t(),
    lambda t: t.mT,
    lambda t: t.T,
    lambda t: t.movedim(0, 1),
    lambda t: t.swapaxes(0, 1),
    lambda t: t.flip(0),
    lambda t: t.flip([0, 1]),
    lambda t: t.unsqueeze(0).squeeze(0),
    lambda t: t.unsqueeze(0).squeeze(),
    lambda t: t.expand(4, -1),
    lambda t: t.split(3)[1],
    lambda t: t.split([1, 3], 1)[1],
    lambda t: t.chunk(2, 1)[0],
    lambda t: t.unbind(1)[1],
    lambda t: list(t)[0],
    lambda t: torch.broadcast_tensors(t, t)[1],
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", SHAPES)
def test_shapes(layout, f):
    d, s = pair(layout)
    if "_bs" in layout and f in SHAPES[10:12]:
        with pytest.raises(RuntimeError, match="cannot be divided into blocks"):
            f(s)
        return
    same(f(s), f(d))


@pytest.mark.parametrize("coalesced", [True, False])
def test_reshape_of_coordinates(coalesced):
    d, s = pair("sparse_coo")
    s = s if coalesced else torch.cat([s * 0.5, s * 0.5], 0).index_select(0, torch.tensor([4, 1, 2, 3]))
    d = s.to_dense()
    for sizes in ((2, 8), (16,), (2, 2, 2, 2), (-1, 2), (1, 4, 4), (4, 4)):
        same(s.reshape(sizes), d.reshape(sizes))
        same(s.view(sizes), d.reshape(sizes))
        assert s.reshape(sizes).is_coalesced() == s.is_coalesced()
    same(s.flatten(), d.flatten())
    same(s.unflatten(1, (2, 2)), d.unflatten(1, (2, 2)))
    with pytest.raises(RuntimeError, match=r"invalid for input of size 16|size 16"):
        s.reshape(3, 5)
    v = torch.arange(12.0).reshape(2, 3, 2)
    h = torch.sparse_coo_tensor([[1, 3]], v, (4, 3, 2))
    same(h.reshape(2, 2, 3, 2), h.to_dense().reshape(2, 2, 3, 2))
    with pytest.raises(RuntimeError, match=r"the dense dimensions, of sizes \[3, 2\], must remain the last dimensions"):
        h.reshape(12, 2)


def test_reshape_of_compressed_matrices():
    for layout in ("sparse_csr", "sparse_csc"):
        d, s = pair(layout)
        made = s.reshape(2, 8)
        assert made.layout is s.layout
        same(made, d.reshape(2, 8))
        with pytest.raises(RuntimeError, match="to_sparse"):
            s.reshape(16)
    with pytest.raises(RuntimeError, match="to_sparse"):
        pair("sparse_bsr")[1].reshape(2, 8)


def test_squeeze():
    d = torch.arange(6.0).reshape(1, 2, 1, 3)
    s = d.to_sparse()
    for f in (
        lambda t: t.squeeze(),
        lambda t: t.squeeze(0),
        lambda t: t.squeeze((0, 2)),
        lambda t: t.squeeze(1),
        lambda t: t[:, :1].squeeze(),
    ):
        same(f(s), f(d))
    h = d.to_sparse(2)
    for f in (lambda t: t.squeeze(), lambda t: t.squeeze(2), lambda t: t.squeeze(0)):
        same(f(h), f(d))
    one = torch.ones(1).to_sparse().squeeze()
    assert one.shape == () and one.sparse_dim() == 0 and one.to_dense().item() == 1
    c = d[0].to_sparse_csr() if d.dim() == 2 else torch.ones(1, 1, 3).to_sparse_csr()
    assert c.squeeze(0).shape == (1, 3) and c.squeeze(0).layout is torch.sparse_csr
    with pytest.raises(RuntimeError, match="the matrix dimensions"):
        c.squeeze()
    with pytest.raises(IndexError, match="out of range"):
        s.squeeze(4)


REDUCTIONS = ("any", "all", "amax", "amin", "max", "min", "count_nonzero", "sum", "norm")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_all_elements(layout, name):
    d, s = pair(layout)
    for x, y in ((d, s), (d.abs() + 1, to(layout, d.abs() + 1)), (-d.abs() - 1, to(layout, -d.abs() - 1)), (d * 0, to(layout, d * 0))):
        assert torch.equal(getattr(torch, name)(y), getattr(torch, name)(x))
    assert torch.linalg.norm(s).item() == pytest.approx(math.sqrt(40))
    for order in (math.inf, -math.inf, 0, 1, 3):
        assert torch.equal(torch.linalg.vector_norm(s, order), torch.linalg.vector_norm(d, order))


def test_reductions_of_repeated_and_no_entries():
    s = torch.sparse_coo_tensor([[0, 0]], [-3.0, 1.0], (1,))
    assert torch.amax(s).item() == -2 and torch.count_nonzero(s).item() == 1
    e = torch.zeros(2, 3).to_sparse()
    assert torch.amax(e).item() == 0 and not torch.any(e) and not torch.all(e)
    n = torch.zeros(0, 3).to_sparse()
    assert torch.all(n) and not torch.any(n)
    with pytest.raises((RuntimeError, IndexError)):
        torch.amax(n)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operators_that_replace_entries(layout):
    d, s = pair(layout)
    same(torch.nan_to_num(s * math.nan, 7), torch.ones_like(s).to_dense() * 7)
    same(torch.round(s / 3, decimals=1), torch.round(d / 3, decimals=1))
    same(torch.full_like(s, 3), torch.ones_like(s).to_dense() * 3)
    assert torch.empty_like(s).layout is s.layout and torch.empty_like(s).shape == s.shape
    assert s.cpu() is s and s.to("meta").device.type == "meta" and s.to("meta").layout is s.layout
    if "_bs" not in layout:
        assert s.new_zeros(2, 3).layout is s.layout and s.new_zeros(2, 3)._nnz() == 0
    if layout == "sparse_coo":
        with pytest.raises(NotImplementedError, match="fill_ is not implemented for sparse_coo tensors"):
            s.fill_(1)
    else:
        kept = torch.ones_like(s).to_dense()
        assert s.fill_(2) is s
        same(s, kept * 2)


def test_numbers_that_are_none_reach_only_entries():
    d, s = pair("sparse_coo")
    for number in (math.nan, math.inf, torch.tensor(math.nan, dtype=torch.float64)):
        made = s * number
        assert made._nnz() == s._nnz() and torch.equal(made.to_dense() == 0, d == 0)
    c = s.to(torch.complex128)
    for layout in LAYOUTS:
        z = to(layout, c.to_dense())
        assert torch.equal((z / 0.0).to_dense().isnan() | (z / 0.0).to_dense().isinf(), torch.ones_like(z).to_dense() != 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.uint8, torch.bool])
def test_compressed_indices_are_int32_or_int64(dtype):
    good = torch.tensor([0, 1])
    for make in (torch.sparse_csr_tensor, torch.sparse_csc_tensor):
        with pytest.raises(RuntimeError, match=r"must be (int32 or int64|integers), but got"):
            make(good.to(dtype), torch.tensor([0]), torch.ones(1))
        with pytest.raises(RuntimeError, match=r"must be (int32 or int64|integers), but got"):
            make(good, torch.tensor([0]).to(dtype), torch.ones(1))


def test_solving_for_several_right_sides():
    a = torch.tensor([[2.0, 1], [0, 4]], dtype=torch.float64)
    b = torch.tensor([[2.0, 3, 5], [4, 8, 1]], dtype=torch.float64)
    for s in (a.to_sparse_csr(), a.to_sparse(), a):
        assert torch.allclose(torch.sparse.spsolve(s, b), torch.linalg.solve(a, b))
        assert torch.allclose(torch.sparse.spsolve(s, b[:, 0]), torch.linalg.solve(a, b[:, 0]))


def test_lines_that_change_later_are_rejected():
    def bad():
        c = torch.tensor(DENSE).double().to_sparse_csr()
        c.crow_indices()[2] = 99
        return c

    for call in (
        lambda c: torch.sparse.softmax(c, 1),
        lambda c: c[1],
        lambda c: c * torch.ones(4, 4).to_sparse_csr(),
        lambda c: c.sum(0),
        lambda c: c.to_sparse(),
        lambda c: c.reshape(2, 8),
    ):
        with pytest.raises(RuntimeError, match="they were changed after the tensor was created"):
            call(bad())
    s = torch.tensor(DENSE).double().to_sparse()
    s.indices()[1, 0] = 99
    with pytest.raises(RuntimeError, match="changed after the tensor was created"):
        s.reshape(16)


def test_nothing_stays_in_use():
    def work():
        for layout in LAYOUTS:
            test_shapes(layout, SHAPES[5])
            test_reductions_of_all_elements(layout, "amax")
        test_squeeze()
        test_lines_that_change_later_are_rejected()

    work()
    before = torch.memory_stats().in_use
    work()
    assert torch.memory_stats().in_use == before


def test_flip_of_repeated_entries():
    s = torch.sparse_coo_tensor([[0, 0, 2], [1, 1, 0]], [1.0, 2.0, 5.0], (3, 2))
    for dims in ([0], [1], [0, 1]):
        assert torch.equal(s.flip(dims).to_dense(), s.to_dense().flip(dims))
        assert not s.flip(dims).is_coalesced()


def test_batches_times_matrices_and_vectors():
    d = (torch.arange(24.0) % 3).reshape(2, 3, 4)
    m, v = torch.arange(8.0).reshape(4, 2), torch.arange(4.0)
    for s in (d.to_sparse(), d.to_sparse(2), torch.ones(2, 3, 4).to_sparse_csr() * 2):
        x = s.to_dense()
        assert torch.equal(s @ m, x @ m) and torch.equal(s @ v, x @ v)
        assert torch.equal((s @ m.to_sparse()).to_dense(), x @ m)
    assert torch.zeros(0, 3, 4).to_sparse().matmul(m).shape == (0, 3, 2)


def test_dense_dimensions_differ_without_a_dense_copy():
    d = torch.tensor(DENSE).double().reshape(2, 2, 4)
    for a in range(1, 4):
        for b in range(1, 4):
            s = d.to_sparse(a) + d.to_sparse(b)
            assert s.sparse_dim() == a and torch.equal(s.to_dense(), d * 2)
    big = torch.sparse_coo_tensor([[10**9, 5]], torch.ones(2, 3), (2**31, 3))
    split = torch.sparse_coo_tensor([[5, 5, 5, 10**9, 10**9, 10**9], [0, 1, 2, 0, 1, 2]], torch.ones(6), (2**31, 3))
    assert (split + big).coalesce().indices().tolist() == split.coalesce().indices().tolist()
    assert torch.equal((big + split).coalesce().indices(), big.coalesce().indices())
    h = d.to_sparse(1).requires_grad_()
    ((d.to_sparse(3) + h).to_dense() * 2).sum().backward()
    assert torch.equal(h.grad.to_dense(), torch.full_like(d, 2))


def test_sparse_tensors_have_no_strides():
    for layout in LAYOUTS:
        s = pair(layout)[1]
        with pytest.raises(RuntimeError, match=f"{layout} tensors do not have strides"):
            s.stride()
        with pytest.raises(RuntimeError, match=f"{layout} tensors do not have strides"):
            s.stride(0)
        with pytest.raises(RuntimeError, match="nbytes is not defined"):
            _ = s.nbytes
        assert s.values().stride() if layout != "sparse_coo" else s.indices().stride()


def test_closeness():
    d, s = pair("sparse_csr")
    assert torch.allclose(s, s + s * 1e-12) and not torch.allclose(s, s * 2) and torch.allclose(s, d)
    torch.testing.assert_close(s, s + s * 1e-12)
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(s, s * 2)
    with pytest.raises(AssertionError, match="'layout' do not match"):
        torch.testing.assert_close(s, d)


def test_sampled_product_to_an_output():
    d, s = pair("sparse_csr")
    m = torch.arange(16.0, dtype=torch.float64).reshape(4, 4)
    out = torch.zeros(4, 4, dtype=torch.float64).to_sparse_csr()
    assert torch.sparse.sampled_addmm(s, m, m, beta=0.5, out=out) is out
    same(out, (m @ m + 0.5 * d) * (d != 0))
    with pytest.raises(RuntimeError, match="strided"):
        torch.sparse.sampled_addmm(s, m, m, out=torch.zeros(4, 4, dtype=torch.float64))


def test_gradients_of_sparse_inputs_are_checked_by_their_entries():
    m = torch.arange(8.0, dtype=torch.float64).reshape(4, 2)
    for layout in LAYOUTS:
        s = pair(layout)[1].requires_grad_()
        assert torch.autograd.gradcheck(lambda s, m: s @ m, (s, m.clone().requires_grad_()))
        assert torch.autograd.gradcheck(lambda s: s * 2, (s,), masked=True)
        assert torch.autograd.gradgradcheck(lambda s: (s * s).to_dense(), (s,))
    u = torch.sparse_coo_tensor([[0, 0, 1]], torch.ones(3, dtype=torch.float64), (2,)).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: s.to_dense() ** 2, (u,))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda s: s.to_dense().detach() + s.to_dense(), (pair("sparse_coo")[1].requires_grad_(),))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.narrow(0, 0, 1),
        lambda x, i: x.narrow(-1, 0, 0),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.select(0, 0),
        lambda x, i: x[0:1],
        lambda x, i: x.split(1),
        lambda x, i: x.chunk(2),
        lambda x, i: x.unbind(),
        lambda x, i: torch.cat([x, x]),
    ],
)
def test_positions_of_a_tensor_without_dimensions_are_rejected(call):
    x = torch.sparse_coo_tensor(torch.zeros(0, 2).long(), torch.tensor([1.0, 5.0]), ())
    with pytest.raises((RuntimeError, IndexError), match="cannot be applied to a 0-dim tensor|0-d tensor|too many indices"):
        call(x, torch.tensor([0]))


def test_a_tensor_without_dimensions_is_its_own_transpose():
    x = torch.sparse_coo_tensor(torch.zeros(0, 2).long(), torch.tensor([1.0, 5.0]), ())
    for made in (x.transpose(0, 0), x.transpose(0, -1), x.swapaxes(-1, 0), x.clone().transpose_(0, 0)):
        assert made.shape == () and made.to_dense().item() == 6


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_batches_keep_their_layout(layout):
    d = torch.stack([torch.eye(4) * (i + 1) for i in range(6)]).reshape(2, 3, 4, 4)
    s = to(layout, d)
    for f in (
        lambda t: t[1],
        lambda t: t[1, 2],
        lambda t: t.select(1, -1),
        lambda t: t[1:],
        lambda t: t.narrow(1, 1, 2),
        lambda t: t.unbind(1)[2],
        lambda t: t.split(2, 1)[1],
        lambda t: t.index_select(1, torch.tensor([2, 0, 2])),
    ):
        same(f(s), f(d))
        assert f(s).layout is s.layout
    assert s[1, 2].values().untyped_storage().data_ptr() == s.values().untyped_storage().data_ptr()
    with pytest.raises(IndexError, match="select: index 2 is out of bounds for dimension 0 with size 2"):
        s.select(0, 2)
    assert s.type() == f"torch.{layout}.FloatTensor" and d.to_sparse().type() == "torch.sparse.FloatTensor"


def test_gradients_go_through_batches():
    entries = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    s = torch.sparse_csr_tensor([[0, 1, 2], [0, 1, 2]], [[0, 1], [1, 0]], entries, (2, 2, 2))
    (s[1] @ torch.ones(2)).sum().backward()
    assert entries.grad.tolist() == [[0, 0], [1, 1]]


def test_sizes_beyond_an_integer_are_rejected():
    huge = torch.sparse_coo_tensor([[3]], [1.0], (2**62,))
    for n in (2, 3, 4, 5):
        for join in (torch.cat, torch.hstack, torch.concat):
            with pytest.raises(RuntimeError, match="more than a 64-bit integer can represent"):
                join([huge] * n)
    with pytest.raises(RuntimeError, match="index 9223372036854775807 of dim 0 is too large for a size"):
        torch.sparse_coo_tensor([[2**63 - 1]], [1.0])
    with pytest.raises(TypeError, match="sparse_coo_tensor.*18446744073709551616"):
        torch.sparse_coo_tensor(size=(2**64,))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_tensors_have_no_names(layout):
    s = torch.eye(2).to_sparse(layout=layout)
    for name in (lambda: s.rename("A", "B"), lambda: s.refine_names("A", ...), lambda: s.rename_("A", "B")):
        with pytest.raises(NotImplementedError, match="names are not supported for sparse tensors"):
            name()
    assert s.rename(None).names == (None, None)


def test_operators_on_elements_reject_sparse_tensors():
    v, m, one = torch.tensor([1.0, 0, 2]).to_sparse(), torch.ones(3, 5).to_sparse_csr(), torch.ones(5, 1).to_sparse_csr()
    for call in (lambda: torch.outer(v, v), lambda: torch.cross(v, v), lambda: m.cov(), lambda: one.cov(), lambda: m.corrcoef()):
        with pytest.raises(NotImplementedError, match="is not implemented for sparse_c.. tensors; convert with to_dense"):
            call()


def test_in_place_operators_reject_uncoalesced_like_coalesced_entries():
    for indices in ([[0, 1]], [[1, 1]]):
        s = torch.sparse_coo_tensor(indices, [1 + 2j, 3j], (2,))
        with pytest.raises(RuntimeError, match="abs"):
            s.abs_()
        assert s.to_dense().abs().sum().item() > 0
    for name in ("abs_", "log1p_", "sin_", "sqrt_", "relu_", "square_", "round_", "nan_to_num_"):
        s = torch.sparse_coo_tensor([[1, 1]], [-3.0, 1.0], (2,))
        with pytest.raises(RuntimeError, match=f"{name} requires a coalesced tensor; call coalesce"):
            getattr(s, name)()
        assert s._nnz() == 2 and s._values().tolist() == [-3, 1]
        assert torch.equal(getattr(s.coalesce(), name)().to_dense(), getattr(s.to_dense(), name)()) or name in ("log1p_", "sqrt_")
    values = s._values()
    assert s.neg_() is s and values.tolist() == [3, -1] and s.to_dense().tolist() == [0, 2] and not s.is_coalesced()


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_one_line_of_a_matrix(layout):
    d = torch.arange(40.0).reshape(4, 5, 2) * torch.tensor([1.0, 0, 1, 0, 1]).reshape(5, 1)
    s, dim = d.to_sparse(layout=layout, dense_dim=1).requires_grad_(), 0 if layout is torch.sparse_csr else 1
    for i in range(-d.shape[dim], d.shape[dim]):
        line = s.select(dim, i)
        assert line.is_coalesced() and torch.equal(line.to_dense(), d.select(dim, i)) and line.shape == d.select(dim, i).shape
    s.select(dim, 2).to_dense().sum().backward()
    assert (
        torch.equal(s.grad.to_dense().select(dim, 2), (d.select(dim, 2) != 0).any(-1, True).expand(-1, 2).float())
        and s.grad.to_dense().sum() <= 8
    )
    plain = s.detach()
    plain.select(dim, 2).values().zero_()  # is no view
    assert torch.equal(plain.to_dense(), d)
    starts = plain.crow_indices() if dim == 0 else plain.ccol_indices()
    for at, value in ((2, -1), (3, 0), (3, 1000)):
        kept = starts[at].item()
        starts[at] = value
        with pytest.raises(RuntimeError, match="they were changed after the tensor was created"):
            plain.select(dim, 2)
        starts[at] = kept
    with pytest.raises(NotImplementedError, match="depends on the values"):
        plain.to("meta").select(dim, 2)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_equality_at_equal_and_at_different_positions(layout):
    def make(*rows):
        return torch.tensor(rows).to_sparse(layout=getattr(torch, layout), blocksize=(1, 1) if "_bs" in layout else None)

    a, b, other, nan = make([0.0, 1], [2, 0]), make([0.0, 1], [3, 0]), make([0.0, 1], [2, 4]), make([0.0, 1], [math.nan, 0])
    zero = a * torch.tensor([[0.0, 1], [0, 1]])  # with a kept zero
    for x, y in itertools.product((a, a.clone(), b, other, nan, zero, a.double()), repeat=2):
        assert torch.equal(x, y) is torch.equal(x.to_dense(), y.to_dense())
        if x.dtype == y.dtype:
            for equal_nan in (False, True):
                want = torch.allclose(x.to_dense(), y.to_dense(), atol=0.5, equal_nan=equal_nan)
                assert torch.allclose(x, y, atol=0.5, equal_nan=equal_nan) is want
    assert torch.equal(zero, make([0.0, 1], [0, 0])) and not torch.equal(a, a.to_dense()[0])


@pytest.mark.parametrize("sizes", [(), (1,), (4,)])
def test_t_of_tensors_of_fewer_than_two_dimensions(sizes):
    x = torch.ones(sizes).to_sparse()
    before = torch.memory_stats().in_use
    assert x.t_() is x and x.to_dense().equal(torch.ones(sizes)) and x.t().shape == sizes
    assert torch.memory_stats().in_use == before


def test_a_mask_counts_each_of_its_positions_once():
    mask = torch.sparse_coo_tensor([[2, 0, 2]], [1.0, 1.0, 1.0], (3,))
    for x in (torch.tensor([5.0, 6, 7]), torch.tensor([5.0, 6, 7]).to_sparse()):
        got = x.sparse_mask(mask)
        assert got.to_dense().tolist() == [5, 0, 7] and got._indices().tolist() == [[0, 2]]


EXPANSIONS = (((1, 3), (2, 3)), ((3,), (2, 3)), ((2, 1, 3), (4, 2, 5, 3)), ((1, 1), (3, 2)), ((1, 3), (0, 3)), ((2, 3), (2, 3)))


@pytest.mark.parametrize("dense", [0, 1])
@pytest.mark.parametrize(("small", "large"), EXPANSIONS)
def test_sparse_tensors_are_expanded(small, large, dense):
    d = torch.arange(1.0, math.prod(small) + 1).reshape(small) % 3
    if dense and len(small) == 1:
        return
    s = d.to_sparse(len(small) - dense)
    assert s.expand(large).dense_dim() == dense and torch.equal(s.expand(large).to_dense(), d.expand(large))
    assert s.expand(large).is_coalesced()
    twice = torch.sparse_coo_tensor(torch.cat([s.indices()] * 2, 1), torch.cat([s.values()] * 2), small)
    assert torch.equal(twice.expand(large).to_dense(), 2 * d.expand(large))
    other = torch.arange(0.0, math.prod(large)).reshape(large) % 4
    for x, y in ((s, other), (other, s), (s, other.to_sparse(len(large) - dense)), (other.to_sparse(len(large) - dense), s)):
        got = x * y
        assert got.layout is torch.sparse_coo and torch.equal(got.to_dense(), d * other)
    if small != large:
        with pytest.raises(RuntimeError, match=r"mul_: the output has sizes .*, but the result has sizes"):
            s.mul_(other)
    assert torch.equal(s.to_dense(), d)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_matrices_are_repeated_in_batches(layout):
    d = torch.eye(4) * torch.arange(1.0, 5)
    s = d.to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)
    assert s.expand(3, 4, 4).layout is s.layout and torch.equal(s.expand(3, -1, -1).to_dense(), d.expand(3, 4, 4))
    assert torch.equal((s * torch.ones(2, 1, 4)).to_dense(), d.expand(2, 4, 4))
    for size in ((4,), (3, 5, 4), (-1, 4, 4), (-2, 4)):
        with pytest.raises(RuntimeError, match=r"expand: a tensor of sizes \[4, 4\] cannot be expanded to"):
            s.expand(size)


def test_operators_with_numbers_add_entries_up_first():
    for name, args, want in (
        ("div_", (2, "floor"), 3),
        ("floor_divide_", (2,), 3),
        ("remainder_", (4,), 3),
        ("fmod_", (4,), 3),
        ("pow_", (2,), 49),
        ("clamp_", (0, 5), 5),
    ):
        s = torch.sparse_coo_tensor([[1, 1]], [3.0, 4.0], (2,))
        call = (lambda s, a: s.div_(a[0], rounding_mode=a[1])) if name == "div_" else (lambda s, a, name=name: getattr(s, name)(*a))
        assert call(s, args) is s and s.to_dense().tolist() == [0, want]


def test_entries_grow_with_their_dense_dimensions():
    s = torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 2), (3, 2))
    want = torch.zeros(4, 5)
    want[[0, 2], :2] = 1
    assert torch.equal(s.sparse_resize_((4, 5), 1, 1).to_dense(), want)
    with pytest.raises(
        RuntimeError, match=r"dense sizes \(\[5\]\) of a tensor with entries must not change or shrink, but got size \[4, 4\]"
    ):
        s.sparse_resize_((4, 4), 1, 1)
    with pytest.raises(RuntimeError, match=r"the number of sparse dimensions \(1\)"):
        s.sparse_resize_((4, 5), 2, 0)
    assert torch.ones(6).resize_as_(torch.eye(2).to_sparse()).shape == (2, 2)


def test_memory_formats_are_of_strided_tensors():
    s = torch.eye(3).to_sparse()
    for like in (torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like):
        with pytest.raises(
            RuntimeError, match="memory format torch.contiguous_format is only supported for strided tensors, not for sparse ones"
        ):
            like(s, memory_format=torch.contiguous_format)
        assert like(s, layout=torch.strided, memory_format=torch.contiguous_format).layout is torch.strided
    for layout in LAYOUTS[:3]:
        out = torch.ones(2, 2).to_sparse(layout=getattr(torch, layout))
        assert torch.zeros(3, 1, out=out) is out and out.shape == (3, 1) and out._nnz() == 0 and out.layout is getattr(torch, layout)


def test_new_of_sparse_tensors():
    s = torch.eye(3, dtype=torch.float64).to_sparse()
    for args, size in (((), (0,)), ((2, 3), (2, 3)), ((torch.Size([4]),), (4,)), (((2, 0),), (2, 0))):
        assert s.new(*args).shape == size and s.new(*args).layout is torch.sparse_coo and s.new(*args).dtype is torch.float64
    assert s.new(torch.tensor([[1]]), torch.tensor([5.0]), (2,)).to_dense().tolist() == [0, 5]
    assert s.new(torch.tensor([[1]]), torch.tensor([5.0])).shape == (2,)
    for wrong in ([6], torch.ones(2), 1.5):
        with pytest.raises(TypeError, match="expected sizes, or indices and values"):
            s.new(wrong)
    with pytest.raises(RuntimeError, match="cannot be created by new"):
        torch.eye(2).to_sparse_csr().new(2)


def test_parts_are_validated_and_converted():
    torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 1]]), torch.ones(2), (2,))
    torch._validate_sparse_compressed_tensor_args([0, 1], [0], [1.0], (1, 1), torch.sparse_csr)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 5]]), torch.ones(2), (2,))
    with pytest.raises(RuntimeError, match="col_indices must be less than 1"):
        torch._validate_sparse_compressed_tensor_args([0, 1], [3], [1.0], (1, 1), torch.sparse_csr)
    assert torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]
    starts, columns = torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1])
    assert torch._convert_indices_from_csr_to_coo(starts, columns).tolist() == [[0, 0, 2], [0, 1, 1]]
    turned = torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True, out_int32=True)
    assert turned.tolist() == [[0, 1, 1], [0, 0, 2]] and turned.dtype is torch.int32
    batches = torch._convert_indices_from_csr_to_coo(starts.expand(2, 4), columns.expand(2, 3))
    assert batches.tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 2, 0, 0, 2], [0, 1, 1, 0, 1, 1]]


@pytest.mark.parametrize("layout", ["strided", *LAYOUTS])
def test_invalid_positions_are_rejected_in_every_layout(layout):
    x = torch.eye(4).to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)
    for f in (torch.narrow, torch.narrow_copy):
        for args, error, says in (
            ((0, 5, 0), IndexError, r"start out of range \(expected to be in range of \[-4, 4\], but got 5\)"),
            ((0, -5, 1), IndexError, "start out of range"),
            ((0, 2, -1), RuntimeError, "length must be non-negative, but got -1"),
            ((0, 3, 2), RuntimeError, r"start \(3\) \+ length \(2\) exceeds dimension size \(4\)"),
            ((2, 0, 1), IndexError, "dimension out of range"),
        ):
            with pytest.raises(error, match=f"{f.__name__}: {says}"):
                f(x, *args)
        assert torch.equal(f(x, 0, -2, 2).to_dense(), torch.eye(4)[2:])


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_batch_dimensions_are_exchanged(layout):
    d = torch.arange(1, 2 * 3 * 4 * 6 + 1).reshape(2, 3, 4, 6)
    d[..., ::2, :3] = 0
    s = to(layout, d)
    for order in ((1, 0, 2, 3), (1, 0, 3, 2), (0, 1, 3, 2)):
        same(s.permute(order), d.permute(order))
    turned = s.transpose(0, 1)
    assert turned.layout == s.layout and turned.values().data_ptr() == s.values().data_ptr()
    same(turned[2], d.transpose(0, 1)[2])
    same(turned.transpose(0, 1), d)
    same(turned + turned, 2 * d.transpose(0, 1))
    with pytest.raises(RuntimeError, match="dimension 2 cannot move to position 1: the batch dimensions .* the first 2"):
        s.transpose(1, 2)


def test_sums_with_no_entries_are_as_sparse_as_the_other_operand():
    d = torch.zeros(3, 4, 2)
    d[1, 2] = torch.tensor([1.0, 2.0])
    s, none = d.to_sparse(2), torch.sparse_coo_tensor(size=(3, 4, 2))
    for made in (none + s, s + none):
        same(made, d)
        assert made.sparse_dim() == 2 and made.dense_dim() == 1 and made._nnz() == 1
    same(none - s, -d)
    same(none.clone().add_(s), d)


def test_products_with_a_number_of_no_dimensions_keep_their_entries():
    x = torch.sparse_coo_tensor(torch.zeros(0, 3, dtype=torch.int64), torch.tensor([1.0, 2.0, 3.0]), ())
    number = torch.tensor(2.0).to_sparse()
    assert (x * number)._nnz() == (number * x)._nnz() == 3
    same(x * number, torch.tensor(12.0))
    same(number * x, torch.tensor(12.0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_have_no_memory_format(layout):
    _, s = pair(layout)
    same(s.clone(memory_format=torch.preserve_format), s.to_dense())
    with pytest.raises(RuntimeError, match="clone: memory format torch.channels_last is only supported for strided tensors"):
        s.clone(memory_format=torch.channels_last)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_siblings_of_operators_of_sparse_tensors(layout):
    d, s = pair(layout)
    for f in (
        lambda t: t.true_divide(2),
        lambda t: t.clone().true_divide_(4),
        lambda t: torch.true_divide(t, torch.tensor(0.5)),
        lambda t: t.float_power(2),
        lambda t: t.broadcast_to((4, 4)),
        lambda t: torch.broadcast_to(t, (2, 4, 4)),
    ):
        same(f(s), f(d))
        assert f(s).layout == s.layout
    assert not (s.is_conj() or s.is_neg() or s.is_pinned())
    with pytest.raises(RuntimeError, match="float_power: the function does not map 0 to 0"):
        s.float_power(0)
    with pytest.raises(RuntimeError, match="true_divide: sparse division requires"):
        s.true_divide(d)


@pytest.mark.parametrize("layout", LAYOUTS[3:])
def test_one_size_of_blocks_is_that_of_squares(layout):
    d = torch.tensor(DENSE)
    blocks = getattr(d, "to_" + layout)(2)
    assert blocks.values().shape[1:] == (2, 2)
    same(blocks, d)
    same(d.to_sparse(layout=getattr(torch, layout), blocksize=2), d)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_resizing_like_a_tensor_with_as_many_entries_keeps_them(layout):
    d, s = pair(layout)
    same(s.clone().resize_as_sparse_(s), d)
    more = to(layout, torch.ones(6, 6))
    assert s.clone().resize_as_sparse_(more).to_dense().count_nonzero() == 0


@pytest.mark.parametrize(
    ("name", "dtype"), [("Float", torch.float32), ("Double", torch.float64), ("Long", torch.int64), ("BFloat16", torch.bfloat16)]
)
def test_legacy_classes_make_sparse_tensors(name, dtype):
    made = getattr(torch.sparse, f"{name}Tensor")
    indices, values = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1, 2], dtype=dtype)
    for size in ((), (torch.Size([2, 3]),)):
        s = made(indices, values, *size)
        assert s.layout is torch.sparse_coo and s.dtype is dtype and s.to_dense()[0, 1] == 1
    for empty in (made(2, 3), made(torch.Size([2, 3]))):
        assert (empty.shape, empty.dtype, empty._nnz()) == ((2, 3), dtype, 0)
    assert isinstance(s, made) and not isinstance(s.to_dense(), made) and not isinstance(s, getattr(torch, f"{name}Tensor"))
    with pytest.raises(TypeError, match=f"{name}Tensor: .*use sparse_coo_tensor"):
        made(indices, [1, 2])
