"""torch.export.export and save: results, weights, variable sizes, structures and errors of recorded programs."""

import gc
import io
import json
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from random import Random

import numpy as np
import pytest
from exported_models import MODELS, flat, text_of

import libtensor as torch
from libtensor import nn
from libtensor._base.library import live_handles
from libtensor.export import Dim, ShapesCollection, export, load, save

F = nn.functional
RECORDED = json.loads((Path(__file__).parent / "exported_programs.json").read_text())


def saved(program):
    file = io.BytesIO()
    save(program, file)
    return load(io.BytesIO(file.getvalue()))


def assert_same(found, expected):
    for a, b in zip(flat(found), flat(expected), strict=True):
        if isinstance(b, torch.Tensor):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True)
        else:
            assert type(a) is type(b) and a == b


@pytest.mark.parametrize("name", MODELS)
def test_a_program_returns_what_the_module_returns(name):
    module, args, kwargs, shapes = MODELS[name]()
    state = {k: v.clone() for k, v in module.state_dict().items()}
    inputs = [x.clone() if isinstance(x, torch.Tensor) else x for x in flat((args, kwargs))]
    program = export(module, args, kwargs, dynamic_shapes=shapes)
    assert all(torch.equal(state[k], v) for k, v in module.state_dict().items())  # export changes neither the module
    assert all(
        torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b for a, b in zip(inputs, flat((args, kwargs)), strict=True)
    )  # nor inputs
    assert text_of(program) == RECORDED[name], "PyTorch 2.15 has loaded the recorded programs: run exported_models.py and check them again"
    found = saved(program).module()(*copied(args), **copied(kwargs))
    with torch.no_grad():
        assert_same(found, module(*copied(args), **copied(kwargs)))


def copied(tree):
    return torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


