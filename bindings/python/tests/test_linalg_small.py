"""Small matrices, of which kernels do many at once: at the sizes where they begin and end, in every dtype, layout and scale."""

import math

import pytest

import libtensor as torch

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
SIZES = [1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 65]
COUNT = 37  # no multiple of any number of lanes


def matrices(dtype, *shape):
    torch.manual_seed(sum(shape))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(*shape, dtype=wide).to(dtype)


def wide(t):
    return t.to(torch.complex128 if t.is_complex() else torch.float64)


def close(a, b, dtype, n, factor=1.0):
    a, b = wide(a), wide(b)
    scale = max(b.abs().amax().item(), 1e-300)
    assert (a - b).abs().amax().item() <= 100 * n * max(torch.finfo(dtype).eps, 2.3e-16) * scale * factor


def laid_out(t):
    """Yields the same matrices in other memory layouts."""
    yield t
    yield t.mT.contiguous().mT
    yield torch.stack([t, t], -1)[..., 0]
    yield t.flip(0).contiguous().flip(0)
    yield torch.cat([t, t], -1)[..., : t.shape[-1]]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_square(dtype, n):
    a = matrices(dtype, COUNT, n, n) + 4 * math.sqrt(n) * torch.eye(n, dtype=dtype)
    b = matrices(dtype, COUNT, n, 3)
    spd = (wide(a) @ wide(a).mH).to(dtype)
    first = None
    for x, s in zip(laid_out(a), laid_out(spd), strict=True):
        made = [
            torch.linalg.solve(x, b),
            torch.linalg.inv(x),
            torch.linalg.cholesky(s),
            torch.linalg.cholesky(s, upper=True),
            *torch.linalg.lu_factor(x),
            torch.linalg.det(x) if n <= 16 else x,
            *torch.linalg.qr(x),
        ]
        if first is None:
            first = made
            solution, inverse, lower, upper, lu, pivots, _, q, r = made
            close(wide(a) @ wide(solution), b, dtype, n, 10)
            close(wide(a) @ wide(inverse), torch.eye(n).expand(COUNT, n, n), dtype, n, 10)
            close(wide(lower) @ wide(lower).mH, spd, dtype, n)
            close(wide(upper).mH @ wide(upper), spd, dtype, n)
            p, below, above = torch.lu_unpack(lu, pivots)
            close(wide(p) @ wide(below) @ wide(above), a, dtype, n)
            close(wide(q) @ wide(r), a, dtype, n)
            close(wide(q).mH @ wide(q), torch.eye(n).expand(COUNT, n, n), dtype, n)
            sign, log = torch.linalg.slogdet(a)
            close(sign * log.exp(), torch.linalg.det(a), dtype, n * n) if n <= 16 and dtype != torch.float16 else None
        elif n <= 16:
            assert all(torch.equal(u, v) for u, v in zip(first, made, strict=True))
        else:  # LAPACK's sums depend on where matrices begin
            for u, v in zip(first, made, strict=True):
                close(u, v, dtype, n * n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("n", [1, 5, 16, 17])
def test_the_result_for_a_matrix_is_identical_in_any_batch_and_on_any_threads(dtype, n):
    a = matrices(dtype, COUNT, n, n) + 8 * torch.eye(n, dtype=dtype)
    b = matrices(dtype, COUNT, n, 200)

    def every(a, b):
        h = a + a.mH + 20 * torch.eye(n, dtype=dtype)
        return [torch.linalg.solve(a, b), torch.linalg.inv(a), torch.linalg.cholesky(h), *torch.linalg.qr(a), torch.linalg.det(a)]

    whole = every(a, b)
    threads = torch.get_num_threads()
    for count in (1, 3):
        torch.set_num_threads(count)
        assert all(torch.equal(u, v) for u, v in zip(whole, every(a, b), strict=True))
    torch.set_num_threads(threads)
    for i in (0, 20, COUNT - 1):
        assert all(torch.equal(u[i], v) for u, v in zip(whole, every(a[i], b[i]), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17])
@pytest.mark.parametrize("columns", [1, 3, 17, 40])
def test_triangles(dtype, n, columns):
    a = matrices(dtype, COUNT, n, n) / n + 4 * torch.eye(n, dtype=dtype)
    b = matrices(dtype, COUNT, n, columns)
    lu, pivots = torch.linalg.lu_factor(a)

    def every(a, b, lu, pivots):
        made = [torch.cholesky_solve(b, a.tril()), torch.cholesky_solve(b, a.triu(), upper=True), torch.linalg.lu_solve(lu, pivots, b)]
        for upper in (False, True):
            for unit in (False, True):
                made.append(torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit))
                made.append(torch.linalg.solve_triangular(a, b.mT, upper=upper, left=False, unitriangular=unit))
        return made

    whole = every(a, b, lu, pivots)
    lower, upper, solved, *triangular = [wide(x) for x in whole]
    close(wide(a.tril()) @ wide(a.tril()).mH @ lower, b, dtype, n, 20)
    close(wide(a.triu()).mH @ wide(a.triu()) @ upper, b, dtype, n, 20)
    close(wide(a) @ solved, b, dtype, n, 20)
    for i, x in enumerate(triangular):
        t = wide(a.triu() if i >= 4 else a.tril())
        if i // 2 % 2:
            t = t - torch.diag_embed(t.diagonal(dim1=-2, dim2=-1)) + torch.eye(n)
        close(x @ t if i % 2 else t @ x, b.mT if i % 2 else b, dtype, n, 20)
    threads = torch.get_num_threads()
    for count in (1, 3):
        torch.set_num_threads(count)
        assert all(torch.equal(u, v) for u, v in zip(whole, every(a, b, lu, pivots), strict=True))
    torch.set_num_threads(threads)
    for i in (0, 20, COUNT - 1) if n <= 16 else ():
        alone = every(a[i], b[i], lu[i], pivots[i])
        assert all(torch.equal(u[i], v) for u, v in zip(whole, alone, strict=True))
        alone = every(a[i], b[i, :, :1], lu[i], pivots[i])
        assert all(torch.equal(u[i, :, :1], v) for u, v in zip(whole[:4], alone[:4], strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_diagonals_whose_inverses_are_no_numbers(dtype):
    """A triangle is divided by what it has on its diagonal, however small or large, in one lane as in many."""
    small, large = torch.finfo(dtype).tiny / 8, torch.finfo(dtype).max / 2
    a = torch.tensor([[small]], dtype=dtype).repeat(COUNT, 1, 1)
    a[1], a[2], a[3] = large, 2, 0
    b = a.clone()
    b[3] = 1
    x = torch.linalg.solve_triangular(a, b, upper=False)
    assert x[:3].tolist() == [[[1]]] * 3 and x[4:].eq(1).all() and not x[3].isfinite()
    assert torch.equal(torch.linalg.solve_triangular(a[1], b[1], upper=False), x[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(16, 5), (5, 16), (17, 5), (5, 17), (16, 1), (1, 16), (3, 0), (0, 3), (16, 16)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_orthonormal(dtype, shape, mode):
    a = matrices(dtype, COUNT, *shape)
    q, r = torch.linalg.qr(a, mode)
    assert not r.tril(-1).any()
    if mode == "r" or not a.numel():
        return
    close(wide(q) @ wide(r), a, dtype, 17)
    close(wide(q).mH @ wide(q), torch.eye(q.shape[-1]).expand(COUNT, q.shape[-1], q.shape[-1]), dtype, 17)
    reflected, tau = torch.geqrf(a)
    close(torch.linalg.householder_product(reflected[..., : min(shape)], tau)[..., : q.shape[-1]], q[..., : min(shape)], dtype, 17)


@pytest.mark.parametrize(
    "dtype, scales",
    [
        (torch.float32, (1e-30, 1e-20, 1e30)),
        (torch.complex64, (1e-30, 1e-20, 1e30)),
        (torch.float64, (1e-300, 1e-200, 1e200, 1e300)),
        (torch.complex128, (1e-300, 1e-200, 1e200, 1e300)),
    ],
)
@pytest.mark.parametrize("n", [4, 16, 17])
def test_scales(dtype, scales, n):
    a = matrices(dtype, COUNT, n, n) + 8 * torch.eye(n, dtype=dtype)
    for scale in scales:
        q, r = torch.linalg.qr(a * scale)
        close(q @ (r / scale), a, dtype, n)
        close(q.mH @ q, torch.eye(n).expand(COUNT, n, n), dtype, n)
        close(torch.linalg.solve(a * scale, a), torch.linalg.solve(a, a) / scale, dtype, n, 10)
        h = a @ a.mH
        close(torch.linalg.cholesky(h * scale) / math.sqrt(scale), torch.linalg.cholesky(h), dtype, n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("n", [3, 16, 17])
def test_errors_name_the_failing_function(dtype, n):
    a = matrices(dtype, COUNT, n, n) + 8 * torch.eye(n, dtype=dtype)
    a[20, :, 1] = 0
    info = torch.linalg.lu_factor_ex(a).info
    assert info[20].item() == 2 and info.count_nonzero().item() == 1
    assert torch.linalg.inv_ex(a).info.tolist() == info.tolist()
    inverse = torch.linalg.inv_ex(a).inverse
    close(a[19] @ inverse[19], torch.eye(n), dtype, n, 10)
    close(a[21] @ inverse[21], torch.eye(n), dtype, n, 10)
    for call in (lambda: torch.linalg.inv(a), lambda: torch.linalg.solve(a, a), lambda: torch.linalg.lu_factor(a)):
        with pytest.raises(torch.linalg.LinAlgError, match=r"batch element 20\)"):
            call()
    assert torch.linalg.det(a)[20].item() == 0
    h = a @ a.mH + torch.eye(n, dtype=dtype)
    h[7, 2, 2] = -1
    for upper in (False, True):
        assert torch.linalg.cholesky_ex(h, upper=upper).info.nonzero().tolist() == [[7]]
        assert torch.linalg.cholesky_ex(h, upper=upper).info[7].item() == 3
    with pytest.raises(torch.linalg.LinAlgError, match=r"batch element 7\).*order 3 "):
        torch.linalg.cholesky(h)
    h[7, 2, 2] = float("nan")
    assert torch.linalg.cholesky_ex(h).info[7].item() == 3
    assert torch.linalg.qr(torch.zeros(n, n, dtype=dtype)).Q.tolist() == torch.eye(n, dtype=dtype).tolist()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
@pytest.mark.parametrize("n", [3, 16, 17])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_one_matrix_that_is_not_finite_does_not_touch_the_others(dtype, n, bad):
    a = matrices(dtype, COUNT, n, n) + 8 * torch.eye(n, dtype=dtype)
    other = a.clone()
    other[4, 1, 0] = bad
    for f in (
        lambda x: torch.linalg.qr(x).R,
        lambda x: torch.linalg.inv_ex(x).inverse,
        torch.linalg.det,
        lambda x: torch.linalg.lu_factor_ex(x).LU,
    ):
        u, v = f(a), f(other)
        assert torch.equal(u[:4], v[:4]) and torch.equal(u[5:], v[5:])
        assert not v[4].isfinite().all() or bad == math.inf


def test_signs_are_those_of_reflections():
    a = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
    assert torch.linalg.qr(a).R.diagonal().tolist() == pytest.approx([-5.0, 0.4])
    assert torch.linalg.qr(-a).R[0, 0].item() == pytest.approx(5.0)
    assert torch.linalg.qr(torch.tensor([[-2.0, 1.0], [0.0, -3.0]])).R.tolist() == [[-2.0, 1.0], [0.0, -3.0]]
