"""Custom functions inside vmap, forward differentiation and func: the methods vmap, jvp and setup_context, and generate_vmap_rule."""

import pytest

import libtensor as torch
from libtensor.autograd import Function, forward_ad
from libtensor.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=torch.float64)
Y = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
W = Y[0]


def plain(x, y):
    return x.sin() * y


class Waves(Function):
    """sin(x) * y, whose vmap is generated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x.sin() * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * x.cos() * y, grad * x.sin()


class Pushed(Waves):
    """The same with its own jvp."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y, output = ctx.saved_tensors
        return grad * x.cos() * y, grad * output / y

    @staticmethod
    def jvp(ctx, s, t):
        x, y = ctx.saved_tensors
        return s * x.cos() * y + t * x.sin()


class Mapped(Waves):
    """The same with its own vmap."""

    generate_vmap_rule = False
    seen = []

    @staticmethod
    def vmap(info, in_dims, x, y):
        Mapped.seen.append((info.batch_size, info.randomness, in_dims, x.shape, y.shape))
        x, y = (t.unsqueeze(0) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims, strict=True))
        return Mapped.apply(x, y), 0


EACH = [Waves, Pushed, Mapped]
USES = {
    "vmap": lambda f: vmap(f)(X, Y),
    "vmap of one argument": lambda f: vmap(f, (0, None))(X, W),
    "vmap of the other": lambda f: vmap(f, (None, 0))(W, X),
    "vmap along 1": lambda f: vmap(f, (1, 1), 1)(X, Y),
    "vmap along 1 and 0": lambda f: vmap(f, (1, 0))(X, Y.T),
    "two vmaps": lambda f: vmap(vmap(f))(X, Y),
    "two vmaps of one argument each": lambda f: vmap(vmap(f, (None, 0)), (0, None))(W, X[0]),
    "grad": lambda f: grad(lambda x, y: f(x, y).sum(), (0, 1))(X, Y),
    "vmap of grad": lambda f: vmap(grad(lambda x, y: f(x, y).sum(), (0, 1)))(X, Y),
    "vmap of grad of one argument": lambda f: vmap(grad(lambda x, y: f(x, y).sum(), (0, 1)), (0, None))(X, W),
    "grad of vmap": lambda f: grad(lambda x, y: vmap(f, (0, None))(x, y).sum(), (0, 1))(X, W),
    "jacrev": lambda f: jacrev(f, (0, 1))(X, Y),
    "jacfwd": lambda f: jacfwd(f)(X, Y),
    "jvp": lambda f: jvp(f, (X, Y), (Y, X)),
    "jvp of one argument": lambda f: jvp(lambda x: f(x, Y), (X,), (Y,)),
    "vmap of jvp": lambda f: vmap(lambda x, y: jvp(f, (x, y), (y, x)))(X, Y),
    "jvp of vmap": lambda f: jvp(vmap(f, (0, None)), (X, W), (Y, W)),
    "hessian": lambda f: hessian(lambda x: f(x, W).sum())(X[0]),
    "jvp of jvp": lambda f: jvp(lambda x: jvp(lambda x: f(x, Y), (x,), (x,))[1], (X,), (Y,)),
    "jvp of grad": lambda f: jvp(grad(lambda x: f(x, Y).sum()), (X,), (Y,)),
    "grad of jvp": lambda f: grad(lambda x: jvp(lambda x: f(x, Y), (x,), (Y,))[1].sum())(X),
    "vmap of grad of grad": lambda f: vmap(grad(lambda x: grad(lambda x: f(x, W).sum())(x).sum()))(X),
}


def same(made, want):
    if isinstance(want, tuple):
        assert len(made) == len(want)
        for a, b in zip(made, want, strict=True):
            same(a, b)
        return
    torch.testing.assert_close(made, want)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("function", EACH)
def test_transforms_of_a_function_are_those_of_its_operators(function, use):
    same(use(function.apply), use(plain))


