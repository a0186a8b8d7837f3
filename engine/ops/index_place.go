package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

var (
	gatherKernel     = kernel.Get("gather")
	putKernel        = kernel.Get("put")
	maskedFillKernel = kernel.Get("masked_fill")
	outOfRangeKernel = kernel.Get("out_of_range")
	locateKernel     = kernel.Get("locate")
)

// indexed is where an indexed read or write finds its elements: a view of the indexed tensor that stands still along the
// dimensions of index, the number of elements from one position to the next, and the number of positions.
type indexed struct {
	sizes, strides []int64
	step, size     int64
	index          *tensor.Tensor // broadcasts to sizes; negative positions count from the end
}

// read fills out, of shape a.sizes, from self.
func (a *indexed) read(op string, out, self *tensor.Tensor) error {
	if out.Numel() == 0 {
		return nil
	}
	from, err := view.Raw(op, self, a.sizes, a.strides)
	if err != nil {
		return err
	}
	defer from.Release()
	to, err := view.Raw(op, out, out.Sizes(), out.Strides())
	if err != nil {
		return err
	}
	defer to.Release()
	return a.run(op, gatherKernel, to, from, a.index)
}

// change is a join into indexed places with its views made, after which nothing but the kernel remains.
type change struct {
	at       *indexed
	op       string
	k        *kernel.Kernel
	to, from *tensor.Tensor
}

func (c *change) run() error { return c.at.run(c.op, c.k, c.to, c.at.index, c.from) }

func (c *change) close() {
	c.to.Release()
	c.from.Release()
}

// joining is the change that joins source, of self's dtype, into the indexed places of self by k.
func (a *indexed) joining(op string, k *kernel.Kernel, self, source *tensor.Tensor) (*change, error) {
	from, err := view.Expand(op, source, a.sizes)
	if err != nil {
		return nil, err
	}
	to, err := self.View(op, a.sizes, a.strides, self.Offset())
	if err != nil {
		from.Release()
		return nil, err
	}
	return &change{a, op, k, to, from}, nil
}

// write stores source, of self's dtype, at the indexed places of self; the last of several writes to a place stays.
func (a *indexed) write(op string, self, source *tensor.Tensor) error {
	from, err := view.Expand(op, source, a.sizes)
	if err != nil {
		return err
	}
	defer from.Release()
	raw, err := view.Raw(op, from, from.Sizes(), from.Strides())
	if err != nil {
		return err
	}
	defer raw.Release()
	to, err := view.Raw(op, self, a.sizes, a.strides)
	if err != nil {
		return err
	}
	defer to.Release()
	return a.run(op, putKernel, to, a.index, raw)
}

// combine makes the change joining.
func (a *indexed) combine(op string, k *kernel.Kernel, self, source *tensor.Tensor) error {
	c, err := a.joining(op, k, self, source)
	if err != nil {
		return err
	}
	defer c.close()
	return c.run()
}

// run runs a kernel that a.index is an operand of, the output first.
func (a *indexed) run(op string, k *kernel.Kernel, operands ...*tensor.Tensor) error {
	d := operands[0].DType()
	return iter.RunIndexed(op, k, d, operands, a.step*d.Size(), a.size)
}

// placeAlong is indexed for an index that names positions of dimension d of self, its own sizes being those of the result.
func placeAlong(self *tensor.Tensor, d int, index *tensor.Tensor) *indexed {
	a := &indexed{sizes: index.Sizes(), strides: slices.Clone(self.Strides()), step: 1, size: sizeAt(self, d), index: index}
	if len(a.strides) > 0 {
		a.step, a.strides[d] = a.strides[d], 0
	}
	return a
}

// positions is an int64 form of an index whose values are all in [0, size), or, where wrap is set, in [-size, size).
// outOfRange makes the error for a value that is not.
func positions(op string, index *tensor.Tensor, size int64, wrap bool, outOfRange func(i int64) error) (*tensor.Tensor, error) {
	t, err := converted(op, index, dtype.Int64)
	if err != nil || t.IsMeta() {
		return t, err
	}
	bad, found, err := iter.OutOfRange(op, outOfRangeKernel, t, size, wrap)
	if err == nil && found {
		err = outOfRange(bad)
	}
	return made(t, nil, err)
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
