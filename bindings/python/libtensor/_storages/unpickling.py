"""Objects of the pickles in PyTorch's files: any objects, or only those of allowed classes."""

from __future__ import annotations

import _compat_pickle
import codecs
import collections
import difflib
import importlib
import io
import pickle
import struct
import warnings
from functools import cache

from .._base import dtypes as _dtypes
from .._base.size import Size
from .._base.torch_names import TORCH, from_torch, is_within, to_torch
from .._core.owner import UntypedStorage
from .._gen import gen_functions as _f
from . import rebuild
from .pickling import LEGACY_VERSION, MAGIC_NUMBER
from .typed_storage import typed

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class SourceChangeWarning(Warning):
    """The source code of a module's class differs from that when the file was saved."""


def find(module, name):
    """Returns the function, class or constant of a name in a pickle. Names of PyTorch are those of the package."""
    if module == "torch.return_types":
        return rebuild.result_of(name)
    found = importlib.import_module(from_torch(module))
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Opened:
    """The storages of a file during unpickling: tensors of bytes by key, which `restore` moves to their devices."""

    def __init__(self, storages, restore):
        self.storages, self.restore = storages, restore
        self.made, self.views = {}, {}

    def persistent(self, saved):
        """Returns the object of a persistent ID."""
        if not isinstance(saved, tuple) or not saved or isinstance(saved[0], bytes):
            raise pickle.UnpicklingError(f"load(): the persistent ID {saved!r:.100} does not refer to a storage")
        if saved[0] == "module":
            return same_source(*saved[1:])
        if saved[0] != "storage" or len(saved) < 5:
            raise pickle.UnpicklingError(f"load(): the persistent ID {saved!r:.100} does not refer to a storage")
        kind, key, location, count, *view = saved[1:]
        dtype = getattr(kind, "dtype", None)
        dtype = dtype if isinstance(dtype, _dtypes.dtype) else _dtypes.uint8
        if key not in self.made:
            self.made[key] = self.new(key, location, count, dtype.itemsize)
        storage = self.made[key]
        if view and view[0] is not None:
            name, offset, size = view[0]
            if (key, name) not in self.views:
                self.views[key, name] = storage[offset * dtype.itemsize : (offset + size) * dtype.itemsize]
            storage = self.views[key, name]
        return storage if kind is UntypedStorage else typed(storage, dtype)

    def new(self, key, location, count, size):
        """Returns the storage of a key with a number of elements of a size, on its device."""
        if key not in self.storages:
            raise pickle.UnpicklingError(f"load(): the file is damaged: it has no record for storage {key!r:.100}")
        found = self.storages[key].untyped_storage()
        if found.nbytes() // size != count:
            raise pickle.UnpicklingError(
                f"load(): the file is damaged: storage {key!r:.100} has {found.nbytes()} bytes, but {count} elements of {size} bytes are "
                "expected"
            )
        return self.restore(found, location)


def same_source(kind, file, source):
    """Returns the module class from a file; warns if the source code of the class has changed."""
    if is_within(to_torch(kind.__module__), TORCH):
        return kind
    try:
        import inspect

        current = inspect.getsource(kind)
    except (OSError, TypeError):
        current = None
    if current is None:
        warnings.warn(
            f"Couldn't retrieve source code for container of type {kind.__name__}. It won't be checked for correctness upon loading.",
            stacklevel=2,
        )
    elif current != source:
        diff = "".join(difflib.unified_diff(str(source).splitlines(True), current.splitlines(True), str(file), str(file), n=1))[:1000]
        warnings.warn(f"source code of class '{kind.__module__}.{kind.__name__}' has changed:\n{diff}", SourceChangeWarning, stacklevel=2)
    return kind


@cache
def loader_of(pickle_module):
    """Returns the unpickler class that loads any object, derived from the one of a module such as pickle."""

    class Loader(pickle_module.Unpickler):  # type: ignore[name-defined]  # the base class is an argument
        def __init__(self, file, opened, **options):
            super().__init__(file, **options)
            self.opened = opened

        def find_class(self, module, name):
            if is_within(module, TORCH):
                return find(module, name)
            return super().find_class(module, name)

        def persistent_load(self, saved):
            return self.opened.persistent(saved)

    return Loader


# Functions and classes that the program has allowed, by their name in pickles.
allowed: dict[str, Any] = {}


