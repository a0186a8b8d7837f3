"""Memory shared with NumPy, buffers and DLPack; pickling and copying."""

import copy
import gc
import pickle
import threading
import weakref
from array import array

import numpy as np
import pytest

import libtensor as torch

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_both_ways(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    t = torch.from_numpy(a)
    assert t.dtype is getattr(torch, name) and t.shape == (2, 3)
    b = t.numpy()
    assert b.dtype == a.dtype and (b == a).all() and b.ctypes.data == a.ctypes.data == t.data_ptr()


def test_views_are_shared_both_ways():
    a = np.zeros((3, 4), "f4")
    t = torch.from_numpy(a[::2, 1:].T)
    assert t.shape == (3, 2) and t.stride() == (1, 8)
    t.fill_(5)
    assert a[0].tolist() == [0, 5, 5, 5] and a[1].tolist() == [0, 0, 0, 0]
    n = torch.zeros(2, 3).t().numpy()
    assert n.shape == (3, 2) and n.strides == (4, 12)


@pytest.mark.parametrize("share", [np.asarray, lambda t: t.numpy(), lambda t: np.frombuffer(memoryview(t), "f4"), np.from_dlpack])
def test_an_array_keeps_the_memory_of_a_tensor_that_gets_another_storage(share):
    t = torch.full((10000,), 7.0)
    first = share(t)
    t.set_(torch.full((10000,), 8.0))
    second = share(t)
    t.data = torch.ones(1)
    others = [torch.full((10000,), 9.0) for _ in range(3)]
    assert (first == 7).all() and (second == 8).all() and len(others) == 3
    released = torch.memory_stats().in_use
    del first, second, t
    gc.collect()
    assert torch.memory_stats().in_use <= released - 80000


def test_owner_lives_as_long_as_the_tensor():
    class Owner:
        def __init__(self):
            self.a = np.ones(3)
            self.__array_interface__ = self.a.__array_interface__

    owner = Owner()
    alive = weakref.ref(owner)
    t = torch.from_numpy(owner)
    view = t[1:]
    del owner, t
    gc.collect()
    assert alive() is not None and view.tolist() == [1.0, 1.0]
    del view
    torch.zeros(1)
    gc.collect()
    assert alive() is None


def test_array_outlives_the_tensor():
    a = torch.tensor([1, 2]).numpy()
    gc.collect()
    assert a.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("make", "error", "fact"),
    [
        (lambda: np.arange(3).astype(">i4"), ValueError, "byte order"),
        (lambda: np.array(["a"]), TypeError, "U1"),
        (lambda: np.zeros(2, "M8[s]"), TypeError, "M8"),
        (lambda: [1, 2], TypeError, "list"),
    ],
)
def test_arrays_that_cannot_be_shared(make, error, fact):
    with pytest.raises(error, match=fact):
        torch.from_numpy(make())


def test_negative_strides_are_copied():
    a = np.arange(6).reshape(2, 3)[::-1, ::-2]
    t = torch.from_numpy(a)
    t[0, 0] = 7
    assert t.tolist() == [[7, 3], [2, 0]] and a[0, 0] == 5


def shifted(dtype, by):
    """An array whose elements begin `by` bytes behind where they may, and one of the same values."""
    values = np.arange(12).reshape(3, 4).astype(dtype)
    return np.frombuffer(bytearray(bytes(by) + values.tobytes()), dtype, offset=by).reshape(3, 4), values


