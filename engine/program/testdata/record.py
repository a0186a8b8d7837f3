"""Writes the programs of this folder and cases.json with their inputs and outputs, by PyTorch: record.py (PyTorch 2.15)."""

import json
import pathlib

import torch
from torch.export import Dim, export, save

FOLDER = pathlib.Path(__file__).parent


class Classifier(torch.nn.Module):
    """Layers, keyword arguments, a nested result and a dynamic batch."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))

    def forward(self, x, *, scale, extra):
        y = self.layers(x) * scale
        return {"log": torch.log_softmax(y, -1), "parts": (y.argmax(-1), [extra["bias"] + y])}


class Counter(torch.nn.Module):
    """A buffer that changes in place, and a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(3, 2).t())

    def forward(self, x):
        self.count.add_(1)
        return x @ self.weight + torch.tensor([1.0, 2.0, 3.0]) * self.count


class Branches(torch.nn.Module):
    """cond, sizes as numbers, integers and bools."""

    def forward(self, x, n: int):
        y = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos() - 1, (x,))
        return y.reshape(x.shape[0] * 3, -1), x.new_zeros(x.shape[0] // 2, x.shape[1] + 1), (x > 0).sum(0), n + x.shape[0]


class Unbacked(torch.nn.Module):
    """A size that depends on elements."""

    def forward(self, x):
        found = torch.nonzero(x)
        torch._check(found.shape[0] >= 1)
        return found, torch.full((found.shape[0], 2), 0.5, dtype=torch.float64)


def describe(value):
    if isinstance(value, torch.Tensor):
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "values": value.flatten().tolist()}
    if isinstance(value, dict):
        return {key: describe(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(x) for x in value]
    return value


def record(name, module, cases, **options):
    """Exports a module with the first case, and runs all cases one after the other."""
    args, keywords = cases[0]
    program = export(module.eval(), args, keywords, **options)
    save(program, FOLDER / f"{name}.pt2")
    run = program.module()
    return [{"args": describe(a), "keywords": describe(k), "result": describe(run(*a, **k))} for a, k in cases]


def classifier_case(n):
    return (torch.randn(n, 3),), {"scale": torch.tensor(0.5), "extra": {"bias": torch.ones(2)}}


def main():
    torch.manual_seed(0)
    batch, rows = Dim("batch", max=8), Dim("rows", min=4, max=64)
    found = {
        "classifier": record(
            "classifier",
            Classifier(),
            [classifier_case(4), classifier_case(2)],
            dynamic_shapes={"x": {0: batch}, "scale": None, "extra": {"bias": None}},
        ),
        "counter": record("counter", Counter(), [((torch.ones(1, 2),), {})] * 3),
        "branches": record(
            "branches",
            Branches(),
            [((torch.ones(4, 3), 5), {}), ((-torch.ones(6, 3), 5), {})],
            dynamic_shapes={"x": {0: rows}, "n": Dim.DYNAMIC},
        ),
        "unbacked": record("unbacked", Unbacked(), [((torch.tensor([1.0, 0.0, 3.0]),), {}), ((torch.tensor([0.0, 2.0, 0.0]),), {})]),
    }
    (FOLDER / "cases.json").write_text(json.dumps(found, indent=1) + "\n")


main()
