"""Forward differentiation: a level of the stack of transforms, whose products are those of reverse differentiation, whatever is around it and inside."""

import threading

import pytest
from test_vmap import SMOOTH, V, W, X, Y, flat, loop, number, same

import libtensor as torch
from libtensor.autograd import functional
from libtensor.func import grad, hessian, jvp, vjp, vmap

SOME = ["numbers", "sum over dims", "softmax", "matmul", "index of its own", "in place", "through a view", "assignment", "inverse", "prod", "var", "cat", "complex", "fft", "copy_"]


def reverse(f, x, t):
    """The product of the Jacobian with t, by two runs of reverse differentiation."""
    return functional.jvp(f, x, t, create_graph=True)[1]


def slope(f, t):
    """f's derivative in the direction of t, as a function."""
    return lambda x: jvp(f, (x,), (t,))[1]


def given(name):
    f, x, *rest = SMOOTH[name]
    rest = [r[0] for r in rest]
    return (lambda x: f(x, *rest)), x[0], torch.rand_like(x[0])


@pytest.mark.parametrize("name", SMOOTH)
def test_products_are_those_of_reverse_differentiation(name):
    f, x, t = given(name)
    values, slopes = jvp(f, (x,), (t,))
    same(values, f(x))
    same(slopes, reverse(f, x, t))
    assert not any(r.requires_grad for r in flat([values, slopes]))


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_inside_and_outside(name):
    f, x, t = given(name)
    want = reverse(grad(number(f)), x, t)
    same(jvp(grad(number(f)), (x,), (t,))[1], want)
    want = grad(lambda x: number(lambda x: reverse(f, x, t))(x))(x) if name not in ("complex",) else None
    if want is not None:
        same(grad(number(slope(f, t)))(x), want)
    same(jvp(lambda x: vjp(f, x)[1](f(x))[0], (x,), (t,))[1], reverse(lambda x: vjp(f, x)[1](f(x))[0], x, t))


@pytest.mark.parametrize("name", SMOOTH)
def test_examples_inside_and_outside(name):
    f, x, *rest = SMOOTH[name]
    t = torch.rand_like(x)
    want = loop(lambda x, t, *r: reverse(lambda x: f(x, *r), x, t), x, t, *rest)
    same(vmap(lambda x, t, *r: slope(lambda x: f(x, *r), t)(x))(x, t, *rest), want)
    same(slope(lambda x: vmap(f)(x, *rest), t)(x), want)
    same(vmap(lambda t: slope(lambda x: f(x, *(r[0] for r in rest)), t)(x[0]))(t), loop(lambda t: reverse(lambda x: f(x, *(r[0] for r in rest)), x[0], t), t))


@pytest.mark.parametrize("name", SOME)
def test_products_of_products(name):
    f, x, t = given(name)
    u = torch.rand_like(x)
    same(slope(slope(f, t), u)(x), reverse(lambda x: reverse(f, x, t), x, u))


@pytest.mark.parametrize("name", SOME)
def test_three_levels(name):
    f, x, *rest = SMOOTH[name]
    t = torch.rand_like(x)
    want = loop(lambda x, t, *r: reverse(grad(number(lambda x: f(x, *r))), x, t), x, t, *rest)
    same(vmap(lambda x, t, *r: slope(grad(number(lambda x: f(x, *r))), t)(x))(x, t, *rest), want)
    same(slope(vmap(lambda *a: grad(number(f))(*a)), t)(x, *rest) if not rest else slope(lambda x: vmap(grad(number(f)))(x, *rest), t)(x), want)


def test_tangents_of_levels_are_not_mixed():
    one = torch.tensor(1.0)
    assert slope(lambda x: x * slope(lambda y: x + y, one)(one), one)(one).item() == 1
    assert slope(lambda x: slope(lambda y: x * y, one)(x * x), one)(torch.tensor(3.0)).item() == 1
    assert slope(lambda x: slope(lambda y: x * y * y, one)(x), one)(torch.tensor(3.0)).item() == 12


def test_second_derivatives():
    f = lambda x: (x**3).sum() * x.prod()  # noqa: E731
    t = torch.rand_like(W)
    same(slope(grad(f), t)(W), hessian(f)(W) @ t)
    same(slope(slope(f, t), t)(W), t @ hessian(f)(W) @ t)
    w = Y.clone().requires_grad_()
    slope(lambda x: (x @ w).sin(), t)(W).sum().backward()
    assert torch.allclose(w.grad, grad(lambda w: ((t @ w) * (W @ w).cos()).sum())(Y))
    t = t.requires_grad_()
    made = slope(grad(lambda x: (x**4).sum()), t)(W)
    same(torch.autograd.grad(made.sum(), t)[0], 12 * W**2)