def name_of(value):
    """Returns the name of a function or class in pickles."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return f"{to_torch(module)}.{getattr(value, '__qualname__', None) or value.__name__}"


BLOCKED = frozenset(("sys", "os", "posix", "nt"))


def plain_bytes(data=b"", encoding=None):
    """Returns the bytes of a pickle; allocates no more memory than its size."""
    if not isinstance(data, (bytes, bytearray, str)):
        raise pickle.UnpicklingError(f"load(): bytes() requires bytes or a string, not {type(data).__name__}")
    return codecs.encode(data, encoding) if isinstance(data, str) else bytes(data)


def plain_bytearray(*args):
    return bytearray(plain_bytes(*args))


# Names that are allowed by default.
DEFAULTS = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "_codecs.encode": plain_bytes,
    "builtins.bytes": plain_bytes,
    "builtins.bytearray": plain_bytearray,
    "builtins.set": set,
    "builtins.complex": complex,
    "torch.Size": Size,
}
FUNCTIONS = frozenset(
    (
        *("torch.serialization._get_layout", "torch.device", "torch.nn.parameter.Parameter", "torch._tensor._rebuild_from_type_v2"),
        *(
            f"torch._utils._rebuild_{kind}"
            for kind in ["tensor", "tensor_v2", "tensor_v3", "parameter", "parameter_with_state", "qtensor", "sparse_tensor"]
        ),
        "torch._utils._rebuild_meta_tensor_no_storage",
    )
)
CONSTANTS = frozenset(
    ("torch.Tensor", "torch.storage.UntypedStorage", "torch.storage.TypedStorage", "torch.per_tensor_affine", "torch.per_channel_affine")
)


def by_default(module, name):
    """Returns the object of a name that is allowed by default, None for other names, and whether it may be called."""
    full = f"{module}.{name}"
    if full in DEFAULTS:
        return DEFAULTS[full], True
    if full in FUNCTIONS:
        return find(module, name), True
    known = full in CONSTANTS or module in ("torch", "torch.cuda") and name.endswith("Storage")
    if known or module == "torch" and isinstance(_dtypes.NAMES.get(name), _dtypes.dtype):
        return find(module, name), False
    return None, False


def in_python3(full):
    """Returns the Python 3 name of a global in an older pickle."""
    module, _, name = full.rpartition(".")
    module, name = _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"


def not_allowed_message(name):
    """Returns the error message for a name that is not allowed, with the call that would allow it."""
    return (
        f"Weights only load failed. Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context manager to "
        "allowlist this "
        "global if you trust this class/function. `weights_only=False` loads any object, and can execute any code: use it for files from a "
        "trusted "
        "source alone"
    )


class Restricted(pickle._Unpickler):
    """An unpickler that imports and calls only names that tensors need, and allowed ones."""

    dispatch = dict(pickle._Unpickler.dispatch)
    proto: int
    stack: list[Any]

    def __init__(self, file, opened, **options):
        super().__init__(file, **options)
        self.opened, self.functions = opened, []

    def find_class(self, module, name):
        if self.proto < 3:
            module, name = _compat_pickle.NAME_MAPPING.get((module, name), (_compat_pickle.IMPORT_MAPPING.get(module, module), name))
        if module.partition(".")[0] in BLOCKED:
            raise pickle.UnpicklingError(
                f"load(): Trying to load unsupported GLOBAL {module}.{name} whose module {module.partition('.')[0]} is blocked."
            )
        full = f"{module}.{name}"
        found = allowed.get(full)
        callable_ = found is not None
        if found is None:
            found, callable_ = by_default(module, name)
        if found is None:
            raise pickle.UnpicklingError(f"load(): {not_allowed_message(full)}")
        if callable_:
            self.functions.append(found)
        return found

    def persistent_load(self, saved):
        return self.opened.persistent(saved)

    def permitted(self, value):
        return any(value is each for each in self.functions)

    def own(self, value):
        """Returns whether the program has allowed an object."""
        return any(value is each for each in allowed.values())

    def reduce(self):
        if not self.permitted(self.stack[-2]):
            raise pickle.UnpicklingError(f"load(): Trying to call reduce for unrecognized function {self.stack[-2]!r:.100}")

    def newobj(self, at=-2):
        kind = self.stack[at]
        if not isinstance(kind, type) or not self.permitted(kind):
            raise pickle.UnpicklingError(f"load(): Can not create new object for arbitrary class, but got {kind!r:.100}")

    def build(self):
        kind = type(self.stack[-2])
        if kind is collections.OrderedDict and isinstance(self.stack[-1], dict):
            return
        if not self.own(kind):
            raise pickle.UnpicklingError(
                "load(): Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind.__module__}.{kind.__qualname__}"
            )

    def fill(self, target):
        kind = type(target)
        if kind not in CONTAINERS and not self.own(kind):
            raise pickle.UnpicklingError(
                f"load(): Can only add items to a list, a dict or a set, but got {kind.__module__}.{kind.__qualname__}"
            )

    def raise_not_allowed(self):
        raise pickle.UnpicklingError("load(): Weights only load failed: the pickle uses an opcode that is not allowed")


CONTAINERS = frozenset((list, dict, set, collections.OrderedDict, collections.Counter))
CHECKS = {
    pickle.REDUCE: Restricted.reduce,
    pickle.NEWOBJ: Restricted.newobj,
    pickle.NEWOBJ_EX: lambda self: self.newobj(-3),
    pickle.BUILD: Restricted.build,
    pickle.APPEND: lambda self: self.fill(self.stack[-2]),
    pickle.SETITEM: lambda self: self.fill(self.stack[-3]),
    **dict.fromkeys((pickle.APPENDS, pickle.SETITEMS, pickle.ADDITEMS), lambda self: self.fill(self.metastack[-1][-1])),
    **dict.fromkeys((pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID), Restricted.raise_not_allowed),
    **dict.fromkeys((pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER), Restricted.raise_not_allowed),
}


def guarded(check, run):
    """Returns an opcode function that runs a check first."""

    def load(self):
        check(self)
        run(self)

    return load


Restricted.dispatch.update({code[0]: guarded(check, Restricted.dispatch[code[0]]) for code, check in CHECKS.items()})


def read_archive(names, records, restore, unpickler, options):
    """Returns the object of an archive's records."""
    prefix = next((name[: -len("data.pkl")] for name in names if name.endswith("/data.pkl") and name.count("/") == 1), None)
    if prefix is None:
        raise pickle.UnpicklingError("load(): the zip archive has no data.pkl: it was not written by PyTorch or libtensor")
    found = dict(zip(names, records, strict=True))
    order = bytes(found[prefix + "byteorder"].tolist()) if prefix + "byteorder" in found else b"little"
    if order != b"little":
        raise NotImplementedError(f"load(): the file has byte order {order!r:.20}; only little-endian files can be loaded")
    storages = {name.removeprefix(prefix + "data/"): record for name, record in found.items() if name.startswith(prefix + "data/")}
    opened = Opened(storages, restore)
    return unpickler(io.BytesIO(memoryview(found[prefix + "data.pkl"])), opened, **options).load()


