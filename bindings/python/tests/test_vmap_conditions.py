"""torch.cond inside vmap with a condition that differs between batch elements: results and derivatives are those of a loop over the
batch."""

import pytest

import libtensor as torch
from libtensor import func
from libtensor._higher_order_ops import while_loop

SCALE, OFFSETS = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64), torch.tensor([0.25, 1.0, 4.0], dtype=torch.float64)
X = torch.tensor([[1.0, 2.0, 3.0], [-3.0, 1.0, 0.5], [0.5, -4.0, 1.0], [0.0, 0.0, 0.0]], dtype=torch.float64)

FUNCTIONS = {
    "operands": lambda x: torch.cond(x.sum() > 0, torch.sin, lambda x: x.cos() * 2, (x,)),
    "a closure": lambda x: torch.cond(x.sum() > 0, lambda: x * SCALE, lambda: x.exp() - OFFSETS),
    "a condition of one dimension": lambda x: torch.cond(x[:1] > 0, lambda x: x * 2, lambda x: x - 1, (x,)),
    "a condition that is no bool": lambda x: torch.cond(x.sum(), lambda x: x * 2, lambda x: x - 1, (x,)),
    "structures": lambda x: torch.cond(
        x.sum() > 0, lambda x, y: {"a": x * y, "b": (x.sum(), 3)}, lambda x, y: {"a": y - x, "b": (x.prod(), 3)}, (x, SCALE)
    ),
    "unbatched results": lambda x: torch.cond(x.sum() > 0, lambda x: SCALE, lambda x: OFFSETS, (x,)) * x,
    "one unbatched result": lambda x: torch.cond(x.sum() > 0, lambda x: SCALE, lambda x: x * x, (x,)),
    "an operand": lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: -x, (x,)),
    "writes to results": lambda x: torch.cond(x.sum() > 0, lambda x: x.clone().add_(1), lambda x: torch.zeros_like(x).copy_(x * 3), (x,)),
    "a condition in a condition": lambda x: torch.cond(
        x.sum() > 0, lambda x: torch.cond(x[0] > 0.7, lambda x: x * 2, lambda x: x * 3, (x,)), lambda x: x - 1, (x,)
    ),
    "an unbatched condition in a condition": lambda x: torch.cond(
        x.sum() > 0, lambda x: torch.cond(SCALE[0] > 0, lambda x: x * 2, lambda x: x * 3, (x,)), lambda x: x - 1, (x,)
    ),
}


def loop(f):
    def each(xs):
        rows = [f(x) for x in xs]
        return torch.utils._pytree.tree_map(lambda *t: torch.stack(t) if isinstance(t[0], torch.Tensor) else t[0], *rows)

    return each


def total(tree):
    return sum(t.sum() for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor))


TRANSFORMS = {
    "values": lambda over, f: over(lambda x: tensors(f(x)))(X),
    "dimension 1": lambda over, f: func.vmap(lambda x: tensors(f(x)), in_dims=1)(X.T)
    if over is func.vmap
    else over(lambda x: tensors(f(x)))(X),
    "vmap of grad": lambda over, f: over(func.grad(lambda x: total(f(x))))(X),
    "grad of vmap": lambda over, f: func.grad(lambda x: total(over(lambda x: tensors(f(x)))(x)))(X),
    "jvp of vmap": lambda over, f: func.jvp(over(lambda x: tensors(f(x))), (X,), (X + 1,)),
    "vmap of jvp": lambda over, f: over(lambda x: func.jvp(lambda x: tensors(f(x)), (x,), (x + 1,))[1])(X),
    "hessians": lambda over, f: over(func.hessian(lambda x: total(f(x))))(X),
    "nested": lambda over, f: over(over(lambda x: tensors(f(x))))(torch.stack([X, X.flip(1) - 0.5])),
}


def tensors(tree):
    return [t for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_a_loop(name, transform):
    batched, looped = (TRANSFORMS[transform](over, FUNCTIONS[name]) for over in (func.vmap, loop))
    torch.testing.assert_close(torch.utils._pytree.tree_leaves(batched), torch.utils._pytree.tree_leaves(looped))


def test_backward_is_that_of_a_loop():
    grads = []
    for over in (func.vmap, loop):
        x = X.clone().requires_grad_()
        over(FUNCTIONS["a closure"])(x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


BUFFER = torch.zeros(3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("true_fn", "false_fn", "text"),
    [
        (lambda x: x.mul_(2), lambda x: x - 1, r"true_fn writes to a tensor of shape \[3\]"),
        (lambda x: x * 2, lambda x: x.view(-1).zero_(), r"false_fn writes to a tensor of shape \[3\]"),
        (lambda x: x * 2, lambda x: BUFFER.add_(1) * x, r"false_fn writes to a tensor of shape \[3\]"),
        (
            lambda x: x * 2,
            lambda x: x.float(),
            r"true_fn returned shape \[3\] and dtype torch.float64, false_fn shape \[3\] and dtype torch.float32",
        ),
        (lambda x: x * 2, lambda x: x.sum(), r"false_fn shape \[\] and dtype torch.float64"),
        (lambda x: (x, 1), lambda x: (x, 2), "true_fn returned 1, false_fn 2"),
        (lambda x: (x, x), lambda x: x, "different structures"),
    ],
)
def test_functions_that_differ_or_write_are_errors(true_fn, false_fn, text):
    with pytest.raises(RuntimeError, match=f"cond: inside vmap: .*{text}"):
        func.vmap(lambda x: torch.cond(x.sum() > 0, true_fn, false_fn, (x,)))(X.clone())


def test_conditions_have_one_element():
    with pytest.raises(
        RuntimeError, match=r"torch.cond: Expected pred to be bool or single-element tensor, but got a tensor of shape \[3\]"
    ):
        func.vmap(lambda x: torch.cond(x > 0, torch.sin, torch.cos, (x,)))(X)


def test_loops_whose_condition_differs_between_batch_elements_are_errors():
    with pytest.raises(RuntimeError, match="while_loop: inside vmap: the condition differs between batch elements"):
        func.vmap(lambda x: while_loop(lambda x: x.sum() < 10, lambda x: x + 1, (x,)))(X)
    counted = func.vmap(lambda x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))[1])(X)
    assert torch.equal(counted, X * 8)
