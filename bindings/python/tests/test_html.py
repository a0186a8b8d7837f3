"""What notebooks show of a tensor: a line of facts, a picture, a table of values."""

import os
import re
import struct
import subprocess
import sys
import zlib
from base64 import b64decode
from html.parser import HTMLParser

import pytest

import libtensor as torch


class Reader(HTMLParser):
    """The rows of the table, and whether every tag that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.image = [], [], None
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.image = dict(attributes)
        else:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def pixels(text):
    """Sizes, colour type and bytes of the picture, as the format has them."""
    data = b64decode(Reader(text).image["src"].removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (n,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + n]
        assert struct.unpack_from(">I", data, at + 8 + n) == (zlib.crc32(kind + body),)
        parts[kind], at = body, at + 12 + n
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, bits, colour, *rest = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (bits, rest) == (8, [0, 0, 0])
    lines = zlib.decompress(parts[b"IDAT"])
    width = len(lines) // rows
    assert all(lines[i * width] == 0 for i in range(rows))
    return rows, columns, colour, b"".join(lines[i * width + 1 : (i + 1) * width] for i in range(rows))


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (lambda: torch.tensor(1.5), [["1.5"]]),
        (lambda: torch.tensor([1, 2]), [["0", "1"], ["1", "2"]]),
        (lambda: torch.tensor([[1.0, 2.0], [3.0, 1e-9]]).t(), [["", "0", "1"], ["0", "1", "3"], ["1", "2", "1e-09"]]),
        (lambda: torch.arange(8).view(2, 2, 2)[1:], [["", "0", "1"], ["0", "4", "5"], ["1", "6", "7"]]),
        (lambda: torch.tensor([True]), [["0"], ["True"]]),
        (lambda: torch.tensor([1 + 2j]), [["0"], ["1+2j"]]),
        (lambda: torch.tensor([2**64 - 1], dtype=torch.uint64), [["0"], ["18446744073709551615"]]),
        (lambda: torch.tensor([1.5], dtype=torch.bfloat16), [["0"], ["1.5"]]),
        (lambda: torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 0, torch.qint8), [["0"], ["1"]]),
        (lambda: torch.tensor([float("nan"), float("-inf")]), [["0", "1"], ["nan", "-inf"]]),
        (lambda: torch.zeros(0, 3), []),
        (lambda: torch.ones(2, device="meta"), []),
    ],
)
def test_tables(make, rows):
    assert Reader(make()._repr_html_()).rows == rows


def test_large_tables_show_the_ends():
    rows = Reader(torch.arange(10000).view(100, 100)._repr_html_()).rows
    assert rows[0] == ["", "0", "1", "2", "3", "…", "96", "97", "98", "99"] and len(rows) == 10
    assert rows[1][1:3] == ["0", "1"] and rows[5] == ["…"] * 10 and rows[9][-1] == "9999"


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: torch.ones(2, 3), "<b>Tensor</b> [2, 3] · torch.float32 · cpu<"),
        (lambda: torch.ones(2, requires_grad=True), "cpu · requires grad<"),
        (lambda: torch.ones(2, requires_grad=True) * 2, "cpu · MulBackward0<"),
        (lambda: torch.ones(2, 3, names=("rows", None)), "[rows=2, 3]"),
        (lambda: torch.eye(2).to_sparse(), "torch.sparse_coo</div><pre>tensor(indices="),
        (lambda: torch.ones(2, device="meta"), "[2] · torch.float32 · meta<"),
    ],
)
def test_facts(make, facts):
    assert facts in make()._repr_html_()


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "colour"),
    [((4, 5), 4, 5, 0), ((4, 5, 3), 4, 5, 2), ((4, 5, 4), 4, 5, 6), ((3, 4, 5), 4, 5, 2), ((3, 2, 3), 3, 2, 2), ((1, 1), 1, 1, 0)],
)
def test_pictures(shape, rows, columns, colour):
    t = torch.randint(0, 256, shape, dtype=torch.uint8)
    expected = t.permute(1, 2, 0) if shape == (3, 4, 5) else t
    assert pixels(t._repr_html_()) == (rows, columns, colour, expected.tobytes())
    strided = t.transpose(0, 1).contiguous().transpose(0, 1)
    assert pixels(strided._repr_html_())[3] == expected.tobytes()


def test_pictures_are_limited():
    t = torch.randint(0, 256, (2000, 1000, 4), dtype=torch.uint8)
    text = t._repr_html_()
    rows, columns, _, data = pixels(text)
    assert max(rows, columns) <= 384 and data == t[::6, ::6].tobytes() and len(text) < 600_000
    assert Reader(text).image["alt"] == "2000 × 1000 pixels"


def test_tensors_that_are_no_pictures():
    for t in (
        torch.ones(4, 5, 3),
        torch.ones(4, 5, 2, dtype=torch.uint8),
        torch.ones(3, dtype=torch.uint8),
        torch.ones(4, 0, dtype=torch.uint8),
    ):
        assert "<img" not in t._repr_html_()


def test_names_of_classes_are_escaped():
    kind = type("<script>", (torch.Tensor,), {})
    assert "<b>&lt;script&gt;</b>" in torch.ones(2).as_subclass(kind)._repr_html_()


def test_where_there_are_no_values_to_show():
    shown = []
    torch.vmap(lambda x: shown.append(x._repr_html_()) or x)(torch.ones(2, 3))
    assert shown == [None]
    torch.set_default_device("meta")
    try:
        assert Reader(torch.ones(2, 2, dtype=torch.uint8, device="cpu")._repr_html_()).rows[1] == ["0", "1", "1"]
    finally:
        torch.set_default_device(None)
    code = "import os, libtensor as torch; x = torch.ones(2, requires_grad=True) * 2; os.fork() or print(x._repr_html_(), flush=True)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ).stdout == "None\n"


def test_precision():
    torch.set_printoptions(precision=2)
    try:
        assert Reader(torch.tensor(1.23456)._repr_html_()).rows == [["1.2"]]
    finally:
        torch.set_printoptions(profile="default")
    assert re.search("<td>1.235</td>", torch.tensor(1.23456)._repr_html_())
