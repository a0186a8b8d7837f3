"""HDF5 files through h5py."""

import h5py
import numpy
import pytest

import libtensor as torch
from libtensor import hdf5


def make_points():
    return torch.tensor([[4.0, 1.0], [5.0, 3.0], [2.0, 1.0]])


def test_the_book_in_order(tmp_path):
    points = make_points()
    f = h5py.File(tmp_path / "ourpoints.hdf5", "w")
    f.create_dataset("coords", data=points.numpy())
    f.close()
    f = h5py.File(tmp_path / "ourpoints.hdf5", "r")
    dset = f["coords"]
    last_points = torch.from_numpy(dset[-2:])
    assert torch.equal(hdf5.read(dset, slice(-2, None)), last_points)
    f.close()
    assert last_points.tolist() == [[5, 3], [2, 1]]


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"])
def test_every_dtype(tmp_path, name):
    x = torch.tensor([[0, 1], [2, 3]]).to(getattr(torch, name))
    hdf5.save({"x": x, "group": {"scalar": x[1, 1], "empty": x[:0]}}, tmp_path / "a.h5")
    found = hdf5.load(tmp_path / "a.h5")
    assert torch.equal(found["x"], x) and found["x"].dtype is x.dtype
    assert found["group"]["scalar"].shape == () and found["group"]["scalar"] == x[1, 1] and found["group"]["empty"].shape == (0, 2)


@pytest.mark.parametrize(
    "index", [(), 1, -1, slice(1, None), (slice(None, None, 2), 1), (..., 0), (0, ..., slice(1, 3)), (slice(2, 1),), slice(-2, None), (1, 2, 3)]
)
def test_only_the_part_asked_for(tmp_path, index):
    array = numpy.arange(60, dtype="i4").reshape(3, 4, 5)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        dset = f.create_dataset("x", data=array, chunks=(1, 2, 5), compression="gzip")
        found = hdf5.read(dset, index)
        assert found.shape == array[index].shape and found.tolist() == array[index].tolist()
        assert found.untyped_storage().nbytes() == array[index].nbytes


def test_other_byte_orders_and_options(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["big"] = numpy.arange(3, dtype=">f4")
        hdf5.save({"x": torch.arange(1000)}, f, compression="gzip")
        assert f["x"].compression == "gzip"
        assert hdf5.load(f)["big"].tolist() == [0, 1, 2]


def test_what_is_refused(tmp_path):
    points = make_points()
    hdf5.save({"x": points}, tmp_path / "a.h5")
    with pytest.raises(TypeError, match="/x/y is a int"):
        hdf5.save({"x": {"y": 1}}, tmp_path / "a.h5")
    assert torch.equal(hdf5.load(tmp_path / "a.h5")["x"], points) and len(list(tmp_path.iterdir())) == 1
    with h5py.File(tmp_path / "a.h5", "a") as f:
        f["text"] = "abc"
        with pytest.raises(TypeError, match="/text has dtype"):
            hdf5.read(f["text"])
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
            hdf5.read(f["x"], 3)
        with pytest.raises(IndexError, match="too many"):
            hdf5.read(f["x"], (0, 0, 0))
        with pytest.raises(ValueError, match="positive"):
            hdf5.read(f["x"], slice(None, None, -1))
