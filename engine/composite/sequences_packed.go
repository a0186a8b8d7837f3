package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// counts returns the elements of a vector of int64.
func (s *scope) counts(t *tensor.Tensor, name string) []int64 {
	if t.Dim() != 1 || t.DType() != dtype.Int64 {
		s.Failf("%s must be a vector of int64, but has sizes %v, of %v", name, t.Sizes(), t.DType())
		return nil
	}
	list, err := s.C.NnCounts(t)
	s.Check(err)
	return list
}

// falling returns counts, which must be positive and not increase, and their sum.
func (s *scope) falling(t *tensor.Tensor, name string) (list []int64, sum int64) {
	list = s.counts(t, name)
	for i, n := range list {
		if n <= 0 || i > 0 && n > list[i-1] {
			s.Failf("%s must be positive and must not increase, but are %v", name, list)
			return nil, 0
		}
		sum = shape.Plus(sum, n)
	}
	return list, sum
}

// conjugate has the counts that go with lengths, or the lengths that go with counts.
func (s *scope) conjugate(t *tensor.Tensor) *tensor.Tensor { return s.NnConjugate(t) }

// places returns the positions of packed rows, on the device of t.
func (s *scope) places(t, counts *tensor.Tensor, sequences int64) *tensor.Tensor {
	at := s.NnPlaces(counts, sequences)
	if at.Device() == t.Device() {
		return at
	}
	return s.ToOptionsWith(at, dtype.None, tensor.NoLayout, t.Device(), false, false, shape.Preserve)
}

// PackPaddedSequence removes the padding of sequences.
func PackPaddedSequence(c dispatch.Context, input, lengths *tensor.Tensor, batchFirst bool) (data, counts *tensor.Tensor, err error) {
	s := newScope(c, "pack_padded_sequence")
	defer s.Close(&err)
	if input.Dim() < 2 || input.Numel() == 0 {
		s.Failf("input must be a non-empty tensor of shape (steps, batch, ...), but has sizes %v", input.Sizes())
	}
	if batchFirst {
		input = s.Transpose(input, 0, 1)
	}
	steps, sequences := input.Sizes()[0], input.Sizes()[1]
	list := s.counts(lengths, "lengths")
	switch {
	case int64(len(list)) != sequences:
		s.Failf("lengths must have a length for each of the %d sequences, but has %d", sequences, len(list))
	case slices.Min(list) <= 0:
		s.Failf("lengths must be positive, but one is %d", slices.Min(list))
	case !slices.IsSortedFunc(list, func(a, b int64) int { return int(min(max(b-a, -1), 1)) }):
		s.Failf("lengths array must be sorted in decreasing order when enforce_sorted is True, but is %v. You can pass `enforce_sorted=False`, which sorts the sequences", list)
	case list[0] > steps:
		s.Failf("lengths must be at most %d, the steps of input, but one is %d", steps, list[0])
	}
	counts = s.conjugate(lengths)
	places := s.places(input, counts, sequences)
	rows := s.AsShape(input, append([]int64{steps * sequences}, input.Sizes()[2:]...)...)
	return s.both(s.picked(rows, places), counts)
}

// both hands two results over.
func (s *scope) both(a, b *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	list, err := s.ReturnAll([]*tensor.Tensor{a, b})
	if err != nil {
		return nil, nil, err
	}
	return list[0], list[1], nil
}

// PadPackedSequence pads packed sequences.
func PadPackedSequence(c dispatch.Context, data, counts *tensor.Tensor, batchFirst bool, value dtype.Scalar, total int64) (output, lengths *tensor.Tensor, err error) {
	s := newScope(c, "pad_packed_sequence")
	defer s.Close(&err)
	list, rows := s.falling(counts, "batch_sizes")
	steps := int64(len(list))
	switch {
	case steps == 0 || data.Dim() == 0 || data.Sizes()[0] != rows:
		s.Failf("data must have sum(batch_sizes) = %d rows, but has sizes %v", rows, data.Sizes())
	case total >= 0 && total < steps:
		s.Failf("Expected total_length to be at least the length of the longest sequence in input, %d, but got total_length=%d", steps, total)
	}
	steps = max(steps, total)
	if _, err := shape.Numel(s.Op, append([]int64{steps, list[0]}, data.Sizes()[1:]...)); err != nil {
		return nil, nil, err
	}
	lengths = s.conjugate(counts)
	places := s.places(data, counts, list[0])
	whole := s.NewFull(data, append([]int64{steps * list[0]}, data.Sizes()[1:]...), value)
	padded := s.IndexCopy(whole, 0, places, data)
	padded = s.AsShape(padded, append([]int64{steps, list[0]}, data.Sizes()[1:]...)...)
	if batchFirst {
		padded = s.Transpose(padded, 0, 1)
	}
	return s.both(padded, lengths)
}
