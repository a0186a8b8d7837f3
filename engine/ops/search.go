package ops

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var searchKernel = kernel.Get("searchsorted")

// Searchsorted gives the position in sorted (along its last dimension) before which each element of self could be inserted;
// after equal elements where right is set.
func Searchsorted(out, sorted, self *tensor.Tensor, outInt32, right bool, side string, sorter *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "searchsorted"
	if side != "" && side != "left" && side != "right" {
		return nil, status.Runtimef("%s: side can only be 'left' or 'right' but got %q", op, side)
	}
	if side == "left" && right {
		return nil, status.Runtimef("%s: side and right can't be set to opposites, got side of left while right was True", op)
	}
	if sorted.Dim() == 0 {
		return nil, status.Runtimef("%s: the sorted sequence must have at least 1 dimension", op)
	}
	if sorted.Dim() > 1 && (self.Dim() != sorted.Dim() || !slices.Equal(self.Sizes()[:self.Dim()-1], sorted.Sizes()[:sorted.Dim()-1])) {
		return nil, status.Runtimef("%s: the sorted sequence must be 1-D or agree with the input in all dimensions but the last, got %v and %v", op, sorted.Sizes(), self.Sizes())
	}
	if sorter != nil {
		if !slices.Equal(sorter.Sizes(), sorted.Sizes()) {
			return nil, status.Runtimef("%s: sorter must have the shape of the sorted sequence, got %v and %v", op, sorter.Sizes(), sorted.Sizes())
		}
		if sorter.DType() != dtype.Int64 {
			return nil, status.Runtimef("%s: sorter must be a tensor of int64, got %v", op, sorter.DType())
		}
	}
	return search(op, out, sorted, self, outInt32, right || side == "right", sorter)
}

// Bucketize is Searchsorted in one sequence of boundaries.
func Bucketize(out, self, boundaries *tensor.Tensor, outInt32, right bool) (*tensor.Tensor, error) {
	if boundaries.Dim() != 1 {
		return nil, status.Runtimef("bucketize: boundaries tensor must be 1 dimension, but got dim(%d)", boundaries.Dim())
	}
	return search("bucketize", out, boundaries, self, outInt32, right, nil)
}

func search(op string, out, sorted, self *tensor.Tensor, outInt32, right bool, sorter *tensor.Tensor) (*tensor.Tensor, error) {
	if err := cmp.Or(oneDevice(op, self, sorted, sorter), wantOrder(op, self), wantOrder(op, sorted)); err != nil {
		return nil, err
	}
	d := dtype.Int64
	if outInt32 {
		d = dtype.Int32
	}
	if err := sameDType(op, out, d); err != nil {
		return nil, err
	}
	// Everything is found before out, which may be any of the inputs, is touched.
	found, err := tensor.Empty(op, self.Sizes(), dtype.Int64, self.Device())
	if err != nil {
		return nil, err
	}
	defer found.Release()
	if !found.IsMeta() && found.Numel() > 0 {
		if err := searchInto(op, found, sorted, self, right, sorter); err != nil {
			return nil, err
		}
	}
	if out == nil && d == dtype.Int64 {
		return found.Alias(), nil
	}
	to, err := iter.Output(op, out, self.Sizes(), d, self.Device())
	if err != nil {
		return nil, err
	}
	if !to.IsMeta() {
		iter.Copy(to, found)
	}
	return to, nil
}

// searchInto fills found, which is contiguous.
func searchInto(op string, found, sorted, self *tensor.Tensor, right bool, sorter *tensor.Tensor) error {
	compute := resultType(sorted, self)
	keys, err := rowMajor(op, sorted, compute)
	if err != nil {
		return err
	}
	defer keys.Release()
	values, err := rowMajor(op, self, compute)
	if err != nil {
		return err
	}
	defer values.Release()
	n := sorted.Sizes()[sorted.Dim()-1]
	rows, step := int64(1), int64(0)
	if sorted.Dim() > 1 {
		rows, step = sorted.Numel()/max(n, 1), n
		if n == 0 {
			rows = 1
		}
	}
	var order *tensor.Tensor
	if sorter != nil {
		// A copy, which no other thread changes once it is checked.
		if order, err = rowMajorCopy(op, sorter, dtype.Int64); err != nil {
			return err
		}
		defer order.Release()
		if bad, found, err := iter.OutOfRange(op, outOfRangeKernel, order, n, false); err != nil || found {
			return cmp.Or(err, indexError(op, sorter.Dim()-1, n)(bad))
		}
	}
	fn, size := searchKernel.Row(compute), compute.Size()
	width := self.Numel() / rows
	run := func(row, rows, begin, end int64) {
		at := row*width + begin
		s := kernel.Scan{In: uintptr(keys.Data()) + uintptr(row*step*size), Outer: rows, N: n, Inner: step, Width: end - begin, Params: [2]int64{flag(right)}}
		s.Out[0], s.Out[1] = uintptr(values.Data())+uintptr(at*size), uintptr(found.Data())+uintptr(at*8)
		if order != nil {
			s.Scratch = uintptr(order.Data()) + uintptr(row*step*8)
		}
		kernel.Call(fn, unsafe.Pointer(&s))
	}
	if rows == 1 {
		parallel.For(width, iter.Grain/8, func(begin, end int64) { run(0, 1, begin, end) })
	} else {
		parallel.For(rows, max(iter.Grain/(8*width), 1), func(begin, end int64) { run(begin, end-begin, 0, width) })
	}
	return nil
}

// elements views the data of a contiguous tensor.
func elements[T any](t *tensor.Tensor) []T { return unsafe.Slice((*T)(t.Data()), t.Numel()) }

// elementAt is the address of element i of a contiguous tensor.
func elementAt(t *tensor.Tensor, i int64) unsafe.Pointer {
	return unsafe.Add(t.Data(), i*t.DType().Size())
}
