"""The reference page on storages: its examples and statements in order. Gradients are not part of it here."""

import warnings

import libtensor as torch

ONES = " 0\n 0\n 128\n 63\n" * 3 + "[torch.storage.UntypedStorage(device=cpu) of size 12]"


def test_untyped_storage():
    t = torch.ones(3)
    s0 = t.untyped_storage()
    assert repr(s0) == ONES
    s1 = s0.clone()
    assert repr(s1.fill_(0)) == " 0\n" * 12 + "[torch.storage.UntypedStorage(device=cpu) of size 12]"
    # Fill the tensor with a zeroed storage
    assert repr(t.set_(s1, storage_offset=t.storage_offset(), stride=t.stride(), size=t.size())) == "tensor([0., 0., 0.])"
    assert repr(s0) == ONES and t.untyped_storage().data_ptr() == s1.data_ptr()


def test_one_storage_many_tensors():
    t = torch.zeros(2, 3)
    assert t.untyped_storage().nbytes() == len(t.untyped_storage()) == 24
    assert t.view(6).untyped_storage().data_ptr() == t[1:].untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
    assert t[1:].data_ptr() != t[1:].untyped_storage().data_ptr()
    assert list(t.untyped_storage()) == [0] * 24


def test_tensors_without_data():
    t = torch.zeros(3, device="meta")
    assert t.untyped_storage().nbytes() == 12 and t.untyped_storage().data_ptr() == 0


def test_legacy_storages():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.Storage is torch.FloatStorage
        names = "Double Float Half Long Int Short Char Byte Bool BFloat16 ComplexDouble ComplexFloat QUInt8 QInt8 QInt32 QUInt4x2 QUInt2x4"
        for name in names.split():
            kind = getattr(torch, name + "Storage")
            made = kind(2)
            # The constructor makes a TypedStorage; the class itself has no instances.
            assert type(made) is torch.TypedStorage and made.dtype is kind.dtype and isinstance(made.untyped(), torch.UntypedStorage)
            assert repr(made).endswith(f"[torch.{name}Storage of size 2]") and made.device == torch.device("cpu")
        assert torch.TypedStorage([1, 2], dtype=torch.int16).nbytes() == 4
        assert torch.ones(2, 2).storage().tolist() == [1.0] * 4


def test_a_gradient_has_a_separate_storage():
    t = torch.zeros(3, requires_grad=True)
    t.sum().backward()
    assert list(t.untyped_storage()) == [0] * 12  # the storage of the tensor is just 0s
    assert list(t.grad.untyped_storage()) != [0] * 12  # the storage of the gradient isn't
    assert t.grad.untyped_storage().data_ptr() != t.untyped_storage().data_ptr()
