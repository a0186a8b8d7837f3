"""save and load: PyTorch's file formats; .npy and .npz, NumPy's."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import stat
import struct
import threading

from .._base import dtypes as _dtypes
from .._base.device import device
from .._base.direct import TensorBase
from .._base.errors import in_name_of, wrong_type
from .._gen import gen_functions as _f
from . import progress as _progress
from .locations import restorer
from .pickling import Survey, skipping
from .serialize import as_read
from .structure import Decoder
from .unpickling import Restricted, allowed, in_python3, loader_of, not_allowed_message, read_archive, read_stream

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any


class UnpicklingError(pickle.UnpicklingError, RuntimeError):
    """A file that load cannot read. PyTorch raises one of both base classes, depending on the reason."""


class NumPyFileError(ValueError, RuntimeError):
    """An invalid .npy or .npz file, which NumPy reports as ValueError."""


class EmptyFileError(EOFError, NumPyFileError, UnpicklingError):
    """An empty file, or an empty rest of a file."""


@contextlib.contextmanager
def raising(kind, function):
    """Raises the engine's errors for invalid files as errors of another class, with the name of a function."""
    try:
        with in_name_of(function):
            yield
    except (NotImplementedError, MemoryError):
        raise
    except RuntimeError as error:
        raise kind(str(error)) from None


def is_path(f):
    return isinstance(f, (str, os.PathLike))


def with_path(function, *, f, **options):
    """Raises for options that require a path if `f` is a file object."""
    for name, value in options.items():
        if value and not is_path(f):
            raise ValueError(f"{function}(): {name} needs a path, not a file object")


def path_of(f):
    """Returns the string of a path; bytes that are not UTF-8 are kept by surrogateescape."""
    return os.fsdecode(os.fspath(f))


@contextlib.contextmanager
def writing(f):
    """Returns the path of a file to write, which errors of the system contain."""
    path = path_of(f)
    try:
        yield path
    except OSError as error:
        error.filename = path
        raise


def readable(f):
    """Returns the path of an existing file; raises the errors of open() otherwise."""
    path = path_of(f)
    kind = os.stat(path).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):  # opening a pipe could block
        with open(path, "rb"):
            pass
    return path


def opened(f, function, rest):
    """Returns the path of a file, or the data that `rest` reads from a file object. Raises EmptyFileError for empty files."""
    if is_path(f):
        found = readable(f)
        about = os.stat(found)
        if not stat.S_ISREG(about.st_mode) or about.st_size:
            return found
    else:
        found = rest(f, function)
        if found.numel():
            return found
    raise EmptyFileError(f"{function}(): the file is empty: {found if is_path(f) else 'f'} has no bytes, or is at its end")


def write(f, data, function):
    """Writes the bytes of a uint8 tensor to a file object."""
    if not hasattr(f, "write"):
        raise wrong_type(function, "f", "a path or a file object with write()", f)
    view = memoryview(data)
    while len(view):
        written = f.write(view)
        if written is None:
            if isinstance(f, io.RawIOBase):
                raise BlockingIOError(f"{function}(): f.write() would block, with {len(view)} bytes left to write")
            return  # objects that return no count write all bytes
        count = written.__index__()
        if not 0 < count <= len(view):
            raise OSError(
                f"{function}(): f.write() returned {count} for {len(view)} bytes; it must return the number of written bytes, at least 1"
            )
        view = view[count:]


def read(f, function):
    """Returns the rest of a file object as a uint8 tensor."""
    if isinstance(f, (bytes, bytearray, memoryview)):
        return from_bytes(f)
    if not hasattr(f, "read"):
        raise wrong_type(function, "f", "a path or a file object with read()", f)
    if not (hasattr(f, "readinto") and hasattr(f, "seekable") and f.seekable()):
        return from_bytes(checked(f.read(), function))
    begin = f.tell()
    size = f.seek(0, os.SEEK_END) - begin
    f.seek(begin)
    data = _f.empty(max(size, 0), dtype=_dtypes.uint8, device="cpu")
    return data[: fill(f, data, 0, function)]


def fill(f, data, at, function):
    """Reads from a file object into a uint8 tensor from an offset on, and returns the offset of the end."""
    view = memoryview(data)
    while at < len(view):
        rest = view[at:]
        if hasattr(f, "readinto"):
            count = f.readinto(rest)
            if count is None:
                raise BlockingIOError(f"{function}(): f.readinto() would block, with {len(rest)} bytes left to read")
        else:
            found = checked(f.read(len(rest)), function)
            count = len(found)
            if count <= len(rest):
                rest[:count] = found
        count = count.__index__()
        if not 0 <= count <= len(rest):
            raise OSError(f"{function}(): f returned {count} bytes, but {len(rest)} were requested")
        if not count:
            break
        at += count
    return at


