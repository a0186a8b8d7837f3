"""Pickles of objects and the storages that they refer to, in PyTorch's file format."""

from __future__ import annotations

import io
import struct
import sys
from collections import OrderedDict as hooks
from functools import cache

from .._base import dtypes as _dtypes
from .._base.overrides import disabled
from .._base.torch_names import ROOT, TORCH, is_within, to_torch
from .._core.owner import Generator, TypedStorage, UntypedStorage
from .._core.results import types as result_types
from .._core.tensor import Tensor, _rebuild_from_type_v2
from .._data.interop import raw_bytes
from .._gen import gen_functions as _f
from . import locations, rebuild
from .serialize import parameters, parts
from .typed_storage import LEGACY

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

CLASSES = {dtype: name + "Storage" for name, dtype in LEGACY.items() if not name.startswith("QUInt4") and not name.startswith("QUInt2")}
STEP = 16  # bytes: storages are split at multiples of the largest element


def as_record(data):
    """Returns bytes as a tensor."""
    return _f.from_data(data, (len(data),), dtype=_dtypes.uint8)


class Stored:
    """A storage in the form in which a tensor refers to it."""

    __slots__ = ("untyped", "dtype")

    def __init__(self, untyped, dtype):
        self.untyped, self.dtype = untyped, dtype


