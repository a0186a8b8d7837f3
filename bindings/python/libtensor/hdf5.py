"""HDF5 files through h5py, which must be installed: tensors as datasets, rows read straight into a tensor's memory."""

import os
import secrets

from . import gen_functions as _f
from ._interop import FROM_TYPESTR
from ._size import Size
from ._tensor import Tensor

__all__ = ["load", "read", "save"]


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("libtensor.hdf5 needs the package h5py: pip install h5py") from error
    return h5py


def save(tensors, f, **options):
    """Saves a dict of tensors as datasets; dicts within it become groups.

    `f` is a path, whose file is replaced at once, or an open h5py File or Group, which is added to. `options` go to
    create_dataset: chunks, compression and so on. bfloat16 has no place in the format.
    """
    h5py = _h5py()
    if isinstance(f, h5py.Group):
        _write(f, tensors, options)
        return
    path = os.path.realpath(os.fspath(f))
    temporary = os.path.join(os.path.dirname(path), f".libtensor-{secrets.token_hex(8)}.tmp")
    try:
        with h5py.File(temporary, "w") as file:
            _write(file, tensors, options)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _write(group, tensors, options):
    for name, value in tensors.items():
        if isinstance(value, Tensor):
            group.create_dataset(name, data=value.numpy(force=True), **options)
        elif isinstance(value, dict):
            _write(group.create_group(name), value, options)
        else:
            raise TypeError(f"hdf5.save(): {group.name}/{name} is a {type(value).__name__}; a tensor or a dict of tensors is expected")


def load(f):
    """All datasets of a file, or of an open h5py File or Group, as a dict; groups are dicts within it."""
    h5py = _h5py()
    if not isinstance(f, h5py.Group):
        with h5py.File(f, "r") as file:
            return load(file)
    return {name: load(item) if isinstance(item, h5py.Group) else read(item) for name, item in f.items()}


def read(dataset, index=()):
    """The part `index` of an open h5py Dataset as a tensor: only that is read, and straight into the tensor's memory.

    `index` has integers, slices with positive steps, and one ellipsis: read(f["coords"], slice(-2, None)) gives the last two rows.
    """
    dtype = FROM_TYPESTR.get(dataset.dtype.newbyteorder("<").str)
    if dtype is None:
        raise TypeError(f"hdf5.read(): dataset {dataset.name} has dtype {dataset.dtype}, which libtensor does not have")
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
