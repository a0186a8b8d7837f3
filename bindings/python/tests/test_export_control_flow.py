"""Export of torch.cond, while_loop, map and scan: their functions are graphs of the program, for any elements and sizes."""

import gc
import io

import pytest

import libtensor as torch
from libtensor import nn
from libtensor._base.library import live_handles
from libtensor._higher_order_ops import map as map_slices
from libtensor._higher_order_ops import scan, while_loop
from libtensor.export import Dim, export, load, save

pytestmark = pytest.mark.usefixtures("evaluated_too")

cond, leaves = torch.cond, torch.utils._pytree.tree_leaves
CONSTANT = torch.tensor([1.0, 2.0, 3.0])
ROWS = {0: Dim("rows")}


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.tensor([1.5, -0.5, 2.0]))
        self.register_buffer("mean", torch.full((3,), 0.25))
        self.attribute = torch.full((3,), 2.0)

    def forward(self, x):
        return self.function(self, x)


def nested(m, x):
    inner = lambda y: cond(y.max() > 1, lambda y: y + m.mean, lambda y: y * m.weight, (y,))  # noqa: E731
    return cond(x.sum() > 0, inner, torch.sin, (x,))


def chained(m, x):
    first = cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)
    return cond(first.sum() > 0, lambda y: y - first * CONSTANT, lambda y: y * 2, (first,)) + first


FUNCTIONS = {
    "operands": lambda m, x: cond(x.sum() > 0, torch.sin, torch.cos, (x,)),
    "a closure": lambda m, x: cond(x.sum() > 0, lambda y: y * m.weight, lambda y: y + CONSTANT + m.attribute, (x,)),
    "no operands": lambda m, x: cond(x.sum() > 0, lambda: x + 1, lambda: x - m.mean),
    "structures": lambda m, x: torch.cond(
        x.sum() > 0, lambda d: (d["a"] * 2, [d["b"].cos()]), lambda d: (d["a"] + 1, [d["b"] - 1]), ({"a": x, "b": x},)
    ),
    "constants": lambda m, x: cond(x.sum() > 0, lambda y: (y.cos(), None, 3), lambda y: (y.sin(), None, 3), (x,)),
    "sizes": lambda m, x: cond(x.sum() > 0, lambda y: y.reshape(y.shape[0] * 3) / y.shape[0], lambda y: y.sin().flatten(), (x,)),
    "writes to results": lambda m, x: cond(x.sum() > 0, lambda y: y.clone().add_(1), lambda y: (y * 2).relu_(), (x,)).mul_(3),
    "a loop": lambda m, x: while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * m.weight + CONSTANT), (torch.tensor(0), x)),
    "a loop by elements": lambda m, x: while_loop(lambda y: y.abs().sum() > 1, lambda y: (y / 2,), (x,)),
    "a loop of no iterations": lambda m, x: while_loop(lambda y: y.sum() < y.sum() - 1, lambda y: (y + 1,), (x,)),
    "a condition in a loop": lambda m, x: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, nested(m, y)), (torch.tensor(0), x)),
    "slices": lambda m, x: map_slices(lambda row, k: (row * k * m.weight, row.sum()), x, CONSTANT),
    "slices of several": lambda m, x: map_slices(lambda d: d["a"] - d["b"].mean(), {"a": x, "b": x.sin()}),
    "a scan": lambda m, x: scan(lambda carry, row: (carry + row, carry * m.weight), torch.zeros(3), x),
    "a scan of structures": lambda m, x: scan(
        lambda c, row: ({"s": c["s"] + row}, (c["s"] * 2, row + 1)), {"s": m.mean.clone()}, x, reverse=True
    ),
    "a loop in a scan": lambda m, x: scan(
        lambda c, r: (while_loop(lambda y: y.abs().sum() > 1, lambda y: (y / 2,), (c + r,))[0], c * 2), CONSTANT, x
    ),
    "nested conditions": nested,
    "chained conditions": chained,
}


def assert_same(found, expected):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b


