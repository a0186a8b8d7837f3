"""Derivatives of single operators, where more than the recorded cases is worth a look."""

import math

import pytest

import libtensor as torch


def first_and_second(function, *values, dtype=torch.float64):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    return slope.tolist(), bend.tolist()


@pytest.mark.parametrize("name, at_zero", [("i0", (0, 0.5)), ("i0e", (0, 0.5)), ("i1", (0.5, 0)), ("i1e", (0.5, 0))])
def test_bessel_functions(name, at_zero):
    function = getattr(torch.special, name)
    slope, bend = first_and_second(function, -3.0, 0.5, 25.0)
    for x, s, b in zip((-3.0, 0.5, 25.0), slope, bend, strict=True):
        y = [function(torch.tensor(x + d, dtype=torch.float64)).item() for d in (-1e-3, 0, 1e-3)]
        assert math.isclose(s, (y[2] - y[0]) / 2e-3, rel_tol=1e-5) and math.isclose(b, (y[2] - 2 * y[1] + y[0]) / 1e-6, rel_tol=1e-3)
    if name[-1] != "e":  # exp(-|x|) has a corner at 0
        assert first_and_second(function, 0.0) == ([at_zero[0]], [at_zero[1]])
    assert first_and_second(function, 0.0)[0] == [at_zero[0]]


def test_bessel_functions_of_infinities():
    x = torch.tensor([math.inf, -math.inf, math.nan])
    assert str(torch.special.i1(x).tolist()) == "[inf, -inf, nan]" and str(torch.i0(x).tolist()) == "[inf, inf, nan]"
    assert str(torch.special.i0e(x).tolist()) == "[0.0, 0.0, nan]" and str(torch.special.i1e(x).tolist()) == "[0.0, -0.0, nan]"
    assert torch.special.i1(torch.tensor([-1, 1])).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
def test_second_derivatives_of_logcumsumexp(dtype):
    """Also where gradients are 0, which have no logarithm."""
    x = torch.tensor([0.5, -1.0, 2.0, 1e4], dtype=dtype, requires_grad=True)
    weights = torch.tensor([1.0, 0.0, -2.0, 0.0], dtype=dtype)
    (slope,) = torch.autograd.grad(x.logcumsumexp(0), x, weights, create_graph=True)
    (bend,) = torch.autograd.grad(slope[0].real, x)
    e = [math.exp(v) for v in (0.5, -1.0, 2.0)]
    p = [v / sum(e) for v in e]  # the last of the sums that count
    wanted = [-2 * p[0] * (1 - p[0]), 2 * p[0] * p[1], 2 * p[0] * p[2], 0]
    assert torch.allclose(slope.detach().real, torch.tensor([1 - 2 * p[0], -2 * p[1], -2 * p[2], 0]).to(slope.real.dtype), atol=1e-6)
    assert torch.allclose(bend.real, torch.tensor(wanted).to(bend.real.dtype), atol=1e-6)


def slopes(function, *values):
    leaves = [torch.tensor(v, requires_grad=True) for v in values]
    return [t.tolist() for t in torch.autograd.grad(function(*leaves).sum(), leaves, materialize_grads=True)]


