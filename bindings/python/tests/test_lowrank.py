"""Decompositions of parts: on random subspaces, and of some eigenvalues; by their definition."""

import pytest

import libtensor as torch

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]


def of_rank(rank, dtype, *shape):
    torch.manual_seed(rank)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    *batch, m, n = shape
    return (torch.randn(*batch, m, rank, dtype=wide) @ torch.randn(*batch, rank, n, dtype=wide)).to(dtype)


def largest(t):
    return t.abs().to(torch.float64).amax().item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(20, 7), (7, 20), (2, 3, 9, 9)])
def test_lowrank(dtype, shape):
    a = of_rank(3, dtype, *shape)
    u, s, v = torch.svd_lowrank(a, q=3)
    assert u.shape == (*shape[:-1], 3) and s.shape == (*shape[:-2], 3) and v.shape == (*shape[:-2], shape[-1], 3)
    assert u.dtype == v.dtype == dtype and s.dtype == torch.linalg.svdvals(a).dtype
    eps = max(torch.finfo(dtype).eps, 2e-16) * 200
    wide = torch.complex128 if dtype.is_complex else torch.float64
    u, v, a = u.to(wide), v.to(wide), a.to(wide)
    assert largest(u @ (s.to(wide).unsqueeze(-1) * v.mH) - a) <= eps * largest(a)
    assert largest(u.mH @ u - torch.eye(3, dtype=wide)) <= eps
    assert largest(v.mH @ v - torch.eye(3, dtype=wide)) <= eps
    less = torch.svd_lowrank(a, 3, niter=3, M=a * 2)
    assert largest(less[1] - s.to(torch.float64)) <= eps * largest(a) * 10


def test_lowrank_is_reproducible_and_rejects_invalid_arguments():
    a = of_rank(5, torch.float64, 30, 8)
    torch.manual_seed(1)
    first = torch.svd_lowrank(a, 2, niter=0)
    torch.manual_seed(1)
    assert first[1].tolist() == torch.svd_lowrank(a, 2, niter=0)[1].tolist()
    assert first[1].tolist() != torch.svd_lowrank(a, 2, niter=0)[1].tolist()
    assert [t.shape for t in torch.svd_lowrank(a.to("meta"))] == [(30, 6), (6,), (8, 6)]
    assert [t.shape for t in torch.svd_lowrank(a, 0)] == [(30, 0), (0,), (8, 0)]
    with pytest.raises(RuntimeError, match=r"svd_lowrank: q must not be negative, got -1"):
        torch.svd_lowrank(a, -1)
    with pytest.raises(ValueError, match=r"pca_lowrank: q must be .* 8 for matrices of shape \[30, 8\], but got 9"):
        torch.pca_lowrank(a, 9)
    with pytest.raises(RuntimeError, match="svd_lowrank.*int64"):
        torch.svd_lowrank(torch.ones(3, 3, dtype=torch.int64))


def test_principal_components():
    a = of_rank(2, torch.float64, 50, 6) + 100
    u, s, v = torch.pca_lowrank(a)
    centred = a - a.mean(dim=0)
    assert torch.allclose(s, torch.linalg.svdvals(centred), atol=1e-9)
    assert torch.allclose(u * s @ v.T, centred, atol=1e-9)
    assert torch.pca_lowrank(a, q=1, center=False)[1].item() == pytest.approx(torch.linalg.svdvals(a)[0].item())


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
@pytest.mark.parametrize("turned", [False, True])
def test_principal_components_of_sparse_matrices(layout, turned):
    a = of_rank(4, torch.float64, 17, 4)
    a[::2, 1:3] = 0
    a = a.t() if turned else a
    u, s, v = torch.pca_lowrank(a.to_sparse(layout=layout), q=4)
    centred = a - a.mean(dim=0)
    assert torch.allclose(s, torch.linalg.svdvals(centred), atol=1e-7)
    assert torch.allclose(u * s @ v.T, centred, atol=1e-9)


