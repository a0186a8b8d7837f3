"""What pictures of tensors show: cells, whose they are, geometry, values; text that is no mark-up."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import libtensor as torch

SVG = "{http://www.w3.org/2000/svg}"
COLOURS = {"blue", "orange", "green", "purple"}


class Picture:
    """The cells of an SVG by where they are: first those of storages, then those of grids."""

    def __init__(self, *tensors, **options):
        self.root = ElementTree.fromstring(str(torch.draw(*tensors, **options)))
        self.texts = ["".join(text.itertext()) for text in self.root.iter(SVG + "text")]
        rects = [r for r in self.root.iter(SVG + "rect") if "data-cell" in r.attrib]
        self.storage = [r for r in rects if r.get("height") == "30"]
        self.grid = [r for r in rects if r.get("height") != "30"]

    def owners(self):
        """The colours of each cell of the storage."""
        found = {}
        for rect in self.storage:
            found.setdefault(int(rect.get("data-cell")), set()).update(COLOURS & set(rect.get("class").split()))
        return found

    def owned(self, colour="blue"):
        return {cell for cell, colours in self.owners().items() if colour in colours}

    def elements(self, colour="blue"):
        return [int(r.get("data-cell")) for r in self.grid if r.get("class") == colour]

    def says(self, pattern):
        return [text for text in self.texts if re.search(pattern, text)]


def test_a_view_among_the_cells_of_its_storage():
    view = torch.arange(12).reshape(3, 4)[1:, ::2]
    picture = Picture(view)
    assert list(picture.owners()) == list(range(12)) and picture.owned() == {4, 6, 8, 10}
    assert picture.elements() == [4, 6, 8, 10]
    assert picture.says(r"^dim 0: stride 4$") and picture.says(r"^dim 1: stride 2$") and picture.says(r"^offset 4$")
    assert picture.says(r"sizes \[2, 2\], strides \[4, 2\], offset 4") and picture.says("12 elements of int64, 96 bytes")
    # The index and the value of a cell, and an element with its cell.
    assert picture.texts.count("10") == 3 and "#10" in picture.texts


def test_tensors_over_one_storage():
    x = torch.arange(6.0)
    picture = Picture(x[:4], x[3:], labels=["head", "tail"])
    assert picture.owned("blue") == {0, 1, 2, 3} and picture.owned("orange") == {3, 4, 5}
    assert picture.elements("orange") == [3, 4, 5] and picture.says("^tail offset 3$") and picture.says("^tail dim 0: stride 1$")
    assert len(Picture(x, x.clone()).says("^storage")) == 2


@pytest.mark.parametrize(
    ("made", "cells", "elements"),
    [
        (lambda: torch.arange(6).reshape(2, 3).t(), range(6), [0, 3, 1, 4, 2, 5]),
        (lambda: torch.arange(3).expand(2, 3), range(3), [0, 1, 2, 0, 1, 2]),
        (lambda: torch.arange(4).as_strided((2, 3), (1, 1)), range(4), [0, 1, 2, 1, 2, 3]),
        (lambda: torch.arange(8).reshape(2, 2, 2), range(8), range(8)),
        (lambda: torch.tensor(5), [0], [0]),
        (lambda: torch.empty(0, 3), [], []),
        (lambda: torch.empty(2, 2, device="meta"), range(4), range(4)),
        (lambda: torch.tensor([True, False]), range(2), range(2)),
    ],
)
def test_geometries(made, cells, elements):
    picture = Picture(made())
    assert picture.owned() == set(cells) and picture.elements() == list(elements)


def test_several_elements_in_one_cell_are_counted():
    assert Picture(torch.arange(4).as_strided((2, 3), (1, 1))).texts.count("×2") == 2
    assert Picture(torch.ones(1).expand(5)).says("^×5$")


def test_values_of_all_kinds():
    assert Picture(torch.tensor([1.5 - 2j])).says(r"^1\.5-2j$") and Picture(torch.tensor([True])).says("^True$")
    quantized = Picture(torch.quantize_per_tensor(torch.tensor([0.5, -1.0]), 0.1, 10, torch.quint8))
    assert quantized.says("^15$") and quantized.says(r"^0\.5$") and quantized.says("quantized")
    channels = torch.quantize_per_channel(torch.ones(2, 1), torch.tensor([0.1, 0.5]), torch.tensor([0, 1]), 0, torch.qint8)
    assert {"10", "3"} <= set(Picture(channels).texts)
    # Bytes read as other numbers, from a place in the middle of the storage.
    assert Picture(torch.tensor([1, 0, 2, 0, 3], dtype=torch.uint8)[2:4].view(torch.int16)).owned() == {1}
    assert Picture(torch.ones(2, requires_grad=True)).says("^1$")
    assert Picture(torch.empty(1, device="meta")).texts.count("") == 2


def test_large_ones_are_left_out_in_the_middle():
    x = torch.arange(10_000.0).reshape(100, 100)
    picture = Picture(x[10:30, 5:50])
    cells = list(picture.owners())
    assert {0, 1005, 1006, 2949, 9999} <= set(cells) and len(cells) < 25 and "…" in picture.texts
    assert all((cell // 100 in range(10, 30) and cell % 100 in range(5, 50)) == (cell in picture.owned()) for cell in cells)
    assert len(picture.elements()) == 64 and len(str(torch.draw(torch.zeros(3000, 3000)))) < 40_000
    assert Picture(torch.zeros(9, 2, 2)).says("^… 6 more$")


def test_sparse_tensors_are_their_parts():
    coo = Picture(torch.eye(3).to_sparse(), labels=["i"])
    assert coo.says("^i: indices$") and coo.says("^i: values$") and coo.says("3 entries") and len(coo.elements()) == 9
    csc = Picture(torch.eye(3).to_sparse_csc(), labels=["i"])
    assert csc.says("ccol_indices") and csc.says("row_indices") and len(csc.elements()) == 10


def test_names_and_labels_are_text():
    picture = Picture(torch.zeros(2, 2, names=("rows", None)), labels=['<b> & "c"'])
    assert picture.says(r"^dim 0 \(rows\): stride 2$") and '<b> & "c"' in picture.texts


def test_characters_that_xml_does_not_have_are_replaced(tmp_path):
    label = "a\x00\x01\x1b\ufffe\ud800\tb\U0001f600"
    drawing = torch.draw(torch.ones(2), labels=[label])
    root = ElementTree.fromstring(str(drawing))
    assert any(t.text and t.text.startswith("a\ufffd\ufffd\ufffd\ufffd\ufffd\tb\U0001f600") for t in root.iter(SVG + "text"))
    drawing.save(tmp_path / "drawing.svg")
    assert (tmp_path / "drawing.svg").read_bytes().decode() == str(drawing)
    with pytest.raises(TypeError):
        drawing.save(2)  # which is no path


def test_the_drawing(tmp_path):
    drawing = torch.draw(torch.arange(3))
    assert drawing._repr_svg_() == str(drawing) and "SVG" in repr(drawing)
    drawing.save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == str(drawing)
    assert "prefers-color-scheme: dark" in str(drawing)


def test_labels_do_not_overlap():
    """Labels do not overlap, given the size of letters, and are inside the drawing."""
    x = torch.arange(12.0).reshape(3, 4)
    for drawn in ((x,), (x, x.t()[1:, ::2]), (x.expand(2, 3, 4),), (torch.rand(50, 50)[3:9, 4:7],)):
        root = Picture(*drawn).root
        boxes = []
        for text in root.iter(SVG + "text"):
            words, kind = "".join(text.itertext()), text.get("class")
            wide, high = len(words) * (6.1 if kind in ("faint", "note") else 7.3), 8 if kind in ("faint", "note") else 10
            left = float(text.get("x")) - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
            boxes.append((left, float(text.get("y")) - high, left + wide, float(text.get("y")), words))
        for i, a in enumerate(boxes):
            assert a[0] >= 0 and a[2] <= float(root.get("width")) and a[3] <= float(root.get("height")), a
            hit = [b for b in boxes[:i] if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
            assert not hit, (a, hit)


def test_errors():
    with pytest.raises(TypeError, match="draw: argument 'tensors' must be tensors, not list"):
        torch.draw([1])
    with pytest.raises(ValueError, match="at least one tensor"):
        torch.draw()
    with pytest.raises(ValueError, match="at most 4 tensors are supported, but got 5"):
        torch.draw(*[torch.ones(1)] * 5)
    with pytest.raises(ValueError, match="2 labels for 1 tensors"):
        torch.draw(torch.ones(1), labels=["a", "b"])


def test_large_tensors_are_drawn_at_once():
    for tensor in (
        torch.zeros(1).expand(10**9, 10**9),
        torch.zeros(1).expand(10**12),
        torch.zeros(2, 3, dtype=torch.uint8).expand(10**8, 2, 3),
    ):
        assert len(str(torch.draw(tensor))) < 100_000
    with pytest.raises(TypeError, match="labels"):
        torch.draw(torch.ones(1), labels="x")
