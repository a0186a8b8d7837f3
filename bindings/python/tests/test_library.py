"""Operators that programs define."""

import copy
import re
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035

import pytest

import libtensor as torch
from libtensor import library
from libtensor.library.calls import find_schema, list_operators
from libtensor.library.schemas import Schema

Tensor = torch.Tensor


@pytest.fixture
def name(request):
    """The name of an operator of this test alone."""
    return "test_library::" + "".join(c if c.isalnum() else "_" for c in request.node.name)


def op_of(name):
    space, _, op = name.partition("::")
    return getattr(getattr(torch.ops, space), op)


def sine(name, **options):
    @library.custom_op(name, mutates_args=(), **options)
    def sine(x: Tensor, factor: int = 1, *, flag: bool = True) -> Tensor:
        return torch.from_numpy(__import__("numpy").sin(x.detach().numpy())) * factor

    return sine


def test_calls_by_every_name(name):
    op, x = sine(name), torch.rand(3)
    for call in (op, op_of(name), op_of(name).default):
        torch.testing.assert_close(call(x, 2), x.sin() * 2)
        assert torch.equal(call(x, factor=2, flag=False), call(x, 2))
    assert str(op_of(name).default._schema) == f"{name}(Tensor x, SymInt factor=1, *, bool flag=True) -> Tensor"
    assert op_of(name).overloads() == ["default"]
    overload = op_of(name).default
    assert (overload.name(), overload._name, overload._opname, overload._overloadname) == (name, name, name.partition("::")[2], "default")
    assert overload.overloadpacket is op_of(name) and overload._namespace == overload.namespace == name.partition("::")[0]
    assert overload._defined_in_python and not overload.is_view


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "is missing value for argument 'x'. Declaration: "),
        ((3,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((torch.ones(1), "a"), {}, "Expected a value of type 'int' for argument 'factor' but instead found type 'str'"),
        ((torch.ones(1), 1, 2), {}, "expected at most 2 argument"),
        ((torch.ones(1),), {"other": 1}, "Unknown keyword argument 'other'"),
        ((torch.ones(1), 1), {"factor": 2}, "by position and by name"),
    ],
)
def test_arguments_fit_the_schema(name, args, kwargs, text):
    with pytest.raises(RuntimeError, match=text):
        sine(name)(*args, **kwargs)


def test_missing_names(name):
    with pytest.raises(AttributeError, match="'_OpNamespace' 'test_library' object has no attribute 'nothing'"):
        op_of("test_library::nothing")
    with pytest.raises(RuntimeError, match="operator test_library::nothing does not exist"):
        library.register_fake("test_library::nothing", lambda x: x)
    with pytest.raises(ValueError, match="namespace::name"):
        sine("nothing")


def f_types(
    x: Tensor,
    y: Optional[Tensor],  # noqa: UP045
    z: List[int],  # noqa: UP006
    w: Sequence[Tensor],
    s: str = "a",
    d: Optional[torch.dtype] = None,  # noqa: UP045
    n: Union[int, float, bool] = 1.0,  # noqa: UP007
    o: float | None = None,
    v: "list[float] | None" = None,
) -> Tuple[Tensor, int]: ...  # noqa: UP006


def f_none(x: Tensor, y: list[Tensor]) -> None: ...
def f_bare(x) -> Tensor: ...
def f_open(x: Tensor): ...
def f_dict(x: dict) -> Tensor: ...
def f_star(*x: Tensor) -> Tensor: ...
def f_made(x: Tensor) -> dict: ...


