"""Rows of every length, dtype and order are sorted stably, with NaN last, for any number of threads: those of a few elements by insertion,
longer ones by merging and by digits of 9 and 11 bits, and the longest in stages that threads share."""

import numpy as np
import pytest

import libtensor as torch

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SHORT = (1, 2, 8, 13, 14, 15, 31, 32, 33, 41, 64, 100, 127, 128, 129, 500, 1999, 2000, 2001, 5000)
LONG = ((1 << 17) - 1, (1 << 17) + 1, (1 << 18) + 1)


def bits_of(x):
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()])


def rows(dtype, n):
    """Elements of all bits, a few distinct ones, clusters far apart, and one far from the others."""
    rng = np.random.default_rng(n)
    yield torch.tensor(rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8)).view(dtype)
    if dtype in FLOATS:
        special = torch.tensor([0.0, -0.0, float("nan"), -float("nan"), float("inf"), -float("inf"), 1.0, -1.0, 6e-8], dtype=dtype)
        yield special[torch.tensor(rng.integers(0, 9, n))]
        yield torch.tensor(rng.standard_normal(n)).to(dtype)
    else:
        yield torch.tensor(rng.integers(0, 5, n)).to(dtype)
    far = torch.tensor(rng.integers(0, 100, n)).to(dtype)
    far[n // 2] = 127
    yield far
    if dtype.itemsize == 8:  # the lower halves of keys decide
        yield torch.tensor(rng.integers(0, 2, n) * 2**52 + rng.integers(0, 300, n)).to(dtype)


def order_of(x, descending):
    """The stable order by NumPy."""
    if x.dtype in FLOATS:
        keys = x.to(torch.float64).numpy()
        nan = np.isnan(keys)
        keys = np.where(nan, 0, keys)
        return np.lexsort((-keys, ~nan) if descending else (keys, nan))
    keys = x.numpy()
    return np.argsort(~keys if descending else keys, kind="stable")


def check(x, descending):
    values, indices = torch.sort(x, stable=True, descending=descending)
    assert np.array_equal(indices.numpy(), order_of(x, descending))
    assert torch.equal(bits_of(values), bits_of(x[indices]))
    return indices


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
def test_short_rows(dtype):
    for n in SHORT:
        for x in rows(dtype, n):
            for descending in (False, True):
                indices = check(x, descending)
                twice = torch.stack([x, x.flip(0)])  # further rows do not depend on the first
                assert torch.equal(twice.argsort(dim=1, descending=descending, stable=True)[0], indices)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)
@pytest.mark.parametrize("n", LONG)
def test_long_rows(dtype, n):
    threads = torch.get_num_threads()
    try:
        for x in rows(dtype, n):
            for used, descending in ((1, False), (2, True), (5, False), (5, True)):
                torch.set_num_threads(used)
                check(x, descending)
    finally:
        torch.set_num_threads(threads)


def test_rows_and_columns_of_a_long_dimension():
    x = torch.rand(3, LONG[-1], generator=torch.Generator().manual_seed(0))
    wanted = [row.sort() for row in x]
    across = x.t().contiguous()
    for values, indices in (x.sort(1), [y.t() for y in x.t().sort(0)], [y.t() for y in across.sort(0)]):
        for row, (value, index) in enumerate(wanted):
            assert torch.equal(values[row], value) and torch.equal(indices[row], index)


@pytest.mark.parametrize("size", [(0,), (0, 5), (5, 0)])
def test_without_elements(size):
    values, indices = torch.empty(size).sort(0)
    assert values.shape == indices.shape == size
