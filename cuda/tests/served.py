"""Which operators a CUDA device serves, by calling each: `python cuda/tests/served.py`, with the simulated driver on LD_LIBRARY_PATH,
writes cuda/served.json, from which `make generate` makes docs/gen_cuda.md and what dispatch_table tells. test_served.py calls again.

Every operator that has a tensor among its arguments is called with the arguments of its cases (capi/test/operators_record.py), in every
dtype that the CPU takes, on the CPU and on the device. A dtype is served where all of these calls are answered (all), or some of them.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "capi/test/laws"))
from inputs import Inputs, rng_of, with_dtype  # noqa: E402
from library import CUDA, DTYPES, HOST, NOT_IMPLEMENTED, OK, OPERATORS, Library  # noqa: E402

SERVED = ROOT / "cuda/served.json"
MOST = 4  # calls of an operator in one dtype
# They query the process, the CPU's memory, files, or a graph that a single call does not have.
LEFT_OUT = ("query", "file", "gradient", "storage")
DISTINCT = [d for d in DTYPES if d != "complex32"]


def calls(inputs, operator):
    """The calls of an operator by dtype."""
    form = next((form for form in operator["forms"] if form["mode"] == "function"), operator["forms"][0])
    known = [call for call in inputs.calls[form["c"]] if call.tensors()]
    rng_of(form["c"]).shuffle(known)
    return {dtype: [with_dtype(call, dtype) for call in known[:MOST]] for dtype in DISTINCT}


def answer(library, call):
    """Whether a device serves a call that the CPU answers; None for others."""
    if library.run(call).status != OK:
        return None
    library.place = CUDA
    try:
        there = library.run(call)
    finally:
        library.place = HOST
    if there.status not in (OK, NOT_IMPLEMENTED):
        wrong[call.c] = there.message
    return there.status == OK


wrong = {}  # functions that fail for another reason than a missing kernel


def table(only=None):
    """For each operator, what the device does with its dtypes: all, some or none of the calls."""
    library, inputs, found = Library(), Inputs(), {}
    for operator in OPERATORS:
        if operator["category"] in LEFT_OUT or not operator["forms"] or only is not None and operator["id"] not in only:
            continue
        words = {}
        for dtype, made in calls(inputs, operator).items():
            answers = [a for a in (answer(library, call) for call in made) if a is not None]
            if answers:
                words[dtype] = "all" if all(answers) else "some" if any(answers) else "none"
        if words:
            found[operator["id"]] = words
    return found


def text(found):
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(words)}" for name, words in sorted(found.items()))
    return "{\n" + lines + "\n}\n"


if __name__ == "__main__":
    SERVED.write_text(text(table()))
    for name, message in wrong.items():
        print(f"{name}: the cpu answers, and cuda says: {message}", file=sys.stderr)
