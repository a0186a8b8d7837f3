"""Programs of PyTorch with regions of autocast and with vmap: results are those of the same calls in eager mode."""

import gc
import io
import itertools

import exported_writer as w
import pytest

import libtensor as torch
from libtensor import func
from libtensor._base.library import live_handles
from libtensor.export import load

pytestmark = pytest.mark.usefixtures("evaluated_too")

F32, BF16, F16 = w.meta("float32", [3, 3]), 13, 6
X = torch.tensor([[1.0, 2.0, -3.0], [0.1, 0.2, 0.3], [7.0, -8.0, 9.5]])


def opened(inputs, nodes, outputs, **options):
    return load(io.BytesIO(w.archive(w.model(inputs, nodes, outputs, **options))))


def runs(*args, **options):
    return opened(*args, **options).module()


# ------------------------------------------------------------------------------------------------------------- autocast


def region(results, body, *args, dtype=None, enabled=True, device="cpu"):
    """A node of a region of autocast: `results` are its values, one for each of those of the body."""
    dtype = {"as_none": True} if dtype is None else {"as_scalar_type": dtype}
    return w.node(
        "torch.ops.higher_order.wrap_with_autocast", [w.tensors(*results)], {"as_string": device}, dtype, enabled, None, body, *args
    )


def products(name, inputs=("a",), outputs=("p", "q")):
    nodes = [w.aten("mm.default", "p", inputs[0], inputs[0]), w.aten("log_softmax.int", "q", "p", 1)]
    return w.subgraph(name, list(inputs), nodes, list(outputs))


def is_autocast():
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


@pytest.mark.parametrize("around", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [None, BF16, F16])
@pytest.mark.parametrize("enabled", [True, False])
def test_regions_of_autocast(enabled, dtype, around):
    module = runs(
        {"x": F32},
        [region(["p", "q"], products("body"), "x", dtype=dtype, enabled=enabled), w.aten("mm.default", "y", "x", "x")],
        ["p", "q", "y"],
    )
    kind = {None: None, BF16: torch.bfloat16, F16: torch.float16}[dtype]
    with torch.autocast("cpu", dtype=around, enabled=around is not None):
        before = is_autocast()
        with torch.autocast("cpu", dtype=kind or torch.get_autocast_dtype("cpu"), enabled=enabled):
            p = X @ X
            q = p.log_softmax(1)
        expected, made = (p, q, X @ X), module(X)
        assert is_autocast() == before
    assert [t.dtype for t in made] == [t.dtype for t in expected]
    assert all(torch.equal(a, b) for a, b in zip(made, expected, strict=True))


def test_nested_regions_of_autocast():
    inner = region(["r"], w.subgraph("inner", ["b"], [w.aten("mm.default", "c", "b", "b")], ["c"]), "a", enabled=False)
    body = w.subgraph("body", ["a"], [w.aten("mm.default", "p", "a", "a"), inner, w.aten("mm.default", "s", "a", "r")], ["p", "r", "s"])
    made = runs({"x": F32}, [region(["p", "q", "y"], body, "x", dtype=F16)], ["p", "q", "y"])(X)
    assert [t.dtype for t in made] == [torch.float16, torch.float32, torch.float16]


def test_autocast_ends_with_a_run_that_fails():
    body = w.subgraph("body", ["a"], [w.aten("mm.default", "p", "a", "a"), w.aten("view.default", "q", "p", [5])], ["q"])
    module = runs({"x": F32}, [region(["q"], body, "x")], ["q"])
    with pytest.raises(RuntimeError, match="view"):
        module(X)
    assert is_autocast() == (False, torch.bfloat16) and (X @ X).dtype == torch.float32


def test_regions_of_cuda_do_not_convert_tensors_of_the_cpu():
    (made,) = runs({"x": F32}, [region(["p"], products("body", outputs=("p",)), "x", device="cuda")], ["p"])(X)[None]
    assert made.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")


def test_decompositions_of_autocast_are_errors():
    program = opened({"x": F32}, [region(["p", "q"], products("body"), "x")], ["p"])
    with pytest.raises(NotImplementedError, match="run_decompositions: node .* enables autocast"):
        program.run_decompositions()
    program = opened({"x": F32}, [region(["p", "q"], products("body"), "x", enabled=False)], ["p"])
    assert torch.equal(program.run_decompositions().module()(X), X @ X)


