"""safetensors files, with the functions of the package safetensors.

Files are validated against the format: an invalid one raises SafetensorError with the reason.
"""

import contextlib
import json
import os
import weakref

from ._base.dtypes import strided
from ._core.tensor import Tensor
from ._data.interop import raw_bytes
from ._gen import gen_functions as _f
from ._storages import progress as _progress
from ._storages.files import read, readable, writing

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]


class SafetensorError(RuntimeError):
    """A file that violates the format, or a tensor that cannot be stored in it."""


@contextlib.contextmanager
def _errors():
    try:
        yield
    except MemoryError:
        raise
    except (RuntimeError, ValueError) as error:
        raise SafetensorError(str(error).removeprefix("safetensors_")) from None


def _placed(tensor, device):
    """Returns a loaded tensor on the requested device."""
    return tensor if device == "cpu" else tensor.to(device)


def _checked(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors).__name__}")
    return list(tensors), list(tensors.values())


def _metadata(metadata):
    if metadata is None:
        return None
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata must map strings to strings, but {key!r} has value {value!r}")
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


def save_file(tensors, filename, metadata=None, *, progress=False):
    """Saves a dict of tensors. An existing file is replaced atomically.

    Tensors that are not contiguous, or that share memory, are saved separately. `metadata` is a dict of strings. `progress` is as in
    torch.save.
    """
    names, values = _checked(tensors)
    total = sum(value.nbytes for value in values if isinstance(value, Tensor) and value.layout is strided)
    with _progress.shown(progress, f"saving {filename}", _progress.WRITTEN, total), _errors(), writing(filename) as path:
        _f.safetensors_save_file(path, names, values, metadata=_metadata(metadata))


def save(tensors, metadata=None):
    """Returns the bytes of the file that save_file writes."""
    names, values = _checked(tensors)
    with _errors():
        return raw_bytes(_f.safetensors_save(names, values, metadata=_metadata(metadata)))


def load_file(filename, device="cpu", *, mmap=True, progress=False):
    """Loads all tensors of a file as a dict.

    With `mmap` the file is mapped: bytes are read when they are used, writes stay in this process, and the file must not be truncated while
    a tensor exists. Without it, they are read immediately; `progress` is as in torch.load.
    """
    path = readable(filename)
    with _progress.shown(progress, f"loading {path}", _progress.READ, os.path.getsize(path)), _errors():
        names, tensors, _ = _f.safetensors_load_file(path, mmap=mmap)
    return {name: _placed(tensor, device) for name, tensor in zip(names, tensors, strict=True)}


def load(data):
    """Loads all tensors from the bytes of a file."""
    with _errors():
        names, tensors, _ = _f.safetensors_load(read(data, "safetensors.load"))
    return dict(zip(names, tensors, strict=True))


class safe_open:
    """A file whose tensors are read on request.

    >>> import tempfile
    >>> from libtensor.safetensors import safe_open, save_file
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     save_file({"embedding": torch.arange(6).view(3, 2)}, file.name)
    ...     with safe_open(file.name) as f:
    ...         f.get_slice("embedding")[1:]
    tensor([[2, 3],
            [4, 5]])
    """

    def __init__(self, filename, framework="pt", device="cpu"):
        if framework not in ("pt", "torch", "pytorch", "libtensor"):
            raise SafetensorError(f"framework {framework!r} is not supported; use 'pt'")
        path = readable(filename)
        # Tensors are mapped: a read of bytes that were truncated meanwhile terminates the process by SIGBUS.
        self._descriptor = os.open(path, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._size = os.fstat(self._descriptor).st_size
        with _errors():
            header, names, tensors = _f.safetensors_open(path)
        self._header = json.loads(header)
        self._metadata = self._header.pop("__metadata__", None)
        self._tensors = dict(zip(names, tensors, strict=True))
        self._device = device

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tensors = None
        self._close()

    def _open(self):
        if self._tensors is None:
            raise SafetensorError("the file is closed")
        return self._tensors

    def _find(self, name):
        tensors = self._open()
        if name not in self._header:
            raise SafetensorError(f"the file does not contain tensor {name}")
        if name not in tensors:
            raise SafetensorError(f"tensor {name} has dtype {self._header[name]['dtype']}, which libtensor does not have")
        if (size := os.fstat(self._descriptor).st_size) < self._size:
            raise SafetensorError(f"the file of tensor {name} was truncated to {size} bytes after it was opened with {self._size}")
        return tensors[name]

    def keys(self):
        """Returns the names of all tensors, sorted."""
        self._open()
        return sorted(self._header)

    def offset_keys(self):
        """Returns the names of all tensors in the order of their offsets."""
        self._open()
        return sorted(self._header, key=lambda name: self._header[name]["data_offsets"])

    def metadata(self):
        """Returns the metadata of the file as a dict, None without any."""
        self._open()
        return self._metadata

    def get_tensor(self, name):
        """Reads and returns a tensor."""
        return _placed(self._find(name).clone(), self._device)

    def get_slice(self, name):
        """Returns an object whose indices read a part of a tensor."""
        return Slice(self, name)


class Slice:
    """A tensor in a file: `s[2:4]` reads only rows 2 and 3."""

    def __init__(self, file, name):
        file._find(name)
        self._file, self._name = file, name

    def get_shape(self):
        return list(self._file._header[self._name]["shape"])

    def get_dtype(self):
        return self._file._header[self._name]["dtype"]

    def __getitem__(self, index):
        return _placed(self._file._find(self._name)[index].clone(), self._file._device)


def __dir__():
    return __all__
