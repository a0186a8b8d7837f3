"""Results of 16-bit floats that take several operations are rounded once: they are the float32 results, rounded."""

import pytest

import libtensor as torch

generator = torch.Generator()
generator.manual_seed(1)


def mat(*sizes):
    return torch.randn(*sizes, generator=generator)


def definite(n):
    a = mat(n, n)
    return a @ a.t() + n * torch.eye(n)


FACTORED = torch.linalg.lu_factor(mat(5, 5))
LOWER = torch.linalg.cholesky(definite(5))

CALLS = {
    "matrix_power": (lambda a: torch.linalg.matrix_power(a, 3), mat(2, 5, 5)),
    "matrix_power of the inverse": (lambda a: torch.linalg.matrix_power(a, -3), definite(5)),
    "matrix_exp": (torch.matrix_exp, mat(3, 4, 4)),
    "multi_dot": (lambda *a: torch.linalg.multi_dot(a), mat(9), mat(9, 7), mat(7, 5), mat(5, 8)),
    "chain_matmul": (torch.chain_matmul, mat(3, 9), mat(9, 7), mat(7, 5)),
    "cov": (torch.cov, mat(4, 9)),
    "cov with weights": (lambda a, w: torch.cov(a, fweights=torch.arange(9), aweights=w), mat(4, 9), mat(9).abs()),
    "corrcoef": (torch.corrcoef, mat(4, 9)),
    "corrcoef of a variable": (torch.corrcoef, mat(9)),
    "kron": (torch.kron, mat(3, 2), mat(2, 4)),
    "pinv": (torch.linalg.pinv, mat(4, 6)),
    "det": (torch.linalg.det, mat(5, 5)),
    "slogdet": (torch.linalg.slogdet, mat(5, 5)),
    "logdet": (torch.logdet, definite(5)),
    "cond": (lambda a: torch.linalg.cond(a, 1), definite(5)),
    "nuclear norm": (lambda a: torch.linalg.matrix_norm(a, "nuc"), mat(40, 40)),
    "spectral norm": (lambda a: torch.linalg.matrix_norm(a, 2), mat(3, 4, 6)),
    "norm 1": (lambda a: torch.linalg.matrix_norm(a, 1), mat(3, 4, 6)),
    "tensorsolve": (torch.linalg.tensorsolve, mat(6, 2, 3), mat(6)),
    "tensorinv": (lambda a: torch.linalg.tensorinv(a, ind=1), mat(6, 2, 3)),
    "cholesky_solve": (torch.cholesky_solve, mat(5, 2), LOWER),
    "cholesky_inverse": (torch.cholesky_inverse, LOWER),
    "lu_solve": (lambda b, lu: torch.linalg.lu_solve(lu, FACTORED.pivots, b), mat(5, 2), FACTORED.LU),
    "lu_solve from the right": (
        lambda b, lu: torch.linalg.lu_solve(lu, FACTORED.pivots, b, left=False, adjoint=True),
        mat(2, 5),
        FACTORED.LU,
    ),
    "polar": (torch.linalg.polar, mat(5, 4)),
    "matrix_sqrth": (torch.linalg.matrix_sqrth, definite(5)),
    "einsum of three": (lambda *a: torch.einsum("ij,jk,kl->il", *a), mat(3, 9), mat(9, 7), mat(7, 5)),
    "einsum with sums before the product": (lambda *a: torch.einsum("ijm,kjl->il", *a), mat(3, 4, 9), mat(7, 4, 5)),
    "einsum of one": (lambda a: torch.einsum("iij->i", a), mat(5, 5, 9)),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_several_steps_are_rounded_once(name, dtype):
    call, *given = CALLS[name]
    given = [t.to(dtype) for t in given]
    got, want = call(*given), call(*[t.float() for t in given])
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
        assert a.dtype == dtype
        assert torch.equal(a, b.to(dtype))


def test_factors_of_several_dtypes_are_rejected_or_promoted():
    half, single = mat(3, 3).half(), mat(3, 3)
    for call in (torch.cholesky_solve, lambda a, b: torch.linalg.lu_solve(a, torch.ones(3, dtype=torch.int32), b)):
        with pytest.raises(RuntimeError, match="float16"):
            call(half, single)
    assert torch.einsum("ij,ij->ij", half, single).dtype == torch.float32
    assert torch.cov(half, aweights=single[0].abs()).dtype == torch.float32
    assert torch.cov(half, aweights=torch.tensor([1, 2, 3], dtype=torch.bfloat16)).dtype == torch.float32


def test_gradients_of_several_steps_come_in_16_bits():
    x = mat(3, 3).half().requires_grad_()
    torch.linalg.matrix_power(x, 3).sum().backward()
    wide = x.detach().float().requires_grad_()
    torch.linalg.matrix_power(wide, 3).sum().backward()
    assert x.grad.dtype == torch.float16 and torch.allclose(x.grad, wide.grad.half(), rtol=2e-3, atol=2e-3)
