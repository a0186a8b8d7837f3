"""Gradients of views whose elements share memory."""

import pytest
from grad_helpers import double_leaf as leaf

import libtensor as torch

OVERLAPPING = {
    "expand": (lambda t: t.expand(2, 4), [2, 2, 2, 2]),
    "unfold": (lambda t: t.unfold(0, 2, 1), [1, 2, 2, 1]),
    "as_strided": (lambda t: t.as_strided((3,), (0,), 1), [0, 3, 0, 0]),
    "broadcast_to": (lambda t: t[:1].broadcast_to(4), [4, 0, 0, 0]),
}


@pytest.mark.parametrize("view", OVERLAPPING)
def test_the_base_of_a_view_that_overlaps_itself_changes(view):
    make, counts = OVERLAPPING[view]
    x = leaf(1, 2, 3, 4)
    y = x * 2
    v = make(y)
    y.mul_(3)
    v.sum().backward()
    assert x.grad.tolist() == [6 * n for n in counts]
    y = x * x
    v = make(y)
    y.mul_(3)
    (g,) = torch.autograd.grad(v.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [6 * n for n in counts]


def test_gradients_that_share_memory_are_added_up():
    x = torch.ones(4, requires_grad=True)
    y = torch.zeros(4)
    y[1:3] = x[:2]
    y[0] = x.sum()
    (y * torch.arange(1.0, 5)).sum().backward()
    assert x.grad.tolist() == [3, 4, 1, 1]
    x.grad = None
    (x.sum() + x[0] + x.mean() * 4 + x.expand(2, 4).sum()).backward()
    assert x.grad.tolist() == [5, 4, 4, 4]


STRIDED = {
    "as_strided": (lambda y: y.as_strided((2, 2), (1, 1), 0).as_strided((2, 2), (1, 1), 0), [0, 4, 4, 0, 0, 0]),
    "unfold": (lambda y: y.unfold(0, 3, 1).as_strided((3,), (1,), 1), [0, 2, 4, 6, 0, 0]),
    "expand": (lambda y: y[:2].expand(3, 2).as_strided((2,), (1,)), [0, 2, 0, 0, 0, 0]),
    "fold of a part": (lambda y: y.unfold(0, 2, 1).as_strided((2,), (3,), 1), [0, 2, 0, 0, 8, 0]),
}


@pytest.mark.parametrize("view", STRIDED)
def test_as_strided_of_overlapping_elements(view):
    """Elements that share memory share its gradient, however they come to share it."""
    make, want = STRIDED[view]
    x = leaf(0, 1, 2, 3, 4, 5)
    v = make(x * 1)
    (v * v).sum().backward()
    assert x.grad.tolist() == want


def test_second_derivatives_of_overlapping_parts_of_complex_numbers():
    x = leaf(*range(8))
    y = x.view(4, 2) * 1
    v = torch.view_as_complex(y).real.unfold(0, 2, 1)
    y[0].zero_()
    (g,) = torch.autograd.grad((v**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    assert g.tolist() == [0, 0, 24, 0, 96, 0, 108, 0] and h.tolist() == [0, 0, 1152, 0, 9216, 0, 7776, 0]

    y = torch.view_as_complex(x.view(4, 2)) * 1
    v = torch.view_as_real(y).unfold(0, 2, 1)
    y[0] = 0
    (g,) = torch.autograd.grad((v**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    assert g.tolist() == [0, 0, 24, 54, 96, 150, 108, 147] and h.tolist() == [0, 0, 1152, 3888, 9216, 18000, 7776, 12348]

    y = x * 1
    v = torch.view_as_complex(y.view(4, 2)).unfold(0, 2, 1)
    y[:2].zero_()
    (torch.view_as_real(v) ** 2).sum().backward()
    assert x.grad.tolist() == [0, 0, 8, 12, 16, 20, 12, 14]


FILLED = {
    "expand": (lambda y: y[:2].expand(3, 2), [0, 1]),
    "unfold": (lambda y: y.unfold(0, 3, 1)[:2], [0, 1, 2, 3]),
    "as_strided": (lambda y: y.as_strided((2, 2), (1, 1), 1), [1, 2, 3]),
}


@pytest.mark.parametrize("view", FILLED)
def test_overlapping_tensors_are_filled(view):
    make, places = FILLED[view]
    x = leaf(0, 1, 2, 3, 4, 5)
    y = x * 1
    make(y).fill_(3)
    assert y.tolist() == [3 if i in places else i for i in range(6)]
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.tolist() == [0 if i in places else 2 * i for i in range(6)]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0 if i in places else 2 for i in range(6)]
    y = x * 1
    make(y).zero_()
    y.mul_(x)
    (y * y).sum().backward()
    assert x.grad.tolist() == [0 if i in places else 4 * i**3 for i in range(6)]


def test_as_strided_of_complex_numbers_that_overlap():
    x = leaf(1, 2, 3, 4)
    y = torch.view_as_complex(x.view(2, 2)) * 1
    torch.view_as_real(y.expand(3, 2).as_strided((2,), (1,))).pow(2).sum().backward()
    assert x.grad.tolist() == [2, 4, 6, 8]


SHARED = {
    "a row": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__(0, torch.zeros(2, dtype=torch.float64)), [0, 2]),
    "a number": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__((0, 1), 7.0), [2]),
    "a window": (lambda v, w: v.unfold(0, 3, 1).__setitem__(0, 0.0), [0, 1, 2]),
    "of an expanded tensor": (lambda v, w: v.expand(2, 6).__setitem__((0, 0), 7.0), [0]),
    "of a window of a view": (lambda v, w: v.view(2, 3).unfold(1, 2, 1)[0].__setitem__(0, 5.0), [0, 1]),
    "all, one value": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__(slice(None), 9.0), [0, 2, 4]),
    "by positions": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__(torch.tensor([1]), 9.0), [2, 4]),
    "by a mask": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__(torch.tensor([[True, True], [False, False]]), 9.0), [0, 2]),
    "what has a gradient": (lambda v, w: v.as_strided((2, 2), (2, 2)).__setitem__(0, w * 3), [0, 2]),
}


