"""Assigning and writing to `data`, and what the autograd graph sees of it."""

import pytest
from grad_helpers import double_leaf as leaf

import libtensor as torch


def test_data_of_another_kind():
    x = leaf(1, 2)
    y = x * x
    x.data = torch.ones(2, dtype=torch.float32)
    assert x.dtype == torch.float32 and x.requires_grad and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]  # of the data that the leaf has

    x = leaf(1, 2)
    y = x * 3
    x.data = torch.ones(3)
    assert x.shape == (3,) and x.dtype == torch.float32
    with pytest.raises(
        RuntimeError,
        match=r"a gradient of sizes \[2\] does not match the leaf: its data was replaced after it was used, and now has sizes \[3\]",
    ):
        y.sum().backward()
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and x.grad.dtype == torch.float32

    with pytest.raises(
        RuntimeError, match="data set to a tensor that requires gradients must be floating point or complex dtype, not int64"
    ):
        x.data = torch.ones(3, dtype=torch.int64)
    assert x.dtype == torch.float32
    plain = torch.ones(2)
    plain.data = torch.arange(3)
    assert plain.tolist() == [0, 1, 2]
    w = leaf(1)
    z = w.exp()
    x.data = z.detach()
    z.sum().backward()  # nothing was written
    assert w.grad is not None and x.data_ptr() == z.data_ptr()


@pytest.mark.parametrize("view", [False, True])
def test_a_write_to_data_in_place_is_none_to_the_tensor(view):
    x, y = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    x.data = y[:] if view else y
    y.mul_(x)
    assert x.is_leaf and x.grad_fn is None and x._base is None
    assert y.tolist() == x.tolist() == [9.0, 16.0] and y.grad_fn is not None


def test_data_of_a_tensor_is_of_its_kind():
    plain, integers = torch.zeros(4), torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.quint8)
    entries = torch.eye(2).to_sparse()
    for tensor, data in [(plain, integers), (integers, plain), (plain, entries), (entries, torch.eye(2).to_sparse_csr())]:
        before = (tensor.dtype, tensor.layout, tensor.shape)
        with pytest.raises(RuntimeError, match="set_data_: a .* tensor cannot be set to a .* one"):
            tensor.data = data
        assert (tensor.dtype, tensor.layout, tensor.shape) == before
    other = torch.quantize_per_tensor(torch.tensor([1.0, 3.0]), 0.5, 1, torch.qint8)
    integers.data = other
    assert (integers.dtype, integers.q_scale(), integers.q_zero_point(), integers.tolist()) == (torch.qint8, 0.5, 1, [1.0, 3.0])


def test_data_of_a_sparse_leaf():
    leaf = torch.eye(2).to_sparse().requires_grad_()
    made = leaf * 2
    leaf.data = torch.sparse_coo_tensor([[0], [1]], [3.0], (2, 3))
    assert leaf.is_leaf and leaf.requires_grad and leaf.shape == (2, 3)
    (leaf * 2).to_dense().sum().backward()
    assert leaf.grad.to_dense().tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    assert made.to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(RuntimeError, match="float64"):
        leaf.data = torch.eye(2, dtype=torch.float64).to_sparse()
    assert leaf.detach().to_dense().tolist() == [[0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]


def test_data_is_not_counted():
    x = leaf(1, 2)
    y = x * x
    x.data.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [4, 6] and x._version == 0


def test_assigning_data_of_the_same_kind_keeps_the_graph():
    x = leaf(1, 1)
    y = x * 2
    x.data = torch.tensor([3.0, 3.0], dtype=x.dtype)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 2.0]
