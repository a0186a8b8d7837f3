"""Gradients of sparse tensors in custom functions and hooks."""

import pytest
from grad_helpers import in_use

import libtensor as torch
from libtensor.autograd import Function
from libtensor.autograd.graph import register_multi_grad_hook

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc")
DENSE = [[0.0, 1.0], [2.0, 0.0]]


def leaf(layout):
    return torch.tensor(DENSE).to_sparse(layout=getattr(torch, layout)).requires_grad_()


def spread(x, layout):
    return x if layout is None else x.to_sparse(layout=getattr(torch, layout))


def function(given, made, backward):
    """A function from an operand of one layout to twice that in another, whose gradient has a layout too; None is strided."""

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return spread((x if given is None else x.to_dense()) * 2, made)

        @staticmethod
        def backward(ctx, grad):
            Twice.seen = grad, ctx.saved_tensors[0]
            return spread((grad if made is None else grad.to_dense()) * 2, backward)

    return Twice


@pytest.mark.parametrize("backward", [None, *LAYOUTS])
@pytest.mark.parametrize("made", [None, *LAYOUTS])
@pytest.mark.parametrize("given", [None, *LAYOUTS])
def test_functions_of_sparse_tensors(given, made, backward):
    x = torch.tensor(DENSE, requires_grad=True) if given is None else leaf(given)
    twice = function(given, made, backward)
    y = twice.apply(x)
    (y if made is None else y.to_dense()).pow(2).sum().backward()
    grad, saved = twice.seen
    assert grad.layout is y.layout and grad.shape == (2, 2) and saved is x or saved.layout is x.layout
    assert (grad if made is None else grad.to_dense()).tolist() == [[0, 4], [8, 0]]
    kept = given is None and backward == "sparse_coo"  # a strided leaf accepts a COO gradient unchanged
    assert x.grad.layout is (torch.sparse_coo if kept else x.layout) and x.grad.shape == (2, 2)
    assert (x.grad if x.grad.layout is torch.strided else x.grad.to_dense()).tolist() == [[0, 8], [16, 0]]
    assert "Tensor" not in repr(x.grad)


def test_a_gradient_of_a_function_has_the_sizes_of_its_operand():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x.to_dense()

        @staticmethod
        def backward(ctx, grad):
            return torch.ones(3, 2)

    with pytest.raises(
        RuntimeError, match=r"WrongBackward returned an invalid gradient at index 0 - got \[3, 2\] but expected .* \[2, 2\]"
    ):
        Wrong.apply(leaf("sparse_coo")).sum().backward()


def test_second_derivatives_of_functions_of_sparse_tensors():
    x = leaf("sparse_coo")
    y = function("sparse_coo", "sparse_coo", "sparse_coo").apply(x)
    (g,) = torch.autograd.grad((y.to_dense() ** 3).sum(), x, create_graph=True)
    assert g.to_dense().tolist() == [[0, 24], [96, 0]]
    (h,) = torch.autograd.grad(g.to_dense().sum(), x)
    assert h.to_dense().tolist() == [[0, 48], [96, 0]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("inner", [False, True])
def test_hooks_are_given_sparse_gradients(layout, inner):
    x, seen = leaf(layout), []
    y = x * 1 if inner else x
    y.register_hook(seen.append)
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g.to_dense() + 1)
    (y * y).to_dense().sum().backward()
    assert seen[0].layout is x.layout and seen[0].to_dense().tolist() == [[0, 2], [4, 0]]
    assert x.grad.layout is x.layout and x.grad.to_dense().tolist() == [[0, 21], [41, 0]]


def test_a_hook_changes_no_sizes_of_a_sparse_gradient():
    x = leaf("sparse_coo")
    x.register_hook(lambda g: torch.ones(3))
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        (x * 2).sum().backward()


def test_hooks_on_sparse_leaves_and_groups():
    x, z, seen = leaf("sparse_coo"), torch.ones(2, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p.layout, p.grad.to_dense().tolist())))
    register_multi_grad_hook([x, z], lambda grads: seen.append([g.layout for g in grads]))
    register_multi_grad_hook([x, z], lambda grad: seen.append(grad.shape), mode="any")
    (x @ z).sum().backward()
    assert (torch.sparse_coo, [[0, 1], [1, 0]]) in seen and [torch.sparse_coo, torch.strided] in seen and len(seen) == 3


def test_hooks_of_sparse_tensors_keep_nothing():
    before = in_use()
    for remove in (False, True):
        x = leaf("sparse_coo")
        y = x * 2
        handles = [y.register_hook(lambda g: g), x.register_hook(lambda g: g), register_multi_grad_hook([x, y], lambda g: None)]
        function("sparse_coo", "sparse_coo", None).apply(y).sum().backward()
        if remove:
            for handle in handles:
                handle.remove()
        del x, y, handles
    assert in_use() == before


def test_entries_at_one_place_have_one_gradient():
    indices, values = torch.tensor([[0, 0, 1]]), torch.tensor([1.0, 2.0, 3.0])
    s = torch.sparse_coo_tensor(indices, values, (2,)).requires_grad_()
    weights = torch.tensor([1.0, 10.0])
    seen = []
    s.register_hook(lambda g: seen.append(g.to_dense().tolist()))
    (s.to_dense() * weights).sum().backward()
    (s.to_dense() * weights).sum().backward()
    assert s.grad.is_coalesced() and s.grad.to_dense().tolist() == [2, 20] and seen == [[1, 10], [1, 10]]
    (given,) = torch.autograd.grad((s.to_dense() * weights).sum(), s)
    assert given.to_dense().tolist() == [1, 10] and s.to_dense().tolist() == [3, 3]


@pytest.mark.parametrize("places", [[[0, 0, 1]], [[0, 2, 1]], [[0, 1, 2]]])
def test_a_given_gradient_is_that_of_elements(places):
    for given in ([[0, 0, 1]], [[0, 2, 1]], [[0]], [[2, 2, 2]]):
        x = torch.sparse_coo_tensor(places, [1.0, 2.0, 3.0], (3,)).requires_grad_()
        g = torch.sparse_coo_tensor(given, [10.0, 20.0, 30.0][: len(given[0])], (3,))
        (x * 2).backward(g)
        has = torch.sparse_coo_tensor(places, [1.0, 1.0, 1.0], (3,)).to_dense() != 0
        assert torch.equal(x.grad.to_dense(), 2 * g.to_dense() * has)
    y = torch.zeros(3).to_sparse()
    x = torch.sparse_coo_tensor(places, [1.0, 2.0, 3.0], (3,)).requires_grad_()
    y.copy_(x)
    (y * 2).backward(x.detach().clone())
    assert torch.equal(x.grad.to_dense(), 2 * x.detach().to_dense())


def test_gradients_of_broadcast_operands():
    x, d = torch.tensor([[1.0, 0, 2]]).to_sparse().requires_grad_(), torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x * d).to_dense().sum().backward()
    assert x.grad.to_dense().tolist() == [[3, 0, 7]] and d.grad.tolist() == [[1, 0, 2], [1, 0, 2]]


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_zero_passes_a_gradient_of_zeros(layout):
    x = torch.eye(3).to_sparse(layout=layout).requires_grad_()
    y = x.clone().zero_()
    assert y.requires_grad and not y.to_dense().any()
    y.sum().backward()
    assert not x.grad.to_dense().any() and x.detach().to_dense().sum() == 3