def test_schemas_of_annotations():
    found = library.infer_schema(f_types, mutates_args=())
    assert found == (
        '(Tensor x, Tensor? y, SymInt[] z, Tensor[] w, str s="a", ScalarType? d=None, Scalar n=1.0, float? o=None, '
        "float[]? v=None) -> (Tensor, SymInt)"
    )
    assert library.infer_schema(f_none, mutates_args=("y",), op_name="a::b") == "a::b(Tensor x, Tensor(a1!)[] y) -> ()"
    assert library.infer_schema(f_none, mutates_args="unknown") == "(Tensor(a0!) x, Tensor(a1!)[] y) -> ()"
    for f, text in (
        (f_bare, "Parameter x must have a type annotation"),
        (f_open, "No return type annotation was provided"),
        (f_dict, "Parameter x has unsupported type"),
        (f_star, "We do not support positional-only args, varargs"),
        (f_made, "Return has unsupported type"),
    ):
        with pytest.raises(ValueError, match=text):
            library.infer_schema(f, mutates_args=())
    with pytest.raises(ValueError, match="in mutates_args were not found"):
        library.infer_schema(f_none, mutates_args=("q",))


def test_derivatives(name):
    op = sine(name)
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Trying to backward through test_library.* but no autograd formula was registered"):
        op(x).sum().backward()
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs))
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]

    def backward(ctx, grad):
        assert ctx.needs_input_grad == (True, False)
        return grad * ctx.saved_tensors[0].cos() * ctx.factor, None

    op.register_autograd(backward, setup_context=setup_context)
    op(x, 3).sum().backward()
    assert seen == [(2, {"flag": True})]
    torch.testing.assert_close(x.grad, x.detach().cos() * 3)
    assert not op(x.detach()).requires_grad
    with torch.no_grad():
        assert not op(x).requires_grad


def test_derivatives_of_lists(name):
    @library.custom_op(name, mutates_args=())
    def scaled(xs: list[Tensor], factor: float) -> list[Tensor]:
        return [x * factor for x in xs]

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    def backward(ctx, grads):
        return [g * ctx.factor for g in grads], None

    library.register_autograd(name, backward, setup_context=setup_context)
    xs = [torch.ones(2, requires_grad=True), torch.ones(3)]
    made = scaled(xs, 2.0)
    assert isinstance(made, list) and [t.tolist() for t in made] == [[2.0] * 2, [2.0] * 3]
    made[0].sum().backward()
    assert xs[0].grad.tolist() == [2.0, 2.0]


