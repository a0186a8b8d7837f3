package ops

import (
	"slices"
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
	gatherKernel     = kernel.Get("gather")
	putKernel        = kernel.Get("put")
	maskedFillKernel = kernel.Get("masked_fill")
	indexRange       = kernel.Get("index_range").Row(0)
)

// bytesDType is the dtype under which kernels move elements of d as plain bytes.
func bytesDType(d dtype.DType) dtype.DType {
	switch d.Size() {
	case 1:
		return dtype.Uint8
	case 2:
		return dtype.Int16
	case 4:
		return dtype.Int32
	case 8:
		return dtype.Int64
	}
	return dtype.Complex128
}

// asBytes views t as elements of bytesDType, with the given geometry.
func asBytes(op string, t *tensor.Tensor, sizes, strides []int64) (*tensor.Tensor, error) {
	return tensor.New(op, t.Storage(), bytesDType(t.DType()), sizes, strides, t.Offset())
}

// at is where an indexed read or write finds its elements: a view of the indexed tensor that stands still along the
// dimensions of index, and the number of elements from one position to the next.
type at struct {
	sizes, strides []int64
	step           int64
	index          *tensor.Tensor // broadcasts to sizes
}

// read fills out, of shape a.sizes, from self.
func (a *at) read(op string, out, self *tensor.Tensor) error {
	if out.Numel() == 0 {
		return nil
	}
	from, err := asBytes(op, self, a.sizes, a.strides)
	if err != nil {
		return err
	}
	defer from.Release()
	to, err := asBytes(op, out, out.Sizes(), out.Strides())
	if err != nil {
		return err
	}
	defer to.Release()
	return iter.Run(op, gatherKernel, to.DType(), 1, []*tensor.Tensor{to, from, a.index}, a.params(self.DType()))
}

// write stores source, of self's dtype, at the indexed places of self; the last of several writes to a place stays.
func (a *at) write(op string, self, source *tensor.Tensor) error {
	from, err := expand(op, source, a.sizes)
	if err != nil {
		return err
	}
	defer from.Release()
	raw, err := asBytes(op, from, from.Sizes(), from.Strides())
	if err != nil {
		return err
	}
	defer raw.Release()
	to, err := asBytes(op, self, a.sizes, a.strides)
	if err != nil {
		return err
	}
	defer to.Release()
	return iter.Run(op, putKernel, to.DType(), 1, []*tensor.Tensor{to, a.index, raw}, a.params(self.DType()))
}

// combine joins source, of self's dtype, into the indexed places of self by k.
func (a *at) combine(op string, k *kernel.Kernel, self, source *tensor.Tensor) error {
	if !k.Has(self.DType()) {
		return status.NotImplementedf("%s: not implemented for dtype %v", op, self.DType())
	}
	from, err := expand(op, source, a.sizes)
	if err != nil {
		return err
	}
	defer from.Release()
	to, err := self.View(op, a.sizes, a.strides, self.Offset())
	if err != nil {
		return err
	}
	defer to.Release()
	return iter.Run(op, k, self.DType(), 1, []*tensor.Tensor{to, a.index, from}, a.params(self.DType()))
}

func (a *at) params(d dtype.DType) *iter.Params {
	p := new(iter.Params)
	p.Set(0, dtype.Int64, dtype.IntScalar(a.step*d.Size()))
	return p
}

// placeAlong is at for an index that names positions of dimension d of self, its own sizes being those of the result.
func placeAlong(self *tensor.Tensor, d int, index *tensor.Tensor) *at {
	a := &at{sizes: index.Sizes(), strides: slices.Clone(self.Strides()), step: 1, index: index}
	if len(a.strides) > 0 {
		a.step, a.strides[d] = a.strides[d], 0
	}
	return a
}

// whole gives an index the shape of other, in which its positions run along dimension d.
func whole(op string, index *tensor.Tensor, other []int64, d int) (*tensor.Tensor, error) {
	if len(other) == 0 {
		return index.View(op, nil, nil, index.Offset())
	}
	strides := make([]int64, len(other))
	strides[d] = 1
	if index.Dim() > 0 {
		strides[d] = index.Strides()[0]
	}
	return index.View(op, other, strides, index.Offset())
}

