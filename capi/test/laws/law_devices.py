"""Law 15: a call on a CUDA device answers as on the CPU, or is rejected by name; what is rejected there leaves nothing behind. With some of
its tensors left on the CPU it answers the same, or says which two devices they are on. It runs where there is a device, such as the
simulated one: LD_LIBRARY_PATH=build/cuda/sim build/venv/bin/python capi/test/laws --only devices.
"""

from dataclasses import replace

import numpy as np
from compare import ITERATED, STEP, sums, unsound, values_differ
from decompositions import UNIQUE, unique_parts_differ
from inputs import COMPLEX, FLOATS, apart, decode, draws
from law_places import SETTINGS, makes_garbage
from library import ANY_ORDER, CUDA, HOST, NOT_IMPLEMENTED, OK, Seen

NAME = "devices"
HOST_ONLY = "it compares devices with the CPU by itself"
# Random numbers of devices differ; the others query memory, or a file's bytes, which are the CPU's.
LEFT_OUT = ("query", "file", "storage")
# CPU-only functions: files, processes, and sources of Python's or C's memory.
OF_THE_HOST = ("from_data", "from_blob", "pin_memory", "to_string", "cpu_tier")
# Results that are undefined for singular matrices, with numbers that report those.
REPORTING = ("linalg.cholesky_ex", "linalg.inv_ex", "linalg.solve_ex")
MIXED = 0.2  # of the calls leave a tensor on the CPU
TWO_DEVICES = ("cpu", "cuda:0")  # the available devices then


def extreme(t):
    """Whether products of a tensor's elements may overflow."""
    if t.dtype not in (*FLOATS, *COMPLEX):
        return False
    with np.errstate(all="ignore"):
        return not bool((np.abs(decode(t.elements(), t.dtype).astype(np.complex128)) < 1e15).all())


def tensors_of(outcome):
    """The tensors among the results of a call."""
    return [x for x in outcome.flat() if isinstance(x, Seen)]


def check(library, call, rng):
    if (
        not library.devices("cuda")
        or draws(call.operator)
        or call.operator["category"] in LEFT_OUT
        or call.operator["name"] in (*SETTINGS, *OF_THE_HOST)
    ):
        return None
    if (
        not call.tensors()
        or makes_garbage(call)
        or call.form["mode"] == "out"
        or call.operator["name"].strip("_").split(".")[0] in ANY_ORDER
    ):
        return None
    made = call.mapped(lambda t, at: apart(t, rng)[0])
    here = library.run(made)
    places = [at for _, at in made.tensors()]
    if mixed := len(places) > 1 and rng.random() < MIXED:
        stays = rng.choice(places)
        made = made.mapped(lambda t, at: replace(t, device="host") if at == stays else t)
    library.place = CUDA
    try:
        there = library.run(made)
    finally:
        library.place = HOST
    if text := unsound(made, there):
        return f"on cuda: {text}", made
    if there.status == NOT_IMPLEMENTED and "on cuda" in there.message:
        return ""
    if mixed and there.status != OK and all(name in there.message for name in TWO_DEVICES):
        return ""
    if there.deferred and here.status != OK:
        return ""
    if here.status != there.status or there.deferred:
        return f"status {here.status} ({here.message}) on the cpu and {there.status} ({there.message}) on cuda", made
    name = call.operator["name"]
    if here.status != OK or name in ITERATED:
        return ""
    seen = tensors_of(here)
    if name in UNIQUE:
        text = unique_parts_differ(name, seen, tensors_of(there))
        return (f"the cpu and cuda differ in {text}", made) if text else ""
    if name in REPORTING and decode(seen[-1].elements, seen[-1].dtype).any():
        here, there = (replace(x, results=x.results[-1:]) for x in (here, there))
    step = max(STEP.get(t.dtype, 0) for t in [*seen, *(t for t, _ in call.tensors())])
    sum_of = {"reordered": sums(call), "extreme": sums(call) and any(extreme(t) for t, _ in call.tensors())}
    text = values_differ(here.results, there.results, step, strides=True, **sum_of)
    for at in here.tensors:
        text = text or values_differ(here.tensors[at], there.tensors[at], step, path=f"argument {at} after the call", **sum_of)
    return (f"the cpu and cuda differ in {text}", made) if text else ""
