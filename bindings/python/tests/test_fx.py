"""torch.fx: graphs of functions and modules, their printed form and generated code, and what they compute."""

import copy
import gc
import inspect
import io
import linecache
import math
import operator
import pickle
from typing import NamedTuple

import pytest

import libtensor as torch
import libtensor.fx as fx
import libtensor.nn.functional as F
from libtensor import nn


@fx.wrap
def halve_positive(x, by=2):
    return x / by if x.sum() > 0 else x


fx.wrap("len")


class Pair(NamedTuple):
    first: object
    second: object


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        identity = x
        x = self.norm(self.conv(x))
        x += identity
        return self.relu(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Block(), Block())
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.zeros(3))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        x = self.layers(x).mean((2, 3)) * self.scale
        return F.softmax(self.head(x + self.shift), dim=-1)


def body(function, **options):
    """Returns the statements of the generated code."""
    code = fx.symbolic_trace(function, **options).code
    return [line.strip() for line in code.strip().splitlines()[1:]]


def same(a, b):
    return torch.equal(a, b)


def test_module_prints_and_runs():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(torch.rand(3, 4))
            self.linear = nn.Linear(4, 5)

        def forward(self, x):
            return torch.topk(torch.sum(self.linear(x + self.linear.weight).relu(), dim=-1), 3)

    module = Sum()
    traced = fx.symbolic_trace(module)
    assert (
        str(traced.graph)
        == """graph():
    %x : [num_users=1] = placeholder[target=x]
    %linear_weight : [num_users=1] = get_attr[target=linear.weight]
    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %linear_weight), kwargs = {})
    %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
    %relu : [num_users=1] = call_method[target=relu](args = (%linear,), kwargs = {})
    %sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%relu,), kwargs = {dim: -1})
    %topk : [num_users=1] = call_function[target=torch.topk](args = (%sum_1, 3), kwargs = {})
    return topk"""
    )
    assert (
        traced.code
        == """


def forward(self, x):
    linear_weight = self.linear.weight
    add = x + linear_weight;  x = linear_weight = None
    linear = self.linear(add);  add = None
    relu = linear.relu();  linear = None
    sum_1 = torch.sum(relu, dim = -1);  relu = None
    topk = torch.topk(sum_1, 3);  sum_1 = None
    return topk
    """
    )
    x = torch.rand(5, 4)
    for result in (traced(x), fx.Interpreter(traced).run(x), fx.Transformer(traced).transform()(x), copy.deepcopy(traced)(x)):
        assert all(map(same, result, module(x)))
    assert str(traced).splitlines()[0] == "Sum("
    assert [name for name, _ in traced.named_parameters()] == ["linear.weight", "linear.bias"]  # those that the graph uses


def test_nested_modules_have_the_results_of_the_module():
    module = Net().eval()
    traced = fx.symbolic_trace(module)
    x = torch.rand(2, 3, 4, 4)
    assert same(traced(x), module(x)) and traced.training is False
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"][:3] == ["layers.0.conv", "layers.0.norm", "layers.0.relu"]
    assert 'getattr(self.layers, "0").conv(x)' in traced.code
    assert set(traced.state_dict()) == set(module.state_dict())
    node = next(n for n in traced.graph.nodes if n.target == "layers.1.conv")
    assert [name for name, _ in node.meta["nn_module_stack"].values()] == ["layers", "layers.1", "layers.1.conv"]


