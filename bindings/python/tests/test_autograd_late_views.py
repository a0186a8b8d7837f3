"""Views that were there before their base became a leaf, and what saved, detached, resized and split tensors are to gradients."""

import pytest
from grad_helpers import leaf

import libtensor as torch

VIEWS = [lambda x: x[0], lambda x: x.t(), lambda x: x.unbind()[0], lambda x: x.view(4)[1:][:2], lambda x: x.unfold(1, 1, 1)]


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_tensor_that_becomes_a_leaf_are_views_of_the_leaf(view):
    x, other = torch.ones(2, 2), torch.ones(2, 2)
    v, apart, copied = view(x), view(x.detach()), view(x).clone()
    want = torch.zeros(2, 2)
    view(want).add_(3)
    x.requires_grad_()
    assert v.requires_grad and not apart.requires_grad and not copied.requires_grad and not view(other).requires_grad
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        v.add_(5)
    with torch.no_grad():
        v.add_(1)
    (v * 3).sum().backward()
    assert torch.equal(x.grad, want) and v.grad_fn is not None


REJECTED = {
    "add_": lambda t, other: t.add_(other),
    "copy_": lambda t, other: t.copy_(other),
    "addcmul_": lambda t, other: t.addcmul_(other, other),
    "clamp_": lambda t, other: t.clamp_(other, other),
    "masked_fill_": lambda t, other: t.masked_fill_(torch.ones(2, dtype=torch.bool), other.sum()),
    "index_add_": lambda t, other: t.index_add_(0, torch.tensor([7, 8]), other),
    "index_put_": lambda t, other: t.__setitem__(torch.tensor([7, 8]), other),
    "a slice": lambda t, other: t.__setitem__(slice(0, 3), other),
    "lerp_": lambda t, other: t.lerp_(other, 0.5),
    "a function that fails": lambda t, other: Fails.apply(t, other),
}


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x * 1


@pytest.mark.parametrize("view", [lambda x: x.view(3), lambda x: x[:], lambda x: x.view(1, 3)[0], lambda x: x.unfold(0, 3, 1)[0]])
@pytest.mark.parametrize("write", REJECTED.values(), ids=REJECTED)
def test_a_write_that_raises_does_not_change_plain_views(write, view):
    x = torch.ones(3)
    w = view(x)
    with pytest.raises((RuntimeError, IndexError)):
        write(w, torch.ones(2, requires_grad=True))
    x.mul_(2)
    w.requires_grad_()
    w.sum().backward()
    assert w.is_leaf and w.grad.tolist() == [1, 1, 1] and x.tolist() == [2, 2, 2]


def test_a_view_that_becomes_a_leaf_does_not_affect_others():
    x = torch.ones(4)
    a, b = x[:2], x[1:]
    a.requires_grad_()
    assert a.is_leaf and not b.requires_grad and not x.requires_grad
    b.add_(1)
    (a * a).sum().backward()
    assert a.grad.tolist() == [2, 4]


@pytest.mark.parametrize("change", [lambda y: y.div_(2), lambda y: y.mul_(3), lambda y: y.sin_()])
def test_detach_after_a_write_detaches_the_written_elements(change):
    x = leaf(1, 2)
    y = x * 1
    change(y)
    z = y * torch.tensor([3.0, 4.0])
    slope = torch.autograd.grad(z.sum(), x, retain_graph=True)[0]
    y.detach_()
    z.sum().backward()
    assert x.grad.tolist() == slope.tolist()


@pytest.mark.parametrize("saves", [lambda x: x.sin(), lambda x: x * x, lambda x: x.pow(3)])
def test_saved_tensors_that_were_detached_are_rejected(saves):
    x = leaf(1, 2)
    a = x.clone()
    y = saves(a)
    a.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached in-place"):
        y.sum().backward()
    a.requires_grad_()
    saves(a).sum().backward()
    assert a.grad is not None and x.grad is None
    b = x.clone().detach_().mul_(x)
    saves(b).sum().backward()
    assert x.grad is not None


def test_results_that_a_call_saved_may_be_detached():
    x = leaf(0)
    y = x.exp()
    z = y * 1
    y.detach_()
    z.backward()
    assert x.grad.item() == 1


def test_resizing_counts_as_a_write_where_the_sizes_change():
    x = torch.zeros(6)
    for resize, version in (
        (lambda: x.resize_(6), 0),
        (lambda: x.resize_(2, 3), 1),
        (lambda: x.resize_as_(torch.ones(2, 3)), 1),
        (lambda: x.resize_as_(torch.ones(3, 2)), 2),
        (lambda: x.resize_(0), 3),
        (lambda: x.resize_(0), 3),
    ):
        resize()
        assert x._version == version
    images = torch.zeros(1, 2, 2, 2)
    images.resize_(1, 2, 2, 2, memory_format=torch.channels_last)
    assert images._version == 0 and images.stride() == (8, 1, 4, 2)


@pytest.mark.parametrize(
    "split", [lambda x: x.unsafe_split(1), lambda x: x.unsafe_split_with_sizes((1, 1, 1)), lambda x: x.unsafe_chunk(3)]
)
def test_chunks_of_an_unsafe_split_can_be_written(split):
    x, k = leaf(1, 2, 3), leaf(5)
    y = x * 1
    a, b, c = split(y)
    a.mul_(k)
    c.zero_()
    (a * 2 + b).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [10, 1, 0] and k.grad.tolist() == [2]
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [5, 1, 0]


@pytest.mark.parametrize("name", ["mT", "mH", "H", "adjoint"])
@pytest.mark.filterwarnings("ignore:.*deprecated for 0-dimensional tensors")
def test_transposes_without_dimensions_are_views_of_the_leaf_that_a_tensor_becomes(name):
    x = torch.tensor(2.0)
    y = getattr(x, name)
    y = y() if callable(y) else y
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        y.mul_(x)
    assert y.requires_grad and x.item() == 2
    del x, y


def test_to_dense_returns_a_dense_tensor_itself():
    x = torch.rand(2, 3, requires_grad=True)
    assert x.to_dense() is x and x.dequantize() is x
    assert x.to_dense(torch.float64) is not x and x.double().dequantize().dtype is torch.float32
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.to_dense().mul_(2)


@pytest.mark.parametrize(
    ("write", "gradient"),
    [
        (lambda y: y.mul_(2), [[3, 3], [3, 3]]),
        (lambda y: y.square_(), [[3, 5], [7, 9]]),
        (lambda y: y.float_power_(2), [[3, 5], [7, 9]]),
        (lambda y: y.renorm_(2, 0, 100.0), [[2, 2], [2, 2]]),
    ],
    ids=["mul_", "square_", "float_power_", "renorm_"],
)
def test_hooks_of_a_view_belong_to_its_node_at_registration(write, gradient):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    z = y.t()
    z.register_hook(lambda g: g * 10)
    write(z)
    (y.sum() / 2 + z.sum() / 2 + x.sum()).backward()
    assert x.grad.tolist() == gradient


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[0], lambda x: x.view(4), lambda x: x.detach()])
def test_writes_to_data_change_tensors_that_saved_only_it(view):
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    data = x.data
    version = x._version
    of_data, of_x = data * w, x * w
    view(data).mul_(2)
    assert x._version == version and torch.equal(x, data)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        of_data.sum().backward()
    of_x.sum().backward()
    of_data = data * w
    x.mul_(2)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        of_data.sum().backward()
