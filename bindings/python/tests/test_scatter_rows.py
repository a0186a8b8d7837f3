"""Rows that an index names are combined, written and filled in order, for any number of threads and rows of every length: short ones stay
whole, longer ones are divided among threads."""

import pytest

import libtensor as torch

# Threads divide rows of more than 128 elements, into parts of up to 4096.
WIDTHS = (1, 2, 63, 64, 127, 128, 129, 255, 256, 257, 640, 4095, 4097, 8193)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_rows_of_every_length(width, dtype):
    rows, number = 5, 70_000 // width + 3
    generator = torch.Generator().manual_seed(width)
    index = torch.randint(0, rows, (number,), generator=generator)
    index[:rows] = torch.arange(rows)  # each row occurs
    source = torch.randint(-99, 100, (number, width), generator=generator).to(dtype)
    into = torch.zeros(rows, width, dtype=dtype)
    expanded = index.unsqueeze(1).expand(number, width)
    occurrences = [(index == row).nonzero().flatten() for row in range(rows)]
    most = torch.stack([source[at].amax(0) for at in occurrences])
    last = torch.stack([source[at[-1]] for at in occurrences])
    total = torch.stack([source[at].to(torch.float64).sum(0) for at in occurrences]).to(dtype)
    threads = torch.get_num_threads()
    try:
        for used in (1, 2, 5):
            torch.set_num_threads(used)
            assert torch.equal(into.scatter_reduce(0, expanded, source, "amax", include_self=False), most)
            assert torch.equal(into.index_reduce(0, index, source, "amax", include_self=False), most)
            assert torch.equal(into.scatter(0, expanded, source), last)
            assert torch.equal(into.index_copy(0, index, source), last)
            assert torch.equal(into.index_add(0, index, source), total)
            assert torch.equal(into.index_fill(0, index, 7), torch.full_like(into, 7))
    finally:
        torch.set_num_threads(threads)
