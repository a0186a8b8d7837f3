"""The Chinese article on storage(), stride() and storage_offset(): its examples in order."""

import libtensor as torch

FLOATS = """ 1.0
 4.0
 2.0
 1.0
 3.0
 5.0
[torch.FloatStorage of size 6]"""
COUNTED = """ 1
 2
 3
 4
 5
 6
[torch.LongStorage of size 6]"""
MIXED = """ 4
 2
 5
 7
 6
 9
[torch.LongStorage of size 6]"""


def test_storage_of_a_tensor():
    a = torch.tensor([[1.0, 4.0], [2.0, 1.0], [3.0, 5.0]])
    assert repr(a.storage()) == FLOATS
    a_storage = a.storage()
    assert a_storage[2] == 2.0
    a_storage[0] = 100
    assert str(a.storage()) == FLOATS.replace(" 1.0", " 100.0", 1)
    assert str(a) == "tensor([[100.,   4.],\n        [  2.,   1.],\n        [  3.,   5.]])"


def test_several_tensors_over_one_storage():
    a = torch.tensor([[1, 2, 3], [4, 5, 6]])
    b = a.view(3, 2)
    c = a[:, 1]
    assert str(a) == "tensor([[1, 2, 3],\n        [4, 5, 6]])"
    assert str(b) == "tensor([[1, 2],\n        [3, 4],\n        [5, 6]])"
    assert str(c) == "tensor([2, 5])"
    assert len({id(a), id(b), id(c)}) == 3
    assert str(a.storage()) == str(b.storage()) == str(c.storage()) == COUNTED
    assert a.data_ptr() == b.data_ptr() and c.data_ptr() == a.data_ptr() + 8
    assert a.storage().data_ptr() == b.storage().data_ptr() == c.storage().data_ptr()
    c[0] = 100
    assert str(a) == "tensor([[  1, 100,   3],\n        [  4,   5,   6]])"
    assert str(b) == "tensor([[  1, 100],\n        [  3,   4],\n        [  5,   6]])"
    assert str(c) == "tensor([100,   5])"
    b.storage()[3] = -100
    assert str(a) == "tensor([[   1,  100,    3],\n        [-100,    5,    6]])"
    assert str(b) == "tensor([[   1,  100],\n        [   3, -100],\n        [   5,    6]])"
    assert str(c) == "tensor([100,   5])"


def test_stride():
    a = torch.tensor([[4, 2, 5], [7, 6, 9]])
    assert str(a) == "tensor([[4, 2, 5],\n        [7, 6, 9]])"
    assert str(a.storage()) == MIXED
    assert a.stride() == (3, 1) and a.stride(0) == 3 and a.stride(1) == 1
    b = a.t()
    assert str(b) == "tensor([[4, 7],\n        [2, 6],\n        [5, 9]])"
    assert str(b.storage()) == MIXED and b.stride() == (1, 3)


def test_storage_offset():
    a = torch.tensor([[3, 2, 5], [7, 6, 9]])
    assert str(a.storage()) == MIXED.replace("4", "3", 1) and a.storage_offset() == 0
    b = a[:, 2]
    assert str(b) == "tensor([5, 9])" and str(b.storage()) == str(a.storage()) and b.storage_offset() == 2
