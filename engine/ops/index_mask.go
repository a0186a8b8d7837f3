package ops

import (
	"fmt"
	"slices"
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
	"github.com/libtensor/libtensor/engine/view"
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
func (m *maskPieces) move(op string, fn uintptr, place func(p int64, args *maskArgs)) error {
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
		return status.Runtimef("%s: the mask was written to while its elements were selected", op)
	}
	return nil
}

// flatNonzero lists the row-major numbers of t's elements that are not zero.
func flatNonzero(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.IsMeta() {
		return nil, status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", op)
	}
	mask, err := rowMajor(op, t, dtype.Bool)
	if err != nil {
		return nil, err
	}
	defer mask.Release()
	m := countMask(mask)
	out, err := tensor.Empty(op, []int64{m.total()}, dtype.Int64, device.Host)
	if err != nil {
		return nil, err
	}
	return made(out, nil, m.move(op, maskPositions, func(p int64, args *maskArgs) {
		args.to = uintptr(out.Data()) + uintptr(8*m.starts[p])
	}))
}

// nonzeroColumns lists the positions of t's elements that are not zero, one tensor for each dimension.
func nonzeroColumns(op string, t *tensor.Tensor) ([]*tensor.Tensor, error) {
	flat, err := flatNonzero(op, t)
	if err != nil || t.Dim() == 1 {
		return []*tensor.Tensor{flat}, err
	}
	defer flat.Release()
	out := make([]*tensor.Tensor, t.Dim())
	for d := range out {
		if out[d], err = tensor.Empty(op, flat.Sizes(), dtype.Int64, device.Host); err != nil {
			releaseAll(out[:d])
			return nil, err
		}
	}
	columns := make([][]int64, len(out))
	for d := range out {
		columns[d] = int64s(out[d])
	}
	unravel(int64s(flat), t.Sizes(), columns)
	return out, nil
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
	flat, err := flatNonzero("nonzero", self)
	if err != nil {
		return nil, err
	}
	defer flat.Release()
	// As PyTorch's, the result keeps the coordinates of one dimension side by side.
	n, dims := flat.Numel(), int64(self.Dim())
	rows, err := tensor.EmptyStrided("nonzero", []int64{n, dims}, []int64{1, n}, dtype.Int64, self.Device())
	if err != nil {
		return nil, err
	}
	if n > 0 && dims > 0 {
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
	if out == nil {
		return rows, nil
	}
	defer rows.Release()
	if _, err := target("nonzero", out, rows.Sizes(), dtype.Int64, self.Device(), self); err != nil {
		return nil, err
	}
	return out, assign("nonzero", out, rows)
}

// NonzeroNumpy lists the positions of the elements that are not zero, a tensor for each dimension.
func NonzeroNumpy(self *tensor.Tensor) ([]*tensor.Tensor, error) {
	places, err := view.AtLeast1d("nonzero", self)
	if err != nil {
		return nil, err
	}
	defer places.Release()
	return nonzeroColumns("nonzero", places)
}

// Argwhere lists the positions of the elements that are not zero, a row for each.
func Argwhere(self *tensor.Tensor) (*tensor.Tensor, error) { return Nonzero(nil, self) }

// selectByMask gathers the elements whose mask, of self's shape, is set, in row-major order.
func selectByMask(op string, self, mask *tensor.Tensor) (*tensor.Tensor, error) {
	if mask.IsMeta() || self.IsMeta() {
		return nil, status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", op)
	}
	set, err := rowMajor(op, mask, dtype.Bool)
	if err != nil {
		return nil, err
	}
	defer set.Release()
	from, err := rowMajor(op, self, self.DType())
	if err != nil {
		return nil, err
	}
	defer from.Release()
	m := countMask(set)
	out, err := tensor.Empty(op, []int64{m.total()}, self.DType(), self.Device())
	if err != nil {
		return nil, err
	}
	size := self.DType().Size()
	return made(out, nil, m.move(op, maskTake.Row(self.DType().Raw()), func(p int64, args *maskArgs) {
		args.from = uintptr(from.Data()) + uintptr(args.base*size)
		args.to = uintptr(out.Data()) + uintptr(m.starts[p]*size)
	}))
}

func wantBool(op string, mask *tensor.Tensor) error {
	if mask.DType() != dtype.Bool {
		return status.Runtimef("%s: only supports boolean masks, but got mask with dtype %v", op, mask.DType())
	}
	return nil
}

// expandBoth broadcasts two tensors to their common shape.
func expandBoth(op string, a, b *tensor.Tensor) (x, y *tensor.Tensor, err error) {
	sizes, err := shape.Broadcast(op, a.Sizes(), b.Sizes())
	if err != nil {
		return nil, nil, err
	}
	if x, err = view.Expand(op, a, sizes); err != nil {
		return nil, nil, err
	}
	if y, err = view.Expand(op, b, sizes); err != nil {
		x.Release()
	}
	return x, y, err
}

// MaskedSelect gathers the elements whose mask is set; the shapes broadcast.
func MaskedSelect(out, self, mask *tensor.Tensor) (*tensor.Tensor, error) {
	if err := wantBool("masked_select", mask); err != nil {
		return nil, err
	}
	from, set, err := expandBoth("masked_select", self, mask)
	if err != nil {
		return nil, err
	}
	defer from.Release()
	defer set.Release()
	found, err := selectByMask("masked_select", from, set)
	if err != nil || out == nil {
		return found, err
	}
	defer found.Release()
	if _, err := target("masked_select", out, found.Sizes(), self.DType(), self.Device(), self, mask); err != nil {
		return nil, err
	}
	return out, assign("masked_select", out, found)
}

// fillByMask writes the single element of value where mask, which broadcasts to self, is set.
func fillByMask(op string, self, mask, value *tensor.Tensor) error {
	if self.IsMeta() || self.Numel() == 0 {
		return nil
	}
	to, err := view.Raw(op, self, self.Sizes(), self.Strides())
	if err != nil {
		return err
	}
	defer to.Release()
	var p iter.Params
	if value.DType() == self.DType() {
		copy(p[:], unsafe.Slice((*byte)(value.Data()), self.DType().Size()))
	} else {
		p.Set(0, self.DType(), value.Item())
	}
	return iter.Run(op, maskedFillKernel, to.DType(), 1, []*tensor.Tensor{to, mask}, &p)
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
	to := out
	if out != nil {
		if !slices.Equal(sizes, self.Sizes()) {
			return nil, status.Runtimef("%s: output with shape %v doesn't match the broadcast shape %v", op, self.Sizes(), sizes)
		}
		if err := fillable(op, out); err != nil {
			return nil, err
		}
		if mask.Storage() == out.Storage() && !iter.SameView(mask, out) {
			if mask, err = Clone(mask, shape.Preserve); err != nil {
				return nil, err
			}
			defer mask.Release()
		}
	} else {
		from, err := view.Expand(op, self, sizes)
		if err != nil {
			return nil, err
		}
		defer from.Release()
		if to, err = rowMajorCopy(op, from, self.DType()); err != nil {
			return nil, err
		}
	}
	return made(to, out, fillByMask(op, to, mask, value))
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
	if out != nil && !slices.Equal(sizes, self.Sizes()) {
		return nil, status.Runtimef("%s: output with shape %v doesn't match the broadcast shape %v", op, self.Sizes(), sizes)
	}
	from, err := view.Expand(op, self, sizes)
	if err != nil {
		return nil, err
	}
	defer from.Release()
	base := from
	if out != nil {
		base = self
	}
	return modified(op, out, base, writable, shape.Contiguous, func(to *tensor.Tensor) error {
		if to.IsMeta() {
			return nil
		}
		full, err := view.Expand(op, mask, sizes)
		if err != nil {
			return err
		}
		defer full.Release()
		return scatterByMask(op, to, full, source, func(set int64) error {
			if set > source.Numel() {
				return status.Runtimef("%s: expected mask to select at most the %d elements of source, but it selects %d", op, source.Numel(), set)
			}
			return nil
		})
	})
}

// scatterByMask writes the elements of source, one after another, where a mask of to's shape is set. fits refuses numbers of
// set elements that source is not for.
func scatterByMask(op string, to, mask, source *tensor.Tensor, fits func(set int64) error) error {
	set, err := rowMajor(op, mask, dtype.Bool)
	if err != nil {
		return err
	}
	defer set.Release()
	values, err := rowMajor(op, source, source.DType())
	if err != nil {
		return err
	}
	defer values.Release()
	m := countMask(set)
	if err := fits(m.total()); err != nil {
		return err
	}
	work, err := rowMajor(op, to, to.DType())
	if err != nil {
		return err
	}
	defer work.Release()
	if values.Storage() == work.Storage() {
		if values, err = rowMajorCopy(op, values, values.DType()); err != nil {
			return err
		}
		defer values.Release()
	}
	size := to.DType().Size()
	err = m.move(op, maskGive.Row(to.DType().Raw()), func(p int64, args *maskArgs) {
		args.from = uintptr(values.Data()) + uintptr(m.starts[p]*size)
		args.to = uintptr(work.Data()) + uintptr(args.base*size)
	})
	if err == nil && work.Storage() != to.Storage() {
		iter.Copy(to, work)
	}
	return err
}
