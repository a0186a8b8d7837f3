"""Series, frames and columns of tensors and back, in their dtypes; tensors as positions."""

import numpy as np
import pandas as pd
import pytest
from layouts import ERRORS, LINE, MATRICES, VECTORS, of_all, rejected, values
from layouts import GRID as SHAPE

import libtensor as torch

GRID = torch.arange(6.0).view(2, 3)


@pytest.mark.parametrize("name", ["bool", "uint8", "int16", "int64", "uint64", "float32", "float64", "complex64"])
def test_series(name):
    t = torch.tensor([0, 1, 1], dtype=getattr(torch, name))
    series = pd.Series(t)
    assert series.dtype == name and series.tolist() == t.tolist() and pd.Series(t[::2]).tolist() == t[::2].tolist()
    for back in (
        torch.tensor(series),
        torch.as_tensor(series),
        torch.tensor(series.to_numpy()),
        torch.from_numpy(series.to_numpy(copy=True)),
    ):
        assert back.dtype is t.dtype and back.equal(t)


@pytest.mark.parametrize("t", [GRID, GRID.t(), GRID[:, ::2], GRID[:1].expand(4, 3)])
def test_frames(t):
    frame = pd.DataFrame(t, columns=[f"c{i}" for i in range(t.shape[1])])
    assert (frame.dtypes == "float32").all() and frame.to_numpy().tolist() == t.tolist()
    assert torch.tensor(frame).tolist() == t.tolist() and torch.tensor(frame).shape == t.shape


def test_columns():
    frame = pd.DataFrame({"a": torch.tensor([1, 2]), "b": torch.tensor([0.5, 1.5])}, index=torch.tensor([7, 8]))
    frame["c"] = torch.tensor([True, False])
    assert frame.dtypes.tolist() == ["int64", "float32", "bool"] and frame.index.tolist() == [7, 8]
    assert torch.tensor(frame["b"]).tolist() == [0.5, 1.5] and torch.tensor(frame[["a", "b"]]).dtype is torch.float64


def test_positions_and_missing_values():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    assert frame.iloc[torch.tensor([2, 0])]["a"].tolist() == [3, 1]
    assert np.asarray(pd.isna(torch.tensor([1.0, float("nan")]))).tolist() == [False, True]
    assert torch.tensor(pd.Series([1, None])).isnan().tolist() == [False, True]


def test_tensors_of_frames_do_not_write_to_them():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    torch.tensor(frame).zero_()
    assert frame["a"].tolist() == [1, 2]


def test_text_has_no_tensor():
    with pytest.raises((TypeError, ValueError), match="type|dtype|str"):
        torch.tensor(pd.DataFrame({"a": ["x", "y"]}))


@pytest.mark.parametrize(
    ("make", "fact"), [(lambda: torch.ones(2, requires_grad=True), "detach"), (lambda: torch.ones(2).to_sparse(), "to_dense")]
)
def test_what_becomes_no_series(make, fact):
    with pytest.raises((RuntimeError, TypeError), match=fact):
        pd.Series(make())


def test_columns_are_indices():
    t = torch.arange(6).view(3, 2)
    assert t[pd.Series([2, 0])].tolist() == [[4, 5], [0, 1]] and t[pd.Series([True, False, True]), 0].tolist() == [0, 4]
    assert t[pd.Index([1])].tolist() == [[2, 3]]


def test_columns_of_several_types():
    assert torch.tensor(pd.DataFrame({"a": [1], "b": [0.5]})).tolist() == [[1, 0.5]]
    assert torch.tensor(pd.DataFrame({"a": [1], "b": [True]})).tolist() == [[1, 1]] and torch.tensor(
        pd.Series([1, 2.5], dtype=object)
    ).tolist() == [
        1,
        2.5,
    ]
    for made in (pd.DataFrame({"a": [1], "b": ["x"]}), pd.Series(["x"], dtype="category"), pd.Series([1, pd.NA], dtype=object)):
        with pytest.raises((RuntimeError, TypeError, ValueError), match="str|NAType"):
            torch.tensor(made)
    with pytest.raises(TypeError, match="M8"):
        torch.tensor(pd.Series(pd.date_range("2020", periods=2)))


@of_all(MATRICES)
def test_frames_of_odd_layouts(t):
    assert values(pd.DataFrame(t).to_numpy()) == values(t)


@of_all(VECTORS)
def test_series_of_odd_layouts(t):
    assert values(pd.Series(t).to_numpy()) == values(t)


@rejected(SHAPE)
def test_frames_of_kinds_without_memory(t, fact):
    with pytest.raises(ERRORS, match=fact):
        pd.DataFrame(t)


@rejected(LINE)
def test_series_of_kinds_without_memory(t, fact):
    with pytest.raises(ERRORS, match=fact):
        pd.Series(t)


def test_a_series_lies_in_the_memory_of_the_tensor_and_a_frame_does_not():
    t = torch.zeros(4)
    series, frame = pd.Series(t), pd.DataFrame(t.view(2, 2))
    t[0] = 7
    assert series[0] == 7 and frame.iloc[0, 0] == 0
