"""autograd.Function: saved values of ctx, arguments and results of backward, views and in-place operations, second derivatives."""

import gc
import weakref

import pytest
from grad_helpers import in_use, leaf

import libtensor as torch
from libtensor.autograd import Function
from libtensor.autograd.function import once_differentiable


class Product(Function):
    @staticmethod
    def forward(ctx, a, b, scale=1):
        ctx.scale, ctx.modes = scale, torch.is_grad_enabled()
        ctx.save_for_backward(a, b)
        return a * b * scale

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        ctx.seen = torch.is_grad_enabled(), ctx.needs_input_grad
        return grad * b * ctx.scale, grad * a * ctx.scale, None


def test_a_function():
    x, y = leaf(1, 2), torch.tensor([3.0, 4.0])
    z = Product.apply(x, y, 2)
    assert repr(z) == "tensor([ 6., 16.], grad_fn=<ProductBackward>)"
    ctx = z.grad_fn
    assert ctx is z.grad_fn and ctx.name() == "ProductBackward" and ctx.scale == 2 and ctx.modes is False
    assert [t.tolist() for t in ctx.saved_tensors] == [[1, 2], [3, 4]] and ctx.next_functions[0][0].variable is x
    z.sum().backward()
    assert x.grad.tolist() == [6, 8] and ctx.seen == (False, (True, False, False))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        ctx.saved_tensors  # noqa: B018
    del z
    in_use()
    with pytest.raises(RuntimeError, match="the node ProductBackward was freed"):
        ctx.next_functions  # noqa: B018


class Square(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]


def test_second_derivatives():
    x = leaf(3)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    assert g.tolist() == [6] and torch.autograd.grad(g, x)[0].tolist() == [2]
    (g,) = torch.autograd.grad(Square.apply(Square.apply(x)).sum(), x, create_graph=True)
    assert g.tolist() == [108] and torch.autograd.grad(g, x)[0].tolist() == [108]


def test_saved_tensors_must_not_change():
    a = leaf(1, 2) * 1
    y = Square.apply(a)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*expected version 0 instead. It was saved by SquareBackward"):
        y.sum().backward()


class Gives(Function):
    @staticmethod
    def forward(ctx, x, gives):
        ctx.gives = gives
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.gives(grad)


@pytest.mark.parametrize(
    "gives, expected",
    [
        (lambda g: (g, None), [1, 1]),
        (lambda g: (g, None, None, None), [1, 1]),
        (lambda g: (None, None), None),
        (lambda g: (torch.ones(4, 2), None), [4, 4]),
        (lambda g: (g.double(), None), [1, 1]),
    ],
)
def test_valid_results_of_backward(gives, expected):
    x = leaf(1, 2)
    Gives.apply(x, gives).sum().backward()
    assert (None if x.grad is None else x.grad.tolist()) == expected and (x.grad is None or x.grad.dtype is torch.float32)


