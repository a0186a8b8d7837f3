"""Sparse tensors: their results are those of dense tensors, and inconsistent indices and values raise errors."""

import copy
import io
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

import libtensor as torch

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
DENSE = [[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0, 0], [0, -1, 5, 0]]
OTHER = [[1, 0, 0, 4], [0, 0, 7, 0], [2, 0, 0, 0], [0, 3, 1, 0]]
NUMBERS = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
)


def to(layout, dense):
    return dense.to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)


def pair(layout, dtype=torch.float64):
    dense = [torch.tensor(x).abs().to(dtype) if dtype is torch.uint8 else torch.tensor(x).to(dtype) for x in (DENSE, OTHER)]
    return *dense, *(to(layout, x) for x in dense)


def same(sparse, dense):
    assert torch.equal(sparse.to_dense(), dense), (sparse.to_dense(), dense)
    assert sparse.dtype == dense.dtype


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.bool, *NUMBERS])
def test_conversions_keep_every_element(layout, dtype):
    d = pair(layout, dtype)[0]
    s = to(layout, d)
    assert s.layout is getattr(torch, layout) and s.shape == d.shape and s.device == d.device
    assert s.is_sparse == (layout == "sparse_coo") and s.is_sparse_csr == (layout == "sparse_csr")
    same(s, d)
    for other in LAYOUTS:
        t = to(other, s.to_sparse() if "_bs" in layout and "_cs" in other else s)
        assert t.layout is getattr(torch, other)
        same(t, d)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_batches_and_dense_dimensions(layout):
    d = torch.arange(1.0, 97).reshape(2, 4, 4, 3)
    s = d.to_sparse(layout=getattr(torch, layout), dense_dim=1, blocksize=(2, 2) if "_bs" in layout else None)
    assert (s.sparse_dim(), s.dense_dim(), s.shape) == (2, 1, (2, 4, 4, 3))
    same(s, d)
    same(s.to_sparse(), d)
    same(s * 2, d * 2)
    uneven = torch.tensor([[[1, 0], [0, 0]], [[1, 2], [0, 0]]])
    with pytest.raises(RuntimeError, match="the same number of specified elements per batch|divided"):
        uneven.to_sparse(layout=getattr(torch, layout), blocksize=(1, 1) if "_bs" in layout else None)


def test_entries_of_one_place_add_up():
    s = torch.sparse_coo_tensor([[0, 1, 0], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    assert not s.is_coalesced() and s._nnz() == 3 and s._values().tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match=r"cannot get indices on an uncoalesced tensor, please call .coalesce\(\) first"):
        s.indices()
    c = s.coalesce()
    assert c.is_coalesced() and c.indices().tolist() == [[0, 1], [2, 0]] and c.values().tolist() == [8, 4]
    assert c.coalesce()._values().data_ptr() == c._values().data_ptr()
    assert s.to_dense().tolist() == [[0, 0, 8], [4, 0, 0]]
    assert (s**2).to_dense().tolist() == [[0, 0, 64], [16, 0, 0]]


def test_parts_are_shared():
    i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
    s = torch.sparse_coo_tensor(i, v)
    v[0] = 7
    assert s.to_dense().tolist() == [[0, 7], [2, 0]]
    assert s._indices().data_ptr() == i.data_ptr() and s.values is not None
    c = torch.sparse_csr_tensor([0, 1, 2], [1, 0], v)
    assert c.values().data_ptr() == v.data_ptr()
    c.mul_(2)
    assert v.tolist() == [14, 4]


BAD = {
    "found negative index -1 for dim 0": lambda: torch.sparse_coo_tensor([[0, -1], [0, 1]], [1.0, 2.0], (2, 2)),
    "for dim 1, size is 2 but found index 2": lambda: torch.sparse_coo_tensor([[0, 1], [0, 2]], [1.0, 2.0], (2, 2)),
    "same nnz, but got nnz from indices: 2, nnz from values: 1": lambda: torch.sparse_coo_tensor([[0, 1], [0, 1]], [1.0], (2, 2)),
    r"sparse_dim \(2\) \+ dense_dim \(1\), but got 2": lambda: torch.sparse_coo_tensor([[0], [0]], [[1.0, 2.0]], (2, 2)),
    "values has incorrect size": lambda: torch.sparse_coo_tensor([[0], [0]], [[1.0, 2.0]], (2, 2, 3)),
    "indices must be sparse_dim x nnz": lambda: torch.sparse_coo_tensor([0, 1], [1.0, 2.0]),
    "must match device of values": lambda: torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1, device="meta"), (2,)),
    "not sorted in row-major order": lambda: torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True),
    "crow_indices must begin with 0, but got 1": lambda: torch.sparse_csr_tensor([1, 2], [0, 1], [1.0, 2.0], (1, 2)),
    "crow_indices must end with the number of entries, 2, but got 1": lambda: torch.sparse_csr_tensor([0, 1], [0, 1], [1.0, 2.0], (1, 2)),
    "crow_indices must not decrease": lambda: torch.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2)),
    "has a difference of 3, but a row or column has at most 2 entries": lambda: torch.sparse_csr_tensor(
        [0, 3], [0, 1, 1], [1.0, 2.0, 3.0], (1, 2)
    ),
    "col_indices must be less than 2, but got 5": lambda: torch.sparse_csr_tensor([0, 2], [0, 5], [1.0, 2.0], (1, 2)),
    "col_indices must not be negative, but got -1": lambda: torch.sparse_csr_tensor([0, 2], [-1, 1], [1.0, 2.0], (1, 2)),
    "col_indices must be strictly increasing": lambda: torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2)),
    "col_indices must be strictly increasing within each row or column": lambda: torch.sparse_csr_tensor(
        [0, 2], [1, 1], [1.0, 2.0], (1, 2)
    ),
    "row_indices must be less than 1, but got 3": lambda: torch.sparse_csc_tensor([0, 1, 2], [0, 3], [1.0, 2.0], (1, 2)),
    "crow_indices must have 3 elements": lambda: torch.sparse_csr_tensor([0, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "cannot be divided into blocks": lambda: torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]], (2, 3)),
    "must have the same dtype": lambda: torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0], dtype=torch.int32), [1.0]),
    "must be integers": lambda: torch.sparse_csr_tensor(torch.tensor([0, 1]) == 1, torch.tensor([0]), [1.0]),
    "values must have at least 3 dimensions": lambda: torch.sparse_bsc_tensor([0, 1], [0], [1.0], (2, 2)),
}


