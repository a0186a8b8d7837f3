"""Storages: the bytes that tensors share, and their elements."""

import copy
import pickle
import warnings

import pytest

import libtensor as torch

LEGACY = {
    "Double": (torch.float64, "1.0"),
    "Float": (torch.float32, "1.0"),
    "Half": (torch.float16, "1.0"),
    "BFloat16": (torch.bfloat16, "1.0"),
    "Long": (torch.int64, "1"),
    "Int": (torch.int32, "1"),
    "Short": (torch.int16, "1"),
    "Char": (torch.int8, "1"),
    "Byte": (torch.uint8, "1"),
    "Bool": (torch.bool, "True"),
    "ComplexDouble": (torch.complex128, "(1+0j)"),
    "ComplexFloat": (torch.complex64, "(1+0j)"),
    "QUInt8": (torch.quint8, "1"),
    "QInt8": (torch.qint8, "1"),
    "QInt32": (torch.qint32, "1"),
    "QUInt4x2": (torch.quint4x2, "1"),
    "QUInt2x4": (torch.quint2x4, "1"),
}


def test_bytes():
    s = torch.UntypedStorage([1, 2, 300, -1])
    assert s.tolist() == list(s) == [1, 2, 44, 255] and len(s) == s.nbytes() == s.size() == 4 and s.element_size() == 1
    assert s[-1] == 255 and s.device == torch.device("cpu") and not s.is_cuda and s.filename is None and s.data_ptr()
    s[1] = 9
    s[2:] = 7
    assert s.tolist() == [1, 9, 7, 7] and s.fill_(258).tolist() == [2] * 4
    assert repr(torch.UntypedStorage([5])) == " 5\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    assert bytes(s) == b"\2\2\2\2" and torch.UntypedStorage(b"ab").tolist() == [97, 98] and len(torch.UntypedStorage()) == 0


def test_slices_share():
    s = torch.UntypedStorage(range(8))
    part = s[2:5]
    part[0] = 90
    assert s[2] == 90 and part.data_ptr() == s.data_ptr() + 2 and part[1:].tolist() == [3, 4] and s[5:3].tolist() == []
    with pytest.raises(RuntimeError, match="not resizable"):
        s.resize_(100)
    del s
    assert part.tolist() == [90, 3, 4]


def test_tensors_of_several_dtypes_over_one_storage():
    t = torch.tensor([1.0, -2.0])
    s = t.untyped_storage()
    bits = torch.empty(0, dtype=torch.int32).set_(s)
    whole = torch.empty(0, dtype=torch.int64).set_(s)
    bits[1] = 0x3F800000
    assert t.tolist() == [1.0, 1.0] and whole.tolist() == [0x3F8000003F800000] and t[1:].untyped_storage() == s


def test_copies():
    s = torch.UntypedStorage([1, 2, 3])
    c = s.clone()
    assert c.copy_(torch.UntypedStorage([7, 8, 9])) is c and c.tolist() == [7, 8, 9] and s.tolist() == [1, 2, 3]
    d = copy.deepcopy([s, s])
    assert d[0] is d[1] and d[0].tolist() == [1, 2, 3] and d[0].data_ptr() != s.data_ptr()
    assert pickle.loads(pickle.dumps(s)).tolist() == [1, 2, 3]
    t = torch.zeros(2, 3)
    a, b = copy.deepcopy((t, t.t()))
    assert a.untyped_storage() == b.untyped_storage()


def test_resize_keeps_elements_that_fit():
    s = torch.UntypedStorage([1, 2, 3])
    assert s.resizable() and s.resize_(5).tolist()[:3] == [1, 2, 3] and len(s) == 5 and s.resize_(2).tolist() == [1, 2]


def test_byte_order():
    s = torch.UntypedStorage(range(8))
    s.byteswap(torch.int16)
    assert s.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    s.byteswap(torch.complex64)
    assert s.tolist() == [2, 3, 0, 1, 6, 7, 4, 5]
    with pytest.raises(RuntimeError, match="6 bytes are not a multiple"):
        torch.UntypedStorage(6).byteswap(torch.int32)
    assert torch.UntypedStorage.from_buffer(b"abcdef", byte_order="big", dtype=torch.int16, count=2, offset=1).tolist() == [
        99,
        98,
        101,
        100,
    ]
    assert torch.FloatStorage.from_buffer(b"\x3f\x80\0\0", byte_order="big").tolist() == [1.0]


