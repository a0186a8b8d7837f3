"""Calls C functions of libtensor through ctypes, with arguments and results written down as plain values.

A tensor is written down as a `Tensor` over a `Store`: tensors over one store share memory. `run` makes the tensors, calls,
and reads everything that a caller could see: status, message, results, and what became of each store and each argument.
"""

import ctypes
import json
import os
from ctypes import (
    POINTER,
    Structure,
    Union,
    byref,
    c_bool,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_void_p,
)
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
OPERATORS = json.loads((HERE.parent / "gen_operators.json").read_text())
FORMS = {form["c"]: (operator, form) for operator in OPERATORS for form in operator["forms"]}
QUANTIZED = ("quint8", "qint8", "qint32", "quint4x2", "quint2x4")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")  # which few operators take
NAMES = (  # by number
    *(
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ),
    *(
        "complex64",
        "complex128",
        "complex32",
        "bcomplex32",
        *QUANTIZED,
        "uint16",
        "uint32",
        "uint64",
        *FLOAT8,
    ),
)
SIZES = dict(
    zip(
        (n for n in NAMES if n not in QUANTIZED + FLOAT8),
        (1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 4, 4, 2, 4, 8),
        strict=True,
    )
)
DTYPES = tuple(n for n in SIZES if n != "bcomplex32")  # which is a result of few operators, and no operand here
KINDS = ("none", "bool", "int", "float", "complex", "uint")
LAYOUTS = (
    "strided",
    "sparse_coo",
    "sparse_csr",
    "sparse_csc",
    "sparse_bsr",
    "sparse_bsc",
)
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
(
    OK,
    RUNTIME,
    VALUE,
    TYPE,
    INDEX,
    NOT_IMPLEMENTED,
    MEMORY,
    HANDLE,
    FORKED,
    INTERNAL,
    IO,
) = range(11)
ABSENT = -(2**63)
# If an index occurs twice, it is undefined on a device which of the elements is kept.
ANY_ORDER = ("index_copy", "index_put", "put", "scatter", "masked_scatter")
LARGEST = 1 << 27  # elements of a result that are looked at; expanded views have more than memory holds


class Parts(Structure):
    _fields_ = [("re", c_double), ("im", c_double)]


class Number(Union):
    _fields_ = [("i", c_int64), ("f", Parts)]


class Scalar(Structure):
    _fields_ = [("kind", c_int32), ("value", Number)]


class Device(Structure):
    _fields_ = [("type", c_int32), ("index", c_int32)]


class IndexItem(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("tensor", c_void_p),
        ("start", c_int64),
        ("stop", c_int64),
        ("step", c_int64),
    ]


HOST, META, CUDA = Device(0, -1), Device(2, -1), Device(1, 0)
PLACES = {"cpu": HOST, "meta": META, "cuda": CUDA}

BASES = {
    "Scalar": Scalar,
    "int": c_int64,
    "bool": c_bool,
    "float": c_double,
    "str": c_char_p,
    "device": Device,
}
BASES |= dict.fromkeys(("dtype", "layout", "memory_format"), c_int32) | dict.fromkeys(
    ("Tensor", "Storage", "Generator", "Node", "pointer"), c_void_p
)


PLAIN = ROOT / "build/libtensor.so"


def load(path=None):
    lib = ctypes.CDLL(str(path or os.environ.get("LIBTENSOR_LIBRARY") or PLAIN))
    for operator, form in FORMS.values():
        getattr(lib, form["c"]).argtypes = [t for kind in form["types"] for t in parameters(kind)] + results(operator, form)
    for name in ("tensor_sizes", "tensor_strides"):
        getattr(lib, name).restype = POINTER(c_int64)
    for name in (
        "tensor_dim",
        "tensor_numel",
        "tensor_storage_offset",
        "tensor_live_handles",
        "tensor_dtype_size",
    ):
        getattr(lib, name).restype = c_int64
    for name in (
        "tensor_dim",
        "tensor_numel",
        "tensor_storage_offset",
        "tensor_sizes",
        "tensor_strides",
        "tensor_get_dtype",
    ):
        getattr(lib, name).argtypes = [c_void_p]
    for name in (
        "tensor_free",
        "tensor_storage_free",
        "tensor_generator_free",
        "tensor_string_free",
    ):
        getattr(lib, name).argtypes = [c_void_p]
    lib.tensor_list_free.argtypes = lib.tensor_string_list_free.argtypes = [
        c_void_p,
        c_int64,
    ]
    lib.tensor_get_device.argtypes, lib.tensor_get_device.restype = [c_void_p], Device
    lib.tensor_get_layout.argtypes = [c_void_p]
    lib.tensor_lazy.argtypes, lib.tensor_lazy.restype = [c_void_p], ctypes.c_uint8
    lib.tensor_last_error.restype = c_char_p
    return lib


