"""Programs that torch.export.save wrote: results, structures, control flow, symbolic sizes, weights, errors."""

import gc
import io
import json
import math
import pathlib
import struct
import subprocess
import sys
import threading

import exported_writer as w
import pytest

import libtensor as torch
from libtensor._base.library import live_handles
from libtensor.export import InputKind, load
from libtensor.export.graph_signature import TensorArgument

pytestmark = pytest.mark.usefixtures("evaluated_too")

F32 = w.meta("float32", [3])


def opened(text, **options):
    return load(io.BytesIO(w.archive(text, **options)))


def runs(inputs, nodes, outputs, **options):
    return opened(w.model(inputs, nodes, outputs, **options)).module()


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def chain():
    return w.model({"x": F32}, [w.aten("relu.default", "a", "x"), w.aten("add.Tensor", "b", "a", 1)], ["b"])


def test_operators_run_in_order():
    module = opened(chain()).module()
    assert module(torch.tensor([-1.0, 0.0, 2.0])).tolist() == [1, 1, 3]


def test_results_are_fresh_and_inputs_unchanged():
    module, x = opened(chain()).module(), torch.tensor([-1.0, 0.0, 2.0])
    first, second = module(x), module(x)
    first.zero_()
    assert second.tolist() == [1, 1, 3] and x.tolist() == [-1, 0, 2]


def test_a_path_maps_the_weights(tmp_path):
    meta = w.meta("float32", [2, 3])
    text = w.model({"x": F32}, [w.aten("mv.default", "y", "p", "x")], ["y"], weights=[("p", "parameter", "layer.weight", meta)])
    path = w.program(
        text, tmp_path / "m.pt2", records=[("weight_0", floats(1, 2, 3, 4, 5, 6))], weights=[("layer.weight", "weight_0", meta)]
    )
    program = load(path)
    assert program.module()(torch.tensor([1.0, 1.0, 1.0])).tolist() == [6, 15]
    assert program.state_dict["layer.weight"].tolist() == [[1, 2, 3], [4, 5, 6]]
    program.state_dict["layer.weight"].zero_()
    assert program.module()(torch.tensor([1.0, 1.0, 1.0])).tolist() == [0, 0]
    assert load(path).module()(torch.tensor([1.0, 1.0, 1.0])).tolist() == [6, 15]  # the file is unchanged
    assert [name for name, _ in program.module().named_parameters()] == ["layer.weight"]


@pytest.mark.parametrize("align", [64, 0])
def test_weights_can_be_views_and_tied(align):
    rows, column = w.meta("float32", [2, 2]), w.meta("float32", [2], [2], 1)
    nodes = [w.aten("add.Tensor", "s", "p", "q"), w.aten("mul.Tensor", "y", "s", "x")]
    weights = [("p", "parameter", "p", rows), ("q", "buffer", "q", column)]
    text = w.model({"x": w.meta("float32", [])}, nodes, ["y"], weights=weights)
    options = {"records": [("weight_0", floats(1, 2, 3, 4))], "weights": [("p", "weight_0", rows), ("q", "weight_0", column)]}
    program = opened(text, align=align, **options)
    assert program.module()(torch.tensor(2.0)).tolist() == [[6, 12], [10, 16]]
    program.state_dict["p"][0, 1] = 0.0
    assert program.state_dict["q"].tolist() == [0, 4]


def test_keywords_and_nested_structures():
    inner = w.spec([w.LEAF, w.LEAF], "builtins.dict", '["p", "q"]')
    in_spec = w.spec([w.spec([w.LEAF]), w.spec([inner], "builtins.dict", '["extra"]')])
    out_spec = w.spec([w.LEAF, w.spec([w.LEAF], "builtins.list")], "builtins.dict", '["sum", "rest"]')
    specs = tuple(w.json.dumps([1, x]) for x in (in_spec, out_spec))
    module = runs({"x": F32, "p": F32, "q": F32}, [w.aten("add.Tensor", "s", "x", "p")], ["s", "q"], specs=specs)
    one, two = torch.ones(3), torch.full((3,), 2.0)
    result = module(one, extra={"p": two, "q": one})
    assert list(result) == ["sum", "rest"] and result["sum"].tolist() == [3, 3, 3] and result["rest"][0].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"takes 1 positional arguments \(x\), but 3"):
        module(one, two, one, extra={"p": two, "q": one})


