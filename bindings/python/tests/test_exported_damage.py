"""Damaged exported programs: every use in Python raises a RuntimeError, in a second."""

import io
import json
import pathlib
import random
import subprocess
import sys
import zipfile

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import Dim, export, load, save

S0 = w.symbol("s0")


def walk(value, path=()):
    """Yields the keys of all values in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from walk(item, (*path, key))


def make_program():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x, mode="sum"):
            self.count += 1
            return torch.nn.functional.silu(self.linear(x)).sum(0), x.shape[0] * 2

    return export(Model(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n", min=2, max=64)},))


def use(data):
    """Uses a program; returns the errors."""
    program = load(io.BytesIO(data))
    uses = [str, lambda p: p.graph_signature, lambda p: p.range_constraints, lambda p: p.operators, lambda p: p.state_dict]
    uses += [lambda p: p.module(), lambda p: p.run_decompositions(), lambda p: p.run_decompositions({}), lambda p: save(p, io.BytesIO())]
    errors = []
    for function in uses:
        try:
            function(program)
        except RuntimeError as error:
            assert not isinstance(error, RecursionError)
            errors.append(error)
    return errors


def replace(data, change):
    """Returns an archive after `change(model)`, which can return bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if "/models/" in name:
                model = json.loads(content)
                made = change(model)
                content = made if isinstance(made, bytes) else json.dumps(model).encode()
            after.writestr(name, content)
    return out.getvalue()


def flip_bits(data, name, seed):
    """Returns an archive with changed bits of a record."""
    rng, out = random.Random(seed), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for entry in before.namelist():
            content = bytearray(before.read(entry))
            for _ in range(1 + seed % 8 if name in entry else 0):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            after.writestr(entry, bytes(content))
    return out.getvalue()


def find(model, path):
    for key in path:
        model = model[key]
    return model


@pytest.fixture(scope="module")
def archived():
    file = io.BytesIO()
    save(make_program(), file)
    return file.getvalue()


def test_every_field_can_be_missing_or_of_another_type(archived):
    """Each field is deleted, and replaced by values of other types: nothing but RuntimeErrors."""
    with zipfile.ZipFile(io.BytesIO(archived)) as zipped:
        model = json.loads(zipped.read(next(name for name in zipped.namelist() if "/models/" in name)))
    parts = [("graph_module",), ("range_constraints",), ("guards_code",)]
    paths = [path for part in parts if part[0] in model for path in walk(find(model, part), part)]
    assert len(paths) > 300
    rejected = 0
    for i, path in enumerate(paths):
        value = [None, 3, "x", [], {}, True, -(2**63), {"as_expr": {"expr_str": "s0"}}][i % 8]

        def change(model, path=path, value=value, deletes=i % 3 == 0):
            if deletes:
                del find(model, path[:-1])[path[-1]]
            else:
                find(model, path[:-1])[path[-1]] = value

        try:
            use(replace(archived, change))
        except RuntimeError:
            rejected += 1
    assert 0 < rejected < len(paths)


def test_errors_name_the_field(archived):
    def check(change, match):
        with pytest.raises(RuntimeError, match=match):
            load(io.BytesIO(replace(archived, change)))

    def graph(model):
        return model["graph_module"]["graph"]

    check(lambda m: graph(m).pop("tensor_values"), "load: the file is damaged: graph_module.graph.tensor_values: it is missing")
    check(lambda m: graph(m)["tensor_values"]["x"].pop("sizes"), "graph_module.graph.tensor_values.x.sizes: it is missing")
    check(lambda m: graph(m)["sym_int_values"].update(x=3), "sym_int_values.x: an object with one field is expected, not 3")
    check(lambda m: m["range_constraints"]["s0"].update(min_val=65), r"range_constraints.s0: the range from 65 to 64 is empty")
    check(lambda m: graph(m)["outputs"].pop(), "damaged: the signature has 2 outputs, but the graph 1")
    check(lambda m: json.dumps(m).replace('"dtype": 7', '"dtype": 99').encode(), "dtype 99 is unknown")
    check(lambda m: m["range_constraints"].update({"\ud800": {"min_val": 1, "max_val": 2}}), "surrogate")
    check(
        lambda m: m["graph_module"]["module_call_graph"][0]["signature"].update(in_spec=json.dumps([1, w.LEAF])),
        "the in_spec of the program",
    )


