"""Arrow's PyCapsule interface, with its own producer and consumer: pyarrow is not needed."""

import ctypes
import gc
import weakref

import pytest

import libtensor as torch
from libtensor._data import arrow as _arrow

NUMERIC = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("name", [*NUMERIC, "bool"])
def test_both_ways(name):
    t = torch.tensor([0, 1, 1, 0, 1, 1, 1, 1, 0, 1], dtype=getattr(torch, name))
    u = torch.from_arrow(t)
    assert u.dtype is t.dtype and u.tolist() == t.tolist()
    assert (u.data_ptr() == t.data_ptr()) == (name != "bool")
    assert torch.from_arrow(t[::2]).tolist() == t[::2].tolist() and torch.from_arrow(t[:0]).shape == (0,)


def test_shared_memory_is_read_only_and_lives_with_its_last_user():
    t = torch.arange(4)
    u = torch.from_arrow(t)
    with pytest.raises(RuntimeError, match="read-only"):
        u.add_(1)
    t.add_(1)
    del t
    gc.collect()
    assert u.tolist() == [1, 2, 3, 4]


class Producer:
    """An array with the fields of ArrowArray changed."""

    def __init__(self, tensor, **fields):
        self.capsules = tensor.__arrow_c_array__()
        names = ("length", "null_count", "offset", "n_buffers", "n_children")
        struct = (ctypes.c_int64 * 5).from_address(_arrow.capsule_pointer(self.capsules[1], b"arrow_array"))
        for name, value in fields.items():
            struct[names.index(name)] = value

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


def test_offsets():
    assert torch.from_arrow(Producer(torch.arange(6), length=3, offset=2)).tolist() == [2, 3, 4]
    bits = torch.tensor([i % 3 == 0 for i in range(20)])
    assert torch.from_arrow(Producer(bits, length=9, offset=7)).tolist() == bits.tolist()[7:16]


def test_elements_that_are_not_aligned_are_copied():
    t = torch.arange(6)
    moved = Producer(t, length=5)
    buffers = ctypes.c_void_p.from_address(_arrow.capsule_pointer(moved.capsules[1], b"arrow_array") + 40).value
    (ctypes.c_int64 * 2).from_address(buffers)[1] += 1
    u = torch.from_arrow(moved)
    t.zero_()
    assert u.tolist() == [k << 56 for k in range(1, 6)]


def test_unknown_count_of_nulls_without_a_bitmap():
    assert torch.from_arrow(Producer(torch.arange(2), null_count=-1)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda: Producer(torch.arange(3), null_count=2), ValueError, "2 of 3 elements are null"),
        (lambda: Producer(torch.arange(3), n_buffers=3), ValueError, "buffers"),
        (lambda: Producer(torch.arange(3), length=-1), ValueError, "length"),
        (lambda: Producer(torch.arange(3), offset=2**61), ValueError, "offset"),
        (lambda: torch.zeros(2, 3), ValueError, "one dimension"),
        (lambda: torch.zeros(2, dtype=torch.complex64), TypeError, "no type"),
        (lambda: torch.zeros(2, dtype=torch.bfloat16), TypeError, "no type"),
        (lambda: torch.zeros(2, device="meta"), RuntimeError, "cpu"),
        (lambda: [1, 2], TypeError, "list"),
    ],
)
def test_arguments_that_cannot_be_converted(make, error, fact):
    with pytest.raises(error, match=fact):
        torch.from_arrow(make())


def test_unused_capsules_are_freed():
    t = torch.arange(3)
    capsules = t.__arrow_c_array__()
    held = weakref.ref(t)
    del t, capsules
    gc.collect()
    assert held() is None


class Stream:
    """An ArrowArrayStream of the arrays of producers; `error` is reported instead of the array at its index."""

    def __init__(self, schema, producers, error=None):
        self.capsules = [p.__arrow_c_array__() for p in producers]
        self.schema, self.error, self.released = schema.__arrow_c_array__()[0], error, 0
        next_function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.functions = (
            next_function(self.get_schema),
            next_function(self.get_next),
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda stream: ctypes.addressof(self.reason) if self.error else 0),
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release),
        )
        self.reason = ctypes.create_string_buffer(b"the disk is gone")
        self.struct = (ctypes.c_void_p * 5)(*[ctypes.cast(f, ctypes.c_void_p) for f in self.functions])

    def __arrow_c_stream__(self, requested_schema=None):
        return _arrow.capsule_new(ctypes.addressof(self.struct), b"arrow_array_stream", None)

    def move(self, capsule, name, size, release, target):
        """Moves a struct out of its capsule: the source counts as released."""
        source = _arrow.capsule_pointer(capsule, name)
        ctypes.memmove(target, source, size)
        ctypes.memset(source + release, 0, 8)

    def get_schema(self, stream, target):
        self.move(self.schema, b"arrow_schema", 72, 56, target)
        return 0

    def get_next(self, stream, target):
        if self.error == len(self.capsules):
            return 5
        if self.capsules:
            self.move(self.capsules.pop(0)[1], b"arrow_array", 80, 64, target)
        else:
            ctypes.memset(target, 0, 80)
        return 0

    def release(self, stream):
        self.released += 1
        self.struct[3] = None


@pytest.mark.parametrize("name", [*NUMERIC, "bool"])
def test_streams_become_one_tensor(name):
    t = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0], dtype=getattr(torch, name))
    stream = Stream(t, [t[:3], t[3:3], Producer(t, offset=3, length=8)])
    u = torch.from_arrow(stream)
    assert u.dtype is t.dtype and u.tolist() == t.tolist() and stream.released == 1
    u.zero_()
    assert t[1] == 1, "several arrays are copied"
    empty = torch.from_arrow(Stream(t, []))
    assert empty.dtype is t.dtype and empty.shape == (0,)


def test_a_sole_array_of_a_stream_is_shared():
    t = torch.arange(4)
    u = torch.from_arrow(Stream(t, [t]))
    assert u.data_ptr() == t.data_ptr() and u.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="read-only"):
        u.add_(1)


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda t: Stream(t, [t, Producer(t, null_count=2), Producer(t, null_count=1)]), ValueError, "3 of 9 elements are null"),
        (lambda t: Stream(t, [t, Producer(t, length=-1)]), ValueError, "length"),
        (lambda t: Stream(t, [Producer(t, length=2**62), Producer(t, length=2**62)]), ValueError, "outside of memory"),
        (lambda t: Stream(t, [t, t], error=1), RuntimeError, "next array of the stream failed: the disk is gone"),
        (lambda t: Stream(t, [t, t], error=2), RuntimeError, "next array of the stream failed: the disk is gone"),
    ],
)
def test_streams_that_cannot_be_taken(make, error, fact):
    stream = make(torch.arange(3))
    with pytest.raises(error, match=fact):
        torch.from_arrow(stream)
    assert stream.released == 1, "on an error too"
    with pytest.raises(ValueError, match="released before"):
        torch.from_arrow(stream)