def test_lists_and_several_results():
    nodes = [
        w.aten("split.Tensor", [w.tensors("a", "b")], "x", 2),
        w.aten("max.dim", [w.tensor("m"), w.tensor("i")], "b", 0),
        w.aten("cat.default", "c", w.tensors("a", "b", "a")),
    ]
    module = runs({"x": F32}, nodes, ["c", "m", "i"])
    c, m, i = module(torch.tensor([1.0, 2.0, 3.0]))
    assert c.tolist() == [1, 2, 3, 1, 2] and m.item() == 3 and i.item() == 0


def test_a_missing_tensor_in_a_list_is_none():
    index = {"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "i"}}]}
    module = runs({"x": w.meta("float32", [2, 3]), "i": w.meta("int64", [2])}, [w.aten("index.Tensor", "y", "x", index)], ["y"])
    assert module(torch.arange(6.0).reshape(2, 3), torch.tensor([2, 0])).tolist() == [[2, 0], [5, 3]]


def test_the_same_value_can_be_returned_twice():
    module = runs({"x": F32}, [w.aten("relu.default", "a", "x")], ["a", "a", "x", None, 3])
    a, b, c, none, three = module(torch.tensor([-1.0, 0.0, 2.0]))
    a[0] = 5.0
    assert b.tolist() == [5, 0, 2] and c.tolist() == [-1, 0, 2] and none is None and three == 3


def symbols(expression):
    x = w.meta("float32", [w.symbol("s0"), 2])
    inputs, nodes = {"x": x, "y": w.meta("float32", [expression])}, [w.aten("sum.default", "s", "y")]
    return w.model(inputs, nodes, ["s"], ranges={"s0": {"min_val": 3, "max_val": 8}})


def test_symbolic_sizes_are_checked():
    module = opened(symbols(f"Add(Mul(Integer(2), {w.symbol('s0')}), Integer(1))")).module()
    assert module(torch.zeros(3, 2), torch.ones(7)).item() == 7
    with pytest.raises(RuntimeError, match=r"input 1 \('y'\) is float32\[6\].*size 7 of dimension 0 is required.*float32\[2\*s0 \+ 1\]"):
        module(torch.zeros(3, 2), torch.ones(6))
    with pytest.raises(RuntimeError, match=r"input 0 \('x'\) is float32\[9, 2\], where 3 <= s0 <= 8 is required"):
        module(torch.zeros(9, 2), torch.ones(19))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("FloorDiv({}, Integer(2))", 2),
        ("Mod({}, Integer(3))", 2),
        ("Max({}, Integer(9))", 9),
        ("Add({}, Integer(-1))", 4),
        ("Unknown({})", 3),
    ],
)
def test_expressions_of_sizes(expression, expected):
    module = opened(symbols(expression.format(w.symbol("s0")))).module()
    assert module(torch.zeros(5, 2), torch.ones(expected)).item() == expected
    if "Unknown" not in expression:
        with pytest.raises(RuntimeError, match="input 1"):
            module(torch.zeros(5, 2), torch.ones(expected + 1))


NUMBERS = [
    ("add", (7, 2), 9),
    ("sub", (2, 7), -5),
    ("mul", (7, -2), -14),
    ("floordiv", (-7, 2), -4),
    ("mod", (-7, 2), 1),
    ("truediv", (7, 2), 3.5),
    ("pow", (3, 4), 81),
    ("lt", (2, 7), True),
    ("ge", (2, 7), False),
    ("and_", (6, 3), 2),
    ("neg", (7,), -7),
    ("lshift", (3, 2), 12),
]


@pytest.mark.parametrize(("name", "operands", "expected"), NUMBERS)
def test_arithmetic_on_numbers(name, operands, expected):
    inputs = {f"n{i}": None for i in range(len(operands))} | {"x": F32}
    module = runs(inputs, [w.node("_operator." + name, [w.sym("r")], *map(w.sym, list(inputs)[:-1]))], [w.sym("r")])
    result = module(*operands, torch.zeros(3))
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize(
    ("name", "operands"), [("floordiv", (1, 0)), ("mod", (1, 0)), ("mul", (2**62, 2)), ("pow", (10, 60)), ("lshift", (1, 63))]
)
def test_numbers_without_a_result_are_errors(name, operands):
    module = runs({"a": None, "b": None}, [w.node("_operator." + name, [w.sym("r")], w.sym("a"), w.sym("b"))], [w.sym("r")])
    with pytest.raises(RuntimeError, match=rf"node.*: cannot compute {name}\("):
        module(*operands)


