"""Padding and packing of sequences of different lengths for recurrent layers."""

from typing import NamedTuple

from ..._base.dtypes import contiguous_format, int64
from ..._core.tensor import Tensor
from ..._data.create import as_tensor
from ..._gen.gen_functions import arange, constant_pad_nd, empty_like, stack
from ..._gen.gen_functions import pack_padded_sequence as _pack
from ..._gen.gen_functions import pad_packed_sequence as _pad
from ..._gen.gen_functions import sort as _sort

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Parts(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Parts):
    """Sequences of different lengths, packed without padding.

    `data` has the elements of all sequences, step by step, and `batch_sizes` the number of sequences that have each step. `sorted_indices`
    is the permutation that sorted the sequences by length, `unsorted_indices` its inverse; both are None for sequences that were given in
    order.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise ValueError("PackedSequence: without batch_sizes data must be a pair of data and batch_sizes")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(f"PackedSequence: batch_sizes must be on the cpu, but are on {batch_sizes.device}")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Returns the sequences with `data.to(...)`, or self if that changes nothing."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        blocking = {k: v for k, v in kwargs.items() if k == "non_blocking"}
        orders = (t if t is None else t.to(data.device, **blocking) for t in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *orders)

    def pin_memory(self):
        """Returns the sequences in pinned memory."""
        orders = (t if t is None else t.pin_memory() for t in (self.sorted_indices, self.unsorted_indices))
        return type(self)(self.data.pin_memory(), self.batch_sizes, *orders)

    def is_pinned(self):
        """Returns whether the data are in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Whether the data are on a CUDA device."""
        return self.data.is_cuda

    def cpu(self, *args, **kwargs):
        """Returns the sequences on the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args, **kwargs):
        """Returns the sequences on a CUDA device."""
        return self if self.is_cuda and not args and not kwargs else self.to(*args, **{"device": "cuda", **kwargs})

    def double(self):
        """The same sequences in float64."""
        return self._cast("double")

    def float(self):
        """The same sequences in float32."""
        return self._cast("float")

    def half(self):
        """The same sequences in float16."""
        return self._cast("half")

    def long(self):
        """The same sequences in int64."""
        return self._cast("long")

    def int(self):
        """The same sequences in int32."""
        return self._cast("int")

    def short(self):
        """The same sequences in int16."""
        return self._cast("short")

    def char(self):
        """The same sequences in int8."""
        return self._cast("char")

    def byte(self):
        """The same sequences in uint8."""
        return self._cast("byte")

    def _cast(self, name):
        data = getattr(self.data, name)()
        return self if data is self.data else type(self)(data, *self[1:])


def invert_permutation(permutation):
    """Returns the inverse of a permutation, None for None.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Returns a PackedSequence of the first `lengths` elements of padded sequences `input` (L, N, *), or (N, L, *) with `batch_first`.

    With `enforce_sorted`, the default, lengths must be in descending order; otherwise the sequences are sorted by length.

    >>> torch.nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    lengths = lengths.long() if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        lengths, order = _sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    return PackedSequence(*_pack(input, lengths, batch_first), order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Returns the sequences of a PackedSequence padded with `padding_value`, and their lengths.

    The result is (L, N, *), or (N, L, *) with `batch_first`, where L is the length of the longest sequence, or `total_length`.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    steps = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < steps:
        expected = f"Expected total_length to be at least the length of the longest sequence in input, {steps}"
        raise ValueError(f"pad_packed_sequence: {expected}, but got {total_length}")
    padded, lengths = _pad(sequence.data, sequence.batch_sizes, batch_first, padding_value, -1 if total_length is None else total_length)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Returns sequences (L, *) of different lengths as one tensor (L, N, *), or (N, L, *) with `batch_first`, padded with `padding_value`
    on the `padding_side`, right or left.

    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    name = "pad_sequence"
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"{name}: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError(f"{name}: sequences must have at least one tensor")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"{name}: padding_side must be left or right, but is {padding_side}")
    first = sequences[0]
    for t in sequences:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}: sequences must be tensors, but one is of {type(t).__name__}")
        if t.dim() == 0 or t.shape[1:] != first.shape[1:]:
            raise RuntimeError(
                f"{name}: sequences must have the same sizes after the first dimension, but have {tuple(first.shape)} and {tuple(t.shape)}"
            )
    longest = max(t.size(0) for t in sequences)

    def padded(t):
        missing = longest - t.size(0)
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        return constant_pad_nd(t.to(first.dtype), (0, 0) * (t.dim() - 1) + ends, padding_value)

    return stack([padded(t) for t in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Returns the first `lengths` elements of each padded sequence, as a list.

    >>> torch.nn.utils.rnn.unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[: max(int(length), 0)].clone(memory_format=contiguous_format)
        for sequence, length in zip(padded_sequences, lengths, strict=False)
    ]


def pack_sequence(sequences, enforce_sorted=True):
    """Returns a PackedSequence of sequences (L, *), whose lengths must be in descending order unless `enforce_sorted` is False.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    PackedSequence(data=tensor([1, 3, 2]), batch_sizes=tensor([2, 1]), sorted_indices=None, unsorted_indices=None)
    """
    lengths = as_tensor([t.size(0) for t in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Returns the sequences of a PackedSequence as a list.

    >>> torch.nn.utils.rnn.unpack_sequence(torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