@pytest.mark.parametrize("shapes", [None, (ROWS,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_follow_elements_and_sizes(name, shapes):
    module, x = Module(FUNCTIONS[name]), torch.arange(12.0).reshape(4, 3).sin()
    program, file = export(module, (x,), dynamic_shapes=shapes), io.BytesIO()
    save(program, file)
    loaded, core = load(io.BytesIO(file.getvalue())).module(), program.run_decompositions().module()
    for rows in (4,) if shapes is None else (4, 1, 2, 9):
        for factor in (1, -1, 4, -0.01):
            y = torch.arange(3.0 * rows).reshape(rows, 3).cos() * factor
            with torch.no_grad():
                expected = module(y)
                assert_same(loaded(y), expected)
                for a, b in zip(leaves(core(y)), leaves(expected), strict=True):
                    assert torch.allclose(a, b, 1e-5, 1e-6) if isinstance(b, torch.Tensor) else a == b


def test_functions_are_graphs_of_one_node():
    graph = export(Module(FUNCTIONS["a closure"]), (torch.ones(3),))._text["graph_module"]["graph"]
    (node,) = (n for n in graph["nodes"] if n["target"] == "torch.ops.higher_order.cond")
    names = [x["arg"]["as_graph"]["name"] for x in node["inputs"][1:3]]
    inputs = [x["arg"]["as_graph"]["graph"]["inputs"] for x in node["inputs"][1:3]]
    assert names == ["true_graph_0", "false_graph_0"] and inputs[0] == inputs[1]
    operands = [x["name"] for x in node["inputs"][3]["arg"]["as_tensors"]]
    assert operands == ["x", "p_weight", "c_lifted_tensor_0", "c_attribute"]  # tensors of the closures are operands
    assert node["is_hop_single_tensor_return"] is False and list(node["outputs"][0]) == ["as_tensor"]


def test_gradients_go_through_the_function_that_was_called():
    module = export(Module(FUNCTIONS["a closure"]), (torch.ones(3),)).module()
    for sign in (1, -1):
        x = (CONSTANT * sign).requires_grad_()
        module(x).sum().backward()
        assert x.grad.tolist() == ([1.5, -0.5, 2.0] if sign == 1 else [1, 1, 1])


UNTAKEN = {
    "a closure": lambda m, x: cond(x.sum() > 0, lambda y: (y * m.weight).sin(), lambda y: (y * m.other).cos(), (x,)),
    "operands": lambda m, x: cond(x.sum() > 0, lambda y, w, v: y * w, lambda y, w, v: (y * v * v).cumsum(0).exp(), (x, m.weight, m.other)),
    "a function without gradients": lambda m, x: cond(x.sum() > 0, torch.sin, lambda y: y * m.weight * m.other, (x,)),
    "several results": lambda m, x: cond(x.sum() > 0, lambda y: ((y * m.weight), y.int()), lambda y: (y + m.other, y.int()), (x,))[0],
    "a condition in a condition": lambda m, x: cond(
        x.sum() > 0, lambda y: y * m.weight, lambda y: cond(y.max() > -2, lambda z: z * m.other, torch.sin, (y,)), (x,)
    ),
    "a loop in a condition": lambda m, x: cond(
        x.sum() > 0,
        lambda y: y * m.weight,
        lambda y: while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * m.other), (torch.tensor(0), y))[1],
        (x,),
    ),
    "a scan in a condition": lambda m, x: cond(
        x.sum() > 0, lambda y: y * m.weight, lambda y: scan(lambda c, row: (c + row * m.other[0], c * 2), torch.zeros(()), y)[1], (x,)
    ),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_gradients_of_the_function_that_is_not_called_are_zeros(name):
    """PyTorch's gradients, where it has them. Of parameters that neither function uses, there is none. Results are bitwise those of the
    function."""
    module = Module(UNTAKEN[name])
    module.other, module.unused = nn.Parameter(torch.tensor([2.0, 0.5, -1.0])), nn.Parameter(torch.ones(2))
    program, file = export(module, (torch.ones(3),)), io.BytesIO()
    save(program, file)
    loaded = load(io.BytesIO(file.getvalue())).module()
    for x in (torch.tensor([1.0, float("inf"), -0.0]), torch.tensor([-1.0, -0.0, -3.0])):
        made = []
        for model in (module, program.module(), program.run_decompositions().module(), loaded):
            parameters = dict(model.named_parameters())
            result = model(x)
            first = torch.autograd.grad(result.sum(), [parameters["weight"], parameters["other"]], create_graph=True)
            with torch.no_grad():
                assert torch.equal(result.view(torch.int32), model(x).view(torch.int32))
            assert torch.autograd.grad(result.sum(), parameters["unused"], allow_unused=True) == (None,)
            used = [g for g in first if g.requires_grad]
            second = torch.autograd.grad(sum((g * g).sum() for g in used), list(parameters.values()), allow_unused=True) if used else ()
            made.append((*first, *(g for g in second if g is not None)))
        zeros = made[0][1] if x[0] > 0 else made[0][0]
        if name not in ("operands", "a function without gradients") or x[0] > 0:
            assert (zeros == 0).all()
        for found in made[1:]:
            assert len(found) == len(made[0])
            assert all(torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in zip(found, made[0], strict=True))


def test_a_function_that_depends_on_elements_uses_its_operands():
    w, v, x = (torch.ones(2, requires_grad=True) for _ in range(3))
    made = cond(torch.tensor(True), lambda x, w: x * 2, lambda x, w: w if x.sum() > 0 else v, (x, w))
    assert [g if g is None else g.tolist() for g in torch.autograd.grad(made.sum(), (x, w, v), allow_unused=True)] == [[2, 2], [0, 0], None]


def test_the_function_that_is_not_called_writes_to_no_tensor():
    x, mean = torch.ones(2, requires_grad=True), torch.zeros(2)
    state = torch.get_rng_state()
    made = cond(x.sum() > 0, torch.sin, lambda x: mean.add_(1) + nn.functional.dropout(x * 2, 0.5), (x,))
    assert made.requires_grad and mean.tolist() == [0, 0] and torch.equal(state, torch.get_rng_state())


def test_export_leaves_the_generator_and_handles_as_they_were():
    function = lambda m, x: cond(x.sum() > 0, lambda y: nn.functional.dropout(y, 0.5, True), lambda y: y + torch.rand(3), (x,))  # noqa: E731
    export(Module(function), (torch.ones(3),))
    gc.collect()
    before, handles = torch.get_rng_state(), live_handles()
    export(Module(function), (torch.ones(3),))
    gc.collect()
    assert live_handles() == handles
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(7)
    expected = Module(function)(-torch.ones(3))
    torch.manual_seed(7)
    assert torch.equal(export(Module(function), (torch.ones(3),)).module()(-torch.ones(3)), expected)


def leak(m, x):
    kept = []
    return cond(x.sum() > 0, lambda y: kept.append(y + 1) or y * 2, lambda y: y * 3, (x,)) + kept[0]


def assign(m, x):
    def true_fn(y):
        m.mean = m.mean * 2
        return y + 1

    return cond(x.sum() > 0, true_fn, torch.sin, (x,)) + m.mean


ERRORS = [
    (lambda m, x: cond(x.sum() > 0, lambda y: y, torch.sin, (x,)), NotImplementedError, r"true_fn of torch.cond returns .* with clone\(\)"),
    (lambda m, x: cond(x.sum() > 0, torch.sin, lambda y: y.view(-1, 1), (x,)), NotImplementedError, r"false_fn .* with clone\(\)"),
    (lambda m, x: cond(x.sum() > 0, torch.sin, lambda y: m.mean, (x,)), NotImplementedError, r"false_fn .* with clone\(\)"),
    (
        lambda m, x: cond(x.sum() > 0, lambda y: y.add_(1) * 2, torch.sin, (x,)),
        NotImplementedError,
        r"true_fn of torch.cond writes with aten.add_",
    ),
    (
        lambda m, x: cond(x.sum() > 0, torch.sin, lambda y: m.mean.mul_(2) + y, (x,)),
        NotImplementedError,
        r"false_fn of torch.cond writes with",
    ),
    (lambda m, x: cond(x.sum() > 0, lambda y: y[:2] * 1, torch.sin, (x,)), NotImplementedError, r"shapes \[2\] and \[3\]"),
    (
        lambda m, x: cond(x.sum() > 0, lambda y: y.int(), torch.sin, (x,)),
        RuntimeError,
        "expected same dtype but got torch.int32 and torch.float32",
    ),
    (lambda m, x: cond(x.sum() > 0, lambda y: (y + 1,), torch.sin, (x,)), RuntimeError, "must return the same structure"),
    (lambda m, x: cond(x.sum() > 0, lambda y: (y + 1, 2), lambda y: (y + 1, 3), (x,)), NotImplementedError, "return 2 and 3"),
    (
        lambda m, x: cond(x.sum() > 0, lambda y: y[y > 0].sum(), lambda y: y.sum(), (x,)),
        NotImplementedError,
        "result has a size that depends on elements",
    ),
    (lambda m, x: cond(x.sum() > 0, lambda y: y * 2 if y.sum() > 0 else y * 3, torch.sin, (x,)), RuntimeError, "values of tensors"),
    (lambda m, x: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x)), NotImplementedError, "must be tensors, not a int"),
    (lambda m, x: while_loop(lambda y: y.sum() < 9, lambda y: (y[:2] * 2,), (x,)), RuntimeError, r"must have the shape \[3\]"),
    (lambda m, x: while_loop(lambda y: y < 9, lambda y: (y * 2,), (x,)), RuntimeError, "cond_fn must return a tensor with one element"),
    (lambda m, x: scan(lambda c, y: c + y, torch.zeros(()), x), RuntimeError, "must return a pair of a carry"),
    (
        lambda m, x: scan(lambda c, y: (c.double(), y * 2), torch.zeros(()), x),
        RuntimeError,
        "the carry .* torch.float32, not .* torch.float64",
    ),
    (lambda m, x: map_slices(lambda y: 3, x), NotImplementedError, "results of the function must be tensors, not a int"),
    (leak, NotImplementedError, "true_fn of torch.cond creates is used outside of it; return it"),
    (assign, NotImplementedError, "true_fn of torch.cond creates is used outside of it; return it"),
]


