"""Tensors from Python sequences: elements that have a dtype, and elements that are not supported."""

import array
import collections
import decimal
import enum
import itertools

import numpy as np
import pytest

import libtensor as torch


class Pair:
    """A sequence of the user's own."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        ([np.float64(1 / 3)], torch.float64, [1 / 3]),
        ([2.0, np.float64(1 / 3)], torch.float64, [2.0, 1 / 3]),
        ([np.float32(1), 2.5], torch.float32, [1, 2.5]),
        ([np.float16(1), 2], torch.float16, [1, 2]),
        ([np.int8(3), np.int16(300)], torch.int16, [3, 300]),
        ([np.uint8(3)], torch.uint8, [3]),
        ([np.uint64(2**63)], torch.uint64, [2**63]),
        ([np.int32(1), np.float64(0.1)], torch.float64, [1, 0.1]),
        ([np.complex64(1j), 1.0], torch.complex64, [1j, 1]),
        ([np.bool_(True), np.bool_(False)], torch.bool, [True, False]),
        ([np.array([1.0, 2]), [3, 4]], torch.float64, [[1, 2], [3, 4]]),
        ([[1, 2], np.array([3, 4], dtype=np.float32)], torch.float32, [[1, 2], [3, 4]]),
        ([np.ones((1, 2), dtype=np.int8)], torch.int8, [[[1, 1]]]),
        ([torch.tensor(1 / 3, dtype=torch.float64), 1], torch.float64, [1 / 3, 1]),
        ([torch.tensor([1], dtype=torch.int16)], torch.int16, [1]),
        ([torch.tensor(1.5, dtype=torch.bfloat16), torch.tensor(1.5, dtype=torch.float16)], torch.float32, [1.5, 1.5]),
        ([[1, 2], torch.ones(2)], torch.float32, [[1, 2], [1, 1]]),
        ([Pair(1, 2), Pair(3, 4)], torch.int64, [[1, 2], [3, 4]]),
        (Pair(0.5, np.float64(0.1)), torch.float64, [0.5, 0.1]),
        (collections.deque([1, 2]), torch.int64, [1, 2]),
        (array.array("d", [1, 2]), torch.float32, [1, 2]),
        (bytearray(b"ab"), torch.int64, [97, 98]),
        (range(3), torch.int64, [0, 1, 2]),
        ([range(2), (2, 3)], torch.int64, [[0, 1], [2, 3]]),
        ([Level.LOW, Level.HIGH], torch.int64, [1, 2]),
        (torch.FloatStorage([1, 2]), torch.float32, [1, 2]),
        (torch.UntypedStorage([1, 2]), torch.int64, [1, 2]),
    ],
)
def test_dtypes_of_elements(data, dtype, values):
    made = torch.tensor(data)
    assert made.dtype is dtype and made.tolist() == values
    assert torch.as_tensor(data).dtype is dtype


def test_a_given_dtype_converts():
    assert torch.tensor([np.float64(2.7), 1], dtype=torch.int32).tolist() == [2, 1]
    assert torch.tensor([decimal.Decimal("0.5")], dtype=torch.float64).tolist() == [0.5]
    assert torch.tensor([-1, 200], dtype=torch.uint8).tolist() == [255, 200]
    assert torch.tensor(torch.IntStorage([1, 2]), dtype=torch.int32).tolist() == [1, 2]


KINDS = [(True, torch.bool), (2, torch.int64), (0.5, torch.float32), (1 - 2j, torch.complex64)]


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("kinds", itertools.permutations(range(4), 3))
def test_numbers_of_several_kinds(kinds, n):
    """Whatever the order in which they come, they are of the last kind among them, and lose nothing."""
    rows = [[KINDS[kind][0]] * n for kind in kinds]
    expected = torch.stack([torch.full((n,), row[0]).to(torch.complex128) for row in rows])
    flat = [number for row in rows for number in row]
    for data, wanted in ((rows, expected), (tuple(map(tuple, rows)), expected), (flat, expected.flatten())):
        made = torch.tensor(data)
        assert made.dtype is KINDS[max(kinds)][1] and torch.equal(made.to(torch.complex128), wanted)


def test_integers_keep_their_bits():
    large = 2**60 + 1
    assert torch.tensor([large, -large, True]).tolist() == [large, -large, 1]
    assert torch.tensor([0.5, large], dtype=torch.int64).tolist() == [0, large]
    assert torch.tensor([large, 0.5], dtype=torch.float64).tolist() == [float(large), 0.5]
    assert torch.tensor([[1], [2**63], [0.5]], dtype=torch.float64).tolist() == [[1.0], [2.0**63], [0.5]]
    assert torch.tensor([2**64, 0.5]).dtype is torch.float32
    assert torch.tensor([-(2**31), 2**31 - 1], dtype=torch.int32).tolist() == [-(2**31), 2**31 - 1]
    assert torch.tensor([0.0, float("nan"), 1e-300], dtype=torch.bool).tolist() == [False, True, True]
    assert torch.tensor([0j, 1e-300j], dtype=torch.bool).tolist() == [False, True]


def test_lists_of_many_sizes():
    for size in ((0,), (31,), (33,), (100, 7), (7, 100), (3, 0), (2, 3, 4, 5), (1, 1, 1000)):
        for dtype in (torch.float64, torch.int64, torch.bool, torch.complex128):
            wanted = torch.arange(torch.Size(size).numel()).remainder(5).to(dtype).view(size)
            assert torch.equal(torch.tensor(wanted.tolist(), dtype=dtype), wanted)


def test_a_list_that_changes_while_it_is_read():
    class Shortens:
        def __index__(self):
            del data[1:]
            return 1

    data = [Shortens(), 2, 3]
    with pytest.raises(RuntimeError, match="was modified during the call"):
        torch.tensor(data, dtype=torch.int64)


def test_copies():
    storage = torch.FloatStorage([1, 2])
    made = torch.tensor(storage)
    made[0] = 5
    assert storage.tolist() == [1, 2]


def endless():
    items = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("data", "options", "error", "text"),
    [
        ((x for x in range(2)), {}, RuntimeError, "infer dtype of generator"),
        ({1, 2}, {}, RuntimeError, "infer dtype of set"),
        ({1: 2}, {}, RuntimeError, "infer dtype of dict"),
        ([None], {}, RuntimeError, "infer dtype of NoneType"),
        ([decimal.Decimal(1)], {}, RuntimeError, "infer dtype of Decimal"),
        ([object()], {"dtype": torch.int64}, TypeError, "object"),
        ("12", {}, TypeError, "str"),
        (b"ab", {}, TypeError, "bytes"),
        (["a"], {}, ValueError, "too many dimensions 'str'"),
        ([[1, 2], [3]], {}, ValueError, "length 2 at dim 1 .*got 1 at position 1"),
        ([[1], 2], {}, TypeError, "not a sequence.*dim 1.*int at position 1"),
        ([1, [2]], {}, TypeError, "expected a number at dim 1, not a list of length 1 .*position 1"),
        ([[1, 2], [3, 4], [5]], {}, ValueError, "length 2 at dim 1 .*got 1 at position 2"),
        ([[[1], [2]], [[3], [4, 5]]], {}, ValueError, "length 1 at dim 2 .*got 2 at position 1"),
        ([[0.5] * 3, [0.5] * 2 + [[1]]], {}, TypeError, "number at dim 2, not a list of length 1 .*position 2"),
        ([[[1.0]], [[2.0], [3.0]]], {}, ValueError, "length 1 at dim 1 .*got 2 at position 1"),
        ([[], 0.5], {}, TypeError, "not a sequence.*dim 1.*float at position 1"),
        ([0.5, []], {}, TypeError, "number at dim 1, not a list of length 0"),
        ([[True], 1j], {}, TypeError, "not a sequence.*complex at position 1"),
        ([[[]], []], {}, ValueError, "length 1 at dim 1 .*got 0 at position 1"),
        ([[1], None], {}, RuntimeError, "infer dtype of NoneType"),
        ([torch.ones(2)], {}, ValueError, "one element tensors.*2"),
        ([torch.tensor([1, 2])], {}, TypeError, "single element.*2"),
        ([1j], {"dtype": torch.float32}, TypeError, "complex"),
        ([float("inf")], {"dtype": torch.int32}, RuntimeError, "int32 without overflow: inf"),
        ([300], {"dtype": torch.uint8}, RuntimeError, "uint8 without overflow: 300"),
        ([-1.5], {"dtype": torch.uint8}, RuntimeError, "uint8 without overflow: -1.5"),
        ([2**63], {}, ValueError, "9223372036854775808"),
        ([[1], [True], [-(2**63) - 1]], {}, ValueError, "-9223372036854775809"),
        ([0.5, 2**63], {"dtype": torch.int64}, ValueError, "9223372036854775808"),
        ([1, 300, -300], {"dtype": torch.int8}, RuntimeError, "int8 without overflow: 300"),
        ([float("nan")], {"dtype": torch.int64}, RuntimeError, "int64 without overflow: nan"),
        ([0.1 + 0.2 + 2.0**40], {"dtype": torch.int16}, RuntimeError, "without overflow: 1099511627776.3$"),
        (torch.DoubleStorage([1]), {}, RuntimeError, "float32.*float64"),
        (endless(), {}, ValueError, "128 dimensions"),
        (np.longdouble(1), {}, TypeError, "longdouble|f16|float128"),
        ([np.longdouble(1)], {}, TypeError, "NumPy number of type"),
    ],
)
def test_errors(data, options, error, text):
    with pytest.raises(error, match=text):
        torch.tensor(data, **options)