@pytest.mark.parametrize("text", BAD)
def test_parts_that_do_not_fit_are_rejected(text):
    before = torch.memory_stats().in_use
    with pytest.raises(RuntimeError, match=text):
        BAD[text]()
    assert torch.memory_stats().in_use == before


# Indices that change after the check are rejected when they are used.
@pytest.mark.parametrize("bad", [-1, 99, -(2**62), 2**62])
def test_indices_that_go_bad_later(bad):
    s = torch.eye(3).to_sparse()
    s.indices()[0, 2] = bad
    c = torch.eye(3).to_sparse_csr()
    c.col_indices()[2] = bad
    for call in (s.to_dense, lambda: s @ torch.ones(3, 3), c.to_dense, lambda: c @ torch.ones(3), lambda: c @ c):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    r = torch.eye(3).to_sparse_csr()
    r.crow_indices()[1] = bad
    for call in (r.to_dense, lambda: r @ torch.ones(3, 3), lambda: r + torch.ones(3, 3).to_sparse_csr()):
        with pytest.raises((RuntimeError, IndexError, MemoryError)):
            call()


UNARY = [
    "neg",
    "abs",
    "sign",
    "sin",
    "tanh",
    "sqrt",
    "square",
    "expm1",
    "log1p",
    "floor",
    "trunc",
    "relu",
    "erf",
    "asinh",
    "isnan",
    "isinf",
    "signbit",
    "deg2rad",
    "conj_physical",
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNARY)
def test_operators_that_keep_zeros(layout, name):
    d, _, s, _ = pair(layout)
    if name in ("sqrt", "log1p"):
        d = d.abs()
        s = s.abs()
    got = getattr(torch, name)(s)
    assert got.layout is s.layout and got._nnz() == s._nnz()
    same(got, getattr(torch, name)(d))
    if hasattr(s, name + "_"):
        t = s.clone()
        assert getattr(t, name + "_")() is t
        same(t, getattr(torch, name)(d))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_arithmetic(layout, dtype):
    d, e, s, t = pair(layout, dtype)
    for got, want in (
        (s + t, d + e),
        (s - t, d - e),
        (s * t, d * e),
        (s * d, d * d),
        (d * s, d * d),
        (s * 3, d * 3),
        (torch.add(s, t, alpha=2), torch.add(d, e, alpha=2)),
    ):
        assert got.layout is s.layout
        same(got, want)
    assert torch.equal(d + s, d + d) and torch.equal(s + e, d + e) and torch.equal(e - s, e - d)
    same(s / 2, d / 2)
    mixed = s + to("sparse_csr", e.to(torch.float64)) if not dtype.is_complex else s + t
    assert mixed.layout is s.layout and torch.equal(mixed.to_dense(), d + (e.to(torch.float64) if not dtype.is_complex else e))
    u = s.clone()
    u += t
    same(u, d + e)
    with pytest.raises(RuntimeError, match="result is dense|result would be dense"):
        s + 1
    with pytest.raises(RuntimeError, match="result would be dense"):
        s**0
    with pytest.raises(RuntimeError, match="cannot be written to a tensor of layout"):
        s.add_(d)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_products(layout, dtype):
    d, e, s, t = pair(layout, dtype)
    m, v = e[:, :3].contiguous(), e[0].contiguous()
    assert torch.equal(s @ m, d @ m) and torch.equal(s @ v, d @ v)
    assert torch.equal(e[:3] @ s, e[:3] @ d) and torch.equal(v @ s, v @ d)
    assert torch.equal(torch.addmm(m, s, m, beta=2, alpha=3), torch.addmm(m, d, m, beta=2, alpha=3))
    for right in LAYOUTS:
        got = s @ to(right, e)
        assert got.layout is (torch.sparse_coo if layout == right == "sparse_coo" else torch.sparse_csr)
        same(got, d @ e)
    with pytest.raises(RuntimeError, match="the inner sizes 4 and 3 differ"):
        s @ m[:3]
    with pytest.raises(RuntimeError, match="same dtype"):
        s @ (m.to(torch.bool) if dtype is not torch.bool else m)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_structure(layout):
    d, e, s, t = pair(layout)
    same(s.t(), d.t())
    same(s.transpose(0, 1), d.t())
    same(torch.cat([s, t]), torch.cat([d, e]))
    same(torch.cat([s, t], 1), torch.cat([d, e], 1))
    same(torch.stack([s, t]), torch.stack([d, e])) if layout == "sparse_coo" else None
    same(s.unsqueeze(0), d.unsqueeze(0))
    same(s.narrow(0, 2, 2), d.narrow(0, 2, 2))
    same(s[0:2], d[0:2])
    same(s.index_select(1, torch.tensor([3, 0, 3, 1])), d.index_select(1, torch.tensor([3, 0, 3, 1])))
    for i in range(4):
        same(s[i], d[i])
        same(s[:, i], d[:, i])
        assert s[i, 1].item() == d[i, 1].item() and s[i, 1].layout is torch.strided
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        s[4]
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        s.narrow(0, 3, 2)