def parameters(kind):
    """The C parameters of an argument type."""
    optional, base = kind.endswith("?"), kind.replace("?", "")
    if base.endswith("[]") or base == "Index":
        return [c_void_p, c_int64]
    if optional and base in ("bool", "float"):
        return [c_int32 if base == "bool" else c_void_p]
    return [BASES[base]]


def results(operator, form):
    if form["mode"] == "out":
        return [c_void_p] * len(operator["returns"])
    if form["mode"] == "inplace":
        return []
    return [t for r in operator["returns"] for t in ([c_void_p, c_void_p] if r.endswith("[]") else [c_void_p])]


class Store:
    """The bytes of a storage."""

    def __init__(self, data):
        self.data = bytes(data)


@dataclass(frozen=True)
class Tensor:
    store: Store
    dtype: str
    size: tuple
    stride: tuple
    offset: int = 0
    device: str = "cpu"  # the place of all tensors; or host, or meta
    read_only: bool = False
    layout: str = "strided"
    lazy: tuple = ()  # how elements are changed when they are read: conj, neg

    @property
    def numel(self):
        return int(np.prod(self.size, dtype=object)) if self.size else 1

    def elements(self, data=None):
        if self.device == "meta":
            return np.zeros(self.size, f"V{SIZES[self.dtype]}")
        return read(
            gather(self.store.data if data is None else data, SIZES[self.dtype], self.size, self.stride, self.offset), self.dtype, self.lazy
        )


LAZY = ("conj", "neg")  # by the bits of tensor_lazy


def read(elements, dtype, lazy):
    """The elements of a tensor over those that its memory has, as void items; the other way round as well."""
    if not lazy:
        return elements
    item = SIZES[dtype]
    made = np.ascontiguousarray(elements)
    if "int" in dtype:
        return (-np.frombuffer(made.tobytes(), dtype)).view(f"V{item}").reshape(elements.shape)
    raw = np.frombuffer(made.tobytes(), np.uint8).reshape(-1, item).copy()
    last = item - 1  # the byte with the sign of the imaginary part, or of the only one
    if "conj" in lazy:
        raw[:, last] ^= 0x80
    if "neg" in lazy:
        raw[:, last] ^= 0x80
        if "complex" in dtype:
            raw[:, item // 2 - 1] ^= 0x80
    return np.frombuffer(raw.tobytes(), f"V{item}").reshape(elements.shape)


def gather(data, item, size, stride, offset):
    """The elements of a view of some bytes, as an array of void items."""
    if 0 in size:
        return np.zeros(size, f"V{item}")
    flat = np.frombuffer(data, np.uint8)[offset * item :]
    last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) * item + item
    assert last <= flat.size, "a tensor reaches outside its storage"
    return np.ndarray(
        size,
        f"V{item}",
        flat,
        0,
        tuple(s * item if n > 1 else 0 for n, s in zip(size, stride, strict=True)),
    )


def row_major(size):
    strides, n = [], 1
    for s in reversed(size):
        strides.append(n)
        n *= max(s, 1)
    return tuple(reversed(strides))


def dense(elements, dtype):
    """A contiguous tensor with the elements of an array of void items."""
    return Tensor(
        Store(np.ascontiguousarray(elements).tobytes()),
        dtype,
        tuple(elements.shape),
        row_major(elements.shape),
    )


