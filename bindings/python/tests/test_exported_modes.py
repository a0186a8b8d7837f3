"""Modules of programs call the operators of their graph for modes and subclasses of Tensor, as PyTorch's do, with the results of a plain
call."""

import copy
import inspect
import io
import pickle
import zipfile

import exported_writer as w
import pytest
from evaluated_programs import bits
from exported_models import MODELS
from test_export_control_flow import FUNCTIONS, Module

import libtensor as torch
from libtensor import nn
from libtensor.export import ConstantArgument, Dim, export, load
from libtensor.fx.experimental.proxy_tensor import make_fx
from libtensor.overrides import TorchFunctionMode
from libtensor.utils._python_dispatch import TorchDispatchMode
from libtensor.utils.flop_counter import FlopCounterMode

pytree = torch.utils._pytree
ROWS = torch.arange(12.0).reshape(4, 3).sin()


def make_program(name):
    """Returns what export takes for a program, by name."""
    return MODELS[name]() if name in MODELS else (Module(FLOWS[name]), (ROWS,), {}, None)


FLOWS = {f"control flow: {name}": function for name, function in FUNCTIONS.items()}
PROGRAMS = [*MODELS, *FLOWS]


@pytest.fixture(scope="module")
def exported():
    """Returns a function that exports a program once, and returns it with its arguments."""
    made = {}

    def find(name):
        if name not in made:
            module, args, kwargs, shapes = make_program(name)
            made[name] = export(module, args, kwargs, dynamic_shapes=shapes), args, kwargs, shapes
        return made[name]

    return find


pytestmark = pytest.mark.keeps_memory  # the programs of the fixture


