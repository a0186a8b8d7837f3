"""Forward differentiation: its products are those of reverse differentiation, whatever is around it and inside."""

import copy
import threading

import pytest
from test_vmap import SMOOTH, W, Y, flat, loop, number, same

import libtensor as torch
from libtensor.autograd import functional
from libtensor.func import grad, hessian, jvp, vjp, vmap

SOME = [
    *(
        "numbers",
        "sum over dims",
        "softmax",
        "matmul",
        "index of its own",
        "in place",
        "through a view",
        "assignment",
        "inverse",
        "prod",
        "var",
    ),
    *("cat", "complex", "fft", "copy_"),
]


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
    same(slope(grad(number(f)), t)(x), reverse(grad(number(f)), x, t))
    same(grad(number(slope(f, t)))(x), grad(number(lambda x: reverse(f, x, t)))(x))
    same(jvp(lambda x: vjp(f, x)[1](f(x))[0], (x,), (t,))[1], reverse(lambda x: vjp(f, x)[1](f(x))[0], x, t))


@pytest.mark.parametrize("name", SMOOTH)
def test_examples_inside_and_outside(name):
    f, x, *rest = SMOOTH[name]
    t = torch.rand_like(x)
    want = loop(lambda x, t, *r: reverse(lambda x: f(x, *r), x, t), x, t, *rest)
    same(vmap(lambda x, t, *r: slope(lambda x: f(x, *r), t)(x))(x, t, *rest), want)
    same(slope(lambda x: vmap(f)(x, *rest), t)(x), want)
    same(
        vmap(lambda t: slope(lambda x: f(x, *(r[0] for r in rest)), t)(x[0]))(t),
        loop(lambda t: reverse(lambda x: f(x, *(r[0] for r in rest)), x[0], t), t),
    )


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
    same(
        slope(vmap(lambda *a: grad(number(f))(*a)), t)(x, *rest) if not rest else slope(lambda x: vmap(grad(number(f)))(x, *rest), t)(x),
        want,
    )


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


# ------------------------------------------------------------------------------------------------------ with other features

T = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)
Z = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


def push(f):
    return jvp(f, (Z,), (T,))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_modes(mode):
    with mode():
        for x in (Z, Z * 1):
            assert torch.equal(slope(lambda x: x.exp() * x, T)(x), T * x.exp() * (x + 1))
            assert not slope(torch.sin, T)(x).requires_grad
    w = W[:3].clone().requires_grad_()
    with mode():
        assert slope(lambda x: x * w, T)(Z).requires_grad == (mode is torch.enable_grad)


def test_inside_no_grad():
    """Reverse mode alone stops there."""

    def f(x):
        with torch.no_grad():
            return x * x

    assert torch.equal(push(f)[1], 2 * Z * T)


def written(make, *changes):
    def f(x):
        made = make(x)
        for change in changes:
            change(made, x)
        return made

    return f


def adds(made, x):
    for i in range(3):
        made[i] += x[i] * i


