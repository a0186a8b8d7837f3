"""Gradients of factorizations with equal eigenvalues, of vectors with arbitrary phases, of outputs, and near zeros."""

import pytest

import libtensor as torch
from libtensor.autograd import gradcheck, gradgradcheck


def hermitian(a):
    return (a + a.mH) / 2


REPEATED = {"ones": (1, 1, 1), "two equal": (1, 1, 2), "apart": (0.5, 1, 2)}


@pytest.mark.slow
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
def test_functions_of_the_phase_have_no_gradient(call):
    a = torch.randn(3, 3, dtype=torch.complex128, requires_grad=True)
    with pytest.raises(RuntimeError, match="(linalg_eigh|linalg_eig|svd)_backward: .* depends on this phase, so it is ill-defined"):
        WITH_PHASES[call](a).backward()
    assert a.grad is None


@pytest.mark.parametrize("call", WITHOUT)
def test_values_of_other_objects_have_one(call):
    a = torch.randn(2, 3, 3, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(WITHOUT[call], (a,)) and gradgradcheck(WITHOUT[call], (a,))


OUTS = {
    "eigvalsh": [(3,)], "svdvals": [(3,)], "inv": [(3, 3)], "square": [(3, 3)], "exp": [(3, 3)], "qr": [(3, 3), (3, 3)],
    "eigh": [(3,), (3, 3)],
    "polar": [(3, 3), (3, 3)], "lu": [(3, 3), (3, 3), (3, 3)], "svd": [(3, 3), (3,), (3, 3)], "slogdet": [(), ()],
}  # fmt: skip


@pytest.mark.parametrize("name", OUTS)
def test_outputs_have_no_gradients(name):
    f = getattr(torch.linalg, name, None) or getattr(torch, name)
    a = torch.eye(3, dtype=torch.float64)

    def call(a, wanted):
        outs = tuple(torch.full(size, 7.0, dtype=torch.float64, requires_grad=i == wanted) for i, size in enumerate(OUTS[name]))
        return outs, lambda: f(a, out=outs if len(outs) > 1 else outs[0])

    for operand, wanted in [(a, i) for i in range(len(OUTS[name]))] + [(a.clone().requires_grad_(), None)]:
        outs, run = call(operand, wanted)
        with pytest.raises(RuntimeError, match=f"{name}.*: functions with out=... arguments don't support automatic differentiation"):
            run()
        assert all((o == 7).all() for o in outs)
        with torch.no_grad():
            run()
        assert not (outs[-1] == 7).any()


def test_slopes_near_zero():
    def slope(f, *values):
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
        return [g.item() for g in torch.autograd.grad(f(*leaves), leaves)]

    for x in (1e-310, 1e-200, 1e-8):
        assert slope(torch.sinc, x) == pytest.approx([-(3.141592653589793**2) * x / 3], rel=1e-14)
        assert slope(torch.special.i1e, x) == pytest.approx([0.5], rel=1e-7)
    assert slope(torch.sinc, 0.0) == [0]
    assert slope(torch.atan2, 3e-200, 4e-200) == pytest.approx([1.6e199, -1.2e199])
    assert slope(torch.atan2, 3e200, 4e200) == pytest.approx([1.6e-201, -1.2e-201])
    assert slope(torch.atan2, 1e-200, 0.0) == pytest.approx([0, -1e200])
    x = torch.tensor([-2.2, -1e-3, 0.0, 0.02, 0.5], dtype=torch.float64, requires_grad=True)
    assert gradcheck(torch.sinc, (x,)) and gradgradcheck(torch.sinc, (x,))


SINGULAR = {
    "rank n-1": [[1.0, 2], [2, 4]],
    "rank n-1, diagonal": [[1.0, 0, 0], [0, 2, 0], [0, 0, 0]],
    "rank n-2": [[1.0, 1, 1], [1, 1, 1], [1, 1, 1]],
    "zeros": [[0.0, 0], [0, 0]],
    "of another scale": [[1e8, 1e8, 0], [1e8, 1e8, 0], [0, 0, 1e8]],
    "one element": [[0.0]],
    "a batch": [[[1.0, 1], [1, 1]], [[1, 0], [0, 1]], [[0, 0], [0, 0]]],
    "none": [[1.0, 2], [3, 4]],
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("kind", SINGULAR)
def test_derivatives_of_the_determinant_of_a_singular_matrix(kind, dtype):
    """The determinant is a polynomial of the elements, whose derivatives are never infinite."""
    x = torch.tensor(SINGULAR[kind], dtype=dtype, requires_grad=True)
    (plain,) = torch.autograd.grad(torch.linalg.det(x).real.sum(), x)
    (recorded,) = torch.autograd.grad(torch.linalg.det(x).real.sum(), x, create_graph=True)
    assert torch.allclose(recorded, plain, atol=1e-12 * (1 + float(x.detach().abs().max()) ** 2))
    if kind != "of another scale":
        assert torch.autograd.gradgradcheck(torch.linalg.det, (x,))
