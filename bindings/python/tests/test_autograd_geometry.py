"""Gradients of tensors that get another geometry in place (`t_`, `transpose_`, `squeeze_`, `unsqueeze_`, `as_strided_`), and of their
views."""

import pytest

import libtensor as torch

SQUARE = torch.arange(9.0, dtype=torch.float64).view(3, 3)

TURNS = {
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, 1),
    "swapdims_": lambda y: y.swapdims_(0, 1),
    "swapaxes_": lambda y: y.swapaxes_(-1, -2),
    "as_strided_": lambda y: y.as_strided_((3, 3), (1, 3)),
    "unsqueeze_ and squeeze_": lambda y: y.unsqueeze_(1).squeeze_(1).t_(),
    "twice": lambda y: y.t_().t_().t_(),
}


@pytest.mark.parametrize("turn", TURNS)
def test_the_base_of_a_view_gets_another_geometry(turn):
    """A view is one of what its base was, and what either writes is the other's."""

    def start(view):
        x = SQUARE.clone().requires_grad_()
        y = x * 1
        v = view(y)
        TURNS[turn](y)
        return x, y, v

    x, _, v = start(lambda y: y[0])
    (v * v).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [0, 0, 0], [0, 0, 0]]

    for view in (lambda y: y.t(), lambda y: y.view(-1), lambda y: y[:, 1]):
        x, _, v = start(view)
        want = torch.zeros(9, dtype=torch.float64).view(3, 3)
        view(want).copy_(torch.arange(1.0, v.numel() + 1).view(v.shape))
        (v * view(want).clone()).sum().backward()
        assert x.grad.tolist() == want.tolist()

    x, y, v = start(lambda y: y[0])
    y.mul_(10)
    w = y[1]
    assert v.tolist() == [0, 10, 20] and w.tolist() == [10, 40, 70]
    (v * v).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[0, 200, 400], [0, 0, 0], [0, 0, 0]]
    x.grad = None
    (w * w).sum().backward()
    assert x.grad.tolist() == [[0, 200, 0], [0, 800, 0], [0, 1400, 0]]

    x, y, v = start(lambda y: y[0])
    v.mul_(10)
    (y * y).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[0, 200, 400], [6, 8, 10], [12, 14, 16]]
    x.grad = None
    (y * SQUARE).sum().backward()
    assert x.grad.tolist() == [[0, 30, 60], [1, 4, 7], [2, 5, 8]]


RESHAPED = {
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, 1),
    "as_strided_": lambda y: y.as_strided_((4,), (1,), 1),
}


@pytest.mark.parametrize("turn", RESHAPED)
def test_the_base_of_a_view_gets_another_shape(turn):
    x = torch.arange(1.0, 7.0, dtype=torch.float64).requires_grad_()
    y = x.view(2, 3) * 1
    v = y[1]
    RESHAPED[turn](y)
    (v * v).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [0, 0, 0, 8, 10, 12]
    x.grad = None
    y.mul_(3)
    v[0].mul_(10)
    (v * v).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [0, 0, 0, 7200, 90, 108 if turn != "as_strided_" else 12]
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == ([3, 3, 3, 30, 3, 3] if turn != "as_strided_" else [0, 3, 3, 30, 3, 0])


def test_the_geometry_of_a_base_that_joined_a_graph_can_change():
    x = SQUARE.clone().requires_grad_()
    z = torch.zeros(3, 3, dtype=torch.float64)
    v = z[0]
    v.copy_(x[1])
    z.t_()
    (v * v).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[0, 0, 0], [6, 8, 10], [0, 0, 0]]
    x.grad = None
    (z * SQUARE).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 3, 6], [0, 0, 0]]


def test_tensors_with_a_replaced_geometry_are_no_views():
    x = SQUARE.clone().requires_grad_()
    y = x * 1
    v = y[0]
    y.t_()
    assert y.grad_fn.name() == "TBackward1" and v.grad_fn.name() == "AsStridedBackward0"
    y.retain_grad()
    (y * SQUARE).sum().backward()
    assert y.grad.tolist() == SQUARE.tolist() and x.grad.tolist() == SQUARE.t().tolist()
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    y.requires_grad_()
    y.sum().backward()
    assert y.grad.tolist() == (SQUARE + 1).tolist()


MADE = {
    "a view": lambda x: (x * 2)[:, :2],
    "a view of a leaf": lambda x: x[:, :2] * torch.tensor(2.0, dtype=torch.float64),
    "a view of a view": lambda x: (x * 2).view(3, 2)[:2],
    "no view": lambda x: (x * 2)[:, :2] * 1,
}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("turn", [turn for turn in TURNS if turn != "as_strided_"])
def test_geometry_counts_in_every_mode(made, turn, mode):
    def gradient(turned):
        x = torch.arange(6.0, dtype=torch.float64).view(2, 3).requires_grad_()
        y = turned(MADE[made](x))
        (y * torch.arange(4.0, dtype=torch.float64).view(2, 2)).sum().backward()
        return x.grad.tolist()

    def in_place(y):
        with mode():
            TURNS[turn](y)
        return y

    assert gradient(in_place) == gradient(lambda y: y.t())


