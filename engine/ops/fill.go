package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkFits returns an error for a number that dtype d cannot hold.
func checkFits(op string, value dtype.Scalar, d dtype.DType) error {
	if !value.Fits(d) {
		return newOverflowError(op, value, d)
	}
	return nil
}

// fillValue returns the number in a tensor that self's elements are to be filled with; an arbitrary number for meta tensors.
func fillValue(op string, self, value *tensor.Tensor) (dtype.Scalar, error) {
	if !backend.Known(self) && !backend.Known(value) {
		return dtype.BoolScalar(false), nil
	}
	return backend.Item(op, value)
}

// checkConvertedFits is checkFits for a scalar that is converted to one element first: 16-bit floats overflow to infinity, and 8-bit
// floats follow their conversion.
func checkConvertedFits(op string, value dtype.Scalar, d dtype.DType) error {
	if (d.Compute() != d || d.IsFloat8()) && value.Im == 0 {
		return nil
	}
	return checkFits(op, value, d)
}

func newOverflowError(op string, value dtype.Scalar, d dtype.DType) error {
	if d == dtype.Unpromoted {
		return status.Unpromoted(op)
	}
	return status.Runtimef("%s: value %v cannot be converted to type %v without overflow", op, value, d)
}

// fillWith writes one value everywhere.
func fillWith(self *tensor.Tensor, value dtype.Scalar) error {
	return backend.On(self).Fill("fill_", backend.Filling{To: self, Value: value})
}
