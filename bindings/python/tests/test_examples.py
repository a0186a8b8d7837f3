"""Every example of the docstrings runs and prints its output; .ci/test_docs.py runs those of the documentation."""

import doctest

import pytest

import libtensor as torch

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
    "torch.multiprocessing": torch.multiprocessing,
    "torch.utils": torch.utils,
    "torch.utils._pytree": torch.utils._pytree,
    "torch.utils.benchmark": torch.utils.benchmark,
    "torch.utils.checkpoint": torch.utils.checkpoint,
    "torch.utils.data": torch.utils.data,
    "torch.utils.data.datapipes.iter": torch.utils.data.datapipes.iter,
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
    runner, out = doctest.DocTestRunner(), []
    runner.run(doctest.DocTestParser().get_doctest(text, {"torch": torch}, name, None, 0), out=out.append)
    assert (runner.tries or "+SKIP" in text) and not runner.failures, "".join(out)


@pytest.mark.parametrize("text", documented())
def test_examples(text):
    run(text, "example")


def test_every_operator_has_an_example():
    generated = [name for name in torch._gen.gen_functions.__all__ if getattr(torch, name) is getattr(torch._gen.gen_functions, name)]
    missing = [name for name in generated if ">>>" not in getattr(torch, name).__doc__]
    assert len(generated) > 300 and not missing, missing
