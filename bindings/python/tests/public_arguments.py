"""Calls of PyTorch's public names with generic arguments, and a description of their results. Runs under PyTorch and under libtensor.

As a program under PyTorch, `python public_arguments.py`, it writes public_values.json: for each public name of public_calls.json up to
three calls that PyTorch answers, with the answers. A call whose answer is not the same in a second process is left out. Names that the file
has already are not recorded again."""

import contextlib
import enum
import importlib
import inspect
import io
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
import types
import warnings
from multiprocessing.pool import ThreadPool
from pathlib import Path

ATOMS = {
    "x": "torch.arange(1.0, 7.0).reshape(2, 3) / 8",
    "s": "torch.eye(3) * 2 + 0.25",
    "v": "torch.tensor([0.5, 0.25, 0.75])",
    "i": "torch.tensor([2, 0, 1])",
    "j": "torch.tensor([[1, 0, 2], [0, 1, 1]])",
    "b": "torch.tensor([[True, False, True], [False, True, True]])",
    "c": "torch.complex(torch.tensor([0.5, 1.0, -1.0]), torch.tensor([0.25, -0.5, 2.0]))",
    "p": "torch.arange(16.0).reshape(1, 1, 4, 4) / 16",
    "l": "torch.arange(8.0).reshape(1, 2, 4) / 8",
    "w": "torch.nn.Parameter(torch.ones(2, 3) / 2)",
    "m": "make_module()",
    "q": "torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 3))",
    "g": "torch.optim.SGD([torch.nn.Parameter(torch.ones(2, 3) / 2)], lr=0.5)",
    "xx": "[torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)]",
    "ww": "[torch.nn.Parameter(torch.ones(2, 3) / 2)]",
    "ii": "[1, 2]",
    "0": "0",
    "2": "2",
    "3": "3",
    "h": "0.5",
    "t": "True",
    "n": "None",
    "d": '{"a": torch.ones(2)}',
    "u": '"mean"',
    "z": '"weight"',
    "f": "double",
    "fs": "[double, double]",
    "k": "torch.float64",
    "e": 'torch.device("cpu")',
    "y": "torch.strided",
    "o": "torch.distributions.Normal(0.0, 1.0)",
    "oc": "torch.distributions.Categorical(torch.tensor([0.25, 0.75]))",
    "ct": "torch.distributions.constraints.positive",
    "tr": "torch.distributions.transforms.ExpTransform()",
    "ds": "torch.utils.data.TensorDataset(torch.arange(6.0))",
    "tt": "torch.Tensor",
    "gm": "torch.fx.symbolic_trace(torch.nn.Linear(3, 2))",
    "io": "io.BytesIO()",
    "eq": '"ij->ji"',
    "len": "torch.tensor([3, 2])",
    "no": "torch.distributions.Normal(torch.zeros(2), torch.ones(2))",
    "sc": "[torch.optim.lr_scheduler.ConstantLR(torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.5))]",
    "sm": "make_scalar",
    "qq": "torch.arange(48.0).reshape(2, 4, 6) / 48",
    "ones": "torch.ones(2, 2, 2)",
    "vol": "torch.arange(64.0).reshape(1, 1, 4, 4, 4) / 64",
    "ker": "torch.arange(8.0).reshape(1, 1, 2, 2, 2) / 8",
    "k1": "torch.arange(8.0).reshape(2, 2, 2) / 8",
    "mm": "[torch.ones(2, 3), torch.ones(3, 2), torch.ones(2, 2)]",
}
# The arguments that parameters of these names get.
HINTS = {
    **dict.fromkeys(
        ["in_channels", "in_features", "in1_features", "num_features", "input_size", "d_model", "embed_dim", "num_embeddings", "C_in"], "2"
    ),
    **dict.fromkeys(
        [
            "out_channels",
            "out_features",
            "in2_features",
            "hidden_size",
            "kernel_size",
            "groups_out",
            "M",
            "window_length",
            "n",
            "upscale_factor",
        ],
        "3",
    ),
    **dict.fromkeys(
        ["step_size", "total_iters", "T_max", "T_0", "nhead", "num_heads", "num_groups", "num_layers", "batch_size", "n_power"], "2"
    ),
    **dict.fromkeys(["optimizer"], "g"),
    **dict.fromkeys(["milestones", "size", "sizes", "shape", "output_size", "unflattened_size", "normalized_shape"], "ii"),
    **dict.fromkeys(["lr_lambda", "fn", "f", "func", "function", "forward"], "f"),
    **dict.fromkeys(["base_lr", "max_lr", "amount", "p", "alpha", "beta", "momentum", "clip_value", "max_norm"], "h"),
    **dict.fromkeys(["base_distribution", "base_dist", "p", "q", "component_distribution", "distribution"], "no"),
    **dict.fromkeys(["mixture_distribution"], "oc"),
    **dict.fromkeys(["transform", "base_transform", "transforms"], "tr"),
    **dict.fromkeys(["base_constraint", "constraint"], "ct"),
    **dict.fromkeys(["reinterpreted_batch_ndims", "dim", "axis", "offset", "index", "dim0", "src", "sorted", "start"], "0"),
    **dict.fromkeys(["dim1", "total_steps", "end"], "3"),
    **dict.fromkeys(
        ["inputs", "input", "self", "tensor", "x", "a", "A", "target", "other", "mat1", "data", "tensors", "input1", "outputs"], "x"
    ),
    **dict.fromkeys(["v", "vec"], "x"),
    **dict.fromkeys(["module", "model", "mod"], "m"),
    **dict.fromkeys(["parameters", "params", "parameters_and_names"], "ww"),
    **dict.fromkeys(["name", "tensor_name"], "z"),
    **dict.fromkeys(["lengths", "batch_sizes"], "len"),
    **dict.fromkeys(["schedulers"], "sc"),
    **dict.fromkeys(["dtype"], "k"),
    **dict.fromkeys(["equation"], "eq"),
    **dict.fromkeys(["nonlinearity", "activation"], "u"),
    **dict.fromkeys(["sampler", "dataset", "data_source"], "ds"),
    **dict.fromkeys(["drop_last", "requires_grad", "mode", "enabled"], "t"),
}
ONE = list(ATOMS)[:40]
TWO = [
    "x",
    "s",
    "v",
    "i",
    "j",
    "b",
    "c",
    "p",
    "l",
    "m",
    "xx",
    "ww",
    "ii",
    "0",
    "2",
    "3",
    "h",
    "n",
    "u",
    "z",
    "f",
    "k",
    "o",
    "g",
    "d",
    "ds",
    "tt",
]
THREE = ["x", "v", "i", "p", "l", "s", "m", "xx", "ii", "0", "2", "3", "h", "f", "z"]
FOUR = ["x", "i", "p", "l", "0", "2", "3"]
# Functions that change the process, and those whose results are memory that is not initialized.
CHANGES = re.compile(
    r"(_?set_|use_|enable_|seed$|manual_seed|empty|resize|new_empty|fork$|clear_|get_num_interop|get_num_threads|get_default|.*(empty|resize|Tensor$))"
)
# Modules of calls that leave the process, or wait for others.
SKIPPED = (
    "torch.distributed",
    "torch.distributed.rpc",
    "torch.multiprocessing",
    "torch.utils.benchmark",
    "torch.utils.cpp_extension",
    "torch.hub",
)
KEPT = 3  # calls of a name
MOST = 64  # elements of a tensor that is compared in value
SECONDS = 0.7  # for a name


