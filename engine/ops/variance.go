package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

var varOf = reducer{kernelapi.Var}

// computeMoment computes the variance or, when root is set, the standard deviation over dim.
func computeMoment(op string, out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim, root bool) (*tensor.Tensor, error) {
	d := self.DType()
	if d.Category() < dtype.Floating {
		return nil, status.NotImplementedf("%s: std and var only support floating point and complex dtypes, got %v", op, d)
	}
	if correction.Im != 0 {
		return nil, status.Runtimef("%s: correction must be a real number, got %v", op, correction)
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	by := 1.0
	if !correction.IsNone() {
		by = correction.Float()
	}
	if err := warnNoFreedom(op, self, mask, by); err != nil {
		return nil, err
	}
	if self.Numel() == 0 {
		by = 0 // no elements have no variance, whatever the correction
	}
	if d.ToReal() == dtype.Float64 {
		return scaledMoment(varOf, root).reduceOutput(op, out, self, mask, keepdim, d, d.ToReal(), by, float64(dtype.FromBool[int64](root)))
	}
	return varOf.reduceOutput(op, out, self, mask, keepdim, d, d.ToReal(), by, float64(dtype.FromBool[int64](root)))
}

// warnNoFreedom warns of a correction that leaves no degrees of freedom.
func warnNoFreedom(op string, self *tensor.Tensor, mask []bool, by float64) error {
	n := int64(1)
	for d, size := range self.Sizes() {
		if mask[d] {
			n *= size
		}
	}
	if float64(n) > by {
		return nil
	}
	return warning.DegreesOfFreedom.Of(op, "degrees of freedom is <= 0: correction (%v) should be less than the number of elements of each result (%d)",
		by, n)
}

// withMean computes moment and the mean. The running mean of the deviations becomes NaN for some orders of infinite elements, so the mean
// is computed separately.
func withMean(op string, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim, root bool) (_, _ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	spread := s.Track(computeMoment(op, nil, self, dim, correction, keepdim, root))
	mean := s.Track(Mean(nil, self, dim, keepdim, self.DType()))
	if self.Device().Type == device.CPU && self.DType().ToReal() != dtype.Float64 &&
		s.hasOutside(mean, -math.MaxFloat64, math.MaxFloat64, true) {
		// The sum of finite elements may overflow, which their mean does not.
		wide := dtype.Float64
		if self.DType().IsComplex() {
			wide = dtype.Complex128
		}
		mean = s.convertTo(s.Track(Mean(nil, self, dim, keepdim, wide)), self.DType())
	}
	return s.ReturnBoth(spread, mean)
}

// VarCorrection returns the variance over dim: squared deviations divided by the number of elements less correction.
func VarCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return computeMoment("var", out, self, dim, correction, keepdim, false)
}

// StdCorrection returns the square root of VarCorrection.
func StdCorrection(out, self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, error) {
	return computeMoment("std", out, self, dim, correction, keepdim, true)
}

// VarMeanCorrection returns the variance and the mean over dim.
func VarMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return withMean("var_mean", self, dim, correction, keepdim, false)
}

// StdMeanCorrection returns the standard deviation and the mean over dim.
func StdMeanCorrection(self *tensor.Tensor, dim []int64, correction dtype.Scalar, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return withMean("std_mean", self, dim, correction, keepdim, true)
}
