"""Sparse tensors taken apart: unbind, split, chunk."""

import pytest

import libtensor as torch

LAYOUTS = {
    "coo": lambda d: d.to_sparse(),
    "uncoalesced": lambda d: torch.sparse_coo_tensor(
        d.to_sparse().indices().repeat(1, 2).flip(1), d.to_sparse().values().repeat(2) / 2, d.shape
    ),
    "csr": lambda d: d.to_sparse_csr(),
    "csc": lambda d: d.to_sparse_csc(),
    "bsr": lambda d: d.to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1])
def test_parts_equal_select_and_narrow(make, dim):
    dense = torch.arange(48.0).reshape(6, 8) % 5
    t = make(dense)

    def alike(part, one):
        assert part.layout == one.layout and part.shape == one.shape and part.dtype == one.dtype
        assert torch.equal(part.to_dense(), one.to_dense())
        if part.layout == torch.sparse_coo:
            assert part.is_coalesced() == one.is_coalesced()
            assert torch.equal(part._indices(), one._indices()) and torch.equal(part._values(), one._values())

    for i, part in enumerate(t.unbind(dim)):
        alike(part, t.select(dim, i))
    if make is not LAYOUTS["bsr"]:
        for parts in (t.split(4, dim), t.chunk(3, dim), t.split([1, 0, dense.shape[dim] - 1], dim)):
            start = 0
            for part in parts:
                alike(part, t.narrow_copy(dim, start, part.shape[dim]))
                start += part.shape[dim]
            assert start == dense.shape[dim]


def test_parts_of_vectors_and_gradients():
    v = torch.tensor([0.0, 2.0, 0.0, 3.0]).to_sparse()
    assert [p.item() for p in v.unbind()] == [0, 2, 0, 3]
    assert [p.to_dense().tolist() for p in v.split(3)] == [[0, 2, 0], [3]]
    h = torch.tensor([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]]]).to_sparse(2).requires_grad_()
    first, last = h.unbind(1)
    (first.to_dense() * 2 + last.to_dense() * torch.tensor([10.0, 100.0])).sum().backward()
    assert h.grad.to_dense().tolist() == [[[2, 2], [0, 0]], [[0, 0], [10, 100]]]
    h.grad = None
    h.chunk(2, 1)[1].to_dense().square().sum().backward()
    assert h.grad.to_dense().tolist() == [[[0, 0], [0, 0]], [[0, 0], [6, 8]]]


@pytest.mark.slow
def test_many_parts_are_made_in_one_pass():
    n = 150_000
    t = torch.sparse_coo_tensor(torch.stack((torch.arange(n) % 2, torch.arange(n).flip(0))), torch.arange(float(n)), (2, n))
    parts = t.unbind(1)
    assert len(parts) == n
    for i in (0, 1, 70_001, n - 1):
        entry = n - 1 - i
        assert parts[i]._indices().tolist() == [[entry % 2]] and parts[i]._values().tolist() == [entry]
    halves = t.split(n // 50_000, 1)
    assert len(halves) == 50_000 and halves[7].to_dense().tolist() == t.narrow_copy(1, 21, 3).to_dense().tolist()
