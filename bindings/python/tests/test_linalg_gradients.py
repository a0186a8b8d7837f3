"""Gradients of factors where eigenvalues are equal, and of vectors whose signs and phases are free."""

import pytest

import libtensor as torch
from libtensor.autograd import gradcheck, gradgradcheck


def hermitian(a):
    return (a + a.mH) / 2


REPEATED = {"ones": (1, 1, 1), "two equal": (1, 1, 2), "apart": (0.5, 1, 2)}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("values", REPEATED.values(), ids=REPEATED)
def test_roots_and_polar_factors_with_equal_values(dtype, values):
    q = torch.linalg.qr(torch.randn(3, 3, dtype=dtype)).Q
    a = hermitian(q @ torch.diag(torch.tensor(values, dtype=dtype)) @ q.mH).requires_grad_()

    def root(a):
        return torch.linalg.matrix_sqrth(hermitian(a))

    assert gradcheck(root, (a,)) and gradgradcheck(root, (a,))
    tall = torch.cat([a.detach(), torch.zeros(2, 3, dtype=dtype)]).expand(2, 5, 3).clone().requires_grad_()
    for pick in (slice(0, 1), slice(1, 2), slice(0, 2)):

        def factors(a, pick=pick):
            return tuple(torch.linalg.polar(a))[pick]

        assert gradcheck(factors, (tall,)) and gradgradcheck(factors, (tall,))


def test_gradient_of_a_root_of_deficient_rank_is_finite():
    a = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
    torch.linalg.matrix_sqrth(a).sum().backward()
    assert torch.allclose(a.grad, torch.full((3, 3), 0.5 / 3**0.5, dtype=torch.float64))


WITH_PHASES = {
    "eigh": lambda a: torch.linalg.eigh(a @ a.mH).eigenvectors.real.sum(),
    "eig": lambda a: torch.linalg.eig(a).eigenvectors.sum().abs(),
    "U": lambda a: torch.linalg.svd(a).U.real.sum(),
    "Vh": lambda a: torch.linalg.svd(a).Vh.sum().abs(),
    "U Vh": lambda a: (torch.linalg.svd(a).U @ torch.linalg.svd(a).Vh).abs().sum(),
}
WITHOUT = {
    "eigh": lambda a: torch.linalg.eigh(a + a.mH).eigenvectors.abs(),
    "eig": lambda a: torch.linalg.eig(a).eigenvectors.abs(),
    "U": lambda a: torch.linalg.svd(a).U.abs(),
    "Vh": lambda a: torch.linalg.svd(a, full_matrices=False).Vh.abs(),
    "U Vh": lambda a: (lambda f: f.U @ f.Vh)(torch.linalg.svd(a, full_matrices=False)),
}


@pytest.mark.parametrize("call", WITH_PHASES)
def test_what_depends_on_phases_has_no_gradient(call):
    a = torch.randn(3, 3, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(RuntimeError, match="(linalg_eigh|linalg_eig|svd)_backward: .* depends on this phase, so it is ill-defined"):
        WITH_PHASES[call](a).backward()
    assert a.grad is None


@pytest.mark.parametrize("call", WITHOUT)
def test_what_does_not_has_one(call):
    a = torch.randn(2, 3, 3, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(WITHOUT[call], (a,)) and gradgradcheck(WITHOUT[call], (a,))
