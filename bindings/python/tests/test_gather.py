"""Reading at positions: an index is looked at as it is used where the result is fresh, and before anything is written where it is not."""

import pytest

import libtensor as torch

SIZES = [(1, 3), (3, 50), (40, 70), (300, 400)]  # below and above the sizes that one thread processes, and that justify a copy of the index


def made(sizes, dtype, index_dtype=torch.int64):
    n = sizes[0] * sizes[1]
    index = (torch.arange(n).reshape(sizes) * 7919) % sizes[1]
    return torch.arange(n).reshape(sizes).to(dtype), index.to(index_dtype)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.float32, torch.float64, torch.complex128])
def test_values(sizes, dtype, index_dtype):
    values, index = made(sizes, dtype, index_dtype)
    expected = [[row[i] for i in places] for row, places in zip(values.tolist(), index.tolist(), strict=True)]
    out = torch.empty(sizes, dtype=dtype)
    assert values.gather(1, index).tolist() == expected
    assert torch.gather(values, 1, index, out=out).tolist() == expected
    assert values.t().gather(0, index.t()).tolist() == torch.tensor(expected, dtype=dtype).t().tolist()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("bad", ["size", -1, 2**40])
def test_the_first_index_out_of_range_is_named(sizes, bad, threads):
    values, index = made(sizes, torch.float32)
    bad = sizes[1] if bad == "size" else bad
    index[-1, -1], index[-1, 0] = 2**50, bad
    out = torch.zeros(sizes)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for call in (lambda: values.gather(1, index), lambda: torch.gather(values, 1, index, out=out)):
            with pytest.raises(RuntimeError, match=f"gather: index {bad} is out of bounds for dimension 1 with size {sizes[1]}"):
                call()
    finally:
        torch.set_num_threads(before)
    assert not out.any()


@pytest.mark.parametrize("n", [3, 40000])
def test_indices_that_are_repeated(n):
    values = torch.arange(6.0).reshape(2, 3)
    index = torch.tensor([[2], [0]]).expand(2, n)
    assert values.gather(1, index).tolist() == [[2.0] * n, [3.0] * n]
    with pytest.raises(RuntimeError, match="gather: index -1 is out of bounds for dimension 1 with size 3"):
        values.gather(1, torch.tensor([[2], [-1]]).expand(2, n))
    with pytest.raises(RuntimeError, match="gather: index 0 is out of bounds for dimension 1 with size 0"):
        torch.zeros(2, 0).gather(1, torch.zeros(2, 1, dtype=torch.int64).expand(2, n))


def test_positions_from_the_end():
    values, index = made((300, 400), torch.float32)
    assert torch.equal(torch.take_along_dim(values, index - 400, 1), values.gather(1, index))
    with pytest.raises(RuntimeError, match="index -401 is out of bounds for dimension 1 with size 400"):
        torch.take_along_dim(values, index - 401, 1)


def test_a_number():
    assert torch.tensor(5.0).gather(0, torch.tensor([0, 0])).tolist() == [5, 5]
    with pytest.raises(RuntimeError, match="gather: index 1 is out of bounds for dimension 0 with size 1"):
        torch.tensor(5.0).gather(0, torch.tensor([0, 1]))
