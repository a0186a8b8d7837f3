"""Nodes, hooks on tensors and nodes, hooks for what operations save, anomaly mode."""

import gc
import weakref

import numpy
import pytest
from grad_helpers import in_use, leaf

import libtensor as torch
from libtensor.autograd.graph import (
    GradientEdge,
    Node,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from libtensor.utils.hooks import RemovableHandle


def test_nodes_are_objects():
    x = leaf(1, 2)
    y = x * 2
    node = y.grad_fn
    assert y.grad_fn is node and isinstance(node, Node) and type(node).__name__ == "MulBackward0"
    assert repr(node) == f"<MulBackward0 object at {id(node):#x}>" and repr(y) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    first, second = y.unbind()
    assert first.grad_fn is second.grad_fn and (first.output_nr, second.output_nr) == (0, 1)
    assert (y.sum() + x * torch.ones(2)).grad_fn.next_functions[0][0].next_functions == ((node, 0),)
    (accumulate, number), other = node.next_functions
    assert accumulate.name() == "AccumulateGrad" and number == 0 and other == (None, 0)
    assert accumulate.variable is x and x.sum().grad_fn.next_functions[0][0] is accumulate
    assert get_gradient_edge(x) == GradientEdge(accumulate, 0) and get_gradient_edge(second) == GradientEdge(second.grad_fn, 1)
    with pytest.raises(RuntimeError, match="for a Tensor that does not require gradients"):
        get_gradient_edge(torch.ones(2))


def test_metadata_of_a_node_lives_as_long_as_it():
    y = leaf(1, 2) * 2
    y.grad_fn.metadata["note"] = note = {"a"}
    gone = weakref.ref(note_holder := Holder(note))
    y.grad_fn.metadata["holder"] = note_holder
    del note_holder
    gc.collect()
    assert y.grad_fn.metadata["note"] is note and gone() is not None
    del y
    in_use()
    assert gone() is None


class Holder:
    def __init__(self, value):
        self.value = value


def test_a_node_keeps_its_graph():
    before = in_use()
    node = (torch.ones(1000, requires_grad=True).exp()).sum().grad_fn
    assert in_use() >= before + 4000
    del node
    assert in_use() <= before + 1024


def test_a_gradient_is_one_object():
    x = leaf(1, 2)
    (x * x).sum().backward()
    grad = x.grad
    assert x.grad is grad
    (x * x).sum().backward()
    assert x.grad is grad and grad.tolist() == [4, 8]
    x.grad = other = torch.ones(2)
    assert x.grad is other and x.grad is not grad
    x.grad = None
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4] and other.tolist() == [1, 1]


def test_hooks_of_tensors():
    x, log = leaf(1, 2), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: (log.append(("first", g.tolist())), g * 10)[1])
    removed = y.register_hook(lambda g: log.append("removed"))
    y.register_hook(lambda g: log.append(("last", g.tolist())))
    assert isinstance(removed, RemovableHandle)
    removed.remove()
    removed.remove()
    y.sum().backward()
    assert log == [("first", [1, 1]), ("last", [10, 10])] and x.grad.tolist() == [20, 20] and y.grad.tolist() == [10, 10]


def test_a_hook_for_a_while():
    x = leaf(1, 2)
    y = x * 2
    with y.register_hook(lambda g: g * 100):
        assert torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [200, 200]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2, 2]


def test_hooks_of_leaves():
    x, log = leaf(1, 2), []
    x.register_hook(lambda g: g * 10)
    x.register_post_accumulate_grad_hook(lambda p: log.append((p is x, p.grad.tolist())))
    assert torch.autograd.grad((x * 3).sum(), x)[0].tolist() == [30, 30] and log == []
    (x * 3).sum().backward()
    (x * 3).sum().backward(inputs=[x])
    assert log == [(True, [30, 30]), (True, [60, 60])]
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
        (x * 1).register_post_accumulate_grad_hook(print)
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
            getattr(torch.ones(2), register)(print)


