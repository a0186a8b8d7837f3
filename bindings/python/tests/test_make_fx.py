"""TorchDispatchMode and make_fx. make_fx_codes.json has functions, their arguments and the code of PyTorch 2.15's graphs; null where
PyTorch decomposes a function further."""

import json
import operator
import re
from pathlib import Path

import pytest

import libtensor as torch
import libtensor.nn.functional as F
from libtensor.fx.experimental.proxy_tensor import OperatorTracer, get_proxy_mode, make_fx
from libtensor.library.calls import find_schema, list_operators
from libtensor.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode

CASES = json.loads(Path(__file__).with_name("make_fx_codes.json").read_text(encoding="utf-8"))
TENSORS = {
    "torch": torch,
    "F": F,
    "x": torch.arange(6.0).reshape(2, 3) / 7,
    "w": torch.arange(12.0).reshape(4, 3) / 9,
    "b": torch.arange(4.0),
    "img": torch.arange(32.0).reshape(1, 2, 4, 4) / 31,
    "k": torch.ones(3, 2, 3, 3) / 10,
    "q": torch.arange(16.0).reshape(1, 2, 2, 4) / 16,
    "idx": torch.tensor([0, 1]),
    "mask": torch.tensor([[True, False, True], [False, True, False]]),
}


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_pytorchs(name):
    source, arguments, code = CASES[name]
    torch.manual_seed(0)
    function = eval(source, TENSORS)
    args = eval(f"[{arguments}]", TENSORS)
    with torch.no_grad():
        module = make_fx(function)(*args)
        expected, got = function(*args), module(*args)
    if code is not None:
        assert module.code.strip() == code
    for a, b in zip(leaves(expected), leaves(got), strict=True):
        assert a is b is None or torch.allclose(a, b, equal_nan=True)


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_receive_operators():
    x = torch.ones(2, 3)
    with Log() as log:
        assert _get_current_dispatch_mode() is log
        y = -x + 1
        z = torch.ops.aten.mul.Tensor(y, y)
        y[0] = 5
    assert _get_current_dispatch_mode() is None
    assert log.calls == ["aten.neg.default", "aten.add.Tensor", "aten.mul.Tensor", "aten.select.int", "aten.fill_.Scalar"]
    assert z.tolist() == [[0, 0, 0]] * 2 and y.tolist() == [[5, 5, 5], [0, 0, 0]]


def test_modes_inside_modes():
    x = torch.ones(2)
    with Log() as outer, Log() as inner:
        x + x
        with _disable_current_modes():
            x * x
    assert inner.calls == outer.calls == ["aten.add.Tensor"]


def test_gradients_of_decomposed_functions():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
    x = torch.rand(5, 3)
    expected = torch.autograd.grad(F.cross_entropy(model(x), torch.tensor([0, 1, 0, 1, 1])), list(model.parameters()))
    with Log() as log:
        loss = F.cross_entropy(model(x), torch.tensor([0, 1, 0, 1, 1]))
    got = torch.autograd.grad(loss, list(model.parameters()))
    assert "aten.native_layer_norm.default" in log.calls and log.calls[-1] == "aten.nll_loss_forward.default"
    for a, b in zip(expected, got, strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_custom_operators_are_received():
    library = torch.library.Library("make_fx_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    module = make_fx(lambda x: torch.ops.make_fx_test.twice(x) + 1)(torch.ones(2))
    assert [n.target for n in module.graph.nodes if n.op == "call_function"][0] is torch.ops.make_fx_test.twice.default
    assert module(torch.full((2,), 3.0)).tolist() == [7, 7]


X = TENSORS["x"] + 0.1
WITH_OUT = {
    "add": (lambda out: torch.add(X, 1, out=out), "add.out"),
    "add number": (lambda out: torch.add(1, X, out=out), "copy_.default"),
    "sub": (lambda out: torch.sub(X, X, alpha=2, out=out), "sub.out"),
    "div": (lambda out: torch.div(X, 3, rounding_mode="floor", out=out), "div.out_mode"),
    "sum": (lambda out: torch.sum(X, 0, out=out), "sum.IntList_out"),
    "cat": (lambda out: torch.cat([X, X], out=out), "cat.out"),
    "matmul": (lambda out: torch.matmul(X, X.t(), out=out), "copy_.default"),
    "softmax": (lambda out: torch.softmax(X, 0, out=out), "copy_.default"),
    "max": (lambda out: torch.max(X, 0, out=(out, torch.zeros(0, dtype=torch.int64))), "max.dim_max"),
    "full": (lambda out: torch.full((2,), 3.0, out=out), "full.out"),
    "overload": (lambda out: torch.ops.aten.add.out(X, X, out=out), "add.out"),
}
SCHEMAS = {name.removeprefix("aten::").removesuffix(".out"): find_schema(name) for name in list_operators() if name.endswith(".out")}
UNARY = [name for name, schema in SCHEMAS.items() if re.search(r"\(Tensor self, \*, Tensor\(\w!\) out\)", schema) and hasattr(torch, name)]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", [*WITH_OUT, *UNARY])
def test_graphs_write_to_out(name):
    write, operator = WITH_OUT.get(name) or (lambda out: getattr(torch, name)(X, out=out), None)

    def function(x):
        out = torch.zeros(0, dtype=expected.dtype)
        write(out)
        return out.logical_not()

    try:
        expected = torch.zeros(0)
        write(expected)
    except (RuntimeError, TypeError):  # functions of integers, of complex numbers or of square matrices
        return
    module = make_fx(function)(X)
    assert torch.equal(module(X), function(X)) and torch.equal(module(X), expected.logical_not())
    assert operator is None or operator in [str(n.target).removeprefix("aten.") for n in module.graph.nodes]


def test_functions_without_operators_raise():
    with pytest.raises(NotImplementedError, match="gumbel_softmax is not an operator of ATen"), Log():
        F.gumbel_softmax(torch.ones(2, 3))


def test_a_graph_has_metadata_and_parameters():
    model = torch.nn.Linear(3, 2)
    module = make_fx(model)(torch.ones(4, 3))
    node = [n for n in module.graph.nodes if n.target is torch.ops.aten.addmm.default][0]
    assert node.meta["tensor_meta"].shape == node.meta["val"].shape == (4, 2) and node.meta["val"].device.type == "meta"
    assert module._param_constant0 is model.weight and torch.equal(module(torch.ones(1, 3)), model(torch.ones(1, 3)))


def test_decomposition_table():
    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    module = make_fx(F.silu, decomposition_table=table)(torch.ones(2))
    assert [n.name for n in module.graph.nodes] == ["input_1", "sigmoid", "mul", "output"]


def test_what_a_graph_cannot_have_raises():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="operators of backward passes are not recorded"):
        make_fx(lambda x: torch.autograd.grad(x.sum(), x)[0])(x)
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))
    with pytest.raises(NotImplementedError, match="tracing_mode='symbolic'"):
        make_fx(lambda x: x, tracing_mode="symbolic")
    assert get_proxy_mode() is None


def test_the_tracer_can_be_entered_by_programs():
    graph, root, x = torch.fx.Graph(), torch.nn.Module(), torch.ones(2, 2)
    tracer = OperatorTracer(graph, root)
    tracer.track(x, graph.placeholder("x"))
    with tracer:
        values, indices = x.max(0)
        y = values + torch.ones(2).sum()
    graph.output((tracer.find(y), tracer.find(indices)))
    assert [n.target for n in graph.nodes if n.op == "call_function"][1] is operator.getitem
    assert [t.tolist() for t in torch.fx.GraphModule(root, graph)(torch.eye(2))] == [[3, 3], [0, 1]]