@pytest.mark.parametrize(
    "gives, error, text",
    [
        (lambda g: g, RuntimeError, r"function GivesBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, None, g), RuntimeError, r"returned an incorrect number of gradients \(expected 2, got 3\)"),
        (
            lambda g: (g, g),
            RuntimeError,
            "a gradient different than None at position 2, but the corresponding forward input was not a Variable",
        ),
        (lambda g: (3, None), RuntimeError, r"expected Variable or None \(got int\)"),
        (
            lambda g: (torch.ones(3), None),
            RuntimeError,
            r"Function GivesBackward returned an invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]",
        ),
        (lambda g: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_invalid_results_of_backward(gives, error, text):
    x = leaf(1, 2)
    before = in_use()
    with pytest.raises(error, match=text):
        Gives.apply(x, gives).sum().backward()
    assert x.grad is None and in_use() <= before + 256


class Several(Function):
    @staticmethod
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        values, indices = x.sort()
        double = x * 2
        ctx.mark_non_differentiable(double)
        return values, indices, double, 7, x * 3

    @staticmethod
    def backward(ctx, *grads):
        ctx.grads = [None if g is None else g.tolist() for g in grads]
        return grads[4] * 3, None


@pytest.mark.parametrize("materialize", [True, False])
def test_several_outputs(materialize):
    x = leaf(2, 1)
    outputs = Several.apply(x, materialize)
    assert [getattr(o, "requires_grad", None) for o in outputs] == [True, False, False, None, True] and outputs[3] == 7
    assert outputs[4].output_nr == 4 and outputs[0].grad_fn is outputs[4].grad_fn
    ctx = outputs[0].grad_fn
    outputs[4].sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert ctx.grads == ([[0, 0], [0, 0], [0, 0], None, [1, 1]] if materialize else [None, None, None, None, [1, 1]])


class Doubled(Function):
    @staticmethod
    def forward(ctx, x, dirty):
        x.mul_(2)
        if dirty:
            ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


def test_in_place():
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="^Doubled: a leaf Variable that requires grad is being used in an in-place operation"):
        Doubled.apply(x, True)
    with pytest.raises(RuntimeError, match="^Doubled: a view of a leaf Variable that requires grad is being used in an in-place operation"):
        Doubled.apply(leaf(1, 2)[:1], True)
    with pytest.raises(RuntimeError, match="^Doubled: Output 0 of Unbind is a view and is being modified inplace"):
        Doubled.apply((leaf(1, 2) * 1).unbind()[0], True)
    x = leaf(1, 2)
    y = x * 1
    z = Doubled.apply(y, True)
    assert z is y and y.grad_fn.name() == "DoubledBackward" and torch.autograd.grad(z.sum(), x)[0].tolist() == [2, 2]
    y = x * 1
    z = Doubled.apply(y[:1], True)
    assert y.grad_fn.name() == "CopySlices" and z.grad_fn.name() == "AsStridedBackward0" and y.tolist() == [2, 2]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2, 1]


class Strayed(Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            y = x * 2
        ctx.mark_dirty(y)
        return y


def test_an_output_that_requires_grad_is_rejected_with_the_name_of_the_function():
    with pytest.raises(RuntimeError, match="^Strayed: output 0 requires grad, but is not one of the inputs"):
        Strayed.apply(leaf(1, 2))


def test_views_must_not_be_written_to():
    x = leaf(1, 2)
    returned = Doubled.apply(x * 1, False)
    with pytest.raises(
        RuntimeError, match="Output 0 of Doubled is a view and is being modified inplace. This view was created inside a custom Function"
    ):
        returned.add_(1)

    class Viewed(Gives):
        @staticmethod
        def forward(ctx, x, gives):
            ctx.gives = gives
            return x.view(1, 2)

    viewed = Viewed.apply(x, lambda g: (g.view(2), None))
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        viewed.add_(1)
    viewed.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_an_input_returned_as_it_is_is_another_tensor():
    class Same(Gives):
        @staticmethod
        def forward(ctx, x, gives):
            ctx.gives = gives
            return x

    x = leaf(1, 2)
    y = Same.apply(x, lambda g: (g * 5, None))
    assert y is not x and y.data_ptr() == x.data_ptr() and torch.autograd.grad(y.sum(), x)[0].tolist() == [5, 5]
    plain = torch.ones(2)
    assert Same.apply(plain, None) is not plain and not Same.apply(plain, None).requires_grad


def test_where_nothing_is_recorded():
    x = leaf(1, 2)
    with torch.no_grad():
        assert not Product.apply(x, x).requires_grad
    y = Product.apply(torch.ones(2), torch.ones(2))
    assert not y.requires_grad and y.grad_fn is None


def test_errors():
    class Saves(Gives):
        @staticmethod
        def forward(ctx, x, gives):
            ctx.save_for_backward(3)
            return x * 2

    class Dirty(Gives):
        @staticmethod
        def forward(ctx, x, gives):
            ctx.mark_dirty(x)
            return x * 2

    class Nothing(Function):
        pass

    class Forward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = leaf(1, 2)
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        Saves.apply(x, None)
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        Dirty.apply(x * 1, None)
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Nothing.apply(x)
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        Forward.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="its methods are static"):
        Product()(x, x)


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not torch.is_grad_enabled()
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(3)
    assert torch.autograd.grad(Once.apply(x).sum(), x)[0].tolist() == [6]
    (g,) = torch.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    assert g.tolist() == [27]
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        g.sum().backward()


def test_attributes_of_ctx_are_freed_with_the_graph():
    class Holds(Gives):
        @staticmethod
        def forward(ctx, x, held):
            ctx.held = held
            ctx.save_for_backward(x * 1)
            return x * 2

    class Held:
        pass

    x = torch.ones(1000, requires_grad=True)
    before = in_use()
    held = Held()
    gone = weakref.ref(held)
    y = Holds.apply(x, held)
    del held
    assert in_use() >= before + 4000 and gone() is not None
    del y
    assert in_use() <= before + 512 and gone() is None


def test_hooks_of_functions():
    x, log = leaf(1, 2), []
    y = Square.apply(x)
    y.grad_fn.register_hook(lambda operands, results: log.append((operands[0].tolist(), results[0].tolist())))
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert log == [([20, 40], [10, 10])]


def test_anomaly_mode_names_custom_functions():
    x = leaf(1, 2)
    with torch.autograd.set_detect_anomaly(True):
        y = Gives.apply(x, lambda g: (g * float("nan"), None))  # this line
        with (
            pytest.warns(UserWarning, match="(?s)Error detected in GivesBackward.*# this line"),
            pytest.raises(RuntimeError, match="'GivesBackward' returned nan"),
        ):
            y.sum().backward()


def test_saved_by_hooks():
    log, x = [], leaf(1, 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(t.tolist()), t.clone())[1], lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    assert log == [[1, 2]] and x.grad.tolist() == [2, 4]


def test_a_complex_gradient_of_a_real_input_is_rejected():
    class Turned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad * 1j

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="TurnedBackward returned an invalid gradient at index 0 - got complex64 but expected a real"):
        Turned.apply(x).sum().backward()
    assert x.grad is None
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    Turned.apply(z).sum().backward(torch.tensor(1 + 0j))
    assert z.grad.tolist() == [1j, 1j]


def test_two_derivatives_are_rejected():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    y = Both.apply(leaf(1, 2))
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed: Both has both"):
        y.sum().backward()


def test_callbacks_at_the_end_of_a_run():
    """They are called once the run has done all else, in the order of their coming, also those that others queue."""
    queue, seen = torch.autograd.Variable._execution_engine.queue_callback, []
    x = leaf(1, 2)

    def last():
        seen.append(("last", x.grad.tolist()))
        queue(lambda: seen.append("after it"))

    def inner(grad):
        queue(lambda: seen.append("outer"))
        y = leaf(3)
        y.register_hook(lambda grad: queue(lambda: seen.append("inner")))
        with torch.enable_grad():
            y.sum().backward()
        queue(last)

    y = x * 2
    y.register_hook(inner)
    y.sum().backward()
    assert seen == ["inner", "outer", ("last", [2, 2]), "after it"]
    torch.autograd.grad((x * x).sum(), x)
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(last)


def test_views_that_functions_make_under_no_grad_are_those_of_their_steps():
    class Alias(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:]

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(1, 2)
    with torch.no_grad():
        made, step = Alias.apply(x), x[:]
    assert made.requires_grad is step.requires_grad and made.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        made.zero_()


def test_old_names():
    assert issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)

    class Twice(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            assert ctx.saved_variables[0].tolist() == [1, 2]
            return grad * 2

    x = leaf(1, 2)
    with pytest.warns(DeprecationWarning, match="saved_variables: deprecated"):
        Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_gradient_that_backward_hands_on_is_not_copied():
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            Add.place = grad.data_ptr()
            return grad, grad

    a, b = torch.ones(5, 6, requires_grad=True), torch.ones(5, 6, requires_grad=True)
    Add.apply(a, b)[1][0].backward()
    assert sorted(t.grad.data_ptr() == Add.place for t in (a, b)) == [False, True]
    assert torch.equal(a.grad, b.grad)
    a.grad = b.grad = None
    held = []
    y = Add.apply(a, b)
    y.register_hook(held.append)
    y[1][0].backward()
    a.grad.zero_(), b.grad.zero_()
    assert held[0].sum() == 1


def test_arguments_by_name_and_those_that_are_left_out():
    class Power(Function):
        @staticmethod
        def forward(x, power=3, *, scale=1):
            return scale * x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = inputs
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            power = ctx.inputs[1]
            return grad * power * ctx.saved_tensors[0] ** (power - 1), None

    x = leaf(2)
    assert torch.autograd.grad(Power.apply(x), x)[0].tolist() == [12]
    made = Power.apply(x, power=2)
    assert made.grad_fn.inputs[1:] == (2,) and torch.autograd.grad(made, x)[0].tolist() == [4]
    assert Product.apply(x, b=x, scale=3).tolist() == [12]
    with pytest.raises(TypeError, match="apply\\(\\) takes at least|missing|required"):
        Power.apply()


def test_more_arguments_and_results_than_most_functions_have():
    class Sums(Function):
        @staticmethod
        def forward(ctx, *tensors):
            return tuple(t + 1 for t in tensors)

        @staticmethod
        def backward(ctx, *grads):
            return tuple(2 * grad for grad in grads)

    inputs = [leaf(i) for i in range(40)]
    outputs = Sums.apply(*inputs)
    assert [t.item() for t in outputs] == list(range(1, 41))
    torch.cat([t * i for i, t in enumerate(outputs)]).sum().backward()
    assert [t.grad.item() for t in inputs] == [2 * i for i in range(40)]


@pytest.mark.parametrize("keeps", [lambda ctx, y: setattr(ctx, "y", y), lambda ctx, y: setattr(ctx, "y", {"list": [y, (y,)]})])
@pytest.mark.parametrize("runs", [False, True])
def test_a_result_that_ctx_keeps_goes_with_the_graph(keeps, runs):
    class Keeping(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            keeps(ctx, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def call():
        x = leaf(1, 2)
        y = Keeping.apply(x)
        if runs:
            (y * y).sum().backward()
            assert x.grad.tolist() == [8, 16]
        gc.collect()
        assert y.tolist() == [2, 4] and y.grad_fn.y is not None
        return weakref.ref(y), weakref.ref(y.grad_fn)

    gone = call()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_objects_in_use_survive_the_collector():
    class Keeping(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.y.detach()

    x = leaf(3)
    z = Keeping.apply(x) * 5
    view = Keeping.apply(x).view(1, 1)
    kept = Keeping.apply(x).grad_fn
    gc.collect()
    assert kept.y.tolist() == [6] and torch.autograd.grad(z, x)[0].tolist() == [30] and torch.autograd.grad(view, x)[0].tolist() == [6]
    del z, view, kept
    gc.collect()


@pytest.mark.parametrize("operators", [0, 1])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_mark_dirty_counts_a_write(operators, requires_grad):
    """Values that were saved before raise an error, also if the function wrote past the operators, for example by NumPy."""

    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            if operators:
                x.mul_(2)
            else:
                x.detach().numpy()[...] *= 2
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = torch.ones(3, requires_grad=requires_grad) * 1
    view, z = y.view(3), y * y
    Doubles.apply(y)
    assert y._version == view._version == 1 + operators and y.tolist() == [2, 2, 2]
    if requires_grad:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
