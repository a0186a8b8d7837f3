package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	sumOf       = reducer{kernelapi.Sum}
	prodOf      = reducer{kernelapi.Prod}
	meanOf      = reducer{kernelapi.Mean}
	nansumOf    = reducer{kernelapi.Nansum}
	nanmeanOf   = reducer{kernelapi.Nanmean}
	nonzeroOf   = reducer{kernelapi.CountNonzero}
	anyOf       = reducer{kernelapi.Any}
	allOf       = reducer{kernelapi.All}
	normZeroOf  = reducer{kernelapi.NormZero}
	normOneOf   = reducer{kernelapi.NormOne}
	normTwoOf   = reducer{kernelapi.NormTwo}
	normOtherOf = reducer{kernelapi.NormP}
)

// sumDType returns the dtype of a sum or product: as given, else the output's, else that of sums of self's elements.
func sumDType(d dtype.DType, out, self *tensor.Tensor) dtype.DType {
	switch {
	case d != dtype.None:
		return d
	case out != nil:
		return out.DType()
	}
	return self.DType().Summed()
}

// chooseSumDType returns the dtype in which elements of self are added to a sum of dtype d: narrow integers are widened.
func chooseSumDType(d dtype.DType, self *tensor.Tensor) dtype.DType {
	if (d == dtype.Int64 || d == dtype.Uint64) && self.DType().IsIntegral() {
		return self.DType()
	}
	return d
}