def clone(tree):
    return pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class FunctionLog(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    """A tensor that wraps another one; so do the results that are computed from it."""

    seen = []

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        wrapped = {}

        def unwrap(value):
            if isinstance(value, Wrapper):
                wrapped[id(value.inner)] = value
                return value.inner
            return value

        made = func(*pytree.tree_map(unwrap, args), **pytree.tree_map(unwrap, kwargs or {}))
        return pytree.tree_map(lambda x: wrapped.get(id(x), cls(x)) if isinstance(x, torch.Tensor) else x, made)


class Logging(torch.Tensor):
    """A tensor whose class receives calls."""

    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_function__(func, types, args, kwargs or {})


def unwrap_all(tree):
    return [x.inner if isinstance(x, Wrapper) else x for x in pytree.tree_leaves(tree)]


def run_plainly(program, args, kwargs):
    """Returns the bits of the results of a plain call, and of the state and the inputs after it."""
    module, given = program_copy(program), clone((args, kwargs))
    with torch.no_grad():
        found = module(*given[0], **given[1])
    return list(map(bits, pytree.tree_leaves(found))), list(map(bits, [*module.state_dict().values(), *pytree.tree_leaves(given)]))


def program_copy(program):
    """Returns the module of a copy of a program, with tensors that the program does not share."""
    return copy.deepcopy(program).module()


MODES = {"dispatch": [Log], "function": [FunctionLog], "both": [Log, FunctionLog], "two": [Log, Log]}


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_receive_the_operators(exported, name, modes):
    program, args, kwargs, _ = exported(name)
    expected = run_plainly(program, args, kwargs)
    module, given = program_copy(program), clone((args, kwargs))
    active = [mode() for mode in MODES[modes]]
    with torch.no_grad():
        for mode in active:
            mode.__enter__()
        try:
            found = module(*given[0], **given[1])
        finally:
            for mode in reversed(active):
                mode.__exit__(None, None, None)
    assert (
        list(map(bits, pytree.tree_leaves(found))),
        list(map(bits, [*module.state_dict().values(), *pytree.tree_leaves(given)])),
    ) == expected
    targets = {target.removeprefix("torch.ops.") for target in program.operators if target.startswith("torch.ops.aten.")}
    assert all(mode.seen for mode in active)
    if modes == "function" and name in MODELS:  # which receives the operators of the graph themselves
        assert {x for x in targets if "sym_" not in x} <= set(active[0].seen)


@pytest.mark.parametrize("kind", [Wrapper, Logging])
@pytest.mark.parametrize("name", PROGRAMS)
def test_subclasses_receive_the_operators(exported, name, kind):
    program, args, kwargs, _ = exported(name)
    expected = run_plainly(program, args, kwargs)
    module, given = program_copy(program), clone((args, kwargs))

    def convert(x):
        return x if not isinstance(x, torch.Tensor) else Wrapper(x) if kind is Wrapper else x.as_subclass(Logging)

    converted = pytree.tree_map(convert, given)
    kind.seen.clear()
    with torch.no_grad():
        found = pytree.tree_leaves(module(*converted[0], **converted[1]))
    assert kind.seen and any(isinstance(x, kind) for x in found)
    if kind is Wrapper:
        found, given = unwrap_all(found), unwrap_all(converted)
    assert list(map(bits, found)) == expected[0]
    assert list(map(bits, [*module.state_dict().values(), *pytree.tree_leaves(given)])) == expected[1]


class Around(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.inner = module

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compose(exported, name):
    program, args, kwargs, shapes = exported(name)
    again = export(Around(program_copy(program)), args, kwargs, dynamic_shapes=None if shapes is None else (shapes,))
    assert again.operators == program.operators
    assert run_plainly(again, args, kwargs) == run_plainly(program, args, kwargs)


CHANGED = {"buffers", "training_batch_norm", "written_input"}  # programs that write to inputs or buffers


@pytest.mark.parametrize("name", [name for name in MODELS if name not in CHANGED])
def test_make_fx_records_the_operators(exported, name):
    program, args, kwargs, _ = exported(name)
    module = program.module()
    leaves, spec = pytree.tree_flatten((args, kwargs))
    at = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

    def function(*tensors):
        given = dict(zip(at, tensors, strict=True))
        args, kwargs = pytree.tree_unflatten([given.get(i, x) for i, x in enumerate(leaves)], spec)
        return [x for x in pytree.tree_leaves(module(*args, **kwargs)) if isinstance(x, torch.Tensor)]

    tensors = [leaves[i] for i in at]
    with torch.no_grad():
        graph = make_fx(function)(*tensors)
        other = [x * 0.5 if x.is_floating_point() else x for x in tensors]
        assert list(map(bits, graph(*other))) == list(map(bits, function(*other)))


def test_gradients_are_those_of_a_plain_call():
    module = export(nn.Sequential(nn.Linear(3, 4), nn.Tanh()), (ROWS,)).module()
    module(ROWS).sum().backward()
    expected = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    with Log():
        made = module(ROWS)
    made.sum().backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(module.parameters(), expected, strict=True))


def test_flops_and_parameters_of_a_subclass():
    module = export(nn.Linear(3, 3), (torch.ones(2, 3),)).module()
    with FlopCounterMode(display=False) as counter:
        module(torch.ones(2, 3))
    assert counter.get_total_flops() == 36  # as in PyTorch
    weight = Wrapper(module.weight.detach() * 2)
    made = torch.func.functional_call(module, {"weight": weight}, (torch.ones(2, 3),))
    assert torch.equal(made.inner, nn.functional.linear(torch.ones(2, 3), weight.inner, module.bias))


class Single(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.inner = module

    def forward(self, x):
        return self.inner(x)


def test_symbolic_trace_records_the_operators_of_a_module_in_a_module():
    module = export(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), (ROWS,)).module()
    traced = torch.fx.symbolic_trace(Single(module))
    assert [str(n.target) for n in traced.graph.nodes if n.op == "call_function"] == ["aten.linear.default", "aten.relu.default"]
    assert torch.equal(traced(ROWS), module(ROWS))


def test_variable_sizes_stay_variable_in_a_program_of_a_program():
    class Sizes(nn.Module):
        def forward(self, x):
            return x.view(x.shape[0] * 2, -1).sum(1), x.shape[0] + 1

    rows = {"x": {0: Dim("rows", min=2)}}
    inner = export(Sizes(), (torch.ones(3, 4),), dynamic_shapes=rows).module()
    again = export(inner, (torch.ones(3, 4),), dynamic_shapes=rows).module()
    assert again(torch.ones(7, 4))[1] == 8 and again(torch.ones(7, 4))[0].tolist() == [2.0] * 14
    static = export(nn.Linear(3, 3), (torch.ones(2, 3),)).module()
    with pytest.raises(RuntimeError, match=r"other variable sizes.*is float32\[3, 3\], where size 2 of dimension 0 is required"):
        export(static, (torch.ones(2, 3),), dynamic_shapes={"input": {0: Dim("rows")}})


@pytest.mark.parametrize("around", [Log, FunctionLog])
def test_arguments_are_checked(around):
    x, guard = w.meta("float32", [w.symbol("s0"), 2]), "(L['x'].size()[0] % 2) == 0"
    guarded = w.model({"x": x}, [w.aten("relu.default", "y", "x")], ["y"], guards=[guard])
    module, constant = load(io.BytesIO(w.archive(guarded))).module(), export(torch.add, (torch.ones(2), 2.0)).module()
    for call, fact in [
        (lambda: module(torch.ones(2)), r"input 0 \('x'\) is float32\[2\]"),
        (lambda: module(torch.ones(2, 2, dtype=torch.float64)), r"input 0 \('x'\) is float64\[2, 2\]"),
        (lambda: module(torch.ones(3, 2)), r"Guard failed: \(L\['x'\].size\(\)\[0\] % 2\) == 0"),
        (lambda: constant(torch.ones(2), 3.0), "exported for the float 2"),
    ]:
        with pytest.raises(RuntimeError, match=fact) as plain:
            call()
        with around(), pytest.raises(RuntimeError) as found:
            call()
        assert str(found.value) == str(plain.value)


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(3.0))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.scale * x.sin(), lambda x: x.cos(), (x,))


