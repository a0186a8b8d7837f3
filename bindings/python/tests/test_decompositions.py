"""run_decompositions(): results and operators of every decomposition, tables, mutation, control flow and symbolic sizes."""

import gzip
import io
import json
import pathlib

import exported_writer as w
import pytest
from decomposition_samples import LINES, list_samples, make_arguments
from exported_models import MODELS, flat

import libtensor as torch
from libtensor.export import CustomDecompTable, Dim, default_decompositions, export, load, save
from libtensor.export.arguments import find_operator
from libtensor.export.writer import code_of
from libtensor.fx.experimental.proxy_tensor import make_fx

ROOT = pathlib.Path(__file__).parents[3]
TESTDATA = ROOT / "engine/program/testdata"
TABLE = default_decompositions()
# The operators that are neither in Core ATen IR nor decomposed, here and in PyTorch, or only by random numbers.
REST = {"_native_batch_norm_legit_functional.default", "_fft_c2c.default", "unfold.default", "sort.stable", "grid_sampler_3d.default"}
REST |= {"adaptive_max_pool2d.default"}


def list_core():
    """Returns the names of the operators of Core ATen IR."""
    lines = gzip.decompress((pathlib.Path(__file__).parent / "golden/aten_schemas.txt.gz").read_bytes()).decode().splitlines()
    found = {line.split("(")[0] for line in lines if line.endswith("\tcore")}
    return {name if "." in name else f"{name}.default" for name in found}


CORE = list_core()


def names(program):
    return {name.removeprefix("torch.ops.aten.") for name in program.operators if name.startswith("torch.ops.aten.")}


CPU = {"type": "cpu", "index": None}