def test_hybrid_structure():
    d = torch.arange(24.0).reshape(2, 3, 4)
    s = d.to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.values().shape) == (2, 1, 6, (6, 4))
    same(s.transpose(0, 1), d.transpose(0, 1))
    same(s.permute(1, 0, 2), d.permute(1, 0, 2))
    same(s.select(2, 1), d.select(2, 1))
    same(torch.cat([s, s * 2], 2), torch.cat([d, d * 2], 2))
    same(s + d.to_sparse(), d + d)
    same(s * d.to_sparse(), d * d)
    assert torch.equal(s.sum(), d.sum()) and torch.equal(torch.sparse.sum(s, (0, 1)), d.sum((0, 1)))
    same(torch.sparse.sum(s, 2), d.sum(2))
    with pytest.raises(RuntimeError, match="dimensions 1 and 2 must both be sparse, which the first 2 are"):
        s.transpose(1, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reductions(layout):
    d, _, s, _ = pair(layout)
    assert torch.equal(s.sum(), d.sum()) and torch.equal(s.norm(), d.norm()) and torch.equal(s.mean(), d.mean())
    for dim in (0, 1):
        same(s.sum(dim), d.sum(dim))
        same(s.sum(dim, keepdim=True), d.sum(dim, keepdim=True))
    assert torch.equal(torch.sparse.sum(s, [0, 1]), d.sum())
    i = pair(layout, torch.int32)[2]
    assert i.sum().dtype is torch.int64 and i.sum(0).dtype is torch.int64


def test_softmax_is_that_of_the_entries():
    d = torch.tensor(DENSE, dtype=torch.float64)
    low = d.masked_fill(d == 0, -torch.inf)
    for layout in LAYOUTS[:3]:
        s = to(layout, d)
        for dim in (0, 1):
            want = torch.softmax(low, dim).nan_to_num(0)
            assert torch.allclose(torch.sparse.softmax(s, dim).to_dense(), want)
            assert torch.allclose(torch.sparse.log_softmax(s, dim).values().exp(), torch.sparse.softmax(s, dim).values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_masks(layout):
    d, e, s, t = pair(layout)
    for of in (e, t):
        got = of.sparse_mask(s)
        assert got.layout is s.layout
        same(
            got,
            e * to(layout, d).abs().sign().to_dense() if "_bs" not in layout else e * (s.to_dense() * 0 + torch.ones_like(s).to_dense()),
        )
    m = torch.arange(8.0, dtype=torch.float64).reshape(4, 2)
    got = torch.sparse.sampled_addmm(s, m, m.t(), beta=2, alpha=3)
    same(got, (2 * d + 3 * (m @ m.t())) * torch.ones_like(s).to_dense())


def test_other_functions():
    got = torch.sparse.spdiags(torch.arange(9).reshape(3, 3), torch.tensor([0, 1, -1]), (4, 4))
    assert got.to_dense().tolist() == [[0, 4, 0, 0], [6, 1, 5, 0], [0, 7, 2, 0], [0, 0, 8, 0]]
    a = torch.tensor([[2.0, 0], [0, 4]])
    assert torch.sparse.spsolve(a.to_sparse_csr(), torch.tensor([2.0, 4])).tolist() == [1, 1]
    s = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="is too small for the entry at index 1"):
        s.sparse_resize_((1, 2), 2, 0)
    assert s.shape == (2, 2)
    assert s.sparse_resize_((3, 2), 2, 0) is s and s.shape == (3, 2) and s._nnz() == 2
    assert s.zero_() is s and s._nnz() == 0 and s.shape == (3, 2)
    assert torch.zeros(2, 3, layout=torch.sparse_csr).crow_indices().tolist() == [0, 0, 0]
    assert torch.bmm(torch.ones(2, 3, 3).to_sparse(), torch.ones(2, 3, 2)).tolist() == torch.full((2, 3, 2), 3.0).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("factory", [torch.ones, torch.rand, torch.eye, torch.arange, torch.hann_window])
def test_factories_of_dense_values_name_the_conversion_to_sparse(factory, layout):
    message = f"not implemented for {layout} tensors; create a strided tensor and convert it with to_sparse()"
    with pytest.raises(NotImplementedError, match=re.escape(message)):
        factory(3, layout=getattr(torch, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_errors_of_operators_without_a_sparse_form(layout):
    s = pair(layout)[2]
    for name in ("sort", "exp", "cumsum", "median", "tril"):
        with pytest.raises(NotImplementedError, match=rf"is not implemented for {layout} tensors; convert with to_dense\(\)"):
            getattr(torch, name)(s, *((0,) if name == "cumsum" else ()))
    with pytest.raises(TypeError, match="to_dense"):
        s.numpy()
    with pytest.raises(RuntimeError):
        s.item()


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_an_out_with_more_dense_dimensions_than_the_result_has_any_is_rejected(layout):
    out = torch.ones(2, 3, 4, 5).to_sparse(1)
    with pytest.raises(RuntimeError, match="3 dense dimensions cannot have sizes"):
        torch.tanh(torch.eye(2).to_sparse(layout=layout), out=out)
    assert out.shape == (2, 3, 4, 5) and out._nnz() == 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_values(layout):
    d, e, _, _ = pair(layout)
    m = torch.arange(12.0, dtype=torch.float64).reshape(4, 3)
    for f in (
        lambda s: s @ m,
        lambda s: s * e,
        lambda s: s * s,
        lambda s: s + s,
        lambda s: s @ s,
        lambda s: s.sin(),
        lambda s: s.sum(0),
        lambda s: s.t() @ m,
        lambda s: m.t() @ s,
    ):
        x = d.clone().requires_grad_()
        kept = (d != 0).to(torch.float64)
        if "_bs" in layout:
            kept = torch.ones_like(to(layout, d)).to_dense()
        dense = f(x)
        weight = torch.linspace(1, 2, dense.numel(), dtype=torch.float64).reshape(dense.shape)
        (dense * weight).sum().backward()
        s = to(layout, d).requires_grad_()
        made = f(s)
        ((made if made.layout is torch.strided else made.to_dense()) * weight).sum().backward()
        assert s.grad.layout is s.layout
        assert torch.allclose(s.grad.to_dense(), x.grad * kept)
    v = to(layout, d)._values() if layout == "sparse_coo" else to(layout, d).values()
    assert torch.autograd.gradcheck(lambda v: to(layout, d).mul(2).to_dense() * v.sum(), (v.detach().requires_grad_(),))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_gradients_of_sparse_results_may_have_any_layout(layout):
    x = torch.tensor([[1.0, 0, 2, 0], [0, 3, 0, 4]], requires_grad=True)
    g = torch.arange(1.0, 9).reshape(2, 4)
    s = to(layout, x)
    (kept,) = torch.autograd.grad(s.to_dense(), x, g, retain_graph=True)
    for given in (g, g.to_sparse(), g.to_sparse_csr()):
        assert torch.equal(torch.autograd.grad(s, x, given, retain_graph=True)[0], kept)
        assert torch.equal(torch.autograd.grad(x * 2, x, given)[0], 2 * g)
        leaf = s.detach().requires_grad_()
        leaf.grad = given
        assert leaf.grad.layout is leaf.layout and torch.equal(leaf.grad.to_dense(), kept)
    with pytest.raises(RuntimeError, match=r"shape of torch.Size\(\[3, 4\]\) and output\[0\] has a shape of torch.Size\(\[2, 4\]\)"):
        torch.autograd.grad(s, x, torch.ones(3, 4))


def test_gradients_reach_the_operands_of_values():
    i = torch.tensor([[0, 1, 0], [2, 0, 2]])
    v = torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True)
    m = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda v, m: torch.sparse_coo_tensor(i, v, (2, 3)) @ m, (v, m))
    assert torch.autograd.gradcheck(lambda v: torch.sparse_coo_tensor(i, v, (2, 3)).coalesce().values(), (v,))
    assert torch.autograd.gradcheck(lambda v: torch.sparse.softmax(torch.sparse_coo_tensor(i, v, (2, 3)), 1).to_dense(), (v,))
    s = torch.sparse_coo_tensor(i, v, (2, 3))
    assert s.requires_grad and not s.detach().requires_grad and "requires_grad=True" in repr(s)
    with torch.no_grad():
        assert not (s * 2).requires_grad


def test_nothing_stays_in_use():
    def work():
        for layout in LAYOUTS:
            _, e, s, t = pair(layout)
            (s + t, s * t, s @ t, s @ e, s.t(), s.sum(0), torch.cat([s, t]), s.clone().zero_())
            (s.requires_grad_() * 2).sum().backward()

    work()
    before = torch.memory_stats().in_use
    work()
    assert torch.memory_stats().in_use == before


def test_printed_as_pytorch_prints():
    s = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    assert repr(s).splitlines() == [
        "tensor(indices=tensor([[0, 1],",
        "                       [2, 0]]),",
        "       values=tensor([3., 4.]),",
        "       size=(2, 3), nnz=2, layout=torch.sparse_coo)",
    ]
    assert repr(s.to_sparse_csr()).splitlines() == [
        "tensor(crow_indices=tensor([0, 1, 2]),",
        "       col_indices=tensor([2, 0]),",
        "       values=tensor([3., 4.]), size=(2, 3), nnz=2, layout=torch.sparse_csr)",
    ]


def kept():
    d = torch.tensor(DENSE).to(torch.float32)
    return {layout: to(layout, d) for layout in LAYOUTS} | {
        "repeated": torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)),
        "leaf": to("sparse_coo", d).requires_grad_(),
    }


