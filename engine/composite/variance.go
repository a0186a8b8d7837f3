package composite

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Var returns the variance of all elements.
func Var(c dispatch.Context, self *tensor.Tensor, unbiased bool) (*tensor.Tensor, error) {
	return c.VarCorrection(nil, self, nil, unbiasedCorrection(unbiased), false)
}

// VarDim returns the variance over dim.
func VarDim(c dispatch.Context, out, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, error) {
	return c.VarCorrection(out, self, dim, unbiasedCorrection(unbiased), keepdim)
}

// Std returns the standard deviation of all elements.
func Std(c dispatch.Context, self *tensor.Tensor, unbiased bool) (*tensor.Tensor, error) {
	return c.StdCorrection(nil, self, nil, unbiasedCorrection(unbiased), false)
}

// StdDim returns the standard deviation over dim.
func StdDim(c dispatch.Context, out, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, error) {
	return c.StdCorrection(out, self, dim, unbiasedCorrection(unbiased), keepdim)
}

// VarMean returns the variance and the mean of all elements.
func VarMean(c dispatch.Context, self *tensor.Tensor, unbiased bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return c.VarMeanCorrection(self, nil, unbiasedCorrection(unbiased), false)
}

// VarMeanDim returns the variance and the mean over dim.
func VarMeanDim(c dispatch.Context, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return c.VarMeanCorrection(self, dim, unbiasedCorrection(unbiased), keepdim)
}

// StdMean returns the standard deviation and the mean of all elements.
func StdMean(c dispatch.Context, self *tensor.Tensor, unbiased bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return c.StdMeanCorrection(self, nil, unbiasedCorrection(unbiased), false)
}

// StdMeanDim returns the standard deviation and the mean over dim.
func StdMeanDim(c dispatch.Context, self *tensor.Tensor, dim []int64, unbiased, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return c.StdMeanCorrection(self, dim, unbiasedCorrection(unbiased), keepdim)
}

// unbiasedCorrection returns the correction that the older forms' flag represents.
func unbiasedCorrection(unbiased bool) dtype.Scalar {
	if unbiased {
		return dtype.IntScalar(1)
	}
	return dtype.IntScalar(0)
}
