"""Calls to try: recorded ones (operators_record.py), those of seeds.py, and variations of both in dtype, sizes and values."""

import itertools
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace

import ml_dtypes
import numpy as np
from library import DTYPES, FORMS, HERE, ROOT, SIZES, Call, Store, Tensor, dense, read, row_major

# Their elements are positions, masks or counts, which a change of dtype or values would make meaningless.
POSITIONS = (
    *("index", "indices", "mask", "condition", "repeats", "sorter", "tensor_indices_or_sections", "fweights"),
    *("boundaries", "sorted_sequence", "state", "data"),
)
# int[] arguments that are sizes: they follow when a size changes everywhere.
SIZE_LISTS = ("size", "sizes", "shape")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128", "complex32", "bcomplex32")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
NATIVE = {d: d for d in DTYPES} | {"bfloat16": ml_dtypes.bfloat16, "complex32": None}


# -------------------------------------------------------------------------------------------------------------- elements


def decode(elements, dtype):
    """Numbers of an array of void items."""
    flat = np.ascontiguousarray(elements)
    if dtype in ("complex32", "bcomplex32"):
        half = np.float16 if dtype == "complex32" else ml_dtypes.bfloat16
        halves = np.frombuffer(flat.tobytes(), half).astype(np.float32)
        return halves.view(np.complex64).reshape(elements.shape)
    return np.frombuffer(flat.tobytes(), NATIVE[dtype]).reshape(elements.shape)


def encode(numbers, dtype):
    """The void items of an array of numbers, cast as NumPy casts."""
    numbers = np.asarray(numbers)
    with np.errstate(all="ignore"):
        if dtype == "complex32":
            wide = np.ascontiguousarray(numbers.astype(np.complex64))
            raw = (
                wide.view(np.float32).astype(np.float16).tobytes() if wide.ndim else np.array([wide.real, wide.imag], np.float16).tobytes()
            )
        else:
            if dtype not in COMPLEX and np.iscomplexobj(numbers):
                numbers = numbers.real
            if dtype in INTEGERS and numbers.dtype.kind not in "iub":
                numbers = np.nan_to_num(numbers.astype(np.float64), nan=0, posinf=3, neginf=-3).clip(-100, 100)
            raw = np.ascontiguousarray(numbers.astype(np.bool_ if dtype == "bool" else NATIVE[dtype])).tobytes()
    return np.frombuffer(raw, f"V{SIZES[dtype]}").reshape(numbers.shape)


def numbers(rng, dtype, size, special=0.05):
    """Random elements: small numbers, and now and then an extreme one."""
    n = int(np.prod(size, dtype=np.int64))
    draw = np.random.default_rng(rng.getrandbits(64))
    if dtype == "bool":
        values = draw.integers(0, 2, n)
    elif dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = draw.integers(max(low, -9), 10, n)
        values = np.where(draw.random(n) < special, draw.choice([low, high, 0], n), values) if special else values
    else:
        values = np.round(draw.normal(0, 3, n), 2)
        if special:
            values = np.where(draw.random(n) < special, draw.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, 1e-30], n), values)
        if dtype in COMPLEX:
            values = values + 1j * np.round(draw.normal(0, 3, n), 2)
    return encode(values.reshape(size), dtype)


# ----------------------------------------------------------------------------------------------------------------- calls


def recorded(fresh=False):
    """Arguments by C function, from a cache unless the entries have changed since."""
    cache = ROOT / "build/laws/recorded.json"
    sources = [HERE.parent / "gen_operators.json", HERE.parent / "operators_extra.txt", HERE.parent / "operators_record.py"]
    if fresh or not cache.exists() or cache.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        cache.parent.mkdir(parents=True, exist_ok=True)
        script = (
            f"import json, sys; sys.path.insert(0, {str(HERE.parent)!r}); from operators_record import record; json.dump(record(), "
            f"sys.stdout)"
        )
        plain = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LIBTENSOR_LIBRARY", "LIBTENSOR_CPU")}
        text = subprocess.run([sys.executable, "-W", "ignore", "-c", script], stdout=subprocess.PIPE, check=True, env=plain).stdout
        partial = cache.with_suffix(f".{os.getpid()}")
        partial.write_bytes(text)
        partial.replace(cache)
    return json.loads(cache.read_text())


def tensor(value):
    return Tensor(Store(bytes.fromhex(value["bytes"])), value["dtype"], tuple(value["size"]), tuple(value["stride"]), value["offset"])


