"""Series and frames of tensors and back, in their dtypes, through Arrow and through NumPy."""

import polars as pl
import pytest
from layouts import ERRORS, LAZY, LINE, VECTORS, of_all, rejected, values

import libtensor as torch

NAMES = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float32", "float64"]


@pytest.mark.parametrize("name", [*NAMES, "bool"])
def test_series(name):
    t = torch.tensor([0, 1, 1], dtype=getattr(torch, name))
    series = pl.Series("x", t)
    assert series.to_list() == t.tolist() and pl.Series("x", t[::2]).to_list() == t[::2].tolist()
    for back in (torch.tensor(series), torch.as_tensor(series), torch.from_arrow(series), torch.tensor(series.to_numpy())):
        assert back.dtype is t.dtype and back.equal(t)


def test_frames():
    grid = torch.arange(6.0).view(2, 3)
    frame = pl.DataFrame({"a": grid[0], "b": grid[1]})
    assert frame.dtypes == [pl.Float32, pl.Float32] and frame["b"].to_list() == [3, 4, 5]
    assert torch.tensor(frame).equal(grid.t()) and torch.from_arrow(frame["a"]).equal(grid[0])
    assert pl.DataFrame(grid.numpy(), schema=["x", "y", "z"]).row(1) == (3, 4, 5)
    assert frame.with_columns(c=pl.Series(grid[0] > 1))["c"].to_list() == [False, False, True]


def test_what_is_missing():
    series = pl.Series([1, None])
    with pytest.raises(ValueError, match="1 of 2 elements are null"):
        torch.from_arrow(series)
    assert torch.tensor(series).isnan().tolist() == [False, True]


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, 3), r"has one dimension, and the tensor of sizes \[2, 3\] has 2; .*numpy\(\)"),
        (lambda: torch.tensor(1.0), r"sizes \[\] has 0"),
        (lambda: torch.ones(2, requires_grad=True), r"tensor.detach\(\)"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "no type for this dtype"),
        (lambda: torch.ones(2, dtype=torch.complex64), "no type for this dtype"),
        (lambda: torch.ones(2).to_sparse(), r"to_dense\(\)"),
    ],
)
def test_what_becomes_no_series(make, fact):
    with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError), match=fact):
        pl.Series(make())


def test_slices_and_lists():
    assert torch.tensor(pl.Series(range(10))[3:6]).tolist() == [3, 4, 5]
    assert torch.tensor(pl.Series([True, False] * 10)[3:8]).tolist() == torch.from_arrow(pl.Series([True, False] * 10)[3:8]).tolist()
    assert torch.tensor(pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))).tolist() == [[1, 2], [3, 4]]
    for series in (pl.Series(["a"]), pl.Series([[1, 2], [3]]), pl.Series([True, None])):
        with pytest.raises(
            (RuntimeError, TypeError, ValueError), match="can't convert an array of type|expected sequence|NoneType|infer dtype|length"
        ):
            torch.tensor(series)


@of_all(VECTORS, without=("half",))
def test_odd_layouts(t):
    assert values(pl.Series(t).to_numpy()) == values(t) == values(pl.DataFrame({"a": t})["a"].to_numpy())


@rejected(LINE, without=LAZY)
def test_kinds_without_memory(t, fact):
    with pytest.raises(ERRORS, match=fact):
        pl.Series(t)


def test_a_series_lies_in_the_memory_of_the_tensor():
    t = torch.zeros(4)
    series, apart = pl.Series(t), pl.Series(t.clone())
    t[0] = 7
    assert series[0] == 7 and apart[0] == 0
