"""How much memory runs take, in buffers of the size of the leaf: what a step makes takes the place of what it used up."""

import contextlib
import math
import threading

import pytest

import libtensor as torch

SIZES = (256, 1024)
BUFFER = 4 * 256 * 1024

# Computations on a leaf, and the number of buffers that a backward pass takes in addition to those of the graph: one is kept, the gradient.
PROGRAMS = {
    "a chain": (lambda x: x.exp().mul(2).neg().sin().tanh(), 1),
    "a number's power": (lambda x: x.pow(3), 1),
    "softmax": (lambda x: torch.softmax(x, 1).pow(2), 2),
    "log_softmax": (lambda x: torch.log_softmax(x, 1), 1),
    "relu": (lambda x: torch.relu(x), 1.3),
    "relu of what was computed": (lambda x: torch.relu(x.exp()) * 2, 1.3),
    "clamp": (lambda x: x.clamp(0, 2), 1.8),
    "cumsum": (lambda x: x.cumsum(1), 2),
    "cumsum in place": (lambda x: (x * 2).cumsum(1) * 3, 2),
    "std": (lambda x: x.std(0), 1),
    "norm": (lambda x: x.norm(), 1),
    "logsumexp": (lambda x: x.logsumexp(1), 1),
    "prod": (lambda x: x.prod(1), 1),
    "prod with zeros": (lambda x: (x - 1.5).prod(1), 3),
    "mean": (lambda x: x.mean(0), 1),
    "mean of squares": (lambda x: (x * x).mean(0), 2),
    "gather": (lambda x: x.gather(1, torch.zeros(256, 4, dtype=torch.int64)), 1),
    "max": (lambda x: x.max(1).values, 1),
    "views": (lambda x: x.t()[:512].reshape(-1) * 3, 1.6),
    "where": (lambda x: torch.where(x > 0, x, -x), 2),
    "index_select": (lambda x: x.index_select(0, torch.arange(256)) * 2, 2),
    "cummax": (lambda x: x.cummax(1).values * 2, 2),
    "roll": (lambda x: x.roll(3, 1) * 2, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_takes_little_memory(name):
    program, most = PROGRAMS[name]
    x = torch.full(SIZES, 1.5, requires_grad=True)
    made = program(x)
    total = made.sum()
    del made
    torch.empty_cache()  # buffers that were larger are reused, and count whole
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    total.backward()
    assert (torch.memory_stats().peak - before) / BUFFER <= most + 0.1


def test_tensors_that_others_hold_are_not_overwritten():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    begin = torch.tensor([1.0, 1.0])
    y = x * 3
    y.retain_grad()
    z = y * y
    (of_z, of_y) = torch.autograd.grad((z * 2).sum(), (z, y), retain_graph=True)
    (z * 2).backward(begin)
    assert begin.tolist() == [1, 1]
    assert of_z.tolist() == [2, 2] and of_y.tolist() == [12, 24]
    assert y.grad.tolist() == [24, 48] and x.grad.tolist() == [36, 72]
    x.grad = None
    seen = []
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.exp().neg().mul(0.5).sum().backward()
    ((inputs, outputs),) = seen
    assert torch.allclose(outputs[0], -0.5 * (3 * x.detach()).exp())
    assert torch.allclose(inputs[0], 3 * outputs[0]) and torch.equal(inputs[0], x.grad)


def test_operands_that_no_derivative_needs_are_not_saved():
    x = torch.ones(SIZES, requires_grad=True)
    before = torch.memory_stats().in_use
    y = x.pow(2)
    total = y.sum()
    del y
    assert (torch.memory_stats().in_use - before) < BUFFER / 10  # the power itself is needed for the exponent's derivative alone
    total.backward()
    assert x.grad[0, 0].item() == 2


# Computations on each row separately.
BY_ROWS = {
    "atan2": torch.atan2,
    "clamp": lambda x, y: torch.clamp(x, max=y),
    "logit": lambda x, y: torch.logit(x) * y,
    "maximum": torch.maximum,
    "pow": torch.pow,
    "relu": lambda x, y: torch.relu(x - y),
    "where": lambda x, y: torch.where(x > 0.5, x.tanh(), y),
    "in place": lambda x, y: (x * 2).mul_(y).sigmoid_(),
    "complex": lambda x, y: torch.polar(x, y) * x,
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y),
    "norm 1/2": lambda x, y: torch.linalg.vector_norm(x - y, 0.5, 1, True) * x,
    "norm 3": lambda x, y: torch.linalg.vector_norm(x - y, 3, 1, True) * x,
    "norm of infinity": lambda x, y: torch.linalg.vector_norm(x - y, math.inf, 1, True) * x,
    "amax": lambda x, y: x.amax(1, True) * y,
    "logcumsumexp": lambda x, y: (x - y).logcumsumexp(1),
    "prod": lambda x, y: x.scatter_reduce(1, places(x), y, "prod"),
    "mean": lambda x, y: x.scatter_reduce(1, places(x)[:, 3:], y, "mean"),
    "smallest": lambda x, y: x.scatter_reduce(1, places(x)[:, :700], y, "amin", include_self=False),
    "reduced": lambda x, y: x.index_reduce(1, places(x)[0], y, "amax"),
    "taken": lambda x, y: x.take_along_dim(places(x), 1) + x.index_select(1, places(x)[0]) * y,
    "cummax": lambda x, y: x.cummax(1).values * y,
    "rolled": lambda x, y: x.roll(3, 1) * y,
}


def places(x):
    return (torch.arange(x.numel()).reshape(x.shape) % 1100 * 7) % 997


def gradients(function, x, y, g):
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    made = function(x, y)
    return torch.autograd.grad(made, (x, y), g.to(made.dtype))


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ROWS)
@pytest.mark.parametrize("lie", [lambda t: t, lambda t: t.t().contiguous().t(), lambda t: t.double()], ids=["rows", "columns", "double"])
def test_large_gradients_are_those_of_parts(name, lie):
    function, n = BY_ROWS[name], 1100
    torch.manual_seed(5)
    x, y, g = (lie(torch.rand(n, n) * 0.8 + 0.1) for _ in range(3))
    for given in (g, torch.ones(()).expand(n, n)):
        whole = gradients(function, x, y, given)
        parts = zip(*(gradients(function, x[i : i + 275], y[i : i + 275], given[i : i + 275]) for i in range(0, n, 275)), strict=True)
        for one, several in zip(whole, parts, strict=True):
            several = torch.cat(several)
            assert torch.equal(one, several) if x.is_contiguous() else (one - several).abs().max() <= 1e-5 * several.abs().max()
    if name in ("atan2", "maximum", "pow", "addcdiv"):
        assert all(one.stride() == x.stride() for one in whole)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