def read_stream(file, size, restore, unpickler, options):
    """Returns the object of a file of `size` bytes in the format before version 1.6."""
    for expected, fact in ((MAGIC_NUMBER, "Invalid magic number; corrupt file?"), (LEGACY_VERSION, "Invalid protocol version")):
        if Plain(file).load() != expected:
            raise pickle.UnpicklingError(f"load(): {fact}")
    facts = Plain(file).load()
    if not isinstance(facts, dict) or facts.get("little_endian") is not True:
        raise NotImplementedError("load(): the file was written on a big-endian machine; only little-endian files can be loaded")
    begin = file.tell()
    skimmed = Skimmer(file, **options)
    skimmed.load()
    keys = Plain(file).load()
    if not isinstance(keys, list):
        raise pickle.UnpicklingError(f"load(): the pickle is damaged: the list of storages is {keys!r:.40}")
    storages = {}
    for key in keys:
        head = file.read(8)
        count, dtype = skimmed.named.get(key, (None, None))
        if dtype is None or len(head) < 8 or struct.unpack("<q", head)[0] != count or not 0 <= count * dtype.itemsize <= size:
            raise pickle.UnpicklingError(f"load(): the file is damaged or truncated: storage {key!r:.100} does not match the pickle")
        data = file.read(count * dtype.itemsize)
        if len(data) < count * dtype.itemsize:
            raise pickle.UnpicklingError(
                f"load(): the file is damaged or truncated: storage {key!r:.100} has {len(data)} of {count * dtype.itemsize} bytes"
            )
        storages[key] = _f.from_data(data, (len(data),), dtype=_dtypes.uint8) if data else _f.empty(0, dtype=_dtypes.uint8)
    end = file.tell()
    file.seek(begin)
    made = unpickler(file, Opened(storages, restore), **options).load()
    file.seek(end)
    return made


class Inert:
    """A placeholder for any object of a scanned pickle."""

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self

    __setstate__ = append = extend = add = update = __setitem__ = __call__


class Skimmer(pickle.Unpickler):
    """Finds the storages in a pickle: `named` are their numbers of elements and dtypes. Imports and calls nothing."""

    def __init__(self, file, **options):
        super().__init__(file, **options)
        self.named = {}

    def find_class(self, module, name):
        return find(module, name) if module in ("torch", "torch.cuda", "torch.storage") and name.endswith("Storage") else Inert

    def persistent_load(self, saved):
        if isinstance(saved, tuple) and len(saved) > 4 and saved[0] == "storage" and isinstance(saved[4], int):
            dtype = getattr(saved[1], "dtype", None)
            self.named[saved[2]] = saved[4], dtype if isinstance(dtype, _dtypes.dtype) else _dtypes.uint8
        return Inert if isinstance(saved, tuple) and saved and saved[0] == "module" else Inert()


class Plain(pickle.Unpickler):
    """Loads only numbers, strings and containers."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"load(): the file is damaged: its header names {module}.{name}")
