"""Operators of Python in the library's table, operators of C as attributes of torch.ops, and both in exported programs."""

import ctypes
import itertools
import subprocess
import sys
from ctypes import POINTER, byref, c_int32, c_int64, c_void_p
from pathlib import Path

import exported_writer as writer
import numpy
import pytest

import libtensor as torch
from libtensor._base.library import Scalar, library, live_handles
from libtensor._core.values import Value
from libtensor.library.calls import call_operator, describe
from libtensor.library.published import Options
from libtensor.library.shared import list_shared

numbers = itertools.count()

Function = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Value), c_int32, POINTER(Value), c_int32)
Backward = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Value), c_int32, POINTER(Value), POINTER(Value), c_int32, POINTER(Value))


@pytest.fixture
def ns():
    return f"tests{next(numbers)}"


def twice(x):
    return x * 2


def python_operator(ns, backward=True):
    @torch.library.custom_op(f"{ns}::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return torch.from_numpy(numpy.asarray(x.numpy() * factor, dtype=numpy.float32))

    @scaled.register_fake
    def _(x, factor=2.0):
        return torch.empty_like(x)

    if backward:

        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        scaled.register_autograd(lambda ctx, grad: (scaled(grad, ctx.factor), None), setup_context=setup_context)
    return scaled


def test_a_call_by_name_runs_an_operator_of_python_with_its_derivative(ns):
    python_operator(ns)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (y,) = call_operator(f"{ns}::scaled", [x.T], {"factor": 3.0})
    assert torch.equal(y, torch.tensor([[3.0, 9.0], [6.0, 12.0]]))
    (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    assert torch.equal(g, 18 * x)
    assert torch.equal(torch.autograd.grad(g.sum(), x)[0], torch.full((2, 2), 18.0))
    mapped = torch.vmap(lambda t: call_operator(f"{ns}::scaled", [t], {})[0])(x.detach())
    assert torch.equal(mapped, 2 * x)
    meta = call_operator(f"{ns}::scaled", [torch.empty(3, 4, device="meta")], {})[0]
    assert meta.device.type == "meta" and meta.shape == (3, 4)


def test_python_operators_without_a_vmap_rule_get_one_batch_element_at_a_time(ns):
    op = python_operator(ns)
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(torch.vmap(op)(x), 2 * x)
    assert torch.equal(torch.vmap(op, in_dims=1, out_dims=1)(x), 2 * x)
    assert torch.equal(torch.vmap(torch.vmap(op))(x), 2 * x)
    assert torch.equal(torch.vmap(torch.func.grad(lambda t: op(t).square().sum()))(x), 8 * x)


def test_descriptions_have_the_schema_of_python(ns):
    python_operator(ns)
    (info,) = describe(f"{ns}::scaled")
    assert info.schema.decode() == f"{ns}::scaled(Tensor x, float factor=2.) -> Tensor"
    assert list_shared(ns) == ["scaled"]


def test_arguments_reach_python_in_their_types(ns):
    seen = []
    library = torch.library.Library(ns, "DEF")
    library.define(
        "all(Tensor[] x, Tensor? y, int k, float f, bool b, str s, int[] i, float[] g, bool[] h, Scalar n, ScalarType d, Device v, *, int "
        "z=5)"
        " -> Tensor[]"
    )

    def function(x, *rest, z):
        seen.append((len(x), *rest, z))
        return [t + 1 for t in x]

    library.impl("all", function, "CompositeExplicitAutograd")
    x = [torch.ones(2), torch.zeros(1)]
    (made,) = call_operator(
        f"{ns}::all", [x, None, 3, 1, True, "text", [1, 2], [1, 2.5], [True, False], 1.5, torch.int8, torch.device("cpu")], {}
    )
    assert [t.tolist() for t in made] == [[2.0, 2.0], [1.0]]
    assert seen == [(2, None, 3, 1.0, True, "text", [1, 2], [1.0, 2.5], [True, False], 1.5, torch.int8, torch.device("cpu"), 5)]


def test_the_exception_of_an_operator_reaches_the_caller(ns):
    class Broken(Exception):
        pass

    @torch.library.custom_op(f"{ns}::broken", mutates_args=())
    def broken(x: torch.Tensor) -> torch.Tensor:
        raise Broken("the fuse is blown")

    @torch.library.custom_op(f"{ns}::wrong", mutates_args=())
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return "text"

    before = live_handles()
    with pytest.raises(Broken, match="the fuse is blown"):
        call_operator(f"{ns}::broken", [torch.ones(2)], {})
    with pytest.raises(RuntimeError, match=f"{ns}::wrong: the function must return a value of type 'Tensor', but returned the str 'text'"):
        call_operator(f"{ns}::wrong", [torch.ones(2)], {})
    assert live_handles() == before


def test_written_arguments_and_later_definitions(ns):
    @torch.library.custom_op(f"{ns}::fill", mutates_args={"x"})
    def fill(x: torch.Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = torch.zeros(3)
    version = x._version
    assert call_operator(f"{ns}::fill", [x, 2.0], {}) == []
    assert x.tolist() == [2.0, 2.0, 2.0]
    assert x._version >= version

    @torch.library.custom_op(f"{ns}::fill", mutates_args=())
    def other(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert call_operator(f"{ns}::fill", [x], {})[0].tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        call_operator(f"{ns}::fill", [x, 2.0], {})


def test_operators_of_a_destroyed_library_are_removed(ns):
    library = torch.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", twice, "CPU")
    assert call_operator(f"{ns}::f", [torch.ones(1)], {})[0].item() == 2
    library._destroy()
    with pytest.raises(NotImplementedError, match=f"there is no operator '{ns}::f'"):
        call_operator(f"{ns}::f", [torch.ones(1)], {})


# ------------------------------------------------------------------------------------------ operators of C


@Function
def square(_, arguments, count, results, result_count):
    """A function with a kernel of its own, as C has."""
    made, values, data = c_void_p(), c_void_p(), c_void_p()
    x = arguments[0].content.p
    assert not library.tensor_clone(c_void_p(x), 0, byref(made))
    assert not library.tensor_data_ptr(made, byref(data))
    library.tensor_numel.restype = c_int64
    values = ctypes.cast(data, POINTER(ctypes.c_float))
    for i in range(library.tensor_numel(made)):
        values[i] = values[i] ** 2
    results[0].kind, results[0].content.p = 1, made.value
    return 0


@Backward
def square_backward(_, arguments, count, results, gradients, result_count, made):
    product, double = c_void_p(), c_void_p()
    assert not library.tensor_mul(c_void_p(arguments[0].content.p), c_void_p(gradients[0].content.p), byref(product))
    assert not library.tensor_add(product, product, Scalar.of(1), byref(double))
    library.tensor_free(product)
    made[0].kind, made[0].content.p = 1, double.value
    return 0


@pytest.fixture
def operator_of_c(ns):
    options, made = Options(size=ctypes.sizeof(Options), backward=ctypes.cast(square_backward, c_void_p).value), c_int64()
    status = library.tensor_define_operator(f"{ns}::square(Tensor x) -> Tensor".encode(), square, byref(options), None, None, byref(made))
    assert status == 0
    yield getattr(torch.ops, ns).square
    library.tensor_remove_operator(made)


def test_an_operator_of_c_is_an_attribute_of_ops(ns, operator_of_c):
    assert str(operator_of_c.default._schema) == f"{ns}::square(Tensor x) -> Tensor"
    assert dir(getattr(torch.ops, ns)) == ["square"]
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(operator_of_c(x.T), x.T**2)
    assert torch.equal(operator_of_c.default(x=torch.nn.Parameter(x)).detach(), x**2)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        operator_of_c()


def test_an_operator_of_c_has_its_derivative_in_python(operator_of_c):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (g,) = torch.autograd.grad(operator_of_c(x).sum(), x, create_graph=True)
    assert torch.equal(g, 2 * x)
    assert torch.equal(torch.autograd.grad(g.sum(), x)[0], torch.full((3,), 2.0))
    rows = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(torch.vmap(operator_of_c, in_dims=1, out_dims=1)(rows), rows**2)
    assert torch.equal(torch.vmap(torch.func.grad(lambda t: operator_of_c(t).sum()))(rows), 2 * rows)
    primal, tangent = torch.func.jvp(operator_of_c, (x.detach(),), (torch.ones(3),))
    assert torch.equal(primal, x.detach() ** 2) and torch.equal(tangent, 2 * x.detach())
    assert torch.equal(torch.func.hessian(lambda t: operator_of_c(t).sum())(x.detach()), 2 * torch.eye(3))
    assert torch.equal(torch.func.jacrev(operator_of_c)(x.detach()), torch.diag(2 * x.detach()))


def test_names_of_other_languages_cannot_be_defined_again(ns, operator_of_c):
    with pytest.raises(RuntimeError, match=f"{ns}::square is already defined"):
        torch.library.define(f"{ns}::square", "(Tensor x, int k) -> Tensor")


def test_a_removed_operator_is_no_attribute(ns):
    made = c_int64()
    assert not library.tensor_define_operator(f"{ns}::gone(Tensor x) -> Tensor".encode(), square, None, None, None, byref(made))
    op = getattr(torch.ops, ns).gone
    library.tensor_remove_operator(made)
    assert not hasattr(getattr(torch.ops, ns), "gone")
    with pytest.raises(NotImplementedError, match="no operator"):
        op(torch.ones(1))


# ---------------------------------------------------------------------------------------- exported programs


def exported(ns, name, path):
    x = writer.meta("float32", [2, 3])
    nodes = [
        writer.aten("relu.default", "a", "x"),
        writer.node(f"torch.ops.{ns}.{name}.default", "b", "a"),
        writer.aten("neg.default", "c", "b"),
    ]
    text = writer.model({"x": x}, nodes, ["c"], values={"a": x, "b": x, "c": x})
    return writer.program(text, path)


def test_exported_programs_call_operators_of_python_and_c(ns, operator_of_c, tmp_path):
    python_operator(ns)
    x = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    for name, expected in (("scaled", -2 * x.relu()), ("square", -(x.relu() ** 2))):
        path = tmp_path / f"{name}.pt2"
        exported(ns, name, path)
        module = torch.export.load(path).module()
        assert torch.equal(module(x), expected)


def test_a_program_reports_operators_that_are_not_defined_or_were_removed(ns, tmp_path):
    path = tmp_path / "program.pt2"
    exported(ns, "f", path)
    with pytest.raises(NotImplementedError, match=f"{ns}::f"):
        torch.export.load(path)
    library = torch.library.Library(ns, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", twice, "CPU")
    module = torch.export.load(path).module()
    x = torch.ones(2, 3)
    assert torch.equal(module(x), -2 * x)
    library._destroy()
    with pytest.raises(NotImplementedError, match=f"{ns}::f: the operator was removed"):
        module(x)


def test_the_example_prints_what_it_says():
    example = Path(__file__).parents[3] / "examples" / "operators" / "gate.py"
    expected = example.read_text().split("Prints:\n")[1].split('"""')[0]
    assert subprocess.run([sys.executable, example], capture_output=True, text=True, check=True).stdout == expected