@pytest.mark.parametrize("path", ["module", "file"])
def test_conditions_are_batched_inside_vmap(path):
    program = export(Branch(), (torch.ones(2),))
    if path == "file":
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        program = load(file)
    module = program.module()
    x = torch.tensor([[1.0, 2], [-1, -2], [3, -1]])
    expected = torch.stack([module(row) for row in x])
    assert torch.func.vmap(module)(x).equal(expected)
    slopes = torch.func.vmap(torch.func.grad(lambda row: module(row).sum()))(x)
    assert slopes.equal(torch.stack([torch.func.grad(lambda row: module(row).sum())(row) for row in x]))


def test_modules_are_copied_but_not_pickled():
    module = export(nn.Linear(2, 2), (torch.ones(1, 2),)).module()
    for owner in (module, nn.Sequential(module)):
        with pytest.raises(TypeError, match="cannot be pickled; torch.export.save"):
            pickle.dumps(owner)
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.weight.zero_()
    assert str(inspect.signature(other.forward)) == str(inspect.signature(module.forward)) == "(input)"
    assert other(torch.ones(1, 2)).equal(other.bias[None]) and not module(torch.ones(1, 2)).equal(module.bias[None])


def test_modes_receive_the_operators_of_mapped_functions():
    nodes = [
        w.node("torch._functorch.predispatch._vmap_increment_nesting", [w.arg(None)], 3, {"as_string": "error"}),
        w.node("torch._functorch.predispatch._add_batch_dim", "a", "x", 0, 1),
        w.aten("sin.default", "b", "a"),
        w.node("torch._functorch.predispatch._remove_batch_dim", "y", "b", 1, 3, 0),
        w.node("torch._functorch.predispatch._vmap_decrement_nesting", [w.arg(None)]),
    ]
    module = load(io.BytesIO(w.archive(w.model({"x": w.meta("float32", [3, 3])}, nodes, ["y"])))).module()
    x = torch.rand(3, 3)
    with FunctionLog():
        assert torch.equal(module(x), x.sin())
    with Log() as log:
        result = module(x)
    assert log.seen == ["aten.sin.default"] and torch.equal(result, x.sin())
    assert not torch._core.modes.is_transforming() and torch.equal(module(x), x.sin())


