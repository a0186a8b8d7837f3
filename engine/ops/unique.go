package ops

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
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
	memberKernel            = kernel.Get("member")
)

// uniqueArgs mirrors unique_args of unique.h.
type uniqueArgs struct {
	in, values, inverse, counts, scratch uintptr
	n, width, found                      int64
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
	s := &scope{op: op}
	defer s.close()
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
		rows = s.keep(Movedim(self, int64(at), 0))
	}
	if s.err != nil {
		return nil, nil, nil, s.err
	}
	n := rows.Sizes()[0]
	if n > 1<<32-1 {
		return nil, nil, nil, status.Runtimef("%s: %d elements are more than the 4294967295 that can be sorted", op, n)
	}
	in := s.cast(rows, self.DType())
	all := s.empty(self, self.DType(), rows.Sizes()...)
	scratch := s.keep(tensor.Empty(op, []int64{n * kernel.SortEntry}, dtype.Uint8, device.Host))
	if s.err != nil {
		return nil, nil, nil, s.err
	}
	args := uniqueArgs{in: uintptr(in.Data()), values: uintptr(all.Data()), scratch: uintptr(scratch.Data()), n: n, width: rows.Numel() / max(n, 1)}
	made := [2]*tensor.Tensor{}
	for i, wanted := range []bool{returnInverse, returnCounts} {
		sizes := []int64{0}
		if wanted {
			sizes[0] = n
		}
		if wanted && i == 0 && dim.IsNone() {
			sizes = self.Sizes()
		}
		made[i] = s.empty(self, dtype.Int64, sizes...)
		if s.err != nil {
			return nil, nil, nil, s.err
		}
		if wanted {
			*[]*uintptr{&args.inverse, &args.counts}[i] = uintptr(made[i].Data())
		}
	}
	if n > 0 {
		kernel.Call(fn, unsafe.Pointer(&args))
	}
	counts = made[1]
	if returnCounts {
		counts = s.first(counts, args.found)
	}
	distinct := s.first(all, args.found)
	switch {
	case s.err != nil:
	case dim.IsNone():
		distinct = s.reshape(distinct, args.found)
	default:
		distinct = s.keep(Movedim(distinct, 0, int64(at)))
	}
	if s.err != nil {
		return nil, nil, nil, s.err
	}
	return distinct.Alias(), made[0].Alias(), counts.Alias(), nil
}

// first is a tensor of its own of the first n rows of the contiguous tensor t.
func (s *scope) first(t *tensor.Tensor, n int64) *tensor.Tensor {
	if s.err != nil || t.Sizes()[0] == n {
		return t
	}
	part := s.part(t, 0, 0, n)
	if s.err != nil {
		return nil
	}
	return s.keep(castTo(s.op, part, t.DType()))
}

// Isin tells of each element whether it is one of testElements, or with invert whether it is not.
func Isin(out, elements, testElements *tensor.Tensor, _, invert bool) (*tensor.Tensor, error) {
	const op = "isin"
	if err := oneDevice(op, elements, testElements); err != nil {
		return nil, err
	}
	compute := resultType(elements, testElements)
	fn := memberKernel.Row(compute)
	if fn == 0 {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v", op, compute)
	}
	to, err := reductionOutput(op, out, elements.Sizes(), dtype.Bool, elements)
	if err != nil || to.IsMeta() {
		return to, err
	}
	s := &scope{op: op}
	defer s.close()
	values, tests := s.cast(elements, compute), s.reshape(testElements, testElements.Numel())
	found := s.empty(elements, dtype.Bool, elements.Sizes()...)
	if s.err != nil {
		return made(to, out, s.err)
	}
	tests = s.cast(tests, compute)
	if s.err != nil {
		return made(to, out, s.err)
	}
	sorted, indices, err := Sort(nil, nil, tests, 0, false)
	s.keep(sorted, err)
	s.keep(indices, nil)
	if s.err != nil {
		return made(to, out, s.err)
	}
	size, n := compute.Size(), values.Numel()
	parallel.For(n, iter.Grain/8, func(begin, end int64) {
		args := uniqueArgs{in: uintptr(sorted.Data()), values: uintptr(values.Data()) + uintptr(begin*size), inverse: uintptr(found.Data()) + uintptr(begin), n: end - begin, width: sorted.Numel()}
		kernel.Call(fn, unsafe.Pointer(&args))
	})
	if invert {
		_, err = LogicalNot(to, found)
		return made(to, out, err)
	}
	iter.Copy(to, found)
	return to, nil
}
