"""Replays calls that were recorded from PyTorch 2.15: arguments, results, strides, shared memory, refusals.

A case is a JSON object: `call` (public name), `args`, `kwargs`, `storages` (base64 bytes), and `out` with `views` (does each
result share memory with an argument), or `raises`, or `out_meta` where values are random. A value is JSON, or an object with
one key: `t` tensor {storage, dtype, size, stride, offset}, `f` float as text, `c` complex, `tuple`, `dict`, `slice`, ...
"""

import base64
import math

import numpy as np

import libtensor as torch

# rtol and atol of values by dtype.
TOLERANCES = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float32": (2e-5, 1e-5),
    "float64": (1e-9, 1e-9),
    "complex64": (3e-5, 2e-5),
    "complex128": (1e-9, 1e-9),
}
PYTHON_TYPES = {"int": int, "float": float, "bool": bool}
# Decompositions that are unique only up to sign or phase: their values are checked by their definitions elsewhere.
NOT_UNIQUE = ("linalg.eig", "linalg.householder", "linalg.ldl", "linalg.lstsq", "linalg.qr", "linalg.svd", "geqrf", "ormqr", "svd")


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


class Case:
    def __init__(self, record):
        self.record = record
        self.raw = [base64.b64decode(s) for s in record["storages"]]
        self.flat = {}

    def tensor(self, spec):
        key = spec["storage"], spec["dtype"]
        if key not in self.flat:
            raw, dtype = self.raw[spec["storage"]], getattr(torch, spec["dtype"])
            self.flat[key] = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return torch.as_strided(self.flat[key], spec["size"], spec["stride"], spec["offset"])

    def value(self, x):
        if isinstance(x, list):
            return [self.value(v) for v in x]
        if not isinstance(x, dict):
            return x
        ((kind, v),) = x.items()
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, v)
        make = {
            "t": self.tensor,
            "f": float,
            "c": lambda c: complex(float(c[0]), float(c[1])),
            "tuple": lambda items: tuple(map(self.value, items)),
            "dict": lambda items: {k: self.value(i) for k, i in items.items()},
            "slice": lambda parts: slice(*parts),
            "ellipsis": lambda _: Ellipsis,
            "device": torch.device,
            "pytype": PYTHON_TYPES.get,
        }
        return make[kind](v)

    def run(self):
        """What differs from the record, as text; "" when nothing does."""
        record = self.record
        args = self.value(record["args"])
        kwargs = {k: self.value(v) for k, v in record["kwargs"].items()}
        function = torch
        for part in record["call"].split(".")[1:]:
            function = getattr(function, part)
        if "raises" in record:
            try:
                function(*args, **kwargs)
            except AttributeError:
                raise
            except Exception:
                return ""
            return f"accepted, where PyTorch raises {record['raises']}"
        inputs = {t.untyped_storage().data_ptr() for t in tensors([args, kwargs])}
        result = function(*args, **kwargs)
        found = list(tensors(result))
        if record.get("shape_only"):
            want = [(m["dtype"], m["size"]) for m in record["out_meta"]]
            got = [(name_of(t.dtype), list(t.shape)) for t in found]
            return "" if got == want else f"{got} for {want}"
        problem = self.difference(result, record["out"])
        views = [bool(t.untyped_storage().nbytes() and t.untyped_storage().data_ptr() in inputs) for t in found]
        return problem or ("" if views == record["views"] else f"shared memory {views} for {record['views']}")

    def expected(self, spec):
        raw = self.raw[spec["storage"]]
        half = spec["dtype"] == "bfloat16"
        flat = (np.frombuffer(raw, "<u2").astype("u4") << 16).view("f4") if half else np.frombuffer(raw, spec["dtype"])
        if not math.prod(spec["size"]):
            return np.zeros(spec["size"], flat.dtype)
        return np.lib.stride_tricks.as_strided(flat[spec["offset"] :], spec["size"], [s * flat.itemsize for s in spec["stride"]])

    def difference(self, got, want):
        if isinstance(want, dict) and "t" in want:
            return self.tensor_difference(got, want["t"])
        if isinstance(want, dict) and "tuple" in want:
            want = want["tuple"]
        if isinstance(want, list):
            if not isinstance(got, (list, tuple)) or len(got) != len(want):
                return f"{got!r} for {len(want)} results"
            return next(filter(None, map(self.difference, got, want)), "")
        if isinstance(want, dict) and "dtype" in want:
            return "" if name_of(got) == want["dtype"] else f"{got} for {want['dtype']}"
        want = self.value(want)
        if isinstance(want, (float, complex)):
            return "" if np.allclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True) else f"{got} for {want}"
        return "" if isinstance(want, dict) or got == want else f"{got!r} for {want!r}"

    def tensor_difference(self, got, spec):
        kind = name_of(got.dtype), list(got.shape)
        if kind != (spec["dtype"], spec["size"]):
            return f"{kind} for {(spec['dtype'], spec['size'])}"
        want = self.expected(spec)
        values = np.array(got.resolve_conj().resolve_neg().tolist()).reshape(want.shape)
        rtol, atol = TOLERANCES.get(spec["dtype"], (0, 0))
        unique = not self.record["id"].startswith(NOT_UNIQUE)
        if unique and not np.allclose(values.astype(want.dtype) if atol else values, want, rtol=rtol, atol=atol, equal_nan=bool(atol)):
            return f"values {values.ravel()[:8]} for {want.ravel()[:8]}"
        pairs = [(g, w) for g, w, n in zip(got.stride(), spec["stride"], spec["size"], strict=True) if n > 1]
        if got.numel() and any(g != w for g, w in pairs):
            return f"stride {got.stride()} for {spec['stride']}"
        return ""


def tensors(x):
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from tensors(v)
    elif isinstance(x, dict):
        yield from tensors(list(x.values()))