@pytest.mark.parametrize("kind", SHARED)
def test_writing_to_a_part_of_a_view_whose_elements_share_memory(kind):
    """Overwritten elements have no gradient, for any element of the view that shares their memory."""
    write, gone = SHARED[kind]
    x = leaf(1, 2, 3, 4, 5, 6)
    w = leaf(1, 2)
    v = x.clone()
    write(v, w)
    q = v.as_strided((2, 2), (2, 2))
    (v.sum() + q[1].sum() * 2).backward()
    wanted = [1, 1, 3, 1, 3, 1]
    assert x.grad.tolist() == [0 if i in gone else g for i, g in enumerate(wanted)]
    assert w.grad is None or w.grad.tolist() == [3, 9]


@pytest.mark.parametrize(
    "write, grad",
    [
        (lambda v: v.expand(2, 4).masked_fill_(torch.eye(2, 4, dtype=torch.bool), 0.7), [0, 0, 1, 1]),
        (lambda v: v.expand(2, 4).fill_diagonal_(0.7), [0, 0, 1, 1]),
        (lambda v: v.expand(2, 4).t().index_fill_(1, torch.tensor([0]), 0.7), [0, 0, 0, 0]),
        (lambda v: v.unfold(0, 2, 1).index_put_((torch.tensor([1]), torch.tensor([1])), torch.tensor(0.7)), [1, 1, 0, 1]),
        (lambda v: v.expand(2, 4).masked_fill_(torch.zeros(2, 4, dtype=torch.bool), 0.7), [1, 1, 1, 1]),
    ],
)
def test_writes_to_some_of_the_elements_at_one_place(write, grad):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    v = x * x
    write(v)
    first = torch.autograd.grad(v.sum(), x, create_graph=True)[0]
    assert first.tolist() == [2 * g * n for g, n in zip(grad, x.tolist(), strict=True)]
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2.0 * g for g in grad]


def test_values_written_to_elements_at_one_place_have_no_gradient():
    v, value = torch.arange(4.0), torch.tensor(0.7, requires_grad=True)
    v.unfold(0, 2, 1).masked_fill_(torch.eye(3, 2, dtype=torch.bool), value)
    with pytest.raises(NotImplementedError, match=r"refer to a single memory location, is not implemented; clone\(\) the view"):
        v.sum().backward()
