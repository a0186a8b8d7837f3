"""Law 5, third part: Python, with its direct calls and without, and Node answer what C answers, strides and bits alike."""

import json
import os
import struct
import subprocess
import sys
import time

from inputs import Inputs, apart, rng_of
from library import FORMS, HERE, OK, ROOT, Library, Seen, Tensor

NAME = "languages"
HOST_ONLY = "what Python and Node make of a device's tensors is cuda/tests' to try"
ADDON = ROOT / "bindings/node/build/libtensor.node"
# Their results are addresses, garbage or objects of the language.
OTHER = (
    "empty",
    "new_empty",
    "resize_",
    "data_ptr",
    "lend",
    "storage",
    "generator",
    "memory",
    "set_",
    "share_memory",
    "unique",
    "histogramdd",
    "from_",
    "set_num",
    "scalar_operand",
)
# Python takes the spacings of gradient in another form and the numbers of general_cosine by another name; Node has no function for slices.
ELSEWHERE = ("tensor_gradient_scalars", "tensor_slice", "tensor_signal_windows_general_cosine")
KINDS = ("Tensor", "Tensor[]", "bool", "int", "float")


def run(options, law, report):
    os.environ["LIBTENSOR_LIBRARY"] = str(os.environ.get("LIBTENSOR_LIBRARY") or ROOT / "build/libtensor.so")
    sys.path.insert(0, str(HERE.parent))
    import operators

    library, inputs = Library(), Inputs()
    library.limit = 1 << 28
    end = time.monotonic() + options.budget * 0.7 if options.budget else None
    names = [c for c, (o, _) in FORMS.items() if not options.operator or options.operator in (c, o["name"], o["id"], o["category"])]
    rounds = range(10**6 if end else options.rounds)
    if options.case:
        names, rounds = [options.case.rsplit("/", 1)[0]], [int(options.case.rsplit("/", 1)[1])]
    names = [c for c in names if c not in ELSEWHERE and FORMS[c][0]["category"] != "sparse"]  # whose results have no elements to print
    kept = []
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                break
            call = suitable(inputs, c, rng_of(options.seed, law, f"{c}/{n}"))
            if call is None:
                continue
            report.start(f"{c}/{n}")
            got = library.run(call)
            if got.status != OK:
                continue
            told = {"c": c, "id": f"{c}/{n}", "args": [plain(k, v) for k, v in zip(call.form["types"], call.args, strict=True)]}
            answer = told["id"] + text(call, got)
            if call.form["mode"] == "out":
                continue
            report.tell(law, True, c)
            try:
                python = told["id"] + operators.text(operators.call_python(told), True)
            except Exception as error:
                python = f"{told['id']} {type(error).__name__}: {error}"
            if python != answer:
                report.fail(law, told["id"], f"C answers {answer[:300]}, Python {python[:300]}")
                continue
            operator = FORMS[c][0]
            kept.append({**told, "answer": answer, "node": operator["node"], **operators.shape(told)})
    if not kept:
        return
    folder = ROOT / "build/laws"
    (folder / "operators.json").write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")
    if not ADDON.exists():
        print(f"{law}: the Node addon is not built, so that Node is left out; make laws builds it")
        return
    command = ["node", "--test", "test/operators.test.js"]
    environment = os.environ | {"LIBTENSOR_OPERATORS": str(folder / "operators.json")}
    done = subprocess.run(command, cwd=ROOT / "bindings/node", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = done.stdout.splitlines()
        pairs = [(a, b) for a, b in zip(lines, lines[1:], strict=False) if "Node   " in a and "Python " in b]
        for a, b in pairs[:20] or [(done.stdout[-1500:], "")]:
            case = a.split("Node   ")[-1].split(" ")[0]
            report.fail(law, case if "/" in case else "node/0", f"{a.strip()[:300]}; {b.strip()[:300]}")
    print(f"{law}: {len(kept)} calls in C, Python and Node")


def suitable(inputs, c, rng):
    operator, form = FORMS[c]
    name = operator["name"].split(".")[-1]
    if (
        operator["category"] in ("file", "storage")
        or name.startswith(OTHER)
        or not set(operator["returns"]) <= set(KINDS)
        or form["mode"] == "out"
    ):
        return None
    call = inputs.draw(c, rng)
    if call is None or any(t.dtype == "complex32" for t, _ in call.tensors()):
        return None
    return call.mapped(lambda t, _: apart(t, rng)[0] if rng.random() < 0.5 else t)


def plain(kind, value):
    """An argument as operators.py has it."""
    if isinstance(value, Tensor):
        return {
            "dtype": value.dtype,
            "size": list(value.size),
            "stride": list(value.stride),
            "offset": value.offset,
            "bytes": value.store.data.hex(),
        }
    if isinstance(value, list):
        return [plain(kind, v) for v in value]
    if isinstance(value, dict) and "tensor" in value:
        return {**value, "tensor": value["tensor"] and plain(kind, value["tensor"])}
    return value


def text(call, got):
    if call.form["mode"] == "inplace" or not call.operator["returns"]:
        return told(got.tensors[(0,)], "Tensor") if (0,) in got.tensors else ""
    return "".join(told(r, k) for r, k in zip(got.results, call.operator["returns"], strict=True))


def told(value, kind):
    if isinstance(value, Seen):
        sizes = ",".join(map(str, value.size)), ",".join(map(str, value.stride))
        return f" {value.dtype} [{sizes[0]}] [{sizes[1]}] {value.elements.tobytes().hex()}"
    if isinstance(value, list):
        return "".join(told(v, kind) for v in value)
    if kind == "float":
        return f" float {struct.pack('d', value).hex()}"
    return f" {kind} {value}"
