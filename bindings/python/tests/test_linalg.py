"""Linear algebra: results by their definition, errors with their facts."""

import math

import pytest

import libtensor as torch

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
SHAPES = [(3, 3), (5, 3), (3, 5), (2, 0, 4, 4), (2, 2, 6, 4), (1, 1), (0, 3), (3, 0), (17, 17)]


def matrices(dtype, *shape):
    torch.manual_seed(sum(shape) + 1)
    return torch.randn(*shape, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)


def adjoint(t):
    return t.conj().transpose(-2, -1)


def close(a, b, dtype, factor=1.0):
    wide = torch.complex128 if dtype.is_complex else torch.float64
    eps = 2.0**-52 if dtype in (torch.float64, torch.complex128) else torch.finfo(dtype).eps
    a, b = a.to(wide), b.to(wide)
    assert a.shape == b.shape
    if b.numel():
        n = max(b.shape[-2:], default=1)
        scale = max(1.0, b.abs().amax().item())
        assert (a - b).abs().amax().item() <= 30 * n * eps * scale * factor


def identity(t, n):
    return torch.eye(n, dtype=t.dtype).expand(*t.shape[:-2], n, n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_factors_equal_the_matrix(dtype, shape):
    a = matrices(dtype, *shape)
    k = min(shape[-2:])
    q, r = torch.linalg.qr(a)
    assert q.dtype == r.dtype == dtype and q.stride(-2) in (1, q.stride(-2))
    close(q @ r, a, dtype)
    close(adjoint(q) @ q, identity(q, k), dtype)
    assert not r.tril(-1).any()
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    close(u @ (s.to(dtype).unsqueeze(-1) * vh), a, dtype)
    close(adjoint(u) @ u, identity(u, k), dtype)
    close(vh @ adjoint(vh), identity(vh, k), dtype)
    p, lower, upper = torch.linalg.lu(a)
    close(p @ lower @ upper, a, dtype)
    whole, full, _ = torch.linalg.svd(a)
    assert whole.shape[-1] == shape[-2] and torch.allclose(full.to(torch.float64), s.to(torch.float64), atol=0.05)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3, 8, 33])
def test_square_matrices(dtype, n):
    a = matrices(dtype, 2, n, n) + n * torch.eye(n, dtype=dtype)
    b = matrices(dtype, 2, n, 2)
    close(a @ torch.linalg.solve(a, b), b, dtype, 10)
    close(torch.linalg.solve(a, adjoint(b), left=False) @ a, adjoint(b), dtype, 10)
    close(a @ torch.linalg.inv(a), identity(a, n), dtype, 10)
    h = a @ adjoint(a)
    factor = torch.linalg.cholesky(h)
    close(factor @ adjoint(factor), h, dtype, 10)
    close(adjoint(torch.linalg.cholesky(h, upper=True)), factor, dtype, 10)
    h = (a + adjoint(a)) / 2
    values, vectors = torch.linalg.eigh(h)
    assert not values.is_complex() and values.sort()[0].tolist() == values.tolist()
    close(vectors @ (values.to(dtype).unsqueeze(-1) * adjoint(vectors)), h, dtype, 10)
    values, vectors = torch.linalg.eig(a)
    assert values.is_complex()
    wide = torch.complex64 if dtype in (torch.float16, torch.bfloat16) else vectors.dtype
    values, vectors = values.to(wide), vectors.to(wide)
    close(a.to(wide) @ vectors, vectors * values.unsqueeze(-2), dtype, 20)


def test_vectors_and_batches_broadcast():
    a = matrices(torch.float64, 3, 3)
    assert torch.linalg.solve(a, torch.ones(3, dtype=torch.float64)).shape == (3,)
    many = torch.linalg.solve(a, matrices(torch.float64, 4, 3, 2))
    assert many.shape == (4, 3, 2) and torch.linalg.solve_ex(a, many).info.shape == ()
    lu, pivots = torch.linalg.lu_factor(a)
    assert pivots.dtype == torch.int32
    close(a @ torch.linalg.lu_solve(lu, pivots, many), many, torch.float64, 10)
    close(adjoint(a) @ torch.linalg.lu_solve(lu, pivots, many, adjoint=True), many, torch.float64, 10)
    upper = a.triu()
    close(torch.linalg.solve_triangular(upper, many, upper=True), torch.linalg.solve(upper, many), torch.float64, 100)