@pytest.mark.parametrize("function, kind, fact", ERRORS)
def test_functions_that_no_graph_describes(function, kind, fact):
    gc.collect()
    handles = live_handles()
    with pytest.raises(kind, match=fact):
        export(Module(function), (torch.ones(3),))
    gc.collect()
    assert live_handles() == handles


@pytest.mark.parametrize(
    "call", [lambda: map_slices(torch.sin, torch.ones(0, 2)), lambda: scan(torch.add, torch.ones(2), (torch.ones(2), torch.ones(3)))]
)
def test_slices_must_exist_and_have_one_size(call):
    with pytest.raises(ValueError, match="xs must have one size, which is not 0"):
        call()


@pytest.mark.runs_in_c
def test_missing_memory_for_slices_has_the_error_of_the_operator():
    """Each slice fits below the limit, but not the tensor that they are stacked to."""
    file = io.BytesIO()
    save(export(Module(lambda m, x: map_slices(lambda row: row.exp(), x)), (torch.zeros(8, 1 << 16),)), file)
    file.seek(0)
    run = load(file).module()
    x = torch.zeros(8, 1 << 16)
    torch.set_memory_limit(torch.memory_stats().in_use + 12 * (1 << 18))
    try:
        with pytest.raises(torch.OutOfMemoryError, match="program_run: node 'map_impl': .*exceed the memory limit"):
            run(x)
    finally:
        torch.set_memory_limit(0)
    assert (run(x) == 1).all()