FUNCTIONS = {
    "reshape by sizes": lambda x: x.reshape(x.size(0) * 2, -1),
    "view by a size": lambda x: x.view(x.shape[0], 2, 2),
    "flatten": lambda x: x.flatten(),
    "arange": lambda x: torch.arange(x.size(0)) / x.size(0),
    "slice": lambda x: x[: x.size(0) - 1],
    "half": lambda x: x.new_zeros(x.size(0) // 2, x.size(0) + 1),
    "expand": lambda x: x.expand(3, x.size(0), 4).sum(0),
    "number": lambda x: x.size(0) * 3 + 1,
    "numel": lambda x: x.sum() / x.numel(),
    "square": lambda x: torch.ones(x.size(0), x.size(0)).tril() @ x,
    "split": lambda x: x.split([1, x.size(0) - 1]),
    "repeat": lambda x: x.repeat(x.size(0), 1),
    "pad": lambda x: F.pad(x, (0, 0, 0, x.size(0))),
    "pooled": lambda x: F.max_pool1d(x.t(), 2).reshape(-1, F.max_pool1d(x.t(), 2).size(-1)),
    "index": lambda x: x[torch.arange(x.size(0)) // 2],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_follow_variable_sizes(name):
    function = FUNCTIONS[name]
    program = saved(export(function, (torch.randn(6, 4),), dynamic_shapes=({0: Dim("n", min=2)},)))
    for n in (2, 3, 4, 6, 9, 12, 25):
        x = torch.randn(n, 4)
        assert_same(program.module()(x), function(x))


def test_two_sizes_are_independent():
    function = lambda a, b: (a @ b, (a.size(0) * b.size(1),), (a @ b).flatten())  # noqa: E731
    n, k, m = torch.export.dims("n", "k", "m")
    program = export(function, (torch.ones(3, 3), torch.ones(3, 3)), dynamic_shapes=({0: n, 1: k}, {0: k, 1: m}))
    for sizes in ((1, 2, 5), (4, 1, 2), (7, 7, 1)):
        a, b = torch.randn(*sizes[:2]), torch.randn(*sizes[1:])
        assert_same(program.module()(a, b), function(a, b))
    with pytest.raises(RuntimeError, match="s1|size"):
        program.module()(torch.ones(2, 3), torch.ones(4, 2))


def test_bounds_of_a_dim_hold_for_inputs():
    program = export(torch.relu, (torch.ones(3),), dynamic_shapes=({0: Dim("n", min=2, max=5)},))
    assert program.range_constraints == {"s0": (2, 5)}
    assert program.module()(torch.ones(5)).shape == (5,)
    for n in (1, 6):
        with pytest.raises(RuntimeError, match=rf"\[{n}\].*2 <= s0 <= 5"):
            program.module()(torch.ones(n))


def test_derived_dims():
    n = Dim("n", max=10)
    program = export(lambda x, y: x.sum() + y.sum(), (torch.ones(3), torch.ones(7)), dynamic_shapes=({0: n}, {0: 2 * n + 1}))
    assert program.module()(torch.ones(4), torch.ones(9)).item() == 13
    with pytest.raises(ValueError, match=r"y.shape\[0\] is 6, but 2\*n \+ 1 is not 6 for any integer n; use another sample"):
        export(lambda x, y: x.sum() + y.sum(), (torch.ones(3), torch.ones(6)), dynamic_shapes=({0: n}, {0: 2 * n + 1}))
    with pytest.raises(
        ValueError, match=r"y.shape\[0\] is 23, outside Dim\('2\*n \+ 1', min=1, max=21\); widen the Dim or use another sample"
    ):
        export(lambda x, y: x.sum() + y.sum(), (torch.ones(3), torch.ones(23)), dynamic_shapes=({0: n}, {0: 2 * n + 1}))


def test_auto_sizes_that_must_be_equal_are_one_symbol():
    program = export(lambda x, y: x + y, (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
    assert program.module()(torch.ones(5), torch.ones(5)).tolist() == [2] * 5
    static = export(lambda x: x.reshape(3, 2), (torch.ones(6),), dynamic_shapes=({0: Dim.AUTO},))
    assert static.range_constraints == {}
    with pytest.raises(RuntimeError, match="fails for other variable sizes"):
        export(lambda x: x.reshape(3, 2), (torch.ones(6),), dynamic_shapes=({0: Dim.DYNAMIC},))


@pytest.mark.parametrize(
    "shapes",
    [
        {"x": {0: Dim("n")}, "y": None},
        {"x": [Dim("n"), None]},
        ({0: Dim("n")}, None),
        [(Dim("n"), 4), None],
        {"x": {0: Dim("n"), 1: Dim.STATIC}},
    ],
)
def test_notations_of_dynamic_shapes(shapes):
    def function(x, y):
        return x.sum(0) + y

    program = export(function, (torch.ones(3, 4), torch.ones(4)), dynamic_shapes=shapes)
    assert program.module()(torch.ones(5, 4), torch.ones(4)).tolist() == [6] * 4


def test_shapes_of_nested_arguments():
    n, tree = Dim("n"), {"a": [torch.ones(3), torch.ones(2)], "b": (torch.ones(3),)}
    function = lambda d, k: d["a"][0] + d["b"][0] * k  # noqa: E731
    program = export(function, (tree,), {"k": torch.ones(1)}, dynamic_shapes={"d": {"a": [{0: n}, None], "b": ({0: n},)}, "k": None})
    assert program.module()({"a": [torch.ones(5), torch.ones(2)], "b": (torch.ones(5),)}, k=torch.ones(1)).tolist() == [2] * 5
    shapes = ShapesCollection()
    shapes[tree["a"][0]], shapes[tree["b"][0]] = {0: n}, {0: n}
    assert export(function, (tree,), {"k": torch.ones(1)}, dynamic_shapes=shapes).range_constraints == {"s0": (0, None)}


@pytest.mark.parametrize(
    "shapes, fact",
    [
        (({0: Dim("n")},), r"has 1 items, but there are 2 arguments: x, y"),
        ({"z": None}, r"names 'z', but the arguments are x, y"),
        ({"x": {2: Dim("n")}}, r"names dimension 2, but the tensor has 2 dimensions"),
        ({"x": [Dim("n")]}, r"has 1 entries, but the tensor has 2 dimensions"),
        ({"x": {0: 5}}, r"has the size 5 for dimension 0, but the input has the size 3"),
        ({"x": {0: "n"}}, r"must have Dims, integers and None, not 'n'"),
        ({"x": {0: Dim("n")}, "y": {0: Dim("n")}}, r"requires that n is 3, as in another input"),
        ({"x": {0: Dim("n", max=2)}}, r"x.shape\[0\] is 3, outside Dim\('n', min=0, max=2\); widen the Dim or use another sample"),
        ({"x": 3}, r"must be a dict, a list, a tuple or None"),
    ],
)
def test_wrong_dynamic_shapes(shapes, fact):
    def function(x, y):
        return x.sum() + y.sum()

    with pytest.raises(ValueError, match=fact):
        export(function, (torch.ones(3, 4), torch.ones(4)), dynamic_shapes=shapes)


@pytest.mark.parametrize(
    "function, kind, fact",
    [
        (lambda x: x * 2 if x.sum() > 0 else x, RuntimeError, "value out of a tracing tensor.*; use torch.cond or torch.where"),
        (lambda x: x * x.max().item(), RuntimeError, "values of tensors"),
        (lambda x: x * 2 if x.size(0) > 4 else x + 1, NotImplementedError, "operators depend on the variable sizes"),
        (
            lambda x: x * (1 / x.size(0)),
            NotImplementedError,
            "depends on the variable sizes: .*; make the size static, or compute with the size itself",
        ),
        (
            lambda x: torch.cat([x] * x.size(0)),
            RuntimeError,
            r"Constraints violated .* test_export.py:\d+ passes it to a function or an index",
        ),
        (lambda x: {1, 2}, NotImplementedError, "output 0 is a set"),
    ],
)
def test_functions_that_no_graph_describes(function, kind, fact):
    gc.collect()
    handles = live_handles()
    with pytest.raises(kind, match=fact):
        export(function, (torch.ones(4),), dynamic_shapes=({0: Dim("n")},))
    gc.collect()
    assert live_handles() == handles


@pytest.mark.parametrize(
    "call, kind, fact",
    [
        (lambda: export(3, ()), TypeError, "mod must be a module or a function, not int"),
        (lambda: export(torch.relu, torch.ones(2)), TypeError, "args must be a tuple of sample inputs, not Tensor"),
        (lambda: export(lambda x: x, (1, 2)), TypeError, "args has 2 items, but the function takes 1"),
        (lambda: export(lambda x: x, (object(),)), TypeError, "one is a object"),
        (lambda: save(3, io.BytesIO()), TypeError, "'ExportedProgram', got 'int'"),
        (lambda: save(export(torch.relu, (torch.ones(2),)), io.BytesIO(), extra_files={"a": b"b"}), TypeError, "extra_files"),
    ],
)
def test_wrong_arguments(call, kind, fact):
    with pytest.raises(kind, match=fact):
        call()


def test_weights_are_copies_with_their_names(tmp_path):
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    program = export(module, (torch.ones(4, 2),))
    assert program.state_dict.keys() == module.state_dict().keys()
    module[0].weight.data.zero_()
    assert program.state_dict["0.weight"].abs().sum() > 0
    program.state_dict["0.bias"].detach().fill_(7)  # saved with the program
    save(program, tmp_path / "m.pt2")
    assert load(tmp_path / "m.pt2").state_dict["0.bias"].tolist() == [7] * 3
    assert load(str(tmp_path / "m.pt2")).graph_signature.parameters == ("0.weight", "0.bias", "1.weight", "1.bias")


def test_tied_weights_are_stored_once():
    module = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
    module[1].weight = module[0].weight
    tied, file = export(module, (torch.ones(1, 64),)), io.BytesIO()
    save(tied, file)
    assert len(file.getvalue()) < 2 * 64 * 64 * 4
    again = load(io.BytesIO(file.getvalue()))
    again.state_dict["0.weight"].detach().zero_()
    assert again.state_dict["1.weight"].abs().sum() == 0


def test_a_module_under_two_names_keeps_its_weights():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = nn.Linear(2, 2, bias=False)
            self.body = nn.Sequential(self.shared)

        def forward(self, x):
            return self.body(x)

    program = export(Module(), (torch.ones(1, 2),))
    run = program.module()
    run.load_state_dict({name: torch.ones(2, 2) for name in run.state_dict()})
    assert [run(torch.ones(1, 2)).tolist() for _ in range(2)] == [[[2, 2]]] * 2
    assert program.run_decompositions().graph_signature.parameters_to_mutate == {}


def test_a_program_writes_to_its_buffers_as_the_module_does():
    module = nn.BatchNorm1d(2).train()
    program, x = export(module, (torch.ones(3, 2),)), torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    assert module.running_mean.tolist() == [0, 0] and module.num_batches_tracked == 0
    program = export(module, (x,))
    run = program.module()
    assert_same(run(x), module(x))
    assert_same(program.state_dict["running_mean"], module.running_mean)
    assert program.state_dict["num_batches_tracked"] == 1


def test_tensors_of_a_closure_and_attributes_are_constants():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = torch.tensor([1.0, 2.0])

        def forward(self, x):
            return x * outer + self.shift + self.shift

    outer = torch.tensor([3.0, 4.0])
    program = export(Module(), (torch.ones(2),))
    assert {k: v.tolist() for k, v in program.constants.items()} == {"lifted_tensor_0": [3, 4], "shift": [1, 2]}
    assert saved(program).module()(torch.ones(2)).tolist() == [5, 8]


def test_random_numbers_are_drawn_by_each_run_and_not_by_export():
    torch.manual_seed(3)
    program = export(lambda x: F.dropout(x, 0.5), (torch.ones(100),))
    torch.manual_seed(3)
    first = program.module()(torch.ones(100))
    assert not torch.equal(first, program.module()(torch.ones(100)))
    torch.manual_seed(3)
    export(lambda x: F.dropout(x, 0.5), (torch.ones(100),))
    assert torch.equal(program.module()(torch.ones(100)), first)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, out: torch.add(x, 1, out=out),
        lambda x, out: torch.matmul(x, torch.eye(3), out=out),
        lambda x, out: torch.softmax(x, 0, out=out),
        lambda x, out: torch.ops.aten.add.out(x, x, out=out),
        lambda x, out: torch.max(torch.stack([x, -x]), 0, out=(out, torch.zeros(2, 3, dtype=torch.int64))),
    ],
)
def test_results_are_written_to_out(write):
    def function(x, sizes=(2, 3)):
        out = torch.zeros(sizes)
        write(x, out)
        return out * 2

    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    x = torch.arange(6.0).reshape(2, 3) / 7
    program = torch.export.export(Model(), (torch.zeros(2, 3),))
    assert torch.equal(program.module()(x), function(x)) and torch.equal(program.run_decompositions().module()(x), function(x))
    assert "torch.ops.aten.copy_.default" not in program.operators
    Model.forward = lambda self, x: function(x, (0,))
    with pytest.raises(NotImplementedError, match=r"`out` has the shape \[0\], but the result \[2, 3\]"):
        torch.export.export(Model(), (x,))


def test_sample_inputs_are_kept():
    program = saved(export(lambda x, k: x + k, (torch.ones(2), 3)))
    args, kwargs = program.example_inputs
    assert args[0].tolist() == [1, 1] and args[1] == 3 and kwargs == {}


def test_a_module_that_is_exporting_can_ask():
    seen = []
    export(lambda x: (seen.append((torch.compiler.is_exporting(), torch.compiler.is_compiling())), x)[1], (torch.ones(2),))
    assert set(seen) == {(True, True)} and not torch.compiler.is_exporting()


def test_exported_files_run_on_the_command_line(tmp_path):
    save(export(nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("n")},)), tmp_path / "m.pt2")
    torch.save_npy(torch.ones(5, 2), tmp_path / "x.npy")
    command = [
        sys.executable,
        "-m",
        "libtensor.export",
        "run",
        tmp_path / "m.pt2",
        "--input",
        tmp_path / "x.npy",
        "--output",
        tmp_path / "y.npy",
    ]
    subprocess.run(command, check=True, timeout=60)
    assert np.load(tmp_path / "y.npy").shape == (5, 1)


def test_buffers_that_are_not_persistent_are_constants(tmp_path):
    class Shifted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(2))
            self.register_buffer("temporary", torch.full((2,), 2.0), persistent=False)

        def forward(self, x):
            return x + self.kept + self.temporary

    torch.export.save(torch.export.export(Shifted(), (torch.zeros(2),)), tmp_path / "m.pt2")
    program = torch.export.load(tmp_path / "m.pt2")
    assert list(program.state_dict) == ["kept"] and list(program.constants) == ["temporary"]
    assert list(program.module().state_dict()) == ["kept"]
    assert [name for name, _ in program.module().named_buffers()] == ["kept", "temporary"]
    assert program.module()(torch.zeros(2)).tolist() == [3, 3]


