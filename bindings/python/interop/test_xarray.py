"""Labelled arrays and sets of them over tensors and back: values, coordinates, selection, reductions, arithmetic."""

import numpy as np
import pytest
import xarray as xr
from layouts import ERRORS, MATRICES, VECTORS, of_all, rejected, values
from layouts import GRID as SHAPE

import libtensor as torch

GRID = torch.arange(6.0).view(2, 3)


@pytest.mark.parametrize("t", [GRID, GRID.t(), GRID[:, ::2], GRID[:0], GRID > 2, GRID.long(), GRID.to(torch.complex64)])
def test_values(t):
    array = xr.DataArray(t, dims=("a", "b"))
    assert array.shape == t.shape and array.values.tolist() == t.tolist() and array.values.dtype == t.numpy().dtype
    for back in (torch.tensor(array.values), torch.as_tensor(array.values), torch.tensor(array)):
        assert back.dtype is t.dtype and back.tolist() == t.tolist()


def test_coordinates_and_selection():
    array = xr.DataArray(GRID, dims=("a", "b"), coords={"b": torch.tensor([10, 20, 30])})
    assert np.asarray(array.sel(b=20)).tolist() == [1, 4] and array.coords["b"].values.tolist() == [10, 20, 30]
    assert np.asarray(array.isel(a=torch.tensor([1, 0]).numpy())).tolist() == [[3, 4, 5], [0, 1, 2]]


def test_computing():
    array = xr.DataArray(GRID, dims=("a", "b"))
    assert np.asarray(array.mean("a")).tolist() == [1.5, 2.5, 3.5] and np.asarray(array.sum()).item() == 15
    assert (
        np.asarray(array * 2 + array).tolist() == (GRID * 3).tolist()
        and np.asarray(array.transpose("b", "a")).tolist() == GRID.t().tolist()
    )


def test_sets():
    data = xr.Dataset({"v": (("a", "b"), GRID), "w": ("a", torch.tensor([1, 2]))}, coords={"a": ["x", "y"]})
    assert data["v"].sel(a="y").values.tolist() == [3, 4, 5] and torch.tensor(data["w"]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="Dataset"):
        torch.tensor(data)


@pytest.mark.parametrize(
    ("make", "fact"), [(lambda: torch.ones(2).to_sparse(), "to_dense"), (lambda: torch.ones(2, requires_grad=True), "detach")]
)
def test_what_has_no_values(make, fact):
    with pytest.raises((RuntimeError, TypeError), match=fact):
        xr.DataArray(make(), dims="a").values  # noqa: B018


@of_all(MATRICES, VECTORS)
def test_odd_layouts(t):
    assert values(xr.DataArray(t).values) == values(t)


@rejected(SHAPE)
def test_kinds_without_memory(t, fact):
    with pytest.raises(ERRORS, match=fact):
        xr.DataArray(t).values  # noqa: B018
