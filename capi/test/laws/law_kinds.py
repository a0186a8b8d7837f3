"""What sparse operands give is what dense ones of the same elements give, but for zeros that a result does not keep; or they are
rejected."""

from dataclasses import replace

import numpy as np
from compare import ITERATED, unsound, values_differ
from inputs import draws, is_position, with_values
from law_places import makes_garbage
from library import OK, dense

NAME = "kinds"
HOST_ONLY = "devices have few kernels for sparse tensors, and reject the rest by name"
ZEROS = 0.6  # of the elements
OWN = ("ones_like", "full_like", "fill", "signbit")  # have elements where sparse tensors have entries, which zeros with a sign are not
SCALED = ("gradient",)  # by numbers that may be infinite or 0, which reach the entries alone
FIRST = ("triangular_solve",)  # whose other result is a copy of a strided operand
TOLERANCE = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 1e-3, "complex64": 1e-3, "complex32": 2e-2, "bcomplex32": 8e-2}


def check(library, call, rng):
    thin, made = with_sparse(call, rng)
    if made is None:
        return None
    got = library.run(made)
    if text := unsound(made, got):
        return text, made
    if got.status != OK or call.operator["category"] == "sparse" or call.operator["name"] in OWN + SCALED + ITERATED:
        return ""
    want = library.run(thin)
    if want.status != OK:
        return ""
    tolerance = max((TOLERANCE.get(t.dtype, 1e-9) for t, _ in call.tensors()), default=0)
    some = slice(1 if call.operator["name"] in FIRST else None)
    text = values_differ(want.results[some], got.results[some], tolerance=tolerance)
    return (f"dense and sparse operands differ in {text}", made) if text else ""


def with_sparse(call, rng):
    """The call with many elements 0, and that with some operands sparse; None for those of which no operand can be."""
    if (
        call.form["mode"] != "function"
        or makes_garbage(call)
        or draws(call.operator)
        or call.operator["category"] in ("storage", "file", "query", "gradient")
    ):
        return None, None
    places = [at for t, at in call.tensors() if t.size and not is_position(call, at)]
    if not places:
        return None, None
    thin = with_values(call, rng, special=0).mapped(lambda t, at: thinned(t, rng) if at in places else t)
    chosen = set(rng.sample(places, rng.randint(1, len(places))))
    return thin, thin.mapped(lambda t, at: replace(t, layout=layout(t, rng)) if at in chosen else t)


def thinned(t, rng):
    """The tensor with many elements 0, contiguous."""
    elements = np.ascontiguousarray(t.elements()).copy()
    raw = elements.reshape(-1).view(np.uint8).reshape(elements.size, elements.dtype.itemsize)
    raw[[i for i in range(elements.size) if rng.random() < ZEROS]] = 0
    return dense(elements, t.dtype)


def layout(t, rng):
    return rng.choice(("sparse_coo", "sparse_csr", "sparse_csc")) if len(t.size) == 2 else "sparse_coo"
