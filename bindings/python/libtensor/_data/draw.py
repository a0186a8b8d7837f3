"""Drawings of tensors: the cells of a storage, the cells that a tensor covers, and its elements with their cells."""

from __future__ import annotations

import itertools
import math
import os

from .._base import dtypes as _dtypes
from .._core.tensor import Tensor
from .._gen import gen_functions as _f

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

CELLS = 14  # cells of a storage that are shown
ALONG = 8  # elements of a dimension that are shown
PANELS = 3  # matrices that are shown of a tensor with more than two dimensions
PALETTE = ("blue", "orange", "green", "purple")
HIGH, LEVEL, LEFT, GLYPH = 30, 22, 20, 7.3  # pixels: a cell, an arc above another one, the margin, a letter

STYLE = """
.drawing { font: 12px "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.drawing .page { fill: #ffffff; stroke: #d8dce2; }
.drawing text { fill: #20262e; }
.drawing .faint { fill: #68727f; font-size: 10px; }
.drawing .note { fill: #68727f; font-size: 10px; stroke: #ffffff; stroke-width: 4px; paint-order: stroke; }
.drawing .head { font-weight: bold; }
.drawing .cell { fill: #f1f3f5; stroke: #b4bbc4; }
.drawing .line { fill: none; stroke: #68727f; }
.drawing .tip { fill: #68727f; }
.drawing .blue { fill: #cfe2ff; stroke: #2b6cd4; }
.drawing .orange { fill: #ffe0bd; stroke: #d9730d; }
.drawing .green { fill: #cdf0d4; stroke: #23863a; }
.drawing .purple { fill: #e8d8fb; stroke: #8544d1; }
.drawing .shared { stroke: none; }
.drawing .edge { fill: none; stroke: #68727f; }
@media (prefers-color-scheme: dark) {
.drawing .page { fill: #171b21; stroke: #39414c; }
.drawing text { fill: #e6eaf0; }
.drawing .faint { fill: #98a3b1; }
.drawing .note { fill: #98a3b1; stroke: #171b21; }
.drawing .cell { fill: #232a33; stroke: #4b5563; }
.drawing .line { stroke: #98a3b1; }
.drawing .tip { fill: #98a3b1; }
.drawing .blue { fill: #17407f; stroke: #6ea8fe; }
.drawing .orange { fill: #6f3c08; stroke: #ffae5c; }
.drawing .green { fill: #14532d; stroke: #5bd37c; }
.drawing .purple { fill: #4c2382; stroke: #c39bff; }
}
"""


class Drawing:
    """An SVG image: str() returns its text, notebooks display it, and save() writes it."""

    def __init__(self, text):
        self._text = text

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<libtensor.draw: an SVG picture of {len(self._text)} characters>"

    def _repr_svg_(self):
        return self._text

    def save(self, path):
        """Writes the image to a file, as UTF-8."""
        with open(os.fspath(path), "wb") as file:
            file.write(self._text.encode())


