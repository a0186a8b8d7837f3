"""Products, sums and conversions of large sparse tensors: kernels compared with dense results."""

import pytest

import libtensor as torch

DTYPES = [
    torch.bool,
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
]


NUMBERS = DTYPES[1:]  # of which there are products


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def whole(*size, seed=0, dtype=torch.float64):
    """Small whole numbers, of which sums and products are exact in every dtype."""
    values = torch.randint(0, 2, size, generator=torch.Generator().manual_seed(seed))
    return values.to(dtype)


def scattered(rows, columns, count, dtype=torch.float64, seed=0):
    """Returns a COO matrix with entries at random indices, some of which are repeated."""
    g = torch.Generator().manual_seed(seed)
    indices = torch.stack([torch.randint(0, rows, (count,), generator=g), torch.randint(0, columns, (count,), generator=g)])
    values = torch.randint(1, 2 if dtype == torch.bool else 4, (count,), generator=g).to(dtype)
    return torch.sparse_coo_tensor(indices, values, (rows, columns))


def dense_product(a, b):
    """The product of dense tensors of any dtype, computed in one that is exact."""
    exact = torch.complex128 if a.is_complex() else torch.float64
    return (a.to(exact) @ b.to(exact)).to(a.dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_products_of_all_dtypes(dtype, layout):
    a = scattered(7, 9, 30, dtype)
    d, s = a.to_dense(), a.to_sparse(layout=layout)
    for columns in (1, 2, 17, 64, 200):
        b = whole(9, columns, seed=1, dtype=dtype)
        assert torch.equal(s @ b, dense_product(d, b)), columns
        assert torch.equal(s @ b[:, 0], dense_product(d, b[:, 0]))
    assert torch.equal(b.t() @ s.t(), dense_product(b.t(), d.t()))
    o = scattered(9, 1000, 60, dtype, seed=2)
    made = s @ o.to_sparse(layout=layout)
    assert torch.equal(made.to_dense(), dense_product(d, o.to_dense()))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_products_by_narrow_and_wide_indices(index):
    a = scattered(20, 30, 100).to_sparse_csr()
    s = torch.sparse_csr_tensor(a.crow_indices().to(index), a.col_indices().to(index), a.values(), a.shape)
    b = whole(30, 5, seed=1)
    assert torch.equal(s @ b, a.to_dense() @ b)
    o = scattered(30, 10, 100, seed=2).to_sparse_csr()
    for other in (o, torch.sparse_csr_tensor(o.crow_indices().to(torch.int32), o.col_indices().to(torch.int32), o.values(), o.shape)):
        made = s @ other
        assert torch.equal(made.to_dense(), a.to_dense() @ o.to_dense())
        assert made.crow_indices().dtype == torch.int64


def test_products_with_a_dense_operand_of_any_strides():
    a = scattered(20, 30, 100).to_sparse_csr()
    d = a.to_dense()
    wide = whole(60, 12, seed=1)
    for b in (
        wide[::2],
        wide[:30, ::3],
        whole(12, 30).t(),
        wide[:1].expand(30, 12),
        wide[:30, :1].expand(30, 70),
        wide[5:35, 2:3],
        wide[:30].flip(0),
    ):
        assert torch.equal(a @ b, d @ b)
    for v in (wide[::2, 0], wide[0, :1].expand(30), whole(30)):
        assert torch.equal(a @ v, d @ v)


def test_products_are_the_same_for_any_number_of_threads():
    a = scattered(3000, 2000, 60000).to(torch.float32)
    a = (a * 0.1).to_sparse_csr()
    b = torch.rand(2000, 40, generator=torch.Generator().manual_seed(3))
    o = (scattered(2000, 3000, 60000, seed=4).to(torch.float32) * 0.1).to_sparse_csr()
    made = []
    for n in (1, 2, 5):
        torch.set_num_threads(n)
        p, c = a @ o, scattered(3000, 2000, 200000, seed=5).to(torch.float32).mul(0.1).coalesce()
        made.append((a @ b, a @ b[:, 0], p.crow_indices(), p.col_indices(), p.values(), c.indices(), c.values()))
    for other in made[1:]:
        assert all(torch.equal(x, y) for x, y in zip(made[0], other, strict=True))


def test_products_that_are_nearly_dense():
    a, b = scattered(50, 60, 2500), scattered(60, 40, 2500, seed=1)
    made = a.to_sparse_csr() @ b.to_sparse_csr()
    assert torch.equal(made.to_dense(), a.to_dense() @ b.to_dense())
    columns = made.col_indices().tolist()
    crow = made.crow_indices().tolist()
    for begin, end in zip(crow, crow[1:], strict=False):
        assert columns[begin:end] == sorted(set(columns[begin:end]))


def test_products_without_entries_and_of_no_size():
    for rows, inner, columns in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (4, 3, 2), (0, 0, 0)):
        s = torch.zeros(rows, inner).to_sparse_csr()
        assert torch.equal(s @ torch.ones(inner, columns), torch.zeros(rows, columns))
        assert torch.equal(s @ torch.ones(inner), torch.zeros(rows))
        o = torch.ones(inner, columns).to_sparse_csr()
        assert torch.equal((s @ o).to_dense(), torch.zeros(rows, columns))
        assert torch.equal((s.to_sparse() @ o.to_sparse()).to_dense(), torch.zeros(rows, columns))