def argument(value, tensors):
    """Returns an Argument of the format; tensors become inputs."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return w.tensor(f"x{len(tensors) - 1}")
    if isinstance(value, list) and any(isinstance(x, torch.Tensor) for x in value):
        return {"as_tensors": [argument(x, tensors)["as_tensor"] for x in value]}
    kinds = {torch.dtype: "as_scalar_type", str: "as_string", torch.device: "as_device"}
    if type(value) in kinds:
        return {kinds[type(value)]: code_of(value) if isinstance(value, torch.dtype) else value if isinstance(value, str) else CPU}
    if isinstance(value, list) and any(isinstance(x, float) for x in value):
        return {"as_floats": value}
    return w.arg(value)


def program_of(overload, args, kwargs):
    """Returns a program of one operator, its inputs, and the results of a call."""
    op = find_operator(f"torch.ops.aten.{overload}")
    tensors = []
    inputs = [{"name": "", "arg": argument(x, tensors), "kind": 1} for x in args]
    inputs += [{"name": k, "arg": argument(x, tensors), "kind": 2} for k, x in kwargs.items()]
    expected = op(*args, **kwargs)
    if isinstance(expected, torch.Tensor):
        expected, outputs = [expected], [w.tensor("y0")]
    else:
        outputs = [w.tensor(f"y{i}") for i in range(len(expected))]
        if op._schema.result_kinds[0].endswith("[]"):
            outputs = [w.tensors(*(f"y{i}" for i in range(len(expected))))]
    node = w.aten(overload, outputs) | {"inputs": inputs, "name": "y0"}
    metas = {f"x{i}": w.meta(code_of(x.dtype), list(x.shape), list(x.stride())) for i, x in enumerate(tensors)}
    text = w.model(metas, [node], [f"y{i}" for i in range(len(expected))])
    return load(io.BytesIO(w.archive(text))), tensors, expected


def check_equal(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-5 if found.element_size() > 2 else 1e-3, atol=1e-5, equal_nan=True)


def test_every_decomposition_has_a_sample():
    assert {line.split(":")[0] for line in LINES.strip().splitlines()} == {op.__name__ for op in TABLE}
    assert not CORE.intersection(op.__name__ for op in TABLE) and len(CORE) > 190


@pytest.mark.parametrize(("overload", "text"), list_samples())
def test_decompositions_have_the_results_of_operators(overload, text):
    args, kwargs = make_arguments(text)
    program, tensors, expected = program_of(overload, args, kwargs)
    lowered = program.run_decompositions()
    found = lowered._program.run(*tensors)
    is_first = overload.startswith(("embedding_bag", "_scaled", "native_batch_norm"))  # the others are for backward passes
    count = 1 if is_first else len(expected)
    for one, other in zip(found[:count], expected, strict=False):
        check_equal(one, other)
    assert names(lowered) <= CORE | REST
    assert overload not in names(lowered)


@pytest.mark.parametrize(("overload", "text"), list_samples())
def test_make_fx_records_calls_of_overloads(overload, text):
    args, kwargs = make_arguments(text)
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    op = find_operator(f"torch.ops.aten.{overload}")

    def function(*given):
        left = iter(given)
        return op(*(next(left) if isinstance(x, torch.Tensor) else x for x in args), **kwargs)

    if "enable_gqa" in kwargs:
        with pytest.raises(NotImplementedError, match="not known as operators of ATen"):
            make_fx(function)(*tensors)
        return
    found, expected = make_fx(function)(*tensors)(*tensors), function(*tensors)
    for one, other in zip(flat(found), flat(expected), strict=True):
        check_equal(one, other)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(inplace=True),
            torch.nn.MaxPool2d(2),
            torch.nn.SiLU(),
        )
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.nn.functional.log_softmax(self.head(self.body(x).mean((2, 3))), -1)


def reload(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def test_a_network_becomes_core_operators_for_every_size():
    torch.manual_seed(0)
    model = Net().eval()
    program = export(model, (torch.randn(2, 3, 8, 8),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    lowered = reload(program.run_decompositions())
    assert names(lowered) <= CORE and {"convolution.default", "addmm.default", "permute.default"} <= names(lowered)
    for n in (1, 2, 5, 16):
        x = torch.randn(n, 3, 8, 8)
        check_equal(lowered.module()(x), model(x).detach())
    assert list(lowered.state_dict) == list(program.state_dict)


def test_batch_statistics_become_outputs():
    torch.manual_seed(0)
    model, x = Net().train(), torch.randn(2, 3, 8, 8)
    lowered = reload(export(model, (x,)).run_decompositions())
    changed = ["body.1.running_mean", "body.1.running_var", "body.1.num_batches_tracked"]
    assert sorted(lowered.graph_signature.buffers_to_mutate.values()) == sorted(changed)
    assert not any("_." in name for name in names(lowered))
    module = lowered.module()
    for _ in range(2):
        check_equal(module(x), model(x).detach())
    for name in changed:
        check_equal(lowered.state_dict[name], model.state_dict()[name])


@pytest.mark.parametrize("path", sorted(TESTDATA.glob("*.pt2")), ids=lambda path: path.stem)
def test_programs_of_pytorch(path):
    program, lowered = load(path), reload(load(path).run_decompositions())
    assert names(lowered) <= CORE | REST | {name for name in names(lowered) if name.startswith(("_assert", "sym_constrain"))}
    args, kwargs = program.example_inputs or ((), {})
    for _ in range(2):
        copies = torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        found, expected = lowered.module()(*copies[0], **copies[1]), program.module()(*args, **kwargs)
        for one, other in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(expected), strict=True):
            check_equal(one, other) if isinstance(one, torch.Tensor) else None


def test_a_program_is_unchanged():
    program = export(torch.nn.SiLU(), (torch.ones(2),))
    before = json.dumps(program._text)
    program.run_decompositions()
    assert json.dumps(program._text) == before


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrence = torch.nn.LSTM(3, 4, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.recurrence(x)[0]


def test_a_recurrence_of_a_variable_length_stays_whole():
    model, x = Recurrent().eval(), torch.randn(2, 5, 3)
    fixed = export(model, (x,)).run_decompositions()
    assert "lstm.input" not in names(fixed) and names(fixed) <= CORE
    check_equal(fixed.module()(x), model(x).detach())
    variable = export(model, (x,), dynamic_shapes=({1: torch.export.Dim("length")},)).run_decompositions()
    assert "lstm.input" in names(variable)
    check_equal(variable.module()(x[:, :3]), model(x[:, :3]).detach())


# ------------------------------------------------------------------------------------------------------------------ tables


def test_an_operator_that_is_removed_from_the_table_stays_whole():
    table = default_decompositions()
    del table[torch.ops.aten.linear.default]
    program = export(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.SiLU()), (torch.ones(2, 3),))
    assert names(program.run_decompositions(table)) == {"linear.default", "mul.Tensor", "sigmoid.default"}
    assert torch.ops.aten.linear.default in default_decompositions()
    assert table.copy() == table.materialize() == table and len(CustomDecompTable()) == len(table) + 1


def test_a_table_of_functions():
    def silu(x):
        return x / (1 + torch.exp(-x))

    x = torch.randn(3)
    program = export(torch.nn.SiLU(), (x,)).run_decompositions({torch.ops.aten.silu.default: silu})
    assert names(program) == {"neg.default", "exp.default", "add.Tensor", "div.Tensor"}
    check_equal(program.module()(x), torch.nn.functional.silu(x))


def test_functions_apply_to_the_operators_of_others():
    table = {
        torch.ops.aten.silu.default: lambda x: x * x.sigmoid(),
        torch.ops.aten.sigmoid.default: lambda x: torch.reciprocal(torch.exp(-x) + 1),
    }
    program = export(torch.nn.SiLU(), (torch.ones(2),)).run_decompositions(table)
    assert "sigmoid.default" not in names(program) and "reciprocal.default" in names(program)


def test_an_empty_table_removes_only_writes():
    def function(x):
        return torch.nn.functional.silu(x * 2).add_(1)

    program = export(function, (torch.ones(2),)).run_decompositions({})
    assert names(program) == {"mul.Tensor", "silu.default", "add.Tensor"}


def test_autocast_does_not_change_the_operators():
    program = export(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.SiLU()), (torch.ones(1, 3),))
    with torch.autocast("cpu"):
        lowered = program.run_decompositions()
    assert str(lowered) == str(program.run_decompositions())


def test_a_decomposition_can_decline():
    program = export(torch.nn.SiLU(), (torch.ones(2),)).run_decompositions({torch.ops.aten.silu.default: lambda x: NotImplemented})
    assert names(program) == {"silu.default"}


SCALE, WEIGHT = torch.tensor([[2.0, 3.0], [5.0, 7.0]]), torch.nn.Parameter(torch.tensor([0.5, -1.0]))
USING = {
    "a tensor": lambda x: x * SCALE[0],
    "several tensors": lambda x: x @ SCALE + WEIGHT * SCALE[:, 1] + SCALE.sum(),
    "a parameter": lambda x: x + WEIGHT,
    "a list": lambda x: torch.cat([x, SCALE])[: x.shape[0]],
    "a tensor of numbers": lambda x: x * torch.tensor([1.0, 2.0]),
    "a result": lambda x: x * 0 + WEIGHT,
}


@pytest.mark.parametrize("is_variable", [False, True])
@pytest.mark.parametrize("name", USING)
def test_decompositions_can_use_tensors_that_are_not_arguments(name, is_variable):
    """Such tensors become constants of the program, after the parameters, once for all calls."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.SiLU(), torch.nn.SiLU())
    program = export(model, (torch.randn(4, 2),), dynamic_shapes=({0: Dim("n")},) if is_variable else None)
    lowered = reload(program.run_decompositions({torch.ops.aten.silu.default: USING[name]}))
    assert "silu.default" not in names(lowered) and 1 <= len(lowered.constants) <= 2
    assert list(lowered.state_dict) == ["0.weight", "0.bias"] and not any(t.requires_grad for t in lowered.constants.values())
    for rows in (4, 9) if is_variable else (4,):
        x = torch.randn(rows, 2)
        check_equal(lowered.module()(x), USING[name](USING[name](model[0](x))))
    again = reload(lowered.run_decompositions({torch.ops.aten.linear.default: lambda x, w, b: x @ w.t() + b + SCALE[0]}))
    x = torch.randn(4, 2)
    check_equal(again.module()(x), USING[name](USING[name](model[0](x) + SCALE[0])))


