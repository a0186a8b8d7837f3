package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var roundDecimals = &pointwise{name: "round", kernel: kernelapi.RoundDecimals, rule: promote, exact: true}

// toInteger rounds floats and copies integers.
func (p *pointwise) toInteger(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType().IsIntegral() {
		return copyOf(p.name, out, self)
	}
	return p.runKernel(out, nil, self)
}

// Floor rounds down.
func Floor(out, self *tensor.Tensor) (*tensor.Tensor, error) { return floor.toInteger(out, self) }

// Ceil rounds up.
func Ceil(out, self *tensor.Tensor) (*tensor.Tensor, error) { return ceil.toInteger(out, self) }

// Trunc rounds towards zero.
func Trunc(out, self *tensor.Tensor) (*tensor.Tensor, error) { return trunc.toInteger(out, self) }

// Round rounds to the nearest integer, ties to even, or to a number of decimals.
func Round(out, self *tensor.Tensor, decimals int64) (*tensor.Tensor, error) {
	if decimals == 0 {
		return round.toInteger(out, self)
	}
	return roundDecimals.runKernel(out, func(d dtype.DType, p *backend.Params) {
		p.Set(0, d, dtype.FloatScalar(math.Pow(10, math.Abs(float64(decimals)))))
		if decimals < 0 {
			p.Set(1, d, dtype.IntScalar(1))
		}
	}, self)
}

// Maximum returns the larger of two elements; NaN wins.
func Maximum(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return maximum.runOrdered(out, self, other)
}

// Minimum returns the smaller of two elements; NaN wins.
func Minimum(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return minimum.runOrdered(out, self, other)
}

// Fmax returns the larger of two elements; a number wins over NaN.
func Fmax(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return fmax.runWithoutNaN(maximum, out, self, other)
}

// Fmin returns the smaller of two elements; a number wins over NaN.
func Fmin(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return fmin.runWithoutNaN(minimum, out, self, other)
}

func (p *pointwise) runOrdered(out *tensor.Tensor, inputs ...*tensor.Tensor) (*tensor.Tensor, error) {
	if err := requireOrderedTypes(p.name, inputs...); err != nil {
		return nil, err
	}
	return p.runKernel(out, nil, inputs...)
}

// runWithoutNaN runs the operator `integers` for dtypes without NaN.
func (p *pointwise) runWithoutNaN(integers *pointwise, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	if d := resultType(self, other); d.Category() < dtype.Floating {
		return integers.runKernel(out, nil, self, other)
	}
	return p.runOrdered(out, self, other)
}

// Clamp limits self to [low, high], of which one may be absent.
func Clamp(out, self *tensor.Tensor, low, high dtype.Scalar) (_ *tensor.Tensor, err error) {
	s := newScope("clamp")
	defer s.Close(&err)
	var bounds [2]*tensor.Tensor
	result := []*tensor.Tensor{self}
	for i, limit := range []dtype.Scalar{low, high} {
		if limit.IsNone() {
			continue
		}
		bounds[i] = s.Number(limit)
		result = append(result, bounds[i])
	}
	if err := tensoriter.SameDType("clamp", out, resultType(result...)); err != nil {
		return nil, err
	}
	return ClampTensor(out, self, bounds[0], bounds[1])
}

// ClampTensor is Clamp with bounds that broadcast.
func ClampTensor(out, self, low, high *tensor.Tensor) (_ *tensor.Tensor, err error) {
	switch {
	case low == nil && high == nil:
		return nil, status.Runtimef("clamp: at least one of min or max must not be None")
	case high == nil:
		return ClampMin(out, self, low)
	case low == nil:
		return ClampMax(out, self, high)
	}
	s := newScope("clamp")
	defer s.Close(&err)
	d := resultType(self, low, high)
	low, high = s.convertBound(d, low, true), s.convertBound(d, high, false)
	return s.ReturnNew(clampTensor.runKernel(out, nil, self, low, high))
}

// convertBound converts a limit to the result's dtype: a number below an integer dtype's range is no lower bound, and one above it no
// upper bound.
func (s *scope) convertBound(d dtype.DType, limit *tensor.Tensor, lower bool) *tensor.Tensor {
	if !limit.IsWrappedNumber() || d == dtype.Bool {
		return limit
	}
	if !d.IsIntegral() {
		s.Check(checkFits(s.Op, limit.Item(), d))
		return limit
	}
	least, most := d.IntegerRange()
	v := limit.Item()
	below := v.Kind != dtype.KindUint && v.I < least
	above := (v.Kind == dtype.KindUint || v.I >= 0) && uint64(v.I) > most
	switch {
	case below && lower:
		return s.Number(dtype.IntScalar(least))
	case above && !lower:
		return s.Number(dtype.UintScalar(most))
	case below || above:
		s.Check(newOverflowError(s.Op, v, d))
	}
	return limit
}

// ClampMin limits self from below.
func ClampMin(out, self, low *tensor.Tensor) (*tensor.Tensor, error) {
	return clampMin.runBound(out, self, low)
}

// ClampMax limits self from above.
func ClampMax(out, self, high *tensor.Tensor) (*tensor.Tensor, error) {
	return clampMax.runBound(out, self, high)
}

// runBound runs p; where the bound is a number, out must have the result's dtype.
func (p *pointwise) runBound(out, self, bound *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if bound.IsWrappedNumber() {
		if err := tensoriter.SameDType(p.name, out, resultType(self, bound)); err != nil {
			return nil, err
		}
	}
	s := newScope(p.name)
	defer s.Close(&err)
	bound = s.convertBound(resultType(self, bound), bound, p == clampMin)
	return p.runKernel(out, nil, self, bound)
}

// Relu replaces negative elements by 0.
func Relu(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("relu: boolean inputs are not supported")
	}
	return relu.runKernel(out, nil, self)
}

// Where takes self where condition holds and other elsewhere.
func Where(out, condition, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	if d := condition.DType(); d != dtype.Bool && d != dtype.Uint8 {
		return nil, status.Runtimef("where: expected condition to be a boolean tensor, but got a tensor with dtype %v", d)
	}
	d := resultType(self, other)
	if d == dtype.Unpromoted {
		return nil, newPromotionError("where", self, other)
	}
	if err := tensoriter.SameDType("where", out, d); err != nil {
		return nil, err
	}
	for _, t := range []*tensor.Tensor{self, other} {
		if t.IsWrappedNumber() {
			if err := checkConvertedFits("where", t.Item(), d); err != nil {
				return nil, err
			}
		}
	}
	if err := warnByteMask("where", "condition", condition); err != nil {
		return nil, err
	}
	if d.IsFloat8() {
		return selectCodes(d, out, condition, self, other)
	}
	return where.runIn(d, out, nil, condition, self, other)
}

// selectCodes is Where for an eight-bit float, whose codes are selected as uint8.
func selectCodes(d dtype.DType, out, condition, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("where")
	defer s.Close(&err)
	a, b := s.viewAs(s.castRowMajor(self, d), dtype.Uint8), s.viewAs(s.castRowMajor(other, d), dtype.Uint8)
	chosen := s.Track(where.runIn(dtype.Uint8, nil, nil, condition, a, b))
	return s.writeResultCast(out, s.viewAs(chosen, d))
}
