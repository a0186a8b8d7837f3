"""Every operator gets every kind of tensor in every position, also in `out`: an answer or an error, but no crash, no hang, no internal
error."""

import os
import tempfile
from ctypes import byref, c_char_p, c_double, c_int64, c_void_p
from dataclasses import replace

import numpy as np
from hostile import LEFT_OUT
from inputs import Inputs, encode, with_values
from library import FORMS, HOST, INTERNAL, LAYOUTS, META, NAMES, Call, Device, Scalar, dense

NAME = "positions"
HOST_ONLY = "devices have dense tensors alone"
QUANTIZED = {name: NAMES.index(name) for name in ("quint8", "qint8", "qint32")}
DTYPES = ("float32", "float32", "float64", "complex64", "int64", "int32", "uint8", "uint16", "uint64", "bool", "float16", "bfloat16")
KINDS = (
    *("meta", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "uncoalesced", "meta sparse_coo"),
    *("qint8", "quint8", "qint32", "channels", "meta quint8"),
    *("named", "leaf", "history", "view of a leaf", "sparse leaf", "number", "inference", "expanded", "read only"),
)
FOLDER = tempfile.TemporaryDirectory()  # for files that operators write
ALONE = 0.7  # of the cases have one operand of another kind


def draw(inputs: Inputs, c, rng):
    if c in LEFT_OUT or "Node" in FORMS[c][1]["types"]:
        return None
    known = inputs.draw(c, rng)
    return made_up(c, rng) if known is None or FORMS[c][0]["category"] == "quantized" else known


def check(library, call, rng):
    places = [at for _, at in call.tensors()] + [(-1 - i,) for i in range(len(call.operator["returns"])) if call.form["mode"] == "out"]
    if not places:
        return None
    kinds = {}
    usual = rng.choice(("quint8", "qint8")) if call.operator["category"] == "quantized" and rng.random() < 0.8 else ""
    for at in places:
        kinds[at] = usual
    for at in rng.sample(places, 1 if rng.random() < ALONE else rng.randint(1, len(places))):
        kinds[at] = rng.choice(KINDS)
    status, message = attempt(library, call, kinds, rng)
    told = ", ".join(f"{k or 'strided'} at {at}" for at, k in kinds.items())
    return (f"internal error with {told}: {message}", call) if status == INTERNAL else ""


def made_up(c, rng):
    """A call of which nothing is known but the types of its arguments."""
    operator, form = FORMS[c]
    size = rng.choice(((3, 3), (3, 3), (3,), (), (2, 3, 3)))
    values = {
        "Tensor": lambda: dense(encode(np.full(size, 2.0), "float32"), "float32"),
        "Scalar": lambda: {"kind": "int", "value": rng.choice((0, 1, 2))},
        "int": lambda: rng.choice((0, 0, 1, 2)),
        "float": lambda: rng.choice((0.1, 0.5, 1.0)),
        "bool": lambda: rng.random() < 0.5,
        "str": lambda: os.path.join(FOLDER.name, "x"),
        "dtype": lambda: rng.choice(DTYPES),
    }

    def value(kind):
        base = kind.replace("?", "").removesuffix("[]")
        if kind.endswith("?") and rng.random() < 0.7 or base not in values:
            return [] if "[]" in kind else None
        return [values[base]() for _ in range(rng.choice((1, 2, 3)))] if "[]" in kind else values[base]()

    return Call(c, [value(k) for k in form["types"]])


def attempt(library, call, kinds, rng):
    """The status and message of a call whose tensors are of the kinds that are given by place."""
    made, kept, frees, handles = {}, [], [], []

    def handle(t, at):
        if t is None or not hasattr(t, "stride"):
            return library.storage(t, made) if t is not None else None
        handles.append(of_kind(library, library.tensor(t, made, kept), t, kinds.get(at, ""), kept))
        return handles[-1]

    words = []
    for i, (kind, value) in enumerate(zip(call.form["types"], call.args, strict=True)):
        words += library.words(kind, value, (i,), handle, kept, frees)
    cells = []
    if call.form["mode"] == "out":
        for i in range(len(call.operator["returns"])):
            like = rng.choice([t for t, _ in call.tensors()] or [dense(encode(np.zeros(()), "float32"), "float32")])
            words.append(handle(replace(with_values(Call(call.c, [like]), rng).args[0] if like.numel < 1000 else like), (-1 - i,)))
    elif call.form["mode"] == "function":
        for kind in call.operator["returns"]:
            cell = (Scalar if kind == "Scalar" else Device if kind == "device" else c_double if kind == "float" else c_int64)()
            length = c_int64() if kind.endswith("[]") else None
            cells.append((kind, cell, length))
            words += [byref(c) for c in (cell, length) if c is not None]
    after = library.limited()
    status = getattr(library.c, call.c)(*words)
    message = (library.c.tensor_last_error() or b"").decode(errors="replace") if status else ""
    after()
    for kind, cell, length in cells if not status else []:
        release(library, kind, cell, length)
    for h in handles:
        library.c.tensor_free(h)
    for free in frees:
        free()
    for h in made.values():
        library.c.tensor_storage_free(h)
    return status, message


