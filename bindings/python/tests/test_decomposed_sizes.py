"""run_decompositions() for variable sizes: decompositions of the core table and of users have the results of operators for all sizes."""

import io
import json

import exported_writer as w
import pytest
from decomposition_samples import list_samples, make_arguments
from test_decompositions import argument, check_equal, names, reload

import libtensor as torch
from libtensor.export import Dim, export, load
from libtensor.export.arguments import find_operator
from libtensor.export.writer import code_of

aten = torch.ops.aten
ERRORS = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError)
SIZES = (0, 1, 2, 3, 7, 31)
RANDOM = ("empty_like.default", "new_empty.default")
RAISING = ("batch_norm.default", "instance_norm.default", "logsumexp.default", "special_logsumexp.default")
# Operators whose samples require elements, or sizes that fit their other arguments.
NONEMPTY = (
    *("_reshape_alias.default", "_unsafe_view.default", "affine_grid_generator.default", "aminmax.default", "broadcast_to.default"),
    *("conv1d.default", "expand_copy.default", "fft_fft.default", "fft_ifft.default", "fft_irfft.default", "im2col.default"),
    *("index_add.default", "index_copy.default", "linalg_vector_norm.default", "nll_loss_nd.default", "reshape.default"),
    *("reshape_as.default", "stft.default", "unfold_copy.default", "view_as.default", "view_copy.default"),
)
FIRST = ("embedding_bag", "_scaled", "native_batch_norm")  # the other results are for backward passes


def size_of(value, n):
    return {"as_expr": {"expr_str": value, "hint": {"as_int": n}}} if isinstance(value, str) else {"as_int": value}


def multiply(one, other):
    """Returns the product of two integers or expressions."""
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    factors = [x if isinstance(x, str) else f"Integer({x})" for x in (one, other) if x != 1]
    return factors[0] if len(factors) == 1 else f"Mul({', '.join(factors)})"


def describe(x, n):
    """Returns the TensorMeta of a tensor whose dimensions of n elements have a variable size; None if its strides leave gaps."""
    sizes = [w.symbol("s0") if size == n else size for size in x.shape]
    strides, step, whole = {}, 1, 1
    for dim in sorted(range(x.dim()), key=lambda d: (x.stride(d), x.shape[d], -d)):
        if x.shape[dim] != 1 and x.stride(dim) != whole:
            return None
        # A dimension without elements counts as one element for the strides of the others.
        counted = max(sizes[dim], 1) if isinstance(sizes[dim], int) else sizes[dim]
        strides[dim], step, whole = step, multiply(counted, step), whole * max(x.shape[dim], 1)
    hints = {"sizes": x.shape, "strides": x.stride()}
    found = w.meta(code_of(x.dtype), [0] * x.dim(), [0] * x.dim())
    lists = {"sizes": sizes, "strides": [strides[d] for d in range(x.dim())]}
    return found | {key: [size_of(v, h) for v, h in zip(lists[key], hints[key], strict=True)] for key in hints}


def resize(x, n, size):
    """Returns a tensor with `size` elements along the dimensions of n, in the order of memory of `x`, of the same elements."""
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    back = [order.index(d) for d in range(x.dim())]
    made = x.permute(order) if x.dim() else x
    for dim in range(made.dim()):
        if made.size(dim) == n:
            made = made.index_select(dim, torch.arange(size) % max(n, 1))
    return made.contiguous().permute(back) if x.dim() else made


def list_tensors(args, kwargs):
    return [x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]


def list_different_sizes(tensors):
    return sorted({size for x in tensors for size in x.shape})


def program_of(overload, args, kwargs, n):
    """Returns a program of one operator whose sizes n are variable, and its inputs; None if it cannot be described."""
    op = find_operator(f"torch.ops.aten.{overload}")
    tensors = []
    inputs = [{"name": "", "arg": argument(x, tensors), "kind": 1} for x in args]
    inputs += [{"name": k, "arg": argument(x, tensors), "kind": 2} for k, x in kwargs.items()]
    expected = op(*args, **kwargs)
    count = 1 if isinstance(expected, torch.Tensor) else len(expected)
    outputs = [w.tensor(f"y{i}") for i in range(count)]
    if op._schema.result_kinds[0].endswith("[]"):
        outputs = [w.tensors(*(f"y{i}" for i in range(count)))]
    metas = {f"x{i}": describe(x, n) for i, x in enumerate(tensors)}
    if None in metas.values():
        return None
    node = w.aten(overload, outputs) | {"inputs": inputs, "name": "y0"}
    return load(io.BytesIO(w.archive(w.model(metas, [node], [f"y{i}" for i in range(count)])))), tensors


