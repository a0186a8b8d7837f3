"""Products of matrices with few rows, which are read in place, and of a few more, which are packed."""

import pytest

import libtensor as torch

F = torch.nn.functional
DTYPES = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def numbers(*sizes, low=-2):
    """Small integers without a pattern, whose sums of products every dtype's sums hold."""
    return torch.randint(low, 3, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def product(x, w):
    """The product of x and the transposed w, element by element."""
    return (x.unsqueeze(1) * w.unsqueeze(0)).sum(2)


def lying(x, layout):
    """x with its rows adjacent, apart, or lying along its columns."""
    if layout == "apart":
        wide = torch.full((x.shape[0], x.shape[1] + 3), 7, dtype=x.dtype)
        wide[:, : x.shape[1]] = x
        return wide[:, : x.shape[1]]
    return x.t().contiguous().t() if layout == "along" else x


def rows(depth):
    """Numbers of rows on both sides of those from which on kernels pack."""
    return sorted({1, 3, 6, 8, 9, max(depth // 24, 1), depth // 24 + 1, max(depth // 8, 1), depth // 8 + 1})


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("depth", [1, 15, 31, 32, 33, 64, 65, 200, 257])
def test_products_with_every_number_of_rows_and_columns(dtype, depth):
    for m in rows(depth):
        for n in (1, 4, 7, 15, 34):
            x, w, b = numbers(m, depth), numbers(n, depth), numbers(n)
            expected = product(x, w)
            x, w, b = x.to(dtype), w.to(dtype), b.to(dtype)
            assert F.linear(x, w).equal(expected.to(dtype)), (m, n)
            assert F.linear(x, w, b).equal((expected + numbers(n)).to(dtype)), (m, n)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layouts", [("apart", "apart"), ("along", "adjacent"), ("adjacent", "along"), ("along", "along")], ids="-".join)
def test_matrices_in_every_layout(dtype, layouts):
    for m, depth, n in ((1, 40, 5), (5, 100, 6), (12, 97, 33), (13, 97, 33), (40, 320, 4), (41, 320, 4), (300, 70, 3)):
        x, w, b = numbers(m, depth), numbers(n, depth), numbers(n)
        expected = (product(x, w) + b).to(dtype)
        x, w = lying(x.to(dtype), layouts[0]), lying(w.to(dtype), layouts[1])
        assert F.linear(x, w, b.to(dtype)).equal(expected), (m, depth, n)


@pytest.mark.parametrize("dtype", [torch.int32, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("m, depth, n", [(1, 64, 64), (8, 64, 64), (9, 64, 64), (12, 96, 35), (13, 96, 35), (40, 70, 6)])
def test_the_addend_has_any_layout(dtype, m, depth, n):
    x, w = numbers(m, depth), numbers(n, depth)
    expected = product(x, w)
    x, w = x.to(dtype), w.to(dtype)
    for sizes in ((), (1,), (n,), (1, n), (m, 1), (m, n)):
        b = numbers(*sizes) if sizes else torch.tensor(2)
        for beta, alpha in ((1, 1), (1, -1), (2, 3), (0, 1)):
            assert torch.addmm(b.to(dtype), x, w.t(), beta=beta, alpha=alpha).equal((beta * b + alpha * expected).to(dtype)), (
                sizes,
                beta,
                alpha,
            )
    turned = numbers(n, m)
    assert torch.addmm(turned.t().to(dtype), x, w.t()).equal((turned.t() + expected).to(dtype))
    itself = numbers(m, n).to(dtype)
    assert itself.addmm_(x, w.t()).equal((numbers(m, n) + expected).to(dtype))
    out = torch.zeros(n, m, dtype=dtype).t()
    assert torch.addmm(numbers(n).to(dtype), x, w.t(), out=out) is out and out.equal((numbers(n) + expected).to(dtype))
    # The addend overlaps the output, but not element for element.
    shared = torch.zeros(m + 1, n, dtype=dtype)
    shared[0] = numbers(n).to(dtype)
    torch.addmm(shared[0], x, w.t(), out=shared[:m])
    assert shared[:m].equal((numbers(n) + expected).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("m, depth, n", [(1, 768, 3072), (8, 64, 64), (24, 768, 1000), (50, 1000, 300), (43, 3072, 256), (42, 3120, 256)])
def test_results_are_identical_for_any_number_of_threads(dtype, m, depth, n):
    torch.manual_seed(0)
    x, w, b = torch.randn(m, depth).to(dtype), torch.randn(n, depth).to(dtype), torch.randn(n).to(dtype)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(F.linear(x, w, b))
    finally:
        torch.set_num_threads(before)
    assert results[1].equal(results[0]) and results[2].equal(results[0])
    rounding = 2**-24 if dtype == torch.float32 else 2**-8
    exact = x.double() @ w.double().t() + b.double()
    assert ((results[0].double() - exact).abs() <= rounding * (exact.abs() + 2 * depth)).all()


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_returns_identical_results_for_every_way_to_call_it(bias):
    x, w, b = torch.randn(3, 70), torch.randn(9, 70), torch.randn(9) if bias else None
    plain = F.linear(x, w, b)
    learned = F.linear(x, w.clone().requires_grad_(), b)
    assert learned.requires_grad and learned.detach().equal(plain)
    with torch.no_grad():
        unrecorded = F.linear(x, w.clone().requires_grad_(), b)
    assert not unrecorded.requires_grad and unrecorded.equal(plain)
    assert F.linear(x, w, b, out=torch.empty(0)).equal(plain)
    assert F.linear(x.unsqueeze(0), w, b)[0].equal(plain)
    named = F.linear(x.refine_names("example", "unit"), w, b)
    assert named.names == ("example", None) and named.rename(None).equal(plain)
    assert F.linear(x.to("meta"), w.to("meta"), b.to("meta") if bias else None).shape == (3, 9)


def test_nan_of_the_output_is_ignored_if_beta_is_zero():
    x, w = torch.ones(2, 64), torch.ones(4, 64)
    assert torch.addmm(torch.full((4,), float("nan")), x, w.t(), beta=0).equal(torch.full((2, 4), 64.0))
    x[1, 63] = float("inf")
    assert F.linear(x, w).equal(torch.tensor([[64.0] * 4, [float("inf")] * 4]))
    assert F.linear(x, w, torch.full((4,), float("nan"))).isnan().all()
