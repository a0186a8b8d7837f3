package ops

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkFits refuses a number that dtype d cannot hold.
func checkFits(op string, value dtype.Scalar, d dtype.DType) error {
	if !value.Fits(d) {
		return overflow(op, value, d)
	}
	return nil
}

// checkOne is checkFits for a number that becomes an element of a tensor first: 16-bit floats overflow to infinity.
func checkOne(op string, value dtype.Scalar, d dtype.DType) error {
	if d.Compute() != d && value.Im == 0 {
		return nil
	}
	return checkFits(op, value, d)
}

func overflow(op string, value dtype.Scalar, d dtype.DType) error {
	return status.Runtimef("%s: value %v cannot be converted to type %v without overflow", op, value, d)
}

// fillWith writes one value everywhere.
func fillWith(self *tensor.Tensor, value dtype.Scalar) error {
	return launch.On(self).Fill("fill_", launch.Filling{To: self, Value: value})
}

// single makes a zero-dim tensor of one value.
func single(op string, value dtype.Scalar, d dtype.DType) (*tensor.Tensor, error) {
	s := owner.Scope{Op: op}
	defer s.Close()
	t := s.Keep(tensor.Empty(op, nil, d, device.Host))
	if s.Err == nil {
		s.Err = fillWith(t, value)
	}
	return s.Give(t)
}
