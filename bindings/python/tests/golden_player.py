"""Repeats calls of PyTorch 2.15's reference cases and reports how libtensor's results differ.

A file of cases holds one JSON object a line:
  call, args, kwargs  a public name and what it was called with; "input" tensors are views of `storages` (base64)
  out, views          what came back, and for each tensor in it whether it shares memory with an argument
  raises              the exception instead of a result
  out_meta            dtype and size alone, for results that are random
A value is plain JSON or an object with one key for its type: see `decode`.
"""

import base64
import gzip
import json
import math

import ml_dtypes
import numpy as np

import libtensor as torch

# Relative and absolute: results of float32 may be summed in another order, those of 16 bits are rounded once more.
TOLERANCES = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (2e-5, 1e-5),
    "float64": (1e-9, 1e-9),
    "complex64": (3e-5, 2e-5),
    "complex128": (1e-9, 1e-9),
}
NUMPY = {"bfloat16": ml_dtypes.bfloat16}
PYTHON_TYPES = {"int": int, "float": float, "bool": bool}


def cases(path):
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def short(dtype):
    return str(dtype).removeprefix("libtensor.").removeprefix("torch.")


def decode(value, storages):
    """Returns the Python value of a recorded argument."""
    if isinstance(value, list):
        return [decode(item, storages) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "t":
            flat = storages.flat(content["storage"], content["dtype"])
            return torch.as_strided(flat, content["size"], content["stride"], content["offset"])
        case "f":
            return float(content)
        case "c":
            return complex(float(content[0]), float(content[1]))
        case "tuple":
            return tuple(decode(content, storages))
        case "dict":
            return {name: decode(item, storages) for name, item in content.items()}
        case "slice":
            return slice(*content)
        case "ellipsis":
            return Ellipsis
        case "dtype" | "layout" | "memory_format":
            return getattr(torch, content)
        case "device":
            return torch.device(content)
        case "pytype":
            return PYTHON_TYPES[content]
    raise ValueError(f"unknown kind of value {kind!r}")


class Storages:
    """The recorded bytes of one case; tensors over the same bytes share memory."""

    def __init__(self, texts):
        self.raw = [base64.b64decode(text) for text in texts]
        self.tensors, self.buffers = {}, {}

    def flat(self, index, dtype):
        key = (index, dtype)
        if key not in self.tensors:
            raw = self.raw[index]
            kind = getattr(torch, dtype)
            self.buffers[key] = bytearray(raw)
            self.tensors[key] = torch.frombuffer(self.buffers[key], dtype=kind) if raw else torch.empty(0, dtype=kind)
        return self.tensors[key]

    def array(self, spec):
        """The recorded values of a tensor as an array."""
        flat = np.frombuffer(self.raw[spec["storage"]], NUMPY.get(spec["dtype"], spec["dtype"]))
        if not math.prod(spec["size"]):
            return np.zeros(spec["size"], flat.dtype)
        strides = [s * flat.itemsize for s in spec["stride"]]
        return np.lib.stride_tricks.as_strided(flat[spec["offset"] :], spec["size"], strides)


def array(tensor):
    dense = tensor.resolve_conj().resolve_neg()
    return (dense.float() if tensor.dtype == torch.bfloat16 else dense).numpy()


def function(call):
    found = torch
    for name in call.split(".")[1:]:
        found = getattr(found, name)
    return found


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def play(case):
    """Plays one case; "" when all is as recorded, otherwise the difference."""
    storages = Storages(case["storages"])
    try:
        args, kwargs = decode(case["args"], storages), {k: decode(v, storages) for k, v in case["kwargs"].items()}
        addresses = {t.untyped_storage().data_ptr() for t in tensors([args, kwargs]) if t.untyped_storage().nbytes()}
        got = function(case["call"])(*args, **kwargs)
    except Exception as error:  # any kind: it is compared with the recorded one, or reported
        return find_fault(case, error)
    if "raises" in case:
        return f"was accepted instead of raising {case['raises']}"
    if "out_meta" in case:
        want = [(m["dtype"], m["size"]) for m in case["out_meta"]]
        have = [(short(t.dtype), list(t.shape)) for t in tensors(got)]
        return "" if have == want else f"{have} instead of {want}"
    problem = difference(got, case["out"], storages)
    if problem:
        return problem
    views = [bool(t.untyped_storage().nbytes()) and t.untyped_storage().data_ptr() in addresses for t in tensors(got)]
    return "" if views == case["views"] else f"results share memory with arguments: {views} instead of {case['views']}"


def find_fault(case, error):
    """Returns whether an exception matches a recorded one: any exception, except NotImplementedError unless PyTorch raised it too."""
    missing = isinstance(error, (AttributeError, NotImplementedError))
    if "raises" in case and (not missing or case["raises"] == type(error).__name__):
        return ""
    return f"raised {type(error).__name__}: {error}"


def difference(got, want, storages):
    """How a result differs from the recorded one."""
    if isinstance(want, dict) and "tuple" in want:
        want = want["tuple"]
    if isinstance(want, list):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"{got!r} instead of {len(want)} results"
        found = (difference(g, w, storages) for g, w in zip(got, want, strict=True))
        return next(filter(None, found), "")
    if isinstance(want, dict) and "t" in want:
        return tensor_difference(got, want["t"], storages)
    if isinstance(want, dict) and "dtype" in want:
        return "" if short(got) == want["dtype"] else f"{got} instead of {want['dtype']}"
    want = decode(want, storages)
    if isinstance(want, (float, complex)):
        return "" if np.allclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True) else f"{got} instead of {want}"
    return "" if got == want and type(got) is type(want) else f"{got!r} instead of {want!r}"


def tensor_difference(got, spec, storages):
    if not isinstance(got, torch.Tensor):
        return f"{type(got).__name__} instead of a tensor"
    if (short(got.dtype), list(got.shape)) != (spec["dtype"], spec["size"]):
        return f"{short(got.dtype)} {list(got.shape)} instead of {spec['dtype']} {spec['size']}"
    values, wanted = array(got), storages.array(spec)
    if spec["dtype"] in TOLERANCES:
        rtol, atol = TOLERANCES[spec["dtype"]]
        wanted = wanted.astype(values.dtype)
        close = np.isclose(values, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        close = values == wanted
    if not np.all(close):
        at = tuple(int(i) for i in np.argwhere(~np.asarray(close))[0])
        return f"{values[at]} instead of {wanted[at]} at {list(at)}"
    strides = [(s, w) for s, w, n in zip(got.stride(), spec["stride"], spec["size"], strict=True) if n > 1]
    if got.numel() and any(s != w for s, w in strides):
        return f"strides {got.stride()} instead of {spec['stride']}"
    return ""