def test_files_and_pickles_keep_sparse_tensors():
    given = kept()
    file = io.BytesIO()
    torch.save(given, file)
    file.seek(0)
    for copied in (torch.load(file), pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
        for name, s in given.items():
            t = copied[name]
            assert t.layout is s.layout and t._nnz() == s._nnz()
            same(t.detach(), s.detach().to_dense())
    file.seek(0)
    loaded = torch.load(file)
    assert not loaded["leaf"].requires_grad and pickle.loads(pickle.dumps(given["leaf"])).requires_grad  # PyTorch's files do not keep it
    assert loaded["sparse_coo"].is_coalesced() and not loaded["repeated"].is_coalesced()


# Indices are checked wherever a tensor is made: those of files too.
def test_files_with_bad_indices_are_rejected():
    s = torch.eye(3).to_sparse_csr()
    s.col_indices()[1] = 77
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="col_indices must be less than 3, but got 77"):
        torch.load(file)
    with pytest.raises(RuntimeError, match="col_indices must be less than 3, but got 77"):
        pickle.loads(pickle.dumps(s))


@pytest.mark.parametrize("layout", LAYOUTS[:4])
def test_scipy_shares_indices(layout):
    d = torch.tensor(DENSE).to(torch.float64)
    s = to(layout, d)
    array = torch.sparse.to_scipy(s)
    assert array.toarray().tolist() == d.tolist() and array.format == layout[7:]
    back = torch.sparse.from_scipy(array)
    assert back.layout is s.layout
    same(back, d)
    if layout != "sparse_coo":
        array.data[...] *= 2
        same(s, d * 2)
        same(back, d * 2)
    unordered = sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 0], [0, 3]), shape=(1, 2))
    assert torch.sparse.from_scipy(unordered).to_dense().tolist() == [[5, 1]]


