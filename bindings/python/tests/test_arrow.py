"""Arrow's PyCapsule interface, with a producer and consumer of its own: pyarrow is not needed to test."""

import ctypes
import gc
import weakref

import pytest

import libtensor as torch
from libtensor import _arrow

NUMERIC = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


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


def test_unknown_count_of_nulls_without_a_bitmap():
    assert torch.from_arrow(Producer(torch.arange(2), null_count=-1)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda: Producer(torch.arange(3), null_count=2), ValueError, "2 of 3 elements are null"),
        (lambda: Producer(torch.arange(3), n_buffers=3), TypeError, "not a primitive one"),
        (lambda: Producer(torch.arange(3), length=-1), ValueError, "length"),
        (lambda: Producer(torch.arange(3), offset=2**61), ValueError, "offset"),
        (lambda: torch.zeros(2, 3), ValueError, "one dimension"),
        (lambda: torch.zeros(2, dtype=torch.complex64), TypeError, "no type"),
        (lambda: torch.zeros(2, dtype=torch.bfloat16), TypeError, "no type"),
        (lambda: torch.zeros(2, device="meta"), RuntimeError, "cpu"),
        (lambda: [1, 2], TypeError, "list"),
    ],
)
def test_what_cannot_be_taken(make, error, fact):
    with pytest.raises(error, match=fact):
        torch.from_arrow(make())


def test_unused_capsules_are_freed():
    t = torch.arange(3)
    capsules = t.__arrow_c_array__()
    held = weakref.ref(t)
    del t, capsules
    gc.collect()
    assert held() is None
