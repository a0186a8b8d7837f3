"""Updates of all optimizers against formulas of one element in Python's numbers, on every path: separate operators, fused, complex, 16-bit,
by a tensor of the learning rate, and differentiable; matrices and closures."""

import math

import pytest

import libtensor as torch
from libtensor import nn

STEPS = 4
START = [0.5, -1.25, 2.0, -0.75]


def gradients(step):
    return [math.sin(3 * i + step) * (step + 1) for i in range(len(START))]


def sgd(x, lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False):
    velocity = None
    while True:
        g = yield x
        g += weight_decay * x
        if momentum:
            velocity = g if velocity is None else momentum * velocity + (1 - dampening) * g
            g = g + momentum * velocity if nesterov else velocity
        x -= lr * g


def adam(x, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, decoupled_weight_decay=False):
    m = v = most = 0.0
    t = 0
    while True:
        g = yield x
        t += 1
        if decoupled_weight_decay:
            x -= lr * weight_decay * x
        else:
            g += weight_decay * x
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        most = max(most, v)
        root = math.sqrt((most if amsgrad else v) / (1 - betas[1] ** t))
        x -= lr * m / (1 - betas[0] ** t) / (root + eps)


def adamw(x, weight_decay=0.01, **options):
    return adam(x, weight_decay=weight_decay, decoupled_weight_decay=True, **options)


