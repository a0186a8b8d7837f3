"""torch.fx: replacement of patterns, passes over graphs, and calls that proxies take over."""

import inspect
import subprocess
import sys

import pytest

import libtensor as torch
import libtensor.fx as fx
import libtensor.nn.functional as F
from libtensor import nn
from libtensor.fx.experimental.optimization import extract_subgraph, fuse, remove_dropout
from libtensor.fx.operator_schemas import normalize_function, normalize_module
from libtensor.fx.passes.infra.pass_base import PassBase, PassResult
from libtensor.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint
from libtensor.fx.passes.shape_prop import ShapeProp
from libtensor.fx.passes.split_module import split_module


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((2,), 2.0))
        self.register_buffer("shift", torch.ones(2))
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, y):
        a = self.first(x * self.scale)
        b = self.second(a) + y
        return a.sum() + torch.relu(b), b


def traced(function, **options):
    return fx.symbolic_trace(function, **options)


def test_patterns_are_replaced():
    graph = traced(lambda x, w: torch.cat([torch.relu(x) + w, torch.relu(w) + x]).sum() + torch.relu(x))
    matches = fx.replace_pattern(graph, lambda a, b: torch.relu(a) + b, lambda a, b: torch.sigmoid(a) * b - 1)
    assert [{key.name: value.name for key, value in m.nodes_map.items()} for m in matches] == [
        {"add": "add", "relu": "relu", "a": "x", "b": "w"},
        {"add": "add_1", "relu": "relu_1", "a": "w", "b": "x"},
    ]
    x, w = torch.rand(2, 3)
    expected = torch.cat([torch.sigmoid(x) * w - 1, torch.sigmoid(w) * x - 1]).sum() + torch.relu(x)
    assert torch.equal(graph(x, w), expected)


def test_matches_do_not_overlap_and_have_no_users_outside():
    chain = traced(lambda x: torch.relu(torch.relu(torch.relu(x))))
    assert len(fx.replace_pattern(chain, lambda a: torch.relu(torch.relu(a)), lambda a: torch.neg(a))) == 1
    shared = traced(lambda x: (torch.relu(x) + 1) * torch.relu(x + 0))

    def uses_inside(x):
        y = torch.relu(x)
        return (y + 1) * y

    assert fx.replace_pattern(traced(uses_inside), lambda a: torch.relu(a) + 1, lambda a: a) == []
    assert len(fx.replace_pattern(shared, lambda a: torch.relu(a) + 1, lambda a: a)) == 1
    literal = traced(lambda x: torch.add(x, 1) + torch.add(x, 2))
    assert len(fx.replace_pattern(literal, lambda a: torch.add(a, 2), lambda a: torch.sub(a, 2))) == 1
    assert literal(torch.zeros(1)).item() == -1


def test_modules_of_a_replacement_are_added():
    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2)

        def forward(self, x):
            return self.first(x)

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Tanh()

        def forward(self, x):
            return self.gate(x)

    graph = traced(Two())
    assert len(fx.replace_pattern(graph, Pattern(), Replacement())) == 1
    assert [name for name, _ in graph.named_children()] == ["second", "gate"]
    graph(torch.ones(1, 2), torch.ones(1, 2))


def test_filters_choose_matches():
    graph = traced(lambda x: torch.relu(x) + torch.relu(x + 1))

    def is_second(match, original, pattern):
        return match.placeholder_nodes[0].op != "placeholder"

    found = fx.subgraph_rewriter.replace_pattern_with_filters(graph, lambda a: torch.relu(a), lambda a: torch.neg(a), [is_second])
    assert len(found) == 1 and [n.target for n in found[0].replacements] == [torch.neg]
    assert graph(torch.ones(1)).item() == -1


def test_shapes_are_stored():
    graph = traced(Two())
    ShapeProp(graph).propagate(torch.ones(3, 2), torch.ones(3, 2))
    meta = {node.name: node.meta["tensor_meta"] for node in graph.graph.nodes if node.op not in ("output",)}
    assert meta["first"].shape == torch.Size([3, 2]) and meta["first"].dtype is torch.float32 and meta["first"].stride == (2, 1)
    assert meta["x"].memory_format is torch.contiguous_format and not meta["x"].requires_grad and meta["second"].requires_grad
    assert meta["sum_1"].shape == torch.Size([])


