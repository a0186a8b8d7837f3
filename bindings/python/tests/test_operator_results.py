"""Results of custom operators that their schema, their fake function or an exported program does not have."""

import io
import itertools

import exported_writer as writer
import numpy
import pytest

import libtensor as torch
from libtensor._base.library import live_handles
from libtensor.library.calls import call_operator

numbers = itertools.count()

# What a function returns for a tensor, and the text of errors.
RETURNS = {
    "none": (lambda x: None, "None"),
    "int": (lambda x: 3, "the int 3"),
    "float": (lambda x: 2.5, "the float 2.5"),
    "text": (lambda x: "text", "the str 'text'"),
    "huge": (lambda x: 2**70, f"the int {2**70}"),
    "object": (lambda x: {}, "an object of type dict"),
    "one": (lambda x: x + 1, r"a tensor of dtype float32 and shape \[2, 3\]"),
    "tuple": (lambda x: (x + 1,), r"a tuple of 1 value \(Tensor\)"),
    "pair": (lambda x: (x + 1, x + 2), r"a tuple of 2 values \(Tensor, Tensor\)"),
    "three": (lambda x: [x + 1, x + 2, x + 3], r"a list of 3 values \(Tensor, Tensor, Tensor\)"),
    "mixed": (lambda x: (x + 1, 3), r"a tuple of 2 values \(Tensor, int\)"),
    "gap": (lambda x: [x + 1, None], r"a list of 2 values \(Tensor, NoneType\)"),
    "empty": (lambda x: (), "an empty tuple"),
    "array": (lambda x: numpy.ones(3), "an object of type ndarray"),
}
FITTING = {
    "Tensor": {"one"},
    "(Tensor, Tensor)": {"pair"},
    "Tensor[]": {"tuple", "pair", "three", "empty"},
    "(Tensor, int)": {"mixed"},
    "int": {"int"},
    "float": {"int", "float", "huge"},
    "bool": {"int", "huge"},
    "Scalar": {"int", "float"},
    "Tensor?": {"one", "none"},
    "()": {"none"},
}


def define(function, returned="Tensor", parameters="Tensor x", **rules):
    """Returns the overload of a new operator."""
    ns = f"results{next(numbers)}"
    torch.library.define(f"{ns}::f", f"({parameters}) -> {returned}")
    torch.library.impl(f"{ns}::f", "default", function)
    for name, rule in rules.items():
        getattr(torch.library, f"register_{name}")(f"{ns}::f", rule)
    return getattr(torch.ops, ns).f.default


@pytest.mark.parametrize("how", ["eager", "grad", "vmap", "by name", "fake"])
@pytest.mark.parametrize("returned", FITTING)
def test_results_of_another_number_or_type_are_errors(returned, how):
    x = torch.ones((3, 2, 3) if how == "vmap" else (2, 3), requires_grad=how == "grad", device="meta" if how == "fake" else "cpu")
    for name, (function, shown) in RETURNS.items():
        if how == "fake" and name in ("object", "array") or how == "by name" and returned == "Tensor?":
            continue
        op = define(function, returned, fake=function)
        call = {"vmap": torch.vmap(op), "by name": lambda t, op=op: call_operator(op.name(), [t], {})}.get(how, op)
        before = live_handles()
        if how == "vmap" and returned in ("int", "float", "bool", "Scalar", "(Tensor, int)"):
            with pytest.raises(NotImplementedError, match=f"{op.name()}: inside vmap: results that are not tensors"):
                call(x)
        elif name not in FITTING[returned]:
            kind = "the fake function" if how == "fake" else "the function"
            with pytest.raises(RuntimeError, match=f"^{op.name()}: {kind} must return .*(returned {shown}|as result 1)"):
                call(x)
        elif how != "vmap" or returned not in ("()", "Tensor?"):
            call(x)
        assert live_handles() == before


def test_the_error_names_the_result_of_several():
    op = define(lambda x: (x + 1, "text"), "(Tensor, float)")
    with pytest.raises(
        RuntimeError, match=f"{op.name()}: the function must return a value of type 'float' as result 1, but returned the str 'text'"
    ):
        op(torch.ones(2))


