"""Inference mode, copies and files of leaves, .data, threads, what runs keep and free, long chains."""

import copy
import io
import pickle
import threading

import pytest
from grad_helpers import in_use, leaf

import libtensor as torch


def test_inference_mode():
    x = leaf(1, 2)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        made, view, result = torch.ones(2), x.view(2), x * 2
        wanted = torch.ones(2, requires_grad=True)
        assert made.is_inference() and result.is_inference() and wanted.is_inference() and made.view(2).is_inference()
        assert not view.is_inference() and not x.is_inference() and not result.requires_grad and wanted.requires_grad
        made.add_(1)
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
            assert not torch.ones(2).is_inference() and (x * 2).requires_grad
        assert torch.is_inference_mode_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled() and (x * 2).is_inference() and not (x * 2).requires_grad
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    assert torch.is_inference(made) and made.detach().is_inference() and made[:1].is_inference()
    assert not made.clone().is_inference() and not (made + 1).is_inference()
    assert (x + made).requires_grad


@pytest.mark.parametrize(
    "use, text",
    [
        (lambda t, x: t.add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (lambda t, x: t[:1].add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (lambda t, x: t.__setitem__(0, 1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (lambda t, x: torch.add(x.detach(), 1, out=t), "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (lambda t, x: x * t, "Inference tensors cannot be saved for backward"),
        (lambda t, x: t.requires_grad_(), "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"),
        (lambda t, x: t._version, "Inference tensors do not track version counter"),
    ],
)
def test_errors_of_inference_tensors(use, text):
    with torch.inference_mode():
        t = torch.ones(2)
    with pytest.raises(RuntimeError, match=text):
        use(t, leaf(1, 2))
    with torch.no_grad(), pytest.raises(RuntimeError, match="add_: Inplace update to inference tensor"):
        t.add_(1)
    assert t.tolist() == [1, 1]
    with torch.inference_mode():
        t.add_(1)
    assert t.tolist() == [2, 2]


@pytest.mark.parametrize("mode, name", [(torch.no_grad, "no_grad mode"), (torch.inference_mode, "inference mode")])
def test_views_that_were_made_while_nothing_was_recorded(mode, name):
    for x in (leaf(1, 2), leaf(1, 2) * 1):
        with mode():
            view = x[:1]
            view.mul_(2)
        for use in (lambda v: v.mul_(2), lambda v: v[:1].zero_(), lambda v: v.mul_(leaf(1))):
            with pytest.raises(
                RuntimeError,
                match=f"A view was created in {name} and (is being|its base or another view of its base has been) modified inplace",
            ):
                use(view)
        assert x.tolist() == [2, 2]
        with torch.no_grad():
            view.mul_(2)
        view.detach().mul_(2)
        assert x.tolist() == [8, 2]


def test_inference_mode_belongs_to_the_thread():
    seen = []
    with torch.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((torch.is_inference_mode_enabled(), torch.ones(1).is_inference())))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


def test_files_keep_requires_grad():
    x = leaf(1, 2)
    buffer = io.BytesIO()
    torch.save({"leaf": x, "plain": torch.ones(2), "result": x * 2, "view": x[:1]}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)
    assert {k: (v.requires_grad, v.is_leaf) for k, v in loaded.items()} == {
        "leaf": (True, True),
        "plain": (False, True),
        "result": (True, True),
        "view": (True, True),
    }
    loaded["leaf"].sum().backward()
    assert loaded["leaf"].grad.tolist() == [1, 1] and x.grad is None


@pytest.mark.parametrize("move", [lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy])
def test_copies_are_leaves_that_require_a_gradient(move):
    class Parameter(torch.Tensor):
        pass

    for x in (leaf(1, 2), torch.ones(2)):
        made = move(x)
        assert made.requires_grad is x.requires_grad and made.is_leaf and made is not x
        assert (made.data_ptr() == x.data_ptr()) is (move is copy.copy)
    x = leaf(1, 2) * 2
    if move is copy.deepcopy:
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user .graph leaves. support the deepcopy protocol"):
            move(x)
    else:
        assert move(x).requires_grad and move(x).is_leaf


def test_a_deep_copy_has_a_separate_gradient():
    x = leaf(1, 2)
    (x * 3).sum().backward()
    made, grad = copy.deepcopy((x, x.grad))
    assert made.grad is grad and grad.tolist() == [3, 3]
    grad.zero_()
    assert x.grad.tolist() == [3, 3]


def test_data_is_not_recorded():
    x = leaf(1, 2)
    y = (x * x).sum()
    x.data.add_(1)
    x.data[0] = 10
    assert x.tolist() == [10, 3] and not x.data.requires_grad and x._version == 0
    y.backward()
    x.data = torch.tensor([5.0, 6.0])
    assert x.requires_grad and x.is_leaf and x.tolist() == [5, 6]
    y = (x * x).sum()
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_gradients_stay_where_they_are():
    x = leaf(1, 2)
    (x * x).sum().backward(create_graph=True)
    grad = x.grad
    assert grad.requires_grad
    (x * x).sum().backward()
    assert x.grad is grad and grad.tolist() == [4, 8]
    x.grad = other = torch.zeros(2)
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not other and other.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x
    x.grad = None  # a gradient with an autograd graph keeps its leaf


def test_gradients_have_the_layout_of_their_tensors():
    x = torch.empty(2, 3).t().fill_(1).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 3)
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (1,)
    given = torch.ones(3)
    x = torch.ones(3, requires_grad=True)
    (x * 1).backward(given)
    x.grad.zero_()
    assert given.tolist() == [1, 1, 1]


def test_inputs_of_runs():
    x, other = leaf(1, 2), leaf(3)
    y = x * 3
    (y * 2).sum().backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [2, 2] and x.grad is None and y.retains_grad
    (y * 2).sum().backward(inputs=x)
    assert x.grad.tolist() == [6, 6]
    (x * 2).sum().backward(inputs=(other, x))
    assert other.grad is None and x.grad.tolist() == [8, 8]
    with pytest.raises(RuntimeError, match="`inputs` argument to `backward..` cannot be empty"):
        (x * 2).sum().backward(inputs=[])
    with pytest.raises(RuntimeError, match="`inputs` argument to `grad..` cannot be empty"):
        torch.autograd.grad((x * 2).sum(), [])
    with torch.autograd.set_multithreading_enabled(False):
        assert torch.autograd.grad((x * 2).sum(), (x, x))[1].tolist() == [2, 2]


def test_retained_gradients_follow_writes():
    x = leaf(1, 2)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1] and y.retains_grad and x.grad.tolist() == [6, 6]


def test_threads_share_leaves():
    x = torch.ones(1000, requires_grad=True)
    rounds, count = 30, 4

    def work():
        for _ in range(rounds):
            (x * x + x).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.eq(3 * rounds * count).all()


def test_two_threads_run_one_graph():
    x = torch.ones(1000, requires_grad=True)
    y = (x.exp() * x).sum()
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.allclose(x.grad, 8 * torch.ones(1000).exp())


def test_hooks_and_functions_in_threads():
    """A hook waits for the interpreter while another thread holds it and asks the same node."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            for _ in range(50):
                grad = grad * 1
            return grad * 2 * ctx.saved_tensors[0]

    x = torch.ones(10, requires_grad=True)
    y = Slow.apply(x)
    done = threading.Event()

    def ask():
        while not done.is_set():
            y.retain_grad()
            y.register_hook(lambda g: None).remove()

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(20):
        y.sum().backward(retain_graph=True)
    done.set()
    thread.join()
    assert x.grad.eq(40).all()


def test_graphs_are_freed_from_any_thread():
    before = in_use()
    made = [(torch.ones(1000, requires_grad=True).exp() * 2).sum() for _ in range(8)]
    thread = threading.Thread(target=made.clear)
    thread.start()
    thread.join()
    assert in_use() <= before + 1024


@pytest.mark.slow
def test_a_million_nodes():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y.neg()
    y.backward()
    assert x.grad.item() == 1
    y = x
    for _ in range(200_000):
        y = y + x
    del y
    x.grad = None


def test_memory_that_a_backward_pass_frees():
    x = torch.ones(10_000, requires_grad=True)
    before = in_use()
    y = x.exp().exp().exp().sum()
    assert in_use() >= before + 120_000
    y.backward()
    assert in_use() <= before + 40_000 + 2048
    x.grad = None
    assert in_use() <= before + 2048


def test_nothing_is_recorded_in_inference_mode():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
        assert torch.is_grad_enabled() and y.is_inference() and not y.requires_grad
    with torch.inference_mode(False):
        assert (x * 2).requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_views_of_tensors_that_require_grad_require_it_in_every_mode(mode):
    x = torch.ones(3, requires_grad=True)
    for t in (x, x * 1):
        with mode():
            views = (t.view(3), t[1:], t[0], *t.split(1), t.view(1, 3).t(), t[1:][:1])
            assert not (t * 2).requires_grad and not t.detach().requires_grad
        for v in views:
            assert v.requires_grad and v.is_leaf and v.grad_fn is None and not v.is_inference()
            assert (v * 2).requires_grad
            with pytest.raises(RuntimeError, match="view was created in"):
                v.mul_(2)
        with mode():
            views[0].mul_(1)
        for v in views:
            assert v.requires_grad
            for use in (lambda v: v.grad_fn, lambda v: v * 2, lambda v: v[..., None], lambda v: v.sum().backward()):
                with pytest.raises(RuntimeError, match="view was created in .* its base or another view of its base has been modified"):
                    use(v)
            assert not v.detach().requires_grad and not v.requires_grad_(False).clone().requires_grad
    with mode():
        assert not x.view(torch.int32).requires_grad


def test_results_of_inference_tensors_in_inference_mode():
    with torch.inference_mode():
        x = torch.ones(1, 2, requires_grad=True)
        y = x.view(-1)
        assert y.is_inference() and not y.requires_grad
        assert x.resize_(1, 1).shape == (1, 1) and x.is_inference() and x.requires_grad


@pytest.mark.parametrize("lend", [lambda x: x.detach(), lambda x: x.data])
def test_data_of_inference_tensors_is_written_to(lend):
    with torch.inference_mode():
        x = torch.ones(3)
    lent = lend(x)
    lent.mul_(2)
    assert x.tolist() == [2, 2, 2] and lent.is_inference()
    for rejected in (x, x.view(3), lend(x).view(3)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            rejected.mul_(2)
    with pytest.raises(RuntimeError, match="inference tensor"):
        lent.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        lent * torch.ones(3, requires_grad=True)


@pytest.mark.parametrize("wanted", [True, False])
def test_calls_on_inference_tensors_alone_are_not_recorded(wanted):
    with torch.inference_mode():
        x = torch.ones(1, 2, requires_grad=wanted)
    for y in (x.view(-1), x * 2, x + x, torch.cat([x, x])):
        assert not y.requires_grad and y.is_leaf
    view = x.view(-1)
    assert view.is_inference() and not view._is_view()
    assert (x + torch.ones(2)).requires_grad == wanted
    assert (leaf(1, 2) + x).requires_grad


def test_modes_are_cloned():
    for mode in (torch.no_grad(), torch.enable_grad(), torch.inference_mode(), torch.inference_mode(False)):
        copy = mode.clone()
        assert type(copy) is type(mode) and copy is not mode
        states = []
        for entered in (mode, copy):
            with entered:
                states.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        assert states[0] == states[1]
    with torch.set_grad_enabled(False) as _, torch.no_grad():
        mode = torch.set_grad_enabled(True)
        assert mode.mode is True and type(mode.clone()) is torch.set_grad_enabled and torch.is_grad_enabled()
    assert torch.is_grad_enabled()