def test_operators_are_written_as_operators():
    def f(x, y):
        return x + y, 2 - x, x // y, 2**x, -x, ~(x > y), x @ y, x[0], x[:, 1:], x[..., None], abs(x), x.shape[-1]

    assert body(f) == [
        "add = x + y",
        "sub = 2 - x",
        "floordiv = x // y",
        "pow_1 = 2 ** x",
        "neg = -x",
        "gt = x > y",
        "invert = ~gt;  gt = None",
        "matmul = x @ y;  y = None",
        "getitem = x[0]",
        "getitem_1 = x[(slice(None, None, None), slice(1, None, None))]",
        "getitem_2 = x[(Ellipsis, None)]",
        "abs_1 = _operator_abs(x)",
        "getattr_1 = x.shape;  x = None",
        "getitem_3 = getattr_1[-1];  getattr_1 = None",
        "return (add, sub, floordiv, pow_1, neg, invert, matmul, getitem, getitem_1, getitem_2, abs_1, getitem_3)",
    ]


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda x: torch.cat([x, x], dim=1), "torch.cat([x, x], dim = 1)"),
        (lambda x: torch.zeros(x.shape[0], 2), "torch.zeros(getitem, 2)"),
        (lambda x: torch.stack((x, x)), "torch.stack((x, x))"),
        (lambda x: torch.add(1, x), "torch.add(1, x)"),
        (lambda x: F.relu(x), "torch.nn.functional.relu(x, inplace = False)"),
        (lambda x: F.relu(x, True), "torch.nn.functional.relu(x, inplace = True)"),
        (lambda x: F.gelu(x), "torch._C._nn.gelu(x)"),
        (lambda x: F.conv2d(x, torch.ones(1, 1, 1, 1)), "torch.conv2d(x, _tensor_constant0)"),
        (lambda x: F.dropout(x, training=False), "torch.nn.functional.dropout(x, p = 0.5, training = False, inplace = False)"),
        (lambda x: F.softmax(x), "torch.nn.functional.softmax(x, dim = None, _stacklevel = 3, dtype = None)"),
        (lambda x: F.sigmoid(x), "x.sigmoid()"),
        (lambda x: F.logsigmoid(x), "torch._C._nn.log_sigmoid(x)"),
        (lambda x: torch.fft.rfft(x), "torch._C._fft.fft_rfft(x)"),
        (lambda x: torch.linalg.norm(x), "torch._C._linalg.linalg_norm(x)"),
        (lambda x: torch.special.expit(x), "torch._C._special.special_expit(x)"),
        (lambda x: torch.einsum("ij->i", x), "torch.functional.einsum('ij->i', x)"),
        (lambda x: torch.split(x, 2), "torch.functional.split(x, 2, dim = 0)"),
        (lambda x: torch.numel(x), "torch.numel(x)"),
        (lambda x: x.to(torch.float64), "x.to(torch.float64)"),
        (lambda x: x.view(torch.Size([2, 2])), "x.view((2, 2))"),
        (lambda x: torch.ones(2) + x, "_tensor_constant0.add(x)"),
        (lambda x: x + float("inf"), "x + inf"),
        (lambda x: math.sqrt(x), "math_sqrt(x)"),
        (lambda x: halve_positive(x, by=3), f"{__name__}_halve_positive(x, by = 3)"),
        (lambda x: len(x), "len(x)"),
        (lambda x: Pair(x, 1), f"{__name__}_Pair(x, 1)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_call_as_code(call, code):
    assert any(line.partition(" = ")[2].partition(";")[0] == code for line in body(call))


def test_functions_that_generated_code_names_compute_the_same():
    def f(x):
        pooled, where = F.max_pool2d(x, 2, return_indices=True)
        a = F.interpolate(x, scale_factor=2.0) + F.upsample(x, scale_factor=2)
        b = F.log_softmax(F.layer_norm(F.pad(x, (1, 1)), (10,)), dim=1) + F.leaky_relu(x.sum(), 0.1)
        c = torch.linalg.norm(torch.fft.fft(x)) + torch.special.expit(x).sum() + torch.norm(x) + torch.tensordot(x, x, 4)
        d = F.threshold(x, 0.1, 0) + F.sigmoid(x) + F.tanh(x) + F.softplus(x) + F.logsigmoid(x) + F.adaptive_max_pool2d(x, 1)
        e = F.mse_loss(x, x * 2), F.cross_entropy(x, x), F.one_hot(x.argmax(1), 9)
        return pooled, where, a, b, c, d, F.normalize(x), *e, torch.stft(x[0, 0], 4, window=torch.ones(4), return_complex=True)

    x = torch.rand(2, 1, 8, 8)
    for result in (fx.symbolic_trace(f)(x), pickle.loads(pickle.dumps(fx.symbolic_trace(f)))(x)):
        assert all(torch.equal(a, b) for a, b in zip(result, f(x), strict=True))


def test_names_of_nodes_are_distinct_identifiers():
    graph = fx.Graph()
    named = [graph.create_node("placeholder", name).name for name in ("a", "a", "a_1", "1x", "class", "x-y", "int", "a", "input", "torch")]
    assert named == ["a", "a_1", "a_2", "_1x", "class_1", "x_y", "int_1", "a_3", "input_1", "torch_1"]


def test_parameters_of_every_kind():
    def f(x, y=2, *args, scale: float = 1.5, **kwargs):
        return (x + y + args[0]) * scale + kwargs["extra"]

    traced = fx.symbolic_trace(f)
    assert traced.code.strip().splitlines()[0] == "def forward(self, x, y = 2, scale : float = 1.5, *args, **kwargs):"
    assert torch.equal(traced(torch.ones(2), 1, 2.0, torch.ones(2), extra=3), torch.full((2,), 9.0))


def test_concrete_args_choose_branches():
    def f(x, flag, other=None):
        return x * 2 if flag else x if other is None else x - 1

    traced = fx.symbolic_trace(f, concrete_args={"flag": False, "other": None})
    assert same(traced(torch.ones(2), False, None), torch.ones(2))
    with pytest.raises(AssertionError, match="flag has been specialized to have value False but got another value"):
        traced(torch.ones(2), True, None)


def test_trees_of_placeholders():
    def f(inputs):
        return {"sum": inputs["a"] + inputs["b"][0], "rest": [inputs["b"][1], 1]}

    traced = fx.symbolic_trace(f, concrete_args={"inputs": {"a": fx.PH, "b": [fx.PH, fx.PH]}})
    a, b, c = torch.rand(3, 2)
    result = traced({"a": a, "b": [b, c]})
    assert same(result["sum"], a + b) and same(result["rest"][0], c) and result["rest"][1] == 1
    assert "tree_flatten_spec" in traced.code


@pytest.mark.parametrize(
    "function, error, message",
    [
        (lambda x: x if x > 0 else -x, fx.proxy.TraceError, "symbolically traced variables cannot be used as inputs to control flow"),
        (lambda x: list(x), fx.proxy.TraceError, "Proxy object cannot be iterated"),
        (lambda x: {"a": object()}, NotImplementedError, "argument of type: <class 'object'>"),
        (lambda x: x.__len__(), RuntimeError, "'len' is not supported in symbolic tracing by default"),
        (lambda x: int(x), TypeError, "Proxy"),
    ],
    ids=lambda value: "",
)
def test_untraceable_functions_raise(function, error, message):
    with pytest.raises(error, match=message):
        fx.symbolic_trace(function)
    assert same(nn.Linear(2, 2)(torch.zeros(1, 2)).detach() * 0, torch.zeros(1, 2))  # modules are as before
    assert not fx._symbolic_trace.is_fx_tracing()


def test_graph_edits():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    relu = next(n for n in traced.graph.nodes if n.target is torch.relu)
    with traced.graph.inserting_after(relu):
        made = traced.graph.call_function(torch.neg, (relu,))
    relu.replace_all_uses_with(made, delete_user_cb=lambda user: user is not made)
    traced.graph.lint()
    traced.recompile()
    assert same(traced(torch.tensor([2.0])), torch.tensor([-1.0]))
    with pytest.raises(RuntimeError, match="Tried to erase Node relu but it still had 1 users"):
        traced.graph.erase_node(relu)
    dead = traced.graph.call_function(torch.exp, (made,))
    made.append(dead)
    assert traced.graph.eliminate_dead_code() and dead not in made.users and not traced.graph.eliminate_dead_code()
    assert [n.name for n in traced.graph.nodes] == ["x", "relu", "neg", "add", "output"]
    assert [n.name for n in reversed(traced.graph.nodes)] == ["output", "add", "neg", "relu", "x"]
    assert sorted({made, relu, made.next}) == [relu, made, made.next]
    assert traced.graph.find_nodes(op="call_function", target=torch.neg) == [made] and traced.graph.output_node().args == (made.next,)
    made.next.update_arg(1, 5)
    assert made.next.args == (made, 5) and made.next.all_input_nodes == [made] and list(made.users) == [made.next]
    with pytest.raises(TypeError, match="does not support mutation"):
        fx.symbolic_trace(lambda x: torch.cat([x, x])).graph.find_nodes(op="call_function", target=torch.cat)[0].args[0].append(1)


def test_lint_reports_errors():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    graph.output(y)
    y.append(x)
    with pytest.raises(RuntimeError, match="Argument 'x' of Node 'relu' was used before it has been defined"):
        graph.lint()
    other = fx.Graph()
    other.call_function(torch.relu, (y,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()
    with pytest.raises(RuntimeError, match="Node layer referenced target layer but that target was not provided"):
        graph = fx.Graph()
        graph.call_module("layer", (graph.placeholder("x"),))
        fx.GraphModule({}, graph)


def test_pickles_and_files(tmp_path):
    module = Net().eval()
    traced = fx.symbolic_trace(module)
    x = torch.rand(2, 3, 4, 4)
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    for loaded in (pickle.loads(pickle.dumps(traced)), torch.load(file, weights_only=False), copy.deepcopy(traced), copy.copy(traced)):
        assert same(loaded(x), module(x)) and loaded.code == traced.code and type(loaded) is not type(traced)
    traced.to_folder(tmp_path / "written", "Written")
    scope = {"__file__": str(tmp_path / "written" / "module.py"), "__name__": "written"}
    exec((tmp_path / "written" / "module.py").read_text(), scope)
    assert same(scope["Written"]().eval()(x), module(x))


def test_submodules_are_added_and_deleted():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert traced.add_submodule("a.b", nn.Tanh()) and isinstance(traced.a.b, nn.Tanh) and not traced.add_submodule("training.x", nn.Tanh())
    assert traced.delete_submodule("a.b") and not traced.delete_submodule("a.b")
    traced.add_submodule("c", nn.Tanh())
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_children()] == ["0", "1"]


def test_leaves_and_wrapped_functions_of_a_tracer():
    class Whole(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)

    graph = Whole().trace(Net())
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["layers.0", "layers.1", "head"]
    constant = fx.Tracer(param_shapes_constant=True).trace(Conditional())
    assert [n.name for n in constant.nodes] == ["x", "weight", "add", "output"]


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))

    def forward(self, x):
        return x + self.weight if self.weight.shape[0] == 2 else x


