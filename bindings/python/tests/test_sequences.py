"""Tensors from Python's sequences: what becomes of elements that know their dtype, and what is refused."""

import array
import collections
import decimal
import enum

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
        ([1, [2]], {}, TypeError, "list"),
        ([torch.ones(2)], {}, ValueError, "one element tensors.*2"),
        ([torch.tensor([1, 2])], {}, TypeError, "single element.*2"),
        ([1j], {"dtype": torch.float32}, TypeError, "complex"),
        ([float("inf")], {"dtype": torch.int32}, RuntimeError, "int32 without overflow: inf"),
        ([300], {"dtype": torch.uint8}, RuntimeError, "uint8 without overflow: 300"),
        ([-1.5], {"dtype": torch.uint8}, RuntimeError, "uint8 without overflow: -1.5"),
        ([2**63], {}, ValueError, "9223372036854775808"),
        (torch.DoubleStorage([1]), {}, RuntimeError, "float32.*float64"),
        (endless(), {}, ValueError, "64 dimensions"),
        (np.longdouble(1), {}, TypeError, "longdouble|f16|float128"),
        ([np.longdouble(1)], {}, TypeError, "NumPy number of type"),
    ],
)
def test_refused(data, options, error, text):
    with pytest.raises(error, match=text):
        torch.tensor(data, **options)