def checked(data, function):
    """Returns the result of read(). Raises TypeError unless it is bytes."""
    if data is None:
        raise BlockingIOError(f"{function}(): f.read() would block")
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"{function}(): f.read() must return bytes, not {type(data).__name__}; open the file in binary mode")
    return data


def from_bytes(data):
    view = memoryview(data)
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    made = _f.empty(view.nbytes, dtype=_dtypes.uint8, device="cpu")
    if view.nbytes:
        memoryview(made)[:] = view.cast("B")
    return made


def save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True, *, compact=False, progress=False):
    """Saves an object in PyTorch's file format, which torch.load reads.

    `f` is a path or a file object with write(). A file at a path is replaced atomically. `pickle_module` pickles the object with
    `pickle_protocol`: classes and functions by name, where `libtensor.x` becomes `torch.x`, other objects by the methods of the pickle
    protocol; no other code is executed. By default load() reads tensors and containers of them; programs that load objects of other classes
    must allow these. Tensors that share a storage share it after loading.

    The whole storage of a tensor is saved, as in PyTorch; with `compact`, only the part that the saved tensors use. With
    `_use_new_zipfile_serialization=False` the file has the format before version 1.6. `progress`, which requires a path, prints a progress
    bar to stderr, or calls a function with the bytes written and the total.

    Raises pickle.PicklingError or TypeError for objects that cannot be pickled.
    """
    with_path("save", progress=progress, f=f)
    if not is_path(f) and not hasattr(f, "write"):
        raise wrong_type("save", "f", "a path or a file object with write()", f)
    module = pickle_module or pickle
    found = Survey(obj, module, pickle_protocol, compact, not _use_new_zipfile_serialization)
    total = sum(kept.end - kept.begin for kept in found.kept.values())
    with _progress.shown(progress, f"saving {f}", _progress.WRITTEN, total):
        if not _use_new_zipfile_serialization:
            data = _f.cat(found.stream(module, pickle_protocol))
            if is_path(f):
                with writing(f) as path, in_name_of("save"):
                    _f.file_write(path, data)
            else:
                write(f, data, "save")
        elif is_path(f):
            with writing(f) as path, in_name_of("save"):
                _f.archive_save(path, *found.records())
        else:
            with in_name_of("save"):
                data = _f.archive_save_bytes(*found.records())
            write(f, data, "save")


TRUE = ("1", "y", "yes", "true")


def is_yes(value):
    """Returns whether the value of an environment variable is true; None, for an unset variable, is false."""
    return value is not None and value.lower() in TRUE


def restricts(weights_only, pickle_module):
    """Returns whether a load is restricted to tensors and allowed classes."""
    forced, freed = is_yes(os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD")), is_yes(os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"))
    if forced and freed:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if forced:
        return True
    if weights_only is None:
        return not freed and pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return bool(weights_only)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, progress=False, **pickle_load_args):
    """Loads an object from a file in any of PyTorch's formats.

    `f` is a path or a file object with read(). From a seekable file object that contains several files, each call loads the next one.
    `map_location` selects the device of tensors: a device for all, a dict of devices, or a function of a storage on the CPU and its saved
    location that returns a storage, or None for the saved location. With `mmap` the file at a path is mapped: bytes are read when they are
    used, checksums are not verified, writes stay in this process, and the file must not be truncated.

    With `weights_only=True`, the default, no code is executed: names other than those of tensors, storages, plain containers, and those
    allowed by serialization.add_safe_globals raise pickle.UnpicklingError, which is also a RuntimeError, as do damaged files. Empty files
    raise EOFError, features of PyTorch that libtensor does not support NotImplementedError. Memory use is proportional to the size of the
    file, within the memory limit.

    With `weights_only=False`, or a `pickle_module`, the file is unpickled, which can create any object and execute any code: use this for
    files from trusted sources only. `pickle_load_args`, such as `encoding`, are passed to the unpickler. For a TorchScript archive, returns
    an OrderedDict of the tensors of its module by name. `progress`, which requires a path, prints a progress bar to stderr, or calls a
    function with the bytes read and the total.
    """
    if skipping.active:
        raise RuntimeError(
            "`torch.load` called within a torch.serialization.skip_data context manager is not supported yet. Please call torch.load "
            "outside the "
            "skip_data context manager."
        )
    with_path("load", mmap=mmap, progress=progress, f=f)
    restricted = restricts(weights_only, pickle_module)
    found = opened(f, "load", read)
    size = os.path.getsize(found) if is_path(f) else found.numel()
    with _progress.shown(progress, f"loading {f}", _progress.READ, size):
        if restricted or not is_pickled(found):
            return load_weights(f, found, size, map_location, bool(mmap), pickle_load_args)
        pickle_load_args.setdefault("encoding", "utf-8")
        return load_objects(f, found, size, map_location, bool(mmap), loader_of(pickle_module or pickle), pickle_load_args)


