"""Chooses the calls that operators.py makes from every language.

Runs the recorded reference cases and the documentation's examples in Python and notes what each C function is called with.
A call is a dict: c (the function), id, args (values by parameter, see `read`). In-place and out forms get the arguments
of the function form.
"""

import contextlib
import ctypes
import json
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = HERE / "../../bindings/python"
sys.path.insert(0, str(PYTHON / "tests"))

import golden_player  # noqa: E402
import libtensor as torch  # noqa: E402
from libtensor._base import direct as _direct  # noqa: E402
from libtensor._base import dtypes as _dtypes  # noqa: E402
from libtensor._base import library as _library  # noqa: E402, F401
from libtensor._gen import gen_functions, gen_lists  # noqa: E402, F401

OPERATORS = json.loads((HERE / "gen_operators.json").read_text())
FORMS = {form["c"]: (operator, form) for operator in OPERATORS for form in operator["forms"]}
SCALARS = ("none", "bool", "int", "float", "complex")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
LARGEST = 2000  # bytes of a tensor's storage
CANDIDATES = 8  # calls that are kept for one C function
NONE = -(2**63)  # TENSOR_NONE


class Unsuitable(Exception):
    """The call cannot be written down: large tensors, other devices, objects of the host."""


def borrowed(handle):
    """A Tensor over a handle that somebody else owns."""
    tensor = _direct.TensorBase.__new__(torch.Tensor)
    tensor._h = handle
    return tensor


def tensor(handle):
    if not handle:
        return None
    t = borrowed(handle)
    try:
        if t.layout is not torch.strided:
            raise Unsuitable
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


def index(items):
    """The items of an index, whose fields count where their kinds use them."""
    bounds = {0: 1, 1: 3, 5: 1}  # of integers, slices, bools
    found = []
    for kind, handle, *numbers in struct.iter_unpack("i4xPqqq", items):
        used = bounds.get(kind, 0)
        found.append({"kind": kind, "tensor": tensor(handle) if kind == 4 else None, "bounds": [*numbers[:used], *[0] * (3 - used)]})
    return found


class Value(ctypes.Union):
    """lt_value: an argument of an operator (capi/value.h)."""

    class List(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_int64)]

    _fields_ = [("scalar", _library.Scalar), ("i", ctypes.c_int64), ("f", ctypes.c_double), ("pointer", ctypes.c_void_p)]
    _fields_ += [("text", ctypes.c_char_p), ("device", _library.Device), ("list", List)]


class Operator(ctypes.Structure):
    """The beginning of lt_operator: what runs it."""

    _fields_ = [("run", ctypes.c_void_p)]


find = _library.library.tensor_operator
find.restype, find.argtypes = ctypes.POINTER(Operator), [ctypes.c_char_p]
Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_bool, ctypes.POINTER(Value))


def read(kind, value):
    """An argument, whose type in the schema is `kind`."""
    optional = kind.endswith("?")
    base = kind.removesuffix("?")
    if base.endswith("[]") or base == "Index":
        return None if not value.list.data and optional else items(base.replace("?", "").removesuffix("[]"), value.list)
    match base:
        case "Tensor":
            return tensor(value.pointer)
        case "Scalar":
            return scalar(value.scalar)
        case "bool":
            return None if optional and value.i == -1 else bool(value.i)
        case "int":
            return None if optional and value.i == NONE else value.i
        case "float" if optional:
            return number(ctypes.c_double.from_address(value.pointer).value) if value.pointer else None
        case "float":
            return number(value.f)
        case "str":
            return value.text.decode() if value.text else None
        case "dtype":
            return None if value.i == -1 else golden_player.short(_dtypes.DTYPES[value.i])
        case "layout":
            return None if value.i == -1 else LAYOUTS[value.i]
        case "memory_format":
            return None if value.i == -1 else FORMATS[value.i]
        case "device" if value.device.type in (-1, 0):
            return None if value.device.type == -1 else "cpu"
        case "Generator" if not value.pointer:
            return None
    raise Unsuitable


SIZES = {"Index": 40, "Tensor": 8, "int": 8, "float": 8, "bool": 1}


def items(base, list):
    if base not in SIZES:
        raise Unsuitable
    data = ctypes.string_at(list.data, list.length * SIZES[base]) if list.length else b""
    match base:
        case "Index":
            return index(data)
        case "Tensor":
            return [tensor(handle) for (handle,) in struct.iter_unpack("P", data)]
        case "int":
            return [*struct.unpack(f"{list.length}q", data)]
        case "float":
            return [number(v) for v in struct.unpack(f"{list.length}d", data)]
    return [bool(v) for v in data]


class Recorder:
    """Stands for what runs an operator in the library's table, and notes the calls that succeed."""

    reading = False  # while arguments are read, which calls functions too

    def __init__(self, address, forms, calls):
        self.function, self.forms, self.calls = Run(address), forms, calls

    def __call__(self, operator, mode, number, values):
        call, form = None, self.forms[mode][number]
        calls = self.calls.setdefault(form["c"], [])
        if len(calls) < CANDIDATES and not Recorder.reading:
            Recorder.reading = True
            with contextlib.suppress(Unsuitable):
                call = [read(kind, values[i]) for i, kind in enumerate(form["types"])]
            Recorder.reading = False
        status = self.function(operator, mode, number, values)
        if status == 0 and call is not None and call not in calls:
            kinds = {dtypes(c) for c in calls}
            if dtypes(call) not in kinds or len(kinds) > 2:
                calls.append(call)
        return status


def dtypes(args):
    """What tells calls apart that are worth keeping: the tensors' dtypes."""
    return tuple(a["dtype"] for a in args if isinstance(a, dict) and "dtype" in a)


def record():
    """Calls by C function."""
    calls = {}
    replaced = []
    for operator in OPERATORS:
        if not operator["forms"]:  # a deprecated operator, which the header does not declare
            continue
        row = find(operator["id"].encode()).contents
        forms = [[f for f in operator["forms"] if f["mode"] == mode] for mode in ("function", "inplace", "out")]
        recorder = Run(Recorder(row.run, forms, calls))
        replaced.append((row, row.run, recorder))
        row.run = ctypes.cast(recorder, ctypes.c_void_p).value
    try:
        for path in sorted((PYTHON / "tests/golden").glob("*.jsonl.gz")):
            for case in golden_player.cases(path):
                golden_player.play(case)
        for operator in OPERATORS:
            with contextlib.suppress(Exception):  # only successful calls are used; the examples are tested separately
                run_example(operator["example"])
        for line in (HERE / "operators_extra.txt").read_text().splitlines():
            if not line.startswith("#"):
                eval(line, {"torch": torch})
    finally:
        for row, address, _ in replaced:
            row.run = address
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
