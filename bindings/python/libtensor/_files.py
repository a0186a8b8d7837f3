"""save and load: PyTorch's files; .npy and .npz, NumPy's."""

import ctypes
import os

from . import _dtypes
from . import gen_functions as _f
from ._device import device
from ._errors import wrong_type
from ._interop import buffer
from ._storage import UntypedStorage
from ._structure import Decoder, Encoder
from ._typed_storage import TypedStorage


def is_path(f):
    return isinstance(f, (str, os.PathLike))


def path_of(f):
    """The text of a path; bytes that are no UTF-8 are kept as Python keeps them."""
    return os.fsdecode(os.fspath(f))


def readable(f):
    """The path of a file that exists; raises what open() does otherwise."""
    path = path_of(f)
    with open(path, "rb"):
        return path


def write(f, data, function):
    """Writes a file, which is in a uint8 tensor, to a file object."""
    if not hasattr(f, "write"):
        raise wrong_type(function, "f", "a path or a file object with write()", f)
    view = buffer(data, 0)
    while len(view):
        written = f.write(view)
        view = view[len(view) if written is None else written :]


def read(f, function):
    """The rest of a file object as a uint8 tensor."""
    if isinstance(f, (bytes, bytearray, memoryview)):
        return from_bytes(f)
    if not hasattr(f, "read"):
        raise wrong_type(function, "f", "a path or a file object with read()", f)
    if not (hasattr(f, "readinto") and hasattr(f, "seekable") and f.seekable()):
        return from_bytes(f.read())
    begin = f.tell()
    size = f.seek(0, os.SEEK_END) - begin
    f.seek(begin)
    data = _f.empty(max(size, 0), dtype=_dtypes.uint8)
    view, at = buffer(data, 0), 0
    while at < size and (n := f.readinto(view[at:])):
        at += n
    return data[:at]


def from_bytes(data):
    view = memoryview(data).cast("B")
    made = _f.empty(len(view), dtype=_dtypes.uint8)
    buffer(made, 0)[:] = view
    return made


def to_bytes(data):
    return ctypes.string_at(data.data_ptr(), data.numel()) if data.numel() else b""


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True, *, compact=False):
    """Saves tensors, and containers of them, in PyTorch's file format: torch.load reads the file.

    `obj` may be or hold tensors, storages, lists, tuples, dicts, OrderedDicts, sets, numbers, strings, bytes, sizes, dtypes,
    devices and layouts; instances of subclasses are saved as the base. Anything else is a TypeError that says where it is.
    `f` is a path or a file object with write(). A file at a path is replaced at once: a crash at any moment leaves the
    old one or the new one, whole. Tensors that share a storage share it after loading. As in PyTorch, a storage is saved
    whole even where a tensor views a part of it; with `compact` only as far as the saved tensors reach. The pickle
    in the file is always of protocol 2, and `pickle_module` has no part in it.
    """
    if pickle_protocol != 2 or not _use_new_zipfile_serialization:
        raise ValueError("save(): only zip files with a pickle of protocol 2 are written, which all PyTorch versions since 1.6 read")
    encoded = Encoder(obj)
    encoded.text.encode()  # raises where a string has half of a surrogate pair, which no file can hold
    if is_path(f):
        _f.save(path_of(f), encoded.text, encoded.tensors, compact=compact)
    else:
        write(f, _f.save_bytes(encoded.text, encoded.tensors, compact=compact), "save")


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **_):
    """Loads what save, or PyTorch's torch.save, has written.

    `f` is a path or a file object with read(). `map_location` tells where what was saved from a device goes: a device for all,
    a dict of devices, or a function of a storage on the CPU and the place it was saved from that gives a storage. With
    `mmap` the file at a path is mapped: bytes are read when they are used, checksums are not compared, writes stay
    in this process, and the file must not shrink meanwhile.
    No code is ever executed, with `weights_only` or without: names other than those of tensors, storages and plain
    containers are refused, as are damaged files, with a RuntimeError that says what was found. `pickle_module` has no part in it.
    """
    if mmap and not is_path(f):
        raise ValueError("load(): mmap=True needs a path, not a file object")
    place = map_location
    if callable(map_location):
        place = "cpu"
    elif isinstance(map_location, dict):
        place = ",".join(f"{device(a)}={device(b)}" for a, b in map_location.items()) or None
    elif map_location is not None:
        place = str(device(map_location))
    if is_path(f):
        text, tensors = _f.load(readable(f), map_location=place, mmap=bool(mmap))
    else:
        text, tensors = _f.load_bytes(read(f, "load"), map_location=place)
    moved = {}

    def restore(tensor, location):
        if not callable(map_location) or tensor.is_meta:
            return tensor
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in moved or not key:
            moved[key] = map_location(storage, location)
        target = moved[key]
        if isinstance(target, TypedStorage):
            target = target.untyped()
        if target is None or target is storage:
            return tensor
        if not isinstance(target, UntypedStorage):
            raise TypeError(f"load(): map_location must give a storage, not {type(target).__name__}")
        made = _f.empty(0, dtype=tensor.dtype, device=target.device)
        return made.set_(target, tensor.storage_offset(), tensor.shape, tensor.stride())

    return Decoder(text, tensors, restore).value


def save_npy(tensor, f):
    """Saves a tensor as a .npy file, which numpy.load reads. `f` is a path, whose file is replaced at once, or a file object."""
    if is_path(f):
        _f.npy_save(path_of(f), tensor)
    else:
        write(f, _f.npy_save_bytes(tensor), "save_npy")


def load_npy(f, *, mmap=False):
    """Loads the tensor of a .npy file. Arrays of Python objects are refused: they could run code.

    With `mmap` the file at a path is mapped: bytes are read when they are used, and writes stay in this process.
    """
    if is_path(f):
        return _f.npy_load(readable(f), mmap=mmap)
    if mmap:
        raise ValueError("load_npy(): mmap=True needs a path, not a file object")
    return _f.npy_load_bytes(read(f, "load_npy"))


def save_npz(tensors, f):
    """Saves a dict of tensors as an .npz file, which numpy.load reads. `f` is a path or a file object."""
    names, values = list(tensors), list(tensors.values())
    if is_path(f):
        _f.npz_save(path_of(f), names, values)
    else:
        write(f, _f.npz_save_bytes(names, values), "save_npz")


def load_npz(f):
    """Loads all tensors of an .npz file, compressed or not, as a dict."""
    names, tensors = _f.npz_load(readable(f)) if is_path(f) else _f.npz_load_bytes(read(f, "load_npz"))
    return dict(zip(names, tensors, strict=True))