def test_interpreter_names_the_node_that_fails():
    traced = fx.symbolic_trace(lambda x: torch.relu(x).missing())
    with pytest.raises(AttributeError, match=r"(?s)missing.*While executing %missing : .*call_method\[target=missing\]"):
        fx.Interpreter(traced).run(torch.ones(1))
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        fx.Interpreter(traced).run()


def test_transformer_replaces_calls():
    class Replace(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)

    traced = Replace(fx.symbolic_trace(lambda x: torch.relu(x) * 2)).transform()
    assert same(traced(torch.ones(2)), torch.full((2,), -2.0)) and traced.code.count("torch.neg(x)") == 1


def test_proxies_outside_of_a_trace_append_to_the_graph():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    graph.output((torch.relu(x) + x.shape[0]).node)
    made = fx.GraphModule(nn.Module(), graph)
    assert same(made(torch.ones(2)), torch.full((2,), 3.0))
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [torch.relu, getattr, operator.getitem, operator.add]


def test_traces_in_traces_and_on_other_threads():
    from threading import Thread

    other, results = nn.Linear(2, 2), []

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            results.append(fx.symbolic_trace(nn.Sequential(nn.ReLU())).code)
            thread = Thread(target=lambda: results.append(other(torch.ones(1, 2))))
            thread.start()
            thread.join()
            return self.layer(x)

    traced = fx.symbolic_trace(Nested())
    assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_module", "output"]
    assert "(input_1)" in results[0] and same(results[1], other(torch.ones(1, 2)))


