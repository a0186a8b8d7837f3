"""nonzero of a fixed number of rows, and outputs of scatters and random numbers."""

import pytest

import libtensor as torch


@pytest.mark.parametrize("size", range(6))
def test_rows_are_cut_or_filled(size):
    x = torch.tensor([[1, 0, 2], [0, 3, 0]])
    whole = torch.cat([torch.nonzero(x), torch.full((6, 2), 9)])
    assert torch.equal(torch.nonzero_static(x, size=size, fill_value=9), whole[:size])
    assert torch.equal(x.nonzero_static(size=size)[3:], torch.full((max(size - 3, 0), 2), -1))
    assert x.to("meta").nonzero_static(size=size).shape == (size, 2)
    out = torch.empty(0, dtype=torch.int64)
    assert torch.nonzero_static(x, size=size, fill_value=9, out=out) is out and torch.equal(out, whole[:size])


def test_rejected_sizes_and_outputs():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="nonzero_static: 'size' must be an non-negative integer, but got -1"):
        x.nonzero_static(size=-1)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.nonzero_static(x, size=1, out=torch.empty(0))
    assert torch.tensor(3).nonzero_static(size=2).shape == (2, 0)


def test_slice_scatter_writes_to_out():
    x, out = torch.arange(6.0), torch.empty(0)
    assert torch.slice_scatter(x, torch.ones(2), 0, 1, 5, 2, out=out) is out
    assert out.tolist() == [0, 1, 2, 1, 4, 5] and x.tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.slice_scatter(x, torch.ones(2), 0, 0, 2, out=x) is x and x.tolist() == [1, 1, 2, 3, 4, 5]


def test_normal_draws_in_the_dtype_of_out():
    for draw in (lambda **k: torch.normal(torch.zeros(3), 1.0, **k), lambda **k: torch.normal(0.0, 1.0, (3,), **k)):
        out = torch.empty(3, dtype=torch.float64)
        torch.manual_seed(0)
        assert draw(out=out) is out
        torch.manual_seed(0)
        assert torch.equal(out, torch.randn(3, dtype=torch.float64))