BATCH = Dim("batch")


@pytest.mark.parametrize(
    "shapes, count",
    [
        (({0: BATCH},), 1),
        ((({0: BATCH},),), 1),
        ({"a": ({0: BATCH},)}, 1),
        ({"a_0": {0: BATCH}}, 1),
        ((({0: BATCH}, {0: BATCH}),), 2),
        (({0: BATCH}, {0: BATCH}), 2),
        ({"a": [{0: BATCH}, {0: BATCH}]}, 2),
    ],
)
def test_shapes_of_variable_arguments(shapes, count):
    program = export(lambda *a: sum(a), (torch.ones(3),) * count, dynamic_shapes=shapes)
    assert program.module()(*[torch.ones(5)] * count).tolist() == [count] * 5
    with pytest.raises(ValueError, match=r"of \*a must be a tuple of 2 entries"):
        export(lambda *a: sum(a), (torch.ones(3),) * 2, dynamic_shapes={"a": ({0: BATCH},)})


def test_hints_have_bounds():
    program = export(torch.relu, (torch.ones(3),), dynamic_shapes=({0: Dim.AUTO(min=2, max=9)},))
    assert program.range_constraints == {"s0": (2, 9)} and repr(Dim.AUTO(min=2)) == "Dim.AUTO(min=2)"
    with pytest.raises(ValueError, match=r"input.shape\[0\] is 3, outside Dim.DYNAMIC\(min=4\); widen"):
        export(torch.relu, (torch.ones(3),), dynamic_shapes=({0: Dim.DYNAMIC(min=4)},))


