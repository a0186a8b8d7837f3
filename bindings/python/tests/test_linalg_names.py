"""The names that calls of linear algebra, special functions and random numbers have: keywords, results, and those in errors."""

import math

import pytest

import libtensor as torch

A = torch.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=torch.float64)
TAU = torch.tensor([1.5, 0.0], dtype=torch.float64)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.linalg.vector_norm(x=x, ord=2),
        lambda x: torch.linalg.eigvals(x=x),
        lambda x: torch.linalg.matrix_norm(x1=x),
        lambda x: torch.special.erf(a=x),
        lambda x: torch.add(x1=x, x2=x),
        lambda x: torch.cholesky_solve(input=x, input2=x),
        lambda x: torch.orgqr(input=x, input2=TAU),
        lambda x: torch.ormqr(input=x, input2=TAU, input3=x),
        lambda x: torch.special.chebyshev_polynomial_t(input=x, n=2),
        lambda x: torch.lu(A=x, pivot=True)[0],
    ],
)
def test_keywords_of_other_names(call):
    assert call(A).numel() > 0


def test_unknown_keywords_stay_unknown():
    with pytest.raises(TypeError, match="input2"):
        torch.linalg.inv(A, input2=A)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        torch.linalg.vector_norm(A, x=A)


@pytest.mark.parametrize(
    "name, call",
    [
        ("rand", lambda: torch.rand(3, dtype=torch.int64)),
        ("randn", lambda: torch.randn(3, dtype=torch.int64)),
        ("randint", lambda: torch.randint(3, (2,), dtype=torch.complex64)),
        ("randint", lambda: torch.randint(3, 2, (2,))),
        ("rand_like", lambda: torch.rand_like(torch.ones(3, dtype=torch.int64))),
        ("inverse", lambda: torch.inverse(torch.zeros(2, 2))),
        ("det", lambda: torch.det(torch.ones(2, 3))),
        ("orgqr", lambda: torch.orgqr(torch.ones(3), torch.ones(3))),
        ("lu", lambda: torch.lu(A, pivot=False)),
        ("lu", lambda: torch.lu(torch.ones(3))),
        ("special.gammainc", lambda: torch.special.gammainc(A.to(torch.complex64), A)),
        ("special.erf", lambda: torch.special.erf(A.to(torch.complex64))),
    ],
)
def test_errors_name_the_operator_that_was_called(name, call):
    with pytest.raises(RuntimeError) as e:
        call()
    assert str(e.value).startswith(name + ": ")


def test_lu_with_infos_has_fields():
    r = torch.lu(torch.zeros(2, 2), get_infos=True)
    assert type(r) is torch.return_types._lu_with_info
    assert r.info.item() == 1
    assert torch.equal(r.pivots, torch.tensor([1, 2], dtype=torch.int32))
    assert len(torch.lu(torch.zeros(2, 2))) == 2


def test_generators_of_a_cpu():
    assert torch.thread_safe_generator() is None and torch.random.thread_safe_generator() is None
    assert torch.random.Generator is torch.Generator
    assert "default_generator" in dir(torch.random)
    g = torch.Generator()
    for call in (g.graphsafe_get_state, lambda: g.graphsafe_set_state(g), lambda: g.philox_state(4)):
        with pytest.raises(NotImplementedError, match="not supported in this Generator"):
            call()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 200])
