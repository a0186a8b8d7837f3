"""Activations of neural networks."""

import pytest

import libtensor as torch

F = torch.nn.functional
inf, nan = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("name", "arguments", "values"),
    [
        ("relu6", (), [0, 0, 2, 6]),
        ("hardtanh", (), [-1, 0, 1, 1]),
        ("hardtanh", (-2.5, 4), [-2.5, 0, 2, 4]),
        ("leaky_relu", (0.5,), [-2, 0, 2, 8]),
        ("hardsigmoid", (), [0, 0.5, 5 / 6, 1]),
        ("hardswish", (), [0, 0, 5 / 3, 8]),
        ("hardshrink", (2,), [-4, 0, 0, 8]),
        ("softshrink", (2,), [-2, 0, 0, 6]),
        ("threshold", (1, -5), [-5, -5, 2, 8]),
        ("softsign", (), [-0.8, 0, 2 / 3, 8 / 9]),
        ("elu", (2.0,), [-1.9633687222225316, 0, 2, 8]),
        ("celu", (2.0,), [-1.7293294335267746, 0, 2, 8]),
        ("selu", (), [-1.7258986281899665, 0, 2.101401974711096, 8.405607898843844]),
        ("tanhshrink", (), [-3.0006707002604327, 0, 1.0359724199241832, 7.000000225070341]),
        ("softplus", (), [0.018149927917809740, 0.6931471805599453, 2.1269280110429727, 8.000335406372896]),
        ("softplus", (0.5, 3), [0.253856022085945, 1.3862943611198906, 2.6265233750364456, 8]),
        ("logsigmoid", (), [-4.0181499279178094, -0.6931471805599453, -0.12692801104297249, -0.000335406372896]),
        ("silu", (), [-0.07194483984836625, 0, 1.7615941559557649, 7.997317198956269]),
        ("mish", (), [-0.07259174079202536, 0, 1.9439589595339946, 7.999998200644842]),
        ("gelu", (), [-0.00012668496733247991, 0, 1.9544997361036416, 7.999999999999995]),
    ],
    ids=str,
)
def test_values(name, arguments, values):
    x = torch.tensor([-4, 0, 2, 8], dtype=torch.float64)
    assert getattr(F, name)(x, *arguments).tolist() == pytest.approx(values, rel=1e-12, abs=1e-15)
    y = getattr(F, name)(x.to(torch.bfloat16), *arguments)
    assert y.dtype == torch.bfloat16
    assert y.tolist() == pytest.approx(values, rel=0.01, abs=0.01)
    assert getattr(F, name)(x.to("meta"), *arguments).shape == (4,)


def test_gelu_has_two_forms():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64)
    assert F.gelu(x, approximate="tanh").tolist() == pytest.approx([-0.15880800939172324, 1.954597694087775], rel=1e-14)
    with pytest.raises(RuntimeError, match="approximate"):
        F.gelu(x, approximate="erf")