def test_traces_of_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    before = nn.Module.__call__, nn.Module.__getattr__
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: fx.symbolic_trace(Net()).code, range(8)))
    assert len(set(codes)) == 1 and "self.head" in codes[0] and (nn.Module.__call__, nn.Module.__getattr__) == before


def test_dropped_modules_leave_no_source():
    gc.collect()
    before = {name for name in linecache.cache if name.startswith("<eval_with_key>")}
    traced = fx.symbolic_trace(lambda x: x + 1)
    assert inspect.getsource(traced.forward).startswith("def forward(self, x):")
    traced.recompile()
    del traced
    gc.collect()
    assert {name for name in linecache.cache if name.startswith("<eval_with_key>")} <= before


def test_defaults_with_trees_of_placeholders():
    class Trees(nn.Module):
        def forward(self, pair, k=2):
            return [pair[0] * k, pair[1]]

    traced = fx.symbolic_trace(Trees(), concrete_args={"pair": (fx.PH, fx.PH)})
    pair = torch.ones(1), torch.zeros(1)
    assert [t.item() for t in traced(pair)] == [2, 0] and [t.item() for t in traced(pair, 3)] == [3, 0]
    assert [t.item() for t in fx.Interpreter(traced).run(pair, 4)] == [4, 0]


def test_long_graphs_are_copied_and_pickled():
    def long(x):
        for _ in range(3000):
            x = x + 1
        return x

    traced = fx.symbolic_trace(long)
    for made in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert made(torch.zeros(1)).item() == 3000 and len(made.graph.nodes) == 3002


def test_calls_with_tensors_that_are_no_proxies_in_place():
    def f(x):
        y = torch.zeros(2)
        y[0] = x
        y += x
        return y

    assert body(f)[1].startswith("setitem = _tensor_constant0.__setitem__(0, x)")
    assert fx.symbolic_trace(f)(torch.tensor(2.0)).tolist() == [4, 2]


def test_hooks_of_modules_are_traced():
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    module[1].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    module[1].register_forward_hook(lambda m, args, out: out - 1)
    x = torch.rand(1, 2)
    traced = fx.symbolic_trace(module)
    assert same(traced(x), module(x)) and [n.name for n in traced.graph.nodes if n.op == "call_function"] == ["add", "sub"]