@pytest.mark.parametrize(
    "args, kwargs, fact",
    [
        (("x", {"a": "x"}), {}, r"Got the following keywords \[\] but expected \['y'\]"),
        (("x", {"a": "x"}), {"z": "x"}, r"keywords \['z'\] but expected \['y'\]"),
        (("x", {"a": "x"}, "x"), {}, r"Ran into a kwarg keyword mismatch: Got the following keywords \[\] but expected \['y'\]$"),
        ((), {"x": "x", "y": "x"}, r"Got the following keywords \['x', 'y'\] but expected \['y'\]; the program takes x by position"),
        (("x",), {"y": "x"}, r"takes 2 positional arguments \(x, d_a\), but 1 were given"),
        (("x", {"b": "x"}), {"y": "x"}, r"(?s)tree spec of: .*Positional argument 1 has the structure .*'b'.* exported with .*'a'"),
        (("x", {}), {"y": "x"}, r"(?s)tree spec of: .*Positional argument 1 has the structure .* exported with .*'a'"),
        (
            ("x", {"b": "x", "a": "x"}),
            {"y": "x"},
            r"(?s)tree spec of: .*Positional argument 1 has the structure .*'b'.* exported with .*'a'",
        ),
        (("x", {"a": ("x",)}), {"y": "x"}, r"(?s)tree spec of: .*Positional argument 1 has the structure .*tuple"),
        (("x", OrderedDict(a="x")), {"y": "x"}, r"(?s)tree spec of: .*Positional argument 1 has the structure .*OrderedDict"),
        (("x", {"a": "x"}), {"y": ["x"]}, r"The argument 'y' has the structure .*list"),
    ],
)
def test_wrong_arguments_of_a_program(args, kwargs, fact):
    program = export(lambda x, d, *, y: x + d["a"] + y, (torch.ones(2), {"a": torch.ones(2)}), {"y": torch.ones(2)})
    args, kwargs = torch.utils._pytree.tree_map(lambda _: torch.ones(2), (args, kwargs))
    with pytest.raises(ValueError, match=fact):
        program.module()(*args, **kwargs)


