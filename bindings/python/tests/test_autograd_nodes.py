"""Nodes of the autograd graph as objects: calls, and saved values."""

import pytest

import libtensor as torch
from libtensor.autograd import graph


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_a_node_is_called():
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    product = x * y
    first, second = product.grad_fn(torch.tensor([1.0, 10.0]))
    assert first.tolist() == [5, 70] and second.tolist() == [2, 30]
    assert torch.autograd.grad(first.sum(), y)[0].tolist() == [1, 10]
    with torch.no_grad():
        assert not product.grad_fn(torch.ones(2))[0].requires_grad
    assert x.exp().grad_fn(torch.tensor(2.0)).tolist() == (2 * x.exp()).tolist(), "a gradient is spread over the result"
    product.sum().backward()  # the saved tensors are still there
    assert x.grad.tolist() == [5, 7]


def test_calling_a_node_leaves_the_gradient_that_it_is_given():
    x = leaf(*[2.0] * 5)
    for call in (torch.neg, torch.exp, torch.sin, lambda t: t * 3):
        grad, node = torch.full((5,), 10.0), call(x).grad_fn
        with torch.no_grad():
            node(grad)
        assert grad.tolist() == [10] * 5


def test_the_node_of_a_leaf_is_called():
    x = leaf(2.0)
    accumulate = (x * 1).grad_fn.next_functions[0][0]
    assert accumulate(torch.ones(1)) == () == accumulate(torch.ones(1))
    assert x.grad.tolist() == [2]


def test_the_node_of_a_function_is_called():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 2, b * 3

        @staticmethod
        def backward(ctx, a, b):
            return a * 2, b * 3

    a, _ = Twice.apply(leaf(1.0), leaf(1.0))
    first, second = a.grad_fn(torch.ones(1), None)
    assert first.tolist() == [2] and second.tolist() == [0]
    assert a.grad_fn(None, None) == (None, None)


def test_invalid_arguments_of_nodes():
    node = (leaf(2.0, 3.0) * leaf(2.0, 3.0)).grad_fn
    assert node(None) == (None, None)
    with pytest.raises(TypeError, match=r"MulBackward0 expects 1 gradients, one for each result, but got 2"):
        node(torch.ones(2), None)
    with pytest.raises(TypeError, match=r"MulBackward0: argument 0 is not a Tensor or None, but int"):
        node(3)
    with pytest.raises(RuntimeError, match=r"result 0 of MulBackward0 must have its sizes, \[2\], but has \[3\]"):
        node(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"must have its dtype, float32, but has float64"):
        node(torch.ones(2, dtype=torch.float64))


def test_saved_tensors_of_nodes():
    x, c = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    node = (x * c).grad_fn
    assert node._saved_self is None and node._saved_other.tolist() == [5, 7]
    assert {"_saved_self", "_raw_saved_other"} < set(dir(node))
    assert x.square().grad_fn._saved_self is x
    result = x.exp()
    saved = result.grad_fn._saved_result
    assert saved.equal(result) and saved is not result and saved.grad_fn is result.grad_fn
    assert [t.tolist() for t in x[torch.tensor([1])].grad_fn._saved_indices] == [[1]]
    assert [t.tolist() for t in torch.sort(x, descending=True).values.grad_fn._saved_indices.reshape(2)] == [1, 0]
    with pytest.raises(AttributeError, match="'AddBackward0' object has no attribute '_saved_self'"):
        _ = (x + 1).grad_fn._saved_self
    result.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = result.grad_fn._saved_result


def test_unsaved_tensors_are_not_needed():
    x = leaf(2.0, 3.0)
    y = torch.copysign(torch.ones(2), x)  # saves nothing that a second run would need
    for _ in range(2):
        y.backward(torch.ones(2))


def test_hooks_on_saved_tensors():
    x = leaf(2.0, 3.0)
    y = x.square()
    raw = y.grad_fn._raw_saved_self
    assert raw.unpack() is x
    packed = []
    raw.register_hooks(
        lambda t: packed.append(t.tolist()) or "packed", lambda name: torch.tensor([10.0, 20.0]) if name == "packed" else None
    )
    assert packed == [[2, 3]] and y.grad_fn._saved_self.tolist() == [10, 20]
    with pytest.raises(RuntimeError, match="whose hooks have already been set is not allowed"):
        raw.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [20, 40]
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        (x * torch.ones(2)).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="already been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_a_pack_hook_that_fails_changes_nothing():
    x = leaf(2.0)
    y = x.square()
    with pytest.raises(ZeroDivisionError):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: 1 / 0, lambda t: t)
    y.backward()
    assert x.grad.tolist() == [4]