# ------------------------------------------------------------------------------------------------------------ custom operators


@torch.library.custom_op("tests_exported_modes::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().float().numpy() ** 3).to(x.dtype)


@cube.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("tests_exported_modes::halve_", mutates_args=("x",))
def halve_(x: torch.Tensor) -> None:
    x.mul_(0.5)


LIBRARY = torch.library.Library("tests_exported_modes_library", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.define("parts(Tensor x) -> (Tensor, Tensor)")
LIBRARY.define("list(Tensor x) -> Tensor[]")
LIBRARY.impl("twice", lambda x: x + x, "CPU")
LIBRARY.impl("twice", torch.empty_like, "Meta")
LIBRARY.impl("parts", lambda x: (x * 2, x.clone()), "CompositeExplicitAutograd")
LIBRARY.impl("list", lambda x: [x * 2, x.clone()], "CompositeExplicitAutograd")
CUSTOM = {
    "custom_op": lambda x: cube(x) + 1,
    "a library": lambda x: torch.ops.tests_exported_modes_library.twice(x) + 1,
    "several results": lambda x: torch.add(*torch.ops.tests_exported_modes_library.parts(x)),
    "a list": lambda x: torch.add(*torch.ops.tests_exported_modes_library.list(x)),
    "a write": lambda x: (y := x.clone(), halve_(y), y + 1)[2],
}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_operators_reach_modes_and_subclasses(name):
    program = export(Function(CUSTOM[name]), (ROWS,))
    module, expected = program.module(), list(map(bits, pytree.tree_leaves(CUSTOM[name](ROWS))))
    custom = next(x.removeprefix("torch.ops.") for x in program.operators if "tests_exported_modes" in x)
    for mode in (Log(), FunctionLog()):
        with mode:
            found = module(ROWS)
        assert list(map(bits, pytree.tree_leaves(found))) == expected and custom in mode.seen
    assert list(map(bits, unwrap_all(module(Wrapper(ROWS))))) == expected and custom in Wrapper.seen
    again = export(Around(module), (ROWS,))
    assert again.operators == program.operators
    assert list(map(bits, pytree.tree_leaves(again.module()(ROWS)))) == expected
    graph = make_fx(lambda x: pytree.tree_leaves(module(x)))(ROWS)
    assert list(map(bits, graph(ROWS))) == expected and custom in {str(node.target) for node in graph.graph.nodes}


def test_results_of_custom_operators_have_another_dtype_under_autocast():
    class Cubes(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            return cube(self.linear(x))

    module = Cubes()
    program = export(module, (ROWS,)).module()
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            found, expected = program(ROWS), module(ROWS)
        assert found.dtype == dtype and torch.equal(found, expected)
        with torch.autocast("cpu", dtype=dtype), Log():
            found = program(ROWS)
        assert torch.equal(found, expected)


# ------------------------------------------------------------------------------------------------- what a program tells of itself


class Scaled(nn.Module):
    def forward(self, x, scale, *others, mode="sum", **rest):
        return (x * scale).sum() + others[0] + rest["more"]["q"]


class Product(nn.Module):
    def forward(self, x, scale):
        return x * scale


def test_the_signature_is_that_of_the_exported_function():
    x = torch.ones(3)
    program = export(Scaled(), (x, 2.0, x), {"mode": "sum", "more": {"p": x, "q": x}})
    file = io.BytesIO()
    torch.export.save(program, file)
    for module in (program.module(), load(io.BytesIO(file.getvalue())).module(), copy.deepcopy(program.module())):
        assert list(inspect.signature(module.forward).parameters) == ["x", "scale", "others_0", "mode", "more"]
        assert module(x, 2.0, x, mode="sum", more={"q": x, "p": x}).tolist() == [8, 8, 8]
    batch = {"x": {0: Dim("batch")}, "scale": None}
    inner = export(Product(), (x, 2.0), dynamic_shapes=batch).module()
    assert export(inner, (x, 2.0), dynamic_shapes=batch).module()(torch.ones(5), 2.0).tolist() == [2.0] * 5


def test_arguments_have_the_names_of_inputs_in_files_without_names():
    text = w.model(
        {"x": w.meta("float32", [2]), "not a name": w.meta("float32", [2])}, [w.aten("add.Tensor", "y", "x", "not a name")], ["y"]
    )
    module = load(io.BytesIO(w.archive(text))).module()
    assert list(inspect.signature(module.forward).parameters) == ["args", "kwargs"] and module(torch.ones(2), torch.ones(2)).tolist() == [
        2,
        2,
    ]
    text = w.model({"x": w.meta("float32", [2]), "z": w.meta("float32", [2])}, [w.aten("add.Tensor", "y", "x", "z")], ["y"])
    assert list(inspect.signature(load(io.BytesIO(w.archive(text))).module().forward).parameters) == ["x", "z"]


def test_constants_have_names():
    program = export(Product(), (torch.ones(3), 2.0))
    signature = program.graph_signature
    assert signature.input_specs[1].arg == ConstantArgument("scale", 2.0) and signature.user_inputs == ("x", 2.0)
    assert "\nscale: USER_INPUT\n" in str(program) and 'def forward(self, x: "f32[3]", scale):' in str(program)
    assert signature.backward_signature is None


def test_extra_files(tmp_path):
    program, extra = export(nn.Linear(2, 1), (torch.ones(1, 2),)), {"note.txt": "hell\u00e9", "folder/b": ""}
    torch.export.save(program, tmp_path / "m.pt2", extra_files=extra)
    found = {"note.txt": "", "other": "kept"}  # as in PyTorch, all files are read
    load(str(tmp_path / "m.pt2"), extra_files=found)
    assert found == {**extra, "other": "kept"}
    with zipfile.ZipFile(tmp_path / "m.pt2") as archive:
        assert archive.read("model/extra/note.txt").decode() == extra["note.txt"]
    for wrong in ({"a": b"bytes"}, {"": "text"}, {1: "text"}):
        with pytest.raises(TypeError, match="extra_files must have strings by name"):
            torch.export.save(program, io.BytesIO(), extra_files=wrong)
    data = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "m.pt2") as archive, zipfile.ZipFile(data, "w") as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name) if not name.endswith("note.txt") else b"\xff\xfe")
    with pytest.raises(RuntimeError, match="'extra/note.txt' is not a string in UTF-8"):
        load(io.BytesIO(data.getvalue()), extra_files={})
    load(io.BytesIO(data.getvalue()))


class Assigned(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.register_buffer("m", torch.ones(3))
        self.change = change

    def forward(self, x):
        return self.change(self, x)


def assign(module, x, make):
    """Assigns a new tensor to the buffer, and returns a tensor of the former one."""
    module.m.copy_(x)
    before = make(module.m)
    module.m = module.m * 2
    return before


def test_outputs_that_share_memory_with_assigned_buffers():
    for make in (lambda m: m, lambda m: m[1:], lambda m: m.view(3, 1)):
        with pytest.raises(
            NotImplementedError, match="output 0 shares memory with the buffer m, to which the module assigns another tensor.*clone"
        ):
            export(Assigned(lambda module, x, make=make: assign(module, x, make)), (torch.full((3,), 3.0),))
    program = export(Assigned(lambda module, x: assign(module, x, torch.clone)), (torch.full((3,), 3.0),)).module()
    assert program(torch.full((3,), 5.0)).tolist() == [5.0] * 3 and program.m.tolist() == [10.0] * 3