def double(a, *rest):
    return a * 2


def build(names):
    """Returns the arguments that names of ATOMS denote."""
    import torch

    def make_module():
        made = torch.nn.Linear(3, 2)
        with torch.no_grad():
            made.weight.copy_(torch.arange(6.0).reshape(2, 3) / 4)
            made.bias.copy_(torch.tensor([0.5, -0.5]))
        return made

    def make_scalar(*inputs):
        return sum((t * t).sum() for t in inputs)

    return [
        eval(ATOMS[name], {"torch": torch, "make_scalar": make_scalar, "io": io, "double": double, "make_module": make_module})
        for name in names
    ]


def describe(value, depth=0):
    """Returns a description of a value in the types of JSON: for tensors dtype, shape and elements, for other objects the class and
    attributes."""
    import torch

    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, enum.Enum):
        return {"class": type(value).__name__, "value": value.name}
    if isinstance(value, int | float):
        return value if math.isfinite(value) else repr(float(value))
    if isinstance(value, torch.Tensor):
        return describe_tensor(value)
    if isinstance(value, complex | torch.dtype | torch.device | torch.layout | torch.Size | torch.memory_format):
        return {"repr": repr(value)}
    if depth > 3:
        return {"class": type(value).__name__}
    if isinstance(value, dict):
        return {"class": type(value).__name__, "items": [[str(k), describe(v, depth + 1)] for k, v in list(value.items())[:MOST]]}
    if isinstance(value, list | tuple):
        return {"class": type(value).__name__, "of": [describe(v, depth + 1) for v in value[:MOST]]}
    if isinstance(value, torch.nn.Module):
        state = [[k, describe(v, depth + 1)] for k, v in itertools.islice(value.state_dict().items(), 8)]
        return {"module": repr(value), "training": value.training, "state": state}
    if isinstance(value, type):
        return {"type": value.__name__}
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType | types.ModuleType):
        return {"class": "function"}
    return describe_object(value, depth)


