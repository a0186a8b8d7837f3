"""Sums with products: `alpha`, `value` and weights, which are rounded once where product and sum meet."""

from fractions import Fraction

import pytest

import libtensor as torch

SIZES = [1, 3, 16, 17, 33, 1000]  # below and above the width of vectors, and sizes too small for them


def full(n, value, dtype=torch.float32):
    return torch.full((n,), value, dtype=dtype)


@pytest.mark.parametrize("n", SIZES)
def test_products_out_of_range(n):
    """A product beyond the range comes back by the sum."""
    for dtype, large in ((torch.float32, 3e38), (torch.float64, 1.7e308)):
        a, root = full(n, large, dtype), full(n, large**0.5, dtype)
        want = (-a).tolist()
        assert torch.add(a, -a, alpha=2).tolist() == want
        assert torch.sub(a, a, alpha=2).tolist() == want
        assert torch.rsub(a, a, alpha=2).tolist() == want
        assert a.clone().add_(a, alpha=-2).tolist() == want
        assert torch.add(a, -a, alpha=2, out=a.clone()).tolist() == want
        for got in torch.addcmul(-a, root, root * 1.5).tolist():
            assert got == pytest.approx(large / 2, rel=1e-5)


@pytest.mark.parametrize("n", SIZES)
def test_complex_products_out_of_range(n):
    a = full(n, 3e38 + 3e38j, torch.complex64)
    assert torch.add(a, -a, alpha=2).tolist() == (-a).tolist()
    assert torch.addcmul(-a, full(n, 2.0, torch.complex64), a).tolist() == a.tolist()


@pytest.mark.parametrize("n", SIZES)
def test_digits_of_products(n):
    """The difference between a product and a number that cancels it is the rounding error of the product."""
    for dtype in (torch.float32, torch.float64):
        x = (torch.arange(n, dtype=dtype) + 1) / 7
        alpha = full(1, 0.3, dtype).item()
        product = x * alpha
        exact = [float(Fraction(alpha) * Fraction(v) - Fraction(p)) for v, p in zip(x.tolist(), product.tolist(), strict=True)]
        assert any(exact) or n == 1
        assert torch.add(-product, x, alpha=alpha).tolist() == exact
        assert torch.sub(product, x, alpha=alpha).tolist() == [-v for v in exact]
        assert torch.addcmul(-product, x, full(n, alpha, dtype)).tolist() == exact
        assert (
            torch.lerp(-product, x - product, alpha).tolist() == pytest.approx(exact, abs=2e-7 if dtype == torch.float32 else 1e-15)
            or n > 1
        )


def test_addcmul_with_a_value():
    x = (torch.arange(50, dtype=torch.float64) + 1) / 7
    product = 0.3 * x * x
    exact = [float(Fraction(0.3) * Fraction(v) ** 2 - Fraction(p)) for v, p in zip(x.tolist(), product.tolist(), strict=True)]
    assert torch.addcmul(-product, x, x, value=0.3).tolist() == pytest.approx(exact, rel=1e-10, abs=1e-30)
    infinite = torch.addcmul(torch.tensor([1.0, -0.0]), torch.tensor([float("inf"), -1.0]), torch.tensor([2.0, 0.0]), value=0.5)
    assert str(infinite.tolist()) == "[inf, -0.0]"


def test_gradients():
    """Derivatives that are sums with products are rounded once too."""
    a = torch.tensor([3e38], requires_grad=True)
    torch.sub(a, a, alpha=2).backward()
    assert a.grad.item() == -1
    assert torch.addr(torch.tensor([[3e38]]), torch.tensor([3e38]), torch.tensor([-2.0])).item() == torch.tensor(-3e38).item()


@pytest.mark.parametrize("n", [2, 3, 100, 5000])
def test_variances_of_large_numbers(n):
    """A square that is out of range makes an infinity, and no NaN; equal elements have no variance."""
    a = full(n, 1e200, torch.float64)
    a[0] = -1e200
    assert a.var().item() == a.view(n, 1).var(0).item() == float("inf")
    assert a.std().item() == a.view(n, 1).std(0).item() == pytest.approx(2e200 / n**0.5, rel=1e-12)
    whole = full(n, 2.0**600, torch.float64)
    assert whole.var().item() == whole.view(n, 1).std(0).item() == 0
    assert torch.complex(whole, -whole).var().item() == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize("mode", ["trunc", "floor", None])
@pytest.mark.parametrize("out", [torch.complex32, torch.complex64, torch.complex128, torch.float64], ids=str)
def test_quotients_are_written_to_any_dtype_that_holds_them(dtype, mode, out):
    a, b = torch.tensor([7, -7, 5, 9]).to(dtype), torch.tensor([2, 2, -2, 3]).to(dtype)
    to = torch.full((4,), 9, dtype=out)
    assert torch.div(a, b, rounding_mode=mode, out=to) is to
    assert torch.equal(to, torch.div(a, b, rounding_mode=mode).to(out))
    narrow = torch.full((4,), 9, dtype=torch.uint8)
    if dtype != torch.int32:
        with pytest.raises(RuntimeError, match="div"):
            torch.div(a, b, rounding_mode=mode, out=narrow)
        assert narrow.tolist() == [9] * 4
