"""Calls as functions, in Python, of the tensors whose gradients are wanted."""

import os
import sys

from inputs import COMPLEX, FLOATS, is_position
from law_languages import plain
from library import HERE, ROOT, Tensor

os.environ.setdefault("LIBTENSOR_LIBRARY", str(ROOT / "build/libtensor.so"))
sys.path.insert(0, str(HERE.parent))

import operators
from operators import torch

place = "cpu"  # of all tensors
NUMBERS = set(FLOATS + COMPLEX) - {"complex32", "bcomplex32"}


class Function:
    """A call of a C function as a function of its operands: the tensors of floats and complex numbers that hold no positions."""

    def __init__(self, call):
        self.call, self.operator, self.form = call, call.operator, call.form
        self.places = [at for t, at in call.tensors() if t.dtype in NUMBERS and not is_position(call, at)]
        self.mutated = {at for at in self.places if call.mutated(at)}

    def operands(self, wanted=True):
        """Leaves with the elements and the layouts that the call has; tensors of one store share memory."""
        stores = {}
        tensors = {at: t for t, at in self.call.tensors()}
        return [laid(tensors[at], stores).requires_grad_(wanted) for at in self.places]

    def __call__(self, *operands):
        """What the call gives, without names."""
        return [t.rename(None) for t in self.results(*operands)]

    def results(self, *operands):
        """All floats and complex numbers that the call gives, and what it changes."""
        given = {at: t.clone() if at in self.mutated else t for at, t in zip(self.places, operands, strict=True)}
        types = self.form["types"]
        values = [self.value(kind, v, (i,), given) for i, (kind, v) in enumerate(zip(types, self.call.args, strict=True))]
        got = operators.apply(self.operator, self.form, values)
        if place == "cuda":
            torch.cuda.synchronize()  # raises the error of an index out of range
        return [t for t in flat(got) if t.is_floating_point() or t.is_complex()]

    def value(self, kind, v, at, given):
        if at in given:
            return given[at]
        if isinstance(v, list) and any((*at, i) in given for i in range(len(v))):
            return [self.value(kind.removesuffix("[]"), item, (*at, i), given) for i, item in enumerate(v)]
        return moved(operators.python_value(kind, plain(kind, v)))


def laid(t: Tensor, stores):
    if t.store not in stores:
        here = torch.frombuffer(bytearray(t.store.data), dtype=torch.uint8).clone() if t.store.data else torch.empty(0, dtype=torch.uint8)
        stores[t.store] = here.to(place)
    dtype = getattr(torch, t.dtype)
    made = torch.empty(0, dtype=dtype, device=place)
    made.set_(stores[t.store].untyped_storage(), t.offset, t.size, t.stride)
    for key in t.lazy:
        made = made.conj() if key == "conj" else torch._neg_view(made)
    return made


def moved(value):
    """Tensors, alone or in a list, where all are."""
    if isinstance(value, list):
        return [moved(item) for item in value]
    return value.to(place) if isinstance(value, torch.Tensor) else torch.device(place) if isinstance(value, torch.device) else value


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in flat(item)] if isinstance(value, (tuple, list)) else []


def finite(tensors):
    return all(bool(t.detach().to_dense().isfinite().all()) for t in tensors)
