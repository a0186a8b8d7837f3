"""Sums at equal indices: those of 16-bit floats are computed in float32, long ones of float32 in float64, and rounded once."""

import numpy as np
import pytest

import libtensor as torch
import libtensor.nn.functional as F

HALVES = {torch.bfloat16: torch.float32, torch.float16: torch.float32}
TERMS = 5000


def gradient(f, sizes, dtype):
    x = torch.zeros(sizes, dtype=dtype, requires_grad=True)
    f(x).sum().backward()
    return x.grad


def ones(z):
    return torch.ones((TERMS, *z.shape[1:]), dtype=z.dtype)


def along(i, z):
    return i.reshape(-1, *[1] * (z.dim() - 1)).expand(TERMS, *z.shape[1:])


# Functions that add TERMS ones at one position of a tensor of two rows, of given sizes and dtype.
SUMS = {
    "index_add": lambda z, i: z.index_add(0, i, ones(z)),
    "index_add_": lambda z, i: z.index_add_(0, i, ones(z)),
    "index_put": lambda z, i: z.index_put((i,), ones(z), accumulate=True),
    "index_put of one value": lambda z, i: z.index_put((i,), torch.ones((), dtype=z.dtype), accumulate=True),
    "index_put_": lambda z, i: z.index_put_((i,), ones(z), accumulate=True),
    "scatter_add": lambda z, i: z.scatter_add(0, along(i, z), ones(z)),
    "x[i]": lambda z, i: gradient(lambda x: x[i], z.shape, z.dtype),
    "index_select": lambda z, i: gradient(lambda x: x.index_select(0, i), z.shape, z.dtype),
    "gather": lambda z, i: gradient(lambda x: x.gather(0, along(i, z)), z.shape, z.dtype),
    "coalesce": lambda z, i: torch.sparse_coo_tensor(i[None], ones(z), z.shape).to_dense(),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("sizes", [(2,), (2, 3)], ids=str)
def test_ones_at_one_place_are_counted(name, dtype, sizes):
    made = SUMS[name](torch.zeros(sizes, dtype=dtype), torch.zeros(TERMS, dtype=torch.int64))
    assert made.dtype == dtype
    rounded = torch.tensor(float(TERMS)).to(dtype).item()
    assert made[0].reshape(-1).tolist() == [rounded] * (made.numel() // 2)
    assert not made[1].any()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_elements_by_their_numbers_are_counted(dtype):
    i, ones = torch.zeros(TERMS, dtype=torch.int64), torch.ones(TERMS, dtype=dtype)
    rounded = torch.tensor(float(TERMS)).to(dtype).item()
    assert torch.zeros(2, dtype=dtype).put_(i, ones, accumulate=True).tolist() == [rounded, 0]
    assert gradient(lambda x: x.take(i), (2,), dtype).tolist() == [rounded, 0]
    assert gradient(lambda x: F.embedding(i, x), (2, 2), dtype).tolist() == [[rounded] * 2, [0, 0]]
    assert gradient(lambda x: F.embedding(i, x, scale_grad_by_freq=True), (2, 2), dtype).tolist() == [[1, 1], [0, 0]]
    assert gradient(lambda x: x.unfold(0, 1000, 1), (3000,), dtype)[1500].item() == 1000
    assert gradient(lambda x: x.as_strided((TERMS, 2), (0, 1)), (2,), dtype).tolist() == [rounded] * 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.complex32], ids=str)
@pytest.mark.parametrize("rows", [40, 41, 79, 80, 200])
@pytest.mark.parametrize("layout", ["dense", "columns", "transposed"])
def test_sums_are_rounded_once(dtype, rows, layout):
    """Copies of the selected rows, of all rows, and of none have one result, for any elements between the rows."""
    generator = np.random.default_rng(rows)
    index = generator.integers(-rows, rows, 40)
    wide = torch.complex64 if dtype.is_complex else torch.float32
    values = torch.tensor(generator.normal(size=(40, 6)).tolist()).to(wide).to(dtype)
    start = torch.tensor(generator.normal(size=(rows, 6)).tolist()).to(wide).to(dtype)
    if layout == "columns":
        room = torch.zeros(rows, 13, dtype=dtype)
        room[:, ::2][:, :6] = start
        x = room[:, ::2][:, :6]
    elif layout == "transposed":
        x = torch.zeros(6, rows, dtype=dtype).t()
        x.copy_(start)
    else:
        x = start.clone()
    want = start.to(wide)
    for i, at in enumerate(index.tolist()):
        want[at] += values[i].to(wide)
    want = want.to(dtype)
    wrapped = torch.tensor((index % rows).tolist())
    for made in (
        x.clone().index_add_(0, wrapped, values),
        x.index_put((torch.tensor(index.tolist()),), values, accumulate=True),
        torch.zeros_like(x).copy_(x).scatter_add_(0, wrapped[:, None].expand(40, 6), values),
        x.index_add_(0, wrapped, values),
    ):
        assert torch.equal(made, want)
    if layout == "columns":
        assert not room[:, 1::2].any()