def release(library, kind, cell, length):
    match kind:
        case "Tensor":
            library.c.tensor_free(cell.value)
        case "Tensor[]":
            library.c.tensor_list_free(cell.value, length.value)
        case "str":
            library.c.tensor_string_free(cell.value)
        case "str[]":
            library.c.tensor_string_list_free(cell.value, length.value)
        case "Storage":
            library.c.tensor_storage_free(cell.value)
        case "Generator":
            library.c.tensor_generator_free(cell.value)


def of_kind(library, given, t, kind, kept):
    """A handle of a kind, with the sizes and the dtype of the one that is given; that one where there is none."""
    made = given
    steps = {
        "meta": ["meta"],
        "meta sparse_coo": ["sparse_coo", "meta"],
        "meta quint8": ["quint8", "meta"],
        "sparse leaf": ["sparse_coo", "leaf"],
    }.get(kind, [kind] if kind else [])
    for step in steps:
        after = c_void_p()
        if convert(library, made, t, step, after, kept) or not after:
            continue
        library.c.tensor_free(made)
        made = after
    return made


def convert(library, given, t, kind, after, kept):
    """Makes `after` of the kind; a status other than 0 where the tensor cannot be."""
    c, dims = library.c, len(t.size)
    if kind in LAYOUTS:
        block = (c_int64 * 2)(1, 1)
        blocked = kind in ("sparse_bsr", "sparse_bsc")
        return c.tensor_to_sparse(given, LAYOUTS.index(kind), block if blocked else None, 2 if blocked else 0, -(2**63), byref(after))
    match kind:
        case "meta":
            return c.tensor_to_options(given, -1, -1, META, False, True, -1, byref(after))
        case "uncoalesced":
            once = c_void_p()
            status = c.tensor_to_sparse(given, 1, None, 0, -(2**63), byref(once))
            if status or not dims:
                return status or 1
            indices, values = c_void_p(), c_void_p()
            c.tensor_coo_indices(once, byref(indices)), c.tensor_coo_values(once, byref(values))
            doubled = c_void_p(), c_void_p()
            c.tensor_cat((c_void_p * 2)(indices, indices), 2, 1, byref(doubled[0]))
            c.tensor_cat((c_void_p * 2)(values, values), 2, 0, byref(doubled[1]))
            size = (c_int64 * dims)(*t.size)
            status = c.tensor_sparse_coo_tensor(doubled[0], doubled[1], size, dims, -1, Device(-1, -1), 0, byref(after))
            for h in (once, indices, values, *doubled):
                c.tensor_free(h)
            return status
        case "qint8" | "quint8" | "qint32":
            return quantized(c, given, lambda x: c.tensor_quantize_per_tensor(x, c_double(0.1), 1, QUANTIZED[kind], byref(after)))
        case "channels":
            if not dims:
                return 1
            n = t.size[-1]
            size = (c_int64 * 1)(n)
            scales, zeros = c_void_p(), c_void_p()
            one = Scalar(3)
            one.value.f.re = 0.1
            c.tensor_full(size, 1, one, NAMES.index("float32"), -1, HOST, byref(scales))
            c.tensor_zeros(size, 1, NAMES.index("int64"), -1, HOST, byref(zeros))
            status = quantized(
                c, given, lambda x: c.tensor_quantize_per_channel(x, scales, zeros, dims - 1, QUANTIZED["qint8"], byref(after))
            )
            c.tensor_free(scales), c.tensor_free(zeros)
            return status
        case "named":
            names = (c_char_p * dims)(*(b"abcdefgh"[i : i + 1] for i in range(dims)))
            kept.append(names)
            return c.tensor_rename(given, names, dims, byref(after))
        case "leaf":
            return c.tensor_detach(given, byref(after)) or c.tensor_set_requires_grad(after, True)
        case "history" | "view of a leaf":
            return c.tensor_set_requires_grad(given, True) or (
                c.tensor_clone(given, -1, byref(after)) if kind == "history" else c.tensor_view_as(given, given, byref(after))
            )
        case "number":
            value = Scalar(3)
            value.value.f.re = 2.5
            return c.tensor_scalar_operand(value, byref(after))
        case "inference":
            c.tensor_set_inference_mode(True)
            status = c.tensor_clone(given, -1, byref(after))
            c.tensor_set_inference_mode(False)
            return status
        case "expanded":
            size = (c_int64 * (dims + 1))(2, *t.size)
            return c.tensor_expand(given, size, dims + 1, False, byref(after))
    return 1


def quantized(c, given, make):
    floats = c_void_p()
    status = c.tensor_to_options(given, NAMES.index("float32"), -1, HOST, False, True, -1, byref(floats)) or make(floats)
    c.tensor_free(floats)
    return status