// positions is a contiguous int64 form of an index whose values are all in [0, size), or, where wrap is set, in
// [-size, size) and made non-negative. outOfRange makes the error for a value that is not.
func positions(op string, index *tensor.Tensor, size int64, wrap bool, outOfRange func(i int64) error) (*tensor.Tensor, error) {
	t, err := cloneUnless(op, index, index.DType() == dtype.Int64 && index.IsContiguous(), dtype.Int64)
	if err != nil || t.Numel() == 0 || t.IsMeta() {
		return t, err
	}
	lo, hi := valueRange(t)
	least := int64(0)
	if wrap {
		least = -size
	}
	if lo < least || hi >= size {
		defer t.Release()
		for _, i := range int64s(t) {
			if i < least || i >= size {
				return nil, outOfRange(i)
			}
		}
	}
	if lo >= 0 {
		return t, nil
	}
	wrapped, err := tensor.Empty(op, t.Sizes(), dtype.Int64, device.Host)
	if err == nil {
		to := int64s(wrapped)
		for k, i := range int64s(t) {
			if i < 0 {
				i += size
			}
			to[k] = i
		}
	}
	t.Release()
	return wrapped, err
}

// cloneUnless is t itself when it will do, and otherwise a contiguous copy in dtype d.
func cloneUnless(op string, t *tensor.Tensor, good bool, d dtype.DType) (*tensor.Tensor, error) {
	if good {
		return t.Alias(), nil
	}
	return cloned(op, t, d, t.Device(), shape.Contiguous)
}

// valueRange gives the smallest and the largest value of a contiguous int64 tensor.
func valueRange(t *tensor.Tensor) (lo, hi int64) {
	type rangeOf struct{ index, n, lowest, highest int64 }
	pieces := min(int64(parallel.Threads()), t.Numel()/iter.Grain+1)
	found := make([]rangeOf, pieces)
	parallel.For(pieces, 1, func(begin, end int64) {
		for p := begin; p < end; p++ {
			from, to := t.Numel()*p/pieces, t.Numel()*(p+1)/pieces
			found[p] = rangeOf{index: int64(uintptr(t.Data())) + 8*from, n: to - from}
			kernel.Call(indexRange, unsafe.Pointer(&found[p]))
		}
	})
	lo, hi = found[0].lowest, found[0].highest
	for _, f := range found[1:] {
		lo, hi = min(lo, f.lowest), max(hi, f.highest)
	}
	return lo, hi
}

// indexError is the error of indexing by a number that a dimension does not have.
func indexError(op string, d int, size int64) func(int64) error {
	return func(i int64) error {
		return status.Indexf("%s: index %d is out of bounds for dimension %d with size %d", op, i, d, size)
	}
}

// runtimeError is indexError of the operators for which PyTorch raises a RuntimeError.
func runtimeError(op string, d int, size int64) func(int64) error {
	return func(i int64) error {
		return status.Runtimef("%s: index %d is out of bounds for dimension %d with size %d", op, i, d, size)
	}
}

// sizeAt is the size of dimension d; a zero-dim tensor counts as one of size 1.
func sizeAt(t *tensor.Tensor, d int) int64 {
	if t.Dim() == 0 {
		return 1
	}
	return t.Sizes()[d]
}

// wantIndex refuses index dtypes other than int64 and, where short is set, int32.
func wantIndex(op string, index *tensor.Tensor, short bool) error {
	if d := index.DType(); d == dtype.Int64 || short && d == dtype.Int32 {
		return nil
	}
	if short {
		return status.Runtimef("%s: expected dtype int32/int64 for index, but got %v", op, index.DType())
	}
	return status.Runtimef("%s: expected dtype int64 for index, but got %v", op, index.DType())
}

// target is the tensor that an indexing operator writes its result to: a new contiguous one, or out, resized.
func target(op string, out *tensor.Tensor, sizes []int64, d dtype.DType, dev device.Device, inputs ...*tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return tensor.Empty(op, sizes, d, dev)
	}
	if out.DType() != d {
		return nil, status.Runtimef("%s: expected out to have dtype %v, but got %v", op, d, out.DType())
	}
	if err := iter.CheckOutput(op, out, d, dev); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if in == out || in.Storage() == out.Storage() && iter.Overlaps(in, out) {
			return nil, status.Runtimef("%s: out must not share memory with an input; clone() it first", op)
		}
	}
	if err := resize(op, out, sizes, shape.NoFormat); err != nil {
		return nil, err
	}
	return out, writable(op, out)
}
