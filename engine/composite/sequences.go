package composite

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// readScalar reads a zero-dim tensor that represents a number of a sequence.
func readScalar(c dispatch.Context, op, name string, t *tensor.Tensor) (dtype.Scalar, error) {
	if t.Dim() != 0 {
		return dtype.Scalar{}, status.Runtimef("%s: only supports 0-dimensional start and end tensors, but got %s with %d dimension(s)", op,
			name, t.Dim())
	}
	v, err := c.Item(t)
	if err != nil {
		err = status.In(op, err)
	}
	return v, err
}

func readBounds(c dispatch.Context, op string, start, end *tensor.Tensor) (s, e dtype.Scalar, err error) {
	if s, err = readScalar(c, op, "start", start); err == nil {
		e, err = readScalar(c, op, "end", end)
	}
	return s, e, err
}

// LinspaceTensorTensor is Linspace between numbers that tensors hold.
func LinspaceTensorTensor(c dispatch.Context, out, start, end *tensor.Tensor, steps int64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	s, e, err := readBounds(c, "linspace", start, end)
	if err != nil {
		return nil, err
	}
	return c.Linspace(out, s, e, steps, d, layout, dev)
}

// LinspaceTensorScalar is Linspace from a number that a tensor holds.
func LinspaceTensorScalar(c dispatch.Context, out, start *tensor.Tensor, end dtype.Scalar, steps int64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	s, err := readScalar(c, "linspace", "start", start)
	if err != nil {
		return nil, err
	}
	return c.Linspace(out, s, end, steps, d, layout, dev)
}

// LinspaceScalarTensor is Linspace to a number that a tensor holds.
func LinspaceScalarTensor(c dispatch.Context, out *tensor.Tensor, start dtype.Scalar, end *tensor.Tensor, steps int64, d dtype.DType,
	layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	e, err := readScalar(c, "linspace", "end", end)
	if err != nil {
		return nil, err
	}
	return c.Linspace(out, start, e, steps, d, layout, dev)
}

// LogspaceTensorTensor is Logspace between numbers that tensors hold.
func LogspaceTensorTensor(c dispatch.Context, out, start, end *tensor.Tensor, steps int64, base float64, d dtype.DType,
	layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	s, e, err := readBounds(c, "logspace", start, end)
	if err != nil {
		return nil, err
	}
	return c.Logspace(out, s, e, steps, base, d, layout, dev)
}

// LogspaceTensorScalar is Logspace from a number that a tensor holds.
func LogspaceTensorScalar(c dispatch.Context, out, start *tensor.Tensor, end dtype.Scalar, steps int64, base float64, d dtype.DType,
	layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	s, err := readScalar(c, "logspace", "start", start)
	if err != nil {
		return nil, err
	}
	return c.Logspace(out, s, end, steps, base, d, layout, dev)
}

// LogspaceScalarTensor is Logspace to a number that a tensor holds.
func LogspaceScalarTensor(c dispatch.Context, out *tensor.Tensor, start dtype.Scalar, end *tensor.Tensor, steps int64, base float64,
	d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	e, err := readScalar(c, "logspace", "end", end)
	if err != nil {
		return nil, err
	}
	return c.Logspace(out, start, e, steps, base, d, layout, dev)
}