def reorder(value, random):
    """Returns nested lists, tuples and dicts with the keys of each dict in a random order."""
    if isinstance(value, dict):
        return {key: reorder(value[key], random) for key in random.sample(list(value), len(value))}
    return type(value)(reorder(x, random) for x in value) if isinstance(value, list | tuple) else value


def combine(d, more, *, extra):
    x, (y, z) = d["x"], d["pair"]
    return x + 10 * y["a"] + 100 * y["b"] + 1000 * z + 10000 * more[0][1] + 100000 * more[0][2] + 1000000 * extra["u"] * extra["v"]


@pytest.mark.parametrize("seed", range(20))
def test_keys_of_dicts_can_be_in_any_order(seed):
    one = torch.tensor
    args = ({"x": one(1.0), "pair": ({"a": one(2.0), "b": one(3.0)}, one(4.0))}, [{1: one(5.0), 2: one(6.0)}])
    kwargs = {"extra": {"u": one(7.0), "v": 1}}
    program, random = export(combine, args, kwargs), Random(seed)
    shuffled = reorder(args, random), reorder(kwargs, random)
    assert program.module()(*shuffled[0], **shuffled[1]).item() == combine(*args, **kwargs).item() == 7654321
    damaged = reorder(args, random)
    damaged[0]["pair"][0]["c"] = damaged[0]["pair"][0].pop(random.choice("ab"))
    with pytest.raises(ValueError, match="(?s)Positional argument 0 has the structure"):
        program.module()(*damaged, **kwargs)


