package ops

import (
	"cmp"
	"fmt"
	"sync/atomic"
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
	maskCount     = kernel.Get("mask_count").Row(0)
	maskPositions = kernel.Get("mask_positions").Row(0)
	maskTake      = kernel.Get("mask_take")
	maskGive      = kernel.Get("mask_give")
)

func formatShape(sizes []int64) string { return fmt.Sprint(sizes) }

// maskArgs mirrors mask_args of masks.h.
type maskArgs struct {
	mask, from, to        uintptr
	n, base, count, limit int64
}

// maskPieces is a contiguous mask cut into pieces, with the number of set bytes before each.
type maskPieces struct {
	data   uintptr
	n      int64
	starts []int64 // of the selected elements of each piece; one more holds the total
}

const maskPiece = 1 << 16

func countMask(mask *tensor.Tensor) maskPieces {
	m := maskPieces{data: uintptr(mask.Data()), n: mask.Numel()}
	pieces := (m.n + maskPiece - 1) / maskPiece
	m.starts = make([]int64, pieces+1)
	m.each(func(p int64, args *maskArgs) {
		kernel.Call(maskCount, unsafe.Pointer(args))
		m.starts[p+1] = args.count
	})
	for p := range pieces {
		m.starts[p+1] += m.starts[p]
	}
	return m
}

func (m *maskPieces) total() int64 { return m.starts[len(m.starts)-1] }

// each calls body for every piece, on several threads.
func (m *maskPieces) each(body func(p int64, args *maskArgs)) {
	parallel.For(int64(len(m.starts)-1), 1, func(begin, end int64) {
		args := new(maskArgs)
		for p := begin; p < end; p++ {
			base := p * maskPiece
			*args = maskArgs{mask: m.data + uintptr(base), n: min(maskPiece, m.n-base), base: base}
			body(p, args)
		}
	})
}

// move runs a kernel that moves the selected elements of every piece, whose memory place gives. Another thread may write to
// the mask after it was counted: no more elements are moved than there is room for.
func (s *scope) move(m *maskPieces, fn uintptr, place func(p int64, args *maskArgs)) {
	if s.Err != nil {
		return
	}
	var changed atomic.Bool
	m.each(func(p int64, args *maskArgs) {
		args.limit = m.starts[p+1] - m.starts[p]
		place(p, args)
		kernel.Call(fn, unsafe.Pointer(args))
		if args.count != args.limit {
			changed.Store(true)
		}
	})
	if changed.Load() {
		s.Err = status.Runtimef("%s: the mask was written to while its elements were selected", s.Op)
	}
}

// flatNonzero lists the row-major numbers of t's elements that are not zero.
func (s *scope) flatNonzero(t *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	if t.IsMeta() {
		s.Err = status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", s.Op)
		return nil
	}
	mask := s.cast(t, dtype.Bool)
	if s.Err != nil {
		return nil
	}
	m := countMask(mask)
	out := s.Keep(tensor.Empty(s.Op, []int64{m.total()}, dtype.Int64, device.Host))
	s.move(&m, maskPositions, func(p int64, args *maskArgs) {
		args.to = uintptr(out.Data()) + uintptr(8*m.starts[p])
	})
	return out
}

// nonzeroColumns lists the positions of t's elements that are not zero, one tensor for each dimension.
func (s *scope) nonzeroColumns(t *tensor.Tensor) []*tensor.Tensor {
	flat := s.flatNonzero(t)
	if s.Err != nil || t.Dim() == 1 {
		return []*tensor.Tensor{flat}
	}
	out, columns := make([]*tensor.Tensor, t.Dim()), make([][]int64, t.Dim())
	for d := range out {
		if out[d] = s.empty(flat, dtype.Int64, flat.Sizes()...); s.Err != nil {
			return nil
		}
		columns[d] = int64s(out[d])
	}
	unravel(int64s(flat), t.Sizes(), columns)
	return out
}

// unravel writes the coordinates of row-major numbers, a column for each dimension.
func unravel(flat, sizes []int64, columns [][]int64) {
	parallel.For(int64(len(flat)), iter.Grain/8, func(begin, end int64) {
		for i := begin; i < end; i++ {
			at := flat[i]
			for d := len(sizes) - 1; d > 0; d-- {
				next := at / sizes[d]
				columns[d][i] = at - next*sizes[d]
				at = next
			}
			columns[0][i] = at
		}
	})
}

// Nonzero lists the positions of the elements that are not zero, a row for each.
func Nonzero(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	s := within("nonzero")
	defer s.Close()
	flat := s.flatNonzero(self)
	if s.Err != nil {
		return nil, s.Err
	}
	// As PyTorch's, the result keeps the coordinates of one dimension side by side.
	n, dims := flat.Numel(), int64(self.Dim())
	rows := s.Keep(tensor.EmptyStrided(s.Op, []int64{n, dims}, []int64{1, n}, dtype.Int64, self.Device()))
	if s.Err == nil && n > 0 && dims > 0 {
		to := unsafe.Slice((*int64)(rows.Data()), n*dims)
		columns := make([][]int64, dims)
		for d := range columns {
			columns[d] = to[int64(d)*n : int64(d+1)*n]
		}
		if dims == 1 {
			copy(to, int64s(flat))
		} else {
			unravel(int64s(flat), self.Sizes(), columns)
		}
	}
	return s.result(out, rows, self)
}

// NonzeroNumpy lists the positions of the elements that are not zero, a tensor for each dimension.
func NonzeroNumpy(self *tensor.Tensor) ([]*tensor.Tensor, error) {
	s := within("nonzero")
	defer s.Close()
	places := s.vector(self)
	if s.Err != nil {
		return nil, s.Err
	}
	return s.GiveAll(s.nonzeroColumns(places))
}