def test_meta_storages_have_a_size_and_no_bytes():
    m = torch.UntypedStorage(8, device="meta")
    assert len(m) == 8 and m.data_ptr() == 0 and repr(m) == "...\n[torch.storage.UntypedStorage(device=meta) of size 8]"
    assert m.clone().device.type == "meta" and len(m.resize_(20)) == 20 and m.fill_(1) is m and len(pickle.loads(pickle.dumps(m))) == 20
    assert torch.empty(0, device="meta").set_(m).shape == (5,)
    for use in (m.tolist, lambda: m[0], lambda: torch.UntypedStorage(20).copy_(m)):
        with pytest.raises(NotImplementedError, match="meta"):
            use()
    assert repr(torch.FloatStorage(2, device="meta")) == "...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 2]"


@pytest.mark.parametrize(
    ("use", "error", "fact"),
    [
        (lambda s: s[8], IndexError, "index 8 is out of range for a storage of size 8"),
        (lambda s: s[-9], IndexError, "-9"),
        (lambda s: s["a"], TypeError, "str"),
        (lambda s: s[::2], RuntimeError, "step of 2"),
        (lambda s: s.__setitem__(0, 1.5), RuntimeError, "float"),
        (lambda s: s.__setitem__(8, 1), IndexError, "8"),
        (lambda s: s.fill_(1.5), RuntimeError, "float"),
        (lambda s: s.copy_(torch.UntypedStorage(3)), RuntimeError, "8 bytes but source has 3"),
        (lambda s: s.resize_(-3), RuntimeError, "-3 bytes"),
        (lambda s: s.pin_memory(), RuntimeError, "accelerator"),
        (lambda s: torch.zeros(1).pin_memory(), RuntimeError, "accelerator"),
        (lambda s: torch.UntypedStorage(-1), RuntimeError, "-1 bytes"),
        (lambda s: torch.UntypedStorage(1.5), RuntimeError, "float"),
        (lambda s: torch.UntypedStorage([1, 2.0]), RuntimeError, "float instead of int"),
        (lambda s: s.copy_([1]), TypeError, "list"),
        (lambda s: s.type("Nonsense"), ValueError, "Nonsense"),
    ],
)
def test_bad_use_changes_nothing(use, error, fact):
    s = torch.UntypedStorage(range(8))
    with pytest.raises(error, match=fact):
        use(s)
    assert s.tolist() == list(range(8))


@pytest.mark.parametrize("name", LEGACY)
def test_legacy_classes(name):
    dtype, one = LEGACY[name]
    kind = getattr(torch, name + "Storage")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = kind([1, 0, 1])
        assert type(s) is torch.TypedStorage and isinstance(s, kind) and torch.is_storage(s) and s.dtype is kind.dtype is dtype
        assert len(s) == s.size() == 3 and s.nbytes() == 3 * dtype.itemsize == 3 * s.element_size()
        s[1] = s[0]
        assert s.tolist() == list(s) == [1, 1, 1] and s[-1] == 1 and s.type() == f"torch.{name}Storage"
        assert repr(s) == f" {one}\n" * 3 + f"[torch.{name}Storage of size 3]"
        assert s.clone() != s and s.clone().tolist() == [1, 1, 1] and kind(2).nbytes() == 2 * dtype.itemsize and len(kind()) == 0
        assert torch.IntStorage([1]).type(kind).dtype is dtype
        if not dtype.is_complex:  # whose imaginary part would be discarded, which warns
            assert s.int().tolist() == [1, 1, 1] and s.fill_(0).int().tolist() == [0, 0, 0]
        assert (
            kind(wrap_storage=s.untyped()) == s and copy.deepcopy(s).dtype is dtype and pickle.loads(pickle.dumps(s)).tolist() == s.tolist()
        )


def test_the_size_of_a_storage_counts_its_elements():
    x = torch.zeros(100)
    for of in (torch.Tensor.untyped_storage, torch.Tensor.storage):
        assert of(x).__sizeof__() - of(torch.zeros(0)).__sizeof__() == 400


def test_storage_of_a_tensor():
    t = torch.tensor([[1, 2], [3, 4]])
    s = t.t().storage()
    s[1] = 20
    assert t.tolist() == [[1, 20], [3, 4]] and s.data_ptr() == t.data_ptr() and s == t.storage() and s.untyped() == t.untyped_storage()
    assert torch.LongTensor(s).tolist() == [1, 20, 3, 4] and torch.tensor(torch.FloatStorage([1, 2])).tolist() == [1.0, 2.0]
    assert t.storage_type() is torch.LongStorage and isinstance(s, t.storage_type())
    with pytest.raises(TypeError, match="storage_type: torch.uint16 has no legacy storage class"):
        torch.ones(2, dtype=torch.uint16).storage_type()
    with pytest.raises(RuntimeError, match="int64"):
        torch.FloatTensor(s)