WRITES = {
    "a method": lambda y, c: y.zero_(),
    "a view": lambda y, c: y[:1].zero_(),
    "an operator": lambda y, c: y.__imul__(3),
    "an item": lambda y, c: y.__setitem__(0, 9),
    "out": lambda y, c: torch.add(torch.ones(2), 1, out=c),
    "both": lambda y, c: (y.add_(1), c.zero_(), y.exp_()),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_mutation_of_saved_tensors(write):
    x, c = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    with graph.allow_mutation_on_saved_tensors() as spared:
        y = x * 1
        z = (y * c).sum() + y.square().sum()
        write(y, c)
        assert len(spared.cloned) >= 1
        assert torch.autograd.grad(z, x)[0].tolist() == [9, 13]


@pytest.mark.parametrize(
    ("write", "gradient"),
    [
        (lambda y: y.mul_(y), [4, 6]),
        (lambda y: y.mul_(y.view_as(y)), [4, 6]),
        (lambda y: y.addcmul_(y.view_as(y), y[...]), [5, 7]),
        (lambda y: y.copysign_(y[...]).hypot_(y.view(2)), [2**0.5, 2**0.5]),
        (lambda y: y.detach().mul_(y), [1, 1]),
    ],
    ids=["itself", "view_as", "addcmul_", "hypot_", "detach"],
)
def test_mutation_by_an_operand_over_the_same_memory(write, gradient):
    x = leaf(2.0, 3.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        write(y)
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == pytest.approx(gradient)


def test_nothing_is_copied_where_nothing_is_written():
    x = leaf(2.0, 3.0)
    with graph.allow_mutation_on_saved_tensors() as spared:
        z = x.square().exp()
        (x * 2).add_(1)
        assert len(spared.cloned) == 0
        z.sum().backward()


def test_the_limits_of_allowed_mutation():
    with graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
        y = leaf(1.0).exp()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        y.backward()


@pytest.mark.parametrize("on", ["leaf", "result", "node", "prehook", "accumulated"])
def test_a_hook_that_removes_a_later_one(on):
    """The run that is under way still calls it."""
    x = leaf(1.0)
    y, called, handles = x * 1, [], []
    register = {
        "leaf": x.register_hook,
        "result": y.register_hook,
        "node": y.grad_fn.register_hook,
        "prehook": y.grad_fn.register_prehook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[on]

    def first(*_):
        called.append("first")
        handles[0].remove()

    register(first)
    handles.append(register(lambda *_: called.append("second")))
    for _ in range(2):
        y.backward(retain_graph=True)
    assert called == ["first", "second", "first"]


def test_hooks_of_a_node_whose_gradient_is_asked_for():
    """backward(inputs=[y]) runs the call that made y, but none before it."""
    x, seen = torch.tensor(2.0, requires_grad=True), []
    y = x * 3
    y.register_hook(lambda g: (seen.append("tensor"), g * 3)[1])
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda made, grads: seen.append(("after", made[0])))
    (y * y).backward(inputs=[y])
    assert seen == ["tensor", "before", ("after", None)]
    assert y.grad.item() == 36 and x.grad is None


PARTS = {
    "tensor_split": lambda x: x.tensor_split(3),
    "tensor_split at places": lambda x: x.tensor_split((1, 3)),
    "tensor_split by a tensor": lambda x: x.tensor_split(torch.tensor([2])),
    "hsplit": lambda x: x.hsplit(2),
    "vsplit": lambda x: x.vsplit([1, 2]),
    "dsplit": lambda x: x.view(2, 1, 4).dsplit(2),
    "chunk": lambda x: x.chunk(2),
    "split": lambda x: x.split([1, 3]),
    "unbind": lambda x: x.unbind(),
}


@pytest.mark.parametrize("cut", PARTS)
def test_slices_have_separate_nodes(cut):
    x = torch.arange(8.0).view(4, 2).requires_grad_()
    parts = PARTS[cut](x)
    own = cut not in ("chunk", "split", "unbind")
    assert [p.output_nr for p in parts] == ([0] * len(parts) if own else list(range(len(parts))))
    assert (parts[0].grad_fn is not parts[1].grad_fn) == own
    seen = [[] for _ in parts]
    for part, heard in zip(parts, seen, strict=True):
        part.grad_fn.register_hook(lambda made, grads, heard=heard: heard.append([g if g is None else g.tolist() for g in grads]))
    sum((i + 1) * p.sum() for i, p in enumerate(parts)).backward()
    want = [torch.full_like(p, i + 1.0).tolist() for i, p in enumerate(parts)]
    assert seen == [[[w]] if own else [want] for w in want]
    total = torch.zeros(4, 2)
    for i, p in enumerate(PARTS[cut](total)):
        p.add_(i + 1)
    assert x.grad.tolist() == total.tolist()


def test_parts_that_are_slices_are_written_to():
    x = torch.ones(6, requires_grad=True)
    y = x * 1
    first, second, _ = y.tensor_split(3)
    first.mul_(3)
    (y.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3, 3, 2, 2, 1, 1]


def test_hooks_are_called_for_missing_gradients():
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    for materialize in (True, False):
        seen = []

        class Later(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, materialize=materialize):
                ctx.set_materialize_grads(materialize)
                return x * 3

            @staticmethod
            def backward(ctx, grad, seen=seen):
                seen.append(grad if grad is None else grad.tolist())
                return grad

        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p, seen=seen: seen.append(p.grad if p.grad is None else p.grad.tolist()))
        Nothing.apply(Later.apply(x).exp()).sum().backward()
        assert seen == ([[0, 0], [0, 0]] if materialize else [None, None])


def test_a_leaf_that_wants_no_gradient_any_more():
    x, seen = torch.ones(2, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert seen == [None] and x.grad is None


def test_graph_attributes_cannot_be_created_or_deleted():
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()
    x = torch.ones(2, requires_grad=True)
    y = x * x
    assert isinstance(y.grad_fn._raw_saved_self, torch.autograd.SavedTensor) and y._grad_fn is y.grad_fn
    for name in ("_grad_fn", "_backward_hooks", "requires_grad", "data"):
        with pytest.raises(RuntimeError, match="deleted"):
            delattr(y, name)
    assert x._backward_hooks is None
    handle = x.register_hook(lambda grad: grad * 2)
    assert list(x._backward_hooks) == [handle.id]
    handle.remove()
    assert x._backward_hooks is None