def test_other_functions_of_numbers():
    nodes = [
        w.aten("sym_size.int", [w.sym("n")], "x", 0),
        w.node("torch.sym_max", [w.sym("m")], w.sym("n"), 10),
        w.node("_operator.truediv", [w.sym("f")], w.sym("m"), 4),
        w.node("math.ceil", [w.sym("c")], w.sym("f")),
        w.node("_operator.eq", [w.sym("e")], w.sym("c"), 3),
        w.node("torch.sym_not", [w.sym("o")], w.sym("e")),
        w.node("torch.sym_ite", [w.sym("t")], w.sym("o"), w.sym("n"), w.sym("c")),
        w.aten("full.default", "y", ["t", 2], 1.5, dtype={"as_scalar_type": 7}),
    ]
    module = runs({"x": w.meta("float32", [w.symbol("s0")])}, nodes, ["y", w.sym("f")])
    y, f = module(torch.zeros(4))
    assert y.shape == (3, 2) and y.dtype == torch.float32 and f == 2.5


def test_sizes_that_depend_on_elements():
    nodes = [
        w.aten("nonzero.default", "i", "x"),
        w.aten("sym_size.int", [w.sym("u0")], "i", 0),
        w.aten("sym_constrain_range_for_size.default", None, w.sym("u0"), max=3),
        w.node("_operator.ge", [w.sym("ok")], w.sym("u0"), 1),
        w.aten("_assert_scalar.default", None, w.sym("ok"), {"as_string": "no element is set"}),
        w.aten("item.default", [w.sym("u1")], "n"),
        w.aten("zeros.default", "z", ["u0", "u1"]),
    ]
    module = runs({"x": w.meta("float32", [w.symbol("s0")]), "n": w.meta("int64", [])}, nodes, ["z"])
    assert module(torch.tensor([1.0, 0.0, 2.0]), torch.tensor(5)).shape == (2, 5)
    with pytest.raises(RuntimeError, match="no element is set"):
        module(torch.zeros(3), torch.tensor(5))
    with pytest.raises(RuntimeError, match="4 is outside the exported range: it must be at most 3"):
        module(torch.ones(4), torch.tensor(5))


@pytest.mark.parametrize(
    ("node", "value", "fact"),
    [
        (("sym_constrain_range.default", {"min": 2, "max": 3}), 1, "1 is outside the exported range 2 to 3"),
        (("sym_constrain_range.default", {"min": 2}), 1, "1 is outside the exported range: it must be at least 2"),
        (("sym_constrain_range.default", {"max": 3}), 4, "4 is outside the exported range: it must be at most 3"),
        (("sym_size.int", {"dim": 3}), 0, "dimension 3 is out of range of a tensor of 1 dimensions"),
        (("sym_stride.int", {"dim": -2}), 0, "dimension -2 is out of range of a tensor of 1 dimensions"),
        (("_assert_tensor_metadata.default", {"size": [2, 4]}), 0, r"a tensor has shape \[3\]; the program expects \[2, 4\]"),
        (("_assert_scalar.default", {}), 0, "an assertion failed: its condition is 0"),
    ],
)
def test_errors_of_numbers_have_the_values(node, value, fact):
    name, keywords = node
    number = "scalar" in name or "constrain" in name
    nodes = [w.aten(name, None, w.sym("n") if number else "x", **keywords), w.aten("neg.default", "y", "x")]
    module = runs({"x": F32, "n": None}, nodes, ["y"])
    with pytest.raises(RuntimeError, match=f"^program_run: node '.*': {fact}$"):
        module(torch.zeros(3), value)


def branches(taken="s"):
    yes = w.subgraph("yes", ["a"], [w.aten("add.Tensor", "b", "a", 1)], ["b"])
    no = w.subgraph("no", ["a"], [], ["a"])
    cond = w.node("torch.ops.higher_order.cond", "c", "g", yes, no, w.tensors("x"))
    nodes = [w.aten("sum.default", "s", "x"), w.aten("gt.Scalar", "g", taken, 0), cond, w.aten("neg.default", "y", "c")]
    return {"x": F32}, nodes, ["y"]


def test_cond_runs_one_branch():
    module = runs(*branches())
    assert module(torch.ones(3)).tolist() == [-2, -2, -2]
    assert module(-torch.ones(3)).tolist() == [1, 1, 1]


