package ops

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// options resolves the dtype and device of a factory; d is used when no dtype is given.
func options(op string, given, otherwise dtype.DType, layout tensor.Layout, dev device.Device) (dtype.DType, device.Device, error) {
	if given == dtype.None {
		given = otherwise
	}
	if layout != tensor.NoLayout && layout != tensor.Strided {
		return given, dev, status.NotImplementedf("%s: only the strided layout can be made here", op)
	}
	dev, err := device.Resolve(op, dev)
	return given, dev, err
}

// Zeros makes a tensor of zeros.
func Zeros(out *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	if out != nil {
		return out, status.NotImplementedf("zeros: out")
	}
	d, dev, err := options("zeros", d, dtype.Default(), layout, dev)
	if err != nil {
		return nil, err
	}
	return tensor.Zeros("zeros", size, d, dev)
}