def test_keys_of_ordered_dicts_are_in_the_order_of_the_export():
    values = OrderedDict(a=torch.ones(2), b=torch.zeros(2))
    module = export(lambda d: torch.stack(list(d.values())), (values,)).module()
    assert module(values).tolist() == [[1, 1], [0, 0]]
    with pytest.raises(ValueError, match="(?s)Positional argument 0 has the structure .*OrderedDict"):
        module(OrderedDict(reversed(values.items())))


def test_constant_inputs_are_shown_by_name():
    shown = str(export(lambda x, k, mode=None: x + k, (torch.ones(2), 3, "sum")))
    assert 'def forward(self, x: "f32[2]", k, mode):' in shown and "mode: USER_INPUT" in shown


library = torch.library.Library("tests_export", "FRAGMENT")
library.define("parts(Tensor x, *, float scale=2.0, int[] dims=[]) -> (Tensor, Tensor[])")
library.impl("parts", lambda x, scale=2.0, dims=(): (x + 1, [x * scale, x.permute(*dims).clone()]), "CPU")
library.impl("parts", lambda x, scale=2.0, dims=(): (x + 1, [x * scale, x.permute(*dims).clone()]), "Meta")


@pytest.mark.parametrize(
    "take", [lambda made: made, lambda made: made[1][1] + 1, lambda made: (made[0], made[1][0])], ids=["all", "one", "some"]
)
def test_results_of_custom_operators_are_lists_in_tuples(take, tmp_path):
    x = torch.rand(2, 3)
    program = export(lambda x: take(torch.ops.tests_export.parts(x, scale=3.0, dims=[1, 0])), (x,), dynamic_shapes=({0: Dim("n")},))
    expected = torch.utils._pytree.tree_leaves(take((x + 1, [x * 3, x.t()])))
    save(program, tmp_path / "m.pt2")
    for each in (program, program.run_decompositions(), load(tmp_path / "m.pt2")):
        found = torch.utils._pytree.tree_leaves(each.module()(x))
        assert all(a is b or torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        assert 5 in torch.utils._pytree.tree_leaves(each.module()(torch.ones(5, 3)))[0].shape