SILU, SIGMOID = torch.ops.aten.silu.default, torch.ops.aten.sigmoid.default
WRONG = {
    "itself": ({SILU: lambda x: SILU(x) * 2}, r"decomposition of aten.silu.default calls aten.silu.default again, without end"),
    "one another": ({SILU: lambda x: SIGMOID(x), SIGMOID: lambda x: SILU(x)}, r"without end \(.*aten.silu.default -> aten.sigmoid.default"),
    "torch.cond": (
        {SILU: lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))},
        "aten.silu.default calls torch.cond .*torch.where",
    ),
    "a branch": ({SILU: lambda x: x if x.sum() > 0 else -x}, "aten.silu.default fails: .*values of tensors"),
    "a write": ({SILU: lambda x: x * SCALE.add_(1)[0]}, "writes to c_lifted_tensor, which is neither a buffer, a parameter nor an input"),
}


@pytest.mark.parametrize("name", WRONG)
def test_decompositions_that_have_no_graph_name_the_operator(name):
    table, error = WRONG[name]
    before = SCALE.clone()
    with pytest.raises(RuntimeError, match=error) as raised:
        export(torch.nn.SiLU(), (torch.ones(2),)).run_decompositions(table)
    assert not isinstance(raised.value, RecursionError) and torch.equal(SCALE, before)