def test_writes_are_declared(name):
    @library.custom_op(name, mutates_args={"x"})
    def add(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    x = torch.zeros(2)
    before = x._version
    assert add(x, torch.ones(2)) is None and x.tolist() == [1.0, 1.0] and x._version > before
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        add.register_autograd(lambda ctx: None)
    with pytest.raises(ValueError, match="Please make these consistent"):
        library.custom_op(name, mutates_args=("x",), schema="(Tensor x) -> Tensor")(lambda x: x + 1)


def test_results_are_new_tensors(name):
    @library.custom_op(name, mutates_args=())
    def view(x: Tensor) -> Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        view(torch.ones(2))


def test_kernels_by_device(name):
    op = sine(name, device_types="cuda")
    with pytest.raises(NotImplementedError, match=f"Could not run '{name}' with arguments from the 'CPU' backend"):
        op(torch.ones(1))
    op.register_kernel("cpu")(lambda x, factor=1, *, flag=True: x * 10)
    assert op(torch.ones(1)).tolist() == [10.0]
    library.register_kernel(name, None, lambda x, factor=1, *, flag=True: x * 20)
    with op.set_kernel_enabled("cpu", False):
        assert op(torch.ones(1)).tolist() == [20.0]
    assert op(torch.ones(1)).tolist() == [10.0]


def test_meta_tensors(name):
    op = sine(name)
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        op(torch.ones(2, device="meta"))

    @op.register_fake
    def _(x, factor=1, *, flag=True):
        return torch.empty_like(x)

    assert op(torch.ones(2, device="meta")).shape == (2,)


def test_vmap(name):
    op, x = sine(name), torch.rand(4, 3)
    calls = []

    @op.register_vmap
    def _(info, in_dims, x, factor=1, *, flag=True):
        calls.append((info.batch_size, in_dims))
        return op(x, factor), in_dims[0]

    torch.testing.assert_close(torch.vmap(lambda row: op(row, 2))(x), x.sin() * 2)
    assert calls == [(4, (0, None))]
    torch.testing.assert_close(torch.vmap(op, in_dims=1, out_dims=1)(x), x.sin())


def test_autocast(name):
    @library.custom_op(name, mutates_args=())
    def same(x: Tensor, d: Tensor) -> Tensor:
        assert not torch.is_autocast_enabled("cpu") or x.dtype is torch.float32
        return x + 1

    one, wide = torch.ones(1), torch.ones(1, dtype=torch.float64)
    with torch.autocast("cpu"):
        assert same(one, wide).dtype is torch.float32
    library.register_autocast(name, "cpu", torch.bfloat16)
    with torch.autocast("cpu"):
        assert same(one, wide).dtype is torch.bfloat16 and same(wide, wide).dtype is torch.float64
    assert same(one, wide).dtype is torch.float32
    with pytest.raises(ValueError, match="Unknown device type"):
        library.register_autocast(name, "mps", torch.bfloat16)


def test_libraries():
    made = library.Library("test_library_a", "DEF")
    assert made.define("scaled(Tensor x, int k=2) -> Tensor") == "scaled"
    assert made.define("scaled.both(Tensor x, Tensor k) -> Tensor") == "scaled.both"
    with pytest.raises(NotImplementedError, match="Could not run 'test_library_a::scaled'"):
        torch.ops.test_library_a.scaled(torch.ones(1))
    made.impl("scaled", lambda x, k=2: x * k, "CPU")
    made.impl("scaled.both", lambda x, k: x * k, "CPU")
    made.impl("scaled", lambda x, k=2: torch.empty_like(x), "Meta")
    assert torch.ops.test_library_a.scaled(torch.ones(1), 5).tolist() == [5.0]
    assert torch.ops.test_library_a.scaled(torch.ones(1), torch.tensor(7.0)).tolist() == [7.0]
    assert torch.ops.test_library_a.scaled(torch.ones(3, device="meta")).shape == (3,)
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        made.define("scaled(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        library.Library("test_library_a", "DEF")
    with pytest.raises(ValueError, match="Unsupported kind"):
        library.Library("test_library_a", "XX")
    library.Library("test_library_a", "FRAGMENT").define("more(Tensor(a!) x) -> ()")
    made.impl("more", lambda x: x.add_(1) and None, "CompositeExplicitAutograd")
    x = torch.zeros(1)
    torch.ops.test_library_a.more(x)
    assert x.item() == 1.0
    made._destroy()
    with pytest.raises(AttributeError):
        torch.ops.test_library_a.scaled  # noqa: B018


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("no schema", "expected 'name"),
        ("op(Tensr x) -> Tensor", "unknown type specifier 'Tensr' of the argument 'x'"),
        ("op(Tensor x, Tensr[] y) -> Tensor", "unknown type specifier 'Tensr' of the argument 'y'"),
        ("op(Tensor x) -> Tensr", "unknown type specifier 'Tensr' of a result"),
        ("op(Tensor x) -> (Tensor, Tensr)", "unknown type specifier 'Tensr' of a result"),
        ("1a(Tensor x) -> Tensor", "begins with no digit: '1a'"),
        ("(Tensor x) -> Tensor", "begins with no digit: ''"),
        ("op(Tensor 1x) -> Tensor", "cannot parse the argument 'Tensor 1x'"),
        ("op(Tensor x) -> ", "expected 'name(arguments) -> results'"),
        ("op(int k=z) -> int", "the default z of the argument 'k' does not have the type int"),
        ("op(int k=[1]) -> int", "the default [1] of the argument 'k' does not have the type int"),
        ("op(float[] k=[1, z]) -> int", "the default [1, z] of the argument 'k' does not have the type float[]"),
        ("op(bool? k=no) -> int", "the default no of the argument 'k' does not have the type bool?"),
        ("op(str k=z) -> int", "the default z of the argument 'k' does not have the type str"),
    ],
)
def test_invalid_schemas_define_nothing(schema, text):
    made = library.Library("test_invalid_schemas", "FRAGMENT")
    with pytest.raises(RuntimeError, match=re.escape(text)):
        made.define(schema)
    assert not hasattr(torch.ops.test_invalid_schemas, "op")


