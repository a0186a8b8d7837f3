"""Tensors of lists of NumPy arrays and scalars, and of arrays with the other byte order."""

import itertools

import pytest

import libtensor as torch

np = pytest.importorskip("numpy")

KINDS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
pytestmark = pytest.mark.filterwarnings("ignore:Creating a tensor from a list")


def array(kind, *shape):
    numbers = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape)
    return (numbers % 2 == 1) if kind == "?" else numbers.astype(kind) * (1j if kind[0] == "c" else 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,), (2, 1, 2), ()], ids=str)
def test_lists_of_arrays_are_their_stack(kind, shape):
    arrays = [array(kind, *shape), array(kind, *shape)]
    wanted = torch.from_numpy(np.stack(arrays))
    for data, expected in ((arrays, wanted), (tuple(arrays), wanted), ([arrays], wanted[None]), ([[a] for a in arrays], wanted[:, None])):
        made = torch.tensor(data)
        assert made.dtype is wanted.dtype and torch.equal(made, expected)
    assert torch.equal(torch.as_tensor(arrays), wanted)


@pytest.mark.parametrize("first, second", itertools.product(KINDS, KINDS))
def test_dtypes_of_lists_promote_as_tensors_do(first, second):
    one, two = torch.from_numpy(array(first, 2)), torch.from_numpy(array(second, 2))
    try:
        wanted = torch.stack([one, two])
    except RuntimeError:  # uint64 with signed integers
        return
    for data in ([array(first, 2), array(second, 2)], [list(array(first, 2)), list(array(second, 2))]):
        made = torch.tensor(data)
        assert made.dtype is wanted.dtype and torch.equal(made, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_of_scalars_are_their_arrays(kind):
    numbers = array(kind, 40)
    made = torch.tensor(list(numbers))
    assert made.dtype is torch.from_numpy(numbers).dtype and torch.equal(made, torch.from_numpy(numbers))
    mixed = torch.tensor([number for pair in zip(numbers, numbers.tolist(), strict=True) for number in pair])
    assert torch.equal(mixed, torch.from_numpy(numbers).repeat_interleave(2).to(mixed.dtype))


def test_integers_at_the_ends_of_64_bits():
    ends = [2**64 - 1, 2**63]
    assert torch.tensor([np.array(ends, "u8")]).tolist() == [ends] and torch.tensor([np.uint64(n) for n in ends]).tolist() == ends
    assert torch.tensor([np.int64(-(2**63)), np.int64(2**63 - 1)]).tolist() == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize(
    "data, text",
    [
        ([np.ones(2), np.ones(3)], "expected sequence of length 2 at dim 1"),
        ([np.ones(2), 1.0], "expected"),
        ([np.array(["a"])], "too many dimensions"),
        ([np.array([1], "g")], "can't convert a NumPy number"),
        ([np.datetime64("2020-01-01")], "can't convert a NumPy number"),
        ([np.float64(1), np.float64], "Could not infer dtype"),
    ],
    ids=["ragged", "an array and a number", "strings", "long double", "dates", "a class"],
)
def test_arguments_that_are_no_tensors_are_rejected(data, text):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=text):
        torch.tensor(data)


@pytest.mark.filterwarnings("default:Creating a tensor from a list")
def test_a_list_of_arrays_warns():
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="list of numpy.ndarrays is extremely slow"):
            torch.tensor([np.ones(2), np.ones(2)])
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[-1] not in "?1"] + ["c16"])
@pytest.mark.parametrize(
    "make", [torch.tensor, torch.as_tensor, torch.asarray, torch.ones(1).new_tensor], ids=["tensor", "as_tensor", "asarray", "new_tensor"]
)
def test_arrays_of_the_other_byte_order_are_copied(kind, make):
    native = array(kind, 2, 3)
    other = native.astype(native.dtype.newbyteorder())
    for a, b in ((other, native), (other[:, ::-1], native[:, ::-1]), (other[:0], native[:0]), (other[1, 1:2].reshape(()), native[1, 1])):
        made, wanted = make(a), make(b.copy())
        assert made.dtype is wanted.dtype and torch.equal(made, wanted)
    assert torch.equal(torch.tensor([other, other]), torch.tensor([native, native]))
    assert other.dtype != native.dtype and (other == native).all()


def test_memory_of_the_other_byte_order_is_not_shared():
    other = np.arange(3, dtype=np.dtype("i4").newbyteorder())
    with pytest.raises(ValueError, match=r"byte order.*byteswap\(\)"):
        torch.from_numpy(other)
    assert torch.from_numpy(other.byteswap().view(other.dtype.newbyteorder())).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="copy=False"):
        torch.asarray(other, copy=False)


class Shown:
    """An object with an array interface of the other byte order."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


def test_other_objects_with_the_other_byte_order():
    other = np.arange(3, dtype=np.dtype("i4").newbyteorder())
    assert torch.tensor(Shown(other)).tolist() == [0, 1, 2]
