"""Programs of PyTorch with operators that return nothing: writes to lists of tensors, and checks that tokens order."""

import io

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load


def program_of(nodes, metas, outputs, **options):
    return load(io.BytesIO(w.archive(w.model(metas, nodes, outputs, **options))))


@pytest.mark.parametrize("name", ["_foreach_add_.Scalar", "_foreach_mul_.Scalar"])
def test_writes_to_lists(name):
    nodes = [
        w.aten("t.default", "turned", "x"),
        w.aten(name, None, w.tensors("turned", "y"), 2.0),
        w.aten("add.Tensor", "sum", "x", "y"),
    ]
    values = {"turned": w.meta("float32", [2, 2], [1, 2]), "sum": w.meta("float32", [2, 2])}
    program = program_of(nodes, {"x": w.meta("float32", [2, 2]), "y": w.meta("float32", [2])}, ["sum"], values=values)
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([5.0, 6.0])
    expected = (x + 2 + y + 2) if "add" in name else (x * 2 + y * 2)
    for each in (program, program.run_decompositions(), program.run_decompositions({})):
        ours = x.clone(), y.clone()
        assert each.module()(*ours).tolist() == expected.tolist() and ours[1].tolist() != y.tolist()
    assert not any("_." in name for name in program.run_decompositions().operators)


@pytest.mark.parametrize("name", ["inv", "solve", "det", "slogdet"])
def test_tokens_pass_through(name):
    def effect(token, of, info):
        operator = {"as_operator": "torch.ops.aten._linalg_check_errors.default"}
        return w.node(
            "torch.ops.higher_order.with_effects",
            [w.tensor(token), {"as_none": True}],
            of,
            operator,
            info,
            {"as_string": f"linalg.{name}"},
            is_matrix=True,
        )

    singular, regular = torch.zeros(2, 2), torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    if name in ("det", "slogdet"):
        results = [w.tensor(x) for x in (["y", "LU", "pivots"] if name == "det" else ["sign", "y", "LU", "pivots"])]
        nodes = [w.aten(f"_linalg_{name}.default", results, "x")]
        expected = torch.tensor(8.0) if name == "det" else torch.tensor(8.0).log()
    elif name == "inv":
        results = [w.tensor("y"), w.tensor("info")]
        nodes, expected = [w.aten("linalg_inv_ex.default", results, "x"), effect("after", "token", "info")], regular.inverse()
    else:
        results = [w.tensor(x) for x in ("y", "LU", "pivots", "info")]
        nodes = [w.aten("_linalg_solve_ex.default", results, "x", "x"), effect("after", "token", "info"), effect("last", "after", "info")]
        expected = torch.eye(2)
    values = {"y": w.meta("float32", list(expected.shape)), "info": w.meta("int32", [])}
    text = w.model({"x": w.meta("float32", [2, 2])}, nodes, ["y"], values=values)
    graph, signature = text["graph_module"]["graph"], text["graph_module"]["signature"]
    graph["inputs"].insert(0, w.tensor("token"))
    signature["input_specs"].insert(0, {"token": {"arg": {"name": "token"}}})
    program = load(io.BytesIO(w.archive(text)))
    assert torch.allclose(program.module()(regular), expected)
    if name in ("inv", "solve"):
        with pytest.raises(torch.linalg.LinAlgError, match=f"linalg.{name}: .* the matrix failed: it is singular"):
            program.module()(singular)


def test_a_program_that_writes_to_buffers_cannot_run_itself():
    """Its operators receive an error, after which it runs as before."""
    inner = []

    @torch.library.custom_op("tests_effects::again", mutates_args=())
    def again(x: torch.Tensor) -> torch.Tensor:
        return inner[0](x) if inner else x.clone()

    again.register_fake(torch.empty_like)

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return again(x) + self.count

    module = torch.export.export(Counter(), (torch.ones(2),)).module()
    other = torch.export.export(Counter(), (torch.ones(2),)).module()
    inner.append(module)
    with pytest.raises(RuntimeError, match="writes to its state and is running on this thread; its operators cannot run it"):
        module(torch.ones(2))
    inner[:] = [lambda x: other(x) if inner.clear() is None else x]
    assert module(torch.ones(2)).tolist() == [4, 4]  # another program runs, whose operator is called without an inner one
    assert module(torch.ones(2)).tolist() == [4, 4]
