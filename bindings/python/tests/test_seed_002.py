"""The third chapter of the Chinese book: its examples in order, without named tensors. Examples that need a GPU raise a clear error."""

import numpy as np
import pytest

import libtensor as torch

POINTS = [[4.0, 1.0], [5.0, 3.0], [2.0, 1.0]]
STORED = " 4.0\n 1.0\n 5.0\n 3.0\n 2.0\n 1.0\n[torch.FloatStorage of size 6]"
COLUMNS = " 4.0\n 5.0\n 2.0\n 1.0\n 3.0\n 1.0\n[torch.FloatStorage of size 6]"


def test_first_tensors():
    a = torch.ones(3)
    assert repr(a) == "tensor([1., 1., 1.])" and repr(a[1]) == "tensor(1.)" and float(a[1]) == 1.0
    a[2] = 2.0
    assert repr(a) == "tensor([1., 1., 2.])"


def test_points():
    points = torch.zeros(6)
    for i, value in enumerate([4.0, 1.0, 5.0, 3.0, 2.0, 1.0]):
        points[i] = value
    assert repr(points) == repr(torch.tensor([4.0, 1.0, 5.0, 3.0, 2.0, 1.0])) == "tensor([4., 1., 5., 3., 2., 1.])"
    assert (float(points[0]), float(points[1])) == (4.0, 1.0)
    points = torch.tensor(POINTS)
    assert repr(points) == "tensor([[4., 1.],\n        [5., 3.],\n        [2., 1.]])" and repr(points.shape) == "torch.Size([3, 2])"
    assert repr(torch.zeros(3, 2)) == "tensor([[0., 0.],\n        [0., 0.],\n        [0., 0.]])"
    assert repr(points[0, 1]) == "tensor(1.)" and repr(points[0]) == "tensor([4., 1.])"


def test_indexing():
    points = torch.tensor(POINTS)
    assert points[1:].tolist() == points[1:, :].tolist() == POINTS[1:]
    assert points[1:, 0].tolist() == [5.0, 2.0] and points[None].shape == (1, 3, 2)


def test_weights_and_means():
    img_t, batch_t = torch.randn(3, 5, 5), torch.randn(2, 3, 5, 5)
    weights = torch.tensor([0.2126, 0.7152, 0.0722])
    assert (img_t.mean(-3).shape, batch_t.mean(-3).shape) == (torch.Size([5, 5]), torch.Size([2, 5, 5]))
    unsqueezed_weights = weights.unsqueeze(-1).unsqueeze_(-1)
    img_weights, batch_weights = img_t * unsqueezed_weights, batch_t * unsqueezed_weights
    img_gray_weighted = img_weights.sum(-3)
    assert (batch_weights.shape, batch_t.shape, unsqueezed_weights.shape) == ((2, 3, 5, 5), (2, 3, 5, 5), (3, 1, 1))
    img_gray_weighted_fancy = torch.einsum("...chw,c->...hw", img_t, weights)
    batch_gray_weighted_fancy = torch.einsum("...chw,c->...hw", batch_t, weights)
    assert batch_gray_weighted_fancy.shape == torch.Size([2, 5, 5])
    assert torch.allclose(img_gray_weighted, img_gray_weighted_fancy, atol=1e-6)
    assert torch.allclose(batch_weights.sum(-3), batch_gray_weighted_fancy, atol=1e-6)


def test_element_types():
    double_points = torch.ones(10, 2, dtype=torch.double)
    short_points = torch.tensor([[1, 2], [3, 4]], dtype=torch.short)
    assert short_points.dtype is torch.int16 and double_points.dtype is torch.float64
    assert torch.zeros(10, 2).double().dtype is torch.zeros(10, 2).to(torch.double).dtype is torch.float64
    assert torch.ones(10, 2).short().dtype is torch.ones(10, 2).to(dtype=torch.short).dtype is torch.int16
    points_64 = torch.rand(5, dtype=torch.double)
    points_short = points_64.to(torch.short)
    assert repr(points_64 * points_short) == "tensor([0., 0., 0., 0., 0.], dtype=torch.float64)"


def test_functions_and_methods():
    a = torch.ones(3, 2)
    assert torch.transpose(a, 0, 1).shape == a.transpose(0, 1).shape == torch.Size([2, 3])


