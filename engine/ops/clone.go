package ops

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// emptyLike makes a tensor of self's shape whose memory is laid out in the given format.
func emptyLike(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	switch f {
	case shape.Contiguous:
		return tensor.Empty(op, self.Sizes(), d, dev)
	case shape.Preserve, shape.NoFormat:
		if self.IsContiguous() {
			return tensor.Empty(op, self.Sizes(), d, dev)
		}
		return tensor.EmptyStrided(op, self.Sizes(), shape.PreserveStrides(self.Sizes(), self.Strides()), d, dev)
	}
	strides, err := shape.FormatStrides(op, self.Sizes(), f)
	if err != nil {
		return nil, err
	}
	return tensor.EmptyStrided(op, self.Sizes(), strides, d, dev)
}

// cloned copies self into fresh memory of another dtype, device and format.
func cloned(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	s := owner.Scope{Op: op}
	defer s.Close()
	out := s.Keep(emptyLike(op, self, d, dev, f))
	if s.Err == nil {
		s.Err = launch.Copy(op, out, self)
	}
	return s.Give(out)
}

// Clone copies self.
func Clone(self *tensor.Tensor, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return cloned("clone", self, self.DType(), self.Device(), f)
}

// rowMajor is t with its elements in row-major order and in dtype d: t itself under another handle where it is that already,
// and otherwise a copy. The caller owns the handle; the memory is t's in the first case, and the copy's own in the other.
func rowMajor(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == d && t.IsContiguous() {
		return t.Alias(), nil
	}
	return rowMajorCopy(op, t, d)
}

// rowMajorCopy is a copy of t in dtype d and row-major order, in memory of its own.
func rowMajorCopy(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	return cloned(op, t, d, t.Device(), shape.Contiguous)
}

// converted is t itself under another handle where its dtype is d, and otherwise a copy in d.
func converted(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t.Alias(), nil
	}
	return cloned(op, t, d, t.Device(), shape.Preserve)
}

// reshape is t in another shape, in which one size may be -1: a view of t, or of a row-major copy where no view has the shape.
func reshape(op string, t *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	seen, err := view.Reshape(op, t, size)
	if seen != nil || err != nil {
		return seen, err
	}
	sizes, err := shape.InferSize(op, size, t.Numel())
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	ordered := s.fresh(t, t.DType())
	if s.Err == nil {
		s.Err = ordered.SetGeometry(op, sizes, shape.ContiguousStrides(sizes), 0)
	}
	return s.Give(ordered)
}

// Contiguous is self itself where its memory already has the format, and a copy otherwise.
func Contiguous(self *tensor.Tensor, f shape.MemoryFormat) (*tensor.Tensor, error) {
	switch f {
	case shape.NoFormat:
		f = shape.Contiguous
	case shape.Preserve:
		return nil, status.Runtimef("contiguous: preserve memory format is unsupported by the contiguous operator")
	}
	if self.IsFormat(f) {
		return self.Alias(), nil
	}
	return cloned("contiguous", self, self.DType(), self.Device(), f)
}

// ToOptions converts dtype, device or memory format; it is self itself when nothing changes and copy is not set.
func ToOptions(self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, _, forced bool, f shape.MemoryFormat) (*tensor.Tensor, error) {
	if layout != tensor.NoLayout && layout != self.Layout() {
		return nil, status.Runtimef("to: options with a different layout are not supported; convert layouts with to_sparse() or to_dense()")
	}
	if d == dtype.None {
		d = self.DType()
	}
	if dev.IsNone() {
		dev = self.Device()
	}
	dev, err := device.Resolve("to", dev)
	if err != nil {
		return nil, err
	}
	keeps := f == shape.NoFormat || f == shape.Preserve || self.IsFormat(f)
	if d == self.DType() && dev == self.Device() && keeps && !forced {
		return self.Alias(), nil
	}
	return cloned("to", self, d, dev, f)
}
