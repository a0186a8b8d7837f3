"""Operations that sparse tensors do not support, as in PyTorch: the errors name alternatives."""

import pytest

import libtensor as torch

COMPRESSED = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def made(layout, sizes, dense=0):
    x = torch.arange(1.0, torch.Size(sizes).numel() + 1).reshape(sizes)
    return x.to_sparse(layout=getattr(torch, layout), dense_dim=dense, blocksize=(2, 2) if "_bs" in layout else None)


@pytest.mark.parametrize("layout", COMPRESSED)
def test_rows_and_columns_of_batches(layout):
    x = made(layout, (2, 3, 4, 6))
    for dim in (-2, -1, 2, 3):
        with pytest.raises(
            RuntimeError, match=rf"select: selecting rows or columns of a batch \(dimension {dim % 4}\) .*index the batch dimensions first"
        ):
            x.select(dim, 0)
        with pytest.raises(RuntimeError, match="unbind: selecting rows or columns of a batch"):
            x.unbind(dim)
    assert torch.equal(x[1, 2].select(0, 3).to_dense(), x.to_dense()[1, 2, 3])
    assert x[1, 2, 3, 4].item() == x.to_dense()[1, 2, 3, 4].item()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_dense_dimensions_are_selected_in_the_layout(layout):
    x = made(layout, (2, 4, 6, 3), 1)
    y = x.select(3, 1)
    assert y.layout is x.layout and y.dense_dim() == 0 and torch.equal(y.to_dense(), x.to_dense().select(3, 1))
    y.values().zero_()
    assert not x.to_dense().select(3, 1).any()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_transposed_matrices_with_dense_dimensions(layout):
    for x in (made(layout, (4, 6, 3), 1), made(layout, (2, 4, 6, 3, 2), 2)):
        for a in range(x.dim()):
            for b in range(x.dim()):
                with pytest.raises(
                    RuntimeError,
                    match=f"transpose: transposing a tensor of layout {layout} with {x.dense_dim()} dense dimensions is not supported",
                ):
                    x.transpose(a, b)


def test_transposed_dense_dimensions_of_coordinates():
    x = made("sparse_coo", (2, 3, 4, 5), 2)
    with pytest.raises(RuntimeError, match=r"dimensions 2 and 3 must both be sparse, which the first 2 are; .* permute\(\)"):
        x.transpose(2, 3)
    assert torch.equal(x.permute(1, 0, 3, 2).to_dense(), x.to_dense().permute(1, 0, 3, 2))
    assert torch.equal(x.transpose(2, -2).to_dense(), x.to_dense())


@pytest.mark.parametrize(
    ("source", "sizes", "dense", "target", "words"),
    [
        (
            "sparse_bsr",
            (4, 6),
            0,
            {"layout": "sparse_csr"},
            "layout sparse_bsr cannot be converted to layout sparse_csr; convert with to_sparse_coo",
        ),
        ("sparse_bsc", (2, 4, 6), 0, {"layout": "sparse_csc"}, "layout sparse_bsc cannot be converted to layout sparse_csc"),
        (
            "sparse_bsr",
            (4, 6),
            0,
            {"layout": "sparse_bsr", "blocksize": (2, 3)},
            r"blocks of sizes \[2, 2\] cannot be converted to blocks of sizes \[2, 3\]",
        ),
        (
            "sparse_bsr",
            (4, 6),
            0,
            {"layout": "sparse_bsc", "blocksize": (1, 1)},
            r"blocks of sizes \[2, 2\] cannot be converted to blocks of sizes \[1, 1\]",
        ),
        (
            "sparse_csr",
            (2, 4, 6),
            0,
            {"layout": "sparse_bsr", "blocksize": (2, 2)},
            "batches of layout sparse_csr cannot be converted to layout sparse_bsr",
        ),
        (
            "sparse_csc",
            (2, 4, 6),
            0,
            {"layout": "sparse_bsc", "blocksize": (2, 2)},
            "batches of layout sparse_csc cannot be converted to layout sparse_bsc",
        ),
        ("sparse_coo", (2, 4, 6), 0, {"layout": "sparse_csr"}, "layout sparse_csr requires two sparse dimensions, but the tensor has 3"),
        ("sparse_coo", (4, 6), 1, {"layout": "sparse_csr"}, "layout sparse_csr requires two sparse dimensions, but the tensor has 1"),
        ("sparse_coo", (4, 6, 2), 0, {"sparse_dim": 2}, "sparse_dim 2 must be the tensor's number of sparse dimensions, 3"),
        ("sparse_csr", (4, 6, 2), 1, {"sparse_dim": 3}, "sparse_dim must be 2 for a tensor of layout sparse_csr, but got 3"),
        (
            "sparse_csr",
            (4, 6, 2),
            1,
            {"layout": "sparse_csr", "dense_dim": 0},
            "dense_dim 0 must be the tensor's number of dense dimensions, 1",
        ),
    ],
)
def test_conversions(source, sizes, dense, target, words):
    x = made(source, sizes, dense)
    target = {k: getattr(torch, v) if k == "layout" else v for k, v in target.items()}
    with pytest.raises(RuntimeError, match=f"to_sparse: {words}"):
        x.to_sparse(**target)
    assert x.to_dense().to_sparse(**target).to_dense().equal(x.to_dense())  # the alternative that the errors name


@pytest.mark.parametrize("layout", COMPRESSED)
def test_no_batches(layout):
    with pytest.raises(RuntimeError, match=r"the batch of sizes \[0, 4, 6\] is empty"):
        made(layout, (0, 4, 6))
    assert torch.zeros(0, 4, 6).to_sparse().shape == (0, 4, 6)


@pytest.mark.parametrize("layout", COMPRESSED)
def test_copies_of_other_entries(layout):
    x, other = made(layout, (4, 6)), "sparse_csc" if layout != "sparse_csc" else "sparse_csr"
    before = x.clone()
    for source, words in (
        (x * 0, None),
        (
            torch.eye(4, 6).to_sparse(layout=x.layout, blocksize=(2, 2) if "_bs" in layout else None),
            "must have the same number of entries, but got",
        ),
        (made(other, (4, 6)), f"cannot copy to a tensor of layout {layout} from one of layout {other}"),
        (made("sparse_coo", (4, 6)), f"cannot copy to a tensor of layout {layout} from one of layout sparse_coo"),
        (made(layout, (6, 4)), "the sizes of sparse tensors must be the same"),
        (x.to_dense(), "between a strided and a sparse tensor"),
    ):
        if words is None:
            assert not x.clone().copy_(source).to_dense().any()
            continue
        with pytest.raises(RuntimeError, match=f"copy_: .*{words}"):
            x.copy_(source)
        assert torch.equal(x.to_dense(), before.to_dense())
    y = made("sparse_coo", (4, 6))
    assert y.copy_(torch.eye(4, 6).to_sparse())._nnz() == 4  # coordinates take any entries over
    assert torch.equal(torch.zeros(4, 6).copy_(x), before.to_dense())


@pytest.mark.parametrize("layout", ["sparse_coo", *COMPRESSED])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(layout, mode):
    x = made(layout, (4, 6)) if layout != "sparse_coo" else torch.arange(24.0).reshape(4, 6).to_sparse()
    with pytest.raises(NotImplementedError, match=rf"not implemented for {layout} tensors; convert with to_dense\(\)"):
        torch.nn.functional.pad(x, (1, 1), mode=mode)