def test_storage():
    points = torch.tensor(POINTS)
    assert repr(points.storage()) == STORED
    points_storage = points.storage()
    assert points_storage[0] == 4.0 and points.storage()[1] == 1.0
    points_storage[0] = 2.0
    assert repr(points) == "tensor([[2., 1.],\n        [5., 3.],\n        [2., 1.]])"


def test_in_place():
    a = torch.ones(3, 2)
    a.zero_()
    assert repr(a) == "tensor([[0., 0.],\n        [0., 0.],\n        [0., 0.]])"


def test_size_offset_and_stride():
    points = torch.tensor(POINTS)
    second_point = points[1]
    assert second_point.storage_offset() == 2 and repr(second_point.size()) == repr(second_point.shape) == "torch.Size([2])"
    assert points.stride() == (2, 1) and second_point.stride() == (1,)
    second_point[0] = 10.0
    assert repr(points) == "tensor([[ 4.,  1.],\n        [10.,  3.],\n        [ 2.,  1.]])"
    points = torch.tensor(POINTS)
    second_point = points[1].clone()
    second_point[0] = 10.0
    assert points.tolist() == POINTS


def test_transposing():
    points = torch.tensor(POINTS)
    points_t = points.t()
    assert repr(points_t) == "tensor([[4., 5., 2.],\n        [1., 3., 1.]])"
    # The book compares id()s, which are reused after an object was freed.
    assert points.storage() == points_t.storage() and points.storage().data_ptr() == points_t.storage().data_ptr()
    assert points.stride() == (2, 1) and points_t.stride() == (1, 2)
    some_t = torch.ones(3, 4, 5)
    transpose_t = some_t.transpose(0, 2)
    assert (some_t.shape, transpose_t.shape) == ((3, 4, 5), (5, 4, 3))
    assert (some_t.stride(), transpose_t.stride()) == ((20, 5, 1), (1, 5, 20))


def test_contiguous():
    points = torch.tensor(POINTS)
    points_t = points.t()
    assert points.is_contiguous() and not points_t.is_contiguous()
    assert repr(points_t.storage()) == STORED and points_t.stride() == (1, 2)
    points_t_cont = points_t.contiguous()
    assert repr(points_t_cont) == repr(points_t) and points_t_cont.stride() == (3, 1)
    assert repr(points_t_cont.storage()) == COLUMNS


@pytest.mark.parametrize(
    "use",
    [
        lambda points: torch.tensor(POINTS, device="cuda"),
        lambda points: points.to(device="cuda"),
        lambda points: points.to(device="cuda:0"),
        lambda points: points.cuda(),
        lambda points: points.cuda(0),
    ],
)
def test_moving_to_a_gpu(use):
    points = torch.tensor(POINTS)
    with pytest.raises(RuntimeError, match="cuda"):
        use(points)
    assert points.to(device="cpu") is points and points.cpu() is points


def test_numpy():
    points = torch.ones(3, 4)
    points_np = points.numpy()
    assert repr(points_np) == repr(np.ones((3, 4), "f4"))
    points_np[0, 0] = 5
    assert points[0, 0] == 5
    points = torch.from_numpy(points_np)
    points[1, 1] = 6
    assert points_np[1, 1] == 6


def test_saving(tmp_path):
    points = torch.tensor(POINTS)
    torch.save(points, tmp_path / "ourpoints.t")
    assert torch.load(tmp_path / "ourpoints.t").tolist() == POINTS
    with open(tmp_path / "ourpoints.t", "wb") as f:
        torch.save(points, f)
    with open(tmp_path / "ourpoints.t", "rb") as f:
        assert torch.load(f).tolist() == POINTS


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    points = torch.tensor(POINTS)
    with h5py.File(tmp_path / "ourpoints.hdf5", "w") as f:
        f.create_dataset("coords", data=points.numpy())
    with h5py.File(tmp_path / "ourpoints.hdf5", "r") as f:
        last_points = torch.from_numpy(f["coords"][-2:])
    assert last_points.tolist() == POINTS[-2:]


def test_exercises():
    a = torch.tensor(list(range(9)))
    b = a.view(3, 3)
    c = b[1:, 1:]
    assert (a.size(), a.storage_offset(), a.stride()) == ((9,), 0, (1,)) and a.storage() == b.storage()
    assert (c.size(), c.storage_offset(), c.stride()) == ((2, 2), 4, (3, 1))
    assert torch.sqrt(a).dtype is torch.float32 and a.float().sqrt_()[4] == 2
    with pytest.raises(RuntimeError, match="can't be cast"):
        a.sqrt_()