def test_singular_matrices_are_named():
    batch = torch.stack([torch.eye(2), torch.tensor([[1.0, 2.0], [2.0, 4.0]])])
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.inv: \(batch element 1\): the diagonal element 2 is zero"):
        torch.linalg.inv(batch)
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.solve: \(batch element 1\): .* singular"):
        torch.linalg.solve(batch, torch.ones(2, 2, 1))
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.cholesky: the factorization .* leading minor of order 2"):
        torch.linalg.cholesky(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
    with pytest.raises(torch.linalg.LinAlgError, match=r"cholesky_inverse: \(batch element 1\): the diagonal element 2 is zero"):
        torch.cholesky_inverse(torch.stack([torch.eye(2), torch.diag(torch.tensor([1.0, 0.0]))]))
    assert torch.linalg.inv_ex(batch).info.tolist() == [0, 2]
    out = torch.full((2, 2, 2), 7.0)
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.inv(batch, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("name", ["svd", "svdvals", "eig", "eigvals", "eigh", "eigvalsh"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_matrices_that_are_not_finite_are_rejected(name, bad):
    a = torch.eye(40).expand(3, 40, 40).clone()
    a[2, 5, 3] = bad
    with pytest.raises(torch.linalg.LinAlgError, match=rf"linalg.{name}: \(batch element 2\): .*non-finite"):
        getattr(torch.linalg, name)(a)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_the_triangle_that_is_not_read_may_be_anything(dtype, bad):
    a = torch.diag(torch.arange(1.0, 6.0)).to(dtype).expand(3, 5, 5).clone()
    a[1, 2, 4] = bad
    for lower, upper in ((a, a.mT), (a.mT.contiguous().mT, a.mT.contiguous())):
        assert torch.linalg.eigvalsh(lower).tolist() == torch.linalg.eigvalsh(upper, UPLO="U").tolist() == [[1, 2, 3, 4, 5]] * 3
        for name, wrong in (("L", upper), ("U", lower)):
            with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.eigh: \(batch element 1\): .*non-finite"):
                torch.linalg.eigh(wrong, UPLO=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_norms_of_one_element_are_its_size(dtype):
    huge = torch.finfo(dtype).max / 2
    x = torch.tensor([[huge], [-huge], [1 / huge], [0.0]], dtype=dtype)
    for p in (0.5, 1, 2, 3, -1, math.inf, -math.inf):
        assert torch.equal(torch.linalg.vector_norm(x, p, dim=1), x.abs()[:, 0]) and torch.equal(torch.norm(x, p, 1, keepdim=True), x.abs())
    assert torch.linalg.vector_norm(x, 0, dim=1).tolist() == [1, 1, 1, 0]


def test_errors_of_shapes_and_dtypes_name_their_values():
    for call, text in [
        (lambda: torch.linalg.inv(torch.ones(2, 3)), "linalg.inv: A must be batches of square matrices, but they are 2 by 3"),
        (lambda: torch.linalg.svd(torch.ones(2)), "linalg.svd: .* at least 2 dimensions, got shape \\[2\\]"),
        (
            lambda: torch.linalg.qr(torch.ones(2, 2, dtype=torch.int64)),
            "linalg.qr: expected a floating point or complex tensor as A, got int64",
        ),
        (lambda: torch.linalg.solve(torch.eye(2), torch.ones(3, 1)), "incompatible shapes of A and B"),
        (lambda: torch.linalg.solve(torch.eye(2), torch.ones(2, 1).double()), "same dtype"),
        (lambda: torch.lu_unpack(torch.eye(2), torch.tensor([1, 3], dtype=torch.int32)), "LU_pivots contains 3"),
        (lambda: torch.linalg.lu_factor(torch.eye(2), pivot=False), "without pivoting"),
        (lambda: torch.linalg.polar(torch.ones(3, 5)), "at least as many rows as columns, but got 3 by 5"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()


def test_outs_are_given_results_and_shapes():
    a = matrices(torch.float64, 3, 3)
    q, r = torch.empty(0, dtype=torch.float64), torch.empty(3, 3, dtype=torch.float64)
    made = torch.linalg.qr(a, out=(q, r))
    assert made[0] is q and made[1] is r
    close(q @ r, a, torch.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.linalg.inv(a, out=torch.empty(3, 3))
    with pytest.raises(RuntimeError, match="share memory"):
        torch.linalg.qr(a, out=(r, r))
    inverse = torch.linalg.inv(a)
    assert torch.linalg.inv(a, out=a) is a and torch.equal(a, inverse)


def test_meta_infers():
    a = torch.empty(4, 5, 3, device="meta", dtype=torch.complex64)
    u, s, vh = torch.linalg.svd(a)
    assert (u.shape, s.shape, vh.shape, s.dtype) == ((4, 5, 5), (4, 3), (4, 3, 3), torch.float32)
    assert torch.linalg.solve(a[:, :3], a[:, :3]).stride() == (9, 1, 3)
    assert torch.linalg.det(a[:, :3]).shape == (4,)
    with pytest.raises(NotImplementedError, match="linalg.lstsq: the result depends on the values"):
        torch.linalg.lstsq(a, a)


def test_functions_of_matrices():
    quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    close(torch.matrix_exp(quarter * math.pi / 2), quarter, torch.float64)
    assert torch.matrix_exp(torch.diag(torch.tensor([0.0, 80.0]))).diagonal()[1].item() == pytest.approx(math.exp(80), rel=1e-6)
    assert torch.linalg.matrix_power(torch.tensor([[1, 1], [1, 0]]), 10).tolist() == [[89, 55], [55, 34]]
    assert torch.linalg.matrix_rank(torch.ones(3, 4)).item() == 1
    assert torch.linalg.cond(torch.tensor([[1.0, 0.0], [0.0, 0.0]]), 1).item() == math.inf
    assert torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).item() == pytest.approx(-2)
    sign, log = torch.linalg.slogdet(torch.zeros(2, 2))
    assert (sign.item(), log.item()) == (0, -math.inf)
    assert torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)]).tolist() == [12, 12]
    a = matrices(torch.float64, 4, 2)
    p = torch.linalg.pinv(a)
    close(a @ p @ a, a, torch.float64, 10)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        x = torch.linalg.lstsq(a, torch.ones(4, 1, dtype=torch.float64), driver=driver)
        close(x.solution, p @ torch.ones(4, 1, dtype=torch.float64), torch.float64, 10)
        assert x.residuals.numel() == (0 if driver == "gelsy" else 1)


def test_tolerances_keep_their_digits():
    x = torch.tensor([[0.1]])  # in float32 more than 0.1
    assert torch.linalg.matrix_rank(x, atol=0.1, rtol=0.1) == 1 and torch.linalg.pinv(x, atol=0.1).item() == pytest.approx(10)
    assert torch.linalg.matrix_rank(x, atol=torch.tensor([0.1, 0.2])).tolist() == [0, 0]
    assert torch.linalg.matrix_rank(torch.diag(torch.tensor([1, 0.1, 0])), rtol=torch.tensor(0.1)) == 1
    assert torch.linalg.matrix_rank(torch.zeros(2, 0, 3)).tolist() == [0, 0]


def test_a_norm_with_an_order_has_a_dimension():
    for order in (0, 1, 2, torch.inf):
        with pytest.raises(RuntimeError, match=r"without dim, ord is for tensors of one or two dimensions, but the shape is \[\]"):
            torch.linalg.norm(torch.tensor(-3.0), order)
    assert torch.linalg.norm(torch.tensor(-3.0)) == torch.linalg.vector_norm(torch.tensor(-3.0), 1) == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_roots_of_matrices_of_deficient_rank(dtype):
    """Rounding makes eigenvalues of 0 negative."""
    factors = torch.randn(200, 5, 2, dtype=dtype)
    a = factors @ factors.mH
    roots = torch.linalg.matrix_sqrth(a)
    assert (roots @ roots - a).abs().max() <= 100 * torch.finfo(dtype).eps * a.abs().max()


def test_gradient_of_a_singular_determinant():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    torch.linalg.det(a).backward()
    close(a.grad, torch.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=torch.float64), torch.float64)


def numeric(f, a, step=1e-6):
    """Returns the derivative of f, which returns a number, by finite differences."""
    made = torch.zeros_like(a)
    for i in range(a.numel()):
        for part in (1, 1j) if a.is_complex() else (1,):
            shift = torch.zeros(a.numel(), dtype=a.dtype)
            shift[i] = step * part
            shift = shift.reshape(a.shape)
            made.view(-1)[i] += part * (f(a + shift) - f(a - shift)).item() / (2 * step)
    return made


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: torch.linalg.svd(a, full_matrices=False)[1].sum(),
        lambda a: torch.linalg.qr(a)[1].abs().pow(3).sum(),
        lambda a: torch.linalg.inv(a).abs().sum(),
        lambda a: torch.linalg.slogdet(a)[1],
        lambda a: torch.linalg.lu(a)[2].abs().sum(),
        lambda a: torch.linalg.eigvals(a).abs().pow(3).sum(),
        lambda a: torch.linalg.eigvalsh(a + a.conj().transpose(-2, -1)).pow(3).sum(),
        lambda a: torch.matrix_exp(a).abs().sum(),
        lambda a: torch.linalg.pinv(a[:, :2]).abs().sum(),
        lambda a: torch.linalg.matrix_norm(a, "nuc"),
        lambda a: torch.linalg.cholesky(a @ a.conj().transpose(-2, -1) + torch.eye(3)).abs().sum(),
    ],
)
def test_gradients_are_those_of_differences(f, dtype):
    a = matrices(dtype, 3, 3)
    leaf = a.clone().requires_grad_(True)
    f(leaf).backward()
    assert torch.allclose(leaf.grad, numeric(f, a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_nuclear_norm_is_that_of_matrices(dtype):
    a = matrices(dtype, 2, 3, 4)
    whole = torch.linalg.matrix_norm(a, "nuc", dim=(2, 0), keepdim=True)
    assert torch.norm(a, "nuc", dim=(2, 0), keepdim=True).tolist() == whole.tolist()
    assert a[0].norm("nuc").tolist() == torch.linalg.svdvals(a[0]).sum().tolist()
    assert torch.norm(a[:, :0], "nuc", dim=(1, 2)).tolist() == [0, 0]
    real = whole.dtype
    out = torch.empty(0, dtype=real)
    assert torch.norm(a, "nuc", dim=(1, 2), out=out) is out and out.shape == (2,)
    with pytest.raises(RuntimeError, match="norm.*int64"):
        torch.norm(a, "nuc", dim=(1, 2), out=torch.empty(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match=r"norm: dim must be two dimensions, got \[0\]"):
        torch.norm(a, "nuc", dim=0)
    a[1, 0, 0] = math.nan
    with pytest.raises(torch.linalg.LinAlgError, match=r"norm.*batch element 1\).*non-finite"):
        torch.norm(a, "nuc", dim=(1, 2))


def test_the_nuclear_norm_has_a_gradient():
    a = torch.tensor([[3.0, 0.0], [0.0, -4.0]], requires_grad=True)
    a.norm("nuc").backward()
    assert torch.allclose(a.grad, torch.tensor([[1.0, 0.0], [0.0, -1.0]]))


def test_einsum_multiplies_in_a_cheap_order():
    torch.manual_seed(0)
    a, b = (torch.randn(40, dtype=torch.float64) for _ in range(2))
    x, y, z = torch.randn(300, 300, dtype=torch.float64), torch.randn(300, 300, dtype=torch.float64), torch.randn(300, dtype=torch.float64)
    for equation, operands, whole, bytes_ in (
        ("i,j,k,l,i,j,k,l->", [a, b, a, b, a, b, a, b], (a @ a) ** 2 * (b @ b) ** 2, 40**3),  # from the left 40^4 elements
        ("ij,jk,k->i", [x, y, z], x @ (y @ z), 300 * 300 * 8),
        ("k,ij,jk->i", [z, x, y], x @ (y @ z), 300 * 300 * 8),
    ):
        torch.reset_peak_memory_stats()
        before = torch.memory_stats().in_use
        made = torch.einsum(equation, *operands)
        assert torch.memory_stats().peak - before < bytes_
        assert torch.allclose(made, whole)


def test_einsum_of_many_operands():
    torch.manual_seed(1)
    two = [torch.randn(2, 2, dtype=torch.float64) for _ in range(60)]
    labels = [chr(97 + i) for i in range(26)] + [chr(65 + i) for i in range(26)]
    chain = two[:51]
    equation = ",".join(labels[i] + labels[i + 1] for i in range(51)) + "->" + labels[0] + labels[51]
    assert torch.allclose(torch.einsum(equation, *chain), torch.linalg.multi_dot(chain))
    assert torch.allclose(torch.einsum(",".join(["ij"] * 60) + "->i", *two), torch.stack(two).prod(0).sum(1))
    a, b, c = (torch.randn(*sizes, dtype=torch.float64) for sizes in ((3, 1, 2), (4, 5), (2, 5)))
    assert torch.allclose(torch.einsum("...a,...b,ab->...", a, b, c), ((a @ c) * b).sum(-1))
    assert torch.einsum("a,a,a,b->b", *(torch.tensor([2, 3]) for _ in range(4))).tolist() == [70, 105]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("p", [1, -1, math.inf, -math.inf, "fro", "nuc"])
def test_condition_of_singular_matrices_is_infinite(p, dtype):
    for n in (2, 16, 17, 40):
        zeros, ones = torch.zeros(n, n, dtype=dtype), torch.ones(n, n, dtype=dtype)
        assert torch.linalg.cond(zeros, p).item() == math.inf
        assert torch.linalg.cond(ones, p).item() == math.inf
        made = torch.linalg.cond(torch.stack([zeros, torch.eye(n, dtype=dtype), ones]), p)
        assert made.dtype == torch.linalg.cond(torch.eye(n, dtype=dtype), p).dtype and not made.dtype.is_complex
        assert made[0].item() == made[2].item() == math.inf and made[1].item() == torch.linalg.cond(torch.eye(n, dtype=dtype), p).item() > 0


def test_condition_of_empty_matrices():
    for p in (None, 1, -1, 2, -2, math.inf, -math.inf):
        for sizes in ((2, 0, 3), (2, 3, 0), (2, 0, 0)):
            assert torch.linalg.cond(torch.zeros(sizes), p).tolist() == [0, 0]
        assert torch.linalg.cond(torch.zeros(0, 2, 3), p).tolist() == []
    for p in ("fro", "nuc"):
        assert torch.linalg.cond(torch.zeros(2, 0, 0), p).tolist() == [0, 0]
        with pytest.raises(RuntimeError, match="they are 0 by 3 matrices"):
            torch.linalg.cond(torch.zeros(2, 0, 3), p)
    with pytest.raises(RuntimeError, match="they are 2 by 3 matrices"):
        torch.linalg.cond(torch.zeros(2, 3), 1)


def test_gradient_of_logdet():
    x = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]], dtype=torch.float64, requires_grad=True)
    log = torch.logdet(x)
    assert log[0].isnan() and torch.allclose(log[1].exp(), torch.tensor(5.0, dtype=torch.float64)) and "WhereBackward0" in repr(log)
    (grad,) = torch.autograd.grad(log, x, torch.ones_like(log))
    assert torch.equal(grad[0], torch.zeros_like(grad[0]))  # NaN does not depend on the elements
    assert torch.allclose(grad[1] * 5, torch.tensor([[3.0, -1.0], [-1.0, 2.0]], dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
def test_matrices_of_integers_are_not_implemented(dtype):
    a = torch.ones(2, 2, dtype=dtype)
    linalg = torch.linalg
    for rejected in (
        linalg.inv,
        linalg.det,
        linalg.slogdet,
        linalg.cholesky,
        linalg.qr,
        linalg.svd,
        linalg.svdvals,
        linalg.eigh,
        linalg.eig,
        linalg.lu,
        linalg.ldl_factor,
        linalg.matrix_exp,
        linalg.pinv,
    ):
        with pytest.raises(NotImplementedError, match="expected a floating point or complex tensor as .*, got"):
            rejected(a)
    with pytest.raises(NotImplementedError, match="linalg.solve: expected a floating point or complex tensor as A"):
        linalg.solve(a, a)
    with pytest.raises(RuntimeError, match="expected A and B to have the same dtype, but found float32 and") as caught:
        linalg.solve(a.float(), a)
    assert caught.type is RuntimeError


def test_right_sides_of_no_dimension():
    a = torch.eye(3)
    for left in (True, False):
        with pytest.raises(RuntimeError, match="B must have at least 2 dimensions, or be vectors, got shape"):
            torch.linalg.solve(a, torch.tensor(1.0), left=left)


def test_layout_of_solutions():
    a = torch.eye(3).expand(2, 4, 3, 3) * 2
    b = torch.arange(24.0).reshape(2, 4, 3)
    x = torch.linalg.solve(a, b)
    assert x.stride() == (12, 1, 4) and torch.equal(x, b / 2)
    x = torch.linalg.solve(a[0], b[0])
    assert x.stride() == (1, 4) and torch.equal(x, b[0] / 2)
    assert torch.linalg.solve(a[0, 0], b[0, 0]).stride() == (1,)
    assert torch.linalg.solve(a[0, 0], b[0].mT).stride() == (1, 3)
    assert torch.linalg.solve(a[0, 0], b[0], left=False).stride() == (3, 1)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.bfloat16, torch.float32, torch.complex128])
@pytest.mark.parametrize("length", [1, 63, 64, 65])
def test_many_sums_of_products(length, dtype):
    """Short sums, and those of elements that are not adjacent, are computed differently from long ones."""
    a = (torch.arange(6 * length) % 7 - 3).reshape(2, 3, length)
    b = (torch.arange(6 * length) % 5 - 2).reshape(2, 3, length)
    expected = (a * b).sum(-1).to(dtype)
    a, b = a.to(dtype), b.to(dtype)
    if dtype.is_complex:
        a, expected = a * 1j, expected * -1j
    for x, y in ((a, b), (a.mT.contiguous().mT, b), (a.mT.contiguous().mT, b.mT.contiguous().mT)):
        assert torch.einsum("bhi,bhi->bh", x.conj(), y).equal(expected)
        assert torch.einsum("bhi,bhi->hb", x.conj(), y).equal(expected.mT)
    if not (dtype.is_floating_point or dtype.is_complex):
        return
    for x, y in ((a, b), (a.mT.contiguous().mT, b), (a.mT.contiguous().mT, b.mT.contiguous().mT)):
        made = torch.linalg.vecdot(x, y)
        assert made.dtype is dtype and made.equal(expected)
        assert torch.linalg.vecdot(x.movedim(-1, 0), y.movedim(-1, 0), dim=0).equal(expected)
        assert torch.linalg.vecdot(x[:1, :1], y).equal(torch.linalg.vecdot(x[:1, :1].expand(2, 3, length), y))
    if dtype.is_floating_point or dtype.is_complex:
        out = torch.empty(3, 2, dtype=dtype)
        assert torch.linalg.vecdot(a, b, out=out.mT) is not None and out.mT.equal(expected)


def test_vecdot_of_a_number():
    a = torch.arange(6.0).reshape(2, 3)
    assert torch.linalg.vecdot(a, torch.tensor(2.0)).tolist() == [6, 24]
    assert torch.linalg.vecdot(torch.tensor(2.0), a, dim=0).tolist() == [6, 10, 14]
    with pytest.raises(RuntimeError, match="both are 0D"):
        torch.linalg.vecdot(torch.tensor(1.0), torch.tensor(2.0))


CASTING = {
    "eigvals": (torch.linalg.eigvals, [torch.complex128]),
    "pinv": (torch.linalg.pinv, [torch.float64, torch.float16, torch.complex64]),
    "cond": (torch.linalg.cond, [torch.float64, torch.complex128]),
    "cond of 1": (lambda a, out: torch.linalg.cond(a, 1, out=out), [torch.float64]),
    "matrix_rank": (torch.linalg.matrix_rank, [torch.int32, torch.float32, torch.complex64]),
    "householder_product": (lambda a, out: torch.linalg.householder_product(a, a[:, 0], out=out), [torch.float64, torch.complex64]),
    "tensorinv": (lambda a, out: torch.linalg.tensorinv(a[0], ind=1, out=out), [torch.float64]),
    "cholesky_inverse": (torch.cholesky_inverse, [torch.float64, torch.bfloat16]),
    "cholesky_solve": (lambda a, out: torch.cholesky_solve(a, a, out=out), [torch.float64]),
}


@pytest.mark.parametrize("name", CASTING)
def test_results_are_cast_to_outs_that_can_hold_them(name):
    call, dtypes = CASTING[name]
    a = torch.tensor([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.5, 4.0]]])
    want = call(a, out=None)
    for dtype in dtypes:
        out = torch.empty(0, dtype=dtype)
        assert call(a, out=out) is out
        assert out.dtype == dtype and torch.equal(out, want.to(dtype))
    if not want.is_complex() and want.is_floating_point():
        rejected = torch.full((7,), 5, dtype=torch.int64)
        with pytest.raises(RuntimeError, match="int64"):
            call(a, out=rejected)
        assert rejected.tolist() == [5] * 7
    with pytest.raises(RuntimeError, match="linalg.inv: expected out to have dtype float32"):
        torch.linalg.inv(a, out=torch.empty(0, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("p", [-1, -3, -2, -0.5, float("-inf"), 1, 3])
def test_norms_count_minus_zero_as_zero(p, dtype):
    for elements in ([1.0, -0.0, 0.0], [-0.0], [-0.0] * 40):
        norm = torch.linalg.vector_norm(torch.tensor(elements, dtype=dtype), p).item()
        assert norm == (1 if p > 0 and 1.0 in elements else 0) and math.copysign(1, norm) == 1


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, float("inf"), "fro", "nuc"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_condition_numbers_of_16_bit_floats_are_rounded_once(p, dtype):
    for elements in ([[1e-5, 0, 0], [0, 1e-5, 0], [0, 0, 1e-5]], [[1e-3, 2e-3, 0], [2e-3, 3.9e-3, 0], [0, 0, 1]]):
        x = torch.tensor(elements, dtype=dtype)
        cond = torch.linalg.cond(x, p)
        assert cond.dtype is dtype and torch.equal(cond, torch.linalg.cond(x.float(), p).to(dtype))


def test_sparse_products_that_are_to_be_written_to_strided_tensors():
    for factor in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        for call in (lambda f, out: torch.chain_matmul(f, f, f, out=out), lambda f, out: torch.linalg.multi_dot([f, f], out=out)):
            out = torch.full((3, 3), 7.0)
            with pytest.raises(NotImplementedError, match="(chain_matmul|multi_dot): the result has layout sparse_.* call it without out"):
                call(factor, out)
            assert (out == 7).all()


def test_ormqr_takes_as_many_reflections_as_there_are_columns():
    a, other = torch.randn(4, 3), torch.randn(4, 2)
    for count in (0, 2, 4):
        says = rf"ormqr: tau.shape\[-1\] must be equal to the smaller one of other.shape\[-2\] and input.shape\[-1\], 3, got {count}"
        with pytest.raises(RuntimeError, match=says):
            torch.ormqr(a, torch.randn(count), other)
    assert torch.ormqr(a, torch.randn(3), other).shape == (4, 2)
    assert torch.ormqr(a.t().contiguous(), torch.randn(3), other.t()[:, :3], left=False).shape == (2, 3)


def test_matrix_exp_of_sparse_tensors_is_rejected_by_name():
    for sparse in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        with pytest.raises(NotImplementedError, match="linalg.matrix_exp is not implemented for sparse_.* tensors; convert with to_dense"):
            torch.linalg.matrix_exp(sparse)


@pytest.mark.parametrize("p", [math.inf, -math.inf, -1])
def test_norms_without_an_identity_reject_empty_dimensions(p):
    for shape in ((0, 2), (0, 0, 15)):  # also without a result to compute
        with pytest.raises(RuntimeError, match="linalg.vector_norm: cannot compute the norm of order .* over an empty dimension"):
            torch.linalg.vector_norm(torch.zeros(shape), p, dim=0)
    assert torch.linalg.vector_norm(torch.zeros(0, 15), p, dim=1).shape == (0,)
    assert torch.linalg.vector_norm(torch.zeros(0, 2), 3, dim=0).tolist() == [0, 0]


def test_factors_of_addr_are_those_of_add():
    for dtype in (torch.float32, torch.int64, torch.complex64):
        a, m = torch.ones(3, dtype=dtype), torch.ones(3, 3, dtype=dtype)
        for name in ("alpha", "beta"):
            with pytest.raises(RuntimeError, match=f"addr: {name} True must be .* bool only with bool"):
                torch.addr(m, a, a, **{name: True})
    a, m = torch.ones(3, dtype=torch.int64), torch.ones(3, 3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="addr: beta 1.5 must be of the category of the result's dtype int64"):
        torch.addr(m, a, a, beta=1.5)
    assert torch.equal(torch.addr(m.bool(), a.bool(), a.bool(), beta=False, alpha=True), m.bool())


def test_einsum_of_nothing():
    for arguments in (("",), ("", []), ("i", []), ([],)):
        with pytest.raises(ValueError, match="einsum: must provide at least one operand"):
            torch.einsum(*arguments)