def test_a_hook_stays_with_its_node():
    x, log = leaf(1, 2), []
    y = x * 2
    y.register_hook(lambda g: log.append(("old", g.tolist())))
    y.add_(1)
    y.mul_(3)
    y.register_hook(lambda g: log.append(("new", g.tolist())))
    y.sum().backward()
    assert log == [("new", [1, 1]), ("old", [3, 3])]


def test_hooks_see_the_gradient_that_is_handed_out_as_it_came():
    """Where the backward pass continues, hooks change only the gradient that is passed on; at its end, the returned gradient."""
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    both = torch.autograd.grad(y.sum(), (y, x), retain_graph=True)
    assert [g.tolist() for g in both] == [[1, 1], [20, 20]]
    assert torch.autograd.grad(y.sum(), y)[0].tolist() == [10, 10]


def test_hooks_of_results_without_a_gradient():
    log = []
    first, second = (leaf(1, 2) * 2).unbind()
    second.register_hook(log.append)
    first.backward()
    assert log == [None]


@pytest.mark.parametrize(
    "hook, error, text",
    [
        (lambda g: "no", TypeError, "expected Variable, but hook returned 'str'"),
        (lambda g: torch.ones(5), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (lambda g: g.double(), RuntimeError, "changed the type of value .was torch.FloatTensor got torch.DoubleTensor."),
        (lambda g: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_hooks_that_fail(hook, error, text):
    x = leaf(1, 2)
    before = in_use()
    y = x * 2
    handle = y.register_hook(hook)
    with pytest.raises(error, match=text) as info:
        y.sum().backward(retain_graph=True)
    assert x.grad is None and any(entry.name in ("<lambda>", "replacement") for entry in info.traceback)
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    x.grad = None
    del y, handle, info
    assert in_use() <= before + 256


def test_hooks_of_nodes():
    x, log = leaf(1, 2), []
    y = x * 2
    node = y.grad_fn
    node.register_prehook(lambda grads: (grads[0] * 10,))
    node.register_hook(lambda operands, results: log.append((operands[0].tolist(), operands[1], results[0].tolist())))
    handle = node.register_hook(lambda operands, results: (operands[0] + 1, None))
    del node
    y.sum().backward(retain_graph=True)
    assert log == [([20, 20], None, [10, 10])] and x.grad.tolist() == [21, 21]
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [41, 41]
    accumulate = get_gradient_edge(x).node
    accumulate.register_hook(lambda operands, results: log.append((operands, results[0].tolist())))
    x.sum().backward()
    assert log[-1] == ((), [1, 1])


@pytest.mark.parametrize(
    "register, hook, error, text",
    [
        ("register_hook", lambda i, o: (None,), RuntimeError, r"returned an incorrect number of values \(got 1, but expected 2\)"),
        ("register_hook", lambda i, o: (i[0], i[0]), RuntimeError, "can't replace a None gradient with a non-None value"),
        ("register_prehook", lambda o: (o[0], o[0]), RuntimeError, r"returned an incorrect number of values \(got 2, but expected 1\)"),
        ("register_prehook", lambda o: o[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
    ],
)
def test_valid_results_of_node_hooks(register, hook, error, text):
    y = leaf(1, 2) * 2
    getattr(y.grad_fn, register)(hook)
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_hooks_are_recorded_with_create_graph():
    x = leaf(3)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [18] and torch.autograd.grad(g.sum(), x)[0].tolist() == [12]


def test_objects_of_hooks_are_freed_with_them():
    x = leaf(1, 2)
    held = [Holder(0) for _ in range(4)]
    gone = [weakref.ref(h) for h in held]
    y = x * 2
    y.register_hook(lambda g, h=held[0]: None)
    y.grad_fn.register_hook(lambda i, o, h=held[1]: None)
    x.register_hook(lambda g, h=held[2]: None)
    handle = x.register_post_accumulate_grad_hook(lambda p, h=held[3]: None)
    del held
    in_use()
    assert all(ref() for ref in gone)
    handle.remove()
    assert gone[3]() is None
    del y
    in_use()
    assert gone[0]() is None and gone[1]() is None and gone[2]()
    del x
    in_use()
    assert gone[2]() is None


def test_hooks_of_several_tensors():
    x, log = leaf(1, 2), []
    a, b = x * 2, x * 3
    handle = register_multi_grad_hook([a, b], lambda grads: log.append([g.tolist() for g in grads]))
    y = (a + 2 * b).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert log == [[[1, 1], [2, 2]]] * 2
    handle.remove()
    y.backward(retain_graph=True)
    assert len(log) == 2
    with register_multi_grad_hook([a, b], lambda grad: log.append(grad.tolist()), mode="any"):
        y.backward(retain_graph=True)
        y.backward()
    assert len(log) == 4 and log[2] == log[3] and log[2] in ([1, 1], [2, 2])
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([a], print, mode="some")


def test_hooks_of_several_tensors_wait_for_those_that_a_run_comes_to():
    a, b, log = leaf(1, 2), leaf(3, 4), []
    c, d = a * b, a * b
    handle = register_multi_grad_hook((a, b, c, d), lambda grads: log.append([grad is not None for grad in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    torch.autograd.grad(c.sum(), c, retain_graph=True)
    d.exp().sum().backward(retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    assert log == [
        [True, True, True, False],
        [True, False, True, False],
        [False, False, True, False],
        [True, True, False, True],
        [True] * 4,
    ]
    handle.remove()
    (c + d).sum().backward()
    assert len(log) == 5

    # Called in the middle of a backward pass, as soon as the last gradient is there; values are those of the pass; an error ends it.
    order = []
    y = b * 2
    y.register_hook(lambda grad: order.append("y"))
    z = y * 3
    handle = register_multi_grad_hook((z, a), lambda grads: order.append([None if grad is None else grad.tolist() for grad in grads]))
    z.sum().backward(retain_graph=True)
    assert order == [[[1, 1], None], "y"]
    handle.remove()
    with register_multi_grad_hook((z, y), lambda grads: 1 / 0), pytest.raises(ZeroDivisionError):
        z.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        register_multi_grad_hook((z, torch.ones(1)), print)

    # An operand without a gradient does not delay the others.
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    seen = []
    with register_multi_grad_hook((a, b), lambda grads: seen.append([grad is not None for grad in grads])):
        First.apply(a, b).sum().backward()
    assert seen == [[True, False]]


def test_a_hook_of_several_leaves_is_freed_with_them():
    def program():
        a, b = leaf(1, 2), leaf(3, 4)
        register_multi_grad_hook((a, b), lambda grads: a.add(b))
        (a * b).sum().backward()
        return weakref.ref(a)

    gone = program()
    gc.collect()
    assert gone() is None


def test_saving_by_hooks():
    x, log = leaf(1, 2), []

    def pack(t):
        log.append(t.tolist())
        return t.detach().numpy().copy()

    with saved_tensors_hooks(pack, torch.from_numpy):
        y = (x * x).exp()
    assert log == [[1, 2], [1, 2], y.tolist()]
    z = x * x
    with torch.no_grad():
        x.add_(1)
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], torch.tensor([2.0, 4.0]) * y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    assert len(log) == 3


def test_saved_tensors_are_unpacked_once_in_a_run():
    x, count = leaf(1, 2), []
    with saved_tensors_hooks(lambda t: t, lambda t: (count.append(1), t)[1]):
        y = x / (x + 1)
    y.sum().backward()
    assert len(count) == 2


def test_saved_by_hooks_can_be_differentiated_again():
    x = leaf(2.0, dtype=torch.float64)
    with saved_tensors_hooks(lambda t: t.detach().numpy().tobytes(), lambda b: torch.from_numpy(numpy.frombuffer(b).copy())):
        y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].tolist() == [12]


PACKS = {
    "as it is": (lambda t: t, lambda t: t, True, (6.75, 9.0)),
    "a copy": (lambda t: t.clone(), lambda t: t, True, (0.75, 3.0)),
    "a copy without a graph": (lambda t: t.detach().clone(), lambda t: t, True, (0.75, 3.0)),
    "rounded": (lambda t: t.round(), lambda t: t, False, (0.0, 0.0)),
    "scaled when unpacked": (lambda t: t, lambda t: t * 2, False, (3.0, 6.0)),
}


@pytest.mark.parametrize(("pack", "unpack", "written", "expected"), PACKS.values(), ids=PACKS)
def test_second_derivatives_of_tensors_unpacked_for_a_leaf(pack, unpack, written, expected):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x**3
    if written:
        with torch.no_grad():
            x.mul_(3)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    assert (first.item(), torch.autograd.grad(first, x)[0].item()) == expected


def test_hooks_for_saving_nest_and_end():
    x, log = leaf(1, 2), []
    with saved_tensors_hooks(lambda t: log.append("outer"), None):
        with saved_tensors_hooks(lambda t: log.append("inner"), None):
            x * x
        x * x
    x * x
    assert log == ["inner"] * 2 + ["outer"] * 2


@pytest.mark.parametrize(
    "pack, error, text",
    [
        (lambda t: 1 / 0, ZeroDivisionError, "division"),
        (lambda t: t.detach().add_(1), RuntimeError, "pack hook is modifying its input in place"),
    ],
)
def test_a_pack_hook_that_fails(pack, error, text):
    x = leaf(1, 2)
    before = in_use()
    operations = (lambda: x * x, lambda: x.exp(), lambda: x[torch.tensor([0])], lambda: torch.cat([x, x]).sort(), lambda: (x * 1).exp_())
    for operation in operations:
        with saved_tensors_hooks(pack, None):
            try:
                operation()
            except error as raised:
                assert text in str(raised)
    assert in_use() <= before + 512


@pytest.mark.parametrize("operation", [torch.linalg.svdvals, torch.linalg.inv, torch.exp, lambda x: x @ x])
def test_an_unpack_hook_that_returns_another_shape(operation):
    x = torch.eye(3, dtype=torch.float64, requires_grad=True)
    for other in (torch.ones(()), torch.ones(4, 3), torch.ones(1, 3, 3)):
        with saved_tensors_hooks(lambda t: t, lambda t, other=other: other):
            y = operation(x)
        with pytest.raises(RuntimeError, match=r"unpack_hook returned a tensor of shape \[.*\] for a saved tensor of shape \[.*\] of .*"):
            y.sum().backward()
        assert x.grad is None


def test_an_unpack_hook_that_fails():
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: 1, lambda t: t):
        y = x * x
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"):
        y.sum().backward()
    with saved_tensors_hooks(lambda t: 1, lambda t: 1 / 0):
        y = x * x
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()


def test_indices_that_were_unpacked_with_other_sizes():
    x, places = torch.ones(1, 1, 2, requires_grad=True), torch.tensor([[[1, 2]]])
    with saved_tensors_hooks(lambda t: t, lambda t: t[:0].flatten()):
        y = torch.nn.functional.max_unpool1d(x, places, 2)
    with pytest.raises(RuntimeError, match=r"unpack_hook returned a tensor of shape \[0\] for a saved tensor of shape \[1, 1, 2\]"):
        y.sum().backward()


def test_packed_tensors_are_freed_with_the_graph():
    x, gone = leaf(1, 2), []

    def pack(t):
        holder = Holder(t)
        gone.append(weakref.ref(holder))
        return holder

    with saved_tensors_hooks(pack, lambda h: h.value):
        y = (x * x).exp()
        z = (x * x).exp()
    assert len(gone) == 6 and all(ref() for ref in gone)
    y.sum().backward()
    assert [ref() is None for ref in gone] == [True] * 3 + [False] * 3
    del z
    in_use()
    assert not any(ref() for ref in gone)


def test_saving_on_the_cpu_and_rejecting_hooks():
    x = leaf(1, 2)
    with save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2, 4]
    with disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(None, None):
        pass
    with (
        saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="not here"),
        disable_saved_tensors_hooks("not here"),
    ):
        pass


def test_counting_writes():
    x = leaf(1, 2)
    y = x * 1
    z = y * y
    assert y._version == 0
    torch.autograd.graph.increment_version(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.renorm_(2, 0, 1.0),
        lambda y: torch.linalg.inv(torch.eye(2), out=y),
        lambda y: torch.linalg.qr(torch.eye(2), out=(torch.empty(0), y)),
        lambda y: torch.kron(torch.eye(2), torch.ones(1), out=y),
        lambda y: torch.cholesky_solve(torch.eye(2), torch.eye(2), out=y),
    ],
    ids=["renorm_", "inv", "qr", "kron", "cholesky_solve"],
)
def test_composite_operators_increment_versions(write):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    z = y.square()
    with torch.no_grad():
        write(y.detach())
    assert y._version == 1
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


def test_anomaly_mode():
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
        y = torch.sqrt(leaf(-1.0, 0.0))  # this line
        with (
            pytest.warns(UserWarning, match=r"(?s)Error detected in SqrtBackward0. Traceback of forward call.*torch.sqrt.*# this line"),
            pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."),
        ):
            (y * 0).sum().backward()
    assert not torch.is_anomaly_enabled()
    y = torch.sqrt(leaf(-1.0))
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect = torch.autograd.detect_anomaly()
    with (
        detect,
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0. No forward pass information available"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        y.backward()
    x = leaf(-1.0)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert not torch.is_anomaly_check_nan_enabled()
        torch.sqrt(x).backward()
        assert x.grad.isnan().all()
        y = x * 1
        z = y.exp() * y
        y.add_(1)
        with (
            pytest.warns(UserWarning, match="(?s)Error detected in MulBackward0. Traceback.*y.exp"),
            pytest.raises(RuntimeError, match="modified by an inplace"),
        ):
            z.backward()
    torch.autograd.set_detect_anomaly(True)
    assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_anomaly_mode_takes_gradients_without_data():
    x = torch.ones(3, device="meta", requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        (x * 2).sum().backward()
    assert x.grad.shape == (3,) and x.grad.is_meta


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("outputs", "grads"), [(2, 1), (1, 2)])
def test_as_many_gradients_as_outputs(mapped, outputs, grads):
    x = torch.ones(3, requires_grad=True)
    given = [x * (i + 2) for i in range(outputs)]

    def gradient(v):
        return torch.autograd.grad(given, [x], [v] * grads)

    with pytest.raises(RuntimeError, match=f"got {outputs} tensors and {grads} gradients"):
        torch.vmap(gradient)(torch.ones(2, 3)) if mapped else gradient(torch.ones(3))


def test_gradients_of_and_with_respect_to_edges():
    """An edge represents the tensor from which it was created, also after that changed."""
    edge = torch.autograd.graph.get_gradient_edge
    x = torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True)
    y = x * x
    parts = (y * 2).unbind()
    of, whole, leaf = edge(parts[1]), edge(y), edge(x)
    assert of.output_nr == 1 and type(of) is torch.autograd.graph.GradientEdge
    total = y.exp().sum()
    del parts
    (got,) = torch.autograd.grad(total, whole, retain_graph=True)
    assert torch.allclose(got, y.exp())
    at_y, at_x = torch.autograd.grad([total, whole], [whole, leaf], [None, torch.ones(3, dtype=torch.float64)], retain_graph=True)
    assert torch.allclose(at_y, y.exp() + 1) and torch.allclose(at_x, 2 * x * (y.exp() + 1))
    del y
    torch.autograd.backward(of, torch.tensor(5.0, dtype=torch.float64), inputs=leaf)
    assert x.grad.tolist() == [0, 40, 0]
    torch.autograd.backward([edge((x * 3).sum())])
    assert x.grad.tolist() == [3, 43, 3]

    z = (x * 3).sin()
    (g,) = torch.autograd.grad(z.sum(), edge(z), create_graph=True)
    assert g.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        torch.autograd.backward(edge(x * 3))
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(x.sum(), edge(z))
    with pytest.raises(TypeError, match=r"grad\(\): argument 'inputs' must be Tensors or GradientEdges, but element 1 is of type float"):
        torch.autograd.grad(x.sum(), [x, 2.0])
    with pytest.raises(IndexError, match="output 3 of .* has no gradient"):
        torch.autograd.grad(x.sum(), torch.autograd.graph.GradientEdge(z.grad_fn, 3))