TURNS = {
    "whole": lambda a: a,
    "turned": lambda a: a.T,
    "backwards": lambda a: a[::-1, ::-2],
    "parts": lambda a: a[1:, ::3],
    "none": lambda a: a[:0],
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("dtype", ["i2", "u4", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("by", [1, 2, 4, 8])
def test_elements_that_are_not_aligned_are_copied(dtype, by, turn):
    a, b = map(TURNS[turn], shifted(dtype, by))
    for make in (torch.from_numpy, torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack):
        t = make(a)
        assert t.dtype is torch.from_numpy(b).dtype and np.array_equal(t.numpy(), b)
    aligned = by % (np.dtype(dtype).itemsize // (2 if dtype.startswith("c") else 1)) == 0
    shared = torch.from_numpy(a).data_ptr() == a.ctypes.data
    assert not a.size or shared == (aligned and turn != "backwards")
    for make in (torch.asarray, torch.from_dlpack) if a.size and not shared else ():
        with pytest.raises(ValueError, match="copy=False"):
            make(a, copy=False)


def test_fields_of_packed_records_are_copied():
    records = np.zeros(3, [("key", "i1"), ("value", "<f4")])
    records["value"] = [1, 2, 3]
    t = torch.from_numpy(records["value"])
    t[0] = 7
    assert t.tolist() == [7, 2, 3] and records["value"].tolist() == [1, 2, 3]
    assert (torch.ones(3) + records["value"]).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="copy=False"):
        torch.asarray(records["value"], copy=False)


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    t = torch.from_numpy(a)
    t[1] = 3
    assert t.dtype is torch.bfloat16 and a.tolist() == [1.5, 3.0]
    b = t.numpy()
    assert b.dtype == ml_dtypes.bfloat16 and b.ctypes.data == a.ctypes.data


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 9])
def test_shapes_both_ways(shape):
    a = np.ones(shape, "f4")
    t = torch.from_numpy(a)
    assert t.shape == shape and t.numpy().shape == shape and np.from_dlpack(t).shape == shape


def test_numpy_functions_and_operators_take_tensors():
    t = torch.tensor([1.0, 2.0])
    assert np.asarray(t).tolist() == [1.0, 2.0] and np.add(np.array(t), 1).tolist() == [2.0, 3.0]
    assert isinstance(np.exp(t), torch.Tensor) and np.add(t, np.ones(2)).dtype is torch.float64 and np.isnan(t).tolist() == [False, False]
    assert isinstance(np.float64(2) * t, torch.Tensor) and (t * np.float64(2)).dtype is torch.float32
    assert torch.tensor(np.array([1, 2], "i2")).dtype is torch.int16 and torch.zeros(np.int64(2)).shape == (2,)


def test_read_only_arrays_are_protected():
    a = np.arange(3)
    a.flags.writeable = False
    t = torch.from_numpy(a)
    with pytest.raises(RuntimeError, match="read-only"):
        t.add_(1)
    assert a.tolist() == [0, 1, 2] and (t + 1).tolist() == [1, 2, 3]
    assert not t.numpy().flags.writeable and torch.is_read_only(torch.from_dlpack(t.__dlpack__(max_version=(1, 0))))
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()


@pytest.mark.parametrize("buffer", [bytearray(8), array("i", [0, 0]), memoryview(bytearray(8))])
def test_frombuffer_shares(buffer):
    t = torch.frombuffer(buffer, dtype=torch.int32)
    t.add_(258)
    assert bytes(buffer) == b"\x02\x01\0\0" * 2 and torch.frombuffer(buffer, dtype=torch.uint8, count=2, offset=4).tolist() == [2, 1]


def test_frombuffer_holds_the_buffer():
    data = bytearray(8)
    t = torch.frombuffer(data, dtype=torch.uint8)
    with pytest.raises(BufferError):
        data.append(1)
    del t
    torch.zeros(1)
    data.append(1)


@pytest.mark.parametrize(
    ("count", "offset", "fact"),
    [(-1, 9, "offset"), (3, 0, "requested buffer length"), (-1, 1, "multiple of element size"), (0, 0, "count")],
)
def test_frombuffer_checks(count, offset, fact):
    with pytest.raises(ValueError, match=fact):
        torch.frombuffer(bytearray(8), dtype=torch.int32, count=count, offset=offset)


def test_dlpack_to_numpy():
    t = torch.arange(6).reshape(2, 3)
    a = np.from_dlpack(t)
    assert a.tolist() == t.tolist() and a.ctypes.data == t.data_ptr()
    assert t.__dlpack_device__() == (1, 0)


def test_dlpack_from_numpy():
    a = np.arange(6.0).reshape(2, 3)
    t = torch.from_dlpack(a)
    t.mul_(2)
    assert a.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert torch.from_dlpack(a.T).stride() == (1, 3)


def test_dlpack_with_itself():
    t = torch.tensor([1, 2], dtype=torch.bfloat16)
    capsule = t.__dlpack__(max_version=(1, 0))
    u = torch.from_dlpack(capsule)
    assert u.dtype is torch.bfloat16 and u.data_ptr() == t.data_ptr()
    with pytest.raises(ValueError, match="consumed"):
        torch.from_dlpack(capsule)


def test_dlpack_copies_and_devices():
    t = torch.tensor([1, 2])
    copied = torch.from_dlpack(t.__dlpack__(max_version=(1, 0), copy=True))
    copied[0] = 9
    assert t.tolist() == [1, 2]
    assert torch.from_dlpack(t.__dlpack__(dl_device=(1, 0))).data_ptr() == t.data_ptr()
    with pytest.raises(BufferError, match="cannot be exported"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="meta"):
        torch.empty(1, device="meta").__dlpack__()


def test_dlpack_arguments_that_are_not_plain():
    t = torch.tensor([1, 2])
    for version in ([1, 0], (1,), (np.int64(1), 1), (True, 0)):
        assert "dltensor_versioned" in repr(t.__dlpack__(max_version=version))
    for version in (None, (0, 8), [0, 8]):
        assert "dltensor_versioned" not in repr(t.__dlpack__(max_version=version))
    assert torch.from_dlpack(t.__dlpack__(copy=np.bool_(True))).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t.__dlpack__(stream=-1, copy=False, dl_device=None)).data_ptr() == t.data_ptr()
    for wrong in (lambda: t.__dlpack__(None), lambda: t.__dlpack__(version=None), lambda: t.__dlpack__(max_version=1)):
        with pytest.raises(TypeError):
            wrong()


