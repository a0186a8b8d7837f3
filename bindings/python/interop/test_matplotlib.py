"""Lines, points, bars, histograms, pictures, contours and boxes of tensors; ticks, limits and lines at elements."""

import matplotlib
import numpy as np
import pytest
from layouts import ERRORS, MATRICES, VECTORS, of_all, rejected, values
from layouts import GRID as SHAPE

import libtensor as torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt

X, Y = torch.linspace(0, 1, 8), torch.linspace(0, 1, 8) ** 2
GRID = torch.arange(12.0).view(3, 4)


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()
    plt.close(figure)


def test_lines(ax):
    (line,) = ax.plot(X, Y)
    assert line.get_xydata().tolist() == torch.stack([X, Y], 1).tolist()
    assert [found.get_ydata().tolist() for found in ax.plot(GRID)] == GRID.t().tolist()


def test_histograms(ax):
    values = torch.tensor([0.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    counts, edges, _ = ax.hist(values, bins=3)
    assert counts.tolist() == [1, 2, 3] and edges[0] == 0 and edges[-1] == 2
    assert ax.hist2d(values, values, bins=3)[0].diagonal().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "picture", [GRID, GRID.t(), torch.rand(3, 4, 3), torch.zeros(3, 4, 4, dtype=torch.uint8), GRID > 5, GRID.half(), GRID.to(torch.uint16)]
)
def test_pictures(ax, picture):
    assert np.asarray(ax.imshow(picture).get_array()).tolist() == picture.tolist()


def test_points_bars_and_areas(ax):
    assert ax.scatter(X, Y, c=Y, s=X * 10).get_offsets().tolist() == torch.stack([X, Y], 1).tolist()
    assert [bar.get_height() for bar in ax.bar(X, Y)] == Y.tolist()
    ax.errorbar(X, Y, yerr=Y / 10)
    ax.fill_between(X, Y, Y + 1)


def test_fields_and_columns(ax):
    ax.contourf(GRID)
    ax.pcolormesh(GRID)
    ax.quiver(GRID, GRID.flip(0))
    assert len(ax.hist(GRID)[0]) == len(ax.violinplot(GRID)["bodies"]) == 4
    boxes = ax.boxplot(GRID)
    assert [line.get_ydata()[0] for line in boxes["medians"]] == [4, 5, 6, 7]


def test_single_elements(ax):
    ax.set_xlim(X[0], X[-1])
    ax.axhline(Y[3])
    ax.set_xticks(X[::2])
    assert ax.get_xlim() == (0, 1) and ax.get_xticks().tolist() == X[::2].tolist()


@pytest.mark.parametrize(
    ("make", "fact"),
    [(lambda: X.clone().requires_grad_(), "detach"), (lambda: X.bfloat16(), "bfloat16; convert"), (lambda: X.to_sparse(), "to_dense")],
)
def test_what_cannot_be_drawn(make, fact):
    figure, ax = plt.subplots()
    with pytest.raises((RuntimeError, TypeError), match=fact):
        ax.imshow(make())
    plt.close(figure)


@of_all(MATRICES, VECTORS, without=("uint64",))
def test_odd_layouts(ax, t):
    if t.dim() == 2:
        assert values(ax.imshow(t).get_array()) == values(t)
    assert values(np.stack([line.get_ydata(orig=False) for line in ax.plot(t)], -1)) == values(
        t if t.dim() == 2 else t.rename(None).view(-1, 1)
    )


@rejected(SHAPE)
def test_kinds_without_memory(t, fact):
    figure, ax = plt.subplots()
    with pytest.raises(ERRORS, match=fact):
        ax.imshow(t)
    plt.close(figure)