def test_pdist_is_the_upper_triangle_of_cdist(n, p):
    torch.manual_seed(n)
    x = torch.randn(n, 3, dtype=torch.float64)
    row, column = torch.triu_indices(n, n, 1)
    d = torch.cdist(x, x, p, compute_mode="donot_use_mm_for_euclid_dist")
    assert torch.equal(torch.pdist(x, p), d[row, column])
    assert torch.equal(torch.nn.functional.pdist(x.mT.contiguous().mT, p), d[row, column])
    assert torch.pdist(x.to("meta"), p).shape == (n * (n - 1) // 2,)
    y, z = x.clone().requires_grad_(), x.clone().requires_grad_()
    weights = torch.arange(row.numel(), dtype=torch.float64)
    (torch.pdist(y, p) * weights).sum().backward()
    (torch.cdist(z, z, p, compute_mode="donot_use_mm_for_euclid_dist")[row, column] * weights).sum().backward()
    assert torch.allclose(y.grad, z.grad, rtol=1e-12, atol=1e-12)


def test_pdist_rejects_tensors_without_rows():
    for bad in (torch.ones(3), torch.ones(2, 3, 3), torch.ones(3, 3, dtype=torch.int64)):
        with pytest.raises(RuntimeError, match="^pdist: only supports"):
            torch.pdist(bad)
    for p in (-1.0, math.nan):
        with pytest.raises(RuntimeError, match="^pdist: only supports non-negative p values"):
            torch.pdist(A, p)


def test_second_derivative_of_pdist():
    x = torch.tensor([[0.5, -1.0], [2.0, 0.25], [1.0, 1.5]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: torch.pdist(x, 3.0), (x,))


META = torch.empty(2, 2, dtype=torch.float64, device="meta")
PIVOTS = torch.tensor([1, 2], dtype=torch.int32)


@pytest.mark.parametrize(
    "call, fact",
    [
        (
            lambda: torch.linalg.vector_norm(A, dtype=torch.float32),
            "vector_norm: dtype should hold all values of the input, which is float64",
        ),
        (lambda: torch.linalg.matrix_norm(A, dtype=torch.float16), "matrix_norm: dtype should hold all values"),
        (lambda: torch.linalg.norm(A, dtype=torch.complex128), "linalg.norm: dtype should be real for real inputs"),
        (lambda: torch.norm(A, dtype=torch.float32), "norm: dtype should hold"),
        (lambda: torch.linalg.vector_norm(A.to(torch.float16), dtype=torch.bfloat16), "float16, but got bfloat16"),
        (lambda: torch.linalg.norm(A, dim=()), "linalg.norm: dim must be one or two dimensions"),
        (lambda: torch.linalg.norm(A, dim=(0, 1, 2)), "linalg.norm: dim must be one or two dimensions"),
        (lambda: torch.linalg.lu_solve(A, PIVOTS.long(), A), "linalg.lu_solve: expected pivots to be int32, .* got int64"),
        (lambda: torch.lu_solve(A, A, PIVOTS.double()), "^lu_solve: expected pivots to be int32"),
        (lambda: torch.lu_unpack(A, PIVOTS.long()), "lu_unpack: expected LU_pivots to be int32"),
        (lambda: torch.linalg.ldl_solve(A, PIVOTS.long(), A), "ldl_solve: expected pivots to be int32"),
        (lambda: torch.linalg.ldl_solve(META, PIVOTS, A), "same device"),
        (lambda: torch.linalg.householder_product(META, TAU), "householder_product: .* same device"),
        (lambda: torch.ormqr(META, TAU, A), "^ormqr: .* same device"),
        (lambda: torch.cholesky_solve(A, META), "^cholesky_solve: .* same device"),
        (lambda: torch.triangular_solve(A, META), "^triangular_solve: .* same device"),
        (lambda: torch.block_diag(META, A), "^block_diag: .* same device"),
        (lambda: torch.normal(A, torch.full((2, 2), math.nan)), "^normal: expected all elements of std >= 0.0, but got NaN"),
        (lambda: torch.linalg.cond(A, p="x"), "p must be one of 'fro', 'nuc', got \"x\"|the order must be one of 'fro', 'nuc', got \"x\""),
        (lambda: torch.linalg.svd(A, driver="x"), 'driver is only supported on CUDA, but got "x"'),
        (lambda: torch.signal.windows.hann(3, layout=torch.sparse_coo), "^signal.windows.hann is not implemented for sparse_coo"),
        (lambda: torch.hann_window(3, layout=torch.sparse_coo), "^hann_window is not implemented for sparse_coo"),
    ],
)
def test_errors(call, fact):
    with pytest.raises(RuntimeError, match=fact):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.signal.windows.general_cosine(9, a=3),
        lambda: torch.signal.windows.general_cosine(9, a={0.5}),
        lambda: torch.histogram(A, 2, range=3),
        lambda: torch.signal.windows.hann(3, requires_grad=3),
        lambda: torch.fft.fftfreq(3, requires_grad="x"),
        lambda: torch.ones(3, requires_grad=1),
    ],
)
def test_arguments_of_another_class(call):
    with pytest.raises(TypeError, match="tuple of floats|requires_grad' must be bool|invalid combination"):
        call()


MATRICES = {
    "det": lambda x: torch.linalg.det(x),
    "slogdet": lambda x: torch.linalg.slogdet(x),
    "logdet": torch.logdet,
    "cond": torch.linalg.cond,
    "matrix_rank": torch.linalg.matrix_rank,
    "pinv": torch.linalg.pinv,
    "pinverse": torch.pinverse,
    "inv": torch.linalg.inv,
    "inverse": torch.inverse,
    "eigh": torch.linalg.eigh,
    "eigvalsh": torch.linalg.eigvalsh,
    "eigvals": torch.linalg.eigvals,
    "svd": torch.linalg.svd,
    "svdvals": torch.linalg.svdvals,
    "qr": torch.linalg.qr,
    "cholesky": torch.linalg.cholesky,
    "lu": torch.linalg.lu,
    "lu_factor": torch.linalg.lu_factor,
}


@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_matrices_keep_the_names_of_batches(name):
    plain = torch.eye(3).expand(2, 3, 3) * torch.tensor([2.0, 3.0]).reshape(2, 1, 1)
    for names in (("N", "R", "C"), ("N", None, None), (None, "R", "C")):
        made, expected = MATRICES[name](plain.rename(*names)), MATRICES[name](plain)
        for a, b in zip(*((x,) if isinstance(x, torch.Tensor) else x for x in (made, expected)), strict=True):
            assert a.names == (names[0],) + (None,) * (b.dim() - 1)
            assert torch.equal(a.rename(None), b)
    matrix = MATRICES[name](plain[0].rename("R", "C"))
    assert not any(t.has_names() for t in ((matrix,) if isinstance(matrix, torch.Tensor) else matrix))


def test_outputs_of_matrix_functions():
    x = (torch.eye(2).expand(3, 2, 2) * 2).rename("N", "R", "C")
    out = torch.empty(3, 2, 2)
    assert torch.linalg.inv(x, out=out).names == ("N", None, None)
    with pytest.raises(RuntimeError, match=r"linalg.det: the result has dims \['N'\], but the output has dims \['M'\]"):
        torch.linalg.det(x, out=torch.empty(3, names=["M"]))