def test_a_constant_in_control_flow_is_an_error():
    program = export(lambda x: torch.cond(x.sum() > 0, torch.nn.functional.silu, lambda x: x.clone(), (x,)), (torch.ones(2),))
    with pytest.raises(RuntimeError, match=r"silu.default, which a function of torch.cond .* uses a tensor that is not an argument"):
        program.run_decompositions({SILU: lambda x: x * SCALE[0]})


def test_custom_operators_have_decompositions():
    @torch.library.custom_op("decompositions::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    program = export(lambda x: twice(x) + 1, (torch.ones(2),))
    lowered = program.run_decompositions({torch.ops.decompositions.twice.default: lambda x: x + x})
    assert list(lowered.operators) == ["torch.ops.aten.add.Tensor"]
    assert lowered.module()(torch.ones(2)).tolist() == [3, 3]


# ---------------------------------------------------------------------------------------------------------------- mutation


def writes_views(x):
    x = x * 1
    x[0] = 7.0
    x[:, 1:3] += 10
    x.t()[2].mul_(2)
    x.view(-1)[::5].fill_(-1)
    a, b = x.split([1, 2])
    b.unsqueeze(0).neg_()
    first, *_ = x.unbind(1)
    first.copy_(torch.arange(3))
    x.diagonal().zero_()
    return x, a, b.sum(), x.flatten()


def writes_casts(x):
    y = x.to(torch.float64)
    z = x.to(torch.float32)
    x.add_(1)
    half = y.half()
    half.mul_(y.float())
    return y, z, half, x.reshape(4, 3).t().reshape(-1)


@pytest.mark.parametrize("table", [None, {}])
@pytest.mark.parametrize("function", [writes_views, writes_casts])
def test_writes_to_views(function, table):
    x = torch.arange(12.0).reshape(3, 4)
    lowered = reload(export(function, (x.clone(),)).run_decompositions(table))
    assert not any(name.partition(".")[0].endswith("_") for name in names(lowered))
    given, expected = x.clone(), x.clone()
    for one, other in zip(lowered.module()(given), function(expected), strict=True):
        check_equal(one, other)
    assert torch.equal(given, expected)


def test_inputs_that_are_written_to_become_outputs():
    def function(x, y):
        x[1:].add_(y)
        return y * 2

    x, y = torch.zeros(3), torch.ones(2)
    lowered = reload(export(function, (x, y)).run_decompositions())
    assert list(lowered.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    assert lowered.module()(x, y).tolist() == [2, 2] and x.tolist() == [0, 1, 1]


def test_a_write_without_another_form_is_an_error():
    text = w.model({"x": w.meta("float32", [3])}, [w.aten("clone.default", "a", "x"), w.aten("normal_.default", "b", "a")], ["b"])
    text["graph_module"]["graph"]["tensor_values"]["a"] = w.meta("float32", [3])
    program = load(io.BytesIO(w.archive(text)))
    with pytest.raises(RuntimeError, match=r"aten.normal_.default, which writes to its argument and has no form"):
        program.run_decompositions()


def test_graphs_of_control_flow_are_lowered():
    yes = w.subgraph("yes", ["a"], [w.aten("silu.default", "b", "a"), w.aten("add_.Tensor", "b1", "b", 1)], ["b1"])
    no = w.subgraph("no", ["a"], [w.aten("relu.default", "b", "a")], ["b"])
    for graph in (yes, no):
        graph["as_graph"]["graph"]["tensor_values"] = {name: w.meta("float32", [3]) for name in ("a", "b", "b1")}
    cond = w.node("torch.ops.higher_order.cond", "c", "g", yes, no, w.tensors("x"))
    values = {"s": w.meta("float32", []), "g": w.meta("bool", []), "c": w.meta("float32", [3])}
    nodes = [w.aten("sum.default", "s", "x"), w.aten("gt.Scalar", "g", "s", 0), cond]
    program = load(io.BytesIO(w.archive(w.model({"x": w.meta("float32", [3])}, nodes, ["c"], values=values))))
    lowered = reload(program.run_decompositions())
    assert names(lowered) == {"sum.dim_IntList", "gt.Scalar", "sigmoid.default", "mul.Tensor", "add.Tensor", "relu.default"}
    for x in (torch.ones(3), -torch.ones(3)):
        check_equal(lowered.module()(x), program.module()(x))


def test_graphs_under_no_grad_are_inlined():
    inner = w.subgraph("inner", ["a"], [w.aten("silu.default", "b", "a")], ["b"])
    inner["as_graph"]["graph"]["tensor_values"] = {name: w.meta("float32", [3]) for name in ("a", "b")}
    call = w.node("torch.ops.higher_order.wrap_with_set_grad_enabled", "c", False, inner, "x")
    values = {"c": w.meta("float32", [3])}
    program = load(
        io.BytesIO(w.archive(w.model({"x": w.meta("float32", [3])}, [call, w.aten("relu.default", "y", "c")], ["y"], values=values)))
    )
    lowered = program.run_decompositions()
    assert list(lowered.operators) == ["torch.ops.aten.mul.Tensor", "torch.ops.aten.relu.default", "torch.ops.aten.sigmoid.default"]


# ----------------------------------------------------------------------------------------------------------- symbolic sizes


def sizes_of(x, y):
    b, n, d = x.shape
    heads = x.reshape(b, n, d // 2, 2).transpose(1, 2)
    scores = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    flat = scores.transpose(1, 2).reshape(b * n, d)
    return torch.nn.functional.pad(flat, (1, 1)).roll(1, 0), torch.einsum("bnd,md->bnm", x, y), y.tril()


def test_symbolic_sizes():
    dims = torch.export.dims("batch", "length", "rows")
    x, y = torch.randn(2, 5, 4), torch.randn(3, 4)
    program = export(sizes_of, (x, y), dynamic_shapes=({0: dims[0], 1: dims[1]}, {0: dims[2]}))
    lowered = reload(program.run_decompositions())
    assert names(lowered) <= CORE
    for sizes in ((2, 5, 3), (1, 7, 4), (6, 2, 9)):
        x, y = torch.randn(sizes[0], sizes[1], 4), torch.randn(sizes[2], 4)
        for one, other in zip(lowered.module()(x, y), sizes_of(x, y), strict=True):
            check_equal(one, other)


@pytest.mark.parametrize("name", MODELS)
def test_exported_modules(name):
    module, args, kwargs, dynamic_shapes = MODELS[name]()
    lowered = reload(export(module, args, kwargs, dynamic_shapes=dynamic_shapes).run_decompositions())
    copies = torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
    found, expected = lowered.module()(*copies[0], **copies[1]), module(*args, **kwargs)
    for one, other in zip(flat(found), flat(expected), strict=True):
        check_equal(one, other.detach()) if isinstance(one, torch.Tensor) else None
    assert not {op.__name__ for op in TABLE}.intersection(names(lowered))
