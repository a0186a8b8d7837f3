"""The torch.fx graphs of exported programs, and of make_fx for functions with control flow."""

import copy
import io
import operator

import pytest

import libtensor as torch
from libtensor import fx, nn
from libtensor.export import Dim, export
from libtensor.fx.experimental.proxy_tensor import make_fx


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros(1))
        self.scale = torch.full((2,), 3.0)

    def forward(self, x, extra, n=2):
        self.count.add_(1)
        first, _ = torch.split(self.linear(x), 1, 1)
        chosen = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        values, _ = torch.topk(x, n)
        return torch.relu(self.linear(x)) * self.scale + extra["bias"].sum(), x.shape[0] * 2, [first, chosen], values, None


def example(rows=4):
    return (torch.arange(3.0 * rows).reshape(rows, 3), {"bias": torch.ones(2)})


def make_program(kind):
    torch.manual_seed(1)
    made = export(Model(), example(), {"n": 2}, dynamic_shapes={"x": {0: Dim("rows")}, "extra": {"bias": None}, "n": None})
    if kind == "exported":
        return made
    file = io.BytesIO()
    torch.export.save(made, file)
    file.seek(0)
    return torch.export.load(file)


def equal(found, expected):
    found, expected = torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(expected)
    return len(found) == len(expected) and all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("kind", ["exported", "loaded"])
def test_nodes(kind):
    program = make_program(kind)
    nodes = {node.name: node for node in program.graph.nodes}
    assert list(nodes)[:7] == ["p_linear_weight", "p_linear_bias", "b_count", "c_scale", "x", "extra_bias", "n"]
    assert all(nodes[name].op == "placeholder" for name in list(nodes)[:7])
    assert nodes["linear"].target is torch.ops.aten.linear.default and nodes["linear"].args == (
        nodes["x"],
        nodes["p_linear_weight"],
        nodes["p_linear_bias"],
    )
    assert nodes["getitem"].target is operator.getitem and nodes["getitem"].args == (nodes["split"], 0)
    assert nodes["cond"].target is torch.ops.higher_order.cond and nodes["cond"].args[3] == (nodes["x"],)
    assert (
        nodes["relu"].meta["val"].shape == (4, 2) and nodes["relu"].meta["val"].dtype == torch.float32 and nodes["relu"].meta["val"].is_meta
    )
    assert nodes["sym_size_int"].meta["val"] == 4 and nodes["mul_1"].meta["val"] == 8 and nodes["n"].meta["val"] == 2
    assert [x.shape for x in nodes["topk"].meta["val"]] == [(4, 2), (4, 2)]
    assert len(nodes["output"].args[0]) == 6
    program.graph.lint()
    assert "torch.ops.aten.relu.default(linear_1)" in program.graph_module.code


@pytest.mark.parametrize("kind", ["exported", "loaded"])
def test_a_graph_module_returns_the_results_of_the_program(kind):
    program = make_program(kind)
    state = [*program.parameters(), *program.buffers(), *program.constants.values()]
    for rows in (4, 7):
        x, extra = example(rows)
        expected = program.module()(x, extra, n=2)
        assert equal(program.graph_module(*state, x, extra["bias"], 2), expected)
        assert equal(fx.Interpreter(program.graph_module).run(*state, x, extra["bias"], 2), expected)


@pytest.mark.parametrize("kind", ["exported", "loaded"])
def test_state_and_structures_of_calls(kind):
    program = make_program(kind)
    assert [name for name, _ in program.named_parameters()] == ["linear.weight", "linear.bias"]
    assert [name for name, _ in program.named_buffers()] == ["count"] and list(program.tensor_constants) == ["scale"]
    assert all(a is b for a, b in zip(program.parameters(), program.module().parameters(), strict=True))
    assert program.call_spec.in_spec.num_leaves == 3 and program.call_spec.out_spec.num_leaves == 6
    first = program.module_call_graph[0]
    assert (
        first.fqn == ""
        and first.signature.forward_arg_names == ["x", "extra", "n"]
        and first.signature.in_spec == program.call_spec.in_spec
    )
    assert [entry.fqn for entry in program.module_call_graph[1:]] == ["linear"] and program.dialect == "TRAINING"


@pytest.mark.parametrize("kind", ["exported", "loaded"])
def test_the_graph_of_a_module(kind):
    program = make_program(kind)
    module = program.module()
    assert {str(node.target) for node in module.graph.nodes if node.op == "get_attr"} >= {"linear.weight", "linear.bias", "count", "scale"}
    assert "tree_flatten_spec(([x, extra], {'n': n}), self._in_spec)" in module.code
    x, extra = example(5)
    copied = copy.deepcopy(module)
    assert equal(copied._graph_module(x, extra, 2), module(x, extra, n=2))
    assert "linear.weight" in module.state_dict() and not any("graph" in name for name in module.state_dict())