class Page:
    """The elements of the image and its extent."""

    def __init__(self):
        self.items, self.wide, self.high = [], 0, 0

    def add(self, item, right, bottom):
        self.items.append(item)
        self.wide, self.high = max(self.wide, right), max(self.high, bottom)

    def rect(self, kind, x, y, wide, high, cell=None):
        data = "" if cell is None else f' data-cell="{cell}"'
        self.add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}"{data}/>', x + wide, y + high)

    def text(self, x, y, words, kind="", anchor="start"):
        from html import escape  # imported for drawings only
        from re import sub

        words = sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(words))  # characters that XML does not allow
        reach = {"start": 1, "middle": 0.5, "end": 0}[anchor] * len(words) * GLYPH
        self.add(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>', x + reach, y + 4)

    def arrow(self, path, x, y, turn=0):
        """Draws a line to (x, y) with an arrow head."""
        self.add(f'<path class="line" d="{path}"/>', x, y)
        self.add(f'<path class="tip" transform="translate({x:g} {y:g}) rotate({turn})" d="M0 0L-3.5 -7L3.5 -7Z"/>', x, y)


class Part:
    """A strided tensor of the drawing."""

    def __init__(self, tensor, label, colour):
        self.label, self.colour, self.names = label, colour, tensor.names
        self.tensor = tensor.detach().rename(None)
        self.sizes, self.strides, self.offset = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
        self.storage = tensor.untyped_storage()
        self.item = tensor.element_size()

    def cell(self, place):
        return self.offset + sum(i * stride for i, stride in zip(place, self.strides, strict=True))

    def counts(self, limit=100_000):
        """Returns the number of elements in each cell, for the first elements of a large tensor."""
        found: dict[int, int] = {}
        for place in first_places(self.sizes, limit):
            found[self.cell(place)] = found.get(self.cell(place), 0) + 1
        return found

    def held(self, cells):
        """Returns the strings of storage cells: of integers for quantized tensors, none on the meta device."""
        if self.tensor.is_meta or not cells:
            return dict.fromkeys(cells, "")
        whole = _f.storage_view(self.storage, dtype=self.tensor.dtype)
        return dict(zip(cells, map(number, whole[list(cells)].tolist()), strict=True))

    def shown(self, places):
        """Returns the strings of elements."""
        if self.tensor.is_meta or not places:
            return [""] * len(places)
        dense = self.tensor.dequantize() if self.tensor.is_quantized else self.tensor
        values = dense[tuple(map(list, zip(*places, strict=True)))] if self.sizes else dense.reshape(1)
        return [number(value) for value in values.tolist()]

    def facts(self):
        return f"sizes [{', '.join(map(str, self.sizes))}], strides [{', '.join(map(str, self.strides))}], offset {self.offset}"


def first_places(sizes, most):
    """Returns the first indices in row-major order."""
    count = min(math.prod(sizes), most)
    for at in range(count):
        place = []
        for size in reversed(sizes):
            at, i = divmod(at, size)
            place.append(i)
        yield tuple(reversed(place))


def type_of(tensor):
    return str(tensor.dtype).split(".")[-1]


def number(value):
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return f"{value:.4g}"


def ends(n, most):
    """Returns the indices that are shown along a dimension, with None for a gap."""
    return [*range(n)] if n <= most else [*range(most // 2 + 1), None, *range(n - most // 2 + 1, n)]


def chosen(length, parts, counts):
    """Returns the storage cells that are shown, with None for a gap: its ends, and those of each tensor."""
    if length <= CELLS:
        return [*range(length)]
    each = max((CELLS - 4) // len(parts) // 2, 1)
    kept = {0, length - 1}
    for part, held in zip(parts, counts, strict=True):
        cells = sorted(held)
        kept |= {part.offset} | {*cells[:each]} | {*cells[-each:]}
    shown = sorted(cell for cell in kept if 0 <= cell < length)
    row: list[int | None] = []
    for before, cell in zip([-1, *shown], shown, strict=False):
        row += [cell] if cell == before + 1 else [before + 1, cell] if cell == before + 2 else [None, cell]
    return row


def draw_cell(page, colours, x, y, wide, cell):
    """Draws a cell in the color of its tensor, or divided among several."""
    if len(colours) < 2:
        page.rect((colours or ["cell"])[0], x, y, wide, HIGH, cell)
        return
    for i, colour in enumerate(colours):
        page.rect(f"{colour} shared", x + i * wide / len(colours), y, wide / len(colours), HIGH, cell)
    page.rect("edge", x, y, wide, HIGH)


def draw_storage(page, y, parts):
    """Draws the cells of a storage, with the offset of each tensor below and its strides above."""
    length = parts[0].storage.nbytes() // parts[0].item
    counts = [part.counts() for part in parts]
    row = chosen(length, parts, counts)
    held = parts[0].held([cell for cell in row if cell is not None])
    wide = max([34, *(len(text) * GLYPH + 12 for text in held.values()), len(str(length)) * GLYPH + 8])
    kinds = ", ".join(dict.fromkeys(type_of(part.tensor) for part in parts))
    page.text(LEFT, y + 14, f"storage: {length} elements of {kinds}, {parts[0].storage.nbytes()} bytes", "faint")
    at = {cell: LEFT + i * wide + wide / 2 for i, cell in enumerate(row) if cell is not None}
    # Arcs of strides from the offset, the longest on top.
    steps: dict[Any, Any] = {}
    for part in parts:
        for dim, (size, stride) in enumerate(zip(part.sizes, part.strides, strict=True)):
            if size > 1 and stride and part.tensor.numel() and part.offset in at and part.offset + stride in at:
                steps.setdefault((part.offset, stride), []).append((f"{part.label} " if len(parts) > 1 else "") + f"dim {dim}")
    ordered = sorted(steps, key=lambda step: (step[1], step[0]))
    base = y + 26 + LEVEL * len(ordered) + 16
    notes = []
    for level, (offset, stride) in enumerate(ordered, 1):
        start, end, top = at[offset] + 4 - 2 * level, at[offset + stride], base - 6 - LEVEL * level
        page.arrow(f"M{start:g} {base - 14:g}V{top:g}H{end:g}V{base - 14:g}", end, base - 14)
        notes.append((start + 4, top - 3, f"{', '.join(steps[offset, stride])}: stride {stride}"))
    for x, top, words in notes:  # covers the lines
        page.text(x, top, words, "note")
    for i, cell in enumerate(row):
        x = LEFT + i * wide
        if cell is None:
            page.text(x + wide / 2, base + HIGH / 2 + 4, "…", "", "middle")
            continue
        owners = [part.colour for part, own in zip(parts, counts, strict=True) if cell in own]
        draw_cell(page, owners, x, base, wide, cell)
        page.text(x + wide / 2, base - 3, cell, "faint", "middle")
        page.text(x + wide / 2, base + HIGH / 2 + 4, held[cell], "", "middle")
        repeated = [own[cell] for own in counts if own.get(cell, 0) > 1]
        if repeated:
            page.text(x + wide - 3, base + HIGH + 11, "×" + "/".join(map(str, repeated)), "faint", "end")
    if not row:
        page.text(LEFT, base + HIGH / 2, "no cells", "faint")
    y = base + HIGH + 16
    by_offset: dict[int, list[str]] = {}
    for part in parts:
        by_offset.setdefault(part.offset, []).append(part.label)
    for level, (offset, labels) in enumerate(sorted(by_offset.items(), reverse=True), 1):
        if offset in at:
            x, low = at[offset] - wide / 4, y + LEVEL * level
            page.arrow(f"M{x:g} {low:g}V{base + HIGH + 2:g}", x, base + HIGH + 2, 180)
            page.text(x + 6, low, f"{', '.join(labels) + ' ' if len(parts) > 1 else ''}offset {offset}", "faint")
    return y + LEVEL * len(by_offset) + 14


def draw_grid(page, y, part):
    """Draws the elements as matrices, with the cell of each."""
    page.rect(part.colour, LEFT, y, 12, 12)
    page.text(LEFT + 20, y + 11, part.label, "head")
    page.text(LEFT + 20 + (len(part.label) + 1) * GLYPH + 4, y + 11, part.facts())
    y += 24
    if not part.tensor.numel():
        page.text(LEFT, y + 10, "no elements", "faint")
        return y + 24
    outer, total = [*first_places(part.sizes[:-2], PANELS)], math.prod(part.sizes[:-2])
    rows = ends(part.sizes[-2], ALONG) if len(part.sizes) > 1 else [0]
    columns = ends(part.sizes[-1], ALONG) if part.sizes else [0]
    inner = [
        (*([r] if len(part.sizes) > 1 else []), *([c] if part.sizes else []))
        for r in rows
        for c in columns
        if r is not None and c is not None
    ]
    places = [(*first, *rest) for first in outer for rest in inner]
    texts = dict(zip(places, part.shown(places), strict=True))
    widest = max(len(str(part.cell(place))) for place in places)
    wide = max([46, *(len(text) * GLYPH + 12 for text in texts.values()), (widest + 1) * 6.2 + 10])
    high = HIGH + 10
    dims = [
        f"dim {i}" + (f" ({name})" if name else "") + f": stride {s}"
        for i, (s, name) in enumerate(zip(part.strides, part.names, strict=True))
    ]
    for words in dims[:-2]:
        page.text(LEFT, y + 10, words, "faint")
        y += 15
    left: float = LEFT
    if len(dims) > 1:
        page.arrow(f"M{left + 6:g} {y + 40:g}V{y + 34 + high * len(rows) - 4:g}", left + 6, y + 38 + high * len(rows) - 4)
        page.text(left + 14, y + 38 + high * len(rows) / 2, dims[-2], "faint")
        left += len(dims[-2]) * GLYPH * 0.86 + 26
    for first in outer:
        if dims:
            across: float = max(wide * len(columns), (len(dims[-1]) + 1) * GLYPH)
            page.text(left, y + 14, dims[-1], "faint")
            page.arrow(f"M{left:g} {y + 22:g}H{left + wide * len(columns) - 6:g}", left + wide * len(columns), y + 22, -90)
        else:
            across = wide
        if first:
            page.text(left, y + 44 + high * len(rows) + 8, f"[{', '.join(map(str, first))}, :, :]", "faint")
            across = max(across, (3 * len(first) + 8) * GLYPH)
        for (k, r), (i, c) in itertools.product(enumerate(rows), enumerate(columns)):
            x, top = left + wide * i, y + 34 + high * k
            if r is None or c is None:
                page.text(x + wide / 2, top + high / 2 + 4, "…", "", "middle")
                continue
            place = (*first, *([r] if len(part.sizes) > 1 else []), *([c] if part.sizes else []))
            page.rect(part.colour, x, top, wide, high, part.cell(place))
            page.text(x + 4, top + 12, f"#{part.cell(place)}", "faint")
            page.text(x + wide / 2, top + high - 8, texts[place], "", "middle")
        left += across + 28
    if total > len(outer):
        page.text(left - 10, y + 34 + high * len(rows) / 2 + 4, f"… {total - len(outer)} more", "faint")
    return y + 34 + high * len(rows) + (30 if part.sizes[:-2] else 16)


def strided(tensor, label):
    """Returns the strided tensors that a tensor consists of, with their names."""
    if tensor.layout is _dtypes.strided:
        return [(label, tensor)]
    plain = tensor.detach().rename(None)
    if tensor.layout is _dtypes.sparse_coo:
        return [(f"{label}: indices", _f.coo_indices(plain)), (f"{label}: values", _f.coo_values(plain))]
    by_rows = tensor.layout in (_dtypes.sparse_csr, _dtypes.sparse_bsr)
    names = ("crow_indices", "col_indices", "values") if by_rows else ("ccol_indices", "row_indices", "values")
    return [(f"{label}: {name}", getattr(plain, name)()) for name in names]


def about(tensor, label):
    facts = [f"{type_of(tensor)} [{', '.join(map(str, tensor.shape))}]", str(tensor.device), str(tensor.layout).split(".")[-1]]
    if tensor.layout is not _dtypes.strided:
        facts.append(f"{tensor._nnz()} entries")
    if tensor.is_quantized:
        facts.append("quantized: the storage has integers")
    return f"{label}: {' · '.join(facts)}"


def draw(*tensors, labels=None):
    """Draws how tensors are stored in memory: the elements of each storage, and which of them belong to each tensor.

    Each storage is a row of cells with the index and the value of an element. The cells that belong to a tensor have its color; arrows show
    its offset and strides. Below, each tensor is a matrix, whose elements show the index of their cell. Large tensors are abbreviated in
    the middle. Tensors that share a storage and have the same element size are drawn over one storage. Sparse tensors are drawn as their
    indices and values.

    `labels` is a list with the name of each tensor, by default "tensor 0", "tensor 1" and so on. No tensors, too many tensors, and a wrong
    number of labels raise ValueError.

    Returns a `Drawing`: an SVG image for light and dark pages. Notebooks display it, `str(drawing)` returns its text, and
    `drawing.save(path)` writes it to a file.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> "stride 3" in str(torch.draw(x, x.t()[1:]))
    True
    """
    if not tensors:
        raise ValueError("draw: at least one tensor is required")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"draw: argument 'tensors' must be tensors, not {type(tensor).__name__}")
    if len(tensors) > len(PALETTE):
        raise ValueError(f"draw: at most {len(PALETTE)} tensors are supported, but got {len(tensors)}")
    if isinstance(labels, str):
        raise TypeError("draw: argument 'labels' must be a list with a string for each tensor, not a string")
    labels = [f"tensor {i}" if len(tensors) > 1 else "tensor" for i in range(len(tensors))] if labels is None else list(map(str, labels))
    if len(labels) != len(tensors):
        raise ValueError(f"draw: {len(labels)} labels for {len(tensors)} tensors")
    page, y = Page(), 14
    groups: dict[Any, Any] = {}
    for tensor, label, colour in zip(tensors, labels, PALETTE, strict=False):
        page.text(LEFT, y + 12, about(tensor, label), "head")
        y += 20
        for name, piece in strided(tensor, label):
            part = Part(piece, name, colour)
            key = (part.storage._cdata if piece.numel() or part.storage.nbytes() else id(part), part.item)
            groups.setdefault(key, []).append(part)
    for parts in groups.values():
        y = draw_storage(page, y + 4, parts)
        for part in parts:
            y = draw_grid(page, y, part)
        y += 8
    wide, high = page.wide + LEFT, page.high + 14
    size = f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" {size}>'
    sheet = f'<rect class="page" x="0.5" y="0.5" width="{wide - 1:.0f}" height="{high - 1:.0f}" rx="6"/>'
    return Drawing("\n".join([head, f"<style>{STYLE}</style>", sheet, *page.items, "</svg>"]))