def test_gradients_of_regions_of_autocast():
    program = opened(
        {"x": F32}, [region(["p", "q"], products("body"), "x"), w.aten("sum.default", "y", "q", dtype={"as_scalar_type": 7})], ["y"]
    )
    grads = []
    for f in (program.module(), lambda x: torch.autocast("cpu")(lambda x: (x @ x).log_softmax(1))(x).sum(dtype=torch.float32)):
        x = X.clone().requires_grad_()
        f(x).backward()
        grads.append(x.grad)
    assert torch.equal(*grads) and grads[0].dtype == torch.float32


# ----------------------------------------------------------------------------------------------------------------- vmap


def predispatch(name, results, *args):
    return w.node("torch._functorch.predispatch." + name, results, *args)


def begin(size=3, randomness="error"):
    load_first = predispatch("lazy_load_decompositions", [w.arg(None)])
    return [load_first, predispatch("_vmap_increment_nesting", [w.arg(None)], size, {"as_string": randomness})]


def wrap(to, t, dim=0, level=1):
    return predispatch("_add_batch_dim", to, t, dim, level)


def unwrap(to, t, dim=0, level=1, size=3):
    return predispatch("_remove_batch_dim", to, t, level, size, dim)


END = predispatch("_vmap_decrement_nesting", [w.arg(None)])

STEPS = {
    "sin": (lambda to, a: w.aten("sin.default", to, a), lambda a: a.sin()),
    "sum": (lambda to, a: w.aten("sum.default", to, a), lambda a: a.sum()),
    "softmax": (lambda to, a: w.aten("softmax.int", to, a, 0), lambda a: a.softmax(0)),
    "outer": (lambda to, a: w.aten("outer.default", to, a, a), lambda a: a.outer(a)),
    "flip": (lambda to, a: w.aten("flip.default", to, a, [0]), lambda a: a.flip(0)),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("in_dim", "out_dim"), itertools.product((0, 1), repeat=2))
def test_vmap(step, in_dim, out_dim):
    emit, f = STEPS[step]
    if step == "sum":
        out_dim = 0
    nodes = [*begin(), wrap("a", "x", in_dim), emit("b", "a"), unwrap("y", "b", out_dim), END, w.aten("relu.default", "z", "y")]
    made = runs({"x": F32}, nodes, ["y", "z"])(X)
    expected = func.vmap(f, in_dims=in_dim, out_dims=out_dim)(X)
    assert torch.equal(made[0], expected) and torch.equal(made[1], expected.relu())


@pytest.mark.parametrize("step", ["sin", "sum"])
def test_nested_vmap_with_tensors_of_outer_levels(step):
    emit, f = STEPS[step]
    nodes = [*begin(), wrap("a", "x"), *begin(), wrap("b", "x", 1, 2), w.aten("mul.Tensor", "c", "a", "b"), emit("d", "c")]
    nodes += [unwrap("e", "d", 0, 2), END, unwrap("y", "e"), END]
    expected = func.vmap(lambda a: func.vmap(lambda b: f(a * b), in_dims=1)(X))(X)
    assert torch.equal(runs({"x": F32}, nodes, ["y"])(X), expected)


def test_vmap_in_a_region_of_autocast_and_around_one():
    body = w.subgraph("body", ["a"], [*begin(), wrap("b", "a"), w.aten("mv.default", "c", "a", "b"), unwrap("d", "c"), END], ["d"])
    (made,) = runs({"x": F32}, [region(["y"], body, "x")], ["y"])(X)[None]
    with torch.autocast("cpu"):
        assert torch.equal(made, func.vmap(lambda b: X @ b)(X))
    body = w.subgraph("body", ["a", "b"], [w.aten("mv.default", "c", "a", "b")], ["c"])
    nodes = [*begin(), wrap("a", "x"), region(["c"], body, "x", "a"), unwrap("y", "c"), END]
    assert torch.equal(runs({"x": F32}, nodes, ["y"])(X), made)


