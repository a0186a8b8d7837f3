"""Law 3: a rejected call changes nothing: no value, no geometry, no count of writes, no handle, no byte in use."""

from dataclasses import replace

from compare import unsound
from inputs import apart, dense, numbers
from library import ABSENT, CUDA, DTYPES, Store, Tensor, row_major

NAME = "errors"
INTS = (-(2**63) + 1, 2**63 - 1, -1, 0, 1, 2, 5, -7, 63, 64, 65, 10**6, 2**31, 2**32, 2**40, 2**62)
FLOATS = ("nan", "inf", "-inf", "-1.0", "0.0", "1e308", "0.5")
TEXTS = ("", "none", "sum", "floor", "é", "x" * 300, "[0]", "cuda:9")
ALLOCATE = 1 << 28  # limit of bytes for a call
ON_DEVICE = 1 << 22  # the same on a device, as the simulated one is slow


def check(library, call, rng):
    if call.operator["name"] in (
        "from_data",
        "fail_allocation",
        "set_num_threads",
        "set_memory_limit",
        "set_default_dtype",
        "set_default_device",
        "set_grad_enabled",
        "manual_seed",
    ):
        return None
    made = call.mapped(lambda t, at: apart(t, rng)[0])
    if made.form["mode"] == "out":
        made = replace(made, outs=[out(rng) for _ in made.operator["returns"]])
    for _ in range(rng.choice((1, 1, 2))):
        made = spoiled(made, rng)

    def limited(lib):
        lib.set_limit(lib.stats()["in_use"] + (ON_DEVICE if lib.place is CUDA else ALLOCATE))
        return lambda: lib.set_limit(0)

    got = library.run(made, limited)
    if text := unsound(made, got):
        return text, made
    return ""


def out(rng):
    size = rng.choice(((0,), (2, 3), (5,), ()))
    dtype = rng.choice(DTYPES)
    return dense(numbers(rng, dtype, size), dtype)


def spoiled(call, rng):
    """The call with one argument that may not fit."""
    places = [
        i for i, kind in enumerate(call.form["types"]) if kind.rstrip("?") not in ("Storage", "Generator", "Node", "pointer", "layout")
    ]
    if not places:
        return call
    i = rng.choice(places)
    value = other(call.form["types"][i], call.args[i], rng)
    if call.operator["args"][i]["name"] in ("path", "filename", "descriptor", "nbytes"):
        value = call.args[i]
    return replace(call, args=[value if k == i else v for k, v in enumerate(call.args)])


def other(kind, value, rng):
    base, optional = kind.replace("?", ""), kind.endswith("?")
    if optional and rng.random() < 0.1:
        return None
    match base:
        case "Tensor":
            return tensor(value, rng)
        case "Tensor[]":
            items = list(value or [])
            if items and rng.random() < 0.8:
                i = rng.randrange(len(items))
                items[i] = tensor(items[i], rng)
                return items
            return items[:-1] if rng.random() < 0.5 else []
        case "Scalar":
            kind = rng.choice(("bool", "int", "float", "complex", "none"))
            if kind in ("bool", "int"):
                return {"kind": kind, "value": rng.choice(INTS) if kind == "int" else rng.choice((0, 1))}
            return {"kind": kind, "re": rng.choice(FLOATS), "im": rng.choice(FLOATS)}
        case "int":
            return rng.choice((*INTS, ABSENT))
        case "int[]":
            items = list(value or [1])
            items[rng.randrange(len(items))] = rng.choice(INTS)
            return rng.choice((items, [*items, rng.choice(INTS)], items[:-1], []))
        case "float":
            return float(rng.choice(FLOATS))
        case "float[]":
            return [rng.choice(FLOATS) for _ in range(rng.randrange(4))]
        case "bool":
            return rng.random() < 0.5
        case "dtype":
            return rng.choice((None, *DTYPES))
        case "str":
            return rng.choice(TEXTS)
        case "memory_format":
            return rng.choice((None, "contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))
        case "device":
            return rng.choice((None, "cpu", "meta"))
        case "Index":
            items = [dict(v) for v in value or []]
            if items:
                item = rng.choice(items)
                item["bounds"] = [rng.choice(INTS) for _ in item["bounds"]]
            return items
    return value


def tensor(t, rng):
    """Another tensor: sizes, dtype, elements, device or memory that may not fit; now and then none."""
    t = t or dense(numbers(rng, "float32", (2,)), "float32")
    turn = rng.randrange(7)
    if turn == 0:
        return None
    if turn == 1:
        size = rng.choice(((), (0,), (1,), (3, 0), (2, 2, 2), (1,) * 30, (7,)))
        return dense(numbers(rng, t.dtype, size), t.dtype)
    if turn == 2:
        dtype = rng.choice(DTYPES)
        return dense(numbers(rng, dtype, t.size), dtype)
    if turn == 3:
        return dense(numbers(rng, t.dtype, t.size, 0.3), t.dtype)
    if turn == 4:
        return replace(dense(t.elements(), t.dtype), read_only=True)
    if turn == 5:
        # Empty sizes: huge ones next to a zero.
        size = rng.choice(((0, 2**40), (2**31, 0), (0, 3, 2**33)))
        return Tensor(Store(b""), t.dtype, size, row_major(size))
    return replace(t, store=Store(b""), stride=row_major(t.size), offset=0, device="meta")