def test_views_of_leaves_turn_without_gradients_alone():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = x[:, :2]
    with pytest.raises(RuntimeError, match="t_: a view of a leaf"):
        y.t_()
    with torch.no_grad():
        y.t_()
    (y * torch.arange(4.0).view(2, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 0], [1, 3, 0]]
    with torch.no_grad():
        x.t_()
    assert x.is_leaf and x.shape == (3, 2)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("write", [lambda y, v: None, lambda y, v: y.mul_(2), lambda y, v: v.mul_(3)], ids=["none", "base", "view"])
def test_hooks_of_a_transposed_base_receive_its_gradient(turn, write):
    x, seen = SQUARE.clone().requires_grad_(), []
    y = x * 1
    v = y[0]
    TURNS[turn](y)
    y.register_hook(lambda g: seen.append(g.clone()))
    write(y, v)
    (y.sum() + v.sum()).backward()
    assert len(seen) == 1 and seen[0].shape == y.shape
    assert sorted(seen[0].reshape(-1).tolist()) == sorted(x.grad.reshape(-1).tolist())


MOVES = {
    "set_": lambda x: x.set_(torch.tensor([[10.0, 20.0]])),
    "set_ to a storage": lambda x: x.set_(torch.tensor([10.0, 20.0, 30.0]).untyped_storage()),
    "set_ to a storage's place": lambda x: x.set_(torch.tensor([10.0, 20.0, 30.0]).untyped_storage(), 1, (2,), (1,)),
    "set_ to a tensor's place": lambda x: x.set_(torch.tensor([10.0, 20.0, 30.0]), 1, (2, 1)),
    "set_ to its own place": lambda x: x.set_(x.untyped_storage(), 1, (2,), (1,)),
    "set_ to nothing": lambda x: x.set_(),
    "t_": lambda x: x.t_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "out of another shape": lambda x: torch.add(torch.ones(7), 1.0, out=x),
    "resize_": lambda x: x.requires_grad_(False).resize_(4).fill_(5.0).requires_grad_(),
    "resize_as_": lambda x: x.requires_grad_(False).resize_as_(torch.ones(4, 4)).fill_(5.0).requires_grad_(),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.filterwarnings("ignore:.*out")
def test_leaf_with_another_storage_or_geometry_gets_the_gradient_where_it_is(move):
    x = torch.tensor([[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]], requires_grad=True)
    before = (x * x).sum()
    with torch.no_grad():
        MOVES[move](x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.shape == x.shape
    assert x.grad.tolist() == (x.detach() * 2).tolist()


def test_uses_of_a_leaf_before_set_add_to_its_gradient():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    tripled, other = (x * 3).sum(), torch.tensor([10.0, 20.0])
    with torch.no_grad():
        x.set_(other)
    (tripled + (x * x).sum()).backward()  # the derivative of the first needs nothing of x
    assert x.grad.tolist() == [23.0, 43.0]


GEOMETRIES = {
    "t_": lambda t: t.t_(),
    "swapaxes_": lambda t: t.swapaxes_(0, 0),
    "transpose_": lambda t: t.transpose_(0, 1),
    "squeeze_": lambda t: t.squeeze_(0),
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "two": lambda t: t.t_().unsqueeze_(1),
}
VIEWS = {"row": lambda t: t.select(1, 0), "all": lambda t: t.view_as(t), "step": lambda t: t[:, ::2]}
WRITES = {"sigmoid_": lambda t: t.sigmoid_(), "mul_": lambda t: t.mul_(2), "twice": lambda t: t.add_(1).mul_(2)}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_hooks_receive_gradients_of_writes_to_older_views(geometry, view, write):
    """All gradients go through the tensor that is viewed, as it is since: a hook that makes them three times as large does so to all."""
    found = []
    for factor in (1, 3):
        x = torch.tensor([[0.3, -0.5], [0.7, 0.2]], dtype=torch.float64, requires_grad=True)
        t = x @ x
        older = VIEWS[view](t)
        GEOMETRIES[geometry](t)
        WRITES[write](older)
        t.register_hook(lambda g, factor=factor: g * factor)
        (t.sum() * 2 + older.square().sum()).backward()
        found.append(x.grad)
    assert torch.allclose(found[0] * 3, found[1]) and found[0].count_nonzero() == 4