def test_conversions():
    assert torch.UntypedStorage([1, 2]).float().tolist() == [1.0, 2.0]
    s = torch.FloatStorage([1.5, 0])
    assert (
        s.int().tolist() == [1, 0]
        and s.bool().tolist() == [True, False]
        and s.complex_double().dtype is torch.complex128
        and s.float() is s
    )
    assert s.type("torch.LongStorage").dtype is s.type(torch.LongStorage).dtype is torch.int64
    assert s.copy_(torch.IntStorage([3, 4])).tolist() == [3.0, 4.0] and s.cpu() == s and s.resize_(1).tolist() == [3.0]


def test_storage_is_the_class_of_the_default_dtype():
    assert torch.Storage is torch.FloatStorage and torch.Storage(2).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("use", "error", "fact"),
    [
        (lambda s: s[0:1], RuntimeError, "slices"),
        (lambda s: s["a"], RuntimeError, "str"),
        (lambda s: s[9], IndexError, "index 9 is out of range for a storage of size 2"),
        (lambda s: s.__setitem__(-3, 1), IndexError, "index -3"),
        (lambda s: s.copy_(torch.FloatStorage(3)), RuntimeError, "2 elements but source has 3"),
        (lambda s: torch.FloatStorage(1, 2), RuntimeError, "2 positional"),
        (lambda s: torch.TypedStorage(wrap_storage=5, dtype=torch.int8), TypeError, "int"),
        (lambda s: torch.QUInt8Storage([-1000]), RuntimeError, "overflow"),
        (lambda s: torch.FloatStorage("ab"), TypeError, "str"),
    ],
)
def test_bad_use_of_typed_storages(use, error, fact):
    s = torch.FloatStorage([1, 2])
    with pytest.raises(error, match=fact):
        use(s)
    assert s.tolist() == [1.0, 2.0]


def test_set_():
    s = torch.FloatStorage([1, 2, 3, 4])
    x = torch.zeros(3)
    assert x.set_(s).tolist() == [1, 2, 3, 4]
    assert x.set_(s.untyped(), 1, (2,), (2,)).tolist() == [2, 4] and x.storage_offset() == 1
    assert x.set_(s.untyped(), storage_offset=0, size=(2, 2)).tolist() == [[1, 2], [3, 4]]
    assert x.set_(s.untyped(), 0, torch.Size([2, 2]), (1, 2)).tolist() == [[1, 3], [2, 4]] and x.untyped_storage() == s.untyped()
    y = torch.ones(4, 2)
    assert x.set_(y.t()).shape == (2, 4) and x.set_(y, 1, (3,), (2,)).data_ptr() == y.data_ptr() + 4 and x.set_(source=y).shape == (4, 2)
    assert x.set_().shape == (0,) and x.untyped_storage().nbytes() == 0


@pytest.mark.parametrize(
    ("arguments", "error", "fact"),
    [
        (lambda: (torch.UntypedStorage(16), 0, (5,), (1,)), RuntimeError, "need a storage of 20 bytes, but it has 16"),
        (lambda: (torch.UntypedStorage(16), 2, (2,), (2,)), RuntimeError, "need a storage of 20 bytes"),
        (lambda: (torch.UntypedStorage(16), -1, (2,), (1,)), RuntimeError, "offset -1"),
        (lambda: (torch.UntypedStorage(16), 0, (2,), (-1,)), RuntimeError, "negative"),
        (lambda: (torch.UntypedStorage(16), 0, (-2,), (1,)), RuntimeError, "-2"),
        (lambda: (torch.UntypedStorage(16), 0, (2, 2), (1,)), RuntimeError, "same length"),
        (lambda: (torch.UntypedStorage(16), 0, (2**62, 4), (2**61, 1)), RuntimeError, "4611686018427387904"),
        (lambda: (torch.UntypedStorage(16), 2**62, (2,), (1,)), RuntimeError, "64-bit integer"),
        (lambda: (torch.UntypedStorage(16)[1:], 0, (2,), (1,)), RuntimeError, "not aligned"),
        (lambda: (torch.UntypedStorage(16, device="meta"),), RuntimeError, "device"),
        (lambda: (torch.IntStorage([1]),), RuntimeError, "int32"),
        (lambda: (torch.tensor([1]),), RuntimeError, "int64"),
        (lambda: (torch.UntypedStorage(16), 1), TypeError, "combination"),
        (lambda: (5,), TypeError, "combination"),
    ],
)
def test_set_proves_its_bounds(arguments, error, fact):
    x = torch.ones(3)
    with pytest.raises(error, match=fact):
        x.set_(*arguments())
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_one_storage_is_one_object():
    t = torch.arange(6.0).view(2, 3)
    untyped, typed = t.untyped_storage(), t.storage()
    assert t.untyped_storage() is untyped and t[1:].untyped_storage() is untyped and t.view(torch.int32).untyped_storage() is untyped
    assert t.storage() is typed and t.t().storage() is typed and typed.untyped() is untyped and t.clone().storage() is not typed
    assert t.view(torch.int32).storage() is not typed
    untyped.note = "mine"
    assert t.t().untyped_storage().note == "mine"
    empty, meta = torch.empty(0), torch.ones(2, device="meta")
    assert empty.untyped_storage() is empty.detach().untyped_storage() and meta[1:].untyped_storage() is meta.untyped_storage()


