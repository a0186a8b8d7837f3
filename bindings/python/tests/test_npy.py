""".npy and .npz files, compared with NumPy."""

import io

import numpy
import pytest

import libtensor as torch

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_numpy_reads_ours_and_we_read_numpys(tmp_path, name, shape):
    array = (numpy.arange(numpy.prod(shape, dtype=int)) % 5).reshape(shape).astype(name)
    torch.save_npy(torch.from_numpy(array), tmp_path / "a.npy")
    found = numpy.load(tmp_path / "a.npy")
    assert found.dtype == array.dtype and numpy.array_equal(found, array)
    numpy.save(tmp_path / "b.npy", array)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    for mmap in (False, True):
        back = torch.load_npy(tmp_path / "b.npy", mmap=mmap)
        assert back.numpy().dtype == array.dtype and numpy.array_equal(back.numpy(), array) and back.shape == shape


def test_orders_of_bytes_and_dimensions(tmp_path):
    array = numpy.arange(6, dtype=">c8").reshape(2, 3) * (1 + 2j)
    numpy.save(tmp_path / "a.npy", array)
    assert numpy.array_equal(torch.load_npy(tmp_path / "a.npy").numpy(), array)
    numpy.save(tmp_path / "a.npy", numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)))
    for mmap in (False, True):
        found = torch.load_npy(tmp_path / "a.npy", mmap=mmap)
        assert found.stride() == (1, 2) and found.tolist() == [[0, 1, 2], [3, 4, 5]]
    torch.save_npy(found, tmp_path / "b.npy")
    assert numpy.load(tmp_path / "b.npy").tolist() == found.tolist()


def test_archives(tmp_path):
    tensors = {"x": torch.arange(6.0).reshape(2, 3), "flag": torch.tensor([True])}
    torch.save_npz(tensors, tmp_path / "a.npz")
    with numpy.load(tmp_path / "a.npz") as found:
        assert {n: found[n].tolist() for n in found.files} == {n: t.tolist() for n, t in tensors.items()}
    for save in (numpy.savez, numpy.savez_compressed):
        f = io.BytesIO()
        save(f, numpy.arange(3), x=numpy.zeros((50, 50)))
        f.seek(0)
        back = torch.load_npz(f)
        assert back["arr_0"].tolist() == [0, 1, 2] and back["x"].shape == (50, 50)


def test_errors(tmp_path):
    numpy.save(tmp_path / "o.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(NotImplementedError, match="Python objects"):
        torch.load_npy(tmp_path / "o.npy")
    with pytest.raises(TypeError, match="bfloat16"):
        torch.save_npy(torch.ones(1, dtype=torch.bfloat16), tmp_path / "b.npy")
    f = io.BytesIO()
    numpy.save(f, numpy.arange(4))
    for n in range(len(f.getvalue())):
        with pytest.raises(RuntimeError):
            torch.load_npy(io.BytesIO(f.getvalue()[:n]))
    with pytest.raises(ValueError, match="path"):
        torch.load_npy(f, mmap=True)


def test_values_that_an_archive_does_not_support(tmp_path):
    one = torch.ones(1)
    for tensors, fact in [([one], "a dict of tensors, not list"), ({1: one}, "must be str, not int"), ({"a": 1}, "expected Tensor")]:
        with pytest.raises(TypeError, match=fact):
            torch.save_npz(tensors, tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())
