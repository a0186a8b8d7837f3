"""HDF5 files through h5py."""

import os
import stat
import threading

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


@pytest.mark.parametrize(
    "name",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "uint16",
        "uint32",
        "uint64",
    ],
)
def test_every_dtype(tmp_path, name):
    x = torch.tensor([[0, 1], [2, 3]]).to(getattr(torch, name))
    hdf5.save({"x": x, "group": {"scalar": x[1, 1], "empty": x[:0]}}, tmp_path / "a.h5")
    found = hdf5.load(tmp_path / "a.h5")
    assert torch.equal(found["x"], x) and found["x"].dtype is x.dtype
    assert found["group"]["scalar"].shape == () and found["group"]["scalar"] == x[1, 1] and found["group"]["empty"].shape == (0, 2)


@pytest.mark.parametrize(
    "index",
    [(), 1, -1, slice(1, None), (slice(None, None, 2), 1), (..., 0), (0, ..., slice(1, 3)), (slice(2, 1),), slice(-2, None), (1, 2, 3)],
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


def test_errors(tmp_path):
    points = make_points()
    hdf5.save({"x": points}, tmp_path / "a.h5")
    with pytest.raises(TypeError, match="/x/y is a int"):
        hdf5.save({"x": {"y": 1}}, tmp_path / "a.h5")
    assert torch.equal(hdf5.load(tmp_path / "a.h5")["x"], points) and len(list(tmp_path.iterdir())) == 1
    with h5py.File(tmp_path / "a.h5", "a") as f:
        f["text"] = "abc"
        with pytest.raises(TypeError, match="/text has dtype text"):
            hdf5.read(f["text"])
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
            hdf5.read(f["x"], 3)
        with pytest.raises(IndexError, match="too many"):
            hdf5.read(f["x"], (0, 0, 0))
        with pytest.raises(ValueError, match="positive"):
            hdf5.read(f["x"], slice(None, None, -1))


def test_the_old_file_and_its_place_are_kept(tmp_path):
    path, points = tmp_path / "a.h5", make_points()
    hdf5.save({"x": points}, path)
    os.chmod(path, 0o600)
    hdf5.save({"x": points + 1}, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and torch.equal(hdf5.load(path)["x"], points + 1)
    link = tmp_path / "link.h5"
    link.symlink_to("target.h5")
    hdf5.save({"x": points}, link)
    assert link.is_symlink() and torch.equal(hdf5.load(tmp_path / "target.h5")["x"], points)
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "link.h5", "target.h5"]


def test_pipes_are_written_to(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    hdf5.save({"x": torch.arange(3)}, pipe)
    reader.join()
    (tmp_path / "a.h5").write_bytes(found[0])
    assert stat.S_ISFIFO(pipe.stat().st_mode) and hdf5.load(tmp_path / "a.h5")["x"].tolist() == [0, 1, 2]


def test_links(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = numpy.arange(3)
        group = f.create_group("g")
        group["same"], f["again"], f["type"] = f["x"], group, numpy.dtype("f4")
        found = hdf5.load(f)
        assert found["again"] is found["g"] and found["g"]["same"] is found["x"] and set(found) == {"x", "g", "again"}
        # Twice as many ways lead to each group as to the one before: all are walked once.
        for i in range(100):
            outer = f.create_group(f"deep{i}")
            outer["a"] = outer["b"] = f[f"deep{i - 1}" if i else "x"]
        deep = hdf5.load(f["deep99"])
        assert deep["a"] is deep["b"] and deep["a"]["b"] is deep["b"]["a"]
        group["up"] = f["/"]
        with pytest.raises(ValueError, match="/up is a group that contains itself"):
            hdf5.load(f)
        del group["up"]
        for link in (h5py.SoftLink("/nowhere"), h5py.ExternalLink("no.h5", "/x"), h5py.SoftLink("/link")):
            f["link"] = link
            with pytest.raises(ValueError, match="/link is a broken link"):
                hdf5.load(f)
            del f["link"]


def test_datasets_without_elements(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["null"] = h5py.Empty("f4")
        with pytest.raises(ValueError, match="/null is null: it has dtype float32, but neither elements"):
            hdf5.load(f)
    saved = {"x": torch.ones(3), "none": torch.ones(0, 3), "scalar": torch.tensor(1.0)}
    hdf5.save(saved, tmp_path / "b.h5", compression="gzip")
    assert {name: x.tolist() for name, x in hdf5.load(tmp_path / "b.h5").items()} == {name: x.tolist() for name, x in saved.items()}


def test_nothing_is_written_before_all_is_checked(tmp_path):
    circle = {}
    circle["x"] = circle
    path = tmp_path / "a.h5"
    for tensors, error, fact in [
        ([1], TypeError, "dict"),
        (circle, ValueError, "/x contains itself"),
        ({"a": {3: torch.ones(1)}}, ValueError, "3 in /a cannot be the name"),
        ({"a\0b": torch.ones(1)}, ValueError, "cannot be the name"),
        ({"x": torch.ones(2, dtype=torch.bfloat16)}, TypeError, "/x has dtype torch.bfloat16"),
    ]:
        with pytest.raises(error, match=fact):
            hdf5.save(tensors, path)
        with h5py.File(path, "w") as f, pytest.raises(error, match=fact):
            hdf5.save(tensors, f)
        with h5py.File(path, "r") as f:
            assert not list(f)
        os.remove(path)
    with pytest.raises(OSError, match="is a directory"):
        hdf5.save({"x": torch.ones(1)}, tmp_path)
    assert not os.listdir(tmp_path)