def test_lowrank_has_gradients():
    a = of_rank(4, torch.float64, 9, 4).requires_grad_()
    torch.svd_lowrank(a, 4)[1].sum().backward()
    b = a.detach().clone().requires_grad_()
    torch.linalg.svdvals(b).sum().backward()
    assert torch.allclose(a.grad, b.grad, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("largest_ones", [True, False, None])
@pytest.mark.parametrize("batch", [(), (2, 2)])
@pytest.mark.parametrize("general", [False, True])
def test_some_eigenvalues(dtype, largest_ones, batch, general):
    torch.manual_seed(3)
    a = torch.randn(*batch, 30, 30, dtype=dtype)
    a = a + a.mH
    b = None
    if general:
        b = torch.randn(*batch, 30, 30, dtype=dtype)
        b = b @ b.mH / 30 + torch.eye(30, dtype=dtype)
    values, vectors = torch.lobpcg(a, k=3, B=b, n=5, largest=largest_ones, niter=200)
    assert values.shape == (*batch, 3) and vectors.shape == (*batch, 30, 3) and vectors.dtype == dtype
    turned = vectors if b is None else b @ vectors
    single = torch.finfo(dtype).eps > 1e-10
    assert largest(a @ vectors - turned * values.unsqueeze(-2)) < (0.1 if single else 1e-5)
    assert largest(vectors.mH @ turned - torch.eye(3, dtype=dtype)) < (1e-4 if single else 1e-12)
    inner = a if b is None else torch.linalg.solve(b, a)
    every = torch.linalg.eigvals(inner).real.sort()[0] if general else torch.linalg.eigvalsh(a)
    every = every[..., :3] if largest_ones is False else every.flip(-1)[..., :3]
    assert torch.allclose(values, every, atol=1e-2 if single else 1e-9)


def test_some_eigenvalues_from_a_start_with_a_preconditioner():
    n = 60
    a = torch.diag(torch.arange(1.0, n + 1, dtype=torch.float64))
    start = torch.eye(n, 2, dtype=torch.float64) + 0.01
    values, vectors = torch.lobpcg(a, X=start, iK=torch.diag(1 / torch.diag(a)), largest=False, method="basic", tol=1e-10)
    assert torch.allclose(values, torch.tensor([1.0, 2.0], dtype=torch.float64)) and vectors.shape == (n, 2)
    assert torch.lobpcg(a, 1, X=start)[0].shape == (1,)
    assert torch.lobpcg(a, niter=0)[0].item() < n
    assert [t.shape for t in torch.lobpcg(a.to("meta"), 2)] == [(2,), (n, 2)]


def test_errors_of_lobpcg():
    a = torch.eye(6)
    with pytest.raises(ValueError, match="6 rows and 3 vectors"):
        torch.lobpcg(a, 3)
    with pytest.raises(RuntimeError, match="k must be between 0 and the number of vectors, 1, got 2"):
        torch.lobpcg(a, 2, n=1)
    with pytest.raises(RuntimeError, match="B must have .*float64"):
        torch.lobpcg(a, B=a.double())
    with pytest.raises(RuntimeError, match=r"X must have .*\[5, 1\]"):
        torch.lobpcg(a, X=torch.ones(5, 1))
    with pytest.raises(RuntimeError, match="niter must be between 0 and 10000, got -1"):
        torch.lobpcg(a, niter=-1)
    with pytest.raises(RuntimeError, match="method"):
        torch.lobpcg(a, method="other")
    with pytest.raises(torch.linalg.LinAlgError, match="lobpcg"):
        torch.lobpcg(a * float("nan"))
    with pytest.raises(torch.linalg.LinAlgError, match="lobpcg.*positive-definite"):
        torch.lobpcg(a, B=-a)


@pytest.mark.parametrize("ones", [True, False])
def test_some_eigenvalues_have_gradients(ones):
    torch.manual_seed(0)
    m = torch.randn(12, 12, dtype=torch.float64)
    weights = torch.randn(12, 2, dtype=torch.float64)

    def gradient(f):
        x = m.clone().requires_grad_()
        values, vectors = f(x + x.T)
        ((vectors * weights).sum(0).square() + values).sum().backward()
        return x.grad

    def whole(a):
        values, vectors = torch.linalg.eigh(a)
        return (values.flip(-1)[:2], vectors.flip(-1)[:, :2]) if ones else (values[:2], vectors[:, :2])

    close = gradient(lambda a: torch.lobpcg(a, 2, largest=ones, tol=1e-13))
    assert torch.allclose(close, gradient(whole), atol=1e-7)


def test_numbers_of_vectors_that_cannot_be():
    a = torch.eye(9)
    with pytest.raises(RuntimeError, match=r"lobpcg: k must not be negative, got -1$"):
        torch.lobpcg(a, k=-1)
    with pytest.raises(RuntimeError, match=r"lobpcg: n must not be negative, got -2$"):
        torch.lobpcg(a, n=-2)
    with pytest.raises(RuntimeError, match=r"k must be between 0 and the number of vectors, 2, got -1$"):
        torch.lobpcg(a, k=-1, X=torch.randn(9, 2))
    with pytest.raises(RuntimeError, match=r"k must be between 0 and the number of vectors, 2, got 3$"):
        torch.lobpcg(a, k=3, n=2)


def test_gradients_of_some_eigenvalues_are_symmetric_and_differences():
    m = torch.rand(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    a, start = (m @ m.T / 10).requires_grad_(), torch.eye(6, 1, dtype=torch.float64)

    def function(a):
        values, vectors = torch.lobpcg(a, X=start)
        return values, vectors * vectors[vectors.abs().argmax()].sign()

    assert torch.autograd.gradcheck(function, (a,))
    (slope,) = torch.autograd.grad(function(a)[1].square().cumsum(0).sum(), a)
    assert torch.equal(slope, slope.T)


@pytest.mark.parametrize("f", [torch.svd_lowrank, torch.pca_lowrank])
def test_memory_in_use_does_not_grow_with_iterations(f):
    a, peaks = of_rank(3, torch.float32, 30, 20), []
    for niter in (10, 300):
        torch.reset_peak_memory_stats()
        f(a, q=3, niter=niter)
        peaks.append(torch.memory_stats().peak)
    assert peaks[0] == peaks[1]
