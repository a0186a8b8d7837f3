"""Law 2: out= and in place give what the function gives, or are rejected before anything is written."""

from dataclasses import replace

import numpy as np
from compare import STEP, elements_differ, sums, unsound
from inputs import COMPLEX, FLOATS, INTEGERS, apart, clones, decode, dense, draws, encode, is_position, junk, lazily
from library import ANY_ORDER, CUDA, DTYPES, OK, SIZES, Seen, Store, Tensor, row_major

NAME = "outputs"
# Their results are uninitialized.
UNINITIALISED = ("empty", "new_empty", "empty_like")
# Operators whose in-place form changes the tensor's geometry, which the function form does by giving another tensor.
GEOMETRY = ("view", "query")


def check(library, call, rng):
    mode = call.form["mode"]
    if mode == "function" or call.operator["name"].split(".")[-1] in UNINITIALISED:
        return None
    same = [f["c"] for f in call.operator["forms"] if f["mode"] == "function" and f["types"] == call.form["types"]]
    if not same:
        return None
    call = clones(call)
    function = replace(call, c=same[0], outs=[])
    if library.place is CUDA and (not function.tensors() or call.operator["name"].strip("_") in ANY_ORDER):
        return None  # factories that are given no device make CPU tensors
    want = library.run(function)
    if text := unsound(function, want):
        return text, function
    return (inplace if mode == "inplace" else out)(library, call, want, rng)


def judged(library, made, want, fits, tolerance=0.0):
    """Makes the call: it must give what is wanted into tensors that fit, and may be rejected otherwise."""
    got = library.run(made)
    if text := unsound(made, got):
        return f"{made.note}: {text}", made
    if want.status != OK:
        return (f"{made.note}: the function is rejected ({want.message}), this is not", made) if got.status == OK else ""
    if got.status != OK:
        # Indexed writes require that their inputs and outputs do not overlap (docs/differences.md).
        writes = made.operator["category"] == "index" and "itself" in made.note
        apart = writes and "refer to a single memory location" in got.message
        return (f"{made.note}: rejected, though the function answers: {got.message}", made) if fits and not apart else ""
    places = [(-1 - i,) for i in range(len(made.outs))] or [(0,)]
    for i, (at, result) in enumerate(zip(places, want.results, strict=False)):
        at = at if at in got.tensors else next(other for t, other in made.tensors() if t is made.outs[i] and other in got.tensors)
        seen = got.tensors[at]
        if made.operator["category"] == "creation" and np.prod(seen.size) == np.prod(result.size):
            pass  # arange, linspace and logspace keep a shape with the right number of elements
        elif seen.size != result.size:
            return f"{made.note}: the sizes are {seen.size}, the function's {result.size}", made
        result.elements = result.elements.reshape(seen.size)
        wanted = result.elements if seen.dtype == result.dtype else converted(result, seen.dtype)
        if wanted is not None and (text := elements_differ(wanted, seen.elements, seen.dtype, tolerance)):
            return f"{made.note}: {text} (the function's first, of dtype {result.dtype})", made
        shape = next(t for t, other in made.tensors() if other == at)
        if fits and shape.size == seen.size and shape.stride != seen.stride and shape.numel > 1:
            return f"{made.note}: strides {shape.stride} became {seen.stride}", made
    return ""


def converted(result, dtype):
    """The elements cast to another dtype, None where C leaves the answer open."""
    if result.elements is None:
        return None
    numbers = decode(result.elements, result.dtype)
    if dtype in INTEGERS and (result.dtype in FLOATS or result.dtype in COMPLEX):
        real = np.nan_to_num(numbers.real.astype(np.float64), nan=1e30, posinf=1e30, neginf=1e30)
        if (np.abs(real) >= 100).any() or (dtype.startswith("uint") and (real < 0).any()):
            return None
    if dtype in INTEGERS:
        return np.frombuffer(np.ascontiguousarray(numbers.real.astype(dtype)).tobytes(), f"V{SIZES[dtype]}").reshape(numbers.shape)
    return encode(numbers, dtype) if dtype not in ("bfloat16", "complex32", "float16") else None