@pytest.mark.parametrize("how", ["eager", "export"])
def test_a_predicate_is_a_bool_or_one_element(how):
    """PyTorch's message, with the shape."""

    def run(pred, x):
        return cond(pred(x), torch.sin, torch.cos, (x,))

    def call(pred, x):
        return run(pred, x) if how == "eager" else export(lambda x: run(pred, x), (x,)).module()(x)

    x = torch.tensor([1.0, -2.0])
    for pred in (lambda x: x > 0, lambda x: x.reshape(2, 1) > 0, lambda x: x[:0] > 0):
        with pytest.raises(
            RuntimeError, match=r"torch.cond: Expected pred to be bool or single-element tensor, but got a tensor of shape \["
        ):
            call(pred, x)
    for pred in ("yes", None, [True]):
        with pytest.raises(RuntimeError, match="torch.cond: Expected pred to be bool or tensor, but got"):
            call(lambda _, pred=pred: pred, x)
    for pred in (True, 1, 0.5, torch.tensor([[2]])):
        assert torch.equal(call(lambda _, pred=pred: pred, x), x.sin())


def repeat_with_captured(i, x):
    return while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 0.5 + x), (i, x))


def repeat_with_one_tensor_twice(i, x):
    return while_loop(lambda i, a, b: i < 4, lambda i, a, b: (i + 1, a + x, b - a), (i, x, x))


def repeat_until_the_captured_sum(i, x):
    return while_loop(lambda h: h.sum() < x.sum() + 10, lambda h: (h + 1,), (x,))


def repeat_from_a_result(i, x):
    y = x * 2
    return while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 0.5 + y), (i, y))


def scan_with_captured(i, x):
    return scan(lambda c, a: (c * 0.5 + x, c + a), x, torch.arange(8.0).reshape(4, 2) + i)


def scan_with_one_tensor_twice(i, x):
    return scan(lambda c, a: ((c[0] + a, c[1] - c[0]), c[0] * c[1]), (x, x), torch.arange(8.0).reshape(4, 2) + i)


@pytest.mark.parametrize(
    "function",
    [
        repeat_with_captured,
        repeat_with_one_tensor_twice,
        repeat_until_the_captured_sum,
        repeat_from_a_result,
        scan_with_captured,
        scan_with_one_tensor_twice,
    ],
)
def test_a_carried_tensor_that_is_also_captured_or_carried_twice(function):
    inputs = (torch.tensor(0), torch.tensor([1.0, -2.0]))
    file = io.BytesIO()
    save(export(function, inputs), file)
    file.seek(0)
    program = load(file).module()
    for x in (inputs[1], torch.tensor([3.0, 0.5])):
        eager, made = leaves(function(inputs[0], x)), leaves(program(inputs[0], x))
        assert len(eager) == len(made) and all(map(torch.equal, eager, made))