def test_limits_that_elements_are_equal_to():
    x = [math.nan, 0.0, 1.0, -1.0, 0.5, 2.0]
    assert slopes(lambda a: a.clamp(-1, 1), x) == [[0, 1, 0, 0, 1, 0]]
    assert slopes(lambda a: a.clamp(min=0), x) == slopes(lambda a: a.clamp_min(0), x) == [[0, 0, 1, 0, 1, 1]]
    assert slopes(lambda a: a.clamp(max=1), x) == slopes(lambda a: a.clamp_max(1), x) == [[0, 1, 0, 1, 1, 0]]
    low, high = [0.0, 1.0, 1.0, 0.0, math.nan, 1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    x = [math.nan, 1.0, 1.0, 1.0, 1.0, 0.0, 3.0, 1.0, 1.0]
    assert slopes(torch.clamp, x, low, high) == [
        [1, 1, 0.5, 0.5, 1, 0, 0, 0, 0],
        [0, 0, 0.5, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0.5, 0, 0, 1, 1, 1],
    ]
    wanted = [[1, 0.5, 0.5, 1, 1, 0, 1, 0, 0.5], [1, 0.5, 0.5, 0, 1, 1, 0, 1, 0.5]]
    for function in (lambda a, b: a.clamp(min=b), lambda a, b: a.clamp_min(b), torch.maximum):
        assert slopes(function, x, low) == wanted
    assert slopes(torch.fmax, x, low) == [[0, *wanted[0][1:]], [*wanted[1][:4], 0, *wanted[1][5:]]]
    assert slopes(torch.fmin, x, low) == [[0, 0.5, 0.5, 0, 1, 1, 0, 1, 0.5], [1, 0.5, 0.5, 1, 0, 0, 1, 0, 0.5]]


def test_atan2_of_zeros():
    assert slopes(torch.atan2, [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]) == [[0, 1, 0], [0, 0, -1]]


def test_views_of_one_call_that_overlap():
    """Each adds what comes to it."""
    split = {"tensor_split": ((6,), 0), "hsplit": ((2, 6), 1), "vsplit": ((6, 2), 0), "dsplit": ((1, 2, 6), 2)}
    for name, (sizes, dim) in split.items():
        x = torch.zeros(*sizes, dtype=torch.float64, requires_grad=True)
        a, b, c = getattr(torch, name)(x, [4, 2])
        assert not b.numel()
        (a.sum() + 10 * b.sum() + 100 * c.sum()).backward()
        wanted = torch.tensor([1.0, 1, 101, 101, 100, 100]).double()
        assert torch.equal(x.grad.movedim(dim, -1), wanted.expand(x.movedim(dim, -1).shape)), name
    z = torch.zeros(3, dtype=torch.complex64, requires_grad=True)
    sum((part * 1j).real.sum() for part in z.conj().tensor_split([2, 1])).backward()
    assert z.grad.tolist() == [1j, 2j, 1j]


@pytest.mark.parametrize("seven", [7, 7.0, torch.tensor(7.0)])
def test_logarithms_of_numbers_are_not_rounded_to_another_dtype(seven):
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    for product, wanted in ((torch.xlogy, math.log(7)), (torch.special.xlogy, math.log(7)), (torch.special.xlog1py, math.log(8))):
        (slope,) = torch.autograd.grad(product(x, seven), x)
        assert slope.item() == pytest.approx(wanted, rel=1e-15)
    assert torch.autograd.grad(torch.xlogy(x * 0, 0), x)[0].item() == 0


def test_ldexp_has_the_gradients_of_a_product():
    x = torch.tensor([1e-300, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.ldexp(x, torch.tensor([1000, -2]))
    assert type(y.grad_fn).__name__ == "LdexpBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [2.0**1000, 0.25]
    n = torch.tensor([1.5], requires_grad=True)
    torch.ldexp(torch.tensor([3.0]), n).backward()
    assert n.grad.item() == pytest.approx(3 * 2**1.5 * math.log(2))


@pytest.mark.parametrize(
    "call, sizes, message",
    [
        (lambda x: torch.nanmean(x, dtype=torch.int32), (2,), "nanmean.*int32"),
        (lambda x: torch.diag(x), (2, 2, 2), "diag: supports 1D or 2D tensors, but got 3D"),
        (lambda x: x.H, (2, 2, 2), "H: only supported on matrices"),
        (lambda x: torch.adjoint(x), (3,), "adjoint: only supported on matrices"),
        (lambda x: torch.combinations(x), (), "combinations: expect a 1D vector"),
        (lambda x: torch.combinations(x), (3, 0), "combinations: expect a 1D vector"),
        (lambda x: torch.combinations(x, -1), (3,), "combinations"),
        (lambda x: (x * 1).float_power_(2), (3,), "float_power_: the output has dtype float32"),
        (lambda x: torch.linalg.eigvals(x), (2, 3), "linalg.eigvals"),
        (lambda x: torch.take_along_dim(x, torch.tensor([[0.0]]), 0), (2, 3), "take_along_dim"),
    ],
)
def test_errors_of_operators_are_the_same_with_gradients(call, sizes, message):
    for requires_grad in (False, True):
        with pytest.raises((RuntimeError, IndexError), match=message):
            call(torch.ones(sizes, requires_grad=requires_grad))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_adjoint_of_one_number(dtype):
    x = torch.tensor(3.0, dtype=dtype, requires_grad=True)
    for turned in (x.mH, x.H, x.adjoint(), x.mT):
        assert turned.shape == () and torch.autograd.grad(turned.real if dtype.is_complex else turned, x)[0].item() == 1


@pytest.mark.parametrize("other", [torch.float32, torch.complex64, torch.int64])
@pytest.mark.parametrize(
    "product", [torch.outer, torch.ger, torch.kron, torch.linalg.cross, lambda a, b: torch.addr(torch.zeros(3, 3), a, b)]
)
def test_products_of_two_dtypes(product, other):
    for swapped in (False, True):
        a = torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True)
        b = torch.tensor([4, 5, 6], dtype=other).requires_grad_(other != torch.int64)
        made = product(b, a) if swapped else product(a, b)
        (made.real if made.is_complex() else made).sum().backward()
        c, d = (
            a.detach().requires_grad_(),
            b.detach().double().requires_grad_() if other != torch.complex64 else b.detach().real.double().requires_grad_(),
        )
        (product(d, c) if swapped else product(c, d)).sum().backward()
        assert a.grad.dtype == a.dtype and torch.equal(a.grad, c.grad)
        assert (
            b.grad is None
            or b.grad.dtype == other
            and torch.equal(b.grad.real.double() if b.grad.is_complex() else b.grad.double(), d.grad)
        )


def test_limits_that_are_nan_take_nothing():
    x, low, high = (torch.tensor([v, v, v], dtype=torch.float64, requires_grad=True) for v in (2.0, 1.0, 1.5))
    nan = torch.tensor([math.nan] * 3, dtype=torch.float64, requires_grad=True)
    assert [g.tolist()[0] for g in torch.autograd.grad(x.clamp(nan, high).sum(), (x, nan, high))] == [0, 0, 0]
    assert [g.tolist()[0] for g in torch.autograd.grad(x.clamp(low, nan).sum(), (x, low, nan))] == [1, 0, 0]
    assert [g.tolist()[0] for g in torch.autograd.grad(x.clamp(low, high).sum(), (x, low, high))] == [0, 0, 1]


@pytest.mark.parametrize(
    "name", ["airy_ai", "spherical_bessel_j0", "chebyshev_polynomial_t", "hermite_polynomial_he", "shifted_chebyshev_polynomial_w"]
)
def test_no_gradient_flows_through_constant_functions(name):
    x = torch.tensor([0.5], requires_grad=True)
    y = getattr(torch.special, name)(x, *([2] if "polynomial" in name else []))
    assert not y.requires_grad and y.grad_fn is None


def test_second_derivatives_where_a_part_is_too_large_or_constant():
    x = torch.tensor([50.0, 30.0, -50.0, 0.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.special.log_ndtr(x).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    wanted = [-g[i].item() * (x[i].item() + g[i].item()) for i in (0, 1, 3)]
    assert gg[[0, 1, 3]].tolist() == pytest.approx(wanted, rel=1e-12, abs=0) and gg[2].item() == pytest.approx(-0.99960079760, rel=1e-6)
    for base in (torch.tensor([0.0, 1.0, float("nan")], requires_grad=True), torch.zeros(2, dtype=torch.complex64, requires_grad=True)):
        (g,) = torch.autograd.grad((base**0).abs().sum(), base, create_graph=True)
        assert g.tolist() == [0] * len(base) and not g.requires_grad