def test_vmap_of_an_unbatched_result_of_size_0_and_of_random_numbers():
    nodes = [*begin(), wrap("a", "x"), w.aten("relu.default", "b", "x"), unwrap("y", "b"), END]
    assert torch.equal(runs({"x": F32}, nodes, ["y"])(X), X.relu().expand(3, 3, 3))
    nodes = [*begin(0), wrap("a", "x"), w.aten("sin.default", "b", "a"), unwrap("y", "b", size=0), END]
    assert runs({"x": w.meta("float32", [0, 3])}, nodes, ["y"])(X[:0]).shape == (0, 3)
    for randomness, differs in (("different", True), ("same", False)):
        nodes = [*begin(3, randomness), wrap("a", "x"), w.aten("rand_like.default", "b", "a"), unwrap("y", "b"), END]
        made = runs({"x": F32}, nodes, ["y"])(X)
        assert torch.equal(made[0], made[1]) is not differs


def test_writes_inside_vmap_change_the_input():
    nodes = [*begin(), wrap("a", "x", 1), w.aten("mul_.Tensor", "b", "a", 2), unwrap("y", "b"), END]
    x = X.clone()
    runs({"x": F32}, nodes, ["y"])(x)
    assert torch.equal(x, X * 2)


def test_gradients_of_vmap():
    nodes = [*begin(), wrap("a", "x"), w.aten("outer.default", "b", "a", "a"), w.aten("sum.default", "c", "b"), unwrap("y", "c"), END]
    module = runs({"x": F32}, nodes, ["y"])
    assert torch.allclose(func.grad(lambda x: module(x).sum())(X), 2 * X.sum(1, keepdim=True).expand(3, 3))
    batched = func.vmap(module)(torch.stack([X, -X]))
    assert torch.equal(batched, torch.stack([module(X), module(-X)]))


@pytest.mark.runs_in_c
def test_levels_end_with_a_run_that_fails():
    nodes = [
        *begin(),
        wrap("a", "x"),
        *begin(),
        wrap("b", "a", 0, 2),
        w.aten("view.default", "c", "b", [5]),
        unwrap("d", "c", 0, 2),
        END,
        unwrap("y", "d"),
        END,
    ]
    module = runs({"x": F32}, nodes, ["y"])
    gc.collect()
    before = live_handles()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="view"):
            module(X)
        gc.collect()
        assert live_handles() == before
    assert not torch._core.modes.is_transforming() and torch.equal(func.vmap(lambda x: x * 2)(X), X * 2)

    def inside(x):
        with pytest.raises(RuntimeError, match="view"):
            module(X)
        return x * 2

    assert torch.equal(func.vmap(inside)(X), X * 2)


INVALID = {
    "an end without a beginning": ([END], "ends a vmap that the graph has not begun"),
    "a beginning without an end": (begin(), "begins 1 vmap that it does not end"),
    "a level that is not begun": ([*begin(), wrap("a", "x", 0, 2), END], "has the level 2; there are 1"),
    "the level 0": ([*begin(), wrap("a", "x", 0, 0), END], "has the level 0; there are 1"),
    "a branch that ends an outer vmap": (
        [*begin(), region(["c"], w.subgraph("body", ["a"], [END], ["a"]), "x")],
        "ends a vmap that the graph has not begun",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_unbalanced_levels_are_errors(name):
    nodes, fact = INVALID[name]
    with pytest.raises(RuntimeError, match=f"program_load: the graph is invalid: .*{fact}"):
        runs({"x": F32}, nodes, ["x"])


@pytest.mark.parametrize(
    ("nodes", "fact"),
    [
        ([*begin(3, "sometimes"), wrap("a", "x"), unwrap("y", "a"), END], "randomness"),
        ([*begin(-1), wrap("a", "x"), unwrap("y", "a"), END], "size"),
        ([*begin(), wrap("a", "x", 7), unwrap("y", "a"), END], "dim"),
        ([*begin(4), wrap("a", "x"), unwrap("y", "a"), END], "size|batch"),
    ],
)
def test_wrong_sizes_and_dimensions_are_errors_of_the_run(nodes, fact):
    module = runs({"x": F32}, nodes, ["y"])
    with pytest.raises((RuntimeError, IndexError, ValueError), match=fact):
        module(X)
    assert not torch._core.modes.is_transforming()
