"""How much memory runs take, in buffers of the size of the leaf: what a step makes takes the place of what it used up."""

import pytest

import libtensor as torch

SIZES = (256, 1024)
BUFFER = 4 * 256 * 1024

# What is computed of a leaf, and how many buffers a run from it takes beside those that the graph holds: one stays, the gradient.
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
    "mean": (lambda x: x.mean(0), 1),
    "mean of squares": (lambda x: (x * x).mean(0), 2),
    "gather": (lambda x: x.gather(1, torch.zeros(256, 4, dtype=torch.int64)), 1),
    "max": (lambda x: x.max(1).values, 1),
    "views": (lambda x: x.t()[:512].reshape(-1) * 3, 1.6),
    "where": (lambda x: torch.where(x > 0, x, -x), 2),
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


def test_what_others_hold_is_not_written_over():
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


def test_what_no_derivative_needs_is_not_saved():
    x = torch.ones(SIZES, requires_grad=True)
    before = torch.memory_stats().in_use
    y = x.pow(2)
    total = y.sum()
    del y
    assert (torch.memory_stats().in_use - before) < BUFFER / 10  # the power itself is needed for the exponent's derivative alone
    total.backward()
    assert x.grad[0, 0].item() == 2
