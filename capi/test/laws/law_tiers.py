"""Law 5, second half: every CPU tier answers as the baseline does, bit for bit, but for the elementary functions, which may differ by
their errors (docs/accuracy.md)."""

import pickle
import subprocess
import sys

import numpy as np
from compare import ITERATED, STEP, SUMMING_NAMES, plain_name, sums, values_differ
from inputs import COMPLEX, FLOATS, apart, decode, with_size, with_values
from library import HERE, Seen

NAME = "tiers"
HOST_ONLY = "tiers are paths of the CPU's kernels"
TIERS = ("baseline", "avx2", "avx512", "amx")
ULPS = 4  # each tier is within 1 to 2 of the exact value; special functions in float64 are looser, see docs/accuracy.md
LOOSE = (
    "digamma",
    "psi",
    "lgamma",
    "gammaln",
    "mvlgamma",
    "multigammaln",
    "zeta",
    "igamma",
    "igammac",
    "gammainc",
    "gammaincc",
    "polygamma",
    "erfinv",
)
EXACT = ("copy", "view", "index", "join", "comparison", "sort", "creation", "random")
# A child answers calls that it reads, so that one of each tier serves a whole run.
CHILD = f"""
import os, pickle, sys
sys.path.insert(0, {str(HERE)!r})
from library import Library
library = Library()
library.limit = 1 << 28
stream, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
while True:
    try:
        call = pickle.load(stream)
    except EOFError:
        break
    got = library.run(call)
    got.stores = {{}}
    for seen in got.tensors.values():
        seen.shares = None
    for seen in got.results:
        if hasattr(seen, "shares"): seen.shares = None
    pickle.dump((library.tier(), got), out)
    out.flush()
"""
children = {}


def ask(tier, call):
    import os

    if tier not in children:
        environment = os.environ | {"LIBTENSOR_CPU": tier}
        children[tier] = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    child = children[tier]
    pickle.dump(call, child.stdin)
    child.stdin.flush()
    try:
        return pickle.load(child.stdout)
    except EOFError:
        del children[tier]
        raise RuntimeError(f"the process of tier {tier} ended with status {child.wait()}") from None


def check(library, call, rng):
    if call.form["mode"] == "out" or not call.tensors() and call.operator["category"] not in ("creation", "random"):
        return None
    name = call.operator["name"].split(".")[-1]
    if name in ITERATED:
        return None
    if "empty" in name or name in (
        "resize_",
        "resize_as_",
        "data_ptr",
        "lend",
        "generator_seed",
        "cpu_tier",
        "memory_summary",
        "memory_stats",
    ):
        return None
    made = call.mapped(lambda t, at: apart(t, rng)[0])
    if rng.random() < 0.5 and call.tensors():
        made = with_values(with_size(call, rng, rng.choice((67, 129, 1031)), most=1 << 17), rng, 0.05)
    first = None
    for tier in TIERS:
        runs, got = ask(tier, made)
        if runs != tier:
            continue  # the CPU does not support these instructions
        if first is None:
            first = got
            continue
        if first.status != got.status:
            return f"baseline gives status {first.status} ({first.message}), {tier} {got.status} ({got.message})", made
        pairs = list(zip(first.flat(), got.flat(), strict=True)) + [(first.tensors[at], got.tensors[at]) for at in first.tensors]
        for a, b in pairs:
            if text := values_differ(a, b) and differ(made, a, b):
                return f"baseline and {tier} differ in {text}", made
    return ""


def differ(call, a, b):
    """Text on a difference beyond what the operator's kind allows."""
    if (
        not isinstance(a, Seen)
        or a.dtype not in FLOATS
        and a.dtype not in COMPLEX
        or call.operator["category"] in EXACT
        and plain_name(call.operator) not in SUMMING_NAMES
    ):
        return values_differ(a, b)
    if sums(call):
        return values_differ(a, b, STEP[a.dtype])
    loose = plain_name(call.operator) in LOOSE
    if a.size != b.size or a.dtype != b.dtype:
        return values_differ(a, b)
    wide = np.complex128 if a.dtype in COMPLEX else np.float64
    p, q = (decode(x.elements, x.dtype).astype(wide).reshape(-1) for x in (a, b))
    if a.dtype in COMPLEX:
        return values_differ(a, b, STEP[a.dtype] if loose else STEP[a.dtype] / 50)
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[a.dtype]
    with np.errstate(all="ignore"):
        ulp = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(p), 1e-300))) - digits)
        near = np.abs(p - q) <= ulp * (4000 if loose else ULPS)
        near |= (p == q) | (np.isnan(p) & np.isnan(q)) | (loose & (np.abs(p - q) <= 2.0 ** (8 - digits)))
    return "" if near.all() else values_differ(a, b)
