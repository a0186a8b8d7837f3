"""Invalid arguments of modules, their helpers and custom functions, with PyTorch's exceptions."""

import pytest

import libtensor as torch
from libtensor import func, nn
from libtensor.nn.utils import parametrizations, prune

X = torch.ones(2)


def test_functional_call_ignores_names_that_the_module_lacks_unless_strict():
    linear = nn.Linear(2, 2)
    assert torch.equal(func.functional_call(linear, {"other": torch.ones(3)}, X), linear(X))
    with pytest.raises(RuntimeError) as told:
        func.functional_call(linear, {"other": X, "bias": X}, X, strict=True)
    assert "Unexpected key(s): 'other'." in str(told.value) and "Missing key(s): 'weight'." in str(told.value)


@pytest.mark.parametrize("dim", [0, 1, 2, None])
@pytest.mark.parametrize("shape", [(), (3,), (4, 3)])
def test_weight_norm_rejects_weights_without_the_dimension(dim, shape):
    conv = parametrizations.weight_norm(nn.Conv1d(3, 4, 2), dim=dim)
    before = [p.shape for p in conv.parameters()]
    if len(shape) > (dim or 0):
        conv.weight = torch.ones(shape)
    else:
        with pytest.raises(IndexError, match="Dimension"):
            conv.weight = torch.ones(shape)
        assert [p.shape for p in conv.parameters()] == before


def function(forward, save):
    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(*args):
            return forward(*args)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*save(inputs, output))

        @staticmethod
        def backward(ctx, *grads):
            return (grads[0],) * len(ctx.needs_input_grad)

    return Saves


SAVED_AS_IS = {
    "input": (lambda x: x, lambda i, o: i),
    "output": (lambda x: x, lambda i, o: (o,)),
    "one of two outputs": (lambda x: (x, x * 2), lambda i, o: (o[1], i[0])),
    "constant": (lambda x: x, lambda i, o: i),
}
SAVED_OTHERS = {
    "view": (lambda x: x.view_as(x), lambda i, o: i),
    "copy": (lambda x: x * 1, lambda i, o: (i[0], o)),
    "another output": (lambda x: (x, x * 2), lambda i, o: o[1:]),
    "nothing": (lambda x: x, lambda i, o: ()),
}


@pytest.mark.parametrize("case", SAVED_AS_IS)
def test_setup_context_saves_no_input_that_forward_returns_as_it_is(case):
    saves = function(*SAVED_AS_IS[case])
    x = torch.ones(2, requires_grad=case != "constant")
    with pytest.raises(RuntimeError, match="An input that has been returned as-is as output is being saved for backward"):
        saves.apply(x)
    first = lambda made: made[0] if isinstance(made, tuple) else made  # noqa: E731
    with pytest.raises(RuntimeError, match="returned as-is"):
        func.grad(lambda x: first(saves.apply(x)).sum())(torch.ones(2))
    with torch.no_grad():
        assert torch.equal(first(saves.apply(x)), x)


@pytest.mark.parametrize("case", SAVED_OTHERS)
def test_setup_context_saves_others(case):
    made = function(*SAVED_OTHERS[case]).apply(x := torch.ones(2, requires_grad=True))
    (made[0] if isinstance(made, tuple) else made).sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("kind", [nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer])
@pytest.mark.parametrize(
    "use",
    [
        *("detach", "clone", "numel", "nelement", "dim", "ndimension", "contiguous", "tolist", "stride", "element_size", "type", "numpy"),
        *("storage_offset", "sum", "abs", "bfloat16", "item", "t", "zero_"),
    ],
)
def test_methods_of_uninitialized_tensors_raise(kind, use):
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        getattr(kind(), use)()


def test_uses_of_uninitialized_tensors_without_elements():
    p = nn.parameter.UninitializedParameter(dtype=torch.float64)
    for use in (len, bool, torch.numel, lambda p: p + 1, lambda p: torch.stack([p])):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use(p)
    assert p.dtype == torch.float64 and p.cpu() is p and p.is_floating_point() and p.requires_grad
    lazy = nn.LazyLinear(3).double()
    assert lazy(torch.ones(2, 4, dtype=torch.float64)).shape == (2, 3) and lazy.weight.numel() == 12


@pytest.mark.parametrize("amount", [True, "a", None, 1j])
def test_amounts_of_pruning_are_numbers(amount):
    linear = nn.Linear(2, 2)
    for cut in (prune.l1_unstructured, prune.random_unstructured):
        with pytest.raises(TypeError, match="Invalid type for amount"):
            cut(linear, "weight", amount)
    assert not prune.is_pruned(linear)


def test_a_second_cotangent_is_no_flag():
    multiplied = func.vjp(lambda x: x * 2, X)[1]
    with pytest.raises(TypeError, match="retain_graph"):
        multiplied(X, X)
    assert multiplied(X, True)[0].tolist() == [2, 2]


@pytest.mark.parametrize("wrong", [None, 5, "a", [5], [None]], ids=str)
def test_gradients_of_arguments_that_are_no_tensors(wrong):
    y = torch.ones(2, requires_grad=True) * 2
    for call in (
        lambda: torch.autograd.grad(y.sum(), wrong),
        lambda: torch.autograd.grad(wrong, y),
        lambda: torch.autograd.backward(wrong),
    ):
        with pytest.raises(TypeError):
            call()