def test_results_have_the_types_of_the_schema():
    """Numbers of NumPy and 0-dim tensors become Python's; several results are a tuple, a list of tensors is a list."""
    x = torch.ones(2, 3)
    for function, returned, expected in (
        (lambda x: numpy.int64(4), "int", 4),
        (lambda x: True, "int", 1),
        (lambda x: numpy.float32(0.5), "float", 0.5),
        (lambda x: 3, "float", 3.0),
        (lambda x: x.sum(), "float", 6.0),
        (lambda x: numpy.bool_(True), "bool", True),
        (lambda x: torch.tensor(7), "int", 7),
    ):
        op = define(function, returned)
        for made in (op(x), op(x.requires_grad_()), call_operator(op.name(), [x], {})[0]):
            assert made == expected and type(made) is type(expected)
    for given in (x, x.detach().requires_grad_()):
        assert type(define(lambda x: [x + 1, x + 2], "(Tensor, Tensor)")(given)) is tuple
        assert type(define(lambda x: (x + 1, x + 2), "Tensor[]")(given)) is list


def test_results_that_differ_between_batch_elements_are_errors():
    x = torch.ones(2, 3)
    count = itertools.count(1)
    op = define(lambda x: torch.ones(next(count)))
    with pytest.raises(
        RuntimeError, match=rf"{op.name()}: inside vmap: the shapes of a result differ between batch elements: \(1,\), \(2,\)"
    ):
        torch.vmap(op)(x)
    op = define(lambda x: [x + 1] * next(count), "Tensor[]")
    with pytest.raises(RuntimeError, match=f"{op.name()}: inside vmap: the lengths of lists of results differ"):
        torch.vmap(op)(x)
    op = define(lambda x: x + 1)
    with pytest.raises(NotImplementedError, match=f"{op.name()}: inside vmap: .* empty batches are not supported"):
        torch.vmap(op)(x[:0])


@pytest.mark.parametrize(
    "made, text",
    [
        ((None, 0), "the vmap rule must return a value of type 'Tensor', but returned None"),
        (((torch.ones(2), torch.ones(2)), (0, 0)), "the vmap rule must return a value of type 'Tensor', but returned a tuple of 2 values"),
        (torch.ones(2), "Expected the vmap staticmethod to have two returns"),
        ((torch.ones(5, 3), 0), r"got sizes \[5, 3\], from the vmap staticmethod of GeneratedBackwardFor_results\d+_f_default"),
        ((torch.ones(2, 3), 7), r"dimension out of range .*, from the vmap staticmethod of GeneratedBackwardFor_results\d+_f_default"),
    ],
    ids=["none", "pair", "no dims", "size", "dim"],
)
def test_wrong_results_of_vmap_rules_are_errors(made, text):
    op = define(lambda x: x + 1, vmap=lambda info, dims, x: made)
    with pytest.raises((RuntimeError, IndexError), match=text):
        torch.vmap(op)(torch.ones(2, 3))


@pytest.mark.parametrize(
    "made, text",
    [
        (lambda g: 3, "must return a tensor or None as the gradient of argument 'x', but returned the int 3"),
        (lambda g: (g, g, g), "backward returned 3 gradients, but the operator has 1 inputs"),
        (lambda g: (), "backward returned 0 gradients"),
        (lambda g: torch.ones(7), r"_f_defaultBackward returned an invalid gradient at index 0 - got \[7\]"),
    ],
    ids=["int", "many", "none", "shape"],
)
def test_wrong_gradients_are_errors(made, text):
    op = define(lambda x: x * 2)
    torch.library.register_autograd(op, lambda ctx, grad: made(grad))
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=text):
        op(x).sum().backward()
    assert x.grad is None


