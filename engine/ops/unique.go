package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	uniqueRowsKernel        = kernelapi.UniqueRows
	uniqueConsecutiveKernel = kernelapi.UniqueConsecutive
	memberKernel            = kernelapi.Member
)

// Unique returns the distinct elements in order, or with dim the distinct slices along it. It also returns the position among these of
// every input element, and the number of occurrences, if requested; otherwise these are empty.
func Unique(self *tensor.Tensor, _, returnInverse, returnCounts bool, dim Int) (values, inverse, counts *tensor.Tensor, err error) {
	k := uniqueKernel
	if !dim.IsNone() {
		k = uniqueRowsKernel
	}
	return findUnique("unique", k, self, returnInverse, returnCounts, dim)
}

// UniqueConsecutive is Unique without sorting: it drops only adjacent duplicates.
func UniqueConsecutive(self *tensor.Tensor, returnInverse, returnCounts bool, dim Int) (values, inverse, counts *tensor.Tensor, err error) {
	return findUnique("unique_consecutive", uniqueConsecutiveKernel, self, returnInverse, returnCounts, dim)
}

func findUnique(op string, k kernelapi.Kernel, self *tensor.Tensor, returnInverse, returnCounts bool,
	dim Int) (_, _, _ *tensor.Tensor, err error) {
	if err := k.Check(op, self.DType()); err != nil {
		return nil, nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	// The rows to compare are in the first dimension.
	rows, at := self, 0
	if dim.IsNone() {
		rows = s.reshapeTo(self, self.Numel(), 1)
	} else {
		if at, err = shape.WrapDim(op, int64(dim), self.Dim()); err != nil {
			return nil, nil, nil, err
		}
		if self.Dim() == 0 {
			return nil, nil, nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, int64(dim))
		}
		for d, size := range self.Sizes() {
			if size == 0 && d != at {
				return nil, nil, nil, status.Runtimef("%s: dimension %d of shape %v has size 0 and is not the selected one, so %s cannot be applied",
					op, d, self.Sizes(), op)
			}
		}
		rows = s.Track(Movedim(self, int64(at), 0))
	}
	in := s.castRowMajor(rows, self.DType())
	sizes := []int64{0}
	if returnInverse {
		sizes[0] = rows.Sizes()[0]
		if dim.IsNone() {
			sizes = self.Sizes()
		}
	}
	inverse := s.newEmpty(self, dtype.Int64, sizes...)
	w := backend.Distinct{Kernel: k, In: in, Counts: returnCounts}
	if returnInverse {
		w.Inverse = inverse
	}
	groups, err := backend.On(in).Unique(op, w)
	values, counts := s.Track(groups.Rows, err), s.Track(groups.Counts, nil)
	switch {
	case dim.IsNone():
		values = s.reshapeTo(values, values.Numel())
	default:
		values = s.Track(Movedim(values, 0, int64(at)))
	}
	return values.Alias(), inverse.Alias(), counts.Alias(), nil
}

// Isin returns a mask of the elements that are in testElements, or with invert of those that are not.
func Isin(out, elements, testElements *tensor.Tensor, _, invert bool) (_ *tensor.Tensor, err error) {
	const op = "isin"
	compute, across := comparisonDType(elements, testElements)
	if across { // as the bits of a common range, which those of a negative number are not
		compute = dtype.Int64
	}
	if elements.DType() == dtype.Bool || testElements.DType() == dtype.Bool {
		return nil, status.NotImplementedf("isin: not implemented for dtype bool")
	}
	if err := memberKernel.Check(op, compute); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	s.moveToOneDevice(&elements, &testElements)
	values, tests := s.castRowMajor(elements, compute), s.castRowMajor(s.reshapeTo(testElements, testElements.Numel()), compute)
	found := s.newEmpty(elements, dtype.Bool, elements.Sizes()...)
	sorted, indices, err := Sort(nil, nil, tests, 0, false)
	s.Track(sorted, err)
	s.Track(indices, nil)
	s.Check(backend.On(found).IsIn(op, backend.Membership{Found: found, Values: values, Sorted: sorted}))
	if across {
		s.CheckWritten(Gt(found, found, s.maskNegative(values)))
	}
	// Everything is found before out, which may be any of the inputs, is touched.
	if invert {
		s.CheckWritten(LogicalNot(found, found))
	}
	return s.writeResult(out, found)
}