def describe_tensor(value):
    import torch

    found = {"class": type(value).__name__, "dtype": str(value.dtype), "shape": list(value.shape), "grad": value.requires_grad}
    found["layout"] = str(value.layout)
    if value.device.type == "meta" or value.is_quantized:
        return found
    plain = value.detach()
    if value.layout == torch.strided:
        found["strides"] = list(value.stride())
    else:
        plain = plain.to_dense()
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    if plain.numel() <= MOST:
        found["values"] = [describe(v) for v in plain.to(torch.float64).reshape(-1).tolist()]
    return found


def describe_object(value, depth):
    """Returns the class of an object, and its public attributes with simple values."""
    found = {}
    for name, held in sorted(getattr(value, "__dict__", {}).items()):
        if not name.startswith("_") and not callable(held):
            found[name] = describe(held, depth + 1)
    return {"class": type(value).__name__, "attributes": found}


def call(module, name, arguments):
    """Returns the description of a call's result; raises what the call raises."""
    import torch

    called = getattr(importlib.import_module(module), name)
    torch.manual_seed(0)
    given = build(arguments)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = called(*given)
        if inspect.isgenerator(result):
            result = list(itertools.islice(result, 8))
        found = {"result": describe(result)}
        after = [describe(v) for v in given if isinstance(v, torch.Tensor | torch.nn.Module | list)]
        before = [describe(v) for v in build(arguments) if isinstance(v, torch.Tensor | torch.nn.Module | list)] if after else []
        random = torch.nn.Module in map(type, given) or any(name in ("q", "gm") for name in arguments)
        if after != before and not random:
            found["arguments"] = after
        return json.loads(json.dumps(found))


def list_candidates(called, name):
    """Yields tuples of names of ATOMS: those of the parameters' names, then few arguments first, with counts that the signature allows."""
    least, most = 0, 4
    try:
        parameters = inspect.signature(called).parameters.values()
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        required = [p for p in positional if p.default is p.empty]
        least = len(required)
        most = 4 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
        for choices in (
            HINTS,
            {**HINTS, "func": "sm", "f": "sm"},
            {**HINTS, "input": "vol", "weight": "ker"},
            {**HINTS, "input": "l", "weight": "k1"},
        ):
            yield tuple(choices.get(p.name, "x") for p in required)
            yield tuple(choices.get(p.name, "2") for p in required)
    except (TypeError, ValueError):
        pass
    draw = random.Random(name)
    three, four = (draw.sample(list(itertools.product(atoms, repeat=n)), 1500) for n, atoms in ((3, THREE), (4, FOUR)))
    sizes = [[()], [(n,) for n in ONE], itertools.product(TWO, repeat=2), three, four]
    yield from itertools.chain.from_iterable(sizes[min(least, 4) : min(most, 4) + 1])


