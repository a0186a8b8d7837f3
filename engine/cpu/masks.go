package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	maskCount     = kernel.Of(kernelapi.MaskCount).Row(0)
	maskPositions = kernel.Of(kernelapi.MaskPositions).Row(0)
	maskTake      = kernel.Of(kernelapi.MaskTake)
	maskGive      = kernel.Of(kernelapi.MaskGive)
)

// maskPieces is a contiguous mask split into blocks, with the number of set bytes before each.
type maskPieces struct {
	data   uintptr
	n      int64
	starts []int64 // indices of the selected elements at which each block begins; one more holds the total
}

const maskPiece = 1 << 16

func countMask(mask *tensor.Tensor) maskPieces {
	m := maskPieces{data: uintptr(mask.Data()), n: mask.Numel()}
	pieces := (m.n + maskPiece - 1) / maskPiece
	m.starts = make([]int64, pieces+1)
	m.forEach(func(p int64, args *maskArgs) {
		kernel.Call(maskCount, unsafe.Pointer(args))
		m.starts[p+1] = args.count
	})
	for p := range pieces {
		m.starts[p+1] += m.starts[p]
	}
	return m
}

func (m *maskPieces) countSelected() int64 { return m.starts[len(m.starts)-1] }

// forEach calls body for every block, on several threads.
func (m *maskPieces) forEach(body func(p int64, args *maskArgs)) {
	parallel.For(int64(len(m.starts)-1), 1, func(begin, end int64) {
		args := new(maskArgs)
		for p := begin; p < end; p++ {
			base := p * maskPiece
			*args = maskArgs{mask: m.data + uintptr(base), n: min(maskPiece, m.n-base), base: base}
			body(p, args)
		}
	})
}

// copySelected runs a kernel that copies the selected elements of every block; place sets the address. Another thread may write to the mask
// after it was counted: args.limit keeps the kernel within the buffer.
func (m *maskPieces) copySelected(op string, fn uintptr, place func(p int64, args *maskArgs)) error {
	var changed atomic.Bool
	m.forEach(func(p int64, args *maskArgs) {
		args.limit = m.starts[p+1] - m.starts[p]
		place(p, args)
		kernel.Call(fn, unsafe.Pointer(args))
		if args.count != args.limit {
			changed.Store(true)
		}
	})
	if changed.Load() {
		return status.Runtimef("%s: another thread wrote to the mask during the call", op)
	}
	return nil
}

// selectSet takes the elements whose mask is set, or numbers them.
func selectSet(op string, w backend.Selection) (_ *tensor.Tensor, err error) {
	m := countMask(w.Mask)
	d, fn := dtype.Int64, maskPositions
	if w.From != nil {
		d = w.From.DType()
		fn = maskTake.Row(d.Raw())
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	out := s.Track(tensor.Empty(op, []int64{m.countSelected()}, d, device.Host))
	s.Check(m.copySelected(op, fn, func(p int64, args *maskArgs) {
		args.to = at(out, m.starts[p])
		if w.From != nil {
			args.from = at(w.From, args.base)
		}
	}))
	return s.Return(out)
}

// placeMasked writes values where a mask is set.
func placeMasked(op string, w backend.Placement) error {
	m := countMask(w.Mask)
	if err := w.Fits(m.countSelected()); err != nil {
		return err
	}
	return m.copySelected(op, maskGive.Row(w.To.DType().Raw()), func(p int64, args *maskArgs) {
		args.from, args.to = at(w.Values, m.starts[p]), at(w.To, args.base)
	})
}

// unravelIndices turns row-major numbers into coordinates.
func unravelIndices(_ string, w backend.Coordinates) error {
	numbers, dims := elementsOf[int64](w.Numbers), len(w.Sizes)
	if len(numbers) == 0 || dims == 0 {
		return nil
	}
	columns := make([][]int64, dims)
	step := int64(1)
	if w.To != nil {
		step = w.To.Strides()[0]
	}
	for d := range columns {
		if w.To == nil {
			columns[d] = elementsOf[int64](w.Columns[d])
		} else {
			columns[d] = unsafe.Slice((*int64)(unsafe.Add(w.To.Data(), 8*int64(d)*w.To.Strides()[1])), int64(len(numbers)-1)*step+1)
		}
	}
	total := shape.Product(w.Sizes)
	parallel.For(int64(len(numbers)), Grain/8, func(begin, end int64) {
		for i := begin; i < end; i++ {
			at := numbers[i]
			if at < 0 {
				at += total
			}
			for d := dims - 1; d > 0; d-- {
				next := at / w.Sizes[d]
				columns[d][i*step] = at - next*w.Sizes[d]
				at = next
			}
			columns[0][i*step] = at
		}
	})
	return nil
}