def scipy_array(kind, dense, block):
    return sp.bsr_array(dense, blocksize=(block, block)) if kind == "bsr" else getattr(sp, f"{kind}_array")(dense)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_damaged_arrays_of_scipy_are_rejected(kind):
    starts = (1, 100), (1, -100), (4, 1 << 30), (0, 1)
    for part, at, value in (*(("indptr", *start) for start in starts), ("indices", 2, 1 << 30), ("indices", 0, -5)):
        array = scipy_array(kind, np.eye(4), 1)
        getattr(array, part)[at] = value
        with pytest.raises(RuntimeError, match="indices"):
            torch.sparse.from_scipy(array)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_arrays_of_scipy_in_any_order(kind):
    array = scipy_array(kind, np.kron(np.arange(12.0).reshape(3, 4), np.ones((2, 2))), 2)
    want = array.toarray().tolist()
    n = len(array.indices)
    array.indices, array.data = array.indices[::-1].copy(), array.data[::-1].copy()
    array.indptr = n - array.indptr[::-1].copy()
    assert torch.sparse.from_scipy(array).to_dense().flip(0 if kind != "csc" else 1).tolist() == want
    array.indices = np.zeros_like(array.indices)
    assert torch.sparse.from_scipy(array).to_dense().sum().item() == np.sum(want)
    roomy = sp.csr_array((np.ones(5), np.zeros(5, np.int32), np.array([0, 2])), shape=(1, 3))
    assert torch.sparse.from_scipy(roomy).to_dense().tolist() == [[2, 0, 0]]