class Kept:
    """The part of a storage that a file contains."""

    __slots__ = ("key", "storage", "location", "dtypes", "typed", "begin", "end", "whole")

    def __init__(self, storage):
        self.key, self.storage, self.location = None, storage, locations.location_tag(storage)
        self.dtypes = set()  # dtypes of the saved tensors; None for the bytes themselves
        self.typed = False  # a typed storage is saved itself
        self.begin, self.end, self.whole = storage.nbytes(), 0, False

    @property
    def dtype(self):
        """The dtype of all tensors that are saved over the storage; None for several dtypes or one without a storage class."""
        (found,) = self.dtypes if len(self.dtypes) == 1 else (None,)
        return found if found in CLASSES else None

    def reach(self, tensor):
        """Extends the part by the bytes that a tensor uses."""
        if tensor.numel():
            size = tensor.dtype.itemsize
            first = tensor.storage_offset()
            last = first + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            self.begin, self.end = min(self.begin, first * size // STEP * STEP), max(self.end, (last + 1) * size)


class Survey:
    """Pickles an object in PyTorch's format: `data` is the pickle, `kept` the storages.

    A first pass collects the tensors of each storage. Storages of several dtypes and compact ones need a second pass, which writes the
    pickle.
    """

    def __init__(self, obj, pickle_module, protocol, compact, legacy):
        self.compact, self.legacy, self.again = compact, legacy, compact
        self.kept: dict[Any, Any] = {}
        self.earlier: Any = None
        self.containers: dict[Any, Any] = {}
        self.data = self.run(obj, pickle_module, protocol)
        for kept in self.kept.values():
            if not compact or kept.whole:
                kept.begin, kept.end = 0, kept.storage.nbytes()
            kept.begin = min(kept.begin, kept.end)
        if self.again:
            self.earlier, self.kept, self.containers = self.kept, {}, {}
            self.data = self.run(obj, pickle_module, protocol)

    def run(self, obj, pickle_module, protocol):
        file = io.BytesIO()
        saver_of(pickle_module)(file, protocol, self).dump(obj)
        data = file.getvalue()
        if ROOT.encode() in data:
            data = raw_bytes(_f.pickle_rename(as_record(data), ROOT, TORCH))
        return data

    def keep(self, storage, dtype):
        """Returns the saved part of a storage for a tensor of `dtype`."""
        found = storage._cdata
        kept = self.kept.get(found)
        if kept is None:
            kept = self.earlier.get(found) if self.known else None
            if kept is None:  # in the second pass, the storage of a temporary tensor
                kept = Kept(storage)
                if self.known:
                    kept.begin, kept.end, kept.dtypes = 0, storage.nbytes(), {dtype}
            kept.key = str(len(self.kept))
            self.kept[found] = kept
        if not self.known:
            kept.dtypes.add(dtype)
            self.again = self.again or len(kept.dtypes) > 1
        elif dtype not in kept.dtypes:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return kept

    @property
    def known(self):
        """Returns whether the first pass has found the tensors of each storage."""
        return self.earlier is not None

    def name(self, storage, dtype):
        """Returns the persistent ID of a storage."""
        kept = self.keep(storage, dtype)
        found = kept.dtype
        nbytes = kept.end - kept.begin if self.known else storage.nbytes()
        if self.legacy:
            found = found or _dtypes.uint8  # PyTorch reads no untyped storages from older files
        cls = getattr(sys.modules[ROOT], CLASSES[found]) if found else UntypedStorage
        made = "storage", cls, kept.key, kept.location, nbytes // (found.itemsize if found else 1)
        return (*made, None) if self.legacy else made

    def persistent(self, obj):
        """Returns the persistent ID of an object, None for objects that are pickled."""
        kind = type(obj)
        if kind is Stored:
            return self.name(obj.untyped, obj.dtype)
        if kind is UntypedStorage:
            self.itself(obj, None)
            return self.name(obj, None)
        kept = self.itself(obj.untyped(), obj.dtype)
        kept.typed = True
        if self.known and kept.dtype is None and len(kept.dtypes) > 1:
            raise RuntimeError(f"save(): a storage of {obj.dtype} is also viewed as another dtype; save it as an untyped storage")
        return self.name(obj.untyped(), obj.dtype)

    def itself(self, storage, dtype):
        if storage.device.type == "meta":
            raise NotImplementedError("save(): a storage on the meta device has no bytes to save")
        kept = self.keep(storage, dtype)
        kept.whole = True
        return kept

    def container(self, kind):
        """Returns the persistent ID of a user-defined module class in the older format, with its source code; None if it is pickled by
        name.
        """
        if kind in self.containers or is_within(to_torch(kind.__module__), TORCH) or not is_module_class(kind):
            return None
        self.containers[kind] = True
        try:
            import inspect

            return "module", kind, inspect.getsourcefile(kind), inspect.getsource(kind)
        except (OSError, TypeError):  # the source was not read from a file
            return None

    def reduced(self, tensor):
        """Returns the reduced form of a tensor."""
        with disabled():
            function, args = self.parts(tensor)
        state = tensor.__dict__ if type(tensor) is Tensor else rebuild.state_of(tensor)
        if type(tensor) is Tensor and not state or getattr(type(tensor), "_plain_in_files", False):
            return function, args
        return _rebuild_from_type_v2, (function, type(tensor), args, state)

    def parts(self, tensor):
        """Returns the function that rebuilds a tensor, and its arguments."""
        requires_grad = tensor.requires_grad
        if tensor.layout is not _dtypes.strided:
            dense = tuple(part.detach() for part in parts(tensor))
            more = (_f.is_coalesced(tensor),) if tensor.layout is _dtypes.sparse_coo else ()
            return rebuild._rebuild_sparse_tensor, (tensor.layout, (*dense, tensor.shape, *more))
        size, stride = tuple(tensor.shape), tensor.stride()
        if tensor.is_meta:
            if tensor.is_quantized:
                raise NotImplementedError(
                    "save: a quantized tensor on device meta cannot be saved: the format has no quantized tensors without "
                    "elements; save its int_repr() instead"
                )
            return rebuild._rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, requires_grad, *rebuild.metadata_of(tensor))
        storage = tensor.untyped_storage()
        kept = self.keep(storage, tensor.dtype)
        if self.compact and not self.known:
            kept.reach(tensor)
        offset = tensor.storage_offset()
        if self.known:
            offset = max(offset - kept.begin // tensor.dtype.itemsize, 0)
        place = Stored(storage, tensor.dtype), offset, size, stride
        if tensor.is_quantized:
            scheme, values = _dtypes.NAMES[str(_f.qscheme(tensor)).removeprefix("torch.")], parameters(tensor)
            if kept.dtype is None and self.known:
                raise NotImplementedError(
                    f"save(): the storage of a tensor of {tensor.dtype} is shared with a saved tensor of another dtype; clone() one of them"
                )
            return rebuild._rebuild_qtensor, (*place, (scheme, *values), requires_grad, hooks())
        if kept.dtype is None:
            return rebuild._rebuild_tensor_v3, (*place, requires_grad, hooks(), tensor.dtype, *rebuild.metadata_of(tensor))
        return rebuild._rebuild_tensor_v2, (*place, requires_grad, hooks(), *rebuild.metadata_of(tensor))

    def records(self):
        """Returns the names and bytes of the records of an archive."""
        found = {"data.pkl": self.data, ".format_version": b"1", ".storage_alignment": b"64", "byteorder": b"little"}
        found = {name: as_record(data) for name, data in found.items()}
        found |= {f"data/{kept.key}": bytes_of(kept) for kept in self.kept.values()}
        found["version"] = as_record(b"3\n")
        return ["archive/" + name for name in found], list(found.values())

    def stream(self, pickle_module, protocol):
        """Returns the bytes of a file in the format before version 1.6, as tensors."""
        kept = {each.key: each for each in self.kept.values()}
        sizes = {name: struct.calcsize("=" + code) for name, code in {"short": "h", "int": "i", "long": "l"}.items()}
        facts = {"protocol_version": LEGACY_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
        heads = [pickle_module.dumps(each, protocol=protocol) for each in (MAGIC_NUMBER, LEGACY_VERSION, facts)]
        made = [as_record(b"".join([*heads, self.data, pickle_module.dumps(sorted(kept), protocol=protocol)]))]
        for key in sorted(kept):
            each = kept[key]
            size = each.dtype.itemsize if each.dtype else 1
            made += [as_record(struct.pack("<q", (each.end - each.begin) // size)), bytes_of(each).cpu()]
        return made


MAGIC_NUMBER, LEGACY_VERSION = 0x1950A86A20F9469CFC6C, 1001


def bytes_of(kept):
    """Returns the saved bytes of a storage; zeros in a skip_data context."""
    if skipping.active:
        return _f.zeros(kept.end - kept.begin, dtype=_dtypes.uint8)
    return kept.storage._tensor()[kept.begin : kept.end]


class Skipping:
    """Whether saved files omit the bytes of storages."""

    active = False


skipping = Skipping()


def is_module_class(kind):
    """Returns whether a class is a module class (torch.nn.Module)."""
    found = sys.modules.get(ROOT + ".nn.modules.module")
    return found is not None and issubclass(kind, found.Module)


STORED = frozenset((Stored, UntypedStorage, TypedStorage))
BY_NAME = frozenset((_dtypes.dtype, _dtypes.memory_format, _dtypes.qscheme))


@cache
def saver_of(pickle_module):
    """Returns the pickler class that saves objects, derived from the one of a module such as pickle."""

    class Saver(pickle_module.Pickler):  # type: ignore[name-defined]  # the base class is an argument
        def __init__(self, file, protocol, survey):
            super().__init__(file, protocol=protocol)
            self.survey, self.containers = survey, survey.legacy

        def persistent_id(self, obj):
            if type(obj) in STORED:
                return self.survey.persistent(obj)
            return self.survey.container(obj) if self.containers and isinstance(obj, type) else None

        def reducer_override(self, obj):
            kind = type(obj)
            if issubclass(kind, Tensor) and kind.__reduce_ex__ is Tensor.__reduce_ex__ and kind.__reduce__ is object.__reduce__:
                return self.survey.reduced(obj)
            if kind in BY_NAME:
                return obj.name
            if kind is _dtypes.layout:
                return rebuild._get_layout, (f"torch.{obj.name}",)
            if kind is Generator and obj.engine == "mt19937":
                return Generator, (obj.device,), (obj.initial_seed(), None, obj.get_state())
            if result_types.get(kind.__name__) is kind:
                return kind, (tuple(obj), {})
            inner = getattr(super(), "reducer_override", None)
            return NotImplemented if inner is None else inner(obj)

    return Saver