// Argwhere lists the positions of the elements that are not zero, a row for each.
func Argwhere(self *tensor.Tensor) (*tensor.Tensor, error) { return Nonzero(nil, self) }

// selectByMask gathers the elements whose mask, of self's shape, is set, in row-major order.
func (s *scope) selectByMask(self, mask *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	if mask.IsMeta() || self.IsMeta() {
		s.Err = status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", s.Op)
		return nil
	}
	set, from := s.cast(mask, dtype.Bool), s.cast(self, self.DType())
	if s.Err != nil {
		return nil
	}
	m := countMask(set)
	out := s.empty(self, self.DType(), m.total())
	size := self.DType().Size()
	s.move(&m, maskTake.Row(self.DType().Raw()), func(p int64, args *maskArgs) {
		args.from = uintptr(from.Data()) + uintptr(args.base*size)
		args.to = uintptr(out.Data()) + uintptr(m.starts[p]*size)
	})
	return out
}

func wantBool(op string, mask *tensor.Tensor) error {
	if mask.DType() != dtype.Bool {
		return status.Runtimef("%s: only supports boolean masks, but got mask with dtype %v", op, mask.DType())
	}
	return nil
}

// MaskedSelect gathers the elements whose mask is set; the shapes broadcast.
func MaskedSelect(out, self, mask *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "masked_select"
	if err := wantBool(op, mask); err != nil {
		return nil, err
	}
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	return s.result(out, s.selectByMask(s.expand(self, sizes), s.expand(mask, sizes)), self, mask)
}

// fillByMask writes the single element of value where mask, which broadcasts to self, is set.
func (s *scope) fillByMask(self, mask, value *tensor.Tensor) {
	if s.Err != nil || self.IsMeta() || self.Numel() == 0 {
		return
	}
	to := s.raw(self, self.Sizes(), self.Strides())
	if s.Err != nil {
		return
	}
	var p iter.Params
	if value.DType() == self.DType() {
		copy(p[:], unsafe.Slice((*byte)(value.Data()), self.DType().Size()))
	} else {
		p.Set(0, self.DType(), value.Item())
	}
	s.Err = iter.Run(s.Op, maskedFillKernel, to.DType(), 1, []*tensor.Tensor{to, mask}, &p)
}

// MaskedFill writes value where mask is set, to self in place or to a copy of it.
func MaskedFill(out, self, mask, value *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "masked_fill"
	if err := oneDevice(op, self, mask); err != nil {
		return nil, err
	}
	if err := wantBool(op, mask); err != nil {
		return nil, err
	}
	if value.Dim() != 0 {
		return nil, status.Runtimef("%s: only supports a 0-dimensional value tensor, but got tensor with %d dimension(s)", op, value.Dim())
	}
	if value.IsMeta() {
		return nil, status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	}
	if err := checkFits(op, value.Item(), self.DType()); err != nil {
		return nil, err
	}
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	if out == nil {
		to := s.fresh(s.expand(self, sizes), self.DType())
		s.fillByMask(to, mask, value)
		return s.Give(to)
	}
	if s.Err = cmp.Or(iter.Fits(op, self, sizes), iter.Fillable(op, out)); s.Err == nil && !iter.SameView(mask, out) {
		mask = s.apartFrom(out, mask)
	}
	s.fillByMask(out, mask, value)
	return s.in(out)
}

// MaskedScatter writes the elements of source, one after another, where mask is set.
func MaskedScatter(out, self, mask, source *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "masked_scatter"
	if err := oneDevice(op, self, mask, source); err != nil {
		return nil, err
	}
	if err := wantBool(op, mask); err != nil {
		return nil, err
	}
	if self.DType() != source.DType() {
		return nil, status.Runtimef("%s: expected self and source to have same dtypes but got %v and %v", op, self.DType(), source.DType())
	}
	sizes, err := shape.Broadcast(op, self.Sizes(), mask.Sizes())
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	base := self
	if out == nil {
		base = s.expand(self, sizes)
	} else {
		s.Err = iter.Fits(op, self, sizes)
	}
	return s.modified(out, base, iter.Writable, shape.Contiguous, func(to *tensor.Tensor) {
		if !to.IsMeta() {
			s.scatterByMask(to, s.expand(mask, sizes), source, func(set int64) error {
				if set > source.Numel() {
					return status.Runtimef("%s: expected mask to select at most the %d elements of source, but it selects %d", op, source.Numel(), set)
				}
				return nil
			})
		}
	})
}

// scatterByMask writes the elements of source, one after another, where a mask of to's shape is set. fits refuses numbers of
// set elements that source is not for.
func (s *scope) scatterByMask(to, mask, source *tensor.Tensor, fits func(set int64) error) {
	if s.Err != nil {
		return
	}
	set, values := s.cast(mask, dtype.Bool), s.cast(source, source.DType())
	if s.Err != nil {
		return
	}
	m := countMask(set)
	s.Err = fits(m.total())
	work := s.cast(to, to.DType())
	if s.Err != nil {
		return
	}
	values = s.apartFrom(work, values)
	size := to.DType().Size()
	s.move(&m, maskGive.Row(to.DType().Raw()), func(p int64, args *maskArgs) {
		args.from = uintptr(values.Data()) + uintptr(m.starts[p]*size)
		args.to = uintptr(work.Data()) + uintptr(args.base*size)
	})
	if work.Storage() != to.Storage() {
		s.copy(to, work)
	}
}