@dataclass
class Call:
    c: str
    args: list
    outs: list = field(default_factory=list)
    note: str = ""

    @property
    def operator(self):
        return FORMS[self.c][0]

    @property
    def form(self):
        return FORMS[self.c][1]

    def mapped(self, change, outs=True):
        """The same call with every tensor passed through a function of it and its place (argument, item)."""

        def value(v, at):
            if isinstance(v, Tensor):
                return change(v, at)
            if isinstance(v, list):
                return [value(item, (*at, i)) for i, item in enumerate(v)]
            if isinstance(v, dict) and v.get("tensor") is not None:
                return {**v, "tensor": change(v["tensor"], at)}
            return v

        args = [value(v, (i,)) for i, v in enumerate(self.args)]
        return replace(
            self,
            args=args,
            outs=[change(t, (-1 - i,)) for i, t in enumerate(self.outs)] if outs else self.outs,
        )

    def tensors(self):
        """Every tensor and its place."""
        found = []
        self.mapped(lambda t, at: found.append((t, at)) or t)
        return found

    def mutated(self, at):
        """Whether the tensor at a place is one that the call may write."""
        if at[0] < 0:
            return True
        if self.operator["name"] == "nn.embedding" and at[0] == 1:
            return self.args[3] is not None  # max_norm shortens rows of the weight
        return self.operator["args"][at[0]]["mutated"] or (self.form["mode"] == "inplace" and at[0] == 0)


@dataclass
class Seen:
    """A tensor as a caller sees it."""

    dtype: str
    size: tuple
    stride: tuple
    offset: int
    elements: np.ndarray | None
    shares: object  # the argument's store whose memory it is in, or None


@dataclass
class Outcome:
    status: int
    message: str
    results: list
    tensors: dict  # by place: Seen after the call
    stores: dict  # by store: its bytes after the call
    live: int  # handles that the call left in addition to its results
    used: int = 0  # bytes that a rejected call left in use
    leaked: int = 0  # bytes that are in use when all that the call took and gave is freed
    counted: tuple = ()  # the arguments with incremented versions
    deferred: bool = False  # whether a device found an index out of range after the call

    def flat(self):
        """The results, with those of lists in their place."""
        return [r for one in self.results for r in (one if isinstance(one, list) else [one])]