@pytest.mark.parametrize("every", [1, 2, 3, 10])
def test_split_modules_have_the_results_of_the_module(every):
    module = Two()
    graph, count, names = traced(module), [0], {}

    def part(node):
        count[0] += 1
        return (count[0] - 1) // every

    parts = split_module(graph, module, part, names)
    parts.graph.lint()
    assert set(names.values()) == {"first", "second"}
    assert len(dict(parts.named_children())) == -(-count[0] // every)
    x, y = torch.rand(2, 3, 2)
    for result, expected in zip(parts(x, y), module(x, y), strict=True):
        assert torch.equal(result, expected)


def test_split_parts_in_a_cycle_raise():
    graph = traced(lambda x: torch.exp(torch.relu(torch.neg(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(graph, graph, lambda node: node.target is torch.relu)


def test_fusion_keeps_results():
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(), nn.Conv2d(3, 1, 1)).eval()
    module[1].running_mean.fill_(0.5)
    module[1].running_var.fill_(2.0)
    fused, x = fuse(module), torch.rand(1, 2, 5, 5)
    assert torch.allclose(fused(x), module(x), atol=1e-5) and not any(isinstance(m, nn.BatchNorm2d) for m in fused.modules())
    assert any(isinstance(m, nn.BatchNorm2d) for m in module.modules())
    without = remove_dropout(module)
    assert torch.equal(without(x), module(x)) and not any(isinstance(m, nn.Dropout) for m in without.modules())


def test_part_of_a_graph_is_a_module():
    graph = traced(lambda x: torch.exp(torch.relu(x) + 1))
    x, relu, add, *_ = graph.graph.nodes
    assert extract_subgraph(graph, [add], [relu], [add])(torch.zeros(1))[0].item() == 1


def test_submodules_are_attributes_after_one_import():
    code = (
        "import libtensor as torch, libtensor.fx; fx = torch.fx\n"
        "print(fx.passes.shape_prop.ShapeProp.__name__, fx.passes.split_module.split_module.__name__)\n"
        "print(fx.operator_schemas.normalize_function.__name__)\n"
        "print(fx.passes.infra.pass_base.PassBase.__name__, fx.passes.infra.pass_manager.PassManager.__name__, "
        "fx.experimental.proxy_tensor.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [
        *("ShapeProp", "split_module", "normalize_function"),
        *("PassBase", "PassManager", "libtensor.fx.experimental.proxy_tensor"),
    ], done.stderr


def test_passes_run_until_nothing_changes():
    class Halve(PassBase):
        def call(self, graph_module):
            found = graph_module.graph.find_nodes(op="call_function", target=torch.relu)
            for node in found[:1]:
                node.replace_all_uses_with(node.args[0])
                graph_module.graph.erase_node(node)
            graph_module.recompile()
            return PassResult(graph_module, bool(found))

    result = PassManager([Halve()], steps=5)(traced(lambda x: torch.relu(torch.relu(x))))
    assert result.modified and result.graph_module(torch.tensor([-1.0])).item() == -1
    first, second = Halve(), Halve()
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        PassManager([second, first], [this_before_that_pass_constraint(first, second)])(traced(lambda x: x))


def test_arguments_are_normalized():
    x = torch.ones(2)
    assert normalize_function(F.relu, (x,)).kwargs == {"inplace": False}
    pair = normalize_function(F.dropout, (x, 0.25), normalize_to_only_use_kwargs=True)
    assert pair.args == () and {**pair.kwargs, "input": None} == {"input": None, "p": 0.25, "training": True, "inplace": False}
    assert normalize_function(torch.relu, (x, x, x)) is None
    module = Two()
    assert normalize_module(module, "first", (x,), normalize_to_only_use_kwargs=True).kwargs.keys() == {"input"}
    node = traced(module).graph.find_nodes(op="call_module", target="first")[0]
    assert node.normalized_arguments(module).args == node.args


def test_methods_of_tensors_are_calls_of_methods():
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))

        def forward(self, x):
            return self.b.mul(x), torch.mul(self.b, x), self.b * x, (self.b + 1).sub(x), torch.sub(self.b, x), x.sub(self.b)

    ops = [node.op for node in traced(Calls()).graph.nodes if node.target in ("mul", "sub", torch.mul, torch.sub)]
    assert ops == ["call_method", "call_function", "call_method", "call_method", "call_function", "call_method"]


def test_operators_by_name_are_nodes():
    graph = traced(lambda x: torch.ops.aten.add.Tensor(torch.ops.aten.relu(x), 1))
    assert [str(n) for n in graph.graph.nodes] == ["x", "relu", "add_tensor", "output"]
    assert "torch.ops.aten.add.Tensor(relu, 1)" in graph.code and torch.equal(graph(torch.ones(2)), torch.full((2,), 2.0))


class Taken:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args), kwargs


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda t: F.relu(t, inplace=True), "relu"),
        (lambda t: F.relu(t, True), "relu"),
        (lambda t: F.leaky_relu(torch.ones(1), t, inplace=True), "leaky_relu"),
        (lambda t: F.softmax(t), "softmax"),
        (lambda t: F.log_softmax(t), "log_softmax"),
        (lambda t: F.interpolate(t, scale_factor=2), "interpolate"),
        (lambda t: F.adaptive_max_pool2d(t, 1), "adaptive_max_pool2d"),
        (lambda t: F.max_pool2d(t, 2, return_indices=True), "max_pool2d"),
        (lambda t: F.multi_head_attention_forward(t, t, t, 1, 1, t, t, None, None, False, 0.0, t, t), "multi_head_attention_forward"),
        (lambda t: F.triplet_margin_with_distance_loss(t, t, t), "triplet_margin_with_distance_loss"),
        (lambda t: torch.numel(t), "numel"),
        (lambda t: torch._assert(t, "no"), "_assert"),
        (lambda t: torch.cat([torch.ones(1), t]), "cat"),
        (lambda t: torch.zeros((t, 2)), "zeros"),
        (lambda t: torch.ops.aten.relu(t), "relu"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_functions_are_taken_over_as_they_were_called(call, name):
    assert call(Taken())[0] == name


def test_flags_are_arguments_of_overridden_functions():
    assert F.relu(Taken(), inplace=True)[1:] == (1, {"inplace": True}) and F.relu(Taken(), False)[1:] == (2, None)


def test_names_in_generated_code_are_functions_of_the_package():
    """Every public function has a name that generated code can call, with the arguments that proxies record for it."""
    from libtensor.fx._calls import _parameters, torch_name

    modules = (torch, F, torch.fft, torch.linalg, torch.special)
    public = [getattr(m, name) for m in modules for name in m.__all__ if type(getattr(m, name)).__name__ in ("Function", "function")]
    assert len(public) > 900
    for function in public:
        assert callable(eval(torch_name(function), {"torch": torch})), function.__name__
    for name, (positional, options) in _parameters().items():
        taken = inspect.signature(eval(name, {"torch": torch})).parameters
        assert taken.keys() >= {*positional, *options}, name


def test_split_orders_independent_parts_and_names_their_inputs():
    def f(input, y):
        return input + 1, y * 2, input - y

    graph = traced(f)
    for options, names in (({}, ["input_1"]), ({"keep_original_input_name": False}, ["arg_0"])):
        split = split_module(graph, graph, lambda n: n.name, **options)
        assert [n.target for n in split.graph.nodes if n.op == "call_module"] == ["submod_sub", "submod_mul", "submod_add"]
        assert [n.target for n in split.submod_add.graph.nodes if n.op == "placeholder"] == names
        x, y = torch.rand(2), torch.rand(2)
        assert all(map(torch.equal, split(x, y), f(x, y)))
    split = split_module(graph, graph, lambda n: 0, keep_original_node_name=True)
    assert [n.target for n in split.graph.nodes if n.op == "placeholder"] == ["input_1", "y"]


def test_code_generators_of_programs_need_no_option():
    class One(fx.graph.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, *pair):\n    {', '.join(free_vars)} = pair"

    graph = traced(lambda x, y: x - y)
    graph.graph.set_codegen(One())
    graph.recompile()
    assert graph(3, 1) == 2 and graph.code.strip().splitlines()[:2] == ["def forward(self, *pair):", "    x, y = pair"]