@pytest.mark.parametrize("shape", [(1, 1100), (1100, 1), (1100,), (1, 1), ()])
def test_large_gradients_of_expanded_tensors_are_sums(dtype, shape):
    torch.manual_seed(5)
    x, y = torch.rand(1100, 1100).to(dtype), torch.rand(shape).to(dtype) + 1
    g = torch.rand(1100, 1100).to(dtype) / 64
    for function in (torch.mul, torch.div, lambda a, b: b * torch.sin(a * b)):
        whole = gradients(function, x, y, g)
        exact = gradients(function, *(t.to(torch.complex128 if dtype.is_complex else torch.float64) for t in (x, y, g)))
        for one, right in zip(whole, exact, strict=True):
            assert one.dtype == dtype and torch.allclose(
                one.to(right.dtype), right, *((2e-2, 1e-3) if dtype == torch.float16 else (2e-5, 1e-7))
            )


def test_large_formulas_take_no_more_than_their_gradients():
    x, y, n = torch.rand(2048, 2048), torch.rand(2048, 2048), 2048 * 2048 * 4
    for function in (torch.atan2, torch.maximum, torch.pow):
        a, b = x.detach().requires_grad_(), y.detach().requires_grad_()
        made = function(a, b)
        torch.empty_cache()  # as above
        torch.reset_peak_memory_stats()
        before = torch.memory_stats().in_use
        torch.autograd.grad(made, (a, b), torch.ones_like(made))
        assert torch.memory_stats().peak - before < 3.3 * n  # with the gradient to begin with
    column, row = x[:, :1].detach().requires_grad_(), y[:1].detach().requires_grad_()
    made = column * row
    g = torch.ones_like(made)
    torch.empty_cache()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    torch.autograd.grad(made, (column, row), g)
    assert torch.memory_stats().peak - before < 0.3 * n


def test_saved_tensors_may_be_moved_by_another_thread():
    for _ in range(30):
        x = torch.rand(1 << 18, requires_grad=True)
        w = torch.rand(1 << 18)
        right, y, began = w.clone(), (x * w).sum(), threading.Event()

        def share(w=w, began=began):
            began.set()
            while not w.is_shared():
                with contextlib.suppress(RuntimeError):  # in use by a call on another thread
                    w.share_memory_()

        thread = threading.Thread(target=share)
        thread.start()
        began.wait()
        while thread.is_alive():
            try:
                (grad,) = torch.autograd.grad(y, x, retain_graph=True)
            except RuntimeError as error:
                assert "being resized by another thread" in str(error)
            else:
                assert torch.equal(grad, right)
        thread.join()
        assert torch.equal(torch.autograd.grad(y, x)[0], right)


def test_saved_tensors_are_not_read_beyond_their_storage():
    x, w = torch.ones(100, requires_grad=True), torch.ones(100)
    y = (x * w).sum()
    w.untyped_storage().resize_(8)
    with pytest.raises(
        RuntimeError, match=r"MulBackward0: a tensor of sizes \[100\] .* needs a storage of 400 bytes, but its storage was resized to 8"
    ):
        y.backward()
    x.sum().backward()
    x.grad.untyped_storage().resize_(8)
    with pytest.raises(RuntimeError, match="needs a storage of 400 bytes, but its storage was resized to 8"):
        x.sum().backward()