def test_gradients_of_a_list_are_a_list_of_its_length():
    x = torch.ones(2, requires_grad=True)
    for made, text in (
        (lambda g: [g, g], None),
        (lambda g: ([g, None],), None),
        (lambda g: ([g],), r"must return a list of 2 gradients for argument 'xs', but returned a list of 1 value \(Tensor\)"),
        (lambda g: g, "must return a list of 2 gradients for argument 'xs', but returned a tensor of dtype float32"),
        (lambda g: ([g, "text"],), "the gradient of argument 'xs', but returned the str 'text'"),
    ):
        op = define(lambda xs: xs[0] + xs[1], parameters="Tensor[] xs")
        torch.library.register_autograd(op, lambda ctx, grad, made=made: made(grad))
        if text is None:
            assert torch.autograd.grad(op([x, x.detach()]).sum(), x)[0].tolist() == [1, 1]
        else:
            with pytest.raises(RuntimeError, match=text):
                op([x, x]).sum().backward()


# ---------------------------------------------------------------------------------------------------- exported programs


class Calls(torch.nn.Module):
    """Calls an operator, also in a branch."""

    def __init__(self, op):
        super().__init__()
        self.op = op

    def forward(self, x, p):
        y = self.op(x.relu()) + 1
        return torch.cond(p, lambda y: self.op(y) + 1, lambda y: y - 1, (y,))


def test_a_program_checks_dtypes_and_sizes_of_results():
    function = [lambda x: x * 2]
    op = define(lambda x: function[0](x), fake=torch.empty_like)
    shapes = {"x": {0: torch.export.Dim("n", max=100)}, "p": None}
    file = io.BytesIO()
    torch.export.save(torch.export.export(Calls(op), (torch.ones(4, 3), torch.tensor(True)), dynamic_shapes=shapes), file)
    file.seek(0)
    module = torch.export.load(file).module()
    x, yes = torch.ones(5, 3), torch.tensor(True)
    assert module(x, yes).tolist() == [[7.0] * 3] * 5
    for wrong, shown in (
        (lambda x: x.double(), r"float64\[5, 3\]"),
        (lambda x: x[:, :2].clone(), r"float32\[5, 2\]"),
        (lambda x: x[1:].clone(), r"float32\[4, 3\]"),
        (lambda x: x[0].clone(), r"float32\[3\]"),
        (lambda x: x.long() if x.max() > 1 else x * 2, r"int64\[5, 3\]"),  # in the branch
    ):
        function[0] = wrong
        before = live_handles()
        with pytest.raises(RuntimeError, match=rf"node 'f': {op.name()} returned {shown}; the program expects float32\[s0, 3\]"):
            module(x, yes)
        assert live_handles() == before
    function[0] = lambda x: None
    with pytest.raises(RuntimeError, match=f"{op.name()}: the function must return a value of type 'Tensor', but returned None"):
        module(x, yes)
    function[0] = lambda x: x * 2
    assert module(x, yes).tolist() == [[7.0] * 3] * 5


def test_a_program_checks_lists_and_sizes_that_its_inputs_do_not_have():
    """Sizes with symbols of no input have any value."""
    made = [lambda x: [x.clone(), x[:1].clone()]]
    op = define(lambda x: made[0](x), "Tensor[]")
    unknown, x = writer.symbol("u0"), writer.meta("float32", [writer.symbol("s0"), 4])
    values = {"a": x, "b": writer.meta("float32", [unknown, 4])}
    nodes = [writer.node(f"torch.ops.{op.name().replace('::', '.')}.default", [writer.tensors("a", "b")], "x")]
    module = torch.export.load(io.BytesIO(writer.archive(writer.model({"x": x}, nodes, ["a", "b"], values=values)))).module()
    assert [t.shape for t in module(torch.ones(3, 4))] == [(3, 4), (1, 4)]
    made[0] = lambda x: [x.clone(), x[:, :1].clone()]
    with pytest.raises(RuntimeError, match=rf"{op.name()} returned float32\[3, 1\]; the program expects float32\[u0, 4\]"):
        module(torch.ones(3, 4))
    made[0] = lambda x: [x.clone()]
    with pytest.raises(RuntimeError, match=f"{op.name()}.* returns 1 tensors; the program expects 2"):
        module(torch.ones(3, 4))