def adagrad(x, lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
    total, t = initial_accumulator_value, 0
    while True:
        g = yield x
        g += weight_decay * x
        total += g * g
        x -= lr / (1 + t * lr_decay) * g / (math.sqrt(total) + eps)
        t += 1


def adadelta(x, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
    v = u = 0.0
    while True:
        g = yield x
        g += weight_decay * x
        v = rho * v + (1 - rho) * g * g
        delta = math.sqrt(u + eps) / math.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * delta * delta
        x -= lr * delta


def adamax(x, lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
    m = u = 0.0
    t = 0
    while True:
        g = yield x
        t += 1
        g += weight_decay * x
        m = betas[0] * m + (1 - betas[0]) * g
        u = max(betas[1] * u, abs(g) + eps)
        x -= lr / (1 - betas[0] ** t) * m / u


def asgd(x, lr=0.01, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0):
    t, eta = 0, lr
    while True:
        g = yield x
        t += 1
        g += weight_decay * x
        x -= eta * (g + lambd * x)
        eta = lr / (1 + lambd * lr * t) ** alpha


def nadam(x, lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=0.004, decoupled_weight_decay=False):
    m = v = 0.0
    product, t = 1.0, 0
    while True:
        g = yield x
        t += 1
        if decoupled_weight_decay:
            x -= lr * weight_decay * x
        else:
            g += weight_decay * x
        mu, ahead = (betas[0] * (1 - 0.5 * 0.96 ** (s * momentum_decay)) for s in (t, t + 1))
        product *= mu
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        root = math.sqrt(v / (1 - betas[1] ** t)) + eps
        x -= lr * ((1 - mu) / (1 - product) * g + ahead / (1 - product * ahead) * m) / root


def radam(x, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False):
    m = v = 0.0
    t, most = 0, 2 / (1 - betas[1]) - 1
    while True:
        g = yield x
        t += 1
        if decoupled_weight_decay:
            x -= lr * weight_decay * x
        else:
            g += weight_decay * x
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        rho = most - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
        step = m / (1 - betas[0] ** t)
        if rho > 5:
            step *= math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
            step *= math.sqrt(1 - betas[1] ** t) / (math.sqrt(v) + eps)
        x -= lr * step


def rmsprop(x, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
    v = mean = buffer = 0.0
    while True:
        g = yield x
        g += weight_decay * x
        v = alpha * v + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        buffer = momentum * buffer + g / (math.sqrt(v - mean * mean if centered else v) + eps)
        x -= lr * buffer


def rprop(x, lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    before, size = 0.0, lr
    while True:
        g = yield x
        if g * before > 0:
            size = min(size * etas[1], step_sizes[1])
        elif g * before < 0:
            size, g = max(size * etas[0], step_sizes[0]), 0.0
        x -= math.copysign(size, g) if g else 0.0
        before = g


CASES = [
    ("SGD", sgd, {"lr": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", adam, {"lr": 0.1}),
    ("Adam", adam, {"lr": 0.1, "betas": (0.5, 0.75), "eps": 0.1, "weight_decay": 0.1}),
    ("Adam", adam, {"lr": 0.1, "amsgrad": True, "betas": (0.5, 0.25)}),
    ("Adam", adam, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    ("AdamW", adamw, {"lr": 0.1}),
    ("AdamW", adamw, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True, "betas": (0.5, 0.25)}),
    ("Adagrad", adagrad, {"lr": 0.1}),
    ("Adagrad", adagrad, {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", adadelta, {"lr": 0.5}),
    ("Adadelta", adadelta, {"lr": 0.5, "rho": 0.5, "eps": 0.01, "weight_decay": 0.1}),
    ("Adamax", adamax, {"lr": 0.1}),
    ("Adamax", adamax, {"lr": 0.1, "betas": (0.5, 0.25), "weight_decay": 0.1}),
    ("ASGD", asgd, {"lr": 0.1}),
    ("ASGD", asgd, {"lr": 0.1, "lambd": 0.5, "alpha": 0.5, "weight_decay": 0.1}),
    ("NAdam", nadam, {"lr": 0.1}),
    ("NAdam", nadam, {"lr": 0.1, "momentum_decay": 0.5, "weight_decay": 0.1}),
    ("NAdam", nadam, {"lr": 0.1, "weight_decay": 0.5, "decoupled_weight_decay": True}),
    ("RAdam", radam, {"lr": 0.1, "betas": (0.9, 0.999)}),
    ("RAdam", radam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1}),
    ("RAdam", radam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.5, "decoupled_weight_decay": True}),
    ("RMSprop", rmsprop, {"lr": 0.1}),
    ("RMSprop", rmsprop, {"lr": 0.1, "alpha": 0.5, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", rmsprop, {"lr": 0.1, "alpha": 0.5, "centered": True, "eps": 0.1}),
    ("Rprop", rprop, {"lr": 0.1}),
    ("Rprop", rprop, {"lr": 0.1, "etas": (0.25, 2.0), "step_sizes": (0.05, 0.15)}),
]
IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(CASES)]
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")


def expected(formula, options, sign=1):
    elements = [formula(x, **options) for x in START]
    values = [next(element) for element in elements]
    for step in range(STEPS):
        values = [element.send(sign * g) for element, g in zip(elements, gradients(step), strict=True)]
    return values


def trained(name, options, dtype=torch.float64, make=lambda values, dtype: nn.Parameter(torch.tensor(values, dtype=dtype)), **more):
    """The parameters after all steps: all elements in two tensors, of which one is a scalar."""
    params = [make(START[:3], dtype), make(START[3], dtype)]
    optimizer = getattr(torch.optim, name)(params, **options, **more)
    for step in range(STEPS):
        g = gradients(step)
        for param, values in zip(params, (g[:3], g[3]), strict=True):
            param.grad = torch.tensor(values, dtype=dtype)
        optimizer.step()
    return torch.cat([param.reshape(-1) for param in params])


def assert_near(got, want, tolerance=1e-12):
    assert torch.allclose(got.detach().double(), torch.tensor(want, dtype=torch.float64), rtol=tolerance, atol=tolerance), (
        got.tolist(),
        want,
    )


def tolerance(name):
    """Steps in float64 lose digits only where a factor is kept in the state in float32."""
    return 1e-7 if name in ("ASGD", "NAdam") else 1e-12


@pytest.mark.parametrize(("name", "formula", "options"), CASES, ids=IDS)
def test_steps_follow_the_formula(name, formula, options):
    want, digits = expected(formula, options), tolerance(name)
    assert_near(trained(name, options), want, digits)
    assert_near(trained(name, options, foreach=True), want, digits)
    assert_near(trained(name, options, foreach=False), want, digits)
    assert_near(trained(name, options, dtype=torch.float32), want, 2e-5)
    assert_near(trained(name, options, maximize=True), expected(formula, options, -1), digits)
    if name in FUSED:
        assert_near(trained(name, options, fused=True), want)
        assert_near(trained(name, options, fused=True, maximize=True), expected(formula, options, -1))


# Rprop reads its learning rate once, as the first step size.
@pytest.mark.parametrize(("name", "formula", "options"), CASES[:-2], ids=IDS[:-2])
def test_a_learning_rate_in_a_tensor_counts_as_its_number(name, formula, options):
    lr = torch.tensor(options["lr"], dtype=torch.float64)
    assert_near(trained(name, options | {"lr": lr}), expected(formula, options), tolerance(name))


@pytest.mark.parametrize(("name", "formula", "options"), CASES, ids=IDS)
def test_complex_parameters_are_pairs_of_numbers(name, formula, options):
    want = torch.tensor(expected(formula, options), dtype=torch.float64)
    got = trained(name, options, dtype=torch.complex128)
    assert torch.allclose(got.real, want, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("name", "formula", "options"), CASES, ids=IDS)
def test_differentiable_steps_have_gradients(name, formula, options):
    leaves = []

    def make(values, dtype):
        leaves.append(torch.tensor(values, dtype=dtype, requires_grad=True))
        return leaves[-1].clone()

    got = trained(name, options, make=make, differentiable=True)
    assert_near(got, expected(formula, options), 1e-5)  # counts of steps are float32
    got.sum().backward()
    assert all(leaf.grad.isfinite().all() for leaf in leaves)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUSED)
def test_fused_updates_compute_16_bit_dtypes_in_float32(name, dtype):
    values = [0.5, -1.25, 2.0]
    half = nn.Parameter(torch.tensor(values, dtype=dtype))
    whole = nn.Parameter(torch.tensor(values))
    for param in (half, whole):
        param.grad = torch.tensor([0.25, -0.5, 1.0], dtype=param.dtype)
        getattr(torch.optim, name)([param], lr=0.125, weight_decay=0.25, fused=True).step()
    assert torch.equal(half, whole.to(dtype))


def test_averages_begin_at_t0():
    param = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer, seen = torch.optim.ASGD([param], lr=0.1, lambd=0.0, t0=1), []
    for _ in range(4):
        param.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
        seen.append(param.item())
    assert optimizer.state[param]["ax"].item() == pytest.approx(sum(seen[2:]) / 2)


def test_muon_steps_are_orthogonal():
    torch.manual_seed(0)
    start = torch.randn(6, 4)
    param = nn.Parameter(start.clone())
    param.grad = torch.randn(6, 4)
    torch.optim.Muon([param], lr=1.0, weight_decay=0.0).step()
    lengths = torch.linalg.svdvals((start - param.detach()) / math.sqrt(6 / 4))
    assert ((lengths > 0.5) & (lengths < 1.5)).all()
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        torch.optim.Muon([nn.Parameter(torch.ones(3))])


def test_adafactor_steps_are_relative_to_the_parameters():
    param = nn.Parameter(torch.full((2, 3), 4.0))
    param.grad = torch.ones(2, 3)
    optimizer = torch.optim.Adafactor([param], lr=0.5)
    optimizer.step()
    assert torch.allclose(param, torch.full((2, 3), 2.0))
    assert {name: tuple(value.shape) for name, value in optimizer.state[param].items()} == {
        "step": (),
        "row_var": (2, 1),
        "col_var": (1, 3),
    }


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum(search):
    param = nn.Parameter(torch.tensor([-1.5, 2.0], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([param], lr=1 if search else 0.1, max_iter=200, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = (1 - param[0]) ** 2 + 10 * (param[1] - param[0] ** 2) ** 2
        loss.backward()
        return loss

    first = optimizer.step(closure)
    for _ in range(5):
        optimizer.step(closure)
    assert first.item() == pytest.approx(6.875) and torch.allclose(param, torch.ones(2, dtype=torch.float64), atol=1e-3)


def test_swapped_in_tensors_are_updated_instead():
    param, other = nn.Parameter(torch.ones(1)), torch.full((1,), 5.0)
    param.grad = torch.ones(1)
    optimizer = torch.optim.Adam([param], lr=0.5)
    optimizer.step()
    state = optimizer.state_dict()
    other.grad = torch.ones(1)
    before = param.item()
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
        optimizer.step()
    assert other.item() == pytest.approx(4.5) and param.item() == before and optimizer.param_groups[0]["params"][0] is param
