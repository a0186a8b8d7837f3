package ops

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	uniqueKernel            = kernel.Get("unique")
	uniqueRowsKernel        = kernel.Get("unique_rows")
	uniqueConsecutiveKernel = kernel.Get("unique_consecutive")
	uniqueCounts            = kernel.Get("unique_counts").Row(0)
	memberKernel            = kernel.Get("member")
)

// uniqueArgs mirrors unique_args of unique.h.
type uniqueArgs struct {
	in, values, inverse, counts, scratch uintptr
	begin, n, width, found, limit        int64
}

// Unique gives the distinct elements in order, or with dim the distinct slices along it; where asked for, the position among
// these of every input element and the number of times that each occurs. What is not asked for is empty.
func Unique(self *tensor.Tensor, _, returnInverse, returnCounts bool, dim Int) (values, inverse, counts *tensor.Tensor, err error) {
	k := uniqueKernel
	if !dim.IsNone() {
		k = uniqueRowsKernel
	}
	return unique("unique", k, self, returnInverse, returnCounts, dim)
}

// UniqueConsecutive is Unique without sorting: only equal neighbours are dropped.
func UniqueConsecutive(self *tensor.Tensor, returnInverse, returnCounts bool, dim Int) (values, inverse, counts *tensor.Tensor, err error) {
	return unique("unique_consecutive", uniqueConsecutiveKernel, self, returnInverse, returnCounts, dim)
}

func unique(op string, k *kernel.Kernel, self *tensor.Tensor, returnInverse, returnCounts bool, dim Int) (values, inverse, counts *tensor.Tensor, err error) {
	fn := k.Row(self.DType())
	switch {
	case self.IsMeta():
		return nil, nil, nil, status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", op)
	case fn == 0:
		return nil, nil, nil, status.NotImplementedf("%s: not implemented for dtype %v", op, self.DType())
	}
	s := within(op)
	defer s.Close()
	// The rows to compare lie in the first dimension.
	rows, at := self, 0
	if dim.IsNone() {
		rows = s.reshape(self, self.Numel(), 1)
	} else {
		if at, err = shape.WrapDim(op, int64(dim), self.Dim()); err != nil {
			return nil, nil, nil, err
		}
		if self.Dim() == 0 {
			return nil, nil, nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, int64(dim))
		}
		for d, size := range self.Sizes() {
			if size == 0 && d != at {
				return nil, nil, nil, status.Runtimef("%s: dimension %d of shape %v has size 0 and is not the selected one, so %s cannot be applied", op, d, self.Sizes(), op)
			}
		}
		rows = s.Keep(Movedim(self, int64(at), 0))
	}
	if s.Err != nil {
		return nil, nil, nil, s.Err
	}
	n := rows.Sizes()[0]
	if n > 1<<32-1 {
		return nil, nil, nil, status.Runtimef("%s: %d elements are more than the 4294967295 that can be sorted", op, n)
	}
	in := s.cast(rows, self.DType())
	sizes := []int64{0}
	if returnInverse {
		sizes[0] = n
		if dim.IsNone() {
			sizes = self.Sizes()
		}
	}
	inverse = s.empty(self, dtype.Int64, sizes...)
	if s.Err != nil {
		return nil, nil, nil, s.Err
	}
	args := uniqueArgs{in: uintptr(in.Data()), n: n, width: rows.Numel() / max(n, 1)}
	if returnInverse {
		args.inverse = uintptr(inverse.Data())
	}
	group := s.sortedGroups
	if k == uniqueConsecutiveKernel {
		group = s.consecutiveGroups
	}
	values, counts = group(fn, args, in, returnCounts)
	switch {
	case s.Err != nil:
	case dim.IsNone():
		values = s.reshape(values, values.Numel())
	default:
		values = s.Keep(Movedim(values, 0, int64(at)))
	}
	if s.Err != nil {
		return nil, nil, nil, s.Err
	}
	return values.Alias(), inverse.Alias(), counts.Alias(), nil
}

// sortedGroups gives the distinct rows of in in order, and where wanted how often each occurs.
func (s *scope) sortedGroups(fn uintptr, args uniqueArgs, in *tensor.Tensor, wantCounts bool) (values, counts *tensor.Tensor) {
	all := s.empty(in, in.DType(), in.Sizes()...)
	scratch := s.empty(in, dtype.Uint8, 2*args.n*kernel.SortEntry(in.DType().Size()))
	counts = s.empty(in, dtype.Int64, args.n*flag(wantCounts))
	if s.Err != nil {
		return nil, nil
	}
	args.values, args.scratch, args.limit = uintptr(all.Data()), uintptr(scratch.Data()), args.n
	if wantCounts {
		args.counts = uintptr(counts.Data())
	}
	if args.n > 0 {
		kernel.Call(fn, unsafe.Pointer(&args))
	}
	if wantCounts {
		counts = s.first(counts, args.found)
	}
	return s.first(all, args.found), counts
}

