"""Law 4: many elements answer as few do.

An operator that works on the positions of a dimension one by one, which a few small calls show, must do so at any size: what a
large call gives is what calls on pieces give. Sizes lie on both sides of the engine's thresholds.
"""

from dataclasses import replace

import numpy as np
from compare import STEP, sums, unsound, values_differ
from inputs import SIZE_LISTS, clones, dense, draws, is_position, with_size, with_values
from library import OK, Seen

NAME = "pieces"
HOST_ONLY = "what it looks for are thresholds of the CPU's paths; cuda/tests has sizes on both sides of the devices'"
ENVIRONMENT = {"LIBTENSOR_STREAM_BYTES": str(2**14)}  # so that outputs of all large calls are written past the caches
LIMIT = 1 << 30
SMALL = 6
WAYS = 4  # of making a call large that are tried
# Elements in all, with weights: around the vector width, the grain that threads share out, the caches, and the size that is written past
# them.
COUNTS = ((7, 33, 65, 4095, 2**15 - 1, 2**15 + 1, 2**16 + 3, 2**18 + 1, 2**20 + 5), (2, 2, 2, 6, 6, 6, 6, 2, 1))
STREAMED = 2**26 + 2**12  # size of the largest tensor in a soak test, above the threshold of streaming stores


def check(library, call, rng):
    if call.form["mode"] == "out" or draws(call.operator) or call.operator["name"].startswith(("empty", "new_empty")):
        return None
    made = next((m for m in prepared(call, rng) if splits(library, m, rng)), None)
    if made is None:
        return None
    others = max(t.numel // SMALL for t, _ in made.tensors() if SMALL in t.size)
    count = rng.choices(*COUNTS)[0]
    if rng.random() < 0.02:
        count = STREAMED // max(t.elements().dtype.itemsize for t, _ in made.tensors() if SMALL in t.size)
    size = max(count // max(others, 1), SMALL + 1)
    large = with_values(with_size(made, rng, size, SMALL, STREAMED), rng)
    if {t.size.count(size) for t, _ in large.tensors()} not in ({1}, {0, 1}):  # another dimension of that size would be cut, too
        return None
    cuts = sorted({0, size, min(size, rng.choice((1, 3, 16, 37))), rng.randrange(size), size - 1})
    problem = compared(library, large, size, cuts, rng)
    return (f"{size} positions at once differ from pieces cut at {cuts}: {problem}", large) if problem else ""


def prepared(call, rng):
    """The calls with one of its sizes made SMALL, which no other dimension has: wherever it stands, or in one dimension, counted
    from the last, as broadcasting aligns them."""
    call = clones(call)
    sizes = sorted({n for t, _ in call.tensors() for n in t.size if n > 1 and n != SMALL})
    ways = [(n, axis) for n in sizes for axis in (None, -1, -2)]
    for n, axis in rng.sample(ways, min(len(ways), WAYS)):
        made = with_size(call, rng, SMALL, n, axis=axis)
        changed = [(t, at) for t, at in made.tensors() if SMALL in t.size]
        if all(t.size.count(SMALL) == 1 for t, _ in changed) and changed and not renumbered(made, changed):
            yield made


def renumbered(call, changed):
    """Whether a list of positions grows along with what they are positions of, so that its elements mean others."""
    return any(at == (0,) for _, at in changed) and any(is_position(call, at) and len(t.size) == 1 for t, at in changed)


def splits(library, call, rng):
    """Whether a few calls with SMALL positions all give what their pieces give."""
    for cut in (1, 3, SMALL - 1):
        trial = with_values(call, rng)
        if compared(library, trial, SMALL, (0, cut, SMALL), rng) != "":
            return False
    return True


def compared(library, call, size, cuts, rng):
    """Text on how the whole call differs from its pieces, "" where it does not, None where they cannot be compared."""
    whole = library.run(call)
    if unsound(call, whole):
        return unsound(call, whole)
    if whole.status != OK:
        return None
    results = answers(call, whole)
    if not results or any(r.size.count(size) != 1 for r in results):
        return None
    step = max((STEP.get(r.dtype, 0) for r in results), default=0) if sums(call) else 0
    for low, high in zip(cuts, cuts[1:], strict=False):
        piece = library.run(part(call, size, low, high))
        if piece.status != OK:
            return f"positions {low} to {high} alone are rejected: {piece.message}"
        for r, p in zip(results, answers(call, piece), strict=True):
            axis = r.size.index(size)
            cut = replace(
                r, elements=np.take(r.elements, np.arange(low, high), axis), size=(*r.size[:axis], high - low, *r.size[axis + 1 :])
            )
            if text := values_differ(cut, p, step, path=f"positions {low} to {high}"):
                return text
    return ""


def answers(call, outcome):
    if call.form["mode"] == "inplace" or not call.operator["returns"]:
        return [outcome.tensors[(0,)]] if (0,) in outcome.tensors else []
    results = outcome.flat()
    return results if all(isinstance(r, Seen) and r.elements is not None for r in results) else []


def part(call, size, low, high):
    """The call on some positions of the dimensions of a size."""

    def change(t, _):
        if size not in t.size:
            return t
        return dense(np.take(t.elements(), np.arange(low, high), t.size.index(size)), t.dtype)

    made = call.mapped(change)
    names = [a["name"] for a in call.operator["args"]]
    args = [
        [high - low if n == size else n for n in v] if names[i] in SIZE_LISTS and isinstance(v, list) else v
        for i, v in enumerate(made.args)
    ]
    return replace(made, args=args)