def run(program, tensors):
    """Returns the results of a program and its inputs after it; the error if it raises."""
    given = [x.clone() for x in tensors]
    try:
        return [*program._program.run(*given), *given]
    except ERRORS as error:
        return error


def compare(overload, expected, found, size):
    """Checks the results of a decomposed program, and returns how many tensors it compares. Only for tensors without elements the program
    may raise where the operator does not."""
    if isinstance(expected, Exception) or overload in RANDOM:
        return 0
    if isinstance(found, Exception):
        assert size == 0 and overload in RAISING, (overload, size, found)
        return 0
    compared = found[: 1 if overload.startswith(FIRST) else len(expected)]
    for one, other in zip(compared, expected, strict=False):
        check_equal(one, other)
    return len(compared)


@pytest.mark.parametrize(("overload", "text"), list_samples())
def test_decompositions_have_the_results_of_operators_for_every_size(overload, text):
    args, kwargs = make_arguments(text)
    count = 0
    for n in filter(None, list_different_sizes(list_tensors(args, kwargs))):
        described = program_of(overload, args, kwargs, n)
        if described is None:
            continue
        program, tensors = described
        lowered = program.run_decompositions()
        for size in (*SIZES, 2 * n):
            inputs = [resize(x, n, size) for x in tensors]
            count += compare(overload, run(program, inputs), run(lowered, inputs), size)
    assert count or overload in RANDOM or not list_tensors(args, kwargs), "nothing was compared"


@pytest.mark.parametrize(("overload", "text"), list_samples())
def test_decompositions_of_tensors_without_elements(overload, text):
    args, kwargs = make_arguments(text)
    count = 0
    for n in list_different_sizes(list_tensors(args, kwargs)):
        resized = torch.utils._pytree.tree_map(lambda x, n=n: resize(x, n, 0) if isinstance(x, torch.Tensor) else x, (args, kwargs))
        try:
            described = program_of(overload, *resized, None)
        except ERRORS:  # the operator does not accept the empty tensors
            continue
        if described is None:
            continue
        program, inputs = described
        expected, found = run(program, inputs), run(program.run_decompositions(), inputs)
        assert isinstance(expected, Exception) or not isinstance(found, Exception), found
        count += compare(overload, expected, found, None)
    assert count or overload in (*RANDOM, *NONEMPTY) or not list_tensors(args, kwargs), "nothing was compared"


def bound(**bounds):
    return ({0: Dim("n", **bounds)},)


def check_sizes(program, function, sizes, *shape):
    for n in sizes:
        x = torch.randn(n, *shape)
        check_equal(program.module()(x), function(x))


