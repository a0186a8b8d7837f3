"""Names of nodes: those of PyTorch, for the results of each program."""

import json
from pathlib import Path

import pytest

import libtensor as torch

NAMES = json.loads(Path(__file__).with_name("node_names.json").read_text())


@pytest.mark.parametrize("program", NAMES)
def test_names_of_nodes(program):
    x = (torch.full((4, 4), 0.5, dtype=torch.float64) + torch.eye(4, dtype=torch.float64)).requires_grad_()
    v = torch.full((4,), 0.25, dtype=torch.float64, requires_grad=True)
    made = eval(program, {"torch": torch, "x": x, "v": v, "y": 3 * torch.eye(4, dtype=torch.float64)})
    results = made if isinstance(made, (tuple, list)) else (made,)
    assert [t.grad_fn and t.grad_fn.name() for t in results] == NAMES[program]


def test_a_composition_renames_no_call_that_it_did_not_make():
    x = torch.ones(3, 3, requires_grad=True)
    y = x * 2
    assert y.movedim(0, 0).grad_fn.name() == "PermuteBackward0" and y.grad_fn.name() == "MulBackward0"
    assert torch.block_diag(y).grad_fn.name() == "BlockDiagBackward0"
    z = y + 1
    z.renorm_(2, 0, 1)
    assert z.grad_fn.name() == "RenormBackward0" and y.grad_fn.name() == "MulBackward0"
    z.sum().backward()
    assert x.grad.shape == (3, 3)
