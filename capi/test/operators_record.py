"""Chooses the calls that operators.py makes from every language.

Runs the recorded reference cases and the documentation's examples in Python and notes what each C function is called with.
A call is a dict: c (the function), id, args (values by C parameter, see `Reader`). In-place and out forms get the arguments
of the function form.
"""

import contextlib
import ctypes
import json
import os
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = HERE / "../../bindings/python"
sys.path.insert(0, str(PYTHON / "tests"))
os.environ.setdefault("LIBTENSOR_PLAIN_CALLS", "1")  # so that every call is one of a C function that can be replaced

import golden_player  # noqa: E402
import libtensor as torch  # noqa: E402
from libtensor import _dtypes, _library, gen_fft, gen_functions, gen_linalg, gen_nn_functional, gen_special  # noqa: E402

OPERATORS = json.loads((HERE / "gen_operators.json").read_text())
FORMS = {form["c"]: (operator, form) for operator in OPERATORS for form in operator["forms"]}
MODULES = (gen_fft, gen_functions, gen_linalg, gen_nn_functional, gen_special)
SCALARS = ("none", "bool", "int", "float", "complex")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
LARGEST = 2000  # bytes of a tensor's storage
CANDIDATES = 8  # calls that are kept for one C function


class Unsuitable(Exception):
    """The call cannot be written down: large tensors, other devices, objects of the host."""


def borrowed(handle):
    """A Tensor over a handle that somebody else owns."""
    tensor = object.__new__(torch.Tensor)
    tensor._h = handle
    return tensor


def tensor(handle):
    if not handle:
        return None
    t = borrowed(handle)
    try:
        storage = t.untyped_storage()
        if t.device.type != "cpu" or storage.nbytes() > LARGEST or storage.nbytes() % t.element_size():
            raise Unsuitable
        raw = ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""
        place = {"size": list(t.shape), "stride": list(t.stride()), "offset": t.storage_offset()}
        return {"dtype": golden_player.short(t.dtype), **place, "bytes": raw.hex()}
    finally:
        t._h = 0


def number(value):
    """Floats are written as text, since JSON has neither infinities nor the difference of 1 and 1.0."""
    return repr(value)


def scalar(s):
    kind = SCALARS[s.kind]
    if kind in ("none", "bool", "int"):
        return {"kind": kind, "value": s.value.i if kind != "none" else 0}
    return {"kind": kind, "re": number(s.value.f.re), "im": number(s.value.f.im if kind == "complex" else 0.0)}


def index(data):
    items = []
    for kind, handle, *bounds in struct.iter_unpack("i4xPqqq", data):
        items.append({"kind": kind, "tensor": tensor(handle), "bounds": bounds})
    return items


class Reader:
    """Reads the C arguments of a call one after the other."""

    def __init__(self, values):
        self.values = iter(values)

    def read(self, kind):
        value = next(self.values)
        optional = kind.endswith("?")
        base = kind.removesuffix("?")
        if base.endswith("[]") or base == "Index":
            count = next(self.values)
            return None if value is None else self.items(base.replace("?", "").removesuffix("[]"), value, count)
        match base:
            case "Tensor":
                return tensor(value)
            case "Scalar":
                return scalar(value)
            case "bool":
                return None if optional and value == -1 else bool(value)
            case "int":
                return None if optional and value == _library.ABSENT else value
            case "float":
                if optional and value is not None:
                    value = ctypes.c_double.from_address(value).value if isinstance(value, int) else struct.unpack("d", bytes(value))[0]
                return None if value is None else number(float(value))
            case "str":
                return None if value is None else value.decode()
            case "dtype":
                return None if value == -1 else golden_player.short(_dtypes.DTYPES[value])
            case "layout":
                return None if value == -1 else LAYOUTS[value]
            case "memory_format":
                return None if value == -1 else FORMATS[value]
            case "device" if value.type in (-1, 0):
                return None if value.type == -1 else "cpu"
            case "Generator" if not value:
                return None
        raise Unsuitable

    def items(self, base, data, count):
        data = bytes(data)
        match base:
            case "Index":
                return index(data)
            case "Tensor":
                return [tensor(handle) for (handle,) in struct.iter_unpack("P", data)]
            case "int":
                return list(struct.unpack(f"{count}q", data))
            case "float":
                return [number(v) for v in struct.unpack(f"{count}d", data)]
            case "bool":
                return [bool(v) for v in data]
        raise Unsuitable


class Recorder:
    """Stands for a C function in a generated module, and notes the calls that succeed."""

    reading = False  # while arguments are read, which calls functions too

    def __init__(self, function, name, calls):
        self.function, self.name, self.calls = function, name, calls
        self.types = FORMS[name][1]["types"]

    def __call__(self, *values):
        call = None
        if len(self.calls) < CANDIDATES and not Recorder.reading:
            Recorder.reading = True
            with contextlib.suppress(Unsuitable):
                reader = Reader(values)
                call = [reader.read(kind) for kind in self.types]
            Recorder.reading = False
        status = self.function(*values)
        if not status and call is not None and call not in self.calls:
            kinds = {dtypes(c) for c in self.calls}
            if dtypes(call) not in kinds or len(kinds) > 2:
                self.calls.append(call)
        return status


def dtypes(args):
    """What tells calls apart that are worth keeping: the tensors' dtypes."""
    return tuple(a["dtype"] for a in args if isinstance(a, dict) and "dtype" in a)


def record():
    """Calls by C function."""
    calls = {}
    replaced = []
    for module in MODULES:
        for name, function in list(vars(module).items()):
            form = getattr(function, "__name__", "")
            if name.startswith("c_") and form in FORMS:
                replaced.append((module, name, function))
                setattr(module, name, Recorder(function, form, calls.setdefault(form, [])))
    try:
        for path in sorted((PYTHON / "tests/golden").glob("*.jsonl.gz")):
            for case in golden_player.cases(path):
                golden_player.play(case)
        for operator in OPERATORS:
            with contextlib.suppress(Exception):  # only what runs is of use; the examples have a test of their own
                run_example(operator["example"])
        for line in (HERE / "operators_extra.txt").read_text().splitlines():
            if not line.startswith("#"):
                eval(line, {"torch": torch})
    finally:
        for module, name, function in replaced:
            setattr(module, name, function)
    return {c: list(candidates(c, calls)) for c in FORMS}


def candidates(c, calls):
    """The calls of a C function: its own, those of the function form and of other names, and those with a tensor instead of a number."""
    operator, form = FORMS[c]
    alike = [o for o in OPERATORS if o["go"] == operator["go"]]
    forms = [f for o in alike for f in o["forms"] if f["types"] == form["types"] and (f["mode"] == "function" or f["c"] == c)]
    for other in sorted(forms, key=lambda f: f["c"] != c):
        yield from calls.get(other["c"], [])
    for other in operator["forms"]:
        changed = [i for i, (a, b) in enumerate(zip(other["types"], form["types"], strict=True)) if (a, b) == ("Tensor", "Scalar")]
        if other["mode"] == "function" and len(changed) == 1:
            for call in calls.get(other["c"], []):
                yield [*call[: changed[0]], {"kind": "int", "value": 2}, *call[changed[0] + 1 :]]


def run_example(text):
    names = {"torch": torch}
    for line in text.splitlines():
        if line.startswith((">>> ", "... ")):
            exec(line[4:], names)
