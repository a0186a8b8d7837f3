"""Tensors and storages in shared memory, sent to other processes as file descriptors."""

from __future__ import annotations

import os
import sys
from weakref import WeakValueDictionary

from .._base.dtypes import strided
from .._core.owner import UntypedStorage
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from . import serialize as _serialize

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

registered = False


def register():
    """Makes multiprocessing send tensors and storages through shared memory."""
    global registered
    if not registered:
        from multiprocessing.reduction import ForkingPickler

        if sys.platform == "linux":
            from . import parcels as _parcels  # noqa: F401 - takes its place in the order in which a process ends

        ForkingPickler.register(Tensor, send)
        ForkingPickler.register(UntypedStorage, reduce_storage)
        registered = True


def spawning():
    """Returns the process that is being started with the current pickle, or None."""
    context = sys.modules.get("multiprocessing.context")
    return context and context.get_spawning_popen()


def movable(storage):
    """Returns whether the storage is in shared memory or can be moved there. A slice of shared memory has no descriptor."""
    if not _f.storage_is_shared(storage):
        return _f.storage_resizable(storage)
    try:
        return _f.storage_descriptor(storage) >= 0
    except RuntimeError:
        return False


def reduce_storage(storage: Any) -> tuple[Any, ...]:
    if not movable(storage):
        return storage.__reduce__()
    filename = _f.storage_filename(storage)
    if filename:
        return reduce_file(storage, os.path.abspath(filename))
    _f.storage_share_memory_(storage)
    descriptor = _f.storage_descriptor(storage)
    process = spawning()
    if process:
        # A started process receives each descriptor once.
        sent = process.__dict__.setdefault("libtensor_storages", WeakValueDictionary()).setdefault(descriptor, storage)
        if sent is not storage:
            return same, (sent,)
    return rebuild_storage, (parcel(descriptor, process), storage.nbytes())


def reduce_file(storage, path):
    """Reduces a storage whose changes are written to a file: the receiver maps the same file. Raises RuntimeError if the path no longer
    names it."""
    found = os.fstat(_f.storage_descriptor(storage))
    if identify(path) != (found.st_dev, found.st_ino):
        raise RuntimeError(
            f"the storage is mapped from file <{path}>, which was removed or replaced, so another process cannot map it; send a clone() "
            "instead"
        )
    return rebuild_file, (path, identify(path), storage.nbytes())


def identify(path):
    """Returns the device and the number of the file that a path names; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def rebuild_file(path, identity, nbytes):
    if identify(path) != identity:
        raise RuntimeError(f"file <{path}>, from which a received storage is mapped, was removed or replaced after it was sent")
    return _f.storage_from_file(path, shared=True, nbytes=nbytes)


def parcel(descriptor, process):
    """Returns a picklable form of a file descriptor: a process that is being started inherits it, other processes request it."""
    if process or sys.platform != "linux":
        from multiprocessing.reduction import DupFd

        return DupFd(descriptor)
    from .parcels import office

    return office.send(descriptor)


def same(storage):
    return storage


def rebuild_storage(descriptor, nbytes):
    try:
        fd = descriptor.detach()
    except (ConnectionError, EOFError, FileNotFoundError) as error:
        raise RuntimeError(
            "the process that sent a tensor ended before it was received, so its memory was freed; keep the sender alive until then, "
            "for example with an event"
        ) from error
    try:
        return _f.storage_from_descriptor(fd, nbytes)
    finally:
        os.close(fd)


def send(tensor: Any) -> tuple[Any, ...]:
    """Reduces a tensor for pickling to another process. Raises RuntimeError for a non-leaf tensor that requires grad."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries. "
            "If you just want to transfer the data, call detach() on the tensor before serializing"
        )
    return _serialize.whole(tensor, reduce_tensor)


def reduce_tensor(tensor):
    """Reduces a dense tensor to its storage in shared memory, and other tensors to their parts."""
    if tensor.layout is not strided or tensor.is_quantized or tensor.is_meta:
        return _serialize.reduce(tensor)
    storage = _f.untyped_storage(tensor)
    if not movable(storage):
        return _serialize.reduce(tensor)
    if tensor.is_conj() or tensor.is_neg():
        return _serialize.lazily(tensor, reduce_tensor)
    return rebuild_tensor, (storage, tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())


def rebuild_tensor(storage, dtype, offset, size, stride):
    return _f.set_(_f.empty(0, dtype=dtype), storage, offset, size, stride)