def inplace(library, call, want, rng):
    if call.operator["category"] in GEOMETRY:
        return None
    result = want.results[0] if want.status == OK else None
    own = call.args[0]
    fits = result is not None and (result.dtype, result.size) == (own.dtype, own.size)
    step = STEP.get(own.dtype, 0) if sums(call) else 0
    turns = [replace(call, note="in place")]
    turns.append(call.mapped(lambda t, at: lazily(apart(t, rng)[0], rng)[0] if at == (0,) else t))
    turns[-1].note = "in place on a view"
    for t, at in call.tensors():
        if at != (0,) and t.dtype == own.dtype and not is_position(call, at):
            turns += [*overlapping(call, own, t, at, rng, lambda made, at=at: made)]
    for made in turns:
        wanted = want
        if "overlapping" in made.note or "itself" in made.note:
            wanted = library.run(
                replace(
                    clones(made),
                    c=[f["c"] for f in call.operator["forms"] if f["mode"] == "function" and f["types"] == call.form["types"]][0],
                )
            )
        if problem := judged(library, made, wanted, fits and "overlapping" not in made.note, step):
            return problem
    frozen = call.mapped(lambda t, at: replace(t, read_only=True) if at == (0,) else t)
    return rejected(library, replace(frozen, note="in place on read-only memory"), own)


def overlapping(call, own, t, at, rng, finish):
    """Calls in which one operand is the tensor that is written, or shares memory with it."""
    if t.size == own.size:
        made = call.mapped(lambda x, place: own if place == at else x)
        yield replace(made, note=f"argument {at} is itself the tensor written")
    shift = rng.choice((0, 1))
    n = max(own.numel, t.numel) + shift
    raw = np.resize(np.concatenate([own.elements().reshape(-1), np.zeros(1, f"V{SIZES[own.dtype]}")]), n)
    store = Store(raw.tobytes())
    one = Tensor(store, own.dtype, own.size, row_major(own.size), 0)
    turned = tuple(reversed(row_major(tuple(reversed(t.size))))) if rng.random() < 0.5 else row_major(t.size)
    other = Tensor(store, t.dtype, t.size, turned, shift)
    made = call.mapped(lambda x, place: one if place == (0,) or x is own else other if place == at else x)
    yield finish(replace(made, note=f"argument {at} overlapping the tensor written"))


def rejected(library, made, written):
    """Memory that must not be written stays as it is, whatever the answer."""
    if not written.numel:
        return ""
    got = library.run(made)
    if text := unsound(made, got):
        return f"{made.note}: {text}", made
    return (f"{made.note}: not rejected", made) if got.status == OK else ""


def out(library, call, want, rng):
    results = [r for r in want.results if isinstance(r, Seen)] if want.status == OK else None
    if results is not None and (len(results) != len(want.results) or any(r.elements is None for r in results)):
        return None
    if results is None:
        # The function returns an error: so does this form, and it does not change its arguments.
        outs = [dense(np.frombuffer(junk(rng, 24), "V4"), "float32") for _ in call.operator["returns"]]
        return judged(library, replace(call, outs=outs, note="out="), want, False)
    step = STEP.get(results[0].dtype, 0) if sums(call) else 0
    shaped = [filled(r.dtype, r.size, rng) for r in results]
    # Random numbers are drawn in memory order, and 16 or more normal ones differently if the memory has gaps.
    kind = None
    if draws(call.operator):
        kind = "step" if all(t.numel < 16 for t in shaped) else "offset"
    turns = [
        ([filled(r.dtype, (0,), rng) for r in results], "out= is empty", True),
        (shaped, "out= fits", True),
        ([lazily(apart(t, rng, kind)[0], rng)[0] for t in shaped], "out= is a view", True),
        ([filled(r.dtype, (2, *r.size), rng) for r in results], "out= has another shape", False),
    ]
    if not makes_by_dtype(call):
        for dtype in DTYPES:
            size = rng.choice((None, None, (0,), (2,)))  # None is that of the result
            turns.append(
                ([filled(dtype, r.size if size is None else size, rng) for r in results], f"out= has dtype {dtype} and size {size}", False)
            )
    for outs, note, fits in turns:
        if problem := judged(library, replace(call, outs=outs, note=note), want, fits, step):
            return problem
    for problem in (aliased(library, call, want, results, rng, step), lost(library, call, results, rng)):
        if problem:
            return problem
    return ""


