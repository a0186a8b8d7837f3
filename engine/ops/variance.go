package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var varOf = newReducer("var")

// castTo is a row-major copy of t in dtype d.
func castTo(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	to, err := tensor.Empty(op, t.Sizes(), d, t.Device())
	if err != nil || t.IsMeta() {
		return to, err
	}
	iter.Copy(to, t)
	return to, nil
}

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

// unbiasedCorrection is the correction that the older forms' flag stands for.
func unbiasedCorrection(unbiased bool) dtype.Scalar {
	if unbiased {
		return dtype.IntScalar(1)
	}
	return dtype.IntScalar(0)
}

func one(spread, _ *tensor.Tensor, err error) (*tensor.Tensor, error) { return spread, err }

// Var is the variance of all elements.
func Var(self *tensor.Tensor, unbiased bool) (*tensor.Tensor, error) {
	return VarCorrection(nil, self, nil, unbiasedCorrection(unbiased), false)
}

// VarDim is the variance over dim.
func VarDim(out, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, error) {
	return VarCorrection(out, self, dim, unbiasedCorrection(unbiased), keepdim)
}

// VarCorrection is the variance over dim: squared deviations divided by the number of elements less correction.
func VarCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return one(moments("var", out, self, dim, correction, keepdim, false, false))
}

// Std is the standard deviation of all elements.
func Std(self *tensor.Tensor, unbiased bool) (*tensor.Tensor, error) {
	return StdCorrection(nil, self, nil, unbiasedCorrection(unbiased), false)
}

// StdDim is the standard deviation over dim.
func StdDim(out, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, error) {
	return StdCorrection(out, self, dim, unbiasedCorrection(unbiased), keepdim)
}

// StdCorrection is the square root of VarCorrection.
func StdCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return one(moments("std", out, self, dim, correction, keepdim, true, false))
}

// VarMean is the variance and the mean of all elements.
func VarMean(self *tensor.Tensor, unbiased bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return VarMeanCorrection(self, nil, unbiasedCorrection(unbiased), false)
}

// VarMeanDim is the variance and the mean over dim.
func VarMeanDim(self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return VarMeanCorrection(self, dim, unbiasedCorrection(unbiased), keepdim)
}

// VarMeanCorrection is the variance and the mean over dim.
func VarMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return moments("var_mean", nil, self, dim, correction, keepdim, false, true)
}

// StdMean is the standard deviation and the mean of all elements.
func StdMean(self *tensor.Tensor, unbiased bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return StdMeanCorrection(self, nil, unbiasedCorrection(unbiased), false)
}

// StdMeanDim is the standard deviation and the mean over dim.
func StdMeanDim(self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return StdMeanCorrection(self, dim, unbiasedCorrection(unbiased), keepdim)
}

// StdMeanCorrection is the standard deviation and the mean over dim.
func StdMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return moments("std_mean", nil, self, dim, correction, keepdim, true, true)
}