def test_schemas_of_all_operators_are_valid():
    for name in list_operators():
        if name.startswith("aten::"):
            text = find_schema(name if "." in name else f"{name}.default")
            schema = Schema(text)
            assert (schema.full_name, str(schema)) == (name, text)


def facts(argument):
    alias = argument.alias_info
    sets = alias and (alias.is_write, alias.before_set, alias.after_set)
    return argument.name, str(argument.type), argument.type.kind(), argument.N, argument.default_value, argument.kwarg_only, sets


@pytest.mark.parametrize(
    ("argument", "expected"),
    [  # from PyTorch 2.15
        ("float f=1e-5", ("f", "float", "FloatType", None, 1e-5, False, None)),
        ("int[2] k=1", ("k", "List[int]", "ListType", 2, [1, 1], False, None)),
        ("Tensor?[] x", ("x", "List[Optional[Tensor]]", "ListType", None, None, False, None)),
        ("SymInt[]? s=None", ("s", "Optional[List[int]]", "OptionalType", None, None, False, None)),
        ("Layout? l=None", ("l", "Optional[int]", "OptionalType", None, None, False, None)),
        ("Scalar s=2.0", ("s", "number", "NumberType", None, 2.0, False, None)),
        ("Device? d=None", ("d", "Optional[Device]", "OptionalType", None, None, False, None)),
        ("Tensor(a!)? y", ("y", "Optional[Tensor]", "OptionalType", None, None, False, (True, {"a"}, {"a"}))),
        ("Tensor(a!)[] y", ("y", "List[Tensor]", "ListType", None, None, False, (True, set(), set()))),
        ("Tensor(a! -> b|c) y", ("y", "Tensor", "TensorType", None, None, False, (True, {"a"}, {"b", "c"}))),
    ],
)
def test_arguments_of_schemas(argument, expected):
    schema = Schema(f"ns::op.over({argument}, *, str mode='x y') -> (Tensor(b), Tensor[] values)")
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("ns::op", "over", "!" in argument)
    first, mode = schema.arguments
    assert facts(first) == expected and first.has_default_value() == ("=" in argument)
    assert facts(mode) == ("mode", "str", "StringType", None, "x y", True, None)
    assert [facts(r)[:2] for r in schema.returns] == [("", "Tensor"), ("values", "List[Tensor]")]
    assert schema.returns[0].alias_info.before_set == {"b"} and schema.returns[1].alias_info is None
    assert str(Schema(str(schema))) == str(schema) and Schema(str(schema)) == schema != Schema("ns::op() -> ()")


def test_types_of_schemas():
    types = {a.name: a.type for a in torch.ops.aten.index.Tensor._schema.arguments}
    assert types["indices"].getElementType() == Schema("f(Tensor? x) -> ()").arguments[0].type != types["self"]
    assert types["indices"].getElementType().getElementType() == types["self"] and types["self"].containedTypes() == []
    with pytest.raises(AttributeError, match="getElementType"):
        types["self"].getElementType()
    dtype = torch.ops.aten._to_copy.default._schema.arguments[1]
    assert (str(dtype.type), str(dtype.real_type), dtype.real_type.getElementType().kind()) == (
        "Optional[int]",
        "Optional[ScalarType]",
        "ScalarTypeType",
    )