// consecutiveGroups gives the rows of in that differ from the one before, and where wanted how many equal ones follow each.
// The rows are shared out in pieces: first the groups that start in each are counted, then all are written to their places.
func (s *scope) consecutiveGroups(fn uintptr, args uniqueArgs, in *tensor.Tensor, wantCounts bool) (values, counts *tensor.Tensor) {
	step := max(iter.Grain/max(args.width, 1), 1)
	before := make([]int64, (args.n+step-1)/step+1) // groups that start before each piece
	each := func(visit func(p int64, piece *uniqueArgs)) {
		parallel.For(int64(len(before)-1), 1, func(begin, end int64) {
			for p := begin; p < end; p++ {
				piece := args
				piece.begin, piece.n = p*step, min(step, args.n-p*step)
				visit(p, &piece)
			}
		})
	}
	each(func(p int64, piece *uniqueArgs) {
		kernel.Call(fn, unsafe.Pointer(piece))
		before[p+1] = piece.found
	})
	for p := range before[1:] {
		before[p+1] += before[p]
	}
	args.found = before[len(before)-1]
	values = s.empty(in, in.DType(), append([]int64{args.found}, in.Sizes()[1:]...)...)
	counts = s.empty(in, dtype.Int64, args.found*flag(wantCounts))
	if s.Err != nil {
		return nil, nil
	}
	args.values = uintptr(values.Data())
	if wantCounts {
		args.counts = uintptr(counts.Data())
	}
	var changed atomic.Bool
	each(func(p int64, piece *uniqueArgs) {
		piece.found, piece.limit = before[p], before[p+1]
		kernel.Call(fn, unsafe.Pointer(piece))
		if piece.found != piece.limit {
			changed.Store(true)
		}
	})
	if changed.Load() {
		s.Err = status.Runtimef("%s: the elements were written to while they were counted", s.Op)
		return nil, nil
	}
	kernel.Call(uniqueCounts, unsafe.Pointer(&args))
	return values, counts
}

// first is a tensor of its own of the first n rows of the contiguous tensor t.
func (s *scope) first(t *tensor.Tensor, n int64) *tensor.Tensor {
	if s.Err != nil || t.Sizes()[0] == n {
		return t
	}
	part := s.part(t, 0, 0, n)
	if s.Err != nil {
		return nil
	}
	return s.Keep(rowMajorCopy(s.Op, part, t.DType()))
}

// Isin tells of each element whether it is one of testElements, or with invert whether it is not.
func Isin(out, elements, testElements *tensor.Tensor, _, invert bool) (*tensor.Tensor, error) {
	const op = "isin"
	if err := oneDevice(op, elements, testElements); err != nil {
		return nil, err
	}
	compute := resultType(elements, testElements)
	if elements.DType() == dtype.Bool || testElements.DType() == dtype.Bool {
		return nil, status.NotImplementedf("isin: not implemented for dtype bool")
	}
	fn := memberKernel.Row(compute)
	if fn == 0 {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v", op, compute)
	}
	s := within(op)
	defer s.Close()
	values, tests := s.cast(elements, compute), s.reshape(testElements, testElements.Numel())
	found := s.empty(elements, dtype.Bool, elements.Sizes()...)
	tests = s.cast(tests, compute)
	if s.Err != nil {
		return nil, s.Err
	}
	if found.IsMeta() {
		return s.result(out, found)
	}
	sorted, indices, err := Sort(nil, nil, tests, 0, false)
	s.Keep(sorted, err)
	s.Keep(indices, nil)
	if s.Err != nil {
		return nil, s.Err
	}
	size, n := compute.Size(), values.Numel()
	parallel.For(n, iter.Grain/8, func(begin, end int64) {
		args := uniqueArgs{in: uintptr(sorted.Data()), values: uintptr(values.Data()) + uintptr(begin*size), inverse: uintptr(found.Data()) + uintptr(begin), n: end - begin, width: sorted.Numel()}
		kernel.Call(fn, unsafe.Pointer(&args))
	})
	// Everything is found before out, which may be any of the inputs, is touched.
	if invert {
		_, s.Err = LogicalNot(found, found)
	}
	return s.result(out, found)
}