// Sum adds up the elements over dim; nil or no dims mean all of them.
func Sum(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims("sum", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	d = sumDType(d, out, self)
	if err := tensoriter.SameDType("sum", out, d); err != nil {
		return nil, err
	}
	if d == dtype.Bool {
		return anyOf.reduceOutput("sum", out, self, mask, keepdim, d, d)
	}
	return sumOf.reduceRounded("sum", out, self, mask, keepdim, chooseSumDType(d, self), d)
}

// Nansum is Sum with NaN counted as 0.
func Nansum(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	if self.DType().Category() < dtype.Floating {
		return Sum(out, self, dim, keepdim, d)
	}
	if self.DType().IsComplex() {
		return nil, status.NotImplementedf("nansum: complex inputs are not supported, got %v", self.DType())
	}
	mask, err := shape.WrapDims("nansum", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	d = sumDType(d, out, self)
	if err := tensoriter.SameDType("nansum", out, d); err != nil {
		return nil, err
	}
	switch {
	case d.IsComplex():
		return nil, status.NotImplementedf("nansum: not implemented for dtype %v", d)
	case d.Category() < dtype.Floating:
		// Elements are converted before they are added, as by sum.
		s := newScope("nansum")
		defer s.Close(&err)
		none, missing := s.Number(dtype.IntScalar(0)), s.Track(Isnan(self))
		numbers := s.Track(Where(nil, missing, none, self))
		return s.ReturnNew(Sum(out, numbers, dim, keepdim, d))
	}
	return nansumOf.reduceRounded("nansum", out, self, mask, keepdim, d, d)
}

// Prod multiplies the elements over dim, or all of them.
func Prod(out, self *tensor.Tensor, dim Int, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	mask, err := markDim("prod", self, dim)
	if err != nil {
		return nil, err
	}
	d = sumDType(d, out, self)
	if err := tensoriter.SameDType("prod", out, d); err != nil {
		return nil, err
	}
	if d == dtype.Bool {
		return allOf.reduceOutput("prod", out, self, mask, keepdim, d, d)
	}
	compute := d
	if d.Category() < dtype.Floating {
		compute = dtype.Int64
	}
	return prodOf.reduceRounded("prod", out, self, mask, keepdim, compute, d)
}

// floatingDType returns the dtype of a mean: as given or self's, rejected unless floating or complex.
func floatingDType(op string, d dtype.DType, self *tensor.Tensor) (dtype.DType, error) {
	what := "optional"
	if d == dtype.None {
		d, what = self.DType(), "input"
	}
	if d.Category() < dtype.Floating {
		return d, status.NotImplementedf("%s: could not infer output dtype: %s dtype must be either a floating point or complex dtype, got %v",
			op, what, d)
	}
	return d, nil
}

// Mean averages over dim; nil or no dims mean all of them.
func Mean(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	d, err := floatingDType("mean", d, self)
	if err != nil {
		return nil, err
	}
	mask, err := shape.WrapDims("mean", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	if d.ToReal() == dtype.Float64 {
		return scaledMean(meanOf).reduceOutput("mean", out, self, mask, keepdim, d, d)
	}
	return meanOf.reduceOutput("mean", out, self, mask, keepdim, d, d)
}

// Nanmean is Mean over the elements that are not NaN.
func Nanmean(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	if !self.DType().IsFloatingPoint() {
		return nil, status.NotImplementedf("nanmean: expected input to have floating point dtype but got %v", self.DType())
	}
	d, err := floatingDType("nanmean", d, self)
	if err != nil {
		return nil, err
	}
	mask, err := shape.WrapDims("nanmean", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	if d == dtype.Float64 {
		return scaledMean(nanmeanOf).reduceOutput("nanmean", out, self, mask, keepdim, d, d)
	}
	return nanmeanOf.reduceRounded("nanmean", out, self, mask, keepdim, d, d)
}

// reduceLogic is Any and All: the result is bool, uint8 for uint8 inputs without an out of bool. No dims given as an empty list reduce
// nothing.
func reduceLogic(op string, r reducer, out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims(op, dim, self.Dim(), dim == nil)
	if err != nil {
		return nil, err
	}
	d := dtype.Bool
	if self.DType() == dtype.Uint8 && (out == nil || out.DType() != dtype.Bool) {
		d = dtype.Uint8
	}
	if out != nil && out.DType() != dtype.Bool && out.DType() != dtype.Uint8 {
		return nil, status.Runtimef("%s only supports bool tensor for result, got %v", op, out.DType())
	}
	return r.reduceOutput(op, out, self, mask, keepdim, dtype.Bool, d)
}

// Any reports whether any element over dim is not zero.
func Any(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return reduceLogic("any", anyOf, out, self, dim, keepdim)
}

// All reports whether no element over dim is zero.
func All(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	return reduceLogic("all", allOf, out, self, dim, keepdim)
}

// CountNonzero counts the elements over dim that are not zero.
func CountNonzero(self *tensor.Tensor, dim []int64) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims("count_nonzero", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	return nonzeroOf.reduceOutput("count_nonzero", nil, self, mask, false, dtype.Bool, dtype.Int64)
}

// Norm returns the vector p-norm over dim: the p-th root of the sum of |x|^p; the largest and smallest |x| for p of inf and -inf; the
// number of elements that are not zero for p of 0. No p means 2.
func Norm(out, self *tensor.Tensor, p dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	if p.IsNone() {
		p = dtype.IntScalar(2)
	}
	if err := RealOrder("norm", p); err != nil {
		return nil, err
	}
	return vectorNorm("norm", out, self, p.Float(), dim, keepdim, d)
}

// RealOrder returns an error for a complex order of a norm.
func RealOrder(op string, order dtype.Scalar) error {
	if order.Kind == dtype.KindComplex {
		return status.Runtimef("%s: expected a non-complex scalar as the order of norm, got %v", op, order)
	}
	return nil
}

// CheckNormed returns an error for dtypes of self or of the result for which norms are not defined.
func CheckNormed(op string, self *tensor.Tensor, d dtype.DType) error {
	switch {
	case self.DType().Category() < dtype.Floating:
		return status.NotImplementedf("%s: expected a floating point or complex tensor as input, got %v", op, self.DType())
	case d == dtype.None:
		return nil
	case d.Category() < dtype.Floating:
		return status.Runtimef("%s: dtype should be floating point or complex, but got %v", op, d)
	case self.DType().IsComplex() != d.IsComplex():
		return status.Runtimef("%s: dtype should be %s inputs, but got %v", op,
			map[bool]string{true: "complex for complex", false: "real for real"}[self.DType().IsComplex()], d)
	case dtype.Promote(self.DType(), d) != d:
		return status.Runtimef("%s: dtype should hold all values of the input, which is %v, but got %v; convert the result instead", op,
			self.DType(), d)
	}
	return nil
}

// vectorNorm computes |x|_p over dim in dtype d, or in self's.
func vectorNorm(op string, out, self *tensor.Tensor, p float64, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	if err := CheckNormed(op, self, d); err != nil {
		return nil, err
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	if d == dtype.None {
		d = self.DType()
	}
	result := d.ToReal()
	if err := tensoriter.SameDType(op, out, result); err != nil {
		return nil, err
	}
	count := int64(1)
	for i, reduced := range mask {
		if reduced {
			count *= self.Sizes()[i]
		}
	}
	if count == 0 && (p < 0 || math.IsInf(p, 1)) {
		return nil, status.Runtimef("%s: cannot compute the norm of order %g over an empty dimension because the operation has no identity", op,
			p)
	}
	switch {
	case count == 1 && p != 0 && !math.IsNaN(p): // the one size, of which powers might overflow
		return normOneOf.reduceOutput(op, out, self, mask, keepdim, d, result)
	case p == 0:
		return normZeroOf.reduceOutput(op, out, self, mask, keepdim, d, result)
	case p == 1:
		return normOneOf.reduceOutput(op, out, self, mask, keepdim, d, result)
	case p == 2:
		return scaledNorm(normTwoOf, d, p).reduceOutput(op, out, self, mask, keepdim, d, result)
	case math.IsInf(p, 1):
		return normMaxOf.reduceOutput(op, out, self, mask, keepdim, d, result)
	case math.IsInf(p, -1):
		return normMinOf.reduceOutput(op, out, self, mask, keepdim, d, result)
	}
	return scaledNorm(normOtherOf, d, p).reduceOutput(op, out, self, mask, keepdim, d, result, p)
}

// LinalgVectorNorm returns the vector norm of order ord over dim.
func LinalgVectorNorm(out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	if err := RealOrder("linalg.vector_norm", ord); err != nil {
		return nil, err
	}
	return vectorNorm("linalg.vector_norm", out, self, ord.Float(), dim, keepdim, d)
}