class Library:
    def __init__(self, path=None, device="cpu"):
        self.c = load(path)
        self.place = PLACES[device]  # of all tensors but those of meta
        self.limit = 0  # bytes in use that a call may reach
        self.before = None  # called with each call that is about to be made

    # ------------------------------------------------------------------------------------------------------- small calls

    def do(self, name, *values):
        status = getattr(self.c, name)(*values)
        if status:
            raise RuntimeError(f"{name}: {self.c.tensor_last_error().decode()}")

    def stats(self):
        cells = [c_int64() for _ in range(6)]
        self.do("tensor_memory_stats", *map(byref, cells))
        found = dict(
            zip(
                ("in_use", "peak", "cached", "limit", "tensors", "storages"),
                (c.value for c in cells),
                strict=True,
            )
        )
        if self.place is CUDA:
            cells = [c_int64() for _ in range(7)]
            self.do("tensor_device_memory", CUDA, *map(byref, cells))
            found["in_use"] += cells[0].value
        return found

    def devices(self, kind):
        cell = c_int64()
        self.do("tensor_device_count", kind.encode(), byref(cell))
        return cell.value

    def limited(self):
        self.set_limit(self.limit)
        return lambda: self.set_limit(0)

    def set_limit(self, nbytes):
        self.do("tensor_set_memory_limit", nbytes)
        if self.place is CUDA:
            self.do("tensor_empty_cache")
            self.do("tensor_device_set_memory_limit", CUDA, nbytes)

    def threads(self, n):
        self.do("tensor_set_num_threads", n)

    def tier(self):
        text = c_char_p()
        self.do("tensor_cpu_tier", byref(text))
        return text.value.decode()

    # ------------------------------------------------------------------------------------------------------------ making

    def storage(self, store, made, stays=False):
        """The handle of a store's storage, which stays on the host or lies where all do."""
        if store not in made:
            made[store] = self.moved(
                self.host_storage(store.data),
                len(store.data),
                HOST if stays else self.place,
            )
        return made[store]

    def host_storage(self, data):
        handle, address = c_void_p(), c_void_p()
        self.do("tensor_storage_new", len(data), HOST, byref(handle))
        self.do("tensor_storage_data_ptr", handle, byref(address))
        if data:
            ctypes.memmove(address, bytes(data), len(data))
        return handle

    def moved(self, storage, nbytes, place):
        """A storage with the same bytes on a device; this one is freed, unless it lies there."""
        if place is HOST:
            return storage
        handle = c_void_p()
        self.do("tensor_storage_new", nbytes, place, byref(handle))
        self.do("tensor_storage_copy_", handle, storage)
        self.c.tensor_storage_free(storage)
        return handle

    def tensor(self, t, made, kept):
        if t.layout != "strided":
            given, handle = (
                self.tensor(replace(t, layout="strided"), made, kept),
                c_void_p(),
            )
            self.do(
                "tensor_to_sparse",
                given,
                LAYOUTS.index(t.layout),
                None,
                0,
                ABSENT,
                byref(handle),
            )
            self.c.tensor_free(given)
            return handle
        dims = len(t.size)
        handle = c_void_p()
        size, stride = (c_int64 * dims)(*t.size), (c_int64 * dims)(*t.stride)
        device = META if t.device == "meta" else self.place
        if t.device == "meta":
            self.do(
                "tensor_empty_strided",
                size,
                dims,
                stride,
                dims,
                NAMES.index(t.dtype),
                -1,
                device,
                byref(handle),
            )
        elif t.read_only and self.place is not HOST:
            storage, address = self.storage(t.store, made), c_void_p()
            self.do("tensor_storage_data_ptr", storage, byref(address))
            at, rest = (
                t.offset * SIZES[t.dtype],
                len(t.store.data) - t.offset * SIZES[t.dtype],
            )
            args = (
                (address.value or 0) + at or None,
                max(rest, 0),
                NAMES.index(t.dtype),
                size,
                dims,
                stride,
                dims,
                None,
                None,
                True,
                byref(handle),
            )
            self.do("tensor_from_blob_on", self.place, *args)
        elif t.read_only:
            raw = t.store.data[t.offset * SIZES[t.dtype] :]
            buffer = ctypes.create_string_buffer(raw, max(len(raw), 1))
            kept.append(buffer)
            args = (
                buffer,
                len(raw),
                NAMES.index(t.dtype),
                size,
                dims,
                stride,
                dims,
                None,
                None,
                True,
                byref(handle),
            )
            self.do("tensor_from_blob", *args)
        else:
            stays = t.device == "host"
            storage = self.storage(t.store, made, stays)
            self.do("tensor_empty", (c_int64 * 1)(0), 1, NAMES.index(t.dtype), -1, HOST if stays else device, -1, byref(handle))
            self.do("tensor_set__storage_geometry", handle, storage, t.offset, size, dims, stride, dims)
        for key in t.lazy:
            view = c_void_p()
            self.do("tensor_conj" if key == "conj" else "tensor_neg_view", handle, byref(view))
            self.c.tensor_free(handle)
            handle = view
        return handle

    def bytes_of(self, storage):
        n, address = c_int64(), c_void_p()
        self.do("tensor_storage_nbytes", storage, byref(n))
        here = storage
        if self.place is not HOST:
            here = c_void_p()
            self.do("tensor_storage_new", n.value, HOST, byref(here))
            if self.c.tensor_storage_copy_(here, storage):  # of meta
                n.value = 0
        self.do("tensor_storage_data_ptr", here, byref(address))
        found = ctypes.string_at(address, n.value) if n.value and address.value else b""
        if here is not storage:
            self.c.tensor_storage_free(here)
        return found

    def seen(self, handle, made):
        if self.c.tensor_get_layout(handle):
            if self.c.tensor_get_device(handle).type == META.type:
                size = tuple(self.c.tensor_sizes(handle)[: self.c.tensor_dim(handle)])
                return Seen(NAMES[self.c.tensor_get_dtype(handle)], size, (), 0, None, None)
            dense = c_void_p()
            if self.place is CUDA and self.c.tensor_to_dense(handle, -1, -1, byref(dense)):
                size = tuple(self.c.tensor_sizes(handle)[: self.c.tensor_dim(handle)])
                return Seen(
                    NAMES[self.c.tensor_get_dtype(handle)],
                    size,
                    row_major(size),
                    0,
                    None,
                    None,
                )  # it has no kernel to make it dense
            if not dense:
                self.do("tensor_to_dense", handle, -1, -1, byref(dense))
            found = self.seen(dense, made)
            self.c.tensor_free(dense)
            return found
        dims = self.c.tensor_dim(handle)
        size = tuple(self.c.tensor_sizes(handle)[:dims])
        stride = tuple(self.c.tensor_strides(handle)[:dims])
        offset = self.c.tensor_storage_offset(handle)
        dtype = NAMES[self.c.tensor_get_dtype(handle)]
        storage, address, shares, elements = c_void_p(), c_void_p(), None, None
        if self.c.tensor_get_device(handle).type != META.type:
            self.do("tensor_untyped_storage", handle, byref(storage))
            self.do("tensor_storage_data_ptr", storage, byref(address))
            for store, other in made.items():
                theirs = c_void_p()
                self.do("tensor_storage_data_ptr", other, byref(theirs))
                if theirs.value and theirs.value == address.value:
                    shares = store
            # NumPy has no array of (0, 2**62) either: the sizes that are not 0 count.
            if int(np.prod([n for n in size if n], dtype=object)) <= LARGEST:
                elements = gather(self.bytes_of(storage), SIZES[dtype], size, stride, offset).copy()
                elements = read(elements, dtype, [key for i, key in enumerate(LAZY) if self.c.tensor_lazy(handle) >> i & 1])
            self.c.tensor_storage_free(storage)
        return Seen(dtype, size, stride, offset, elements, shares)

    def version(self, handle):
        if self.c.tensor_get_layout(handle):
            return 0
        cell = c_int64()
        self.do("tensor_get_version", handle, byref(cell))
        return cell.value

    # ----------------------------------------------------------------------------------------------------------- calling

    def given(self, handle, t, at):
        """The handle that a call gets for a tensor at a place."""
        return handle

    def end(self):
        """Frees what given() made, once all has been read."""

    def run(self, call, between=None):
        """Calls, and tells all that a caller can see. `between(library)` runs when the arguments are made; what it returns is called
        afterwards."""
        if self.before:
            self.before(call)
        operator, form = FORMS[call.c]
        made, kept, handles, given, frees = {}, [], {}, {}, []
        before, empty = self.c.tensor_live_handles(), self.stats()["in_use"]

        def handle(t, at):
            if t is None:
                return None
            if isinstance(t, Store):
                return self.storage(t, made)
            handles[at] = self.tensor(t, made, kept)
            given[at] = self.given(handles[at], t, at)
            return given[at]

        words = []
        for i, (kind, value) in enumerate(zip(form["types"], call.args, strict=True)):
            words += self.words(kind, value, (i,), handle, kept, frees)
        cells = []
        if form["mode"] == "out":
            for i, t in enumerate(call.outs):
                words.append(
                    next(
                        (given[at] for other, at in call.tensors() if other is t and at in given),
                        None,
                    )
                    or handle(t, (-1 - i,))
                )
        elif form["mode"] == "function":
            for kind in operator["returns"]:
                cell = (Scalar if kind == "Scalar" else Device if kind == "device" else c_double if kind == "float" else c_int64)()
                length = c_int64() if kind.endswith("[]") else None
                cells.append((kind, cell, length))
                words += [byref(c) for c in (cell, length) if c is not None]
        self.do("tensor_manual_seed", 0)
        versions = {at: self.version(h) for at, h in handles.items()}
        live, used = self.c.tensor_live_handles(), self.stats()["in_use"]
        after = between(self) if between else self.limited()
        status = getattr(self.c, call.c)(*words)
        message = (self.c.tensor_last_error() or b"").decode(errors="replace") if status else ""
        after()
        deferred = self.place is CUDA and bool(self.c.tensor_device_synchronize(CUDA))
        found = []
        extra = self.c.tensor_live_handles() - live
        used = self.stats()["in_use"] - used
        for kind, cell, length in cells if not status else []:
            got, count = self.result(kind, cell, length, made)
            found.append(got)
            extra -= count
        tensors = {at: self.seen(h, made) for at, h in handles.items()}
        stores = {store: self.bytes_of(h) for store, h in made.items()}
        counted = tuple(at for at, h in handles.items() if self.version(h) != versions[at])
        self.end()
        for h in handles.values():
            self.c.tensor_free(h)
        for free in frees:
            free()
        for h in made.values():
            self.c.tensor_storage_free(h)
        extra += self.c.tensor_live_handles() - before if not extra else 0
        return Outcome(
            status,
            message,
            found,
            tensors,
            stores,
            extra,
            used,
            self.stats()["in_use"] - empty,
            counted,
            deferred,
        )

    def words(self, kind, value, at, handle, kept, frees):
        optional, base = kind.endswith("?"), kind.replace("?", "")
        if base.endswith("[]") or base == "Index":
            if value is None:
                return [None, 0]
            items = self.items(base.removesuffix("[]"), value, at, handle)
            kept.append(items)
            return [ctypes.cast(items, c_void_p) if len(value) else None, len(value)]
        match base:
            case "Tensor" | "Storage":
                return [handle(value, at)]
            case "Generator":
                if value is None:
                    return [None]
                generator = c_void_p()
                self.do(
                    "tensor_generator_new",
                    Device(0, -1),
                    b"philox" if value % 2 else b"mt19937",
                    byref(generator),
                )
                self.do("tensor_generator_manual_seed", generator, value)
                frees.append(lambda: self.c.tensor_generator_free(generator))
                return [generator]
            case "Scalar":
                return [scalar(value)]
            case "int":
                return [ABSENT if value is None else value]
            case "bool":
                return [-1 if value is None else int(value)]
            case "float" if optional:
                if value is None:
                    return [None]
                cell = c_double(float(value))
                kept.append(cell)
                return [ctypes.addressof(cell)]
            case "float":
                return [float(value)]
            case "str":
                return [None if value is None else value.encode()]
            case "dtype":
                return [NAMES.index(value) if value else -1]
            case "layout":
                return [LAYOUTS.index(value) if value else -1]
            case "memory_format":
                return [FORMATS.index(value) if value else -1]
            case "device":
                return [(META if value == "meta" else self.place) if value else Device(-1, -1)]
            case "pointer":
                buffer = ctypes.create_string_buffer(value, len(value)) if value else None
                kept.append(buffer)
                return [ctypes.cast(buffer, c_void_p) if buffer else None]
        raise TypeError(kind)

    def items(self, base, values, at, handle):
        n = len(values)
        match base:
            case "Tensor":
                return (c_void_p * n)(*(handle(v, (*at, i)) for i, v in enumerate(values)))
            case "Index":
                return (IndexItem * n)(*(IndexItem(v["kind"], handle(v["tensor"], (*at, i)), *v["bounds"]) for i, v in enumerate(values)))
            case "Scalar":
                return (Scalar * n)(*map(scalar, values))
            case "float":
                return (c_double * n)(*map(float, values))
            case "bool":
                return (c_bool * n)(*map(bool, values))
            case "str":
                return (c_char_p * n)(*(v.encode() for v in values))
        return (c_int64 * n)(*values)

    def result(self, kind, cell, length, made):
        """A result, freed, and how many handles it was."""
        match kind:
            case "Tensor":
                if not cell.value:
                    return None, 0
                got = self.seen(cell.value, made)
                self.c.tensor_free(cell.value)
                return got, 1
            case "Tensor[]":
                got = [self.seen(h, made) for h in (c_void_p * length.value).from_address(cell.value or ctypes.addressof(cell))]
                self.c.tensor_list_free(cell.value, length.value)
                return got, length.value
            case "str":
                text = ctypes.string_at(cell.value)
                self.c.tensor_string_free(cell.value)
                return text, 0
            case "str[]":
                texts = list((c_char_p * length.value).from_address(cell.value or ctypes.addressof(cell)))
                self.c.tensor_string_list_free(cell.value, length.value)
                return texts, 0
            case "Storage":
                text = self.bytes_of(cell.value)
                self.c.tensor_storage_free(cell.value)
                return text, 1
            case "Generator":
                self.c.tensor_generator_free(cell.value)
                return "generator", 1
            case "Scalar":
                return (KINDS[cell.kind], cell.value.f.re, cell.value.f.im) if KINDS[cell.kind] in ("float", "complex") else (
                    KINDS[cell.kind],
                    cell.value.i,
                ), 0
            case "device":
                return (cell.type, cell.index), 0
            case "bool":
                return cell.value & 0xFF, 0
            case "dtype":
                return cell.value & 0xFFFFFFFF, 0
        return cell.value, 0


def scalar(value):
    value = value or {"kind": "none"}
    s = Scalar(KINDS.index(value["kind"]))
    if value["kind"] in ("bool", "int"):
        s.value.i = value["value"]
    elif value["kind"] != "none":
        s.value.f.re, s.value.f.im = float(value["re"]), float(value["im"])
    return s