def test_products_of_halves_add_up_in_float32():
    n = 5000
    s = torch.ones(1, n, dtype=torch.bfloat16).to_sparse_csr()
    assert (s @ torch.ones(n, dtype=torch.bfloat16)).item() == torch.tensor(float(n)).bfloat16().item()
    c = torch.sparse_coo_tensor(torch.zeros(1, n, dtype=torch.int64), torch.ones(n, dtype=torch.float16), (1,))
    assert c.coalesce().values().tolist() == [n]
    t = torch.ones(n, 1, dtype=torch.bfloat16).to_sparse_csr()
    assert (s @ t).values().item() == torch.tensor(float(n)).bfloat16().item()


def test_coalescing_many_entries():
    for rows, columns, count in ((1000, 1000, 300000), (1, 7, 100000), (100000, 100000, 70000), (2**31, 2**30, 50000), (3, 3, 5)):
        s = scattered(rows, columns, count)
        c = s.coalesce()
        keys, inverse = torch.unique(s._indices()[0] * columns + s._indices()[1], return_inverse=True)
        assert torch.equal(c.indices(), torch.stack([keys // columns, keys % columns]))
        assert torch.equal(c.values(), torch.zeros(len(keys), dtype=torch.float64).index_add(0, inverse, s._values()))


def test_coalescing_rows_and_hybrid_entries():
    i = torch.tensor([[2, 0, 2, 1, 0]])
    v = torch.arange(30.0).reshape(5, 2, 3)
    c = torch.sparse_coo_tensor(i, v, (4, 2, 3)).coalesce()
    assert c.indices().tolist() == [[0, 1, 2]]
    assert torch.equal(c.values(), torch.stack([v[1] + v[4], v[3], v[0] + v[2]]))
    e = torch.sparse_coo_tensor(i, v[:, :0], (4, 0, 3)).coalesce()
    assert e.values().shape == (3, 0, 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_many_entries(dtype):
    a, b = scattered(400, 300, 50000, dtype).coalesce(), scattered(400, 300, 40000, dtype, seed=1).coalesce()
    s = a + b
    assert s.is_coalesced()
    assert torch.equal(s.to_dense(), a.to_dense() + b.to_dense())
    if dtype != torch.bool:
        assert torch.equal((a - b).to_dense(), a.to_dense() - b.to_dense())
        assert torch.equal((a.to_sparse_csr() + b.to_sparse_csr()).to_dense(), s.to_dense())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_sums_with_strided_and_sparse_tensors_of_all_dtypes(dtype, layout):
    a, b = scattered(40, 30, 300, dtype).to_sparse(layout=layout), scattered(40, 30, 200, dtype, seed=1).to_sparse(layout=layout)
    x, y = a.to_dense(), b.to_dense()
    alpha = {} if dtype == torch.bool else {"alpha": 2}
    want = torch.add(x, y, **alpha)
    assert torch.equal(torch.add(a, b, **alpha).to_dense(), want)
    assert torch.equal(torch.add(a, a, **alpha).to_dense(), torch.add(x, x, **alpha))
    assert torch.equal((a * a).to_dense(), x * x)
    assert torch.equal(torch.add(x, b, **alpha), want) and torch.equal(torch.add(a, y, **alpha), want)
    for out in (x.clone(), x.t().clone().t(), torch.zeros(40, 60, dtype=dtype)[:, ::2].copy_(x)):
        assert out.add_(b, **alpha) is out and torch.equal(out, want)
    out = torch.ones(2, dtype=dtype)
    assert torch.equal(torch.add(x, b, out=out, **alpha), want)
    assert torch.equal(x + scattered(40, 30, 200, dtype, seed=1), x + y)
    if dtype != torch.bool:
        assert torch.equal((x - b), x - y) and torch.equal(a - y, x - y) and torch.equal((a - b).to_dense(), x - y)
        assert torch.equal(x.to(torch.int8) + b, x.to(torch.int8) + y)
        assert (torch.ones(2, dtype=torch.int8) + torch.ones(2, dtype=dtype).to_sparse()).dtype == torch.result_type(
            torch.ones(1, dtype=torch.int8), y
        )


def test_sums_of_lines():
    a, b = scattered(7, 5, 12), scattered(7, 5, 12, seed=1)
    for layout, compressed, plain in ((torch.sparse_csr, "crow_indices", "col_indices"), (torch.sparse_csc, "ccol_indices", "row_indices")):
        x, y = a.to_sparse(layout=layout), b.to_sparse(layout=layout)
        want = (a.to_dense() + b.to_dense()).to_sparse(layout=layout)
        made = x + y
        assert torch.equal(getattr(made, compressed)(), getattr(want, compressed)()) and torch.equal(
            getattr(made, plain)(), getattr(want, plain)()
        )
        narrow = [
            torch.sparse_compressed_tensor(getattr(t, compressed)().int(), getattr(t, plain)().int(), t.values(), t.shape, layout=layout)
            for t in (x, y)
        ]
        for other in narrow:
            assert getattr(narrow[0] + other, plain)().dtype == torch.int32
        for mixed in (narrow[0] + y, x + narrow[1]):
            assert torch.equal(mixed.to_dense(), want.to_dense()) and getattr(mixed, plain)().dtype == torch.int64
        assert torch.equal((x + b.to_sparse_coo()).to_dense(), want.to_dense()) and (x + b.to_sparse_coo()).layout is layout
    with pytest.raises(RuntimeError, match=r"the sizes of sparse tensors must be the same, but got \[7, 5\] and \[5, 7\]"):
        a.to_sparse_csr() + b.t().to_sparse_csr()
    for sizes in ((0, 3), (3, 0), (0, 0)):
        none = torch.zeros(sizes).to_sparse_csr()
        assert (none + none).shape == sizes and (torch.zeros(sizes) + none).shape == sizes


def test_sums_with_tensors_of_no_sparse_dimensions():
    assert (torch.tensor(1.0) + torch.tensor(2.0).to_sparse()).item() == 3
    x = torch.sparse_coo_tensor(torch.zeros(0, 2, dtype=torch.int64), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), (2,))
    assert (torch.ones(2) - x).tolist() == [-3, -5] and torch.ones(2).add_(x, alpha=2).tolist() == [9, 13]


def test_gradients_of_sums():
    a, b = scattered(6, 5, 12).coalesce(), scattered(6, 5, 9, seed=2).coalesce()
    weights = torch.arange(30.0, dtype=torch.float64).reshape(6, 5)
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        for second in (a, b):
            v, w = a.values().clone().requires_grad_(), second.values().clone().requires_grad_()
            x, y = (torch.sparse_coo_tensor(t.indices(), u, t.shape).to_sparse(layout=layout) for t, u in ((a, v), (second, w)))
            d = torch.ones(6, 5, dtype=torch.float64, requires_grad=True)
            p, q = (t.to_dense().requires_grad_() for t in (a, second))
            for got, want in (((x - y).to_dense(), p - q), (torch.sub(d, y, alpha=3), torch.sub(d, q, alpha=3)), (d + x, d + p)):
                g = torch.autograd.grad((got**2 * weights).sum(), (v, w, d), allow_unused=True, retain_graph=True)
                h = torch.autograd.grad((want**2 * weights).sum(), (p, q, d), allow_unused=True, retain_graph=True)
                for at, one, other in zip((a, second, None), g, h, strict=True):
                    assert (one is None) == (other is None)
                    assert one is None or torch.equal(one, other if at is None else other[tuple(at.indices())])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("inner", [0, 1, 5, 32, 64, 77])
def test_sampled_products_of_all_dtypes(dtype, inner):
    a, left, right = scattered(9, 7, 30, dtype), whole(9, inner, dtype=dtype), whole(inner, 7, seed=1, dtype=dtype)
    pattern, product = torch.sparse_coo_tensor(a._indices(), torch.ones(30), a.shape).to_dense() != 0, dense_product(left, right)
    want = torch.where(pattern, product, torch.zeros((), dtype=dtype))
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        s = a.to_sparse(layout=layout)
        for x in (left, left.t().clone().t(), torch.cat([left, left], 1)[:, :inner]):
            assert torch.equal(torch.sparse.sampled_addmm(s, x, right, beta=0).to_dense(), want)
    got = torch.sparse.sampled_addmm(a.to_sparse_csr(), left, right, beta=2, alpha=3)
    assert torch.equal(got.to_dense(), want * 3 + a.to_dense() * 2)


def test_parts_that_do_not_fit_are_rejected():
    crow, col, one, m = torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2), torch.ones(2, 3)
    sampled, added = torch._gen.gen_functions.csr_sddmm, torch._gen.gen_functions.csr_spadd
    for call, says in (
        (
            lambda: sampled(crow, col, torch.ones(()), m),
            r"must be matrices with the same number of columns, but got sizes \[\] and \[2, 3\]",
        ),
        (lambda: sampled(crow, col, m, torch.ones(())), "must be matrices with the same number of columns"),
        (lambda: sampled(crow, col, m, torch.ones(2, 2)), "must be matrices with the same number of columns"),
        (lambda: sampled(crow, col, m, m.double()), "must have the same dtype"),
        (lambda: sampled(crow[:2], col, m, m), "must have one element more than the number of rows of mat1, but got 2 elements for 2 rows"),
        (lambda: sampled(crow, col.double(), m, m), "must both be int32 or int64"),
        (lambda: sampled(crow, torch.tensor([0, 2]), m, m), "index 2 is out of bounds"),
        (lambda: sampled(torch.tensor([0, 2, 1]), col, m, m), "do not increase from 0 to the number of entries"),
        (lambda: added(crow, col, one, crow[:2], col, one, 2), "must have the same number of elements, but got 3 and 2"),
        (lambda: added(crow, col, one, crow, col, one.double(), 2), "must have the same dtype"),
        (lambda: added(crow, col, one, crow, col, one, -1), "columns must not be negative, but got -1"),
        (lambda: added(crow, col, one, crow, col, one, 1), "index 1 is out of bounds"),
        (lambda: added(crow, col, torch.ones(3), crow, col, torch.ones(3), 2), "must have the same number of entries, but got 2 and 3"),
        (lambda: added(torch.tensor([0, 3, 2]), col, one, crow, col, one, 2), "do not increase from 0"),
    ):
        with pytest.raises((RuntimeError, IndexError), match=says):
            call()


def test_sampled_products_of_halves_add_up_in_float32():
    s, ones = torch.ones(1, 1, dtype=torch.bfloat16).to_sparse_csr(), torch.ones(1, 5000, dtype=torch.bfloat16)
    assert torch.sparse.sampled_addmm(s, ones, ones.t(), beta=0).values().item() == torch.tensor(5000.0).bfloat16().item()


def test_sampled_products_and_sums_are_the_same_for_any_number_of_threads():
    a, b = (scattered(3000, 2000, 60000, seed=i).to(torch.float32).mul(0.1).to_sparse_csr() for i in (0, 1))
    g = torch.Generator().manual_seed(3)
    x, y, d = torch.rand(3000, 50, generator=g), torch.rand(50, 2000, generator=g), torch.rand(3000, 2000, generator=g)
    made = []
    for n in (1, 2, 5):
        torch.set_num_threads(n)
        s = a + b
        made.append((torch.sparse.sampled_addmm(a, x, y).values(), s.crow_indices(), s.col_indices(), s.values(), d - a))
    for other in made[1:]:
        assert all(torch.equal(x, y) for x, y in zip(made[0], other, strict=True))


def test_gradients_of_sampled_products():
    for dtype in (torch.float64, torch.complex128):
        a = scattered(5, 4, 9, dtype).coalesce()
        v = a.values().clone().requires_grad_()
        x, y = (
            (whole(*size, seed=i, dtype=dtype) * (2 - 1j if dtype.is_complex else 3)).requires_grad_()
            for i, size in enumerate(((5, 3), (3, 4)))
        )

        def sampled(v, x, y, a=a):
            s = torch.sparse_coo_tensor(a.indices(), v, a.shape).to_sparse_csr()
            return torch.sparse.sampled_addmm(s, x, y, beta=2, alpha=3).to_dense()

        assert torch.autograd.gradcheck(sampled, (v, x, y)) and torch.autograd.gradgradcheck(sampled, (v, x, y))


def test_conversions_of_many_entries():
    s = scattered(500, 400, 30000)
    d = s.to_dense()
    for layout in (torch.sparse_csr, torch.sparse_csc):
        for t in (s, s.coalesce()):
            made = t.to_sparse(layout=layout)
            assert torch.equal(made.to_dense(), d)
    assert torch.equal(s.to_sparse_csr().crow_indices(), torch.cat([torch.zeros(1, dtype=torch.int64), (d != 0).sum(1).cumsum(0)]))


def test_gradients_of_products():
    a = scattered(6, 5, 12).coalesce()
    b = whole(5, 4, seed=1)
    o = scattered(5, 4, 9, seed=2).coalesce()
    weights = torch.arange(24.0, dtype=torch.float64).reshape(6, 4)
    values, other = a.values().clone().requires_grad_(), b.clone().requires_grad_()
    full, factor = a.to_dense().requires_grad_(), b.clone().requires_grad_()
    place = tuple(a.indices())
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        for x, y in ((other, factor), (other[:, 0], factor[:, 0])):
            s = torch.sparse_coo_tensor(a.indices(), values, a.shape).to_sparse(layout=layout)
            w = weights if x.dim() == 2 else weights[:, 0]
            got = torch.autograd.grad(((s @ x) ** 2 * w).sum(), (values, other), create_graph=True)
            want = torch.autograd.grad(((full @ y) ** 2 * w).sum(), (full, factor), create_graph=True)
            assert torch.equal(got[0], want[0][place]) and torch.equal(got[1], want[1])
            again = torch.autograd.grad(got[0].sum() + got[1].sum(), (values, other))
            expected = torch.autograd.grad(want[0][place].sum() + want[1].sum(), (full, factor))
            assert torch.equal(again[0], expected[0][place]) and torch.equal(again[1], expected[1])
    v = o.values().clone().requires_grad_()
    f = o.to_dense().requires_grad_()
    s = torch.sparse_coo_tensor(a.indices(), values, a.shape) @ torch.sparse_coo_tensor(o.indices(), v, o.shape)
    got = torch.autograd.grad((s.to_dense() ** 2 * weights).sum(), (values, v), create_graph=True)
    want = torch.autograd.grad(((full @ f) ** 2 * weights).sum(), (full, f), create_graph=True)
    assert torch.equal(got[0], want[0][place]) and torch.equal(got[1], want[1][tuple(o.indices())])
    again = torch.autograd.grad(got[0].sum(), (values, v))
    expected = torch.autograd.grad(want[0][place].sum(), (full, f))
    assert torch.equal(again[0], expected[0][place]) and torch.equal(again[1], expected[1][tuple(o.indices())])


def test_gradients_of_complex_products():
    a = scattered(4, 3, 8, torch.complex128).coalesce()
    values = (a.values() * (1 + 2j)).requires_grad_()
    b = (whole(3, 2, seed=1, dtype=torch.complex128) * (3 - 1j)).requires_grad_()
    full = torch.sparse_coo_tensor(a.indices(), values.detach(), a.shape).to_dense().requires_grad_()
    got = torch.autograd.grad((torch.sparse_coo_tensor(a.indices(), values, a.shape) @ b).abs().sum(), (values, b))
    want = torch.autograd.grad((full @ b).abs().sum(), (full, b))
    assert torch.allclose(got[0], want[0][tuple(a.indices())]) and torch.allclose(got[1], want[1])


@pytest.mark.parametrize("bad", [-1, 99, -(2**62), 2**62])
def test_indices_that_go_bad_before_a_kernel_runs(bad):
    def csr():
        return scattered(6, 6, 12).to_sparse_csr()

    b = torch.ones(6, 3, dtype=torch.float64)
    for place in ("crow_indices", "col_indices"):
        a = csr()
        getattr(a, place)()[3] = bad
        calls = [
            lambda a=a: a @ b,
            lambda a=a: a @ b[:, 0],
            lambda a=a: a @ csr(),
            lambda a=a: torch.ones(2, 6, dtype=torch.float64).to_sparse_csr() @ a,
            lambda a=a: a + csr(),
            lambda a=a: csr() - a,
            lambda a=a: torch.sparse.sampled_addmm(a, b, b.t()),
            lambda a=a: a.to_sparse_csc(),
        ]
        for call in calls:
            with pytest.raises((RuntimeError, IndexError), match=r"changed after the tensor was created|out of bounds|exceed"):
                call()
    first = scattered(6, 6, 12).coalesce()
    first.indices()[0, 0] = bad
    with pytest.raises(IndexError, match=r"changed after the tensor was created"):
        first.to_sparse_csr()
    c = scattered(6, 6, 12).coalesce()
    c.indices()[0, 3] = bad
    o = scattered(6, 6, 9, seed=1).coalesce()
    for call in (
        lambda: c @ b,
        lambda: c + o,
        lambda: c * o,
        lambda: b.new_zeros(6, 6) + c,
        lambda: c.to_sparse_csr(),
        lambda: c.to_sparse_csc(),
        lambda: c @ c,
    ):
        with pytest.raises((RuntimeError, IndexError), match=r"^(mm|matmul|add|mul|to_sparse_cs.): .*changed after the tensor was created"):
            call()


def test_indices_that_fall_later_are_sorted_or_rejected():
    c = torch.eye(4).to_sparse()
    c.indices()[:, 0] = 3
    assert (c + torch.eye(4).to_sparse()).to_dense().diagonal().tolist() == [1, 2, 2, 3]
    with pytest.raises(RuntimeError, match="index 1 comes after a larger one"):
        c.to_sparse_csr()


def test_nothing_stays_in_use():
    before = torch.memory_stats().in_use
    test_products_that_are_nearly_dense()
    test_gradients_of_products()
    test_indices_that_go_bad_before_a_kernel_runs(99)
    assert torch.memory_stats().in_use == before
