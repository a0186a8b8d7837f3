"""Errors of export and load name their cause, and programs are printed as PyTorch prints them."""

import dataclasses
import io
import json

import exported_writer as w
import numpy as np
import pytest

import libtensor as torch
from libtensor import nn
from libtensor.export import Dim, export, load, save


def test_a_number_of_dimensions_that_depends_on_a_size():
    with pytest.raises(NotImplementedError, match=r"number of dimensions of the result of aten.squeeze.dim depends .* \[3\], \[3, 2\]"):
        export(lambda x: x.squeeze(-1), (torch.ones(3, 1),), dynamic_shapes=({1: Dim("n")},))


LEAF = json.dumps(w.LEAF)
DAMAGED = {
    "no JSON": "[1, {",
    "null": "null",
    "no list": '{"a": 1}',
    "one item": "[1]",
    "no node": "[1, null]",
    "no children": '[1, {"type": "builtins.tuple", "context": "null"}]',
    "a context that is no JSON": '[1, {"type": "builtins.dict", "context": "{", "children_spec": []}]',
    "a context that is no list": '[1, {"type": "builtins.dict", "context": "3", "children_spec": []}]',
    "fewer keys": f'[1, {{"type": "collections.OrderedDict", "context": "[]", "children_spec": [{LEAF}]}}]',
    "an unknown protocol": f"[2, {LEAF}]",
    "too deep": "[" * 100000,
}


@pytest.mark.parametrize("side", ["in_spec", "out_spec"])
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_structure(name, side):
    text = w.model({"x": w.meta("float32", [2])}, [w.aten("relu.default", "y", "x")], ["y"])
    text["graph_module"]["module_call_graph"][0]["signature"][side] = DAMAGED[name]
    with pytest.raises(RuntimeError, match=f"load: the {side} of the program is damaged"):
        load(io.BytesIO(w.archive(text)))


class Changing(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.inner = nn.ModuleDict({"part": nn.Linear(2, 2)})
        self.change = change

    def forward(self, x):
        part = self.inner.part
        self.change(self.inner)
        return part(x)


def delete(module):
    del module.part


def replace(module):
    module.part = nn.Identity()


def add(module):
    module.other = nn.Identity()


def add_none(module):
    module.register_module("other", None)


@pytest.mark.parametrize(("change", "name"), [(delete, "part"), (replace, "part"), (add, "other"), (add_none, "other")])
def test_a_module_that_changes_its_submodules(change, name):
    model = Changing(change)
    part = model.inner.part
    with pytest.raises(NotImplementedError, match=f"the module adds, replaces or deletes the submodule inner.{name} when it is called"):
        export(model, (torch.ones(3, 2),))
    assert dict(model.inner.named_children()) == {"part": part} and list(model.inner._modules) == ["part"]


def test_a_module_that_deletes_its_parameter_keeps_it():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = nn.Linear(2, 2)

        def forward(self, x):
            weight = self.part.weight
            del self.part.weight
            return x @ weight

    model, x = Model(), torch.ones(3, 2)
    program = export(model, (x,), dynamic_shapes=({0: Dim("n")},))
    assert torch.equal(program.module()(x), x @ model.part.weight)


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


@dataclasses.dataclass
class Unregistered:
    first: object


def test_classes_that_are_no_pytrees():
    hint = "register_dataclass, another container with torch.utils._pytree.register_pytree_node"
    kinds = "numbers, strings and None, in lists, tuples, dicts and registered dataclasses"
    with pytest.raises(TypeError, match=f"{kinds}.*one is a Unregistered.*{hint}"):
        export(lambda pair: pair.first + 1, (Unregistered(torch.ones(2)),))
    with pytest.raises(NotImplementedError, match=f"output 0 is a Unregistered.*{kinds}.*{hint}"):
        export(Unregistered, (torch.ones(2),))
    with pytest.raises(AssertionError, match="Only dataclasses can be registered"):
        torch.export.register_dataclass(int)


def test_registered_dataclasses_are_inputs_and_results():
    torch.export.register_dataclass(Pair)
    program = export(lambda pair: Pair(pair.second, pair.first * 2), (Pair(torch.ones(2), torch.zeros(3)),))
    file = io.BytesIO()
    save(program, file)
    found = load(io.BytesIO(file.getvalue())).module()(Pair(torch.full((2,), 3.0), torch.ones(3)))
    assert type(found) is Pair and found.first.tolist() == [1, 1, 1] and found.second.tolist() == [6, 6]


S0, S1 = w.symbol("s0"), w.symbol("s1")
SHOWN = {
    "s0": S0,
    "s0 + 1": f"Add({S0}, Integer(1))",
    "s0 - 1": f"Add(Integer(-1), {S0})",
    "8 - (Mod(s0, 8))": f"Add(Integer(8), Mul(Integer(-1), Mod({S0}, Integer(8))))",
    "4*s0 + s1 + 4": f"Add(Mul(Integer(4), {S0}), {S1}, Integer(4))",
    "((s0 + 3)//2)": f"FloorDiv(Add({S0}, Integer(3)), Integer(2))",
    "(((s0 - 1)//4)) + 1": f"Add(FloorDiv(Add({S0}, Integer(-1)), Integer(4)), Integer(1))",
    "8*((((s0 - 1)//4)) + 1)*s1": f"Mul(Integer(8), Add(FloorDiv(Add({S0}, Integer(-1)), Integer(4)), Integer(1)), {S1})",
    "s0**2": f"Pow({S0}, Integer(2))",
    "Max(s0, s1)": f"Max({S0}, {S1})",
    "2 +": "2 +",
}


@pytest.mark.parametrize("expected", SHOWN)
def test_sizes_are_printed_as_sympy_prints_them(expected):
    program = load(
        io.BytesIO(w.archive(w.model({"x": w.meta("float32", [SHOWN[expected], 3])}, [w.aten("relu.default", "y", "x")], ["y"])))
    )
    assert f'x: "f32[{expected}, 3]"' in str(program)


def test_numbers_are_printed_with_their_expressions():
    program = export(lambda x: x.new_zeros(x.size(0) * 2 + 1), (torch.ones(3),), dynamic_shapes=({0: Dim("n")},))
    assert 'add: "Sym(2*s0 + 1)"' in str(program)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (2, 0, 4)])
def test_normalizations_of_no_elements(shape):
    x = torch.zeros(shape)
    functions = [lambda x: nn.functional.local_response_norm(x, 2)]
    functions.append(lambda x: nn.functional.batch_norm(x, torch.zeros(x.size(1)), torch.ones(x.size(1)), training=True))
    for function in functions:
        program = export(function, (x,))
        for made in (program, program.run_decompositions()):
            assert made.module()(x).shape == function(x).shape


@pytest.mark.parametrize(
    "read",
    [
        lambda x: float(np.asarray(x).sum()),
        lambda x: float(np.array(x).max()),
        lambda x: float(np.from_dlpack(x).sum()),
        lambda x: memoryview(x).tolist()[0],
        lambda x: bytes(x)[3],
        lambda x: x.tobytes()[3],
        lambda x: np.float64(x[0]),
        lambda x: np.asarray(x * 2).size,
    ],
)
def test_code_that_reads_elements_through_other_libraries(read):
    with pytest.raises((RuntimeError, BufferError), match="get value out of a tracing tensor"):
        export(lambda x: x * read(x), (torch.tensor([1.0, 2.0]),))
    assert read(torch.tensor([1.0, 2.0])) is not None
