"""Results of custom functions that share memory with other tensors: which writes raise, and what saved results are in backward."""

import pytest
from grad_helpers import leaf

import libtensor as torch
from libtensor.autograd import Function


def returning(forward):
    """A Function with a forward, whose backward is 10 in every element."""

    class Returning(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.sizes = x.shape
            return forward(ctx, x)

        @staticmethod
        def backward(ctx, *grads):
            return torch.full(ctx.sizes, 10.0)

    return Returning.apply


def dirty_and_row(ctx, x):
    ctx.mark_dirty(x.mul_(3))
    return x, x[0]


FORWARDS = {
    "the input": (lambda ctx, x: x, "inside a custom Function"),
    "an alias": (lambda ctx, x: x.view_as(x), "inside a custom Function"),
    "another shape": (lambda ctx, x: x.view(-1), "inside a custom Function"),
    "a row": (lambda ctx, x: x[0], "inside a custom Function"),
    "two rows": (lambda ctx, x: (x[0], x[1]), "multiple views"),
    "rows at once": (lambda ctx, x: x.unbind(0), "multiple views"),
    "a view and a new tensor": (lambda ctx, x: (x.view(-1), x * 2), "multiple views"),
}


def without_recording(write):
    def in_no_grad(x, y):
        with torch.no_grad():
            write(x, y)

    return in_no_grad


WRITES = {
    "the input": lambda x, y: x.mul_(0),
    "the base": lambda x, y: (x if x._base is None else x._base).mul_(0),
    "a view of the input": lambda x, y: x[0].mul_(0),
    "the input, by a value with a gradient": lambda x, y: x.mul_(leaf(0, 0)),
    "the input, all of it": lambda x, y: x.zero_(),
    "the input without recording": without_recording(lambda x, y: x.mul_(0)),
    "the detached input": lambda x, y: x.detach().mul_(0),
    "the result without recording": without_recording(lambda x, y: y.mul_(0)),
}
INPUTS = {
    "computed": lambda: torch.ones(2, 2, requires_grad=True) * 1,
    "a view": lambda: (torch.ones(2, 2, 2, requires_grad=True) * 1)[0],
}


@pytest.mark.parametrize("made", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(("forward", "reason"), FORWARDS.values(), ids=FORWARDS)
def test_a_view_that_a_function_returned_is_not_used_after_a_write(forward, reason, write, made):
    x = made()
    made = returning(forward)(x)
    y = made[0] if isinstance(made, tuple) else made
    view = y.view(-1)
    write(x, y)
    stale = f"Output 0 of {{}} is a view and its base or another view of its base has been modified inplace. This view .*{reason}"
    for use in (lambda: y.sum().backward(), lambda: y.grad_fn):
        with pytest.raises(RuntimeError, match=stale.format("Returning")):
            use()
    with pytest.raises(RuntimeError, match=stale.format("View")):
        view.grad_fn  # noqa: B018


@pytest.mark.parametrize(("forward", "reason"), FORWARDS.values(), ids=FORWARDS)
def test_a_view_that_a_function_returned_is_not_written_to(forward, reason):
    made = returning(forward)(torch.ones(2, 2, requires_grad=True))
    y = made[0] if isinstance(made, tuple) else made
    for t in (y, y.view(-1)):
        with pytest.raises(RuntimeError, match=f"is a view and is being modified inplace. This view .*{reason}"):
            t.mul_(0)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        y.detach_()
    assert y.flatten()[0].item() == 1
    y.sum().backward()


def test_detached_tensors_are_no_views():
    x = torch.ones(2, 2, requires_grad=True)
    for made in (x * 1, torch.stack([x, x])[0]):
        y = returning(lambda ctx, x: x.detach())(made)
        y.mul_(3)
        (grad,) = torch.autograd.grad(y.sum(), x)
        assert not y._is_view() and grad.tolist() == [[10, 10], [10, 10]]


def test_a_view_of_a_tensor_that_forward_keeps_is_one():
    kept = []

    def forward(ctx, x):
        kept.append(x * 2)
        return kept[0][0]

    y = returning(forward)(torch.ones(2, 2, requires_grad=True))
    kept[0].mul_(0)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        y.sum().backward()


def test_a_view_that_is_written_to_is_the_only_result():
    x = (torch.ones(2, 2, 2, requires_grad=True) * 1)[0]
    with pytest.raises(
        RuntimeError, match="inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor"
    ):
        returning(dirty_and_row)(x)
    x, y = returning(dirty_and_row)(torch.ones(2, 2, requires_grad=True) * 1)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="Output 1 of Returning is a view and its base .* returns multiple views"):
        y.sum().backward()


def test_a_write_to_a_view_of_a_plain_tensor_reaches_the_tensor():
    class Add(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.add_(y)

        @staticmethod
        def backward(ctx, grad):
            return grad, grad * 5

    base, y = torch.zeros(2, 2), leaf(1, 2)
    row = base[0]
    assert Add.apply(row, y) is row and base.requires_grad
    (base * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert y.grad.tolist() == [5, 10]


def test_a_result_without_gradient_is_saved_without_a_graph():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            scale, row = x * 3, x.view(-1)
            ctx.mark_non_differentiable(scale, row)
            ctx.save_for_backward(x, scale, row)
            return x * 2, scale, row

        @staticmethod
        def backward(ctx, grad, *_):
            x, scale, row = ctx.saved_tensors
            assert x.requires_grad and not scale.requires_grad and scale.grad_fn is None and not row.requires_grad
            return grad * scale * x

    x = leaf(2)
    y, scale, row = Scaled.apply(x)
    assert not scale.requires_grad and not row.requires_grad and row.data_ptr() == x.data_ptr()
    (grad,) = torch.autograd.grad(y, x, create_graph=True)
    assert grad.tolist() == [12] and torch.autograd.grad(grad, x)[0].tolist() == [6]


def test_a_view_that_is_saved_is_the_result_that_it_is():
    class Flat(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.view(-1)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            assert y.grad_fn is ctx
            return (grad * y * y).view(2, 1)

    x = torch.tensor([[2.0], [3.0]], requires_grad=True)
    (grad,) = torch.autograd.grad(Flat.apply(x).sum(), x, create_graph=True)
    assert grad.tolist() == [[4], [9]]
    # The derivative of y*y by y is 2y, and that of y by x is y*y again.
    assert torch.autograd.grad(grad.sum(), x)[0].tolist() == [[16], [54]]


def test_a_stale_view_is_no_argument_of_a_function():
    x = torch.ones(2, 2, requires_grad=True) * 1
    y = returning(lambda ctx, x: x)(x)
    x.mul_(2)
    called = []
    with pytest.raises(
        RuntimeError, match="Output 0 of Returning is a view and its base or another view of its base has been modified inplace"
    ):
        returning(lambda ctx, x: called.append(x) or x * 2)(y)
    assert not called
    with torch.no_grad():
        assert returning(lambda ctx, x: x * 2)(y).tolist() == [[4, 4], [4, 4]]