@pytest.mark.parametrize("function", EACH)
def test_gradients_through_vmap_of_a_function(function):
    found = []
    for f in (function.apply, plain):
        x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
        vmap(f, (0, None))(x, w).pow(2).sum().backward()
        found.append((x.grad, w.grad))
    same(*found)


def test_arguments_of_the_vmap_method():
    Mapped.seen.clear()
    vmap(Mapped.apply, (1, None), randomness="same")(X, torch.ones(2, dtype=torch.float64))
    assert Mapped.seen == [(3, "same", (0, None), (3, 2), (2,))]


class Told(Function):
    """A function whose methods return different values, which identify the called method."""

    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 + x * 0

    @staticmethod
    def vmap(info, in_dims, x):
        return Told.apply(x) * 5, in_dims[0]


def test_each_method_is_the_one_that_is_called():
    assert torch.equal(grad(lambda x: Told.apply(x).sum())(W), torch.full_like(W, 2))
    assert torch.equal(jvp(Told.apply, (W,), (W,))[1], 3 * W)
    assert torch.equal(vmap(Told.apply)(X), 5 * X)
    value, tangent = vmap(lambda x: jvp(Told.apply, (x,), (x,)))(X)
    assert torch.equal(value, 5 * X) and torch.equal(tangent, 3 * X)
    with forward_ad.dual_level():
        assert torch.equal(forward_ad.unpack_dual(Told.apply(forward_ad.make_dual(W, X[0]))).tangent, 3 * X[0])
    x = W.clone().requires_grad_()
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(Told.apply(forward_ad.make_dual(x, x * 7))).tangent
    assert torch.equal(torch.autograd.grad(tangent.sum(), x)[0], torch.full_like(W, 21))


class Several(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, power):
        return x**power, x > 0.25, x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, first, _, total):
        (x,) = ctx.saved_tensors
        made = torch.zeros_like(x)
        if first is not None:
            made = made + first * ctx.power * x ** (ctx.power - 1)
        return (made if total is None else made + total), None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return tangent * ctx.power * x ** (ctx.power - 1), None, tangent.sum()


def test_several_outputs_and_arguments_that_are_no_tensors():
    def whole(f):
        def loss(x):
            a, b, c = f(x, 3)
            return (a * b).sum() + c * c

        return loss

    def operators(x, power):
        return x**power, x > 0.25, x.sum()

    for use in (
        lambda f: vmap(lambda x: f(x, 3))(X),
        lambda f: vmap(grad(whole(f)))(X),
        lambda f: vmap(grad(lambda x: f(x, 3)[0].sum()))(X),
        lambda f: vmap(lambda x: jvp(lambda x: f(x, 3)[::2], (x,), (x,)))(X),
        lambda f: vmap(hessian(whole(f)))(X),
    ):
        same(use(Several.apply), use(operators))


