"""utils.checkpoint: less saved, the same gradients."""

import pytest

import libtensor as torch
from libtensor.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

W = torch.linspace(-1, 1, 9).reshape(3, 3)


def gradients(run):
    w, x = W.clone().requires_grad_(), torch.ones(3, requires_grad=True)
    out = run(lambda x: (w @ x).tanh().exp() * x, x)
    out.sum().backward()
    return out.tolist(), w.grad.tolist(), x.grad.tolist()


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_are_those_without(reentrant):
    assert gradients(lambda f, x: checkpoint(f, x, use_reentrant=reentrant)) == gradients(lambda f, x: f(x))


def test_the_default_is_reentrant_with_a_warning():
    weight = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        assert not checkpoint(lambda x: x * weight, torch.ones(2)).requires_grad
    with pytest.warns(UserWarning, match="use_reentrant=True is used"):
        assert gradients(checkpoint) == gradients(lambda f, x: f(x))


@pytest.mark.parametrize("reentrant", [False, True])
def test_random_numbers_are_drawn_again(reentrant):
    def noisy(x):
        return x * x * torch.rand(3)

    x = torch.ones(3, requires_grad=True)
    torch.manual_seed(3)
    plain = noisy(x)
    after = torch.rand(2).tolist()
    torch.manual_seed(3)
    out = checkpoint(noisy, x, use_reentrant=reentrant)
    assert torch.rand(2).tolist() == after and out.tolist() == plain.tolist()
    out.sum().backward()
    assert x.grad.tolist() == (2 * plain).tolist()


def test_memory_that_a_checkpoint_holds():
    x = torch.rand(100, 100, requires_grad=True)

    def deep(x):
        for _ in range(10):
            x = x.sin() * x
        return x

    before = torch.memory_stats().in_use
    plain = deep(x)
    held = torch.memory_stats().in_use - before
    del plain
    before = torch.memory_stats().in_use
    out = checkpoint(deep, x, use_reentrant=False)
    assert torch.memory_stats().in_use - before < held / 5
    out.sum().backward()
    del out
    x.grad = None
    torch.zeros(1)
    assert torch.memory_stats().in_use <= before + 4096


def test_calls_within_calls_and_second_runs():
    x = torch.tensor([0.5, 2.0], requires_grad=True)

    def inner(x):
        return x.exp() * x

    def outer(x, scale):
        return checkpoint(inner, x.sin(), use_reentrant=False) * scale

    out = checkpoint(outer, x, scale=3.0, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    once = x.grad.tolist()
    out.backward()
    assert x.grad.tolist() == [2 * v for v in once]
    slope = torch.autograd.grad(outer(x, 3.0).sum(), x)[0]
    assert slope.tolist() == once


def test_contexts_and_modes():
    entered = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *_):
            entered.append(None)

    x = torch.ones(2, requires_grad=True)
    out = checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (Context("first"), Context("again")))
    assert entered == ["first", None]
    out.sum().backward()
    assert entered == ["first", None, "again", None]
    with torch.no_grad():
        assert not checkpoint(torch.exp, x, use_reentrant=False).requires_grad


def test_tensors_that_change_between_the_calls():
    x, calls = torch.ones(4, requires_grad=True), []

    def shrinking(x):
        calls.append(1)
        return (x[: 4 - len(calls)] * 2).exp().sum()

    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(shrinking, x, use_reentrant=False).backward()
    calls.clear()

    def growing(x):
        calls.append(1)
        for _ in calls:
            x = x.exp()
        return x.sum()

    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        checkpoint(growing, x, use_reentrant=False, early_stop=False).backward()
    assert x.grad is None
    calls.clear()
    checkpoint(growing, x, use_reentrant=False).backward()  # which stops when the first call's are there
    assert x.grad.allclose(x.exp())


WRITES = (lambda a: a.clone().cos_(), lambda a: (a * 1).pow_(3), lambda a: (a * 1).xlogy_(a), lambda a: (a * 1).cumprod_(0))


@pytest.mark.parametrize("function", WRITES)
def test_overwritten_tensors_are_saved_with_their_former_value(function):
    x = torch.tensor([0.3, 0.5, 0.7], requires_grad=True)
    (want,) = torch.autograd.grad(function(x).sum(), x)
    (got,) = torch.autograd.grad(checkpoint(function, x, use_reentrant=False).sum(), x)
    assert got.equal(want)


def test_writes_after_saving_do_not_change_the_saved_tensor():
    def function(a):
        y = a * 1
        z = y.sin()
        y.mul_(2)
        return z

    x = torch.tensor([0.3, 0.5], requires_grad=True)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert x.grad.equal(x.detach().cos())

    def twice(a):
        y = a * 1
        z = y.sin()
        y.mul_(2)
        return z * y.sin()

    with pytest.raises(RuntimeError, match="modified by an inplace operation: a tensor of shape"):
        checkpoint(twice, x, use_reentrant=False).sum().backward()


def test_arguments_that_change_between_the_calls():
    x = torch.ones(2, requires_grad=True)
    for change in (lambda t: t.mul_(2), lambda t: t.detach().add_(1)):
        t = x * 1
        y = checkpoint(lambda t, scale: (t * scale).exp(), t, scale=torch.ones(2), use_reentrant=False)
        change(t)
        with pytest.raises(
            RuntimeError, match=r"modified by an inplace operation: an argument of checkpoint\(\) of shape \(2,\) is at version 1"
        ):
            y.sum().backward()
    assert x.grad is None


def test_arguments():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(torch.exp, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(torch.exp, x, determinism_check="some")
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, x.detach(), use_reentrant=True)


