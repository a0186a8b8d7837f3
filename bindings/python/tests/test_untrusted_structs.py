"""Values of other libraries in structs and descriptors: hostile ones raise errors, and nothing is leaked or read."""

import ctypes
import os
import socket

import pytest

import libtensor as torch
from libtensor._data import arrow as _arrow
from libtensor._gen import gen_functions as raw


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def lent(t, shape=None, strides=None, **fields):
    """A DLPack capsule of t with other numbers."""
    capsule = t.__dlpack__()
    view = DLTensor.from_address(_arrow.capsule_pointer(capsule, b"dltensor"))
    for i, n in enumerate(shape or ()):
        view.shape[i] = n
    for i, n in enumerate(strides or ()):
        view.strides[i] = n
    for name, value in fields.items():
        setattr(view, name, value)
    return capsule


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"byte_offset": 2**64 - 8}, "are outside of the address space"),
        ({"byte_offset": 2**63}, "are outside of the address space"),
        ({"data": 2**63 - 8}, "are outside of the address space"),
        ({"data": 8, "strides": [-(2**40), 1]}, "are outside of the address space"),
        ({"data": None}, "are outside of the address space"),
        ({"shape": [2**62, 2]}, "more bytes than a 64-bit integer can represent"),
        ({"shape": [-1, 2]}, "negative"),
        ({"shape": [2**40, 2], "strides": [2**40, 1]}, "more bytes than"),
        ({"strides": [-(2**63), 1]}, "more bytes than"),
        ({"ndim": -1}, "dimensions must be 0 to 64"),
        ({"ndim": 65}, "dimensions must be 0 to 64"),
        ({"lanes": 2}, "2 lanes"),
        ({"lanes": 0}, "0 lanes"),
        ({"bits": 7}, "7 bits"),
        ({"code": 0, "bits": 0}, "code 0 with 0 bits"),
        ({"code": 200}, "code 200"),
        ({"device_type": 4}, "device type 4"),
    ],
)
def test_dlpack(changes, fact):
    t = torch.arange(6, dtype=torch.float32).reshape(3, 2).clone()
    with pytest.raises(BufferError, match=fact):
        torch.from_dlpack(lent(t, **changes))


def test_dlpack_offsets_count():
    t = torch.arange(6, dtype=torch.float32)
    assert torch.from_dlpack(lent(t, shape=[4], byte_offset=8)).tolist() == [2, 3, 4, 5]
    assert torch.from_dlpack(lent(t, shape=[0], byte_offset=2**64 - 8)).tolist() == []


class ArrowArray(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
    ]


class Producer:
    def __init__(self, tensor, schema=None, **fields):
        self.capsules = tensor.__arrow_c_array__()
        array = ArrowArray.from_address(_arrow.capsule_pointer(self.capsules[1], b"arrow_array"))
        for name, value in fields.items():
            setattr(array, name, value)
        if schema is not None:
            ctypes.c_void_p.from_address(_arrow.capsule_pointer(self.capsules[0], b"arrow_schema")).value = schema

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


@pytest.mark.parametrize("dtype", [torch.int32, torch.bool])
@pytest.mark.parametrize(
    ("fields", "fact"),
    [
        ({"length": -1}, "invalid"),
        ({"offset": -1}, "invalid"),
        ({"offset": 2**63 - 1}, "invalid"),
        ({"null_count": -2}, "invalid"),
        ({"null_count": 7}, "invalid"),
        ({"n_buffers": 1}, "invalid"),
        ({"n_children": 1}, "invalid"),
        ({"dictionary": 8}, "invalid"),
        ({"buffers": ctypes.POINTER(ctypes.c_void_p)()}, "missing"),
        ({"length": 2**62, "offset": 2**62 - 1}, "outside of memory|exceed|not enough"),
        ({"schema": 0}, "no format"),
    ],
)
def test_arrow(dtype, fields, fact):
    with pytest.raises((ValueError, MemoryError), match=fact):
        torch.from_arrow(Producer(torch.ones(3, dtype=dtype), **fields))


def test_descriptors_of_memory_that_can_shrink(tmp_path):
    with open(tmp_path / "file", "w+b") as file:
        file.write(bytes(64))
        file.flush()
        with pytest.raises(ValueError, match="whose size is not sealed"):
            raw.storage_from_descriptor(file.fileno(), 64)
    memory = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(memory, 4096)
        with pytest.raises(ValueError, match="whose size is not sealed"):
            raw.storage_from_descriptor(memory, 4096)
    finally:
        os.close(memory)
    with socket.socket() as s, pytest.raises(ValueError, match="sealed"):
        raw.storage_from_descriptor(s.fileno(), 8)


@pytest.mark.parametrize("beyond", [2**32, 2**63 - 2**32, -(2**32)])
def test_descriptors_are_not_cut(beyond):
    storage = torch.ones(4).share_memory_().untyped_storage()
    descriptor = raw.storage_descriptor(storage)
    with pytest.raises(ValueError, match="is not a valid file descriptor"):
        raw.storage_from_descriptor(descriptor + beyond, 16)
    for nbytes in (17, -1, 2**62):
        with pytest.raises(ValueError, match="refers to 16 bytes"):
            raw.storage_from_descriptor(descriptor, nbytes)
    assert raw.storage_from_descriptor(descriptor, 16).nbytes() == 16


class Interface:
    def __init__(self, interface):
        self.__array_interface__ = interface


INTERFACE = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}


@pytest.mark.parametrize(
    ("changes", "error", "fact"),
    [
        ({"data": ("x", False)}, TypeError, r"'data' must be a tuple of an address, an int, .* not \('x', False\)"),
        ({"data": (None, False)}, TypeError, "'data' must be .* not \\(None, False\\)"),
        ({"data": (1.5, False)}, TypeError, "'data'"),
        ({"data": 5}, TypeError, "'data' must be .* not 5"),
        ({"data": (4096,)}, TypeError, "'data'"),
        ({"data": None}, TypeError, "'data'"),
        ({"data": (-8, False)}, ValueError, "address -8"),
        ({"data": (2**70, False)}, ValueError, "address 1180591620717411303424"),
        ({"data": (0, False)}, ValueError, "address 0"),
        ({"typestr": 4}, TypeError, "'typestr' must be a str such as '<f4', not 4"),
        ({"typestr": ""}, TypeError, "type ''"),
        ({"shape": None}, TypeError, "'shape' must be a tuple of ints that are not negative, not None"),
        ({"shape": 2}, TypeError, "'shape'"),
        ({"shape": ("a",)}, TypeError, "'shape'"),
        ({"shape": (-2,)}, TypeError, "'shape'"),
        ({"strides": 4}, TypeError, "'strides' must be a tuple of ints, or None, not 4"),
        ({"strides": (4, 4)}, ValueError, r"2 strides \(4, 4\) for 1 sizes \(2,\)"),
    ],
)
def test_inconsistent_array_interfaces_are_rejected(changes, error, fact):
    with pytest.raises(error, match=fact):
        torch.as_tensor(Interface(INTERFACE | changes))


def test_array_interface_that_is_no_dict():
    with pytest.raises(TypeError, match="__array_interface__ of Interface must be a dict, not int"):
        torch.as_tensor(Interface(3))


def test_array_interface_of_an_empty_array():
    assert torch.as_tensor(Interface(INTERFACE | {"shape": (0, 3), "data": (0, False)})).shape == (0, 3)
