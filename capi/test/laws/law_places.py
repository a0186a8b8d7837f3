"""Law 5, first half: a call answers alike on any number of threads, bit for bit, and meta tensors infer what it makes."""

from dataclasses import replace

from compare import unsound, values_differ
from inputs import apart, with_size, with_values
from library import OK, Seen, Store

NAME = "places"
HOST_ONLY = "it compares numbers of the CPU's threads"
THREADS = (2, 3, 8)
SETTINGS = ("set_num_threads", "get_num_threads", "default_generator", "generator_seed", "fail_allocation", "set_memory_limit")
MOST = 1 << 19  # elements of a call's tensors
MANY = 1024  # results of a large call, a handle each: the small one is tried instead


def check(library, call, rng):
    if call.form["mode"] == "out" or call.operator["name"] in SETTINGS:
        return None
    made = small = call.mapped(lambda t, at: apart(t, rng)[0])
    if rng.random() < 0.5 and call.tensors():
        # Enough elements for several threads to share.
        size = max(n for t, _ in call.tensors() for n in (*t.size, 1))
        rest = max((t.numel // size for t, _ in call.tensors() if size in t.size), default=1)
        made = with_values(with_size(call, rng, max(2**16 // max(rest, 1), 2) + 3, size, MOST), rng, 0)
    library.threads(1)
    one = library.run(made)
    if sum(len(r) if isinstance(r, list) else 1 for r in one.results) > MANY:
        made, one = small, library.run(small)
    if text := unsound(made, one):
        return text, made
    for n in THREADS:
        library.threads(n)
        many = library.run(made)
        library.threads(1)
        text = f"status {one.status} and {many.status} ({one.message or many.message})" if one.status != many.status else ""
        text = text or values_differ(one.results, many.results, strides=not makes_garbage(made), path="result")
        for at in one.tensors if not text else ():
            text = values_differ(one.tensors[at], many.tensors[at], path=f"argument {at}")
            if text:
                break
        if text and not makes_garbage(made):
            return f"one thread and {n} differ in {text}", made
    return inferred(library, made, one)


def makes_garbage(call):
    return "empty" in call.operator["name"] or call.operator["name"] in (
        "resize_",
        "resize_as_",
        "data_ptr",
        "storage_data_ptr",
        "storage_id",
        "lend",
        "memory_stats",
        "memory_summary",
        "generator_seed",
    )


def inferred(library, call, real):
    """Where a call on meta tensors is answered, it has the dtype, sizes and strides (which sparse ones lack) of the real one."""
    if call.operator["category"] in ("query", "file", "storage") or not call.tensors():
        return ""
    made = call.mapped(lambda t, _: replace(t, device="meta", store=Store(b""), offset=0))
    got = library.run(made)
    if got.status != OK:
        return (f"meta tensors: {text}", made) if (text := unsound(made, got)) else ""
    if real.status != OK:
        return (f"meta tensors are answered, real ones rejected: {real.message}", call) if from_geometry(real.message) else ""
    for a, b in zip(flat(call, real), flat(made, got), strict=False):
        if makes_garbage(call):
            a = replace(a, elements=None)
        if text := values_differ(a, b, strides=len(a.stride) == len(b.stride), path="meta tensors: result"):
            return text, call
    return ""


def from_geometry(message):
    """Whether a rejection follows from dtypes and sizes, which meta tensors have too."""
    return any(
        word in message
        for word in ("not implemented", "must match", "not supported", "expected all tensors", "can't be cast", "dimension out of range")
    )


def flat(call, outcome):
    if call.form["mode"] == "inplace" or not call.operator["returns"]:
        return [outcome.tensors[(0,)]] if (0,) in outcome.tensors else []
    return [x for x in outcome.flat() if isinstance(x, Seen)]
