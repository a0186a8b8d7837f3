"""Functions that control saving to and loading from PyTorch's files."""

import contextlib
import enum
import mmap as _mmap
import os
import pickletools
from collections.abc import Callable
from typing import IO, TypeAlias

from ._base.device import device
from ._core.owner import TypedStorage, UntypedStorage
from ._data.interop import raw_bytes as _raw_bytes
from ._gen import gen_functions as _f
from ._storages import files as _files
from ._storages import pickling as _pickling
from ._storages import unpickling as _unpickling
from ._storages.files import load, save
from ._storages.locations import default_restore_location, location_tag, register_package
from ._storages.rebuild import _get_layout  # noqa: F401 (files name it here)
from ._storages.unpickling import SourceChangeWarning

__all__ = [
    "FILE_LIKE",
    "FileLike",
    "LoadEndianness",
    "MAP_LOCATION",
    "SourceChangeWarning",
    "Storage",
    "add_safe_globals",
    "clear_safe_globals",
]
__all__ += ["default_restore_location", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals"]
__all__ += ["get_unsafe_globals_in_checkpoint", "load", "location_tag", "register_package", "safe_globals", "save", "set_crc32_options"]
__all__ += ["set_default_load_endianness", "set_default_mmap_options", "skip_data"]

DEFAULT_PROTOCOL = 2
MAP_PRIVATE, MAP_SHARED = _mmap.MAP_PRIVATE, _mmap.MAP_SHARED
MAGIC_NUMBER, PROTOCOL_VERSION = _pickling.MAGIC_NUMBER, _pickling.LEGACY_VERSION

# Types for annotations.
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
FILE_LIKE = FileLike
Storage: TypeAlias = TypedStorage | UntypedStorage
MAP_LOCATION: TypeAlias = Callable[[Storage, str], Storage] | device | str | dict[str, str] | None


class LoadEndianness(enum.Enum):
    """The byte order of files that do not contain it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def add_safe_globals(safe_globals):
    """Allows load() with `weights_only=True` to create instances of classes and to call functions.

    `safe_globals` is a list of functions and classes, or of pairs of one and its name in files, such as "__main__.Settings". load() calls
    them with arguments from the file: allow only those that are safe with any arguments.
    """
    for item in safe_globals:
        value, name = item if isinstance(item, tuple) else (item, None)
        if not callable(value):
            raise TypeError(f"add_safe_globals(): expected functions, classes, or pairs (object, name), but got {value!r:.100}")
        _unpickling.allowed[_unpickling.name_of(value) if name is None else name] = value


def get_safe_globals():
    """Returns the functions and classes that add_safe_globals() has allowed."""
    return list(_unpickling.allowed.values())


def clear_safe_globals():
    """Removes what add_safe_globals() has allowed."""
    _unpickling.allowed.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """A context manager in which load() allows functions and classes, as after add_safe_globals().

    >>> import argparse, io
    >>> file = io.BytesIO()
    >>> torch.save(argparse.Namespace(lr=0.1), file)
    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([argparse.Namespace]):
    ...     torch.load(file)
    Namespace(lr=0.1)
    """
    before = dict(_unpickling.allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        clear_safe_globals()
        _unpickling.allowed.update(before)


def get_unsafe_globals_in_checkpoint(f):
    """Returns the names in a file, as a list of strings, that load() does not allow without add_safe_globals(). Executes nothing.

    Raises ValueError for files that are not zip archives.
    """
    found = _files.opened(f, "get_unsafe_globals_in_checkpoint", _files.read)
    if not _files.beginning(found).startswith(_files.ARCHIVE):
        raise ValueError(
            "get_unsafe_globals_in_checkpoint(): the file is not a zip archive; files from before PyTorch 1.6 are not supported"
        )
    with _files.raising(_files.UnpicklingError, "get_unsafe_globals_in_checkpoint"):
        names, records = _f.archive_load(found, mmap=True) if _files.is_path(found) else _f.archive_load_bytes(found)
    data = next((record for name, record in zip(names, records, strict=True) if name.endswith("/data.pkl")), None)
    if data is None:
        raise ValueError("get_unsafe_globals_in_checkpoint(): the zip archive has no data.pkl: it was not written by PyTorch or libtensor")
    unsafe = []
    for full in _names_in(_raw_bytes(data)):
        module, _, name = full.rpartition(".")
        if full not in _unpickling.allowed and _unpickling.by_default(module, name)[0] is None and full not in unsafe:
            unsafe.append(full)
    return unsafe


def _names_in(pickled):
    """Returns the names that a pickle imports."""
    memo, strings = [], []
    protocol = 2
    for code, argument, _ in pickletools.genops(pickled):
        if code.name == "PROTO":
            protocol = argument
        elif code.name == "GLOBAL":
            module, _, name = argument.partition(" ")
            yield _unpickling.in_python3(f"{module}.{name}") if protocol < 3 else f"{module}.{name}"
        elif code.name == "MEMOIZE":
            memo.append(strings[-1] if strings else None)
        elif code.name in ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"):
            strings.append(argument)
        elif code.name in ("BINGET", "LONG_BINGET") and argument < len(memo):
            strings.append(memo[argument])
        elif code.name == "STACK_GLOBAL":
            yield f"{strings[-2]}.{strings[-1]}"
            strings.append(None)


class skip_data:
    """A context manager in which save() writes zeros instead of the bytes of storages, for files that another program completes.

    load() raises RuntimeError in it. `materialize_fake_tensors` has no effect.
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors, self.before = materialize_fake_tensors, False

    def __enter__(self):
        self.before, _pickling.skipping.active = _pickling.skipping.active, True

    def __exit__(self, *_):
        _pickling.skipping.active = self.before


class set_default_mmap_options:
    """Sets the flags of mappings of load(mmap=True); as a context manager, restores them at its end.

    Raises ValueError for others than `mmap.MAP_PRIVATE`: shared mappings are not supported.
    """

    def __init__(self, flags):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        if flags == MAP_SHARED:
            raise ValueError("set_default_mmap_options(): MAP_SHARED is not supported; use MAP_PRIVATE")

    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


def get_default_mmap_options():
    """Returns the flags of mappings of load(mmap=True): mmap.MAP_PRIVATE."""
    return MAP_PRIVATE


_defaults = {"endianness": None}


def set_default_load_endianness(endianness):
    """Sets the byte order of files that do not contain it: a LoadEndianness, or None for the native one.

    Raises NotImplementedError for BIG, and TypeError for other values: load() reads only little-endian files.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    if endianness is LoadEndianness.BIG:
        raise NotImplementedError("set_default_load_endianness(): only little-endian files can be loaded")
    _defaults["endianness"] = endianness


def get_default_load_endianness():
    """Returns the byte order of set_default_load_endianness(); None by default."""
    return _defaults["endianness"]


def set_crc32_options(compute_crc32):
    """Stores PyTorch's option for files without checksums, which get_crc32_options() returns. save() always writes checksums."""
    _files.options.crc32 = bool(compute_crc32)


def get_crc32_options():
    """Returns the option of set_crc32_options(); True by default."""
    return _files.options.crc32