def test_symbolic_trace_of_a_module():
    traced = fx.symbolic_trace(export(nn.Linear(3, 2), (torch.ones(1, 3),)).module())
    assert [node.op for node in traced.graph.nodes] == ["placeholder", "get_attr", "get_attr", "call_function", "output"]

    class Nested(nn.Module):
        def forward(self, x, extra):
            return extra["bias"][0] + x, extra["pair"][1] * 2

    inputs = torch.ones(2), {"bias": [torch.ones(2)], "pair": (torch.ones(1), torch.arange(2.0))}
    inner = export(Nested(), inputs).module()
    traced = fx.symbolic_trace(inner)
    assert [node.target for node in traced.graph.nodes if node.op == "placeholder"] == ["x", "extra"]
    assert equal(traced(*inputs), inner(*inputs))


def choose(x, y):
    return torch.cond(x.sum() > 0, lambda x: x.sin() + y, lambda x: x.cos() * y, (x,))


def repeat(x, y):
    return torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * y), (torch.zeros((), dtype=torch.int64), x))[1]


def fold(x, y):
    return torch._higher_order_ops.scan(lambda carry, row: (carry + row, carry * y), y, x.reshape(2, 1))


def nest(x, y):
    return torch.cond(x.sum() > 0, lambda x: choose(x - 10, y), lambda x: x + 1, (x,))


@pytest.mark.parametrize("function", [choose, repeat, fold, nest])
def test_make_fx_of_control_flow(function):
    x, y = torch.ones(2), torch.arange(3.0)[:1] + 2
    graph = make_fx(function)(x, y)
    assert any(node.target in vars(torch.ops.higher_order).values() for node in graph.graph.nodes)
    for sign in (1, -1):
        assert equal(graph(sign * x, y), function(sign * x, y))
        assert equal(make_fx(graph)(x, y)(sign * x, y), function(sign * x, y))
    assert "torch.ops.higher_order" in graph.code and any("graph_0" in name for name, _ in graph.named_children())


def test_decompositions_in_graphs_of_control_flow():
    table = {torch.ops.aten.sin.default: lambda x: torch.ops.aten.neg.default(x)}
    graph = make_fx(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), table)(torch.ones(2))
    assert equal(graph(torch.ones(2)), -torch.ones(2))


def test_writes_in_functions_of_control_flow_raise():
    with pytest.raises(NotImplementedError, match="writes with aten.add_.Tensor to a tensor that it does not create"):
        make_fx(lambda x: torch.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x + 1, (x,)))(torch.ones(2))


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x):
        self.count.add_(x)
        x.mul_(2)
        return self.count * x


@pytest.mark.parametrize("decomposed", [False, True])
def test_graphs_write_to_buffers_and_inputs(decomposed):
    program = export(Counting(), (torch.ones(2),))
    program = program.run_decompositions() if decomposed else program
    for run in (lambda m: m, lambda m: fx.Interpreter(m).run, fx.symbolic_trace):
        module, x = program.module(), torch.ones(2)
        module.count.zero_()
        assert run(module)(x).tolist() == [2, 2] and x.tolist() == [2, 2]
        assert module.count.tolist() == [1, 1]


def test_interpreters_take_indices_and_control_flow():
    def function(x, i):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))[:, i], x[x > 0]

    inputs = torch.ones(2, 3), torch.tensor([0, 2])
    module = export(function, inputs).module()
    for graph in (module, make_fx(function)(*inputs)):
        assert equal(fx.Interpreter(graph).run(*inputs), function(*inputs))
    assert isinstance(module.true_graph_0, fx.GraphModule)
    with pytest.raises(AttributeError, match="true_graph_1"):
        _ = module.true_graph_1


def test_symbolic_trace_of_operators_with_several_results():
    def function(x):
        values, positions = x.max(0)
        first, second = x.chunk(2)
        return values + first, positions, second, torch.var_mean(x, 0)[1]

    module = export(function, (torch.arange(6.0).reshape(2, 3),)).module()
    traced, x = fx.symbolic_trace(module), torch.tensor([[3.0, 1, 2], [4, 0, 7]])
    assert equal(traced(x), module(x)) and "getitem" in traced.code


def test_tied_parameters_are_one():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    module = export(model, (torch.ones(1, 2),)).module()
    assert getattr(module, "0").weight is getattr(module, "1").weight
    assert len(list(module.parameters())) == 3 and len(module.state_dict()) == 4


def test_a_damaged_graph_is_an_error():
    program = export(nn.ReLU(), (torch.ones(2),))
    program._text["graph_module"]["graph"]["outputs"] = [{"as_tensor": {"name": "nowhere"}}]
    with pytest.raises(RuntimeError, match="the program is damaged.*nowhere"):
        _ = program.graph


@pytest.mark.parametrize("target", ["torch.load", "_operator.attrgetter", "math.__class__", "builtins.eval", "nowhere.__class__"])
def test_graphs_call_no_other_functions_than_runs(target):
    program = export(nn.ReLU(), (torch.ones(2),))
    program._text["graph_module"]["graph"]["nodes"][0]["target"] = target
    with pytest.raises(NotImplementedError, match="has no function in Python"):
        _ = program.graph