def test_while_loop_carries_values():
    test = w.subgraph("test", ["i", "v", "k"], [w.aten("lt.Tensor", "c", "i", "k")], ["c"])
    body = w.subgraph("body", ["i", "v", "k"], [w.aten("add.Tensor", "n", "i", 1), w.aten("mul.Tensor", "d", "v", 2)], ["n", "d"])
    loop = w.node("torch.ops.higher_order.while_loop", [w.tensor("i1"), w.tensor("v1")], test, body, w.tensors("i", "x"), w.tensors("k"))
    inputs = {"i": w.meta("int64", []), "x": F32, "k": w.meta("int64", [])}
    module = runs(inputs, [loop], ["i1", "v1"])
    for k in (0, 1, 5):
        i, v = module(torch.tensor(0), torch.ones(3), torch.tensor(k))
        assert i.item() == k and v.tolist() == [2.0**k] * 3


def scans(outputs=("s", "ys"), init="i", xs="x"):
    body = w.subgraph("body", ["c", "v", "k"], [w.aten("add.Tensor", "n", "c", "v"), w.aten("mul.Tensor", "d", "c", "k")], ["n", "d"])
    return w.node("torch.ops.higher_order.scan", [w.tensor(x) for x in outputs], body, w.tensors(init), w.tensors(xs), w.tensors("k"))


SCANNED = {"i": w.meta("float32", [2]), "x": w.meta("float32", [w.symbol("s0"), 2]), "k": w.meta("float32", [])}


def test_scan_carries_values_and_stacks_results():
    module = runs(SCANNED, [scans()], ["s", "ys"], ranges={"s0": {"min_val": 0, "max_val": None}})
    for n in (1, 2, 7):
        x = torch.arange(2.0 * n).reshape(n, 2)
        carry, ys = module(torch.ones(2), x, torch.tensor(3.0))
        sums = torch.cat([torch.ones(1, 2), 1 + x.cumsum(0)])
        assert torch.equal(carry, sums[-1]) and torch.equal(ys, 3 * sums[:-1])
    with pytest.raises(RuntimeError, match=r"node .*: the inputs must be tensors of one size, above 0, in dimension 0"):
        module(torch.ones(2), torch.ones(0, 2), torch.tensor(3.0))


def test_map_stacks_results():
    body = w.subgraph("body", ["a", "b", "k"], [w.aten("mul.Tensor", "m", "a", "k"), w.aten("sub.Tensor", "d", "a", "b")], ["m", "d", "a"])
    call = w.node("torch.ops.higher_order.map_impl", [w.tensor(x) for x in ("p", "q", "r")], body, w.tensors("x", "y"), w.tensors("k"))
    inputs = {"x": w.meta("float32", [w.symbol("s0"), 2]), "y": w.meta("float32", [w.symbol("s1")]), "k": w.meta("float32", [])}
    module = runs(inputs, [call], ["p", "q", "r"])
    x, y = torch.randn(3, 2), torch.randn(3)
    p, q, r = module(x, y, torch.tensor(2.0))
    assert torch.equal(p, x * 2) and torch.equal(q, x - y[:, None]) and torch.equal(r, x)
    with pytest.raises(RuntimeError, match="the inputs must be tensors of one size"):
        module(x, y[:2], torch.tensor(2.0))


def test_associative_scan_stacks_the_results_of_a_recurrence():
    nodes = [w.aten("mul.Tensor", "m", "a", "d"), w.aten("mul.Tensor", "p", "b", "d"), w.aten("add.Tensor", "n", "p", "e")]
    body = w.subgraph("body", ["a", "b", "d", "e", "k"], [*nodes, w.aten("mul.Tensor", "t", "n", "k")], ["m", "t"])
    call = w.node("torch.ops.higher_order.associative_scan", [w.tensor("u"), w.tensor("v")], body, w.tensors("x", "y"), w.tensors("k"))
    inputs = {"x": SCANNED["x"], "y": w.meta("float32", [w.symbol("s0"), 2]), "k": w.meta("float32", [])}
    module = runs(inputs, [call], ["u", "v"])
    for n in (1, 2, 6):
        x, y = torch.randn(n, 2, requires_grad=True), torch.randn(n, 2, requires_grad=True)
        left, us, vs = (x[0], y[0]), [x[0]], [y[0]]
        for a, b in zip(x[1:], y[1:], strict=True):
            left = left[0] * a, (left[1] * a + b) * 2.0
            us.append(left[0]), vs.append(left[1])
        u, v = module(x, y, torch.tensor(2.0))
        assert torch.equal(u, torch.stack(us)) and torch.equal(v, torch.stack(vs))
        found = torch.autograd.grad(v.sum(), (x, y), allow_unused=True)
        for a, b in zip(found, torch.autograd.grad(sum(vs).sum(), (x, y), allow_unused=True), strict=True):
            assert (b is None or (b == 0).all()) if a is None else torch.allclose(a, torch.zeros_like(a) if b is None else b)
    with pytest.raises(RuntimeError, match="the inputs must be tensors of one size, above 0"):
        module(torch.ones(0, 2), torch.ones(0, 2), torch.tensor(2.0))
    gc.collect()
    before = live_handles()
    with pytest.raises(RuntimeError, match="node .*must match the size"):
        runs(inputs | {"y": w.meta("float32", [3, 3])}, [call], ["u", "v"])(torch.ones(3, 2), torch.ones(3, 3), torch.tensor(2.0))
    gc.collect()
    assert live_handles() == before


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"dtype": 99}, "has a dtype of the number 99, which this version of libtensor does not know"),
        ({"layout": 99}, "has a layout of the number 99, which this version of libtensor does not know"),
        ({"layout": 2}, "has the layout .*csr; only strided tensors can be loaded: convert it"),
    ],
)
def test_weights_of_other_dtypes_and_layouts(change, fact):
    weights = [("w", "parameter", "p", F32)]
    text = w.model({"x": F32}, [w.aten("add.Tensor", "y", "x", "w")], ["y"], weights=weights)
    with pytest.raises(NotImplementedError, match=f'program_load: parameter "p" {fact}'):
        opened(text, records=[("weight_0", bytes(12))], weights=[("p", "weight_0", {**F32, **change})])


