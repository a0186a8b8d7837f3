"""HDF5 files through h5py, which must be installed: tensors as datasets, whose elements are read directly into the memory of tensors."""

import mmap
import os
import tempfile

from ._base import dtypes as _dtypes
from ._base.errors import wrong_type
from ._base.size import Size
from ._core.tensor import Tensor
from ._data.create import frombuffer
from ._data.interop import FROM_TYPESTR
from ._gen import gen_functions as _f
from ._storages.files import is_path, path_of, readable, writing

__all__ = ["load", "read", "save"]


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("libtensor.hdf5 needs the package h5py: pip install h5py") from error
    return h5py


def save(tensors, f, **options):
    """Saves a dict of tensors as datasets; nested dicts become groups.

    `f` is a path, whose file is replaced atomically, or an open h5py File or Group, to which datasets are added. `options` are passed to
    create_dataset: chunks, compression and others. Raises TypeError for bfloat16, which HDF5 does not support.
    """
    h5py = _h5py()
    check(tensors, "", ())
    if isinstance(f, h5py.Group):
        _write(f, tensors, options)
        return
    path = path_of(f)
    folder = os.path.dirname(os.path.realpath(path))
    # A temporary file is written first, which replaces the old one.
    with tempfile.TemporaryFile(dir=folder if os.access(folder, os.W_OK) else None) as made:
        with h5py.File(made, "w") as file:
            _write(file, tensors, options)
        made.flush()
        with writing(f) as path:
            _f.file_write(path, frombuffer(mmap.mmap(made.fileno(), 0, access=mmap.ACCESS_COPY), dtype=_dtypes.uint8))


def check(tensors, path, around):
    """Raises an error for values that cannot be saved, before anything is written."""
    if not isinstance(tensors, dict):
        raise wrong_type("hdf5.save", "tensors", "a dict of tensors", tensors)
    if any(tensors is outer for outer in around):
        raise ValueError(f"hdf5.save(): {path} contains itself")
    for name, value in tensors.items():
        if not isinstance(name, str) or not name or "\0" in name or name in (".", ".."):
            raise ValueError(f"hdf5.save(): {name!r} in {path or '/'} cannot be the name of a dataset: names are strings without NUL")
        if isinstance(value, dict):
            check(value, f"{path}/{name}", (*around, tensors))
        elif not isinstance(value, Tensor):
            raise TypeError(f"hdf5.save(): {path}/{name} is a {type(value).__name__}; a tensor or a dict of tensors is expected")
        elif value.dtype not in FROM_TYPESTR.values():
            raise TypeError(f"hdf5.save(): {path}/{name} has dtype {value.dtype}, which HDF5 does not support; convert it first")


def _write(group, tensors, options):
    for name, value in tensors.items():
        if isinstance(value, Tensor):
            # Scalars and empty tensors have no chunks, and no options that require chunks.
            group.create_dataset(name, data=value.numpy(force=True), **(options if value.ndim and value.numel() else {}))
        else:
            _write(group.create_group(name), value, options)


def load(f):
    """Loads all datasets of a file, or of an open h5py File or Group, as a dict; groups become nested dicts.

    Datasets with several names are loaded once. Raises ValueError for a group that contains itself and for a dangling link.
    """
    h5py = _h5py()
    if isinstance(f, h5py.Group):
        return _load(h5py, f, {})
    with h5py.File(readable(f) if is_path(f) else f, "r") as file:
        return _load(h5py, file, {})


def _load(h5py, group, known):
    """Loads a group as a dict. `known` are the loaded objects, None for the groups that are being loaded."""
    found = {}
    known[group] = None
    for name in group:
        path = f"{group.name.rstrip('/')}/{name}"
        try:
            item = group[name]
        except (KeyError, OSError, RuntimeError) as error:
            raise ValueError(f"hdf5.load(): {path} is a broken link: {error}") from None
        if not isinstance(item, (h5py.Group, h5py.Dataset)):
            continue  # a named datatype, which has no elements
        if item not in known:
            known[item] = _load(h5py, item, known) if isinstance(item, h5py.Group) else read(item)
        if known[item] is None:
            raise ValueError(f"hdf5.load(): {path} is a group that contains itself; read() loads single datasets")
        found[name] = known[item]
    known[group] = found
    return found


def read(dataset, index=()):
    """Returns the elements `index` of an open h5py Dataset as a tensor; reads only these elements, directly into the tensor's memory.

    `index` has integers, slices with positive steps, and at most one ellipsis: read(f["coords"], slice(-2, None)) returns the last two
    rows.
    """
    if dataset.shape is None:
        raise ValueError(f"hdf5.read(): dataset {dataset.name} is null: it has dtype {dataset.dtype}, but neither elements nor a shape")
    dtype = FROM_TYPESTR.get(dataset.dtype.newbyteorder("<").str)
    if dtype is None:
        text = _h5py().check_string_dtype(dataset.dtype)
        raise TypeError(f"hdf5.read(): dataset {dataset.name} has dtype {'text' if text else dataset.dtype}, which libtensor does not have")
    items = index if isinstance(index, tuple) else (index,)
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexError("hdf5.read(): an index can have one ellipsis")
    rank = dataset.ndim
    if len(items) - (Ellipsis in items) > rank:
        raise IndexError(f"hdf5.read(): {len(items)} indices are too many for a dataset of {rank} dimensions")
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    tail = items[at + 1 :]
    items = items[:at] + (slice(None),) * (rank - at - len(tail)) + tail
    source, sizes, kept = [], [], []
    for dim, (item, n) in enumerate(zip(items, dataset.shape, strict=True)):
        if isinstance(item, slice):
            span = range(*item.indices(n))
            if span.step < 1:
                raise ValueError(f"hdf5.read(): the step {span.step} of dimension {dim} must be positive")
            kept.append(len(span))
        else:
            i = item.__index__()
            if not -n <= i < n:
                raise IndexError(f"hdf5.read(): index {i} is out of bounds for dimension {dim} with size {n}")
            span = range(i % n, i % n + 1)
        source.append(slice(span.start, max(span.stop, span.start), span.step))
        sizes.append(len(span))
    made = _f.empty(sizes, dtype=dtype)
    if not rank:
        dataset.read_direct(made.numpy())
    elif made.numel():
        dataset.read_direct(made.numpy(), source_sel=tuple(source))
    return made.view(Size(kept)) if made.numel() else _f.empty(kept, dtype=dtype)


def __dir__():
    return __all__