def test_indices_of_several_dimensions_accumulate():
    for dtype in HALVES:
        x, a, b = torch.zeros(3, 50, 2, dtype=dtype), torch.tensor([[0], [2]]), torch.zeros(TERMS, dtype=torch.int64)
        made = x.index_put((a, b), torch.ones(2, TERMS, 2, dtype=dtype), accumulate=True)
        rounded = torch.tensor(float(TERMS)).to(dtype).item()
        assert made[:, 0].tolist() == [[rounded] * 2, [0, 0], [rounded] * 2]
        assert not made[:, 1:].any()
        apart = x.index_put((slice_of(3), b), torch.ones(3, TERMS, 2, dtype=dtype), accumulate=True)
        assert apart[:, 0].tolist() == [[rounded] * 2] * 3


def slice_of(n):
    return torch.arange(n)[:, None]


def test_products_and_factors_are_rounded_once():
    for dtype in HALVES:
        factor, i = torch.tensor(1.0078125, dtype=dtype), torch.zeros(100, dtype=torch.int64)
        want = torch.tensor(1.0078125**100).to(dtype).item()
        ones = torch.ones(2, dtype=dtype)
        assert ones.index_reduce(0, i, factor.expand(100), "prod").tolist() == [want, 1]
        assert ones.scatter_reduce(0, i, factor.expand(100), "prod").tolist() == [want, 1]
        x = torch.tensor([1.0], dtype=dtype)
        assert x.index_add(0, i[:1], x * 3, alpha=1 / 3).item() == torch.tensor(1 + 3 * np.float32(1 / 3)).to(dtype).item()


LONG = (1 << 24) + (1 << 12)


@pytest.mark.slow
def test_long_sums_of_float32_do_not_stop():
    i, one = torch.zeros(LONG, dtype=torch.int64), torch.ones(LONG)
    assert torch.zeros(2).index_add_(0, i, one).tolist() == [LONG, 0]
    assert torch.zeros(2).scatter_add_(0, i, one).tolist() == [LONG, 0]
    assert torch.zeros(2).index_put_((i,), one, accumulate=True).tolist() == [LONG, 0]
    assert torch.sparse_coo_tensor(i[None], one, (2,)).coalesce().values().tolist() == [LONG]
    row = torch.sparse_csr_tensor(torch.tensor([0, LONG]), torch.arange(LONG), one, (1, LONG))
    for columns in (1, 2):
        assert (row @ one[:, None].expand(LONG, columns)).tolist() == [[LONG] * columns]


@pytest.mark.parametrize("n", [4095, 4096, 4097, 8192, 8193, 20000])
@pytest.mark.parametrize("columns", [1, 3, 17, 70])
def test_rows_of_sparse_matrices_are_summed_by_blocks(n, columns):
    values, b = torch.arange(n, dtype=torch.float64) % 7 - 3, torch.arange(n * columns, dtype=torch.float64).reshape(n, columns) % 11
    row = torch.sparse_csr_tensor(torch.tensor([0, n]), torch.arange(n), values, (1, n))
    assert torch.equal(row @ b, values[None] @ b)


SPARSE = {
    "embedding": lambda w, i: F.embedding(i, w, sparse=True),
    "embedding_bag sum": lambda w, i: F.embedding_bag(i[None], w, mode="sum", sparse=True),
    "embedding_bag mean": lambda w, i: F.embedding_bag(i[None], w, mode="mean", sparse=True),
    "torch.embedding": lambda w, i: torch.embedding(w, i, -1, False, True),
}


@pytest.mark.parametrize("name", SPARSE)
def test_gradients_of_embeddings_are_sparse_where_they_are_asked_to_be(name):
    w, dense = (torch.arange(12.0).reshape(4, 3).requires_grad_() for _ in range(2))
    i = torch.tensor([1, 3, 1])
    SPARSE[name](w, i).pow(2).sum().backward()
    kept = w.grad
    assert kept.layout == torch.sparse_coo and kept.sparse_dim() == 1 and kept._nnz() == 3
    mode = {"embedding_bag sum": "sum", "embedding_bag mean": "mean"}.get(name)
    (F.embedding_bag(i[None], dense, mode=mode) if mode else F.embedding(i, dense)).pow(2).sum().backward()
    assert torch.equal(kept.to_dense(), dense.grad)
    SPARSE[name](w, i).pow(2).sum().backward()  # entries are added to entries
    assert w.grad.is_sparse and torch.equal(w.grad.to_dense(), 2 * dense.grad)
    i[0] = 2  # the gradient has separate indices
    assert torch.equal(w.grad.to_dense(), 2 * dense.grad)
    (w * 2).sum().backward()  # a strided gradient makes the sum strided
    assert w.grad.layout == torch.strided and torch.equal(w.grad, 2 * dense.grad + 2)