def test_numpy_of_a_subclass():
    class Marked(torch.Tensor):
        pass

    t = torch.tensor([1.0, 2.0]).as_subclass(Marked)
    array = t.numpy()
    array[0] = 5
    assert type(array) is np.ndarray and t.tolist() == [5, 2]


class Producer:
    """An array of another library that knows neither max_version nor NumPy, and may go before its memory."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_dlpack_has_no_sparse_tensors():
    with pytest.raises(BufferError, match=r"to_dlpack is not implemented for sparse_coo tensors; convert with to_dense\(\)"):
        torch.eye(2).to_sparse().__dlpack__()


def test_dlpack_with_older_producers():
    t = torch.arange(4)
    u = torch.from_dlpack(Producer(t))
    assert u.data_ptr() == t.data_ptr()
    del t
    gc.collect()
    assert u.tolist() == [0, 1, 2, 3]


def test_last_side_frees_from_any_thread():
    made = [np.ones(1000) for _ in range(32)]
    alive = [weakref.ref(a) for a in made]
    tensors = [torch.from_numpy(a)[i:] for i, a in enumerate(made)]
    del made
    arrays = [t.numpy() for t in tensors]

    def drop(owner):
        while owner:
            owner.pop()

    threads = [threading.Thread(target=drop, args=(side,)) for side in (arrays, tensors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.zeros(1)
    assert not any(a() is not None for a in alive)


def test_unused_capsule_is_freed():
    t = torch.zeros(3)
    capsule = t.__dlpack__()
    del capsule
    assert t.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_pickling(name):
    t = torch.tensor([[0, 1], [1, 0]], dtype=getattr(torch, name)).t()
    u = pickle.loads(pickle.dumps(t))
    assert u.dtype is t.dtype and u.stride() == t.stride() and u.tolist() == t.tolist()


def test_pickled_views_are_compact():
    t = torch.zeros(100000)[::50000]
    data = pickle.dumps(t)
    assert len(data) < 1000 and pickle.loads(data).tolist() == [0.0, 0.0]


def test_copies():
    t = torch.tensor([1, 2, 3])
    a, b = copy.deepcopy([t, t[1:]])
    a[1] = 9
    assert b.tolist() == [9, 3] and t.tolist() == [1, 2, 3]
    c = copy.copy(t)
    c[0] = 7
    assert t.tolist() == [7, 2, 3]


def test_exported_memory_is_not_moved():
    tensor = torch.zeros(4)
    array = tensor.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        tensor.resize_(1000)
    array[0] = 7
    assert tensor.tolist() == [7, 0, 0, 0] and np.shares_memory(array, tensor.numpy())


def test_operators_between_tensors_and_arrays():
    t, n = torch.tensor([1.0, 4.0]), np.array([1, 2], dtype="f4")
    for result, expected in [
        (t == n, [True, False]),
        (n == t, [True, False]),
        (n != t, [False, True]),
        (t > n, [False, True]),
        (t + n, [2.0, 6.0]),
        (n + t, [2.0, 6.0]),
        (n - t, [0.0, -2.0]),
        (n / t, [1.0, 0.5]),
        (n @ t, 9.0),
        (np.float32(3) - t, [2.0, -1.0]),
    ]:
        assert isinstance(result, torch.Tensor) and result.tolist() == expected
    t += n
    assert t.tolist() == [2.0, 6.0] and n.tolist() == [1.0, 2.0]
    assert (t == np.array(["a", "b"])).tolist() == [False, False]
    with pytest.raises(TypeError):
        t - np.array(["a", "b"])


def test_numpy_scalars_export_no_memory():
    for number in (np.float32(2), np.int16(2), np.bool_(True), np.complex64(2)):
        with pytest.raises(TypeError, match=rf"expected np.ndarray \(got {type(number).__name__}"):
            torch.from_numpy(number)
        for make in (torch.tensor, torch.as_tensor, torch.asarray):
            made = make(number)
            gc.collect()
            assert made.shape == () and made.item() == number and str(made.dtype).endswith(number.dtype.name)


@pytest.mark.parametrize("sizes", [(0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("name", DTYPES)
def test_empty_tensors_are_empty_arrays(name, sizes):
    t, wanted = torch.zeros(sizes, dtype=getattr(torch, name)), np.zeros(sizes, name)
    for made in (np.asarray(t), np.array(t), t.numpy(), np.from_dlpack(t)):
        assert made.shape == sizes and made.dtype == wanted.dtype
    assert np.array_equal(t, wanted) and np.concatenate([t, t]).shape == np.concatenate([wanted, wanted]).shape
    assert torch.from_numpy(np.asarray(t)).shape == sizes and (wanted + 1).dtype == (np.asarray(t) + 1).dtype
    assert np.asarray(torch.ones(3, 4)[1:1, ::2]).strides == (16, 8)


def test_tensors_that_require_grad_are_not_exported():
    x = torch.ones(3, requires_grad=True)
    for call in (np.asarray, np.array, torch.from_numpy, lambda t: t.numpy(), lambda t: t.__array__()):
        kind, text = (
            (TypeError, "expected np.ndarray")
            if call is torch.from_numpy
            else (RuntimeError, "Can't call numpy.. on Tensor that requires grad")
        )
        for tensor in (x, x * 2):
            with pytest.raises(kind, match=text):
                call(tensor)
    for call in (torch.from_dlpack, np.from_dlpack, torch.utils.dlpack.to_dlpack):
        with pytest.raises(BufferError, match="(dlpack.*|export): Can't export tensors that require gradient, use tensor.detach"):
            call(x)
    assert np.asarray(x.detach()).tolist() == [1, 1, 1] == torch.from_dlpack(x.detach()).tolist()


def test_memory_is_exported_in_no_grad_mode():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        array = x.numpy()
        assert np.asarray(x).tolist() == [1, 1, 1] and np.add(x, 1).tolist() == [2, 2, 2]
        array[0] = 5
    assert x.tolist() == [5, 1, 1]


def test_masked_elements_are_not_passed_over():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    t = torch.tensor([1, 2, 3])
    for call in (torch.tensor, torch.as_tensor, torch.from_numpy, lambda a: t[a - 1]):
        with pytest.raises(ValueError, match=r"1 of 3 elements of the array are masked.*filled\(value\)"):
            call(masked)
    assert torch.tensor(masked.filled(0)).tolist() == [1, 0, 3] and torch.tensor(masked.compressed()).tolist() == [1, 3]
    assert torch.tensor(np.ma.array([1, 2])).tolist() == torch.tensor(np.ma.array([1, 2], mask=[0, 0])).tolist() == [1, 2]


class Column:
    """What becomes an array, as columns and tables do."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype) if dtype else self.array


