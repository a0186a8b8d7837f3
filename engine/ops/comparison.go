package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Equal reports whether sizes and elements agree.
func Equal(self, other *tensor.Tensor) (bool, error) {
	if _, err := tensoriter.Device("equal", self, other); err != nil {
		return false, err
	}
	if !slices.Equal(self.Sizes(), other.Sizes()) {
		return false, nil
	}
	common, across := comparisonDType(self, other)
	if across {
		return isAllTrue("equal", func() (*tensor.Tensor, error) { return Eq(nil, self, other) })
	}
	if common == dtype.Unpromoted {
		return false, newPromotionError("equal", self, other)
	}
	found, err := findAny("equal", kernelapi.Differs, kernelapi.Differs.Compute(common), self, other)
	return !found, err
}

// Isclose reports where |self - other| <= atol + rtol*|other|.
func Isclose(self, other *tensor.Tensor, rtol, atol float64, equalNan bool) (*tensor.Tensor, error) {
	if self.DType() != other.DType() {
		return nil, status.Runtimef("isclose: self has dtype %v and other %v; they must agree", self.DType(), other.DType())
	}
	if !(rtol >= 0) || !(atol >= 0) {
		return nil, status.Runtimef("isclose: rtol and atol must be greater than or equal to zero, but got %v and %v", rtol, atol)
	}
	if d := self.DType(); d.IsIntegral() && d.Size() == 8 && rtol < 1e-9 {
		return isCloseInt64(self, other, rtol, atol)
	}
	return isclose.runKernel(nil, func(_ dtype.DType, p *backend.Params) {
		p.Set(0, dtype.Float64, dtype.FloatScalar(rtol))
		p.Set(1, dtype.Float64, dtype.FloatScalar(atol))
		if equalNan {
			p.Set(2, dtype.Float64, dtype.FloatScalar(1))
		}
	}, self, other)
}

// isCloseInt64 computes Isclose for 64-bit integers, where float64 would round the distance. An unsigned value beyond int64 wraps to the
// value minus 2^64.
func isCloseInt64(self, other *tensor.Tensor, rtol, atol float64) (_ *tensor.Tensor, err error) {
	s := newScope("isclose")
	defer s.Close(&err)
	high := s.Track(Maximum(nil, self, other))
	low := s.Track(Minimum(nil, self, other))
	distance := s.Track(subtractTensors(nil, high, low))
	wide, least := s.castRowMajor(other, dtype.Float64), s.newScalarTensor(dtype.FloatScalar(atol), dtype.Float64, other.Device())
	size := s.Track(Abs(nil, wide))
	limit := s.Track(Add(nil, least, size, dtype.FloatScalar(rtol)))
	if self.DType().IsSigned() {
		beyond := s.castRowMajor(s.maskNegative(distance), dtype.Float64)
		limit = s.Track(Add(nil, limit, beyond, dtype.FloatScalar(-0x1p64)))
	}
	return s.ReturnNew(Le(nil, distance, limit))
}

// Allclose reports whether Isclose holds everywhere.
func Allclose(self, other *tensor.Tensor, rtol, atol float64, equalNan bool) (bool, error) {
	return isAllTrue("allclose", func() (*tensor.Tensor, error) { return Isclose(self, other, rtol, atol, equalNan) })
}

// isAllTrue reports whether all elements of the mask that find returns are true.
func isAllTrue(op string, find func() (*tensor.Tensor, error)) (_ bool, err error) {
	s := newScope(op)
	defer s.Close(&err)
	all := s.Track(find())
	found, err := findAny(op, kernelapi.HasZero, dtype.Bool, all)
	return !found, err
}

// runOrFill runs p on dtypes that its kernel supports, and fills the result with v for all others.
func (p *pointwise) runOrFill(out, self *tensor.Tensor, v bool) (*tensor.Tensor, error) {
	if p.kernel.Has(p.kernel.Compute(self.DType())) {
		return p.runKernel(out, nil, self)
	}
	return fillResult(p.name, out, self, dtype.Bool, p.exact, dtype.BoolScalar(v))
}

// Isnan reports which elements are NaN.
func Isnan(self *tensor.Tensor) (*tensor.Tensor, error) { return isnan.runOrFill(nil, self, false) }

// Isinf reports which elements are infinite.
func Isinf(self *tensor.Tensor) (*tensor.Tensor, error) { return isinf.runOrFill(nil, self, false) }

// Isfinite reports which elements are neither infinite nor NaN.
func Isfinite(self *tensor.Tensor) (*tensor.Tensor, error) {
	return isfinite.runOrFill(nil, self, true)
}

// Isreal reports which elements have no imaginary part.
func Isreal(self *tensor.Tensor) (*tensor.Tensor, error) { return isreal.runOrFill(nil, self, true) }

// Isposinf reports which elements are plus infinity.
func Isposinf(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if err := requireOrderedTypes("isposinf", self); err != nil {
		return nil, err
	}
	return isposinf.runOrFill(out, self, false)
}

// Isneginf reports which elements are minus infinity.
func Isneginf(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if err := requireOrderedTypes("isneginf", self); err != nil {
		return nil, err
	}
	return isneginf.runOrFill(out, self, false)
}
