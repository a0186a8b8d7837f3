"""Copies of rows of few bytes, on both sides of each length that has a loop of its own, and of the longest of them."""

import pytest

import libtensor as torch

WIDTHS = [*range(1, 36), 47, 48, 63, 64, 65, 95, 96, 127, 128, 129, 191, 192, 255, 256, 257, 300]


def numbers(*sizes, dtype=torch.uint8):
    count = 1
    for n in sizes:
        count *= n
    return (torch.arange(count, dtype=torch.int64) % 251).reshape(sizes).to(dtype)


@pytest.mark.parametrize("width", WIDTHS)
def test_parts_of_rows(width):
    whole = numbers(7, width + 9)
    want = [row[5 : 5 + width] for row in whole.tolist()]
    part = whole[:, 5 : 5 + width]
    assert part.contiguous().tolist() == want
    to = torch.zeros(7, width + 4, dtype=torch.uint8)
    to[:, 3 : 3 + width] = part
    assert to.tolist() == [[0, 0, 0, *row, 0] for row in want]
    assert torch.cat([part, part[:, :1], part], 1).tolist() == [[*row, row[0], *row] for row in want]
    every = numbers(3, 4, width + 2)[:, ::2, 1 : width + 1]
    assert every.contiguous().tolist() == [[row[1 : width + 1] for row in plane[::2]] for plane in numbers(3, 4, width + 2).tolist()]
    assert part.flip(0).tolist() == want[::-1]


DTYPES = [
    torch.bool,
    torch.int16,
    torch.uint16,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 9, 16, 17, 31, 32, 33, 127, 128, 129])
def test_dtypes(width, dtype):
    whole = numbers(5, width + 3, dtype=dtype)
    part = whole[:, 2 : 2 + width]
    assert part.contiguous().tolist() == [row[2 : 2 + width] for row in whole.tolist()]
    joined = torch.cat([part, whole], 1)
    assert joined.dtype == dtype and joined.tolist() == [row[2 : 2 + width] + row for row in whole.tolist()]
    other = part.to(torch.int64)
    assert other.tolist() == [row[2 : 2 + width] for row in whole.to(torch.int64).tolist()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shift", [1, 3, 40])
def test_rows_that_overlap_their_copies(width, shift):
    for ahead in (True, False):
        x = numbers(4, width + shift)
        first, second = x[:, :width], x[:, shift:]
        to, source = (second, first) if ahead else (first, second)
        want = source.tolist()
        to.copy_(source)
        assert to.tolist() == want


@pytest.mark.parametrize("width", [1, 8, 30, 256, 257])
def test_the_same_for_any_number_of_threads(width):
    a, b = numbers(70000, width), numbers(70000, width + 1)
    before, runs = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            runs.append(torch.cat([a, b], 1))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(runs[0], other) for other in runs[1:])
    assert torch.equal(runs[0][:, :width], a) and torch.equal(runs[0][:, width:], b)