@pytest.mark.parametrize(
    "name", ["gelu", "silu", "mish", "softplus", "tanhshrink", "elu", "celu", "selu", "logsigmoid", "hardswish", "softsign"]
)
def test_derivatives_are_those_of_differences(name):
    x = torch.tensor([-3.5, -1.2, -0.1, 0.3, 1.7, 4.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(F, name), (x,))
    assert torch.autograd.gradgradcheck(getattr(F, name), (x,))


@pytest.mark.parametrize(
    ("name", "arguments", "slopes"),
    [
        ("leaky_relu", (0.5,), [0.5, 0.5, 0.5, 1, 1]),
        ("relu6", (), [0, 0, 0, 1, 0]),
        ("hardtanh", (-3, 3), [0, 1, 1, 0, 0]),
        ("hardsigmoid", (), [0, 1 / 6, 1 / 6, 0, 0]),
        ("hardswish", (), [0, 1 / 6, 0.5, 1, 1]),
        ("hardshrink", (3,), [0, 0, 0, 0, 1]),
        ("softshrink", (3,), [0, 0, 0, 0, 1]),
        ("threshold", (3, 7), [0, 0, 0, 0, 1]),
        ("elu", (2.0,), [2 * 0.049787068367863944, 2 * 0.36787944117144233, 2, 1, 1]),
    ],
    ids=str,
)
def test_derivatives_at_the_joints(name, arguments, slopes):
    x = torch.tensor([-3.0, -1.0, 0.0, 3.0, 6.0], dtype=torch.float64)
    x.requires_grad_()
    getattr(F, name)(x, *arguments).sum().backward()
    assert x.grad.tolist() == pytest.approx(slopes, rel=1e-12)


def test_integers():
    x = torch.tensor([-4, 0, 5, 9])
    assert F.relu6(x).tolist() == [0, 0, 5, 6]
    assert F.hardtanh(x, -1.9, 5.9).tolist() == [-1, 0, 5, 5]
    assert F.threshold(x, 0, -1).tolist() == [-1, -1, 5, 9]
    assert F.hardtanh(torch.tensor([0, 200], dtype=torch.uint8), -3, 100).tolist() == [0, 100]
    assert F.softsign(torch.tensor([1, -3])).tolist() == [0.5, -0.75]
    with pytest.raises(NotImplementedError, match="int64"):
        F.elu(x)
    with pytest.raises(RuntimeError, match="300"):
        F.threshold(torch.tensor([1], dtype=torch.uint8), 300, 0)


def test_complex_numbers():
    z = torch.tensor([3 + 4j], dtype=torch.complex128)
    assert F.softsign(z).item() == pytest.approx((3 + 4j) / 6)
    assert F.silu(z).item() == pytest.approx(z.sigmoid().item() * (3 + 4j))
    assert F.tanhshrink(z).item() == pytest.approx(3 + 4j - z.tanh().item())
    with pytest.raises(RuntimeError, match="complex128"):
        F.gelu(z)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_softplus_of_a_beta_of_zero(dtype):
    x = torch.tensor([-1.0, 0.0, 3.0], dtype=dtype, requires_grad=True)
    assert F.softplus(x, 0).tolist() == [inf] * 3
    assert F.softplus(x, -0.0).tolist() == [-inf] * 3
    assert F.softplus(x, 0, -1).tolist() == x.tolist()
    assert F.softplus(x * inf, 0).isnan().all()
    assert torch.autograd.grad(F.softplus(x, 0).sum(), x)[0].tolist() == [0.5] * 3


def test_far_out():
    x = torch.tensor([-inf, -1000.0, 1000.0, inf], dtype=torch.float64)
    assert F.softplus(x).tolist() == [0, 0, 1000, inf]
    assert F.logsigmoid(x).tolist() == [-inf, -1000, 0, 0]
    for y in (F.silu(x), F.mish(x), F.gelu(x), F.gelu(x, approximate="tanh")):
        assert y[1:].tolist() == [0, 1000, inf]
        assert y[0].isnan()
    assert F.silu(torch.tensor([-740.0], dtype=torch.float64)).item() == pytest.approx(-740 * 4.2e-322, rel=0.02)
    assert F.tanhshrink(torch.tensor([1e-6], dtype=torch.float64)).item() == pytest.approx(1e-18 / 3, rel=1e-11)


# Up to a bound all elements of a vector use one method; the others use another.
@pytest.mark.parametrize(("name", "bound"), [("gelu", 3.0), ("silu", 80.0)])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("far", [[], [1.0000001], [1.05, inf], [nan]])
def test_float32_on_both_sides_of_a_bound(name, bound, sign, far):
    x = torch.tensor([sign * bound * v for v in [i / 40 for i in range(41)] + far], dtype=torch.float32)
    want = getattr(F, name)(x.double())
    assert torch.allclose(getattr(F, name)(x).double(), want, rtol=2.5e-7, atol=0, equal_nan=True)


def test_prelu():
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]], requires_grad=True)
    w = torch.tensor([0.5, 0.25], requires_grad=True)
    y = F.prelu(x, w)
    assert y.tolist() == [[-0.5, 2], [3, -1]]
    y.sum().backward()
    assert w.grad.tolist() == [-1, -4]
    assert x.grad.tolist() == [[0.5, 1], [1, 0.25]]
    assert torch.prelu(torch.tensor(-2.0), torch.tensor([0.5])).item() == -1
    for weight in (torch.ones(3), torch.ones(1, 2), torch.ones(1, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="weight"):
            F.prelu(x, weight)


def test_rrelu_draws_for_elements_up_to_zero():
    torch.manual_seed(0)
    x = torch.tensor([-1.0, 2.0, -3.0, 0.0])
    assert torch.equal(F.rrelu(x, training=True), torch.tensor([-0.3270943760871887, 2, -0.8173874616622925, 0]))
    assert torch.rand(1).item() == pytest.approx(0.4900934, abs=1e-6)
    assert F.rrelu(x, 0.25, 0.75).tolist() == [-0.5, 2, -1.5, 0]
    assert F.rrelu(x.to("meta"), training=True).shape == (4,)
    with pytest.raises(RuntimeError, match="lower"):
        F.rrelu(x, 0.5, 0.1)


def test_glu_and_softmin():
    x = torch.tensor([[1.0, 2.0, 0.0, inf]])
    assert F.glu(x).tolist() == [[0.5, 2]]
    for wrong in (torch.ones(3), torch.tensor(1.0)):
        with pytest.raises(RuntimeError, match="glu"):
            F.glu(wrong)
    assert torch.equal(F.softmin(x, dim=1), (-x).softmax(1))
    assert F.softmin(torch.tensor([1, 1]), 0, dtype=torch.float64).tolist() == [0.5, 0.5]
    with pytest.warns(UserWarning, match="dim"):
        assert F.softmax(torch.zeros(2)).tolist() == [0.5, 0.5]


def test_the_flag_inplace():
    x = torch.tensor([-1.0, 2.0])
    assert F.relu(x, True) is x
    assert x.tolist() == [0, 2]
    assert F.elu(x, 1.0, False) is not x
    assert F.leaky_relu(input=-x, inplace=False, negative_slope=0.5).tolist() == [0, -1]
    assert F.threshold(x, inplace=True, threshold=1, value=7) is x
    assert x.tolist() == [7, 2]
    assert torch.celu_(x) is x
    assert F.hardtanh_(x) is x
    assert x.tolist() == [1, 1]
    for call in (
        lambda: F.relu(x, True, inplace=True),
        lambda: F.elu(x, 1.0, True, 3),
        lambda: F.relu(inplace=True),
        lambda: torch.celu(x, inplace=True),
    ):
        with pytest.raises(TypeError):
            call()


def test_in_place_keeps_the_gradient():
    for name in ("elu", "leaky_relu", "silu", "mish", "hardswish", "hardtanh", "relu6", "celu", "selu"):
        x = torch.tensor([-0.5, 2.0], dtype=torch.float64, requires_grad=True)
        (y,) = torch.autograd.grad(getattr(F, name)(x * 1, inplace=True).sum(), x)
        (z,) = torch.autograd.grad(getattr(F, name)(x).sum(), x)
        assert torch.equal(y, z)


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "celu"])
def test_in_place_rejects_the_gradient_of_negative_slopes(name):
    x = torch.tensor([-0.5, 2.0], requires_grad=True)
    y = getattr(F, name)(x * 1, -0.5, inplace=True)
    with pytest.raises(RuntimeError, match="negative slope, -0.5"):
        y.sum().backward()
    assert x.grad is None
    getattr(F, name)(x, -0.5).sum().backward()
    assert x.grad[1] == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("limit", [0.1, 1 / 3, 0.7, 1.1])
def test_limits_of_narrow_dtypes(dtype, limit):
    """Shrinks round their limit to an element; threshold and hardtanh compare with the limit in float32, also in the gradient."""
    x = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(dtype)
    x = x[x.isfinite()]
    at = torch.tensor(limit, dtype=dtype)
    inside = (x.float().abs() <= at.float()).tolist()
    for shrink in (F.hardshrink, F.softshrink):
        leaf = x.clone().requires_grad_()
        made = shrink(leaf, limit)
        assert (made == 0).tolist() == inside
        made.sum().backward()
        assert (leaf.grad == 0).tolist() == inside
    for clip in (lambda t: F.threshold(t, limit, 0), lambda t: F.hardtanh(t, -limit, limit)):
        leaf, wide = x.clone().requires_grad_(), x.float().requires_grad_()
        clip(leaf).sum().backward()
        clip(wide).sum().backward()
        assert torch.equal(leaf.grad.float(), wide.grad)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_glu_rounds_once(dtype):
    x = torch.randn(5000, 2, generator=torch.Generator().manual_seed(1)).to(dtype)
    a, b = x.float().unbind(1)
    assert torch.equal(F.glu(x)[:, 0], (a * b.sigmoid()).to(dtype))