UNSUPPORTED = {
    "autocast": (
        "torch.ops.higher_order.wrap_with_autocast",
        [{"as_string": "mps"}, {"as_scalar_type": 13}, True, False],
        "sets autocast of the device .*mps.*; it is supported for cpu and cuda",
    ),
    "jvp": ("torch._functorch.predispatch._jvp_increment_nesting", [], "a transform other than vmap, which is not supported"),
    "a higher-order operator": ("torch.ops.higher_order.flex_attention", [], "calls .*flex_attention"),
    "a function of Python": ("math.log", [2], "neither an operator nor a function of numbers; those are .*math.sqrt"),
    "a custom object": (
        "torch.ops.aten.relu.default",
        [{"as_custom_obj": {"name": "o", "class_fqn": "C"}}],
        "an argument of the type .*a custom object.*; supported are tensors",
    ),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_valid_programs_that_are_not_supported(name):
    target, args, fact = UNSUPPORTED[name]
    args = [*args, w.subgraph("body", ["a"], [], ["a"]), "x"] if name == "autocast" else args
    with pytest.raises(NotImplementedError, match=rf"program_load: the program is not supported: node .*{fact}"):
        runs({"x": F32}, [w.node(target, "y", *args)], ["y"])


@pytest.mark.runs_in_c
def test_scan_frees_its_values():
    module = runs(SCANNED, [scans(), w.aten("relu.default", "y", "ys")], ["y"])
    inputs = torch.ones(2), torch.ones(5, 2), torch.tensor(3.0)
    broken = runs(SCANNED, [scans(init="k")], ["s", "ys"])
    module(*inputs)
    gc.collect()
    before = live_handles()
    for _ in range(3):
        module(*inputs)
        with pytest.raises(RuntimeError, match="stack: expects each tensor to be equal size"):
            broken(*inputs)
    gc.collect()
    assert live_handles() == before


LISTS = {
    "bools": {"as_bools": [True] * 5000},
    "tensors": w.tensors(*["x"] * 5000),
    "strings": {"as_strings": ["x"] * 5000},
    "numbers": {"as_sym_ints": [{"as_int": 1}] * 5000},
    "ints": {"as_ints": [1, 2]},
    "floats": {"as_floats": [0.5]},
    "nothing": {"as_ints": []},
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_where_one_value_is_expected_are_errors(kind):
    """A run has memory for the lists of calls alone."""
    value, nested = LISTS[kind], {"as_optional_tensors": [LISTS[kind]]}
    relu = w.aten("relu.default", "y", "x")
    yes = w.subgraph("yes", ["a"], [], ["a"])
    test = w.subgraph("test", ["a"], [w.aten("sum.default", "s", "a")], ["s"])
    programs = [
        ([relu], ["y", value]),
        ([w.node("torch.ops.higher_order.cond", "y", value, yes, yes, w.tensors("x"))], ["y"]),
        ([w.node("torch.ops.higher_order.cond", "y", "x", yes, w.subgraph("no", ["a"], [], [value]), w.tensors("x"))], ["y"]),
        ([w.node("torch.ops.higher_order.while_loop", "y", test, yes, nested, w.tensors())], ["y"]),
        ([w.node("torch.ops.higher_order.scan", "y", yes, nested, w.tensors("x"), w.tensors())], ["y"]),
        ([w.node("torch.ops.higher_order.map_impl", "y", yes, nested, w.tensors())], ["y"]),
    ]
    for nodes, outputs in programs:
        with pytest.raises(RuntimeError, match="has a list where a tensor or a number is expected|inputs"):
            opened(w.model({"x": F32}, nodes, outputs))


def test_constant_outputs_are_named_by_their_index():
    program = opened(w.model({"x": F32}, [w.aten("relu.default", "y", "x")], ["y", 2, None, "y", {"as_string": "y"}]))
    assert [x.name for x in program.outputs] == ["y", "output_1", "output_2", "y", "output_4"]


def test_graphs_under_no_grad_are_inlined():
    inner = w.subgraph("inner", ["a"], [w.aten("add.Tensor", "b", "a", 1)], ["b"])
    call = w.node("torch.ops.higher_order.wrap_with_set_grad_enabled", "c", False, inner, "x")
    assert runs({"x": F32}, [call, w.aten("neg.default", "y", "c")], ["y"])(torch.ones(3)).tolist() == [-2, -2, -2]


def counting(nodes, **options):
    meta = w.meta("float32", [])
    text = w.model({"x": F32}, nodes, options.pop("outputs"), weights=[("n", "buffer", "n", meta)], **options)
    return opened(text, records=[("weight_0", floats(0))], weights=[("n", "weight_0", meta)])


def test_buffers_change_as_the_signature_says():
    nodes = [w.aten("add.Tensor", "more", "n", 1), w.aten("mul.Tensor", "y", "x", "more")]
    program = counting(nodes, outputs=["y"], mutations=[("buffer_mutation", "more", "buffer_name", "n")])
    module = program.module()
    assert [module(torch.ones(3))[0].item() for _ in range(3)] == [1, 2, 3]
    assert program.state_dict["n"].item() == 3 and program.graph_signature.buffers_to_mutate == {"more": "n"}


def test_buffers_change_in_place():
    program = counting([w.aten("add_.Tensor", "more", "n", 1), w.aten("mul.Tensor", "y", "x", "more")], outputs=["y"])
    assert [program.module()(torch.ones(3))[0].item() for _ in range(3)] == [1, 2, 3]


def test_inputs_change_as_the_signature_says():
    mutations = [("user_input_mutation", "y", "user_input_name", "x")]
    module, x = runs({"x": F32}, [w.aten("add.Tensor", "y", "x", 1)], ["y"], mutations=mutations), torch.zeros(3)
    assert module(x).tolist() == [1, 1, 1] and x.tolist() == [1, 1, 1]


def test_constant_inputs_must_be_equal():
    constants = [("flag", {"as_bool": True}), ("mode", {"as_string": "sum"}), ("rest", {"as_none": True})]
    module = runs({"x": F32}, [w.aten("sum.default", "y", "x")], ["y"], constants=constants)
    assert module(torch.ones(3), True, "sum", None).item() == 3
    for values, name in [
        ((False, "sum", None), "flag"),
        (("True", "sum", None), "flag"),
        ((True, "mean", None), "mode"),
        ((True, "sum", 1), "rest"),
    ]:
        with pytest.raises(RuntimeError, match=f"'{name}'.*exported for"):
            module(torch.ones(3), *values)


NUMBERS = [2, 2.0, 1, 1.0, True, 0, 0.0, -0.0, False, 0.5, 2**53, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, math.inf, -math.inf, 1e300]


@pytest.mark.parametrize("constant", NUMBERS, ids=repr)
def test_numbers_are_equal_to_constant_inputs_of_other_types(constant):
    constants = [("k", {f"as_{type(constant).__name__}": constant})]
    module = runs({"x": F32}, [w.aten("sum.default", "y", "x")], ["y"], constants=constants)
    for given in NUMBERS:
        if given == constant:
            assert module(torch.ones(3), given).item() == 3
        else:
            with pytest.raises(RuntimeError, match=r"input 1 \('k'\) is .*; the program was exported for "):
                module(torch.ones(3), given)
    for other in (math.nan, str(constant), None):
        with pytest.raises(RuntimeError, match="the program was exported for"):
            module(torch.ones(3), other)


def test_nan_as_a_constant_input_requires_nan():
    module = runs({"x": F32}, [w.aten("sum.default", "y", "x")], ["y"], constants=[("k", {"as_float": "NaN"})])
    assert module(torch.ones(3), math.nan).item() == 3
    for other in (0, 1.0, True):
        with pytest.raises(RuntimeError, match="exported for"):
            module(torch.ones(3), other)


@pytest.mark.parametrize(
    "value", [w.tensor("x"), w.sym("x"), w.tensors("x"), {"as_ints": [1, 2]}, {"as_scalar_type": 7}, {"as_device": {"type": "cpu"}}]
)
def test_other_constant_inputs_are_errors(value):
    with pytest.raises(RuntimeError, match="a constant input is neither a number, a bool, a string nor none"):
        opened(w.model({"x": F32}, [w.aten("relu.default", "y", "x")], ["y"], constants=[("n", value)]))


def test_outputs_can_be_strings():
    module = runs({"x": F32}, [w.aten("sum.default", "y", "x")], ["y", {"as_string": "mean"}])
    for _ in range(3):  # each result owns its memory
        total, text = module(torch.ones(3))
        assert total.item() == 3 and text == "mean"


def test_wrong_inputs_are_named():
    module = opened(chain()).module()
    for bad, text in [
        (torch.zeros(4), r"input 0 \('x'\) is float32\[4\].*expects float32\[3\]"),
        (torch.zeros(3, dtype=torch.int64), r"input 0 \('x'\) is int64\[3\].*expects float32\[3\]"),
        (torch.zeros(3, 1), r"input 0 \('x'\) is float32\[3, 1\]"),
        (2.5, r"input 0 \('x'\) is .*expects float32\[3\]"),
        (None, r"input 0 \('x'\) is .*expects float32\[3\]"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            module(bad)
    with pytest.raises(ValueError, match=r"takes 1 positional arguments \(x\), but 2"):
        module(torch.zeros(3), torch.zeros(3))


def test_an_error_names_the_node():
    module = runs({"x": F32, "y": w.meta("float32", [w.symbol("s0")])}, [w.aten("add.Tensor", "total", "x", "y")], ["total"])
    with pytest.raises(RuntimeError, match=r"node 'total'.*aten::add.*3.*4"):
        module(torch.zeros(3), torch.zeros(4))


def test_missing_operators_are_named_together():
    nodes = [w.aten("relu.default", "a", "x"), w.aten("not_there.default", "b", "a"), w.node("torch.ops.other.thing.default", "c", "b")]
    with pytest.raises(NotImplementedError, match=r"2 operators.*aten::not_there.*other::thing"):
        opened(w.model({"x": F32}, [*nodes, w.aten("not_there.default", "d", "c")], ["d"]))


def test_versions_are_named():
    for version in [(7, 3), (9, 0)]:
        with pytest.raises(NotImplementedError, match=rf"schema version {version[0]}\.{version[1]} .*version 8"):
            opened(w.model({"x": F32}, [], ["x"], version=version))
    assert opened(w.model({"x": F32}, [], ["x"], version=(8, 99))).module()(torch.ones(3)).tolist() == [1, 1, 1]


def test_the_signature_and_the_graph_are_shown():
    program = counting([w.aten("add.Tensor", "y", "x", "n", alpha=2)], outputs=["y"])
    specs = [(x.kind, x.arg, x.target) for x in program.graph_signature.input_specs]
    assert specs == [(InputKind.BUFFER, TensorArgument("n"), "n"), (InputKind.USER_INPUT, TensorArgument("x"), None)]
    assert "torch.ops.aten.add.Tensor(x, n, alpha=2)" in str(program) and 'x: "f32[3]"' in str(program)
    assert str(program.inputs) == "[x: float32[3]]" and program.operators == {"torch.ops.aten.add.Tensor": 1}
    with pytest.raises(RuntimeError, match="module()"):
        program(torch.ones(3))


def test_threads_run_one_program():
    nodes = [w.aten("mm.default", "a", "x", "x"), w.aten("relu.default", "b", "a"), w.aten("add.Tensor", "y", "b", "x")]
    module = runs({"x": w.meta("float32", [8, 8])}, nodes, ["y"])
    inputs = [torch.full((8, 8), float(i)) for i in range(8)]
    wrong = []

    def work(x, i):
        for _ in range(200):
            if not torch.equal(module(x), torch.full((8, 8), 8.0 * i * i + i)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(x, i)) for i, x in enumerate(inputs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.runs_in_c
def test_threads_count_in_one_buffer():
    program = counting([w.aten("add_.Tensor", "more", "n", 1), w.aten("mul.Tensor", "y", "x", "more")], outputs=["y"])
    module = program.module()
    threads = [threading.Thread(target=lambda: [module(torch.ones(3)) for _ in range(100)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert program.state_dict["n"].item() == 400


@pytest.mark.runs_in_c
def test_runs_leak_no_handles():
    module, x = runs(*branches()), torch.ones(3)
    module(x)
    gc.collect()
    before = live_handles()
    for _ in range(100):
        module(x)
    assert live_handles() == before
    program = opened(chain())
    del program
    gc.collect()
    assert live_handles() == before


def test_a_process_that_runs_programs_does_not_import_the_exporter(tmp_path):
    w.program(chain(), tmp_path / "m.pt2")
    script = f"""if True:
        import sys
        import libtensor as torch
        print(torch.export.load({str(tmp_path / "m.pt2")!r}).module()(torch.ones(3)).tolist())
        assert "libtensor.fx" not in sys.modules and {{"export", "save"}} <= set(dir(torch.export))
        from libtensor.export import *
        assert export is torch.export.export and save is torch.export.save and CustomDecompTable() == default_decompositions()
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert (done.stdout, done.stderr) == ("[2.0, 2.0, 2.0]\n", "")


def test_mutated_files_are_errors_or_run():
    """Each of 1500 mutations ends in an error or a run, within 10 seconds and 16 times the memory of the file (exported_fuzz.py)."""
    script = pathlib.Path(__file__).with_name("exported_fuzz.py")
    done = subprocess.run([sys.executable, script, "1500", "3"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'ran': 0" not in done.stdout and "'rejected': 0" not in done.stdout


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: m["graph_module"]["graph"]["nodes"].reverse(), "'a', which is not defined before it"),
        (lambda m: m["graph_module"]["graph"]["nodes"][0]["outputs"].append(w.tensor("x")), "'x' is defined twice"),
        (lambda m: m["graph_module"]["graph"]["nodes"][0].pop("target"), "no target"),
        (lambda m: m["graph_module"].pop("graph"), "no graph"),
        (lambda m: m["graph_module"]["graph"]["nodes"][0].update(target="os.system"), "'os.system', which is neither an operator nor"),
        (
            lambda m: m["graph_module"]["signature"]["output_specs"].append({"other": {"arg": {"name": "a"}}}),
            "of the kind 'other'; supported are user_output",
        ),
    ],
)
def test_invalid_graphs_are_named(change, text):
    model = chain()
    change(model)
    with pytest.raises(RuntimeError, match=text.replace("'", "[\"']")):
        opened(model)


def test_invalid_json_is_named_with_its_byte():
    for text in ("", "{", '{"graph_module": [}', "[" * 1000, '{"a": 1} x', '{"graph_module": {"graph": {"nodes": [{}]}}}'):
        with pytest.raises(RuntimeError, match=r"models/model.json.*byte \d+"):
            opened(text)


def test_weights_must_fit_their_records():
    meta = w.meta("float32", [2, 3])
    model = w.model({"x": F32}, [w.aten("mv.default", "y", "p", "x")], ["y"], weights=[("p", "parameter", "p", meta)])
    for records, text in [([("weight_0", bytes(20))], "20"), ([], "no record")]:
        with pytest.raises(RuntimeError, match=text):
            opened(model, records=records, weights=[("p", "weight_0", meta)])
    with pytest.raises(NotImplementedError, match="compressed"):
        opened(model, records=[("weight_0", bytes(24))], weights=[("p", "weight_0", meta)], compress=True)
    with pytest.raises(RuntimeError, match='"p" is not among its weights'):
        opened(model)


RECORDED = pathlib.Path(__file__).parents[3] / "engine/program/testdata"
CASES = json.loads((RECORDED / "cases.json").read_text())


def rebuilt(value):
    """Returns the value of a description in cases.json."""
    if isinstance(value, dict) and "dtype" in value:
        return torch.tensor(value["values"], dtype=getattr(torch, value["dtype"])).reshape(value["shape"])
    if isinstance(value, dict):
        return {key: rebuilt(x) for key, x in value.items()}
    return [rebuilt(x) for x in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_programs_of_pytorch_give_its_results(name, threads):
    module, before = load(RECORDED / f"{name}.pt2").module(), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for case in CASES[name]:
            result = module(*rebuilt(case["args"]), **rebuilt(case["keywords"]))
            found, expected = (torch.utils._pytree.tree_leaves(x) for x in (result, rebuilt(case["result"])))
            assert len(found) == len(expected)
            for x, y in zip(found, expected, strict=True):
                assert type(x) is type(y)
                torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-6)
    finally:
        torch.set_num_threads(before)
