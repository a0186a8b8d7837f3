"""Law 3, second half: an allocation that fails, whichever of a call it is, is an error and nothing more."""

from dataclasses import replace

from compare import unsound, values_differ
from inputs import apart
from law_kinds import with_sparse
from law_outputs import filled
from library import CUDA, MEMORY, OK, Seen

NAME = "allocations"
LONGEST = 40  # allocations of a call that are made to fail, one in each of as many calls
SPARSE = 0.4  # of the calls have sparse operands


def check(library, call, rng):
    if call.operator["name"] in (
        "fail_allocation",
        "memory_stats",
        "memory_summary",
        "generator_seed",
        "data_ptr",
        "storage_data_ptr",
        "storage_id",
        "lend",
    ):
        return None
    sparse = rng.random() < SPARSE and library.place is not CUDA  # which has few kernels for them
    made = with_sparse(call, rng)[1] if sparse else None
    made = made or call.mapped(lambda t, at: apart(t, rng)[0])
    if made.form["mode"] == "out":
        function = [f["c"] for f in made.operator["forms"] if f["mode"] == "function" and f["types"] == made.form["types"]]
        want = library.run(replace(made, c=function[0], outs=[])) if function else None
        if not want or want.status != OK:
            return None
        made = replace(made, outs=[filled(r.dtype, (0,), rng) for r in want.results if isinstance(r, Seen)])
    whole = library.run(made)
    if text := unsound(made, whole):
        return text, made
    if whole.status != OK or whole.deferred:
        return None
    for turn in range(1, LONGEST + 1):

        def failing(lib, turn=turn):
            lib.do("tensor_fail_allocation", turn)
            return lambda: lib.do("tensor_fail_allocation", 0)

        got = library.run(made, failing)
        note = f"allocation {turn} fails"
        if text := unsound(made, got):
            return f"{note}: {text}", made
        if got.status not in (OK, MEMORY):
            return f"{note}: status {got.status} ({got.message})", made
        if got.status == OK:
            text = values_differ(whole.results, got.results) if "empty" not in made.c else ""
            return (f"{note}: another answer: {text}", made) if text else ""
    return ""
