"""Every public name of PyTorch 2.15, called without arguments under install_as_torch(), behaves as in PyTorch or raises an exception with
the name of the missing feature. public_calls.json contains PyTorch's results: the class of the result, or `!` and the class of the
exception. public_values.json contains calls with generic arguments and the values of their results (public_arguments.py).
"""

import json
import subprocess
import sys
from pathlib import Path

import public_arguments
import pytest

pytestmark = pytest.mark.slow

ANSWERS = json.loads(Path(__file__).with_name("public_calls.json").read_text(encoding="utf-8"))

VALUES = json.loads(Path(__file__).with_name("public_values.json").read_text(encoding="utf-8"))

# Other answers than PyTorch's, with the reason.
OTHER = {
    "a context manager of another class": "torch.DisableTorchFunction torch.DisableTorchFunctionSubclass "
    "torch.utils.data.runtime_validation_disabled "
    "torch.jit.strict_fusion torch.compiler.disable torch.library.get_ctx",
    "a private class of another name": "torch.utils.checkpoint.CheckpointFunction torch.utils.checkpoint.checkpoint "
    "torch.utils.model_zoo.tqdm",
    "a str or dict for a class that is one": "torch.backends.cuda.preferred_blas_library torch.backends.cuda.preferred_linalg_library "
    "torch.accelerator.memory_stats torch.cuda.memory_stats",
    "no CUDA: memory in use is 0, and there is nothing to reset": "torch.cuda.get_sync_debug_mode torch.cuda.ipc_collect "
    "torch.cuda.memory_summary "
    "torch.cuda.is_current_stream_capturing torch.cuda.reset_accumulated_memory_stats torch.cuda.reset_max_memory_allocated "
    "torch.cuda.reset_max_memory_cached torch.cuda.reset_peak_memory_stats torch.mps.empty_cache",
    "no CUDA: the recorded answer is of a build with it": "torch.cuda.Event torch.accelerator.current_accelerator",
    "decorators, which can be called without a function": "torch.jit.export torch.jit.interface torch.jit.script_if_tracing "
    "torch.jit.unused "
    "torch.cuda.amp.custom_bwd",
    "classes for annotations": "torch.DispatchKeySet torch.Tag torch.autograd.graph.Node torch.distributed.Backend "
    "torch.distributed.ReduceOp "
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
    done = subprocess.run(
        [sys.executable, "-c", PLAY], input=json.dumps([module, list(expected)]), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == expected.keys()
    known = {name for names in OTHER.values() for name in names.split()}
    wrong = {name for name, (got, said) in found.items() if differs(f"{module}.{name}", expected[name], got, said)}
    listed = {name.rpartition(".")[2] for name in known if name.rpartition(".")[0] == module}
    unknown = sorted(wrong - listed)
    assert not unknown, "\n".join(f"{module}.{name}: PyTorch {expected[name]}, libtensor {found[name]}" for name in unknown)


# Names with other values than PyTorch's, with the reason.
OTHER_VALUES = {
    "not determined: singular matrices, signs of singular vectors, eigenvectors of equal eigenvalues, uninitialized memory": (
        "torch.svd torch.slogdet torch.logdet torch.pinverse torch.lobpcg torch.geqrf torch.linalg.svd torch.linalg.slogdet "
        "torch.linalg.qr torch.linalg.polar torch.linalg.eig torch.linalg.eigh torch.linalg.cond torch.linalg.cholesky_ex "
        "torch.nn.ConvTranspose1d torch.nn.ConvTranspose3d torch.nn.attention.bias.causal_upper_left "
        "torch.nn.attention.bias.causal_lower_right torch.from_file torch.utils.get_cpp_backtrace"
    ),
    "arguments of other types than documented, which raise or are stored": (
        "torch.nn.functional.lp_pool1d torch.nn.functional.lp_pool2d torch.nn.Unflatten torch.accelerator.device_index "
        "torch.cuda.device torch.nn.Conv1d torch.nn.Conv2d torch.iinfo torch.func.vjp torch.serialization.add_safe_globals "
        "torch.nn.parallel.replicate torch.autograd.profiler.FunctionEvent torch.nn.attention.flex_attention.BlockMask torch.sym_sum "
        "torch.nn.utils.rnn.unpad_sequence torch.types.Storage torch.Tag torch.overrides.resolve_name torch.jit.export "
        "torch.jit.unused torch.inference_mode torch.autograd.inference_mode torch.sparse.as_sparse_gradcheck "
        "torch.utils.data.argument_validation torch.compiler.nonstrict_trace torch.library.register_fake torch.library.impl_abstract "
        "torch.library.register_torch_dispatch torch.sparse.mm"
    ),
    "bounds and shapes that PyTorch does not check": (
        "torch.unravel_index torch.nn.utils.rnn.pack_padded_sequence torch.margin_ranking_loss torch.binary_cross_entropy_with_logits"
    ),
    "old argument orders raise": "torch.nn.functional.embedding_bag",
    "objects of another class with the same use": (
        "torch.DisableTorchFunction torch.DisableTorchFunctionSubclass torch.DispatchKey torch.profiler.ProfilerActivity "
        "torch.autograd.graph.register_multi_grad_hook torch.serialization.safe_globals torch.fx.Transformer "
        "torch.utils.data.runtime_validation_disabled torch.utils.checkpoint.CheckpointFunction "
        "torch.utils.checkpoint.create_selective_checkpoint_contexts torch.utils.model_zoo.tqdm torch.jit.strict_fusion "
        "torch.library.get_ctx torch.cuda.memory_stats torch.accelerator.memory_stats torch.backends.cuda.preferred_blas_library "
        "torch.backends.cuda.preferred_linalg_library torch.export.Dim torch.export.dims torch.utils.flop_counter.FlopCounterMode "
        "torch.utils.checkpoint.checkpoint"
    ),
    "other decompositions": "torch.export.CustomDecompTable torch.export.default_decompositions",
    "abstract classes, and at least one tensor": (
        "torch.utils.data.DFIterDataPipe torch.utils.data.IterDataPipe torch.atleast_1d torch.atleast_2d torch.atleast_3d"
    ),
    "functions and modules are not compiled": ("torch.jit.script torch.jit.trace torch.compiler.disable torch.compiler.list_backends"),
    "of the build": (
        "torch.__config__.show torch.__config__.parallel_info torch.backends.openmp.is_available torch.backends.mkl.is_available "
        "torch.backends.cuda.is_built torch.backends.cuda.is_flash_attention_available torch.cuda.Event torch.cuda.get_arch_list "
        "torch.accelerator.synchronize torch.accelerator.current_accelerator"
    ),
}

PLAY_VALUES = """
import json, os, sys
import libtensor
libtensor.install_as_torch()
sys.path.insert(0, sys.argv[1])
import public_arguments
module, names = json.load(sys.stdin)
out = os.fdopen(os.dup(1), "w")
null = os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1)
found = {}
for name, calls in names.items():
    found[name] = []
    for arguments in calls:
        try:
            found[name].append(public_arguments.call(module, name, arguments))
        except BaseException as e:
            found[name].append(["!" + type(e).__name__, str(e)])
json.dump(found, out)
"""


@pytest.mark.parametrize("module", VALUES)
def test_calls_with_arguments(module, tmp_path):
    known = {name for names in OTHER_VALUES.values() for name in names.split()}
    expected = {name: calls for name, calls in VALUES[module].items() if f"{module}.{name}" not in known}
    calls = {name: [arguments for arguments, _ in recorded] for name, recorded in expected.items()}
    command = [sys.executable, "-c", PLAY_VALUES, Path(__file__).parent]
    done = subprocess.run(command, input=json.dumps([module, calls]), capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wrong = []
    for name, results in json.loads(done.stdout).items():
        for (arguments, answer), got in zip(expected[name], results, strict=True):
            is_rejected = isinstance(got, list) and got[0] == "!NotImplementedError" and name in got[1]
            if not is_rejected and not public_arguments.is_same(answer, got):
                wrong.append(f"{module}.{name}({', '.join(arguments)}): PyTorch {answer}, libtensor {got}")
    assert not wrong, "\n".join(wrong)