def argument(kind, value):
    base = kind.replace("?", "")
    if value is None:
        return None
    if base == "Tensor":
        return tensor(value)
    if base == "Tensor[]":
        return [v and tensor(v) for v in value]
    if base == "Index":
        return [{**v, "tensor": v["tensor"] and tensor(v["tensor"])} for v in value]
    if base == "device":
        return "cpu"
    return value


class Inputs:
    def __init__(self):
        import seeds

        self.calls = {c: [] for c in FORMS}
        for c, candidates in recorded().items():
            if c not in FORMS:
                continue  # recorded of another state of the entries
            types = FORMS[c][1]["types"]
            calls = [Call(c, [argument(k, v) for k, v in zip(types, args, strict=True)]) for args in candidates]
            self.calls[c] += filter(is_plain, calls)
        for c, args in seeds.calls():
            self.calls[c].append(Call(c, args))

    def draw(self, c, rng, changes=True):
        """A call of a C function, None where none is known."""
        if not self.calls[c]:
            return None
        call = rng.choice(self.calls[c])
        if not changes:
            return call
        if rng.random() < 0.5:
            call = with_size(call, rng)
        if rng.random() < 0.6:
            call = with_dtype(call, rng.choice(DTYPES))
        if rng.random() < 0.5:
            call = with_values(call, rng, rng.choice((0, 0.05)))
        return call


def is_plain(call):
    """Whether a call has no quantized dtype: elements that are such, and results of them, have another meaning than their bytes."""
    asked = [value for kind, value in zip(call.form["types"], call.args, strict=True) if kind.startswith("dtype") and value]
    return all(dtype in SIZES for dtype in [*asked, *(t.dtype for t, _ in call.tensors())])


def draws(operator):
    """Whether it draws random numbers, in the order of memory and, on a device, from another generator."""
    return operator["category"] == "random" or any(a["name"] == "generator" for a in operator["args"])


def is_position(call, at):
    name = call.operator["args"][at[0]]["name"] if at[0] >= 0 else ""
    return (
        name in POSITIONS
        or isinstance(call.args[at[0]], list)
        and call.form["types"][at[0]] in ("Index", "Tensor?[]", "Tensor[]?")
        and name != "tensors"
    )


def main_dtype(call):
    """The dtype of the first tensor that holds numbers."""
    return next((t.dtype for t, at in call.tensors() if not is_position(call, at)), None)


def with_dtype(call, dtype, of=None):
    """The call with another dtype in place of its main one."""
    main = of or main_dtype(call)
    if main is None:
        return call

    def change(t, at):
        if t.dtype != main or is_position(call, at):
            return t
        return dense(encode(decode(t.elements(), t.dtype), dtype), dtype)

    return call.mapped(change)


def with_values(call, rng, special=0.05):
    """The call with random elements in the tensors that hold numbers."""

    def change(t, at):
        return t if is_position(call, at) else dense(numbers(rng, t.dtype, t.size, special), t.dtype)

    return call.mapped(change)


def with_size(call, rng, size=None, old=None, most=1 << 16, axis=None):
    """The call with one of its sizes changed wherever it stands, or of one dimension, elements repeated or left out."""
    sizes = sorted({n for t, _ in call.tensors() for n in t.size if n > 0})
    if not sizes:
        return call
    old = old or rng.choice(sizes)
    new = rng.choice((0, 1, 2, 3, 5, 7, 8, 17, 33)) if size is None else size
    if sum(int(np.prod([new if n == old else max(n, 1) for n in t.size], dtype=object)) for t, _ in call.tensors()) > most:
        return call

    def change(t, _):
        if old not in t.size:
            return t
        elements = t.elements()
        for k, n in enumerate(t.size):
            if n == old and axis in (None, k - len(t.size)):
                elements = np.take(elements, np.arange(new) % n, k)
        return dense(elements, t.dtype)

    made = call.mapped(change)
    names = [a["name"] for a in call.operator["args"]]
    args = [[new if n == old else n for n in v] if names[i] in SIZE_LISTS and isinstance(v, list) else v for i, v in enumerate(made.args)]
    return replace(made, args=args)


def rng_of(*words):
    return random.Random("/".join(map(str, words)))


