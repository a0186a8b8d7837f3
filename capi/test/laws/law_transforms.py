"""Law: inside jvp and vmap, also of no batch elements, a call is answered or rejected as outside: what is rejected changes nothing, no
tangent and no batch element, and leaves no handle or byte; results have a dimension for the batch elements and the sizes that they have
outside."""

import copy
from ctypes import byref, c_bool, c_int64, c_void_p
from dataclasses import replace

from compare import unsound
from hostile import LEFT_OUT
from law_errors import ALLOCATE, out, spoiled
from library import OK, Device, Library, dense

NAME = "transforms"
HOST_ONLY = "the layers of transforms do not know devices"
FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
CATEGORIES = (
    "storage",
    "file",
    "mode",
    "device",
    "generator",
    "process",
    "gradient",
    "transform",
    "quantized",
    "sparse",
)


class Inside(Library):
    """A library whose calls get some tensors as those of a transform."""

    def begin(self, transform, size, rng):
        self.transform, self.size, self.rng = transform, size, rng
        self.raw, self.wrapped, self.changed, self.mapped = {}, {}, "", False
        self.level = c_int64()
        if transform == "jvp":
            self.do("tensor_jvp_begin", byref(self.level))
        else:
            self.do(
                "tensor_vmap_begin",
                size,
                rng.choice((b"same", b"different", b"error")),
                byref(self.level),
            )

    def made(self, name, *values):
        handle = c_void_p()
        self.do(name, *values, byref(handle))
        return handle

    def given(self, handle, t, at):
        self.raw[at] = handle
        if t.layout != "strided" or t.device == "meta" or self.rng.random() < 0.3:
            return handle
        if self.transform == "jvp":
            if t.dtype not in FLOATS or t.read_only:
                return handle
            tangent = self.made("tensor_ones_like", handle, -1, -1, Device(-1, -1), -1)
            wrapper = self.made("tensor_jvp_wrap", handle, tangent, self.level)
            self.c.tensor_free(tangent)
            watched = self.made("tensor_jvp_tangent", wrapper, self.level)
        else:
            first = self.made("tensor_unsqueeze", handle, 0)
            sizes = (c_int64 * (1 + len(t.size)))(self.size, *t.size)
            expanded = self.made("tensor_expand", first, sizes, len(sizes), False)
            dim = self.rng.randrange(len(sizes))
            moved = self.made("tensor_movedim", expanded, 0, dim)
            watched = self.made("tensor_clone", moved, 0)
            wrapper = self.made("tensor_vmap_wrap", watched, dim, self.level)
            for h in (first, expanded, moved):
                self.c.tensor_free(h)
            self.mapped = True
        self.wrapped[at] = (wrapper, watched, self.elements(watched))
        return wrapper

    def elements(self, handle):
        found = super().seen(handle, {}).elements
        return None if found is None else found.tobytes()

    def seen(self, handle, made):
        level, maps = c_int64(), c_bool()
        self.do("tensor_jvp_level", handle, byref(level))
        self.do("tensor_vmap_maps", handle, self.level, byref(maps))
        if not level.value and not maps:
            return super().seen(handle, made)
        if level.value:
            part = self.made("tensor_jvp_primal", handle, level)
        else:
            part = self.made("tensor_vmap_unwrap", handle, 0, self.level)
        found = super().seen(part, made)
        found.maps = not level.value
        self.c.tensor_free(part)
        return found

    def watch(self, raw):
        """Called when the arguments are made; what it returns is called after the call."""
        self.set_limit(self.stats()["in_use"] + ALLOCATE)

        def after():
            self.set_limit(0)
            level = c_int64()
            for at, handle in self.raw.items():
                self.do("tensor_jvp_level", handle, byref(level))
                if level.value:
                    self.changed = f"argument {at} got a tangent"
            for at, (_, watched, before) in self.wrapped.items():
                if self.elements(watched) != before:
                    self.changed = f"argument {at}: the {'tangent' if self.transform == 'jvp' else 'batch elements'} changed"

        return after

    def end(self):
        for wrapper, watched, _ in self.wrapped.values():
            self.c.tensor_free(wrapper)
            self.c.tensor_free(watched)
        self.do("tensor_transform_leave", 0)


def check(library, call, rng):
    if call.operator["category"] in CATEGORIES or call.c in LEFT_OUT or not call.tensors():
        return None
    if "Node" in call.form["types"] or "Storage" in call.form["types"]:
        return None
    spoils = rng.random() < 0.5
    made = spoiled(call, rng) if spoils else call
    if made.form["mode"] == "out":
        made = replace(made, outs=outs(library, made, rng))
    inside = copy.copy(library)
    inside.__class__ = Inside
    transform, size = rng.choice((("jvp", 0), ("vmap", 2), ("vmap", 1), ("vmap", 0)))
    inside.begin(transform, size, rng)
    try:
        got = inside.run(made, inside.watch)
    finally:
        library.do("tensor_transform_leave", 0)
    made.note = f"inside {transform}" + (f" of {size} batch elements" if transform == "vmap" else "")
    if got.status != OK or got.live or got.leaked:
        if text := unsound(made, got):
            return f"{made.note}: {text}", made
        if got.status != OK and inside.changed:
            return f"{made.note}: rejected, but {inside.changed} ({got.message})", made
        return ""
    if spoils or call.form["mode"] != "function" or not inside.mapped:
        return ""
    want = library.run(made)
    if want.status != OK:
        return ""  # properties of a single batch element may be unavailable
    for result, plain in zip(tensors_of(got), tensors_of(want), strict=False):
        if getattr(result, "maps", False) and (result.size, result.dtype) != (
            (size, *plain.size),
            plain.dtype,
        ):
            return (
                f"{made.note}: a result of sizes {result.size} and dtype {result.dtype} for one of {plain.size} and {plain.dtype}",
                made,
            )
    return ""


def outs(library, call, rng):
    """Tensors for the results, now and then of other sizes and dtypes than these have."""
    function = next(
        (f["c"] for f in call.operator["forms"] if f["mode"] == "function" and f["types"] == call.form["types"]),
        None,
    )
    found = library.run(replace(call, c=function, outs=[])) if function and rng.random() < 0.8 else None
    if found is None or found.status != OK or any(r is None or r.elements is None for r in found.results):
        return [out(rng) for _ in call.operator["returns"]]
    return [dense(r.elements, r.dtype) for r in found.results]


def tensors_of(outcome):
    return [r for r in outcome.flat() if hasattr(r, "size")]
