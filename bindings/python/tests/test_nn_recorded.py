"""Modules and programs recorded from PyTorch 2.15, golden/nn: printed forms, first parameters, outputs, gradients, states, errors."""

import base64
import gzip
import json
import math
import re
import warnings
from pathlib import Path

import pytest

import libtensor as torch
from libtensor import nn

FOLDER = Path(__file__).parent / "golden" / "nn"
TOLERANCES = {"float64": (1e-6, 1e-8), "complex128": (1e-6, 1e-8), "float16": (2e-2, 2e-3), "bfloat16": (2e-2, 1e-2)}


def cases(name):
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "t":
        dtype, data = getattr(torch, inner["dtype"]), bytearray(base64.b64decode(inner["data"]))
        made = (torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(inner["size"]).clone()
        return made.requires_grad_() if inner["grad"] else made
    makers = {
        "f": float,
        "tuple": lambda items: tuple(map(decode, items)),
        "dict": lambda items: {key: decode(item) for key, item in items.items()},
        "dtype": lambda name: getattr(torch, name),
        "device": torch.device,
    }
    return makers[kind](inner)


def flat(value):
    """A value in the form in which answers are recorded."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        value = value if value.layout is torch.strided else value.to_dense()
        numbers = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        values = [float(v) for v in numbers.reshape(-1).tolist()[:3000]]
        return {"shape": list(value.shape), "dtype": str(value.dtype).split(".")[-1], "values": values}
    if isinstance(value, dict):
        return {str(key): flat(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [flat(item) for item in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def difference(got, want, tolerance=(2e-4, 2e-5), where=""):
    """Where two values differ, "" if they do not."""
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return f"{where}: {str(got)[:200]} for {str(want)[:200]}"
        if want.keys() == {"shape", "dtype", "values"}:
            tolerance = TOLERANCES.get(want["dtype"], tolerance)
        return next(filter(None, (difference(got[key], want[key], tolerance, f"{where}/{key}") for key in want)), "")
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        pairs = enumerate(zip(got, want, strict=True))
        return next(filter(None, (difference(a, b, tolerance, f"{where}/{i}") for i, (a, b) in pairs)), "")
    if isinstance(want, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        same = got == want or math.isnan(got) and math.isnan(want) or abs(got - want) <= tolerance[1] + tolerance[0] * abs(want)
    else:
        same = got == want
    return "" if same else f"{where}: {str(got)[:200]} for {str(want)[:200]}"


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for item in items for t in tensors(item)]


def played(case):
    """What a module does, as it is recorded."""
    (args, kwargs), (given, named) = ((decode(a), {k: decode(v) for k, v in b.items()}) for a, b in (case["init"], case["forward"]))
    torch.manual_seed(0)
    net = getattr(nn, case["name"])(*args, **kwargs).train(case["training"])
    answer = {"printed": repr(net)}
    if not case["name"].startswith("Lazy"):
        answer["state"] = flat(dict(net.state_dict()))
    torch.manual_seed(1)
    out = net(*given, **named)
    answer["out"] = flat(out)
    loss = 0
    for o in tensors(out):
        if o.requires_grad:
            loss = loss + (o * ((torch.arange(o.numel()) % 7 - 3).reshape(o.shape).to(o.dtype) * 0.1)).sum()
    if isinstance(loss, torch.Tensor):
        loss.backward()
        answer["grads"] = [flat(t.grad) for t in tensors([given, named]) if t.is_leaf and t.requires_grad]
        answer["parameter grads"] = {name: flat(param.grad) for name, param in net.named_parameters()}
    answer["state after"] = flat(dict(net.state_dict()))
    return answer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", cases("modules"), ids=lambda case: case["id"])
def test_modules_match_the_reference_results(case):
    assert not difference(played(case), case["answer"])


def programs():
    """The recorded programs. Backward hooks that refer to the program's results are a cycle through the engine, which keeps them."""
    for case in cases("programs"):
        marks = [pytest.mark.keeps_memory] if "backward_hook" in case["code"] else []
        yield pytest.param(case, id=case["id"], marks=marks)


@pytest.mark.parametrize("case", programs())
def test_programs_match_the_reference_results(case):
    # The modules of a package are those of its name, also where a program imports them.
    code = re.sub(r"^(\s*)(from|import) torch\b", r"\1\2 libtensor", case["code"], flags=re.M)
    results = []
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"torch": torch, "nn": nn, "R": results, "__name__": "__main__"})
    assert not difference(json.loads(json.dumps(flat(results))), case["answer"])


def test_every_layer_of_pytorch_is_recorded():
    found = {case["name"] for case in cases("modules")}
    assert len(found) > 110 and found <= set(nn.modules.__all__)
