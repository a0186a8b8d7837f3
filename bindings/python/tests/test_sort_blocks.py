"""Lines that have to be copied are sorted some after the others once they are more than a megabyte: the same as those that are not."""

import pytest

import libtensor as torch

CALLS = {
    "sort": lambda x, d: torch.sort(x, d),
    "stable": lambda x, d: torch.sort(x, dim=d, descending=True, stable=True),
    "topk": lambda x, d: torch.topk(x, 3, d),
    "kthvalue": lambda x, d: torch.kthvalue(x, 2, d, True),
    "median": lambda x, d: torch.median(x, d, True),
    "mode": lambda x, d: torch.mode(x, d, True),
}
DTYPES = (torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)


def numbers(dtype, sizes):
    x = torch.randint(0, 50, sizes, generator=torch.Generator().manual_seed(3))
    return x > 25 if dtype == torch.bool else x.to(dtype)


# Of bool there is sort alone.
@pytest.mark.slow
@pytest.mark.parametrize("name, dtype", [(n, d) for n in CALLS for d in DTYPES if d != torch.bool or n in ("sort", "stable")])
@pytest.mark.parametrize("sizes", [(40, 30, 9), (40, 300, 41), (7, 1, 90_001), (3, 90_001, 1)])  # the first is the smaller one
def test_sorted_lines_in_any_dimension(name, dtype, sizes):
    x = numbers(dtype, sizes)
    for d, view in ((0, x), (1, x), (1, x.transpose(0, 2)), (2, x[:, :, ::2].transpose(1, 2))):
        if view.shape[d] < 3:
            continue
        wanted = CALLS[name](view.transpose(d, -1).contiguous(), -1)
        for ours, dense in zip(CALLS[name](view, d), wanted, strict=True):
            assert ours.equal(dense.transpose(d, -1))


@pytest.mark.parametrize("sizes", [(40, 30, 9), (40, 300, 41)])
def test_out_with_another_layout(sizes):
    x = numbers(torch.float32, sizes)
    values, indices = torch.sort(x, 1)
    out = torch.zeros(*sizes, 2)[..., 0], torch.zeros(sizes[::-1], dtype=torch.int64).permute(2, 1, 0)
    torch.sort(x, 1, out=out)
    assert out[0].equal(values) and out[1].equal(indices)
    torch.sort(x, 1, out=(x, out[1]))  # over the operand itself
    assert x.equal(values) and out[1].equal(indices)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.float32, torch.int64, torch.float64], ids=str)
@pytest.mark.parametrize("n, calls", [(20_000, 60), (300_000, 6)])  # the second is sorted in stages
def test_indices_that_another_thread_overwrites(dtype, n, calls):
    """A thread that writes to the indices, or the elements, spoils the indices and nothing else."""
    import threading

    x = (torch.arange(n) * 7919 % 251).to(dtype)
    y = x.clone()
    values, indices = torch.empty(n, dtype=dtype), torch.empty(n, dtype=torch.int64)
    over = threading.Event()

    def write():
        k = 0
        while not over.is_set():
            k += 1
            indices.fill_(-1 >> 1 if k % 2 else (1 << 62) + k)
            y.fill_(k % 100)

    thread = threading.Thread(target=write)
    thread.start()
    want = x.sort()[0]
    try:
        for _ in range(calls):
            torch.sort(x, out=(values, indices))
            assert torch.equal(values, want)
            torch.sort(y, out=(values, indices))
            torch.topk(y, 100)
            torch.unique(y, return_inverse=True)
    finally:
        over.set()
        thread.join()
    torch.sort(x, out=(values, indices))
    assert torch.equal(x[indices], values)


def killers(n):
    """Orders for which choices of pivots are bad."""
    up = torch.arange(n)
    half = n // 2
    saw = torch.cat([up[::2], up[1::2].flip(0)])
    yield from (up, up.flip(0), saw, saw.flip(0), torch.cat([up[half:], up[:half]]), up % 7, up * 0)
    median_of_three = torch.empty(n, dtype=torch.int64)  # after D. R. Musser
    k = torch.arange(half)
    median_of_three[:half] = torch.where(k % 2 == 0, k + 1, k + half)
    median_of_three[half:] = 2 * torch.arange(1, n - half + 1)
    yield median_of_three


@pytest.mark.parametrize("n", [1, 2, 3, 4, 17, 1000, 1001, 20_000])
def test_selection_in_any_order(n):
    for x in killers(n):
        for dtype in (torch.int64, torch.float32):
            y = x.to(dtype)
            ordered = y.sort()[0]
            for k in {1, 2, n // 3 + 1, n // 2 + 1, n}:
                if k <= n:
                    value, index = y.kthvalue(k)
                    assert value == ordered[k - 1] == y[index]
                    assert torch.equal(y.topk(k, largest=False)[0], ordered[:k])
            assert y.median() == ordered[(n - 1) // 2]
