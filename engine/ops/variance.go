package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var varOf = newReducer("var")

// moments computes the variance or standard deviation over dim and, when withMean is set, the mean.
func moments(op string, out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim, root, withMean bool) (spread, mean *tensor.Tensor, err error) {
	d := self.DType()
	if d.Category() < dtype.Floating {
		return nil, nil, status.NotImplementedf("%s: std and var only support floating point and complex dtypes, got %v", op, d)
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, nil, err
	}
	params := [2]float64{1, 0}
	if !correction.IsNone() {
		params[0] = correction.Float()
	}
	if root {
		params[1] = 1
	}
	s := within(op)
	defer s.Close()
	sizes := reducedSizes(self.Sizes(), mask, keepdim)
	first, second := s.destination(out, sizes, d.ToReal(), d.ToReal(), anyStrides, self), destination{}
	if withMean {
		second = s.destination(nil, sizes, d, d, anyStrides, self)
	}
	if s.Err == nil && !self.IsMeta() {
		s.Err = varOf.run(op, d.Compute(), [2]*tensor.Tensor{first.at}, self, mask, params[:]...)
	}
	// The running mean of the deviations turns an infinity into NaN, or not, by the order of the elements.
	if s.Err == nil && withMean && !self.IsMeta() {
		s.Err = meanOf.run(op, d.Compute(), [2]*tensor.Tensor{second.at}, self, mask)
	}
	if spread, err = s.deliver(first); err != nil || !withMean {
		return spread, nil, err
	}
	mean, err = s.deliver(second)
	return madeTwo(spread, mean, out, nil, err)
}

func one(spread, _ *tensor.Tensor, err error) (*tensor.Tensor, error) { return spread, err }

// VarCorrection is the variance over dim: squared deviations divided by the number of elements less correction.
func VarCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return one(moments("var", out, self, dim, correction, keepdim, false, false))
}

// StdCorrection is the square root of VarCorrection.
func StdCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return one(moments("std", out, self, dim, correction, keepdim, true, false))
}

// VarMeanCorrection is the variance and the mean over dim.
func VarMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return moments("var_mean", nil, self, dim, correction, keepdim, false, true)
}

// StdMeanCorrection is the standard deviation and the mean over dim.
func StdMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return moments("std_mean", nil, self, dim, correction, keepdim, true, true)
}