class Picture:
    """What shows its elements as bytes, as pictures do."""

    __array_interface__ = {"shape": (2, 2), "typestr": "|u1", "version": 3, "data": b"abcd"}


def test_values_that_are_converted_to_arrays():
    a = np.array([2.0, 0.0, 1.0])
    for make in (torch.tensor, torch.as_tensor, torch.asarray):
        assert make(Column(a)).dtype is torch.float64 and make(Column(a)).tolist() == [2, 0, 1]
        assert make(Picture()).tolist() == [[97, 98], [99, 100]]
    assert torch.as_tensor(Column(a)).data_ptr() == a.ctypes.data != torch.tensor(Column(a)).data_ptr()
    assert torch.is_read_only(torch.as_tensor(Picture())) and not torch.is_read_only(torch.tensor(Picture()))


def test_values_that_are_converted_to_arrays_are_indices():
    t = torch.arange(6).view(3, 2)
    assert t[Column(np.array([2, 0]))].tolist() == [[4, 5], [0, 1]] and t[Column(np.array([True, False, True])), 1].tolist() == [1, 5]
    t[Column(np.array([1]))] = 9
    assert t.tolist() == [[0, 1], [9, 9], [4, 5]]
    with pytest.raises(IndexError):
        t[Column(np.array([0.5]))]


