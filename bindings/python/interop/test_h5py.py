"""Datasets and attributes of tensors and back, parts of datasets, straight into a tensor's memory, and libtensor.hdf5."""

import io

import h5py
import pytest
from layouts import ERRORS, MATRICES, VECTORS, of_all, rejected, values
from layouts import GRID as SHAPE

import libtensor as torch
from libtensor import hdf5

GRID = torch.arange(6.0).view(2, 3)


@pytest.fixture
def file():
    with h5py.File(io.BytesIO(), "w") as file:
        yield file


@pytest.mark.parametrize(
    "t",
    [
        *(GRID, GRID.t(), GRID[:, ::2], GRID[:0], GRID[0, 1], GRID[:1].expand(2, 3), GRID > 2, GRID.half(), GRID.double()),
        *(
            GRID.to(torch.int8),
            GRID.to(torch.uint16),
            GRID.long(),
            GRID.to(torch.complex64),
            GRID.to(torch.complex128).conj().resolve_conj(),
        ),
    ],
)
def test_there_and_back(file, t):
    file["x"] = t
    for back in (torch.tensor(file["x"]), torch.as_tensor(file["x"]), torch.tensor(file["x"][()]), hdf5.read(file["x"])):
        assert back.dtype is t.dtype and back.shape == t.shape and back.tolist() == t.tolist()


def test_parts(file):
    data = file.create_dataset("x", data=GRID, compression="gzip", chunks=(1, 3))
    data[0] = torch.tensor([7.0, 8.0, 9.0])
    data[1, torch.tensor([0, 2])] = torch.zeros(2)
    assert torch.tensor(data[:, torch.tensor([0, 2])]).tolist() == [[7, 9], [0, 0]]
    made = torch.zeros(2, 3)
    data.read_direct(made.numpy())
    assert made.tolist() == [[7, 8, 9], [0, 4, 0]]
    data.write_direct(GRID.numpy())
    assert torch.tensor(data).equal(GRID)


def test_attributes(file):
    file.attrs["mean"], file.attrs["shape"] = GRID.mean(), torch.tensor([2, 3])
    assert file.attrs["mean"] == 2.5 and file.attrs["shape"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, requires_grad=True), "detach"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "bfloat16; convert"),
        (lambda: torch.ones(2).to_sparse(), "to_dense"),
        (lambda: torch.ones(2, device="meta"), "meta"),
    ],
)
def test_what_has_no_place(file, make, fact):
    with pytest.raises((RuntimeError, TypeError), match=fact):
        file["x"] = make()


@of_all(MATRICES, VECTORS)
def test_odd_layouts(file, t):
    file["x"] = t
    assert values(file["x"][()]) == values(t)


@rejected(SHAPE)
def test_kinds_without_memory(file, t, fact):
    with pytest.raises(ERRORS, match=fact):
        file["x"] = t