class Options:
    """Defaults that serialization sets."""

    crc32 = True


options = Options()


def beginning(found):
    """Returns the first bytes of a file."""
    if is_path(found):
        with open(found, "rb") as file:
            return file.read(64)
    return bytes(memoryview(found)[:64])


LEGACY = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"  # the magic number of files before version 1.6
ARCHIVE = b"PK\x03\x04"


def is_pickled(found):
    """Returns whether a file must be unpickled: the engine reads TorchScript archives and other formats."""
    head = beginning(found)
    if head.startswith(ARCHIVE):
        return True
    return head[:1] == b"\x80" and LEGACY in head[:32]


def load_weights(f, found, size, map_location, mmap, arguments):
    """Loads tensors, containers of them, and objects of allowed classes."""
    try:
        with raising(UnpicklingError, "load"):
            return load_tensors(f, found, map_location, mmap)
    except UnpicklingError as error:
        global_name = re.search(r"the file refers to ([^ ]+), which is not allowed", str(error))
        if not allowed or isinstance(error, EmptyFileError) or not is_pickled(found):
            if global_name:
                raise UnpicklingError(f"{error}. {not_allowed_message(in_python3(global_name[1]))}") from None
            raise
    try:
        return load_objects(f, found, size, map_location, mmap, Restricted, {"encoding": "utf-8"} | arguments)
    except (UnpicklingError, NotImplementedError, MemoryError, OSError):
        raise
    except pickle.UnpicklingError as error:
        raise UnpicklingError(str(error)) from None
    except Exception as error:
        raise UnpicklingError(f"load(): Weights only load failed: {type(error).__name__}: {error}") from error


def load_objects(f, found, size, map_location, mmap, unpickler, arguments):
    """Unpickles the object of a file."""
    restore = restorer(map_location)
    if not beginning(found).startswith(ARCHIVE):
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), please torch.save your "
                "checkpoint "
                "with this option in order to use mmap."
            )
        with open(found, "rb") if is_path(f) else io.BytesIO(memoryview(found)) as file:
            made = read_stream(file, size, restore, unpickler, arguments)
            leave(f, file.tell() - size)
            return made
    with raising(UnpicklingError, "load"):
        if is_path(f):
            names, records = _f.archive_load(found, mmap=mmap or str(map_location) == "meta")
        else:
            length = archive_length(memoryview(found))
            names, records = _f.archive_load_bytes(found[:length])
            leave(f, length - size)
    if any(name.endswith("/constants.pkl") and name.count("/") == 1 for name in names):
        with raising(UnpicklingError, "load"):
            return load_tensors(f, found, map_location, mmap)
    return read_archive(names, records, restore, unpickler, arguments)


def leave(f, back):
    """Moves a file object to the end of the loaded file."""
    if back < 0 and hasattr(f, "seek") and f.seekable():
        f.seek(back, os.SEEK_CUR)


def load_tensors(f, found, map_location, mmap):
    """Returns the tensors and containers that the engine reads from a file."""
    place = map_location
    if callable(map_location) and not isinstance(map_location, device):
        place = "cpu"
    elif isinstance(map_location, dict):
        place = ",".join(f"{device(a)}={device(b)}" for a, b in map_location.items()) or None
    elif map_location is not None:
        place = str(device(map_location))
    if is_path(f):
        text, tensors = _f.load(found, map_location=place, mmap=mmap)
    else:
        text, tensors = load_first(f, found, place)
    moved, to_place = {}, restorer(map_location) if callable(map_location) else None

    def restore(tensor, location):
        if to_place is None or tensor.is_meta:
            return tensor
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in moved or not key:
            moved[key] = to_place(storage, location)
        target = moved[key]
        if target is storage:
            return tensor
        made = _f.empty(0, dtype=tensor.dtype, device=target.device)
        made = made.set_(target, tensor.storage_offset(), tensor.shape, tensor.stride())
        return as_read(made, tensor.is_conj(), tensor.is_neg())

    return decode(text, tensors, restore)