@pytest.mark.parametrize("segments", [1, 2, 3, 4])
def test_sequences(segments):
    x, plain = torch.tensor([0.5, 2.0], requires_grad=True), torch.tensor([0.5, 2.0], requires_grad=True)
    functions = [torch.sin, torch.exp, torch.tanh, torch.exp]
    out = checkpoint_sequential(functions, segments, x, use_reentrant=False)
    plain.sin().exp().tanh().exp().sum().backward()
    out.sum().backward()
    assert x.grad.tolist() == plain.grad.tolist()
    with pytest.raises(ValueError, match="segments must be from 1 to the number of functions, 4, but is 5"):
        checkpoint_sequential(functions, 5, x)


@pytest.mark.parametrize("stops", [True, False])
def test_stopping_early_is_a_setting_of_the_thread(stops):
    calls = []

    def function(x):
        y = x.sin()
        calls.append("saved")
        return y

    x = torch.ones(2, requires_grad=True)
    with torch.utils.checkpoint.set_checkpoint_early_stop(stops):
        y = checkpoint(function, x, use_reentrant=False)
    y.sum().backward()
    assert len(calls) == (1 if stops else 2)


def test_reentrant_ones_are_for_all_leaves():
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    made = checkpoint(lambda p: p * w, x, use_reentrant=True).sum()
    for call in (lambda: torch.autograd.grad(made, [x, w], retain_graph=True), lambda: made.backward(retain_graph=True, inputs=[x])):
        with pytest.raises(RuntimeError, match=r"checkpoint\(use_reentrant=True\).*use use_reentrant=False"):
            call()
    assert x.grad is None and w.grad is None
    made.backward()
    assert x.grad.tolist() == [3, 4] and w.grad.tolist() == [1, 2]


def test_reentrant_ones_run_inside_hooks_of_others():
    x, w = torch.tensor([1.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    y = x * 2

    @y.register_hook
    def train(_):
        with torch.enable_grad():
            checkpoint(lambda p: p * w, torch.ones(1, requires_grad=True), use_reentrant=True).backward()

    assert torch.autograd.grad(y, x)[0].item() == 2 and w.grad.item() == 1


@pytest.mark.parametrize("early", [True, False])
def test_functions_that_run_backward_themselves(early):
    """What they save until then is there again though they have not come to their end, also where second calls do not stop early."""

    def slope(x):
        with torch.enable_grad():
            y = x.sin().exp().sin()
            return torch.autograd.grad(y, x, create_graph=True)[0]

    x = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    (want,) = torch.autograd.grad(slope(x), x)
    for function in (slope, lambda x: checkpoint(slope, x, use_reentrant=False, early_stop=early)):
        y = checkpoint(function, x, use_reentrant=False, early_stop=early)
        assert torch.autograd.grad(y, x)[0].allclose(want)


def test_checkpoints_are_recomputed_once_per_backward_pass():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            with pytest.raises(RuntimeError, match="If you are calling ctx.saved_tensors in backward, make sure to do so only once"):
                _ = ctx.saved_tensors
            return grad * y, grad * x

    x = torch.tensor(3.0, requires_grad=True)
    y = checkpoint(lambda x: Product.apply(x * 2, x), x, use_reentrant=False)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24


def test_decorated_functions():
    calls = []

    @checkpoint(use_reentrant=False)
    def scaled(x, factor=1):
        calls.append(factor)
        return x.exp() * factor

    x = torch.zeros(2, requires_grad=True)
    scaled(x, factor=3).sum().backward()
    assert x.grad.tolist() == [3, 3] and calls == [3, 3] and scaled.__name__ == "scaled"


def test_helpers_of_checkpoints():
    from libtensor.utils import checkpoint as module

    x = torch.ones(2, requires_grad=True) * 2
    (made, other) = module.detach_variable((x, 3))
    assert made.is_leaf and made.requires_grad and other == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        module.detach_variable([x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        module.check_backward_validity([torch.ones(1)])
    with module.set_checkpoint_debug_enabled(True):
        assert module.get_device_states(x) == ([], [])


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("inside", [None, torch.bfloat16, torch.float16])
def test_the_second_call_has_the_autocast_of_the_first(inside, outside, reentrant):
    """The backward pass may run under another state of autocast than the call."""
    seen = []

    def state():
        return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()

    def function(x):
        seen.append(state())
        return torch.nn.functional.linear(x, w).exp()

    results = []
    for call in (function, lambda x: checkpoint(function, x, use_reentrant=reentrant)):
        w, x = W.clone().requires_grad_(), torch.ones(2, 3, requires_grad=True)
        with torch.autocast("cpu", inside or torch.bfloat16, enabled=inside is not None, cache_enabled=False):
            out = call(x)
        with torch.autocast("cpu", torch.bfloat16, enabled=outside):
            before = state()
            out.sum().backward()
            assert state() == before
        results.append((out.tolist(), w.grad.tolist(), x.grad.tolist()))
    assert seen == [(inside is not None, inside or torch.bfloat16, False)] * 3
    assert results[0] == results[1]


def test_autocast_of_second_calls_within_others_and_after_errors():
    def inner(x):
        with torch.autocast("cpu", torch.float16):
            return checkpoint(lambda x: x @ x, x, use_reentrant=False).float()

    def failing(x):
        if torch.is_grad_enabled() and calls:
            raise ValueError("the second call")
        calls.append(1)
        return x @ x

    calls = []
    grads = []
    for call in (lambda x: (inner(x) @ x).float(), lambda x: checkpoint(lambda x: (inner(x) @ x).float(), x, use_reentrant=False)):
        x = W.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            out = call(x)
        out.sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]
    with torch.autocast("cpu"):
        out = checkpoint(failing, W.clone().requires_grad_(), use_reentrant=False)
    with pytest.raises(ValueError, match="the second call"):
        out.sum().backward()
    assert not torch.is_autocast_enabled("cpu")