def test_operators_whose_decomposition_fails_for_empty_tensors_are_kept():
    x = torch.zeros(0, 3)
    table = {aten.silu.default: lambda x: x * (1 // x.size(0)) * x.sigmoid()}
    lowered = export(torch.nn.functional.silu, (x,)).run_decompositions(table)
    assert names(lowered) == {"silu.default"} and lowered.module()(x).shape == x.shape
    with pytest.raises(ZeroDivisionError):
        export(torch.nn.functional.silu, (torch.ones(2),)).run_decompositions({aten.silu.default: lambda x: x * (1 // 0)})


def test_roll_holds_for_fewer_elements_than_its_shift():
    def function(x):
        return x.roll((5, -9), (0, 1))

    lowered = reload(export(function, (torch.randn(7, 3),), dynamic_shapes=bound()).run_decompositions())
    assert "roll.default" not in names(lowered)
    check_sizes(lowered, function, (0, 1, 2, 4, 5, 6, 13), 3)


def test_a_decomposition_that_depends_on_a_size_within_the_bounds_keeps_the_operator():
    def function(x):
        return aten.squeeze.default(x).square()

    text = w.model({"x": describe(torch.randn(4, 1, 3), 4)}, [w.aten("squeeze.default", "y", "x")], ["y"])
    table = {aten.squeeze.default: lambda x: aten.squeeze.dims(x, [d for d, n in enumerate(x.shape) if n == 1])}
    free = load(io.BytesIO(w.archive(text))).run_decompositions(table)
    bounded = load(io.BytesIO(w.archive(text | {"range_constraints": {"s0": {"min_val": 2, "max_val": None}}}))).run_decompositions(table)
    assert names(free) == {"squeeze.default"} and "squeeze.dims" in names(bounded)
    assert free.module()(torch.randn(1, 1, 3)).shape == (3,) and bounded.module()(torch.randn(2, 1, 3)).shape == (2, 3)


THRESHOLDS = {
    "a comparison": lambda x: x * 2 if x.size(0) > 100 else x + x + 0,
    "a comparison of a product": lambda x: x * 2 if x.numel() % 7 else x * 3,
    "a plain number": lambda x: x * 2 if int(x.size(0)) > 100 else x * 3,
    "an index": lambda x: x * (2 if x.size(0) in (1, 2, 3) else 3),
    "one": lambda x: x * 3 if x.size(0) == 1 else x * 2,
    "none": lambda x: x * 2 if len(x) else x + 1,
    "a bound": lambda x: x * min(x.size(0), 50),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_functions_of_tables_hold_for_every_size(name):
    decomposition = THRESHOLDS[name]

    @torch.library.custom_op("decomposed_sizes::change", mutates_args=())
    def change(x: torch.Tensor) -> torch.Tensor:
        return decomposition(x).clone()

    change.register_fake(lambda x: torch.empty_like(x))
    program = export(lambda x: change(x), (torch.randn(6, 3),), dynamic_shapes=bound())
    lowered = program.run_decompositions({torch.ops.decomposed_sizes.change.default: decomposition})
    check_sizes(lowered, decomposition, (0, 1, 2, 3, 6, 7, 14, 49, 50, 51, 100, 101, 300), 3)


def test_decompositions_that_change_shapes_in_place_hold():
    def function(x, y):
        return torch.matmul(x, y)

    program = export(function, (torch.randn(3), torch.randn(3, 4)), dynamic_shapes=(None, {1: Dim("n")}))
    lowered = program.run_decompositions()
    assert "mm.default" in names(lowered)
    for n in (0, 1, 2, 4, 9):
        inputs = torch.randn(3), torch.randn(3, n)
        check_equal(lowered.module()(*inputs), function(*inputs))


def test_sizes_that_an_operator_requires_to_be_equal():
    """PyTorch's programs may have two symbols for sizes that must be equal, as the lengths of keys and values."""

    def symbolic(name, n):
        return size_of(w.symbol(name), n)

    metas = {}
    for name, heads, length, n in (("q", 4, "s1", 5), ("k", 2, "s2", 7), ("v", 2, "s3", 7)):
        metas[name] = describe(torch.randn(1, heads, n, 8), None)
        metas[name]["sizes"][2] = symbolic(length, n)
        metas[name]["strides"][:2] = [size_of(f"Mul(Integer({8 * h}), {w.symbol(length)})", 8 * h * n) for h in (heads, 1)]
    node = w.aten("scaled_dot_product_attention.default", "y", "q", "k", "v", enable_gqa=True)
    lowered = reload(load(io.BytesIO(w.archive(w.model(metas, [node], ["y"])))).run_decompositions())
    assert "scaled_dot_product_attention.default" not in names(lowered)
    for length, n in ((5, 7), (1, 1), (3, 2), (7, 7), (9, 31)):
        q, k, v = (torch.randn(1, heads, size, 8) for heads, size in ((4, length), (2, n), (2, n)))
        check_equal(lowered.module()(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True))


def test_results_that_nothing_uses_may_have_other_shapes():
    """PyTorch describes the sizes of the bags for include_last_offset, which its operator does not return."""
    weight, indices, offsets = torch.randn(5, 3), torch.tensor([1, 2, 4, 0]), torch.tensor([0, 1, 4])
    args = [weight, indices, offsets, False, 0, False, None, True]
    program, inputs = program_of("embedding_bag.default", args, {}, None)
    graph = program._text["graph_module"]["graph"]
    graph["outputs"] = graph["outputs"][:1]
    program._text["graph_module"]["signature"]["output_specs"] = program._text["graph_module"]["signature"]["output_specs"][:1]
    program._text["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = json.dumps([1, w.LEAF])
    graph["tensor_values"] |= {
        "y0": w.meta("float32", [2, 3]),
        "y1": w.meta("int64", [0]),
        "y2": w.meta("int64", [2]),
        "y3": w.meta("int64", [2]),
    }
    check_equal(
        program.run_decompositions()._program.run(*inputs)[0],
        torch.nn.functional.embedding_bag(indices, weight, offsets, mode="sum", include_last_offset=True),
    )


def test_a_comparison_outside_the_bounds_does_not_matter():
    table = {aten.silu.default: lambda x: x * x.sigmoid() if x.size(0) < 20 else x}
    function = torch.nn.functional.silu
    lowered = export(function, (torch.randn(6, 3),), dynamic_shapes=bound(max=19)).run_decompositions(table)
    assert names(lowered) == {"mul.Tensor", "sigmoid.default"}
    check_sizes(lowered, function, (0, 1, 6, 19), 3)
    assert names(export(function, (torch.randn(6, 3),), dynamic_shapes=bound(max=20)).run_decompositions(table)) == {"silu.default"}


def test_sizes_of_several_factors_have_expressions():
    def function(x):
        return torch.nn.functional.silu(x.reshape(-1)), torch.nn.functional.silu(x.flatten(1))

    dims = torch.export.dims("a", "b", "c", "d")
    program = export(function, (torch.randn(2, 3, 4, 5),), dynamic_shapes=(dict(enumerate(dims)),))
    lowered = reload(program.run_decompositions())
    assert names(lowered) == {"mul.Tensor", "sigmoid.default", "sym_size.int", "view.default"}
    x = torch.randn(7, 2, 1, 3)
    for one, other in zip(lowered.module()(x), function(x), strict=True):
        check_equal(one, other)


def squeezed(least, is_guarded):
    """Returns the program of x.squeeze() of PyTorch with a variable size of at least `least`, followed by an operator of its result."""
    symbol = w.symbol("s77")
    x, y = (w.meta("float32", [symbol, 3, *last]) for last in ([1], []))
    for meta in (x, y):
        meta["sizes"][0]["as_expr"]["hint"] = {"as_int": 5}
    nodes = [w.aten("squeeze.default", "y", "x"), w.aten("silu.default", "z", "y")]
    text = w.model({"x": x}, nodes, ["z"], ranges={"s77": {"min_val": least, "max_val": None}}, values={"y": y, "z": y})
    if not is_guarded:
        del text["guards_code"]
    return load(io.BytesIO(w.archive(text)))


@pytest.mark.parametrize(("least", "is_guarded"), [(0, True), (1, True), (2, True), (3, True), (2, False)])
def test_sizes_below_the_range_of_a_decomposition_are_an_error(least, is_guarded):
    """Runs of PyTorch's files accept smaller sizes than 2. They do not after a decomposition that is only valid for 2 or more."""
    program = squeezed(least, is_guarded)
    lowered = reload(program.run_decompositions())
    for n in (1, 2, 3, 4, 9):
        x = torch.randn(n, 3, 1)
        if n >= least:
            check_equal(lowered.module()(x), torch.nn.functional.silu(x.squeeze()))
        else:
            with pytest.raises(RuntimeError, match=r"Guard failed: x.size\(\)\[0\] >= 2|<= s77 is required"):
                lowered.module()(x)
    assert ("squeeze.dims" in names(lowered)) == (least >= 2)


def test_decompositions_that_hold_for_every_size_have_no_guard():
    symbol = w.symbol("s77")
    x = w.meta("float32", [symbol, 3])
    x["sizes"][0]["as_expr"]["hint"] = {"as_int": 5}
    nodes = [w.aten("silu.default", "y", "x"), w.aten("layer_norm.default", "z", "y", [3])]
    text = w.model({"x": x}, nodes, ["z"], ranges={"s77": {"min_val": 2, "max_val": None}}, values={"y": x, "z": x})
    lowered = reload(load(io.BytesIO(w.archive(text))).run_decompositions())
    assert not names(lowered) & {"_assert_scalar.default", "silu.default"}
    for n in (1, 2, 7):
        x = torch.randn(n, 3)
        check_equal(lowered.module()(x), torch.nn.functional.layer_norm(torch.nn.functional.silu(x), [3]))