WRITTEN = {
    "a view": (written(torch.clone, lambda c, x: c[1:].mul_(x[1:])), torch.tensor([1, 4, 6])),
    "the base of a view": (lambda x: (lambda c: (c[:2], c.zero_())[0])(x.clone()), torch.zeros(2)),
    "elements": (written(torch.zeros_like, adds), torch.arange(3)),
    "what is made inside": (written(lambda x: torch.zeros(3, dtype=x.dtype), lambda c, x: c.copy_(x * x), lambda c, x: c.mul_(2)), 4 * Z),
    "a view of a view": (written(torch.zeros_like, lambda c, x: c.view(3, 1).mT[0].add_(x)), torch.ones(3)),
    "a number": (written(torch.clone, lambda c, x: c.fill_(3.0)), torch.zeros(3)),
    "numbers at random": (written(torch.clone, lambda c, x: c.normal_()), torch.zeros(3)),
    "out": (lambda x: torch.mul(x, x, out=torch.zeros(3, dtype=x.dtype)), 2 * Z),
    "out of a sum": (lambda x: torch.add(x, x, out=torch.zeros(3, dtype=x.dtype)), torch.full((3,), 2)),
    "nonlinear": (written(torch.clone, lambda c, x: c.exp_().mul_(x)), Z.exp() * (Z + 1)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writes(name):
    f, want = WRITTEN[name]
    values, slopes = push(f)
    assert torch.allclose(slopes, want.double() * T[: len(want)])
    assert values.shape == slopes.shape


def test_tensors_created_inside_have_no_tangent():
    assert push(lambda x: x * torch.zeros_like(x).log().exp())[1].tolist() == [0, 0, 0]
    assert push(lambda x: x.new_ones(2))[1].tolist() == [0, 0]


def test_detached_tensors_have_none():
    assert push(lambda x: x.detach() * x)[1].tolist() == push(lambda x: x.data * x)[1].tolist() == (Z * T).tolist()


def test_tangents_of_other_floats():
    assert jvp(torch.sin, (Z,), (T.float(),))[1].dtype == torch.float64


def test_results_without_derivatives():
    values, slopes = push(lambda x: (x.argmax(), x > 1, x.long(), x.detach(), torch.zeros(2), x.round()))
    assert [t.dtype for t in slopes] == [t.dtype for t in values]
    assert not any(t.any() for t in slopes)


def test_elements_are_those_of_the_primal():
    assert push(lambda x: x * x.sum().item() if x.sum() > 0 else x)[1].tolist() == (6 * T).tolist()
    assert push(lambda x: x * x.tolist()[1])[1].tolist() == (2 * T).tolist()
    said = []
    push(lambda x: said.append(repr(x)) or x)
    assert said == ["tensor([1., 2., 3.], dtype=torch.float64, tangent=tensor([1.0000, 0.5000, 2.0000], dtype=torch.float64))"]


def test_tensors_that_escape_a_level_are_primals():
    left = []
    push(lambda x: left.append(x * x) or x)
    assert left[0].tolist() == [1, 4, 9] and (left[0] + 1).tolist() == [2, 5, 10] and left[0].numpy().tolist() == [1, 4, 9]
    assert push(lambda x: x * left[0])[1].tolist() == (T * Z**2).tolist()


def test_errors_end_the_level():
    def stops(x):
        raise ValueError("stops")

    for _ in range(2):
        with pytest.raises(ValueError, match="stops"):
            push(stops)
        with pytest.raises(RuntimeError):
            push(lambda x: x @ torch.ones(2, 2, dtype=x.dtype))
    assert torch.equal(push(torch.sin)[1], T * Z.cos())


def test_threads_have_separate_levels():
    found = {}

    def run(k):
        found[k] = [slope(lambda x: slope(lambda y: (x * y).sin() * k, T)(x), T)(Z) for _ in range(20)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = reverse(lambda x: reverse(lambda y: (x * y).sin(), x, T), Z, T)
    for k, made in found.items():
        assert all(torch.allclose(t, k * want) for t in made)


class Quintupled(torch.autograd.Function):
    """A function whose backward says something else than its forward."""

    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 5 * grad * x, None


def test_functions_with_a_backward():
    f = lambda x: Quintupled.apply(2 * x, 2)  # noqa: E731
    assert push(f)[1].tolist() == (20 * Z * T).tolist()
    same(slope(slope(f, T), T)(Z), 20 * T * T)
    same(slope(grad(lambda x: f(x).sum()), T)(Z), 20 * T)
    same(grad(lambda x: slope(f, T)(x).sum())(Z), 20 * T)
    assert not push(f)[0].requires_grad


class Doubled(torch.autograd.Function):
    """A function that writes to its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def test_functions_that_write_are_rejected_before_they_do():
    x = Z * 1
    for f in (Doubled.apply, lambda x: Doubled.apply(x.clone()), lambda x: slope(Doubled.apply, T)(x * 1)):
        with pytest.raises(NotImplementedError, match="functions that write to their arguments are not implemented; return another tensor"):
            jvp(f, (x,), (T,))
    assert torch.equal(x, Z)


def test_gradients_that_are_kept():
    w = Z.clone().requires_grad_()
    (w * w).sum().backward()

    def f(x):
        assert x.grad.tolist() == [2, 4, 6]
        x.grad = torch.ones(3, dtype=x.dtype)
        with pytest.raises(NotImplementedError, match="one with a tangent"):
            x.grad = x.detach() * (x * 1)
        return x * x

    assert jvp(f, (w,), (T,))[1].tolist() == (2 * Z * T).tolist()
    assert w.grad.tolist() == [1, 1, 1]


def test_complex_numbers():
    z, t = torch.randn(3, dtype=torch.complex128), torch.randn(3, dtype=torch.complex128)
    for f, want in {
        torch.exp: z.exp() * t,
        torch.abs: (z.conj() * t).real / z.abs(),
        torch.conj: t.conj(),
        (lambda z: z * z.conj()): z * t.conj() + t * z.conj(),
        (lambda z: torch.vdot(z, z)): 2 * torch.vdot(z, t).real + 0j,
        (lambda z: z.real * z.imag): t.real * z.imag + z.real * t.imag,
    }.items():
        same(slope(f, t)(z), want)


def test_meta_tensors():
    x = torch.zeros(3, 4, device="meta")
    values, slopes = jvp(lambda x: x.softmax(0) @ x.mT, (x,), (x,))
    assert slopes.device.type == "meta" and slopes.shape == values.shape == (3, 3)


def test_numbers_at_random():
    torch.manual_seed(0)
    drawn = torch.rand(3, dtype=torch.float64)
    torch.manual_seed(0)
    assert torch.equal(push(lambda x: x * torch.rand_like(x))[1], drawn * T)
    made = vmap(slope(lambda x: x * torch.rand_like(x), T), randomness="different")(torch.ones(2, 3, dtype=torch.float64))
    assert made.shape == (2, 3) and not torch.equal(made[0], made[1])


def test_elements_that_share_memory():
    """Each element has a separate tangent."""
    many = torch.ones(1).expand(3)
    assert jvp(lambda x: x * 2, (many,), (torch.arange(3.0),))[1].tolist() == [0, 2, 4]
    assert jvp(lambda x: x.clone().mul_(3)[1:], (many,), (torch.arange(3.0),))[1].tolist() == [3, 6]
    assert push(lambda x: (lambda e: (e[0].fill_(5), e * 1)[1])(x[:1].clone().expand(3)))[1].tolist() == [0, 0, 0]


def test_layouts_of_tangents():
    x = torch.rand(3, 4, dtype=torch.float64).mT
    t = torch.rand(4, 3, dtype=torch.float64)
    assert torch.equal(slope(lambda x: x.t().view(12), t)(x), t.t().reshape(12))
    assert torch.equal(slope(lambda x: x.as_strided((2,), (1,)), t)(x), t.t().reshape(12)[:2])
    assert torch.equal(slope(lambda x: x[:, :1].reshape(-1), t.t()[:, ::2])(x.t()[:, ::2]), t.t()[:, :1].reshape(-1))
    with pytest.raises(NotImplementedError, match="the memory layout of the tensor differs from that of its tangent"):
        slope(lambda x: x.as_strided((2,), (1,)), t[1:])(x[1:])


REJECTED = [
    (lambda: push(lambda x: x.to_sparse()), NotImplementedError, "forward differentiation is not implemented for sparse_coo tensors"),
    (lambda: push(lambda x: x.rename("N")), NotImplementedError, "forward differentiation is not implemented for named tensors"),
    (lambda: push(lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8)), NotImplementedError, "quantized"),
    (lambda: jvp(torch.sin, (Z.to_sparse(),), (T,)), NotImplementedError, "not implemented for sparse_coo tensors"),
    (lambda: jvp(torch.sin, (Z.rename("N"),), (T,)), NotImplementedError, "not implemented for named tensors"),
    (lambda: push(lambda x: x.clone().resize_(1)), RuntimeError, "it has a tangent"),
    (lambda: push(lambda x: x.clone().resize_(2)), RuntimeError, "data pointer"),
    (
        lambda: push(lambda x: torch.mul(x, x, out=torch.zeros(0, dtype=x.dtype))),
        NotImplementedError,
        r"out has sizes \[0\], but the result has sizes \[3\]",
    ),
    (
        lambda: push(lambda x: torch.add(x, x, out=torch.zeros(0, dtype=x.dtype))),
        NotImplementedError,
        r"out has sizes \[0\], but the result has sizes \[3\]",
    ),
    (lambda: push(copy.deepcopy), RuntimeError, "deepcopy: Cannot access data pointer"),
    (
        lambda: push(lambda x: x.numpy()),
        RuntimeError,
        r"numpy: Cannot access data pointer .* it has a tangent \(of func.jvp or forward_ad\)",
    ),
    (
        lambda: jvp(lambda x: x.zero_(), (torch.ones(1).expand(3),), (torch.ones(3),)),
        RuntimeError,
        "more than one element of the written-to tensor",
    ),
    (
        lambda: jvp(lambda x: x[:1].zero_(), (torch.ones(1).expand(3),), (torch.ones(3),)),
        RuntimeError,
        "more than one element of the written-to",
    ),
    (lambda: jvp(lambda x: x.__setitem__(0, 5.0), (torch.ones(1).expand(3),), (torch.ones(3),)), RuntimeError, "more than one element"),
    (lambda: push(lambda x: (x.requires_grad_() ** 2).sum().backward()), RuntimeError, r"backward\(\) called inside a functorch transform"),
    (lambda: push(lambda x: (x.requires_grad_() * 2).register_hook(print)), NotImplementedError, "register_hook inside vmap or jvp"),
    (
        lambda: jvp(torch.sin, (torch.tensor([1]),), (torch.tensor([1]),)),
        RuntimeError,
        "a tensor with a tangent must have a floating-point or complex dtype",
    ),
    (lambda: jvp(torch.sin, (Z,), (T[:2],)), RuntimeError, r"a tangent must have the sizes of its primal, \[3\], but has \[2\]"),
    (lambda: jvp(torch.sin, (Z,), (T.long(),)), RuntimeError, "a tangent must have the dtype of its primal, float64, but has int64"),
    (lambda: push(lambda x: setattr(torch.zeros(3, dtype=x.dtype), "data", x)), NotImplementedError, "tensors inside a transform"),
    (lambda: jvp(torch.sin, (Z,), (T.to("meta"),)), RuntimeError, "a tangent must be on the device of its primal"),
    (lambda: jvp(torch.sin, (Z,), (1.0,)), RuntimeError, "to only contain Tensors, but got float"),
    (lambda: push(lambda x: 1.0), RuntimeError, "to return only tensors, or structures of them, but got float"),
    (lambda: jvp(lambda x: W, (Z,), (T,), strict=True), RuntimeError, "does not depend on the primals"),
]


@pytest.mark.parametrize("number", range(len(REJECTED)))
def test_errors(number):
    call, error, words = REJECTED[number]
    with pytest.raises(error, match=words):
        call()


def test_gradients_of_inputs_that_are_views():
    """The tangent of the input would count twice if it were also added through its base."""

    def f(x):
        y = x.requires_grad_().exp()
        return torch.autograd.grad((y * y).sum(), y, create_graph=True)[0]

    with pytest.raises(NotImplementedError, match=r"the gradient with respect to inputs\[0\] is not implemented"):
        push(f)
    assert torch.allclose(push(lambda x: torch.autograd.grad((x**3).sum(), x)[0] if x.requires_grad_() is x else x)[1], 6 * Z * T)


def cubes(x):
    return (x**3).sum()


FUNCTIONAL = {
    "jacobian": (lambda x, **k: functional.jacobian(lambda y: y**3, x, **k), torch.diag(6 * Z * T)),
    "jacobian by columns": (
        lambda x, **k: functional.jacobian(lambda y: y**3, x, vectorize=True, strategy="forward-mode", **k),
        torch.diag(6 * Z * T),
    ),
    "hessian": (lambda x, **k: functional.hessian(cubes, x, **k), torch.diag(6 * T)),
    "vjp": (lambda x, **k: functional.vjp(lambda y: y**3, x, x, **k)[1], 9 * Z * Z * T),
    "vjp of another vector": (lambda x, **k: functional.vjp(lambda y: y**3, x, Z, **k)[1], 6 * Z * Z * T),
    "vjp at another point": (lambda x, **k: functional.vjp(lambda y: y**3, Z, x, **k)[1], 3 * Z * Z * T),
    "jvp": (lambda x, **k: functional.jvp(lambda y: y**3, x, x, **k)[1], 9 * Z * Z * T),
    "the value of jvp": (lambda x, **k: functional.jvp(lambda y: y**3, x, Z, **k)[0], 3 * Z * Z * T),
    "hvp": (lambda x, **k: functional.hvp(cubes, x, x, **k)[1], 12 * Z * T),
    "vhp": (lambda x, **k: functional.vhp(cubes, x, x, **k)[1], 12 * Z * T),
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_whole_derivatives_inside(name, create):
    f, want = FUNCTIONAL[name]
    values, slopes = push(lambda x: f(x, create_graph=create))
    assert torch.allclose(values, f(Z)) and torch.allclose(slopes, want)
    if create:
        whole = lambda x: f(x, create_graph=True)  # noqa: E731
        of = lambda product: grad(lambda x: (product(whole)(x) * want).sum())(Z)  # noqa: E731
        same(of(lambda f: slope(f, T)), of(lambda f: lambda x: reverse(f, x, T)))


RECORDED = {
    "elementwise": (torch.sin, Z),
    "elementwise of tensors": (lambda x: torch.atan2(x, x * x), Z),
    "a matrix": (torch.matrix_exp, torch.eye(3, dtype=Z.dtype) * Z),
    "a scan": (lambda x: x.logcumsumexp(0), Z),
    "a composition": (lambda x: x.softmax(0), Z),
    "the program's": (lambda x: Quintupled.apply(x, 2), Z),
}


@pytest.mark.parametrize("name", RECORDED)
def test_results_require_grad_if_an_operand_does(name):
    f, x = RECORDED[name]
    t = torch.rand_like(x)
    s = lambda x: f(x).sum()  # noqa: E731
    product = lambda x, t: jvp(f, (x,), (t,))[1].sum()  # noqa: E731
    made = [
        *(grad(product)(x, t), grad(product, 1)(x, t), grad(lambda x: grad(product)(x, t).sum())(x)),
        *(*jvp(grad(s), (x,), (t,)), grad(lambda t: slope(grad(s), t)(x).sum())(t), slope(slope(grad(s), t), t)(x)),
        jvp(f, (x,), (t.clone().requires_grad_(),))[0],
    ]
    assert not [i for i, m in enumerate(made) if m.requires_grad]
    assert (
        all(m.requires_grad for m in jvp(f, (x.clone().requires_grad_(),), (t,))) and slope(f, t.clone().requires_grad_())(x).requires_grad
    )


# -------------------------------------------------------------------------------------------------------- dual levels


def test_dual_levels():
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        x = ad.make_dual(Z, T)
        primal, tangent = ad.unpack_dual(x.sin() * x)
        assert torch.allclose(tangent, T * (Z.cos() * Z + Z.sin())) and torch.equal(primal, Z.sin() * Z)
        assert ad.unpack_dual(Z).tangent is None
        same(slope(lambda y: x * y, T)(x), ad.unpack_dual(x * T).primal)
        same(ad.unpack_dual(slope(lambda y: y * y, T)(x)).tangent, 2 * T * T)
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            ad.enter_dual_level()
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            ad.make_dual(torch.tensor([1]), torch.tensor([1]))
    assert torch.equal(x, Z) and ad.unpack_dual(x).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        ad.make_dual(Z, T)
    with pytest.raises(RuntimeError, match="no level is active"):
        ad.exit_dual_level()


# ------------------------------------------------------------------------------------------------ other objects for a tensor


class Metres(torch.Tensor):
    pass


KEPT = {
    "a factor of a subclass": (lambda x: x * torch.ones_like(Z).as_subclass(Metres), T),
    "as_subclass": (lambda x: x.as_subclass(Metres) * 2, 2 * T),
    "as_subclass and back": (lambda x: x.as_subclass(Metres).as_subclass(torch.Tensor) * x, 2 * Z * T),
    "asarray": (torch.asarray, T),
    "asarray of another dtype": (lambda x: torch.asarray(x, dtype=torch.float32), T.float()),
    "asarray with a copy": (lambda x: torch.asarray(x * x, copy=True), 2 * Z * T),
    "copy.copy": (lambda x: copy.copy(x) * x, 2 * Z * T),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_objects_keep_the_tangent(name):
    f, want = KEPT[name]
    values, slopes = push(f)
    assert type(slopes) is type(values) and torch.equal(slopes.as_subclass(torch.Tensor), want)
    assert torch.equal(jvp(lambda x: slope(f, T)(x * 1), (Z,), (T,))[0], slopes)


def test_inputs_of_a_subclass():
    values, slopes = jvp(lambda x: x * x, (Z.as_subclass(Metres),), (T,))
    assert type(values) is Metres and slopes.tolist() == (2 * Z * T).tolist()


def test_tensors_that_are_cut_off_in_place():
    def f(x):
        y = x * x
        part = y[1:]
        y.detach_()
        return y * 1, part * 1, x * y

    assert [s.tolist() for s in push(f)[1]] == [[0, 0, 0], (2 * Z * T)[1:].tolist(), (T * Z * Z).tolist()]
    assert slope(slope(lambda x: (x**3).detach_() * x, T), T)(Z).tolist() == [0, 0, 0]


def test_tangents_inside_of_jvp():
    ad = torch.autograd.forward_ad
    assert push(lambda x: ad.unpack_dual(x).tangent * 1)[0].tolist() == T.tolist()
    assert push(lambda x: ad.make_dual(x.detach(), 3 * T) * x.detach())[1].tolist() == (3 * T * Z).tolist()
    assert slope(lambda x: slope(lambda y: ad.unpack_dual(y * y).tangent * x, T)(Z), T)(Z).tolist() == [0, 0, 0]
    inner = lambda x: ad.unpack_dual(slope(lambda y: x * y * y, T)(Z)).tangent  # noqa: E731
    assert push(inner)[0].tolist() == (2 * T * Z * T).tolist()
    with ad.dual_level():
        x = ad.make_dual(Z, T)
        assert push(lambda y: ad.unpack_dual(x * y).tangent * 1)[0].tolist() == (Z * T).tolist()
        assert ad.unpack_dual(x).tangent.tolist() == T.tolist()
    assert ad.unpack_dual(Z) == (Z, None)


def test_linearize():
    values, multiplied = torch.func.linearize(lambda x, y: (x * y, x.sin()), Z, 2 * Z)
    assert [v.tolist() for v in values] == [(2 * Z * Z).tolist(), Z.sin().tolist()]
    for t in (T, 2 * T):
        made = multiplied(t, torch.zeros_like(Z))
        assert torch.equal(made[0], t * 2 * Z) and torch.equal(made[1], t * Z.cos())
    assert torch.allclose(vmap(torch.func.linearize(torch.sin, Z)[1])(torch.eye(3, dtype=Z.dtype)), torch.diag(Z.cos()))
    with pytest.raises(RuntimeError, match="primals and tangents to have the same python structure"):
        multiplied(T)


@pytest.mark.parametrize(
    "draw", [torch.bernoulli, torch.poisson, lambda p: torch.normal(p, p), lambda p: torch.normal(p, 1.0), lambda p: torch.normal(0.0, p)]
)
def test_drawn_numbers_have_tangents_of_zeros(draw):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        p = forward_ad.make_dual(torch.full((2, 3), 0.5), torch.ones(2, 3))
        primal, tangent = forward_ad.unpack_dual(draw(p))
        assert primal.shape == (2, 3) and torch.equal(tangent, torch.zeros(2, 3))