def test_vectors_of_scipy():
    for make in (sp.csr_array, sp.coo_array, sp.dok_array):
        assert torch.sparse.from_scipy(make(np.array([0, 2.0, 0, 3]))).to_dense().tolist() == [0, 2, 0, 3]
    with pytest.raises(RuntimeError, match="only matrices without dense dimensions are supported"):
        torch.sparse.to_scipy(torch.tensor(2.0).to_sparse())


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: torch.kron(x, x, out=out),
        lambda x, out: torch.mean(x, out=out),
        lambda x, out: torch.matmul(x, x[0], out=out),
        lambda x, out: torch.add(x, x, out=out),
        lambda x, out: torch.sort(x, out=(out, torch.empty(0, dtype=torch.int64))),
    ],
)
def test_strided_results_go_to_no_sparse_output(call):
    out = torch.ones(4, 4).to_sparse()
    with pytest.raises(NotImplementedError, match="the result is strided, but out is a sparse_coo tensor"):
        call(torch.ones(2, 2), out)
    assert torch.equal(out.to_dense(), torch.ones(4, 4))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.float32])
def test_sampled_products_keep_their_dtype(dtype):
    s, ones = torch.tensor([[1, 2], [0, 3]], dtype=dtype).to_sparse_csr(), torch.ones(2, 2, dtype=dtype)
    assert (
        torch.sparse.sampled_addmm(s, ones, ones).values().tolist() == [3, 4, 5]
        and torch.sparse.sampled_addmm(s, ones, ones).dtype == dtype
    )


def test_first_compressed_indices_are_told_as_they_are():
    with pytest.raises(RuntimeError, match="ccol_indices must begin with 0, but got -7"):
        torch.sparse_csc_tensor([-7, -1, 2], [0, 1], torch.ones(2), [2, 2])


def test_split_positions_cannot_be_a_sparse_tensor():
    with pytest.raises(NotImplementedError, match="tensor_split is not implemented for sparse_coo tensors"):
        torch.tensor_split(torch.arange(6.0), torch.tensor([2, 4]).to_sparse())


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        ("sparse_coo", r"convert with to_dense\(\)"),
        ("sparse_csr", r"convert with to_dense\(\)"),
        ("quantized", r"call dequantize\(\) first"),
    ],
)
def test_errors_name_the_call_of_the_user(kind, instead):
    x = torch.quantize_per_tensor(torch.eye(3), 0.1, 2, torch.quint8) if kind == "quantized" else to(kind, torch.eye(3))
    end = rf" is not implemented for {kind} tensors; {instead}$"
    d = torch.eye(3)
    with pytest.raises(NotImplementedError if kind == "quantized" else TypeError, match="^index_put_" + end):
        d[0] = x
    with pytest.raises(torch.safetensors.SafetensorError, match="^save" + end):
        torch.safetensors.save({"x": x})
    if kind == "quantized":
        with pytest.raises(NotImplementedError, match="^index" + end):
            d[x]
        return
    with pytest.raises(TypeError, match="^index_put_" + end):
        x[0] = 1
    with pytest.raises(BufferError, match="^to_dlpack" + end):
        x.__dlpack__()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex32])
def test_scipy_computes_with_tensors(dtype):
    d = torch.tensor(DENSE, dtype=torch.float32).to(dtype)
    for layout in LAYOUTS[:4]:
        array = torch.sparse.to_scipy(to(layout, d))
        assert array.dtype == ("complex64" if dtype.is_complex else "float32") and (array.toarray() == np.array(DENSE)).all()
        assert (abs((array @ array).toarray() - np.array(DENSE) @ np.array(DENSE)) < 1e-6).all()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_empty_has_no_entries(layout):
    x = torch.empty((3, 4), layout=getattr(torch, layout), dtype=torch.int32, requires_grad=False)
    assert x.layout is getattr(torch, layout) and x._nnz() == 0 and x.dtype is torch.int32 and x.to_dense().sum() == 0
    assert torch.empty(2, 3, 4, layout=x.layout).shape == (2, 3, 4)
    assert x.new_empty((2, 2)).layout is x.layout
    with pytest.raises(RuntimeError, match="empty: memory format"):
        torch.empty((1, 2, 3, 4), layout=x.layout, memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="empty: an empty tensor of layout sparse_bsr and size"):
        torch.empty((4, 4), layout=torch.sparse_bsr)
    for make in (torch.empty, torch.zeros):
        for given, out in ((torch.strided, torch.zeros(2, 2, layout=x.layout)), (x.layout, torch.zeros(2, 2))):
            with pytest.raises(RuntimeError, match=f"{make.__name__}: layout .* does not match the layout of out"):
                make((4, 4), layout=given, out=out, dtype=torch.int8)