def test_arrays_of_objects_are_no_numbers():
    for call in (torch.tensor, torch.as_tensor, torch.from_numpy):
        with pytest.raises(TypeError, match=r"Python objects \(type '\|O'\); convert it with astype\(\)"):
            call(np.array([1, None]))
    mixed = torch.tensor(Column(np.array([[2**60 + 1, True]], dtype=object)))
    assert mixed.dtype is torch.int64 and mixed.tolist() == [[2**60 + 1, 1]]
    for make in (torch.tensor, torch.as_tensor, torch.asarray):
        assert make(Column(np.array([0.1, 2**60 + 1], dtype=object)), dtype=torch.float64).tolist() == [0.1, 2**60]
        assert make(Column(np.array([2**63], dtype=object)), dtype=torch.uint64).tolist() == [2**63]
    for value, fact in (("a", "str"), (None, "NoneType")):
        with pytest.raises((RuntimeError, TypeError, ValueError), match=fact):
            torch.tensor(Column(np.array([1, value], dtype=object)))


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, requires_grad=True), "detach"),
        (lambda: torch.eye(2).to_sparse(), "to_dense"),
        (lambda: torch.ones(2, device="meta"), "cpu"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "another dtype"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), "dequantize"),
    ],
)
def test_objects_without_an_array_interface(make, fact):
    assert not hasattr(make(), "__array_interface__")
    with pytest.raises(AttributeError, match=fact):
        make().__array_interface__  # noqa: B018
