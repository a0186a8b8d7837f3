"""Python's buffer protocol: memory that memoryview and whatever else reads bytes see without a copy, and the bytes of any tensor."""

import array
import ctypes
import gc
import hashlib
import io
import zlib

import numpy as np
import pytest

import libtensor as torch

FORMATS = {
    **{"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "l", "uint16": "H", "uint32": "I", "uint64": "L"},
    **{"float16": "e", "float32": "f", "float64": "d", "complex64": "Zf", "complex128": "Zd"},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_view_has_the_memory_and_the_format(name):
    t = torch.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(torch, name))
    view = memoryview(t)
    assert view.obj is t and view.format == FORMATS[name] and view.shape == (2, 3) and view.nbytes == t.nbytes
    if FORMATS[name] not in ("e", "Zf", "Zd"):  # which memoryview does not read
        assert view.tolist() == t.tolist() and memoryview(t.t()).tolist() == t.t().tolist()
    for made in (np.asarray(t), np.asarray(t.t()), np.array(memoryview(t), copy=False)):
        assert made.dtype == name and made.dtype.num == np.dtype(name).num and made.ctypes.data == t.data_ptr()


@pytest.mark.parametrize(
    ("make", "shape", "strides"),
    [
        (lambda: torch.ones(2, 3), (2, 3), (12, 4)),
        (lambda: torch.ones(2, 3).t(), (3, 2), (4, 12)),
        (lambda: torch.ones(4, 4)[::2, 1:], (2, 3), (32, 4)),
        (lambda: torch.ones(3).expand(2, 3), (2, 3), (0, 4)),
        (lambda: torch.tensor(1.0), (), ()),
        (lambda: torch.ones(0), (0,), (4,)),
        (lambda: torch.ones(2, 0, 3), (2, 0, 3), (12, 12, 4)),
        (lambda: torch.ones((1,) * 9), (1,) * 9, (4,) * 9),
    ],
)
def test_layouts(make, shape, strides):
    t = make()
    view = memoryview(t)
    assert view.shape == shape and view.strides == strides and view.c_contiguous == t.is_contiguous()
    assert view.tobytes() == bytes(t) == t.tobytes() == t.numpy().tobytes()
    assert np.asarray(t).shape == shape and np.asarray(t).strides == strides


def test_writes_are_seen_on_both_sides():
    t = torch.zeros(4, dtype=torch.int32)
    view = memoryview(t)
    view[1] = 7
    t[2] = 8
    assert t.tolist() == view.tolist() == [0, 7, 8, 0]
    assert io.BytesIO(bytes(range(16))).readinto(t) == 16 and t[0].item() == 0x03020100


def test_consumers_of_bytes():
    t = torch.arange(6, dtype=torch.float64).view(2, 3)
    file = io.BytesIO()
    assert file.write(t) == 48 and file.getvalue() == t.tobytes() == bytes(t)
    assert zlib.crc32(t) == zlib.crc32(t.tobytes()) and hashlib.sha256(t).digest() == hashlib.sha256(t.tobytes()).digest()
    assert array.array("d", bytes(t)).tolist() == [0, 1, 2, 3, 4, 5]


def test_the_bytes_of_one_integer_are_its_bytes():
    """Python itself creates n zero bytes from an object that converts to the integer n."""
    assert bytes(torch.tensor([3], dtype=torch.int16)) == bytes(torch.tensor(3, dtype=torch.int16)) == b"\3\0"


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.tensor([1.5, -2.0], dtype=torch.bfloat16), b"\xc0\x3f\x00\xc0"),
        (lambda: torch.tensor([1 + 2j], dtype=torch.complex64).conj(), np.array([1 - 2j], "c8").tobytes()),
        (lambda: torch.tensor([1 + 2j], dtype=torch.complex64).conj().imag, np.array([-2], "f4").tobytes()),
        (lambda: torch.tensor([1.0], requires_grad=True), np.array([1], "f4").tobytes()),
        (lambda: torch.tensor([[1, 2]], dtype=torch.uint8, names=("a", "b")).t(), b"\1\2"),
    ],
)
def test_bytes_of_objects_without_contiguous_memory(make, fact):
    assert make().tobytes() == bytes(make()) == fact


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.eye(2).to_sparse(), r"sparse_coo tensors; convert with to_dense\(\)"),
        (lambda: torch.ones(2, device="meta"), "a meta tensor has no data"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), r"quantized tensors; use int_repr\(\)"),
    ],
)
def test_tensors_without_data(make, fact):
    for take in (bytes, torch.Tensor.tobytes):
        with pytest.raises(NotImplementedError, match=f"tobytes is not implemented for .*{fact}|{fact}"):
            take(make())


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.eye(2).to_sparse(), r"sparse_coo.* Tensor.to_dense\(\)"),
        (lambda: torch.ones(2, device="meta"), "meta device"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "bfloat16; convert the tensor to another dtype"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), "quint8"),
        (lambda: torch.ones(2, requires_grad=True), r"requires grad cannot be exported as a buffer; export its detach\(\)"),
    ],
)
def test_errors(make, fact):
    with pytest.raises(BufferError, match=fact):
        memoryview(make())


