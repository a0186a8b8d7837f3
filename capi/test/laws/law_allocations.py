"""Law 3, second half: an allocation that fails, whichever of a call it is, is an error and nothing more."""

from dataclasses import replace

from compare import unsound, values_differ
from inputs import apart
from library import MEMORY, OK
from law_outputs import filled
from library import Seen

NAME = "allocations"
STEPS = 12  # limits tried between nothing and what the call takes at its peak


def check(library, call, rng):
    if call.operator["name"] in ("set_memory_limit", "empty_cache", "reset_peak_memory_stats", "memory_stats", "memory_summary"):
        return None
    made = call.mapped(lambda t, at: apart(t, rng)[0])
    if made.form["mode"] == "out":
        function = [f["c"] for f in made.operator["forms"] if f["mode"] == "function" and f["types"] == made.form["types"]]
        want = library.run(replace(made, c=function[0], outs=[])) if function else None
        if not want or want.status != OK:
            return None
        made = replace(made, outs=[filled(r.dtype, (0,), rng) for r in want.results if isinstance(r, Seen)])
    peak = []

    def watched(lib):
        lib.do("tensor_empty_cache")
        lib.do("tensor_reset_peak_memory_stats")
        before = lib.stats()["in_use"]
        return lambda: peak.append(lib.stats()["peak"] - before)

    whole = library.run(made, watched)
    if text := unsound(made, whole):
        return text, made
    if whole.status != OK or not peak[0]:
        return None
    for allowed in sorted({min(peak[0] - 1, peak[0] * i // STEPS) for i in range(STEPS + 1)}):

        def limited(lib, allowed=allowed):
            lib.do("tensor_empty_cache")
            lib.do("tensor_set_memory_limit", max(lib.stats()["in_use"] + allowed, 1))
            return lambda: lib.do("tensor_set_memory_limit", 0)

        got = library.run(made, limited)
        note = f"with {allowed} of {peak[0]} bytes"
        if text := unsound(made, got):
            return f"{note}: {text}", made
        if got.status not in (OK, MEMORY):
            return f"{note}: status {got.status} ({got.message})", made
        if got.status == OK and (text := values_differ(whole.results, got.results)):
            return f"{note}: another answer: {text}", made
    return ""