def test_schemas_of_operators(name):
    schema = sine(name)._opoverload._schema
    assert str(schema) == f"{name}(Tensor x, SymInt factor=1, *, bool flag=True) -> Tensor" == repr(schema)
    assert (schema.name, schema.overload_name, schema.is_mutable) == (name, "", False)
    assert [(a.name, a.has_default_value(), a.kwarg_only) for a in schema.arguments] == [
        ("x", False, False),
        ("factor", True, False),
        ("flag", True, True),
    ]
    assert [str(r.type) for r in schema.returns] == ["Tensor"]
    out = torch.ops.aten.add.out._schema
    assert (out.name, out.overload_name, out.is_mutable, out.arguments[-1].is_out) == ("aten::add", "out", True, True)
    assert out.arguments[-1].alias_info.after_set == out.returns[0].alias_info.after_set == {"a"}
    assert torch.ops.aten.split.Tensor._schema.arguments[0].alias_info.after_set == {"*"}


def test_errors_of_gradients_and_vmap_rules_name_the_operator(name):
    sine(name)
    library.register_autograd(name, lambda ctx, grad: (torch.ones(2), None))
    library.register_vmap(name, lambda info, dims, x, factor, flag: x)
    x = torch.rand(3, requires_grad=True)
    node = f"GeneratedBackwardFor_{name.replace('::', '_')}_default"
    assert type(op_of(name)(x).grad_fn).__name__ == f"{node}Backward"
    with pytest.raises(RuntimeError, match=f"{node}Backward returned an invalid gradient at index 0"):
        op_of(name)(x).sum().backward()
    with pytest.raises(RuntimeError, match=f"Expected the vmap staticmethod to have two returns.*{node}"):
        torch.vmap(op_of(name))(torch.rand(2, 3))


def test_unknown_devices_and_dispatch_keys_raise():
    made = library.Library("test_unknown_keys", "FRAGMENT")
    made.define("op(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Bogus"):
        made.impl("op", lambda x: x, "Bogus")
    for key in ("CPU", "AutogradCPU", "QuantizedCPU", "PrivateUse1", "BackendSelect"):
        made.impl("op", lambda x: x, key)
    for register in (library.register_kernel, library.impl):
        with pytest.raises(RuntimeError, match="as a device type, but got 'bogus'"):
            register("test_unknown_keys::op", "bogus", lambda x: x)
    for op_name, device_types in (("1a", None), ("b", "bogus"), ("c", ["cpu", "bogus"])):
        with pytest.raises(RuntimeError):
            library.custom_op(
                f"test_unknown_keys::{op_name}", lambda x: x, mutates_args=(), device_types=device_types, schema="(Tensor x) -> Tensor"
            )
        assert not hasattr(torch.ops.test_unknown_keys, op_name)


def test_composite_kernels_have_the_derivatives_of_their_calls(name):
    library.define(name, "(Tensor x) -> Tensor")
    library.impl(name, "CompositeImplicitAutograd", lambda x: x * x)
    x = torch.tensor(3.0, requires_grad=True)
    op_of(name)(x).backward()
    assert x.grad.item() == 6.0


