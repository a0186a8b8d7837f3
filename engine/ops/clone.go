package ops

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Clone copies self.
func Clone(self *tensor.Tensor, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return cloneTensor("clone", self, self.DType(), self.Device(), f)
}

// Contiguous returns self itself where its memory already has the format, and a copy otherwise.
func Contiguous(self *tensor.Tensor, f shape.MemoryFormat) (*tensor.Tensor, error) {
	switch f {
	case shape.NoFormat:
		f = shape.Contiguous
	case shape.Preserve:
		if !self.IsContiguous() {
			return nil, status.Runtimef("contiguous: preserve memory format is unsupported by the contiguous operator")
		}
		f = shape.Contiguous
	}
	if self.IsFormat(f) {
		return self.Alias(), nil
	}
	return cloneTensor("contiguous", self, self.DType(), self.Device(), f)
}

// ToOptions converts dtype, device or memory format; it is self itself when nothing changes and copy is not set.
func ToOptions(self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, async, forced bool,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
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
	if err := warnDiscardImaginary("to", self.DType(), d); err != nil {
		return nil, err
	}
	if async && dev != self.Device() {
		return copyAsync("to", self, d, dev, f)
	}
	return cloneTensor("to", self, d, dev, f)
}