def test_a_number_is_the_value_of_one_entry():
    for value in (2.0, torch.tensor(2.0)):
        x = torch.sparse_coo_tensor([[1]], value, (3,))
        assert x.to_dense().tolist() == [0, 2, 0] and x._values().tolist() == [2]
    with pytest.raises(RuntimeError, match="nnz from indices: 2, nnz from values: 1"):
        torch.sparse_coo_tensor([[0, 1]], 1.0, (3,))


@pytest.mark.parametrize("make", [torch.sparse_bsr_tensor, torch.sparse_bsc_tensor])
def test_lists_without_blocks(make):
    for size, starts, block in (((4, 6), 3, (2, 6)), ((2, 2), 2, (2, 2)), ((0, 0), 1, (1, 1)), ((4, 0), 3, (2, 1))):
        size, block = (size, block) if make is torch.sparse_bsr_tensor else (size[::-1], block[::-1])
        x = make([0] * starts, [], [], size)
        assert x.shape == size and x._nnz() == 0 and x.values().shape == (0, *block)
        assert torch.equal(x.to_dense(), torch.zeros(size)) and torch.equal((x + x).to_dense(), torch.zeros(size))
    assert make([0, 0], [], []).shape == ((1, 0) if make is torch.sparse_bsr_tensor else (0, 1))
    with pytest.raises(RuntimeError, match="must have 4 elements, one more than the number of compressed rows or columns for size"):
        make([0, 0, 0], [], [], (3, 3))


def test_errors_of_spdiags():
    d, o = torch.ones(2, 3), torch.tensor([0, 1])
    for args, says in (
        ((d, o.to(torch.int32), (3, 3)), "offsets must have dtype int64, but got int32"),
        ((d, o[:1], (3, 3)), r"the number of diagonals \(2\) does not match the number of offsets, a vector of sizes \[1\]"),
        ((d, o * 0, (3, 3)), "offsets contain duplicate values"),
        ((d[None], o, (3, 3)), "diagonals must be a vector or a matrix"),
        ((d, o, (-3, 3)), r"shape must be two sizes that are not negative, but got \[-3, 3\]"),
        ((d, o, (3,)), "shape must be two sizes"),
        ((d, o, (3, 3), torch.sparse_bsr), "only output layouts"),
        ((d.to_sparse(), o, (3, 3)), "diagonals and offsets must be strided"),
    ):
        with pytest.raises(RuntimeError, match=f"sparse.spdiags: {says}"):
            torch.sparse.spdiags(*args)


def test_entries_are_known_to_be_in_order():
    x = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,))
    assert not x.is_coalesced() and x._coalesced_(True) is x and x.is_coalesced() and x.indices().tolist() == [[0, 2]]
    assert not x._coalesced_(False).is_coalesced()
    twice = torch.sparse_coo_tensor([[2, 2]], [1.0, 2.0], (3,))
    with pytest.raises(RuntimeError, match="the indices are not sorted in row-major order without duplicates; call coalesce"):
        twice._coalesced_(True)
    assert not twice.is_coalesced() and twice.to_dense().tolist() == [0, 0, 3]
    with pytest.raises(RuntimeError, match="_coalesced_ expected a tensor of layout sparse_coo but got strided"):
        torch.ones(2)._coalesced_(True)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_compressed_tensors_are_resized(layout):
    d, rows = torch.tensor(DENSE, dtype=torch.float64), layout.startswith("sparse_b") and layout.endswith("r") or layout == "sparse_csr"
    for more, less in ((6, 2), (4, 0)):
        x = to(layout, d)
        wide = (more, 6) if rows else (6, more)
        assert x.resize_(wide) is x and x.shape == wide
        want = torch.zeros(wide, dtype=torch.float64)
        want[:4, :4] = d
        same(x, want)
        narrow = (less, 6) if rows else (6, less)
        same(x.resize_(narrow), want[: narrow[0], : narrow[1]])
    x = to(layout, d)
    with pytest.raises(
        RuntimeError, match=r"resize_: dimension . of a tensor of layout .* cannot shrink from 4 to 2, because it may contain entries"
    ):
        x.resize_((4, 2) if rows else (2, 4))
    with pytest.raises(RuntimeError, match="resize_: batch and dense sizes of a tensor of layout .* cannot change, but got size"):
        x.resize_(1, 4, 4)
    same(x, d)
    assert to(layout, d[:2, :2]).resize_as_(x).shape == (4, 4)
    y = to(layout, d[:2, :2]).resize_as_sparse_(x)
    assert y.shape == (4, 4) and y._nnz() == x._nnz() and y.values().shape == x.values().shape


