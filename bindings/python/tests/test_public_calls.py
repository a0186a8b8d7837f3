"""Every public name of PyTorch 2.15, called without arguments under install_as_torch(), behaves as in PyTorch or raises an exception with
the name of the missing feature. public_calls.json contains PyTorch's results: the class of the result, or `!` and the class of the
exception.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ANSWERS = json.loads(Path(__file__).with_name("public_calls.json").read_text(encoding="utf-8"))

# Other answers than PyTorch's, with the reason.
OTHER = {
    "a context manager of another class": "torch.DisableTorchFunction torch.DisableTorchFunctionSubclass "
    "torch.utils.data.runtime_validation_disabled "
    "torch.jit.strict_fusion torch.compiler.disable torch.library.get_ctx",
    "a private class of another name": "torch.utils.checkpoint.CheckpointFunction torch.utils.checkpoint.checkpoint torch.utils.model_zoo.tqdm",
    "a str or dict for a class that is one": "torch.backends.cuda.preferred_blas_library torch.backends.cuda.preferred_linalg_library "
    "torch.accelerator.memory_stats torch.cuda.memory_stats",
    "no CUDA: memory in use is 0, and there is nothing to reset": "torch.cuda.get_sync_debug_mode torch.cuda.ipc_collect torch.cuda.memory_summary "
    "torch.cuda.is_current_stream_capturing torch.cuda.reset_accumulated_memory_stats torch.cuda.reset_max_memory_allocated "
    "torch.cuda.reset_max_memory_cached torch.cuda.reset_peak_memory_stats torch.mps.empty_cache",
    "no CUDA: the recorded answer is of a build with it": "torch.cuda.Event torch.accelerator.current_accelerator",
    "decorators, which can be called without a function": "torch.jit.export torch.jit.interface torch.jit.script_if_tracing torch.jit.unused "
    "torch.cuda.amp.custom_bwd",
    "classes for annotations": "torch.DispatchKeySet torch.Tag torch.autograd.graph.Node torch.distributed.Backend torch.distributed.ReduceOp "
    "torch.Future",
    "at least one tensor": "torch.atleast_1d torch.atleast_2d torch.atleast_3d",
    "abstract classes": "torch.utils.data.DFIterDataPipe torch.utils.data.IterDataPipe torch.types.Storage",
    "empty tuples": " ".join(f"torch.return_types.{name}" for name in ANSWERS["torch.return_types"]),
}

PLAY = """
import contextlib, importlib, io, json, sys, warnings
import libtensor
libtensor.install_as_torch()
warnings.simplefilter("ignore")
module, names = json.loads(sys.stdin.read())
found = {}
for name in names:
    try:
        called = getattr(importlib.import_module(module), name)
    except AttributeError as e:
        found[name] = ["absent", str(e)]
        continue
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found[name] = [type(called()).__name__, ""]
    except BaseException as e:
        found[name] = ["!" + type(e).__name__, str(e)]
print(json.dumps(found))
"""


def differs(full, expected, got, said):
    """Returns whether a result is neither PyTorch's nor an exception with the name of the missing feature."""
    if got == "!NotImplementedError":
        return full.rpartition(".")[2] not in said
    return not got.startswith("!") if expected.startswith("!") else got != expected


@pytest.mark.parametrize("module", ANSWERS)
def test_calls_without_arguments(module):
    expected = ANSWERS[module]
    done = subprocess.run([sys.executable, "-c", PLAY], input=json.dumps([module, list(expected)]), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == expected.keys()
    known = {name for names in OTHER.values() for name in names.split()}
    wrong = {name for name, (got, said) in found.items() if differs(f"{module}.{name}", expected[name], got, said)}
    listed = {name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == module}
    unknown = sorted(wrong - listed)
    assert not unknown, "\n".join(f"{module}.{name}: PyTorch {expected[name]}, libtensor {found[name]}" for name in unknown)