def record(module, names, send):
    """Sends, for each name, the first calls that PyTorch answers."""
    with contextlib.suppress(Exception):
        importlib.import_module(module)
    for name in names:
        send(name)
        if CHANGES.match(name):
            continue
        called = getattr(importlib.import_module(module), name, None)
        found, seen, end = [], [], time.monotonic() + SECONDS
        for arguments in list_candidates(called, name):
            if time.monotonic() > end:
                break
            signal.alarm(10)
            try:
                result = call(module, name, arguments)
            except BaseException:
                continue
            finally:
                signal.alarm(0)
            if len(json.dumps(result)) < 4000 and result["result"] not in seen and " at 0x" not in json.dumps(result):
                found.append([list(arguments), result])
                seen.append(result["result"])
            if len(found) == KEPT:
                break
        send([name, found])


def work(module, names, connection):
    os.chdir(tempfile.mkdtemp())
    sys.stdin = open(os.devnull)  # noqa: SIM115
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1), os.dup2(null, 2)

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    record(module, names, connection.send)
    connection.send(None)


def record_module(module, names):
    """Records a module in another process, and starts again after a name that ends the process or takes longer than two minutes."""
    done, left = {}, list(names)
    while left:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=work, args=(module, left, theirs))
        process.start()
        theirs.close()
        current = None
        with contextlib.suppress(EOFError):
            while ours.poll(120):
                got = ours.recv()
                if got is None:
                    left = []
                    break
                if isinstance(got, str):
                    current = got
                else:
                    done[got[0]] = got[1]
        process.kill()
        process.join()
        if left:
            left = left[left.index(current) + 1 :] if current else []
    return done


def is_same(a, b):
    """Returns whether two descriptions are equal: floating-point numbers up to rounding, and those attributes of objects that both have."""
    if isinstance(a, dict) and isinstance(b, dict):
        if "attributes" in a and "attributes" in b and a["class"] == b["class"]:
            return all(is_same(v, b["attributes"][k]) for k, v in a["attributes"].items() if k in b["attributes"])
        return a.keys() == b.keys() and all(is_same(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=2e-4, abs_tol=1e-5)
    return type(a) is type(b) and a == b


def main():
    calls = json.loads(Path(__file__).with_name("public_calls.json").read_text(encoding="utf-8"))
    target = Path(__file__).with_name("public_values.json")
    import torch

    torch.set_num_threads(1)
    recorded = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    missing = {m: [name for name in names if name not in recorded.get(m, {})] for m, names in calls.items() if is_recorded(m)}
    parts = [(m, names[i : i + 64]) for m, names in missing.items() for i in range(0, len(names), 64)]
    with ThreadPool(2) as pool:
        for (module, names), kept in zip(parts, pool.imap(record_part, parts), strict=True):
            recorded.setdefault(module, {}).update(kept)
            print(module, len(names), len(kept), flush=True)
    lines = [
        f"{json.dumps(m)}: {{\n" + ",\n".join(f"{json.dumps(n)}: {json.dumps(c)}" for n, c in sorted(v.items())) + "\n}"
        for m, v in sorted(recorded.items())
    ]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def is_recorded(module):
    return module not in SKIPPED and not module.startswith("torch.distributed.")


def record_part(part):
    """Returns the calls, by name, that two processes answer alike."""
    module, names = part
    first = record_module(module, names)
    second = replay(module, {name: [c[0] for c in calls] for name, calls in first.items()})
    kept = {
        name: [c for c, other in zip(calls, second.get(name, []), strict=False) if is_same(c[1], other)] for name, calls in first.items()
    }
    return {name: calls for name, calls in kept.items() if calls}


def replay(module, names):
    """Returns the descriptions of calls in another process, by name."""
    ours, theirs = multiprocessing.Pipe()

    def again():
        os.chdir(tempfile.mkdtemp())
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        for name, calls in names.items():
            found = []
            for arguments in calls:
                try:
                    found.append(call(module, name, arguments))
                except BaseException as e:
                    found.append(repr(e))
            theirs.send([name, found])

    process = multiprocessing.get_context("fork").Process(target=again)
    process.start()
    theirs.close()
    found = {}
    with contextlib.suppress(EOFError):
        while ours.poll(120):
            name, results = ours.recv()
            found[name] = results
    process.kill()
    process.join()
    return found


if __name__ == "__main__":
    main()
