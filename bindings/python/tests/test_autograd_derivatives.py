"""Derivatives where their formulas have to take care."""

import math

import pytest

import libtensor as torch


def slope(function, *values, dtype=torch.float64):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    return torch.autograd.grad(function(x).sum(), x)[0].tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["i1", "i1e", "bessel_j1"])
def test_bessel_functions_of_order_one_next_to_zero(name, dtype):
    least = math.ldexp(1, -1074 if dtype is torch.float64 else -149)
    found = slope(getattr(torch.special, name), 0.0, -0.0, least, -least, 1e-40, 1e-310, 1e-30, -1e-20, dtype=dtype)
    assert found == [0.5] * 8


def test_inverse_error_function_needs_its_operand():
    x = torch.tensor([0.25, -0.5], dtype=torch.float64, requires_grad=True)
    expected = [math.sqrt(math.pi) / 2 * math.exp(v * v) for v in torch.erfinv(x).tolist()]
    for call in (torch.erfinv, lambda t: t.clone().erfinv_()):
        y = call(x)
        y.detach().zero_()  # the result may be written to
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == pytest.approx(expected, rel=1e-14)
    z = x * 1
    y = z.erfinv()
    z.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# The saved tensors of a function, operand or result, determine which of them may be written before the backward pass.
@pytest.mark.parametrize(
    ("names", "saved"),
    [
        ("acos asin atan cos cosh digamma erf erfc erfinv lgamma log log10 log1p log2 sin sinc sinh abs i0", {"self"}),
        ("exp exp2 expm1 reciprocal rsqrt sigmoid sqrt tan tanh", {"result"}),
        ("ceil floor round trunc sign neg deg2rad rad2deg frac", set()),
    ],
)
def test_saved_tensors_of_functions(names, saved):
    for name in names.split():
        x = torch.tensor([0.25, 0.5], requires_grad=True)
        for made in (getattr(torch, name)(x), getattr(x * 1, name + "_")()):
            assert {a.removeprefix("_saved_") for a in dir(made.grad_fn) if a.startswith("_saved_")} == saved, name


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((2.0, 0.0, math.nan), (1, math.nan, 0)),
        ((2.0, 0.0, math.inf), (1, math.inf, 0)),
        ((0.0, 0.0, math.nan), (1, 0, 0)),
        ((2.0, 3.0, 0.0), (7, 4, 18)),
        ((0.0, 3.0, 5.0), (52, 0, 0)),
    ],
)
def test_products_behind_a_zero_do_not_matter(values, expected):
    """Nothing behind a row's first zero is in the gradient of what stands before it: nor infinities, nor NaN."""
    weights = torch.tensor([1.0, 2.0, 3.0])
    found = slope(lambda x: torch.cumprod(x, 0) * weights, *values, dtype=torch.float32)
    assert found == pytest.approx(expected, nan_ok=True)


def test_second_derivatives_of_products_with_zeros():
    x = torch.tensor([[2.0, 0.0, 3.0, 0.0], [1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 5.0]], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    (recorded,) = torch.autograd.grad((torch.cumprod(x, 1) * weights).sum(), x, create_graph=True)
    assert recorded.tolist() == torch.autograd.grad((torch.cumprod(x, 1) * weights).sum(), x)[0].tolist()
    assert torch.autograd.gradgradcheck(lambda t: torch.cumprod(t, 1), (x,)) and torch.autograd.gradgradcheck(
        lambda t: torch.prod(t, 1), (x,)
    )


def test_second_derivatives_with_results_that_have_none():
    x = torch.tensor([0.75, 3.0, -5.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad((torch.frexp(x).mantissa ** 2).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2.0, 2 / 16, 2 / 64]


@pytest.mark.parametrize("base", [-1.5, torch.tensor([-1.5, 2.0], dtype=torch.float64)], ids=["number", "tensor"])
def test_complex_powers_of_numbers_below_zero(base):
    exponent = torch.tensor([0.3 + 0.2j, 1 - 1j], dtype=torch.complex128, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.pow(base, exponent).real.sum(), exponent)
    logarithm = torch.log(torch.as_tensor(base, dtype=torch.complex128))
    assert torch.allclose(slope, (torch.pow(base, exponent.detach()) * logarithm).conj())
    assert torch.autograd.gradcheck(lambda exponent: torch.pow(base, exponent), (exponent,))