def test_the_ids_of_a_views_storage():
    points = torch.tensor([[1.0, 4.0], [2.0, 1.0], [3.0, 5.0]])
    points_t = points.t()
    assert id(points.storage()) == id(points_t.storage()) == id(points.t().storage())


def test_storages_go_with_their_tensors():
    t = torch.ones(100)
    t.storage()
    t.set_(torch.FloatStorage([1, 2]))
    assert t.tolist() == [1, 2] and t.storage().tolist() == [1, 2] and t.untyped_storage().nbytes() == 8


@pytest.mark.parametrize("use", [lambda s: s.resize_(16), lambda s: s.share_memory_()])
@pytest.mark.parametrize("value", [7, torch.UntypedStorage([7, 7])])
def test_writing_a_slice_leaves_the_storage_free(use, value):
    s = torch.UntypedStorage(8)
    s[1:3] = value
    s[-1:] = 300
    use(s)
    assert s.tolist()[:8] == [0, 7, 7, 0, 0, 0, 0, 44]
    typed = torch.FloatStorage(4)
    typed[1:3] = 5
    assert typed.resize_(6).tolist()[:4] == [0, 5, 5, 0]


def test_directories_have_no_internal_names():
    for thing in (torch.ones(1), torch.UntypedStorage(1), torch.FloatStorage(1)):
        assert not [name for name in dir(thing) if name[0] == "_" and not name.startswith("__")] and "size" in dir(thing)
    assert not [name for name in dir(torch) if name[0] == "_" and not name.startswith("__") or name.startswith("gen_")] and "cuda" in dir(
        torch
    )
    assert not {"index_get", "index_set_", "index_set_scalar_"} & set(dir(torch.Tensor))


def test_storages_by_dtype():
    names = torch.storage._dtype_to_storage_type_map()
    assert names[torch.float32] == "FloatStorage" and names[torch.qint8] == "QInt8Storage" and len(names) == 17
    for dtype, name in names.items():
        s = getattr(torch, name)(4)
        s[1:3] = 1
        assert s.dtype is dtype and s.tolist()[1] == s.tolist()[2]


def test_objects_of_one_storage_have_one_number():
    x = torch.arange(4)
    assert x.storage()._cdata == x[1:].storage()._cdata == x.untyped_storage()._cdata != x.clone().storage()._cdata
    assert x.storage()._untyped_storage == x.untyped_storage()


def test_byte_order_by_position():
    assert torch.ShortStorage.from_buffer(b"\1\2\3\4", "big").tolist() == [0x102, 0x304]
    assert torch.UntypedStorage.from_buffer(b"\1\2\3\4", "big", 1, 2, dtype=torch.int16).tolist() == [4, 3]


def test_deep_copies_of_tensors_and_of_their_storages_share():
    a = torch.arange(4.0)
    b, storages, view, empty = copy.deepcopy([a, [a.storage(), a.untyped_storage()], a[1:], [torch.empty(0), torch.empty(0)]])
    b.add_(1)
    assert storages[0].tolist() == b.tolist() == [1, 2, 3, 4] and view.tolist() == [2, 3, 4] and storages[1] == b.untyped_storage()
    assert a.tolist() == [0, 1, 2, 3] and empty[0].untyped_storage() != empty[1].untyped_storage()