def case_numbers(options, per_round):
    """The numbers of a law's cases: that of the case asked for, or those of its rounds, or all that there is time for."""
    end = time.monotonic() + options.budget if options.budget else None
    wanted = [int(options.case.rsplit("/", 1)[1])] if options.case else range(10**9 if end else options.rounds * per_round)
    return itertools.takewhile(lambda _: not end or time.monotonic() <= end, wanted)


# --------------------------------------------------------------------------------------------------------------- layouts


def junk(rng, n):
    return np.random.default_rng(rng.getrandbits(64)).integers(0, 2, n, np.uint8).tobytes()


def placed(elements, dtype, stride, offset, length, rng):
    """A tensor with the elements at the places that the strides say, in a store of `length` elements whose others are junk."""
    item = SIZES[dtype]
    flat = np.frombuffer(bytearray(junk(rng, length * item)), f"V{item}") if length * item else np.zeros(0, f"V{item}")
    if elements.size:
        view = np.ndarray(elements.shape, flat.dtype, flat, offset * item, tuple(s * item for s in stride))
        view[...] = elements
    return Tensor(Store(flat.tobytes()), dtype, tuple(elements.shape), tuple(stride), offset)


def apart(t, rng, kind=None):
    """The tensor's elements in another layout, no two at one place: (tensor, the layout's name)."""
    elements, size = t.elements(), t.size
    kind = kind or rng.choice(("offset", "step", "transposed", "channels last", "padded"))
    order, steps, offset, pad = list(range(len(size))), [1] * len(size), rng.choice((0, 1, 3)), 0
    if kind == "offset":
        offset = rng.choice((1, 2, 7))
    elif kind == "step" and size:
        steps[rng.randrange(len(size))] = rng.choice((2, 3))
    elif kind == "transposed":
        rng.shuffle(order)
    elif kind == "channels last" and len(size) >= 3:
        order = [0, *range(2, len(size)), 1]
    elif kind == "padded":
        pad = 3
    stride, n = [0] * len(size), 1
    for d in reversed(order):
        stride[d] = n * steps[d]
        n = stride[d] * max(size[d], 1) + (pad if d == order[-1] else 0)
    return placed(elements, t.dtype, stride, offset, offset + n + 2, rng), kind


def lazily(t, rng):
    """The tensor with elements that are computed when they are read, now and then: (tensor, a word for the layout's name)."""
    if rng.random() > (0.5 if t.dtype in COMPLEX else 0.2) or t.dtype == "bool" or t.dtype.startswith(("int", "uint")) or t.lazy:
        return t, ""
    lazy = rng.choice((("conj",), ("neg",), ("conj", "neg"))) if t.dtype in COMPLEX else ("neg",)
    data = read(
        np.frombuffer(t.store.data[: len(t.store.data) // SIZES[t.dtype] * SIZES[t.dtype]], f"V{SIZES[t.dtype]}"), t.dtype, lazy
    ).tobytes()
    return replace(t, store=Store(data), lazy=lazy), f" {' '.join(lazy)}"


def repeated(t, rng):
    """A tensor of the same dtype and sizes with several elements at one place: (tensor, the layout's name)."""
    size = t.size
    if not size or 0 in size:
        return t, "dense"
    if rng.random() < 0.5:
        stride = list(row_major(size))
        axis = rng.randrange(len(size))
        stride[axis] = 0
        kind = "expanded"
    else:
        stride = [rng.choice((1, 2)) for _ in size]
        kind = "overlapping itself"
    n = sum((k - 1) * s for k, s in zip(size, stride, strict=True)) + 1
    raw = np.resize(t.elements().reshape(-1), n)
    return Tensor(Store(raw.tobytes()), t.dtype, size, tuple(stride)), kind


def together(a, b, rng):
    """Two tensors of one dtype in one store, overlapping."""
    n = max(a.numel, b.numel, 1)
    shift = rng.choice((0, 1, max(n // 2, 1)))
    total = shift + n
    raw = np.resize(np.concatenate([a.elements().reshape(-1), b.elements().reshape(-1), np.zeros(1, f"V{SIZES[a.dtype]}")]), total)
    store = Store(raw.tobytes())
    one = Tensor(store, a.dtype, a.size, row_major(a.size), 0)
    other = Tensor(store, b.dtype, b.size, row_major(b.size), shift)
    return (one, other) if rng.random() < 0.5 else (replace(one, offset=shift), replace(other, offset=0))


def clones(call):
    """The call with each tensor alone in a dense store."""
    return call.mapped(lambda t, at: replace(dense(t.elements(), t.dtype), device=t.device))
