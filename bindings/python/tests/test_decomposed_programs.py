"""run_decompositions() on whole programs: views, writes and state have the effects of the function, with the default and with an empty table."""

import io
import json

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.export import export, load, save
from libtensor.export.functionalize import find_written
from libtensor.export.lowering import find_operator

F = nn.functional
TABLES = {"core": None, "empty": {}}


def reload(program):
    file = io.BytesIO()
    save(program, file)
    return load(io.BytesIO(file.getvalue()))


def copied(values):
    return [x.clone() for x in values]


def check_program(program, function, *inputs):
    """Checks that a program writes by outputs only, names each value once, and has the results and effects of a function for other inputs."""
    nodes = program._text["graph_module"]["graph"]["nodes"]
    assert not [node["target"] for node in nodes if find_written(find_operator(node["target"]))]
    names = [x["name"] for node in nodes for output in node["outputs"] for x in output.get("as_tensors", output.values()) if "name" in x]
    several = [node["name"] for node in nodes if len(node["outputs"]) > 1 or any("as_tensors" in x for x in node["outputs"])]
    assert len({*names, *several}) == len(names) + len(several)
    for scale in (1, 3):
        ours, theirs = copied(x * scale for x in inputs), copied(x * scale for x in inputs)
        found, expected = program.module()(*ours), function(*theirs)
        for a, b in zip(torch.utils._pytree.tree_leaves([found, ours]), torch.utils._pytree.tree_leaves([expected, theirs]), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert torch.allclose(a, b, 1e-5, 1e-6, equal_nan=True)


VIEWS = {
    "slice": lambda x: x[:, 1:3],
    "step": lambda x: x[:, ::2],
    "expand": lambda x: x[:1].expand(3, 4),
    "diagonal": lambda x: x.diagonal(),
    "transpose": lambda x: x.t(),
    "select": lambda x: x[:, 1],
    "windows": lambda x: x.unfold(0, 2, 1),
}
SHAPES = {
    "reshape": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "rows": lambda x: x.reshape(2, -1),
    "contiguous": lambda x: x.contiguous(),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_other_shapes_are_copies_where_strides_require_it(view, shape, table):
    function = lambda x: SHAPES[shape](VIEWS[view](x)) * 2  # noqa: E731
    x = torch.arange(16.0).reshape(4, 4)
    check_program(reload(export(function, (x,)).run_decompositions(TABLES[table])), function, x)
