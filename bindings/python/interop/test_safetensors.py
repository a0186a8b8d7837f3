"""Files and bytes of the package's own, of tensors by their addresses and through arrays, read by either side."""

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import libtensor as torch
from libtensor import safetensors as ours

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
TENSORS = {name: torch.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(torch, name)) for name in NAMES}


def same(found):
    return found.keys() == TENSORS.keys() and all(found[name].dtype is t.dtype and found[name].equal(t) for name, t in TENSORS.items())


def test_through_arrays(tmp_path):
    safetensors.numpy.save_file({name: t.numpy() for name, t in TENSORS.items()}, tmp_path / "a")
    assert same(ours.load_file(tmp_path / "a")) and same(ours.load((tmp_path / "a").read_bytes()))
    ours.save_file(TENSORS, tmp_path / "b", metadata={"made": "here"})
    for found in (safetensors.numpy.load_file(tmp_path / "b"), safetensors.numpy.load(ours.save(TENSORS))):
        assert same({name: torch.from_numpy(array) for name, array in found.items()})


def test_by_address(tmp_path):
    """As safetensors.torch writes tensors."""
    specs = {
        name: safetensors.TensorSpec(
            dtype=str(t.dtype).removeprefix("torch."), shape=list(t.shape), data_ptr=t.data_ptr(), data_len=t.nbytes
        )
        for name, t in {**TENSORS, "bfloat16": torch.tensor([1.5], dtype=torch.bfloat16)}.items()
    }
    found = ours.load(safetensors.serialize(specs))
    assert found.pop("bfloat16").tolist() == [1.5] and same(found)
    safetensors.serialize_file(specs, tmp_path / "a", metadata={"format": "pt"})
    assert ours.load_file(tmp_path / "a")["bfloat16"].dtype is torch.bfloat16


def test_deserialized_bytes():
    for name, found in safetensors.deserialize(ours.save(TENSORS)):
        assert torch.frombuffer(bytearray(found["data"]), dtype=TENSORS[name].dtype).view(found["shape"]).equal(TENSORS[name])


def test_parts_of_files(tmp_path):
    ours.save_file({"x": torch.arange(12).view(4, 3)}, tmp_path / "a")
    with safetensors.safe_open(tmp_path / "a", framework="numpy") as file:
        assert torch.from_numpy(file.get_tensor("x")).equal(torch.arange(12).view(4, 3))
        assert torch.from_numpy(np.asarray(file.get_slice("x")[1:3])).tolist() == [[3, 4, 5], [6, 7, 8]]


@pytest.mark.parametrize("t", [TENSORS["float32"].t(), TENSORS["float32"][:, ::2], TENSORS["float32"][:1].expand(4, 3)])
def test_strides_are_written_out(t):
    assert safetensors.numpy.load(ours.save({"x": t}))["x"].tolist() == t.tolist()
