"""Random programs of views, in-place writes, custom functions and saved-tensor hooks: their first and second derivatives agree with finite
differences, or the program raises.
"""

import random

import pytest

import libtensor as torch
from libtensor.autograd import Function
from libtensor.autograd.graph import saved_tensors_hooks


class SavesInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()


class SavesResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y * y)


class SavesConstant(Function):
    """Saves a result without gradient, which is 1 everywhere."""

    @staticmethod
    def forward(ctx, x):
        ones = torch.ones_like(x)
        ctx.mark_non_differentiable(ones)
        ctx.save_for_backward(x, ones)
        return x * x, ones

    @staticmethod
    def backward(ctx, grad, _):
        x, ones = ctx.saved_tensors
        return grad * 2 * x * ones


class Alias(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Itself(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Both(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x.view_as(x)

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second


class Writes(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.add_(y)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class Setup(Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


def keeps(hook):
    pack, unpack = hook

    def hooked(call):
        def under_hooks(x, y):
            with saved_tensors_hooks(pack, unpack):
                return call(x, y)

        return under_hooks

    return hooked


CALLS = [
    lambda x, y: x.sin(),
    lambda x, y: x * y,
    lambda x, y: x + y,
    lambda x, y: x * x,
    lambda x, y: x.clone(),
    lambda x, y: x[0],
    lambda x, y: x.t(),
    lambda x, y: x.view(-1),
    lambda x, y: x[:, 1:],
    lambda x, y: x.narrow(0, 0, 1),
    lambda x, y: x.unbind(0)[1],
    lambda x, y: x.split(1, 0)[0],
    lambda x, y: x.unsqueeze(0),
    lambda x, y: x.diagonal(),
    lambda x, y: x.unfold(0, 2, 1)[0],
    lambda x, y: x.mul_(2),
    lambda x, y: x.sin_(),
    lambda x, y: x.add_(y),
    lambda x, y: x.mul_(y),
    lambda x, y: x.copy_(y),
    lambda x, y: x.zero_(),
    lambda x, y: x.__setitem__(0, y[0]),
    lambda x, y: x[..., 0].fill_(0.3),
    lambda x, y: x.t_(),
    lambda x, y: x.index_add_(0, torch.tensor([0]), y[:1]),
    *(lambda x, y, f=f: f.apply(x) for f in (SavesInput, SavesResult, Alias, Itself, Both)),
    lambda x, y: SavesConstant.apply(x)[0],
    *(lambda x, y, f=f: f.apply(x, y) for f in (Writes, Setup)),
]
HOOKS = [
    lambda call: call,
    lambda call: call,
    keeps((lambda t: t.clone(), lambda t: t)),
    keeps((lambda t: t.detach().clone(), lambda t: t)),
    keeps((lambda t: [t.detach().clone()], lambda kept: kept[0])),
]


class Program:
    """Steps of which each takes two of the tensors that there are."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.steps = [
            (self.rng.choice(HOOKS)(self.rng.choice(CALLS)), self.rng.random(), self.rng.random()) for _ in range(self.rng.randint(2, 8))
        ]
        self.used = [self.rng.random() for _ in range(3)]
        self.start = self.tensor().mul_(0.8).add_(0.1)

    def tensor(self):
        return torch.tensor([[self.rng.random() for _ in range(3)] for _ in range(2)], dtype=torch.float64)

    def loss(self, leaf):
        tensors = [leaf, leaf * 1, torch.full((2, 3), 0.6, dtype=torch.float64)]
        for call, first, second in self.steps:
            versions = [t._version for t in tensors]
            try:
                made = call(tensors[int(first * len(tensors))], tensors[int(second * len(tensors))])
            except (RuntimeError, IndexError):
                if versions == [t._version for t in tensors]:
                    continue  # the step is left out, every time
                raise  # a function has written to a tensor that it must not change
            tensors += [t for t in (made if isinstance(made, tuple) else (made,)) if isinstance(t, torch.Tensor)]
        return sum((t * t).sum() * (i + 1) for i, t in enumerate(tensors[int(u * len(tensors))] for u in self.used))

    def gradient(self, value):
        leaf = value.clone().requires_grad_()
        loss = self.loss(leaf)
        return leaf, torch.autograd.grad(loss, leaf, create_graph=True, allow_unused=True)[0] if loss.requires_grad else None


def along(function, value, direction, step=1e-5):
    return (function(value + step * direction) - function(value - step * direction)) / (2 * step)


def compared(seed):
    """Compares the derivatives of a program with differences, and returns whether it has any."""
    program = Program(seed)
    u, v = program.tensor(), program.tensor()
    try:
        leaf, grad = program.gradient(program.start)
    except RuntimeError:  # a tensor that a graph needs was written to
        return False
    slope = along(lambda x: program.loss(x.clone().requires_grad_()).item(), program.start, v)
    first = 0.0 if grad is None else (grad * v).sum().item()
    assert first == pytest.approx(slope, rel=1e-5, abs=1e-5), seed
    if grad is None or not grad.requires_grad:
        return True
    try:
        second = torch.autograd.grad((grad * u).sum(), leaf, allow_unused=True)[0]
    except RuntimeError:
        return True
    curve = along(lambda x: (program.gradient(x)[1] * u).sum().item(), program.start, v)
    assert (0.0 if second is None else (second * v).sum().item()) == pytest.approx(curve, rel=1e-5, abs=1e-5), seed
    return True


@pytest.mark.parametrize("block", range(20))
def test_derivatives_are_those_of_differences(block):
    assert sum(compared(seed) for seed in range(block * 20, block * 20 + 20)) > 5