def test_coo_tensors_are_resized_as_others():
    x, y = torch.eye(2).to_sparse(), torch.ones(3, 4).to_sparse()
    assert x.resize_as_sparse_(y) is x and x.shape == (3, 4) and x._nnz() == 2
    assert torch.empty((2, 2), layout=torch.sparse_coo).resize_as_(torch.ones(2, 3, 4).to_sparse(2)).dense_dim() == 1
    for call, says in (
        (lambda: y.resize_as_(torch.eye(2).to_sparse()), "resize_as_: size 2 of dimension . is too small for the entry at"),
        (
            lambda: y.resize_as_sparse_(torch.ones(2)),
            "resize_as_sparse_: expected two sparse tensors of the same layout, but got sparse_coo",
        ),
        (
            lambda: torch.ones(2).resize_as_sparse_(torch.ones(2)),
            "expected two sparse tensors of the same layout, but got strided and strided",
        ),
    ):
        with pytest.raises(RuntimeError, match=says):
            call()
    assert y.shape == (3, 4)


def test_the_setting_of_checks_is_kept():
    setting = torch.sparse.check_sparse_tensor_invariants
    assert not setting.is_enabled()
    with setting() as _, setting(False):
        assert not setting.is_enabled()
    outer = setting()
    with outer:
        assert setting.is_enabled()
        with pytest.raises(RuntimeError, match="already active"), outer:
            pass
    assert not setting.is_enabled() and setting()(setting.is_enabled)() and not setting.is_enabled()
    setting.enable()
    assert setting.is_enabled()
    setting.disable()
    assert not setting.is_enabled()


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in LAYOUTS[1:] for b in LAYOUTS[1:] if "_cs" in a or "_bs" in b])
def test_indices_keep_their_dtype(source, target):
    x = to(source, torch.tensor(DENSE))
    first, second = (x.crow_indices(), x.col_indices()) if source.endswith("r") else (x.ccol_indices(), x.row_indices())
    narrow = torch.sparse_compressed_tensor(first.int(), second.int(), x.values(), x.shape, layout=x.layout)
    for given, dtype in ((x, torch.int64), (narrow, torch.int32)):
        made = to(target, given)
        starts, plain = (made.crow_indices(), made.col_indices()) if target.endswith("r") else (made.ccol_indices(), made.row_indices())
        assert starts.dtype is plain.dtype is dtype and torch.equal(made.to_dense(), x.to_dense())
        if source == target:
            assert narrow.clone().resize_as_sparse_(given).values().shape == x.values().shape


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_of_sparse_tensors_are_not_assigned_to(layout):
    x = to(layout, torch.tensor(DENSE))
    for value in (1, torch.tensor(1), [1, 2, 3, 4]):
        with pytest.raises(TypeError, match=f"index_put_ is not implemented for {layout} tensors; convert with to_dense"):
            x[0] = value
    assert torch.equal(x.to_dense(), torch.tensor(DENSE))


def test_outputs_determine_the_dtype_of_zeros():
    for dtype in (torch.int8, torch.bool, torch.complex64):
        out = torch.eye(2).to(dtype).to_sparse()
        assert torch.zeros(3, 1, out=out).dtype is dtype and out._nnz() == 0


def test_anything_of_a_sparse_number_is_a_number():
    for value, want in (([], False), ([0.0], False), ([2.0], True), ([1.0, -1.0], False)):
        x = torch.sparse_coo_tensor(torch.zeros(0, len(value), dtype=torch.int64), torch.tensor(value), ())
        assert x.any().layout is torch.strided and x.any().item() is want and x.amax().layout is torch.strided


def test_the_adjoint_attribute_is_of_matrices():
    assert torch.ones(2, 3).to_sparse().H.shape == (3, 2) and torch.ones(2, 3).to_sparse_csr().H.layout is torch.sparse_csc
    assert torch.tensor(2.0).to_sparse().H.to_dense() == 2
    for t in (torch.ones(2, 3, 4).to_sparse(), torch.ones(3).to_sparse(), torch.ones(2, 2, 3).to_sparse_csr(), torch.ones(2, 3, 4)):
        with pytest.raises(RuntimeError, match=rf"H: only supported on matrices \(2-D tensors\), got {t.ndim}-D tensor"):
            _ = t.H
    assert torch.ones(2, 3, 4).to_sparse().mH.shape == (2, 4, 3)


def test_a_stack_of_a_sparse_tensor_and_a_strided_one_names_the_latter():
    sparse = torch.ones(2, 3).to_sparse()
    for list, at in (([sparse, torch.ones(2, 3)], 1), ([torch.ones(2, 3), sparse], 0)):
        with pytest.raises(RuntimeError, match=f"stack: expected sparse tensors, but tensor {at} has layout strided"):
            torch.stack(list)
    with pytest.raises(RuntimeError, match=r"tensor 1 has sizes \[3, 3\], and the first one \[2, 3\]"):
        torch.stack([sparse, torch.ones(3, 3).to_sparse()])
