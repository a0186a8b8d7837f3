"""safetensors files, compared with the package safetensors."""

import json
import struct

import numpy
import pytest
import safetensors
import safetensors.numpy

import libtensor as torch
from libtensor import safetensors as st


def make_tensors():
    x = torch.arange(6.0).reshape(2, 3)
    return {
        "x": x,
        "turned": x.t(),
        "flag": torch.tensor([True, False]),
        "half": x.to(torch.bfloat16),
        "n": torch.tensor(3),
        "empty": torch.empty(0, 3),
    }


def test_the_package_reads_ours(tmp_path):
    tensors = make_tensors()
    st.save_file(tensors, tmp_path / "a.safetensors", metadata={"k": "é"})
    with safetensors.safe_open(tmp_path / "a.safetensors", "numpy") as f:
        assert f.metadata() == {"k": "é"} and sorted(f.keys()) == sorted(tensors)
        for name in ("x", "turned", "flag", "n", "empty"):
            assert numpy.array_equal(f.get_tensor(name), tensors[name].numpy()), name


def test_we_read_the_packages(tmp_path):
    arrays = {
        "x": numpy.arange(6.0).reshape(2, 3),
        "i": numpy.arange(3, dtype="i2"),
        "c": numpy.ones(2, dtype="c8"),
        "z": numpy.array(2, dtype="u1"),
    }
    arrays |= {f"u{n}": numpy.array([1, 2 ** (8 * n) - 1], dtype=f"u{n}") for n in (2, 4, 8)}
    safetensors.numpy.save_file(arrays, tmp_path / "a.safetensors", metadata={"k": "v"})
    for found in (
        st.load_file(tmp_path / "a.safetensors"),
        st.load_file(str(tmp_path / "a.safetensors"), mmap=False),
        st.load(safetensors.numpy.save(arrays)),
    ):
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert numpy.array_equal(found[name].numpy(), array) and found[name].numpy().dtype == array.dtype
    assert st.save({n: torch.from_numpy(a) for n, a in arrays.items()}, {"k": "v"}) == safetensors.numpy.save(arrays, {"k": "v"})


def test_lazily_and_by_slice(tmp_path):
    tensors = make_tensors()
    st.save_file(tensors, tmp_path / "a.safetensors", metadata={"k": "v"})
    with st.safe_open(tmp_path / "a.safetensors", framework="pt") as f:
        assert f.keys() == sorted(tensors) and f.metadata() == {"k": "v"}
        part = f.get_slice("x")
        assert (part.get_shape(), part.get_dtype()) == ([2, 3], "F32")
        rows = part[1:, :2]
        assert rows.tolist() == [[3, 4]] and rows.untyped_storage().nbytes() == 8
        assert torch.equal(f.get_tensor("half"), tensors["half"])
        with pytest.raises(st.SafetensorError, match="does not contain tensor y"):
            f.get_tensor("y")
    with pytest.raises(st.SafetensorError, match="closed"):
        f.get_tensor("x")


def test_mapped_tensors_outlive_the_name_and_do_not_write_to_it(tmp_path):
    path = tmp_path / "a.safetensors"
    st.save_file({"x": torch.ones(1000)}, path)
    before = path.read_bytes()
    x = st.load_file(path)["x"]
    x.fill_(2)
    assert path.read_bytes() == before
    path.unlink()
    assert x.sum() == 2000


def test_dtypes_that_are_not_there(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(file_of({"f": entry("F32", [2], 0, 8), "u": entry("F6_E2M3", [4], 8, 11)}, struct.pack("<2fxxx", 1, 1)))
    with pytest.raises(st.SafetensorError, match='"u" has dtype F6_E2M3'):
        st.load_file(path)
    with st.safe_open(path) as f:
        assert f.get_tensor("f").tolist() == [1, 1] and f.keys() == ["f", "u"]
        with pytest.raises(st.SafetensorError, match="u has dtype F6_E2M3"):
            f.get_slice("u")
    with pytest.raises(TypeError, match="complex128"):
        st.save({"c": torch.ones(1, dtype=torch.complex128)})


def file_of(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "header, size",
    [
        ({"a": entry("U8", [1], 0, 1)}, 2),
        ({"a": entry("U8", [1], 1, 2)}, 2),
        ({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, 3),
        ({"a": entry("F32", [1], 0, 1)}, 1),
        ({"a": entry("U8", [2**40], 0, 2**40)}, 4),
        ({"__metadata__": {"a": 1}}, 0),
    ],
)
def test_invalid_files_are_rejected_as_by_the_package(header, size):
    data = file_of(header, bytes(size))
    with pytest.raises(safetensors.SafetensorError):
        safetensors.numpy.load(data)
    with pytest.raises(st.SafetensorError):
        st.load(data)


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match="dict"):
        st.save_file([torch.ones(1)], tmp_path / "a")
    with pytest.raises(TypeError, match="metadata"):
        st.save({"a": torch.ones(1)}, {"k": 1})
    with pytest.raises(FileNotFoundError):
        st.load_file(tmp_path / "a")