def makes_by_dtype(call):
    """Whether the dtype to compute, or to draw, in is that of out=, so that the function gives other numbers."""
    return call.operator["name"] == "normal" or any(
        a["name"] == "dtype" and v is None for a, v in zip(call.operator["args"], call.args, strict=True)
    )


def filled(dtype, size, rng):
    n = int(np.prod(size, dtype=np.int64)) * SIZES[dtype]
    return Tensor(Store(junk(rng, n)), dtype, tuple(size), row_major(size))


def aliased(library, call, want, results, rng, step):
    """out= that is an operand, or shares memory with one."""
    function = next(f["c"] for f in call.operator["forms"] if f["mode"] == "function" and f["types"] == call.form["types"])
    for t, at in call.tensors():
        for i, r in enumerate(results):
            outs = [filled(x.dtype, x.size, rng) for x in results]
            if (t.dtype, t.size) == (r.dtype, r.size):
                outs[i] = t
                if problem := judged(library, replace(call, outs=outs, note=f"out= is argument {at}"), want, False, step):
                    return problem
            if t.dtype == r.dtype and t.numel and not is_position(call, at):
                shift = rng.choice((0, 1, 2))
                count = int(np.prod(r.size, dtype=np.int64))
                raw = np.resize(t.elements().reshape(-1), max(t.numel, count) + shift)
                store = Store(raw.tobytes())
                operand = replace(t, store=store, stride=row_major(t.size), offset=rng.choice((0, shift)))
                outs[i] = Tensor(store, r.dtype, r.size, row_major(r.size), shift - operand.offset)
                made = replace(at_place(call, at, operand), outs=outs, note=f"out= overlapping argument {at}")
                wanted = library.run(replace(clones(made), c=function, outs=[]))
                alike = wanted.status == OK and [x.size for x in wanted.results] == [x.size for x in results]
                if alike and (problem := judged(library, made, wanted, False, step)):
                    return problem
    return ""


def at_place(call, at, tensor):
    return call.mapped(lambda t, place: tensor if place == at else t)


def lost(library, call, results, rng):
    """out= that cannot take a result: read-only, several elements at one place, twice the same tensor."""
    for i, r in enumerate(results):
        outs = [filled(x.dtype, x.size, rng) for x in results]
        fit = outs[i]
        if fit.numel:
            outs[i] = replace(fit, read_only=True)
            if problem := rejected(library, replace(call, outs=outs, note="out= is read-only"), fit):
                return problem
        if fit.numel > 1:
            outs[i] = Tensor(Store(junk(rng, SIZES[r.dtype])), r.dtype, r.size, (0,) * len(r.size))
            if problem := rejected(library, replace(call, outs=outs, note="out= has all its elements at one place"), fit):
                return problem
    if len(results) > 1 and results[0].dtype == results[1].dtype and results[0].size == results[1].size:
        one = filled(results[0].dtype, results[0].size, rng)
        made = replace(call, outs=[one, one, *(filled(x.dtype, x.size, rng) for x in results[2:])], note="out= is twice the same tensor")
        got = library.run(made)
        if text := unsound(made, got):
            return f"{made.note}: {text}", made
    return ""