def test_opcheck(name):
    op = sine(name)
    op.register_fake(lambda x, factor=1, *, flag=True: torch.empty_like(x))
    everything = library.opcheck(op, (torch.ones(2),))
    assert set(everything.values()) == {"SUCCESS"} and "test_schema" in everything

    @library.custom_op(name + "_writes", mutates_args=())
    def writes(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    with pytest.raises(library.OpCheckError, match="Argument x is not defined as mutable but was mutated"):
        library.opcheck(writes, (torch.ones(2),))
    op.register_fake(lambda x, factor=1, *, flag=True: x.new_empty(7))
    results = library.opcheck(op, (torch.ones(2),), raise_exception=False)
    assert "(7,)" in str(results["test_faketensor"]) and results["test_schema"] == "SUCCESS"


@pytest.mark.parametrize("transform", ["jvp", "jacfwd", "dual"])
def test_forward_derivatives_call_the_backward_function_and_kernels_have_no_tangents(name, transform):
    op, x, tangent = sine(name), torch.rand(3), torch.rand(3)

    def derivative():
        if transform == "jvp":
            return torch.func.jvp(op, (x,), (tangent,))[1]
        if transform == "jacfwd":
            return torch.func.jacfwd(op)(x) @ tangent
        with torch.autograd.forward_ad.dual_level():
            return torch.autograd.forward_ad.unpack_dual(op(torch.autograd.forward_ad.make_dual(x, tangent))).tangent

    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        derivative()

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(inputs[0])

    op.register_autograd(lambda ctx, grad: (grad * ctx.saved_tensors[0].cos(), None), setup_context=setup_context)
    torch.testing.assert_close(derivative(), x.cos() * tangent)


def test_results_of_operators_that_write_have_no_derivative(name):
    @library.custom_op(name, mutates_args={"x"})
    def add_to(x: Tensor, y: Tensor) -> Tensor:
        x.add_(y)
        return y * 2

    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    made = add_to(x, y)
    assert x.tolist() == [2, 2] and made.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        made.sum().backward()
    assert not add_to(x, y.detach()).requires_grad


def test_defaults_are_integers_of_64_bits(name):
    with pytest.raises(RuntimeError, match=f"the default {2**63} of the argument 'k' must be from -2"):

        @library.custom_op(name, mutates_args=())
        def scale(x: Tensor, k: int = 2**63) -> Tensor:
            return x * k

    with pytest.raises(RuntimeError, match="must be from -2"):
        Schema(f"f(Tensor x, int[] k=[1, {-(2**63) - 1}]) -> Tensor")
    assert Schema(f"f(Tensor x, int k={2**63 - 1}, float y={2**70}) -> Tensor").arguments[1].default_value == 2**63 - 1


@pytest.mark.parametrize("result", ["str", "Tensor?", "int[]"])
def test_export_of_operators_that_only_python_can_call_is_an_error(name, result):
    space = f"test_library_results_{result[:3]}"
    defined = library.Library(space, "DEF")
    defined.define(f"f(Tensor x) -> {result}")
    defined.impl("f", lambda x: {"str": "a", "Tensor?": x + 1, "int[]": [1]}[result], "CompositeExplicitAutograd")
    op = getattr(torch.ops, space).f
    with pytest.raises(
        NotImplementedError, match=rf"{space}::f has the schema .*-> {re.escape(result)}, with types that only Python supports"
    ):
        torch.export.export(lambda x: (op(x), x + 1)[1], (torch.ones(2),))
    defined._destroy()


def test_operators_are_their_own_copies():
    packet = torch.ops.aten.add
    assert copy.deepcopy(packet) is packet and copy.deepcopy([packet.Tensor])[0] is packet.Tensor and not hasattr(packet, "__setstate__")


def test_reserved_namespaces():
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace aten"):
        torch.library.Library("aten", "DEF")
    with pytest.raises(ValueError, match="prim is a reserved namespace"):
        torch.library.Library("prim", "DEF")
    assert torch.library.Library("aten", "FRAGMENT").ns == torch.library.Library("aten", "IMPL").ns == "aten"
    assert torch.ops.aten.add.Tensor(torch.ones(1), torch.ones(1)).tolist() == [2.0]


def test_autograd_records_what_kernels_of_library_write():
    written = library.Library("tests_written", "FRAGMENT")
    written.define("scale(Tensor(a!) x, Tensor y) -> ()")

    def scale(x, y):
        x.mul_(y)

    written.impl("scale", scale, "CPU")
    x, y = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    a = x * 1
    torch.ops.tests_written.scale(a, y)
    assert [g.tolist() for g in torch.autograd.grad((a * a).sum(), (x, y))] == [[8.0] * 3, [4.0] * 3]
    plain = torch.ones(3)
    torch.ops.tests_written.scale(plain, y)
    assert plain.requires_grad and torch.autograd.grad(plain.sum(), y)[0].tolist() == [1.0] * 3