class Scaled(Function):
    """Writes to its argument."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.mul_(2)


def test_functions_that_write_to_their_argument():
    x = X.clone()
    assert torch.equal(vmap(Scaled.apply)(x), 2 * X) and torch.equal(x, 2 * X)
    assert torch.equal(vmap(grad(lambda x: Scaled.apply(x * 1).sum()))(X), torch.full_like(X, 2))
    made = jvp(lambda x: Scaled.apply(x * 1), (X,), (Y,))
    assert torch.equal(made[0], 2 * X) and torch.equal(made[1], 2 * Y)


def test_random_numbers_in_a_generated_rule():
    class Noise(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x + torch.rand(3, dtype=torch.float64)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(Noise.apply)(X)
    drawn = {mode: vmap(Noise.apply, randomness=mode)(X) - X for mode in ("same", "different")}
    assert torch.allclose(drawn["same"][0], drawn["same"][1]) and not torch.allclose(drawn["different"][0], drawn["different"][1])


class WithCtx(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 7 + x * 0


class Unsupported(Waves):
    generate_vmap_rule = False


class Ambiguous(Mapped):
    generate_vmap_rule = True


class Single(Mapped):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return x


class Misshapen(Mapped):
    @staticmethod
    def vmap(info, in_dims, x, y):
        return x, (0, 0)


class Two(Pushed):
    @staticmethod
    def jvp(ctx, s, t):
        return s, t


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: vmap(WithCtx.apply)(X), "it must override the setup_context staticmethod, which WithCtx does not"),
        (lambda: jvp(lambda x: jvp(WithCtx.apply, (x,), (x,))[1], (X,), (X,)), "must override the setup_context staticmethod"),
        (lambda: vmap(Unsupported.apply)(X, Y), "You tried to vmap over Unsupported, but it does not have vmap support"),
        (lambda: vmap(Ambiguous.apply)(X, Y), "it has both generate_vmap_rule=True and an overridden vmap staticmethod"),
        (lambda: vmap(Single.apply)(X, Y), "Expected the vmap staticmethod to have two returns, an output and out_dims"),
        (lambda: vmap(Misshapen.apply)(X, Y), "returned an incompatible \\(output, out_dims\\) tuple"),
        (
            lambda: jvp(Two.apply, (X, Y), (X, Y)),
            "Function's jvp returned an invalid number of forward gradients \\(expected 1 but got 2\\)",
        ),
    ],
)
def test_methods_that_cannot_be_used(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_a_forward_that_takes_ctx_has_a_jvp_in_one_level():
    assert torch.equal(jvp(WithCtx.apply, (X,), (Y,))[1], 7 * Y)
    with forward_ad.dual_level():
        assert torch.equal(forward_ad.unpack_dual(WithCtx.apply(forward_ad.make_dual(X, Y))).tangent, 7 * Y)


def test_a_level_that_no_argument_is_of_is_left_out():
    assert torch.equal(vmap(lambda x, y: Unsupported.apply(y, y) * x, (0, None))(X, W), plain(W, W) * X)


def test_vmap_method_receives_structures_and_keyword_arguments():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(x, others, *, scale):
            return x * others[0] * others[1] * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, others, *, scale):
            seen.append(in_dims)
            return x * others[0] * others[1] * scale, 0

    x = torch.rand(3)
    assert torch.equal(vmap(lambda x: Product.apply(x, [x, x], scale=2.0))(x), x * x * x * 2.0)
    assert seen == [(0, [0, 0])]


class View(Function):
    """The identity, whose result is a view."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def scale_all(h, w):
    h.mul_(w)


def write_first(h, w):
    h[0] = w[0]


def scale_a_view(h, w):
    h[1:].mul_(w[1:])


@pytest.mark.parametrize("in_dims", [(0, 0), (1, 0), (0, None)])
@pytest.mark.parametrize("write", [scale_all, write_first, scale_a_view])
def test_a_view_of_what_was_written_to_before_has_a_grad_fn(write, in_dims):
    """The node of a result of a Function does not depend on the writes that its argument received before the call."""

    def run(x, w):
        h = x * 2
        write(h, w)
        y = View.apply(h)
        assert y.grad_fn is not None and y.requires_grad
        return y.sin()

    x, w = torch.rand(3, 3), torch.rand((3, 3) if in_dims[1] == 0 else (3,))
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    got = vmap(run, in_dims)(a, w)
    rows = [run(b.select(in_dims[0], i), w if in_dims[1] is None else w[i]) for i in range(3)]
    assert torch.allclose(got, torch.stack(rows))
    got.sum().backward()
    sum(row.sum() for row in rows).backward()
    assert torch.allclose(a.grad, b.grad)


def test_backward_hooks_of_modules_that_write_to_their_result_inside_vmap():
    class Scaled(torch.nn.Module):
        def forward(self, x, w):
            return (x * 2).mul_(w)

    x, w = torch.rand(2, 3, requires_grad=True), torch.rand(2, 3)
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        module = Scaled()
        getattr(module, register)(lambda *args: None)
        out = vmap(module)(x, w)
        assert torch.equal(out, x * 2 * w)
        assert torch.equal(torch.autograd.grad(out.sum(), x)[0], 2 * w)