def test_tensors_that_a_consumer_does_not_support():
    t = torch.ones(2, 3).t()
    for take in (hashlib.sha256, io.BytesIO().write, zlib.crc32):
        with pytest.raises(BufferError, match=r"of sizes \[3, 2\] has strides \[1, 3\]; call contiguous\(\) first"):
            take(t)
    fixed = torch.from_numpy(np.frombuffer(b"abcd", "u1"))
    assert memoryview(fixed).readonly and bytes(fixed) == b"abcd"
    with pytest.raises(TypeError, match="readinto"):
        io.BytesIO(b"1234").readinto(fixed)
    assert fixed.tolist() == [97, 98, 99, 100]


def test_a_view_keeps_the_memory_where_it_was():
    t = torch.ones(3)
    view = memoryview(t)
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(3000)
    t.set_(torch.full((5,), 9.0))
    assert view.tolist() == [1, 1, 1] and memoryview(t).tolist() == [9] * 5
    del t
    gc.collect()
    assert view.tolist() == [1, 1, 1]


def test_a_view_of_a_part_and_of_a_subclass():
    class Marked(torch.Tensor):
        pass

    t = torch.arange(10, dtype=torch.uint8)
    assert bytes(t[3:6]) == bytes([3, 4, 5]) == memoryview(t.as_subclass(Marked))[3:6].tobytes()


def test_storages():
    storage = torch.tensor([1, 2], dtype=torch.int16).untyped_storage()
    assert bytes(storage) == b"\1\0\2\0"


def test_the_array_interface_has_strides_where_they_say_something():
    t = torch.ones(2, 3)
    assert t.__array_interface__["strides"] is None and t.t().__array_interface__["strides"] == (4, 12)


@pytest.mark.parametrize(
    ("buffer", "dtype", "elements"),
    [
        ((ctypes.c_int * 3)(1, 2, 3), torch.int32, [1, 2, 3]),
        ((ctypes.c_long * 2)(1, -2), torch.int64, [1, -2]),
        ((ctypes.c_ubyte * 2)(1, 255), torch.uint8, [1, 255]),
        ((ctypes.c_double * 2)(1, 2.5), torch.float64, [1, 2.5]),
        ((ctypes.c_bool * 2)(True, False), torch.bool, [True, False]),
        (memoryview(np.array([1 + 2j])), torch.complex128, [1 + 2j]),
        (memoryview(np.array([1, 2], "<u2")), torch.uint16, [1, 2]),
        (array.array("l", [1, 2]), torch.int64, [1, 2]),
    ],
)
def test_elements_have_the_format_of_the_buffer(buffer, dtype, elements):
    for made in (torch.asarray(buffer), torch.array_api.asarray(buffer)):
        assert made.dtype is dtype and made.tolist() == elements


def test_another_byte_order_is_rejected():
    for asarray in (torch.asarray, torch.array_api.asarray):
        with pytest.raises(ValueError, match="the format '>i', do not have the native byte order"):
            asarray(memoryview(np.arange(2, dtype=">i4")))
