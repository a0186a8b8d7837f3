"""What modes receive: functions and operators of the application, in any number of modes, and nothing of the library's own."""

import copy
import pickle

import pytest

import libtensor as torch
from libtensor import func, nn
from libtensor._higher_order_ops import associative_scan, map, scan, while_loop
from libtensor.fx.experimental.proxy_tensor import make_fx
from libtensor.overrides import TorchFunctionMode
from libtensor.utils._python_dispatch import TorchDispatchMode

X = torch.arange(12.0).reshape(4, 3).sin()


class Log(TorchDispatchMode):
    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class FunctionLog(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


def log(mode, run):
    with mode:
        result = run()
    return mode.seen, result


# ------------------------------------------------------------------------------------------------------------ nested modes


CALLS = {
    "reshape": lambda: X.t().reshape(-1) * 2,
    "flatten": lambda: X.flatten() + X.unflatten(1, (3, 1)).sum(),
    "index": lambda: X[:, None, 1:][X.sum(1) > 0],
    "linear": lambda: nn.functional.linear(X, X, X[:, 0]),
    "attention": lambda: nn.functional.scaled_dot_product_attention(X[None, None], X[None, None], X[None, None]),
    "batch_norm": lambda: nn.functional.batch_norm(X, None, None, training=True),
    "matmul": lambda: torch.stack([X, X]) @ X.t(),
    "einsum": lambda: torch.einsum("ij,kj->ik", X, X),
    "chunk": lambda: X.chunk(2)[1].repeat(2, 2).expand(3, 4, 6).mean(0),
    "losses": lambda: nn.functional.cross_entropy(X, torch.tensor([0, 1, 2, 0])) + nn.functional.l1_loss(X, X * 2),
    "out": lambda: torch.add(X, 1, out=torch.empty(4, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nested_modes_receive_the_same_operators(name):
    single, expected = log(Log(), CALLS[name])
    outer, middle, inner = Log(), Log(), Log()
    with outer, middle, inner:
        result = CALLS[name]()
    assert outer.seen == middle.seen == inner.seen == single and single
    assert torch.equal(result, expected)


ALIASES = {
    "__and__.Tensor": ("bitwise_and.Tensor", lambda op: op(X > 0, X < 1)),
    "__xor__.Scalar": ("bitwise_xor.Scalar", lambda op: op(X.long(), 3)),
    "multiply.Tensor": ("mul.Tensor", lambda op: op(X, X)),
    "clip.default": ("clamp.default", lambda op: op(X, -0.5, 0.5)),
    "concat.default": ("cat.default", lambda op: op([X, X], 1)),
    "swapaxes.default": ("transpose.int", lambda op: op(X, 0, 1)),
    "greater_equal.Scalar": ("ge.Scalar", lambda op: op(X, 0)),
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_of_operators_are_received_as_the_operators(name):
    expected, call = ALIASES[name]
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    seen, result = log(Log(), lambda: call(op))
    assert f"aten.{expected}" in seen and f"aten.{name}" not in seen and torch.equal(result, call(op))


# ------------------------------------------------------------------------------------------------------------ composite operators


library = torch.library.Library("tests_modes", "DEF")
library.define("composite(Tensor x, *, float scale=2.0) -> Tensor")
library.impl("composite", lambda x, scale: torch.ops.tests_modes.inner(x) * scale, "CompositeImplicitAutograd")
library.define("inner(Tensor x) -> Tensor")
library.impl("inner", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
library.define("both(Tensor x) -> Tensor")
library.impl("both", lambda x: x.sin(), "CompositeImplicitAutograd")
library.impl("both", lambda x: x.sin(), "CPU")
library.define("explicit(Tensor x) -> Tensor")
library.impl("explicit", lambda x: x.sin(), "CompositeExplicitAutograd")
ns = torch.ops.tests_modes


def test_composite_operators_are_received_as_the_operators_that_they_call():
    seen, result = log(Log(), lambda: ns.composite(X, scale=3.0))
    assert seen == ["aten.sin.default", "aten.cos.default", "aten.mul.Tensor"] and torch.equal(result, X.sin().cos() * 3)
    assert log(Log(), lambda: ns.composite.default(X))[0] == seen
    assert log(Log(), lambda: ns.both(X))[0] == ["tests_modes.both.default"]
    assert log(Log(), lambda: ns.explicit(X))[0] == ["tests_modes.explicit.default"]
    outer, inner = Log(), Log()
    with outer, inner:
        ns.composite(X)
    assert outer.seen == inner.seen == seen
    assert log(FunctionLog(), lambda: ns.composite(X))[0] == ["composite.default"]


def test_programs_keep_composite_operators_and_make_fx_does_not():
    program = torch.export.export(lambda x: ns.composite(x) + 1, (X,))
    assert "torch.ops.tests_modes.composite.default" in program.operators
    seen, result = log(Log(), lambda: program.module()(X))
    assert seen == ["aten.sin.default", "aten.cos.default", "aten.mul.Tensor", "aten.add.Tensor"] and torch.equal(
        result, ns.composite(X) + 1
    )
    targets = [str(node.target) for node in make_fx(ns.composite)(X).graph.nodes if node.op == "call_function"]
    assert targets == ["aten.sin.default", "aten.cos.default", "aten.mul.Tensor"]


def test_subclasses_receive_the_operators_of_composite_ones():
    class Wrapper(torch.Tensor):
        seen = []

        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func))
            return cls(func(*(x.inner if isinstance(x, cls) else x for x in args), **(kwargs or {})))

    result = ns.composite(Wrapper(X))
    assert isinstance(result, Wrapper) and torch.equal(result.inner, ns.composite(X))
    assert Wrapper.seen == ["aten.sin.default", "aten.cos.default", "aten.mul.Tensor"]


# ------------------------------------------------------------------------------------------------------------ internal functions


ATTRIBUTES = "data grad requires_grad is_leaf grad_fn _version output_nr shape dtype device"


@pytest.mark.parametrize("mode", [Log, FunctionLog])
def test_functions_behind_attributes_storages_and_generators_are_not_received(mode):
    x = X.clone().requires_grad_()

    def run():
        for name in ATTRIBUTES.split():
            getattr(x, name)
        x.grad = None
        x.requires_grad = True
        x.data_ptr(), x.untyped_storage().nbytes(), torch.get_rng_state(), torch.initial_seed()

    assert log(mode(), run)[0] == []


def test_methods_of_many_functions_are_received_as_one():
    names = [log(FunctionLog(), run)[0] for run in (lambda: repr(X), lambda: copy.deepcopy(X), lambda: pickle.dumps(X))]
    assert names == [["__repr__"], ["__deepcopy__"], ["__reduce_ex__"]]


@pytest.mark.parametrize("mode", [Log, FunctionLog])
def test_tensors_and_modules_are_copied_in_modes(mode):
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    program = torch.export.export(module, (X,)).module()
    program(X).sum().backward()
    for each in (module, program):
        with mode():
            copied = copy.deepcopy(each)
            converted = copy.deepcopy(each).to(torch.float64)
            restored = pickle.loads(pickle.dumps(X[1:]))
        assert restored.equal(X[1:]) and isinstance(copied, type(each).__mro__[1])
        for name, t in each.state_dict().items():
            one = copied.state_dict()[name]
            assert torch.equal(one, t) and one.data_ptr() != t.data_ptr()
            assert torch.equal(converted.state_dict()[name], t.to(torch.float64) if t.is_floating_point() else t)
        assert [p.requires_grad for p in copied.parameters()] == [True] * 4


def test_traces_reject_copies_of_what_they_have_computed():
    for copied in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        with pytest.raises(NotImplementedError, match=r"use clone\(\)"):
            make_fx(lambda x, copied=copied: copied(x * 2) + 1)(X)


def test_transforms_run_in_modes():
    weights = torch.ones(3)
    for mode in (Log, FunctionLog):
        with mode():
            mapped = func.vmap(lambda row: row * weights + row.reshape(3, 1).sum())(X)
            gradient = func.grad(lambda x: (x * x.reshape(-1)).sum())(X[0])
        assert torch.equal(mapped, X * weights + X.sum(1, keepdim=True)) and torch.equal(gradient, 2 * X[0])


# ------------------------------------------------------------------------------------------------------------ control flow


FLOWS = {
    "cond": (
        lambda: torch.cond(X.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (X,)),
        ["sum", "gt"],
        ["sum.default", "gt.Scalar", "sin.default"],
    ),
    "while_loop": (
        lambda: while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2), (torch.zeros(()), X))[1],
        ["zeros"],
        ["zeros.default", *["lt.Scalar", "add.Tensor", "mul.Tensor"] * 2, "lt.Scalar"],
    ),
    "scan": (lambda: scan(lambda c, a: (c + a, c * a), X[0], X[:2])[1], ["__getitem__", "__getitem__"], None),
    "map": (lambda: map(lambda a, b: a * b, X, X[0]), ["__getitem__"], None),
    "associative_scan": (lambda: associative_scan(lambda a, b: a + b, X, 0), [], None),
}


@pytest.mark.parametrize("name", FLOWS)
def test_function_modes_receive_control_flow_and_dispatch_modes_its_operators(name):
    run, before, operators = FLOWS[name]
    expected = run()
    seen, result = log(FunctionLog(), run)
    assert seen == [*before, name] and torch.equal(result, expected)
    weights = nn.Parameter(torch.ones(3))
    assert torch.cond(torch.tensor(True), lambda: X * 1, lambda: X * weights).requires_grad
    seen, result = log(Log(), run)
    assert torch.equal(result, expected) and seen
    assert operators is None or seen == [f"aten.{x}" for x in operators]


def test_the_gradients_of_conditions_in_modes_are_those_outside():
    def gradient(mode):
        used, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        with mode:
            result = torch.cond(torch.tensor(True), lambda: used * 2, lambda: other.exp())
        result.sum().backward()
        return used.grad.tolist(), other.grad.tolist()

    assert gradient(Log()) == gradient(FunctionLog()) == gradient(torch.enable_grad()) == ([2.0] * 3, [0.0] * 3)
