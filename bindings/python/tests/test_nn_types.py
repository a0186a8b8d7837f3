"""What type checkers know of modules, and the examples of their help."""

import doctest
import inspect
import subprocess
import sys

import pytest

import libtensor as torch
from libtensor import nn

PROGRAM = """
from collections import OrderedDict
from typing import assert_type

import libtensor as torch
from libtensor import Tensor, nn
from libtensor.func import functional_call, stack_module_state
from libtensor.nn.attention.flex_attention import create_block_mask, flex_attention
from libtensor.nn.utils import clip_grad_norm_, parametrizations, parametrize, prune
from libtensor.nn.utils.rnn import pack_padded_sequence


class Block(nn.Module):
    steps: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.attention = nn.MultiheadAttention(features, 2, batch_first=True)
        self.mlp = nn.Sequential(OrderedDict(up=nn.Linear(features, 4 * features), act=nn.GELU(), down=nn.Linear(4 * features, features)))
        self.scale = nn.Parameter(torch.ones(features))
        self.layers = nn.ModuleList([nn.Conv1d(1, 2, 3, padding="same"), nn.Dropout(0.1)])
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        out, _ = self.attention(x, x, x, attn_mask=mask)
        made: Tensor = self.mlp(self.norm(x + out)) * self.scale
        return made


block = Block(8).to(torch.float64).float().train().requires_grad_(True)
assert_type(block, Block)
assert_type(nn.Linear(2, 3).weight, nn.Parameter)
assert_type([name for name, _ in block.named_parameters()], list[str])
assert_type(block.get_parameter("scale"), nn.Parameter)
loss = nn.CrossEntropyLoss(label_smoothing=0.1)(block(torch.rand(2, 3, 8))[:, 0], torch.tensor([1, 2]))
loss.backward()
assert_type(clip_grad_norm_(block.parameters(), 1.0), Tensor)
missing = block.load_state_dict(block.state_dict(), strict=False).missing_keys
handle = block.register_forward_hook(lambda module, args, output: None)
handle.remove()
nn.init.trunc_normal_(block.scale, std=0.02)
assert_type(parametrizations.orthogonal(nn.Linear(2, 2)), nn.Linear)
parametrize.remove_parametrizations(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), "weight")
prune.l1_unstructured(nn.Linear(2, 2), "weight", 0.5)
output, (h, c) = nn.LSTM(2, 3, batch_first=True)(pack_padded_sequence(torch.rand(2, 4, 2), [4, 2], batch_first=True))
params, buffers = stack_module_state([nn.Linear(2, 1) for _ in range(2)])
functional_call(nn.Linear(2, 1), {"weight": torch.ones(1, 2)}, (torch.ones(1, 2),))
q = torch.rand(1, 1, 4, 2)
flex_attention(q, q, q, block_mask=create_block_mask(lambda b, h, i, j: i >= j, None, None, 4, 4))
print(len(missing), output, h, c, params, buffers)
"""


def test_a_program_with_modules_has_types(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    subprocess.run([sys.executable, str(script)], check=True, capture_output=True)


def documented():
    spaces = [nn, nn.init, nn.utils, nn.utils.rnn, nn.utils.parametrize, nn.attention.bias, nn.attention.flex_attention, torch.func]
    for space in spaces:
        for name in sorted(vars(space)):
            made = getattr(space, name)
            if name[0] != "_" and (inspect.isclass(made) or inspect.isfunction(made)) and ">>>" in (made.__doc__ or ""):
                yield pytest.param(made, id=f"{space.__name__}.{name}")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("made", documented())
def test_examples_of_the_help(made):
    parsed = doctest.DocTestParser().get_doctest(made.__doc__, {"torch": torch}, made.__name__, None, 0)
    said = []
    doctest.DocTestRunner().run(parsed, out=said.append)
    assert not said, "".join(said)


def test_every_layer_is_documented():
    layers = [getattr(nn, name) for name in nn.modules.__all__]
    assert len(layers) > 160
    assert not [layer.__name__ for layer in layers if not layer.__doc__ or layer.__doc__ == layer.__mro__[1].__doc__]
