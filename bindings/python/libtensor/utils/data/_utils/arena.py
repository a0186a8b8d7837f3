"""The shared memory of a batch: a worker process allocates the tensors of a batch in one arena, sends its file descriptor, and the loader's
process maps it. The last tensor of the batch frees it."""

from __future__ import annotations

import copyreg
import fcntl
import io
import os
import pickle
import resource
import sys
from collections import ChainMap
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .... import frombuffer, strided, uint8
from ...._core.owner import UntypedStorage
from ...._core.tensor import Tensor
from ...._gen import gen_functions
from ...._storages import serialize as _serialize
from ...._storages import sharing as _sharing

_f: Any = gen_functions
ALIGNMENT = 64
ADDRESSES = 1 << 30  # address space of an arena; memory is allocated as it is used
INLINE = 1 << 14  # the longest pickle in a message; longer ones travel in the arena

current: Arena | None = None  # the arena of the current batch of this worker process


class Block:
    """Shared memory of a fixed size, of which `used` bytes are allocated."""

    def __init__(self, size: int) -> None:
        self.descriptor, self.size, self.used = os.memfd_create("libtensor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), size, 0
        try:
            os.ftruncate(self.descriptor, size)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self.storage = _f.storage_from_descriptor(self.descriptor, size)
            self.address = _f.storage_data_ptr(self.storage)
        except BaseException:
            os.close(self.descriptor)
            raise

    def allocate(self, nbytes: int) -> int:
        """Returns the offset of `nbytes` new bytes. Raises OSError if the system has no memory for them."""
        start = -(-self.used // ALIGNMENT) * ALIGNMENT
        # If memory is not available, this is an error; otherwise the first write would end the process.
        os.posix_fallocate(self.descriptor, start, nbytes)
        self.used = start + nbytes
        return start


class Arena:
    """The memory of one batch, in blocks: one, unless the tensors of a batch exceed the address space of an arena."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def allocate(self, nbytes: int) -> tuple[int, int]:
        """Returns the block and the offset of `nbytes` new bytes."""
        if not self.blocks or self.blocks[-1].used + ALIGNMENT + nbytes > self.blocks[-1].size:
            limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
            self.blocks.append(Block(max(nbytes + ALIGNMENT, 1 << 20 if limited else ADDRESSES)))
        return len(self.blocks) - 1, self.blocks[-1].allocate(nbytes)

    def part(self, block: int, start: int, nbytes: int) -> UntypedStorage:
        """Returns the storage of allocated bytes."""
        return _f.storage_slice(self.blocks[block].storage, start, start + nbytes)  # type: ignore[no-any-return]

    def empty(self, size: tuple[int, ...], like: Tensor) -> Tensor | None:
        """Returns an uninitialized tensor of the dtype of `like` in the arena; None if `like` is not on the CPU."""
        nbytes = like.dtype.itemsize
        for length in size:
            nbytes *= length
        if not nbytes or like.device.type != "cpu" or like.is_quantized:
            return None
        made = _f.storage_view(self.part(*self.allocate(nbytes), nbytes), dtype=like.dtype)
        return made.view(size)  # type: ignore[no-any-return]

    def find(self, storage: UntypedStorage) -> tuple[int, int] | None:
        """Returns the block and the offset of a storage in the arena, None for others."""
        address = _f.storage_data_ptr(storage)
        for i, block in enumerate(self.blocks):
            if block.address <= address < block.address + block.size:
                return i, address - block.address
        return None

    def close(self) -> None:
        """Closes the descriptors that were sent. The memory is freed with the last tensor in it."""
        for block in self.blocks:
            os.close(block.descriptor)
        self.blocks = []


class Packer:
    """Moves the tensors of a batch to its arena, and replaces them in pickles by their offsets."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.shared: list[UntypedStorage] = []  # storages that already were in shared memory
        self.moved: dict[tuple[int, int], tuple[UntypedStorage, tuple[int, int]]] = {}
        self.buffers: list[tuple[int, int, int]] = []

    def reduce_tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        if tensor.requires_grad and not tensor.is_leaf:
            return _sharing.send(tensor)
        return _serialize.whole(tensor, self.reduce_elements)

    def reduce_elements(self, tensor: Tensor) -> tuple[Any, ...]:
        if tensor.layout is not strided or tensor.is_quantized or tensor.device.type != "cpu" or not tensor.numel():
            return _serialize.reduce(tensor)
        if tensor.is_conj() or tensor.is_neg():
            return _serialize.lazily(tensor, self.reduce_elements)
        storage, offset, stride = tensor.untyped_storage(), tensor.storage_offset(), tensor.stride()
        size, itemsize = tuple(tensor.shape), tensor.dtype.itemsize
        extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        place = self.place(storage, extent * itemsize)
        if place is None:  # the tensor is a small part of its storage, which is not moved
            if extent > 2 * tensor.numel():
                tensor = tensor.contiguous()
                stride, extent = tensor.stride(), tensor.numel()
            block, start = self.arena.allocate(extent * itemsize)
            copied = self.arena.part(block, start, extent * itemsize)
            _f.storage_view(copied, dtype=tensor.dtype).copy_(tensor.detach().as_strided((extent,), (1,), tensor.storage_offset()))
            place, offset = (block, start, extent * itemsize), 0
        return rebuild_tensor, (*place, tensor.dtype, offset, size, stride)

    def place(self, storage: Any, needed: int) -> tuple[int, int, int] | None:
        """Returns the position of a storage for the receiver. The storage moves to the arena unless only `needed` bytes, less than half of
        it, are sent; then returns None.
        """
        nbytes = _f.storage_nbytes(storage)
        found = self.arena.find(storage)
        if found is not None:
            return *found, nbytes
        key = _f.storage_data_ptr(storage), nbytes
        if key in self.moved:
            return *self.moved[key][1], nbytes
        if _f.storage_is_shared(storage) and _f.storage_filename(storage) == "":
            try:
                _f.storage_descriptor(storage)
            except RuntimeError:  # a part of shared memory, which is copied
                pass
            else:
                self.moved[key] = storage, (-1 - len(self.shared), 0)
                self.shared.append(storage)
                return *self.moved[key][1], nbytes
        if needed * 2 < nbytes:
            return None
        self.moved[key] = storage, self.arena.allocate(nbytes)
        _f.storage_copy_(self.arena.part(*self.moved[key][1], nbytes), storage)
        return *self.moved[key][1], nbytes

    def reduce_storage(self, storage: Any) -> tuple[Any, ...]:
        nbytes = _f.storage_nbytes(storage)
        place = self.place(storage, nbytes) if nbytes and storage.device.type == "cpu" else None
        return storage.__reduce__() if place is None else (rebuild_storage, place)

    def keep_buffer(self, buffer: pickle.PickleBuffer) -> bool:
        """Moves a buffer to the arena. Returns whether it remains in the pickle."""
        raw = buffer.raw()
        if raw.nbytes < 1024 or raw.readonly:
            return True
        self.buffers.append(self.store(raw))
        return False

    def store(self, data: Any) -> tuple[int, int, int]:
        """Copies bytes to the arena, and returns their position."""
        nbytes = memoryview(data).nbytes
        block, start = self.arena.allocate(nbytes)
        _f.storage_view(self.arena.part(block, start, nbytes)).copy_(frombuffer(data, dtype=uint8))
        return block, start, nbytes


def dump(made: Any, arena: Arena) -> tuple[bytes, list[int]]:
    """Returns the message and the file descriptors that send an object to another process. The arena owns its descriptors."""
    packer, file = Packer(arena), io.BytesIO()
    has_numpy = "numpy" in sys.modules  # whose arrays are pickled without their elements
    pickler = pickle.Pickler(file, protocol=5, buffer_callback=packer.keep_buffer if has_numpy else None)
    reducers: dict[type, Any] = {Tensor: packer.reduce_tensor, UntypedStorage: packer.reduce_storage}
    known: Any = ForkingPickler
    pickler.dispatch_table = ChainMap(reducers, known._extra_reducers, dict(copyreg.dispatch_table))
    pickler.dump(made)
    body: Any = file.getbuffer()
    body = packer.store(body) if len(body) > INLINE else bytes(body)
    shared = [(_f.storage_descriptor(storage), _f.storage_nbytes(storage)) for storage in packer.shared]
    header = ([block.used for block in arena.blocks], [nbytes for _, nbytes in shared], packer.buffers, body)
    return pickle.dumps(header, 5), [block.descriptor for block in arena.blocks] + [descriptor for descriptor, _ in shared]


class Received:
    """The storages of a message that is being read."""

    def __init__(self, blocks: list[UntypedStorage], shared: list[UntypedStorage]) -> None:
        self.blocks, self.shared = blocks, shared
        self.parts: dict[tuple[int, int, int], UntypedStorage] = {}

    def part(self, block: int, start: int, nbytes: int) -> UntypedStorage:
        if block < 0:
            return self.shared[-1 - block]
        key = block, start, nbytes
        if key not in self.parts:
            self.parts[key] = _f.storage_slice(self.blocks[block], start, start + nbytes)
        return self.parts[key]


received: Received | None = None


def rebuild_storage(block: int, start: int, nbytes: int) -> UntypedStorage:
    """Returns the storage of a message at a position of the sender."""
    assert received is not None
    return received.part(block, start, nbytes)


def rebuild_tensor(block: int, start: int, nbytes: int, dtype: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """Returns the tensor of a message."""
    return _f.set_(_f.empty(0, dtype=dtype), rebuild_storage(block, start, nbytes), offset, size, stride)  # type: ignore[no-any-return]


def load(message: bytes, descriptors: list[int]) -> Any:
    """Returns the object of a message, whose descriptors it closes."""
    global received
    try:
        used, sizes, buffers, body = pickle.loads(message)
        storages = [_f.storage_from_descriptor(fd, nbytes) for fd, nbytes in zip(descriptors, [*used, *sizes], strict=True)]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    before, received = received, Received(storages[: len(used)], storages[len(used) :])
    try:
        views = [memoryview(_f.storage_view(received.part(*place)).numpy()) for place in buffers]
        if isinstance(body, tuple):
            body = bytes(received.part(*body))
        return pickle.loads(body, buffers=views)
    finally:
        received = before