EXPRESSIONS = {
    "a tower of powers": "Pow(Integer(9), Pow(Integer(9), Integer(99999)))",
    "nested powers": "Pow(" * 30 + S0 + ", Integer(60))" * 30,
    "a large power": f"Pow({S0}, Integer(1000000000))",
    "a negative power": f"Pow({S0}, Integer(-1))",
    "a division by zero": f"FloorDiv({S0}, Integer(0))",
    "a division by a difference": f"Mod(Integer(7), Add({S0}, Mul(Integer(-1), {S0})))",
    "more than 64 bits": f"Mul({', '.join([S0] * 60)})",
    "a large integer": f"Add({S0}, Integer({10**30}))",
    "deep nesting": "Add(" * 5000 + "Integer(1)" + ")" * 5000,
    "a keyword": "Symbol('if')",
    "a function's name": "Symbol('max')",
    "no arguments": "Pow()",
    "Python": "().__class__.__base__.__subclasses__()",
    "a surrogate": "Symbol('\ud800')",
    "no expression": "s0 +",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_of_sizes(name, archived):
    def change(model):
        graph = model["graph_module"]["graph"]
        for key in ("x", "linear", "silu"):
            graph["tensor_values"][key]["sizes"][0] = {"as_expr": {"expr_str": EXPRESSIONS[name], "hint": {"as_int": 4}}}

    try:
        use(replace(archived, change))
    except RuntimeError as error:
        assert not isinstance(error, RecursionError) and "damaged" in str(error)


def test_damaged_sample_inputs(archived):
    results = []
    for seed in range(60):
        try:
            results.append(load(io.BytesIO(flip_bits(archived, "sample_inputs", seed))).example_inputs is not None)
        except RuntimeError:
            results.append(False)
    assert set(results) == {True, False}


def test_names_that_modules_cannot_have():
    for name in ("a..b", "forward", "training", "x.forward.y"):
        meta = w.meta("float32", [2])
        nodes = [w.aten("add.Tensor", "y", "x", "p")]
        text = w.model({"x": meta}, nodes, ["y"], weights=[("p", "parameter", name, meta)])
        program = load(io.BytesIO(w.archive(text, [("weight_0", bytes(8))], weights=[(name, "weight_0", meta)])))
        with pytest.raises(RuntimeError, match=f"{name!r} is not a name of a parameter"):
            program.module()


def opened(nodes, values=None):
    x = w.meta("float32", [3])
    return load(io.BytesIO(w.archive(w.model({"x": x}, nodes, ["y"], values={"y": x} if values is None else values))))


CALLS = {
    "no parameter 'k'": (
        w.aten("silu.default", "y", "x", k="x"),
        r"has the argument 'k'; the schema of the operator is aten::silu\(Tensor self\)",
    ),
    "more arguments than parameters": (w.aten("silu.default", "y", "x", "x"), "has more arguments than parameters"),
    "twice": (w.aten("silu.default", "y", "x", self="x"), "has the argument 'self' twice"),
    "no argument": (w.aten("addcmul.default", "y", "x", "x"), "has no argument 'tensor2'"),
    "results": (w.aten("silu.default", [w.tensor("y"), w.tensor("z")], "x"), "has 2 results, but the operator 1"),
    "a view of a number": (w.aten("t.default", "y", 3), "the argument 'self' of torch.ops.aten.t.default must be a tensor, but is as_int"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_no_operator_has(name):
    node, error = CALLS[name]
    with pytest.raises(RuntimeError, match=error):
        opened([node]).run_decompositions()


def test_arguments_in_another_order_are_bound_by_name():
    program = opened([w.aten("sub.Tensor", "y", other=2.0, self="x", alpha=3)])
    x = torch.tensor([1.0, 2.0, 4.0])
    assert program.run_decompositions().module()(x).tolist() == program.module()(x).tolist() == [-5, -4, -2]


def test_writes_to_tensors_without_a_description():
    nodes = [w.aten("relu.default", "a", "x"), w.aten("add_.Tensor", "y", "a", 1)]
    with pytest.raises(RuntimeError, match=r"the file has no description \(tensor_values\) of the tensor a"):
        opened(nodes, {}).run_decompositions()


def test_mutated_files_raise_runtime_errors_in_python():
    """Each use of each of 500 mutations ends in a result or a RuntimeError, in a second (exported_fuzz.py)."""
    script = pathlib.Path(__file__).with_name("exported_fuzz.py")
    done = subprocess.run([sys.executable, script, "--python", "500", "1"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'ran': 0" not in done.stdout and "'rejected': 0" not in done.stdout
