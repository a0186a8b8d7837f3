"""Every example of the documentation runs and gives what it shows."""

import doctest
import re
from pathlib import Path

import pytest

import libtensor as torch

ROOT = Path(__file__).resolve().parents[3]
SPACES = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.UntypedStorage": torch.UntypedStorage,
    "torch.TypedStorage": torch.TypedStorage,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.nn.functional": torch.nn.functional,
    "torch.autograd": torch.autograd,
    "torch.autograd.forward_ad": torch.autograd.forward_ad,
    "torch.autograd.functional": torch.autograd.functional,
    "torch.func": torch.func,
    "torch.utils.checkpoint": torch.utils.checkpoint,
    "torch.safetensors": torch.safetensors,
}


def documented():
    for space, holder in SPACES.items():
        for name in sorted(dir(holder)):
            text = getattr(getattr(holder, name, None), "__doc__", None) or ""
            if name[0] != "_" and ">>>" in text and (holder is torch or getattr(getattr(torch, name, None), "__doc__", None) != text):
                yield pytest.param(text, id=f"{space}.{name}")


def run(text, name):
    """Runs the examples in a text."""
    runner, out = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
    runner.run(doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, 0), out=out.append)
    assert (runner.tries or "+SKIP" in text) and not runner.failures, "".join(out)


@pytest.mark.parametrize("text", documented())
def test_examples(text):
    run(text, "example")


def test_every_operator_has_an_example():
    generated = [name for name in torch._gen.gen_functions.__all__ if getattr(torch, name) is getattr(torch._gen.gen_functions, name)]
    missing = [name for name in generated if ">>>" not in getattr(torch, name).__doc__]
    assert len(generated) > 300 and not missing, missing


def snippets():
    # docs/gen_operators.md shows the examples of the docstrings.
    written = [path for path in (ROOT / "docs").glob("*.md") if not path.name.startswith("gen_")]
    for path in sorted([ROOT / "README.md", ROOT / "bindings" / "python" / "README.md", *written]):
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)):
            yield pytest.param(code, id=f"{path.relative_to(ROOT)} {number}")


@pytest.mark.keeps_memory
@pytest.mark.parametrize("code", snippets())
def test_snippets(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if ">>>" in code:
        run(code, "snippet")
    else:
        exec(compile(code, "snippet", "exec"), {"__name__": "snippet", "torch": torch})