def load_first(f, data, place):
    """Returns the result of _f.load_bytes for the rest of a file object: of several consecutive files, each call loads the next one."""
    try:
        return _f.load_bytes(data, map_location=place)
    except RuntimeError:
        rest = data.numel()
        length = archive_length(memoryview(data)) if hasattr(f, "seek") and f.seekable() else rest
        if length >= rest:
            raise
    found = _f.load_bytes(data[:length], map_location=place)
    f.seek(length - rest, os.SEEK_CUR)
    return found


END, WIDE_END, WIDE_AT = b"PK\5\6", b"PK\6\6", b"PK\6\7"  # of a zip archive: the end record, that of 64-bit archives, and its locator
END_SIZE, WIDE_SIZE, WIDE_AT_SIZE = 22, 56, 20


def archive_length(data):
    """Returns the size of the first of several zip archives, from the end record that follows its directory."""
    for found in re.finditer(END, data):
        at = end = found.start()
        if at > len(data) - END_SIZE:
            break
        size, central, comment = struct.unpack_from("<IIH", data, at + 12)
        if at >= WIDE_AT_SIZE and data[at - WIDE_AT_SIZE :][:4] == WIDE_AT:
            (end,) = struct.unpack_from("<Q", data, at - WIDE_AT_SIZE + 8)
            if end <= at - WIDE_AT_SIZE - WIDE_SIZE and data[end : end + 4] == WIDE_END:
                size, central = struct.unpack_from("<QQ", data, end + 40)
        if central + size == end:
            return at + END_SIZE + comment
    return len(data)


def decode(text, tensors, restore):
    """Returns the object of a decoded structure. Deep ones are decoded in a thread with a larger stack."""
    try:
        return Decoder(text, tensors, restore).value
    except RecursionError as error:
        found: list[Any] = [error]

    def run():
        try:
            found[0] = Decoder(text, tensors, restore)
        except BaseException as error:
            found[0] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0].value


def save_npy(tensor, f):
    """Saves a tensor as a .npy file, which numpy.load reads. `f` is a path, whose file is replaced atomically, or a file object."""
    if not isinstance(tensor, TensorBase):
        raise wrong_type("save_npy", "tensor", "Tensor", tensor)
    if is_path(f):
        with writing(f) as path:
            _f.npy_save(path, tensor)
    else:
        write(f, _f.npy_save_bytes(tensor), "save_npy")


def load_npy(f, *, mmap=False):
    """Loads the tensor of a .npy file. Raises ValueError for arrays of Python objects, which could execute code.

    `f` is a path or a file object. From a file object, one array is read, so that several calls read the consecutive arrays of a file. With
    `mmap`, which requires a path, the file is mapped: bytes are read when they are used, and writes stay in this process.
    """
    with_path("load_npy", mmap=mmap, f=f)
    found = opened(f, "load_npy", read_npy)
    with raising(NumPyFileError, "load_npy"):
        return _f.npy_load(found, mmap=mmap) if is_path(f) else _f.npy_load_bytes(found)


BEGINNING = 12  # bytes that contain the length of a .npy header, which contains the size of the file
STEP = 1 << 24  # bytes that are read before more memory is allocated: a header can contain any size


def read_npy(f, function):
    """Returns the next .npy file of a file object, as a uint8 tensor."""
    if isinstance(f, (bytes, bytearray, memoryview)):
        return from_bytes(f)
    if not hasattr(f, "read"):
        raise wrong_type(function, "f", "a path or a file object with read()", f)
    data, length = _f.empty(0, dtype=_dtypes.uint8, device="cpu"), BEGINNING
    for told in range(3):
        while (at := data.numel()) < length:
            grown = _f.empty(min(length, max(2 * at, STEP)), dtype=_dtypes.uint8, device="cpu")
            grown[:at] = data
            end = fill(f, grown, at, function)
            data = grown[:end]
            if end < grown.numel():
                return data
        if told < 2:
            with raising(NumPyFileError, function):
                length = _f.npy_length(data)
    return data


def save_npz(tensors, f):
    """Saves a dict of tensors as an .npz file, which numpy.load reads. `f` is a path or a file object."""
    if not isinstance(tensors, dict):
        raise wrong_type("save_npz", "tensors", "a dict of tensors", tensors)
    names, values = list(tensors), list(tensors.values())
    if is_path(f):
        with writing(f) as path:
            _f.npz_save(path, names, values)
    else:
        write(f, _f.npz_save_bytes(names, values), "save_npz")


def load_npz(f):
    """Loads all tensors of an .npz file, compressed or not, as a dict."""
    found = opened(f, "load_npz", read)
    with raising(NumPyFileError, "load_npz"):
        names, tensors = _f.npz_load(found) if is_path(f) else _f.npz_load_bytes(found)
    return dict(zip(names, tensors, strict=True))
