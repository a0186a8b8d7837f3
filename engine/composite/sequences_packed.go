package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// readCounts returns the elements of a vector of int64.
func readCounts(b *build.Builder, t *tensor.Tensor, name string) []int64 {
	if t.Dim() != 1 || t.DType() != dtype.Int64 {
		b.Failf("%s must be a vector of int64, but has sizes %v, of %v", name, t.Sizes(), t.DType())
	}
	list, err := b.C.NnCounts(t)
	b.Check(err)
	return list
}

// readBatchSizes returns the batch sizes, which must be positive and must not increase, and their sum.
func readBatchSizes(b *build.Builder, t *tensor.Tensor, name string) (list []int64, sum int64) {
	list = readCounts(b, t, name)
	for i, n := range list {
		if n <= 0 || i > 0 && n > list[i-1] {
			b.Failf("%s must be positive and must not increase, but are %v", name, list)
		}
		sum = shape.Plus(sum, n)
	}
	return list, sum
}

// packedIndices returns the indices of packed rows, on the device of t.
func packedIndices(b *build.Builder, t, counts *tensor.Tensor, sequences int64) *tensor.Tensor {
	at := b.NnPlaces(counts, sequences)
	if at.Device() == t.Device() {
		return at
	}
	return b.ToOptionsWith(at, dtype.None, tensor.NoLayout, t.Device(), false, false, shape.Preserve)
}

// PackPaddedSequence removes the padding of sequences.
func PackPaddedSequence(c dispatch.Context, input, lengths *tensor.Tensor, batchFirst bool) (_, _ *tensor.Tensor, err error) {
	b := build.New(c, "pack_padded_sequence")
	defer b.Close(&err)
	if input.Dim() < 2 || input.Numel() == 0 {
		b.Failf("input must be a non-empty tensor of shape (steps, batch, ...), but has sizes %v", input.Sizes())
	}
	if batchFirst {
		input = b.Transpose(input, 0, 1)
	}
	steps, sequences := input.Sizes()[0], input.Sizes()[1]
	list := readCounts(b, lengths, "lengths")
	switch {
	case int64(len(list)) != sequences:
		b.Failf("lengths must have a length for each of the %d sequences, but has %d", sequences, len(list))
	case slices.Min(list) <= 0:
		b.Failf("lengths must be positive, but one is %d", slices.Min(list))
	case !slices.IsSortedFunc(list, func(x, y int64) int { return int(min(max(y-x, -1), 1)) }):
		b.Failf("lengths array must be sorted in decreasing order when enforce_sorted is True, but is %v. You can pass `enforce_sorted=False`, which sorts the sequences",
			list)
	case list[0] > steps:
		b.Failf("lengths must be at most %d, the steps of input, but one is %d", steps, list[0])
	}
	counts := b.NnConjugate(lengths)
	indices := packedIndices(b, input, counts, sequences)
	rows := b.AsShape(input, append([]int64{steps * sequences}, input.Sizes()[2:]...)...)
	return b.ReturnBoth(b.IndexSelect(rows, 0, indices), counts)
}

// PadPackedSequence pads packed sequences.
func PadPackedSequence(c dispatch.Context, data, counts *tensor.Tensor, batchFirst bool, value dtype.Scalar,
	total int64) (_, _ *tensor.Tensor, err error) {
	b := build.New(c, "pad_packed_sequence")
	defer b.Close(&err)
	list, rows := readBatchSizes(b, counts, "batch_sizes")
	steps := int64(len(list))
	switch {
	case steps == 0 || data.Dim() == 0 || data.Sizes()[0] != rows:
		b.Failf("data must have sum(batch_sizes) = %d rows, but has sizes %v", rows, data.Sizes())
	case total >= 0 && total < steps:
		b.Failf("Expected total_length to be at least the length of the longest sequence in input, %d, but got total_length=%d", steps,
			total)
	}
	steps = max(steps, total)
	if _, err := shape.Numel(b.Op, append([]int64{steps, list[0]}, data.Sizes()[1:]...)); err != nil {
		return nil, nil, err
	}
	lengths := b.NnConjugate(counts)
	indices := packedIndices(b, data, counts, list[0])
	whole := b.NewFull(data, append([]int64{steps * list[0]}, data.Sizes()[1:]...), value)
	padded := b.IndexCopy(whole, 0, indices, data)
	padded = b.AsShape(padded, append([]int64{steps, list[0]}, data.Sizes()[1:]...)...)
	if batchFirst {
		padded = b.Transpose(padded, 0, 1)
	}
	return b.ReturnBoth(padded, lengths)
}
