"""Copies of views: the values of the view in separate memory."""

import pytest

import libtensor as torch

CALLS = {
    "alias": (lambda x: x, ()),
    "detach": (torch.detach, ()),
    "view": (torch.Tensor.view, ((2, 2, 2, 3),)),
    "view:dtype": (torch.Tensor.view, (torch.int32,)),
    "expand": (torch.Tensor.expand, ((2, 4, 2, 3),)),
    "permute": (torch.permute, ((1, 0, 2),)),
    "transpose": (torch.transpose, (0, -1)),
    "squeeze": (torch.squeeze, ()),
    "squeeze:dim": (torch.squeeze, (1,)),
    "squeeze:dims": (torch.squeeze, ((0, 1),)),
    "unsqueeze": (torch.unsqueeze, (1,)),
    "select": (torch.select, (0, -1)),
    "slice": (lambda x, d, a, b, s: x[a:b:s], (0, 1, 4, 2)),
    "narrow": (torch.narrow, (0, 1, 2)),
    "as_strided": (torch.as_strided, ((2, 3), (1, 2), 1)),
    "unfold": (torch.Tensor.unfold, (0, 2, 1)),
    "diagonal": (torch.diagonal, (1,)),
    "unbind": (torch.unbind, (1,)),
    "split": (torch.split, (3,)),
    "split_with_sizes": (torch.split_with_sizes, ([1, 3],)),
}


def turned(**options):
    return torch.arange(24.0, **options).reshape(2, 3, 4).permute(2, 0, 1)


def several(t):
    return list(t) if isinstance(t, (tuple, list)) else [t]


@pytest.mark.parametrize("name", CALLS)
def test_copies_have_the_values_of_the_view_and_separate_memory(name):
    view, arguments = CALLS[name]
    x = turned()
    copy = getattr(torch, name.split(":")[0] + "_copy")
    want, got = several(view(x, *arguments)), several(copy(x, *arguments))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert torch.equal(a, b) and a.dtype == b.dtype and a.is_contiguous() and not a._is_view()
    before = [b.clone() for b in got]
    x.zero_()
    assert all(torch.equal(a, b) for a, b in zip(got, before, strict=True))
    meta = several(copy(turned(device="meta"), *arguments))
    assert [(t.shape, t.stride(), t.dtype) for t in meta] == [(t.shape, t.stride(), t.dtype) for t in got]


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("unbind", "split", "split_with_sizes")])
def test_outputs(name):
    view, arguments = CALLS[name]
    x = turned()
    copy = getattr(torch, name.split(":")[0] + "_copy")
    want = view(x, *arguments)
    out = torch.empty(0, dtype=want.dtype)
    assert copy(x, *arguments, out=out) is out and torch.equal(out, want)
    with pytest.raises(RuntimeError, match="_copy: expected out to have dtype"):
        copy(x, *arguments, out=torch.empty(want.shape, dtype=torch.bool))


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("view:dtype", "detach")])
def test_gradients_are_those_of_the_view(name):
    view, arguments = CALLS[name]
    grads = []
    for f in (view, getattr(torch, name.split(":")[0] + "_copy")):
        x = turned().contiguous().requires_grad_()
        sum((t * t).sum() for t in several(f(x, *arguments))).backward()
        grads.append(x.grad)
    assert torch.equal(*grads)


def test_errors_have_the_name_of_the_copy():
    x = turned()
    with pytest.raises(IndexError, match=r"select_copy: index 4 is out of bounds for dimension 0 with size 4"):
        torch.select_copy(x, 0, 4)
    with pytest.raises(RuntimeError, match="view_copy: "):
        torch.view_copy(x, (5, 5))
    with pytest.raises(RuntimeError, match="split_copy: "):
        torch.split_copy(x, 0)
    assert not torch.detach_copy(torch.ones(2, requires_grad=True)).requires_grad


def test_complex_numbers():
    z = torch.tensor([[1 + 2j, 3 - 4j]]).t()
    pairs = torch.view_as_real_copy(z)
    assert torch.equal(pairs, torch.view_as_real(z)) and pairs.is_contiguous()
    assert torch.equal(torch.view_as_complex_copy(pairs), z)
    pairs.zero_()
    assert z.tolist() == [[1 + 2j], [3 - 4j]]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_sparse_tensors(layout):
    x = torch.arange(1.0, 49).reshape(2, 4, 6).to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)
    y = torch.select_copy(x, 0, 1)
    assert y.layout is x.layout and torch.equal(y.to_dense(), x.to_dense()[1])
    y.values().zero_()
    assert x.to_dense().all()
    if layout != "sparse_coo":
        with pytest.raises(RuntimeError, match="select_copy: selecting rows or columns of a batch"):
            torch.select_copy(x, 1, 0)
    assert torch.equal(torch.select_copy(y, 1, 2).to_dense(), torch.zeros(4))
    for t in torch.unbind_copy(x, 0):
        assert t.layout is x.layout
    for part in (
        ("values", "indices")
        if layout == "sparse_coo"
        else ("values", *(("crow_indices", "col_indices") if layout.endswith("r") else ("ccol_indices", "row_indices")))
    ):
        copy = getattr(torch, f"{part}_copy")(x)
        assert torch.equal(copy, getattr(x, part)())
        copy.zero_()
    assert x.to_dense().all()


def test_names_and_quantized_tensors():
    x = torch.zeros(2, 3, names=("N", "C"))
    assert torch.select_copy(x, 0, 1).names == ("C",) and torch.transpose_copy(x, 0, 1).names == ("C", "N")
    q = torch.quantize_per_tensor(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 0.5, 3, torch.qint8)
    assert torch.equal(torch.select_copy(q, 0, 1).dequantize(), torch.tensor([3.0, 4.0])) and torch.transpose_copy(q, 0, 1).is_quantized
