package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	normMaxOf = reducer{kernelapi.NormMax}
	normMinOf = reducer{kernelapi.NormMin}
)

// scaled is a reduction that multiplies its result by c, or by a power of c, where all elements are multiplied by c > 0. Where intermediate
// values overflow or underflow, it is computed of elements that are divided by the largest magnitude among those that are reduced together.
type scaled struct {
	reducer
	by        reducer // the magnitude that elements are divided by
	power     int     // of that magnitude, by which the results are multiplied
	low, high float64 // the results that intermediate values cannot have spoilt
	nan       bool    // whether NaN may be such a result
}

// Results of sums of squares of float32 from 2^-51 on have lost no digits to subnormal squares, those of float64 from 2^-484 on.
const (
	leastExponent32, mostExponent32 = -102, 127
	leastExponent64, mostExponent64 = -969, 1023
)

// scaledNorm returns the p-norm, which the sum of powers of the magnitudes is computed for in dtype d.
func scaledNorm(r reducer, d dtype.DType, p float64) scaled {
	least, most := leastExponent32, mostExponent32
	if d.ToReal() == dtype.Float64 {
		least, most = leastExponent64, mostExponent64
	}
	n := scaled{reducer: r, by: normMaxOf, power: 1, low: math.Exp2(float64(least) / p), high: math.Exp2(float64(most) / p)}
	if p < 0 {
		n.by, n.low, n.high = normMinOf, n.high, n.low
	}
	return n
}

// scaledMean returns r, a mean of float64 or complex128, whose sum may overflow.
func scaledMean(r reducer) scaled {
	return scaled{reducer: r, by: normMaxOf, power: 1, low: -math.MaxFloat64, high: math.MaxFloat64, nan: true}
}

// scaledMoment returns r, the variance, or the standard deviation where root is set, of float64 or complex128, whose squares may overflow
// and underflow.
func scaledMoment(r reducer, root bool) scaled {
	if root {
		return scaled{reducer: r, by: normMaxOf, power: 1, low: math.Exp2(leastExponent64 / 2), high: math.MaxFloat64, nan: true}
	}
	return scaled{reducer: r, by: normMaxOf, power: 2, high: math.MaxFloat64, nan: true}
}

// reduceOutput is reduceOutput of the reducer, except that results whose intermediate values overflowed or underflowed are recomputed.
func (r scaled) reduceOutput(op string, out, in *tensor.Tensor, mask []bool, keepdim bool, compute, result dtype.DType,
	params ...float64) (_ *tensor.Tensor, err error) {
	if in.Device().Type != device.CPU || in.Numel() == 0 || out != nil && out.DType() != result {
		return r.reducer.reduceOutput(op, out, in, mask, keepdim, compute, result, params...)
	}
	s := newScope(op)
	defer s.Close(&err)
	made := s.Track(r.reducer.reduceOutput(op, nil, in, mask, keepdim, compute, result, params...))
	if s.hasOutside(made, r.low, r.high, r.nan) {
		if again := r.reduceScaled(s, in, mask, compute, result, params); again != nil {
			made = s.reshapeTo(again, made.Sizes()...)
		}
	}
	return s.writeResult(out, made)
}

// reduceScaled recomputes the results with elements divided by r.by, and multiplies them by it; it returns nil if r.by is 0 or not finite
// everywhere.
func (r scaled) reduceScaled(s *scope, in *tensor.Tensor, mask []bool, compute, result dtype.DType, params []float64) *tensor.Tensor {
	d := compute.Compute()
	unit := 1.0
	if d.IsComplex() { // whose magnitudes may be twice as large as numbers are
		unit = 0.25
		in = s.Track(Mul(nil, s.convertTo(in, d), s.Number(dtype.FloatScalar(unit))))
	}
	magnitudes := s.Track(r.by.reduceOutput(s.Op, nil, in, mask, true, compute, d.ToReal()))
	if !s.hasElement(magnitudes, isScale) {
		return nil
	}
	scales := s.copyContiguous(magnitudes, dtype.Float64)
	s.Check(backend.WriteFloats(s.Op, scales, func(values []float64) {
		for i, v := range values {
			if !isScale(v) {
				values[i] = 1
			}
		}
	}))
	by := s.convertTo(scales, d.ToReal())
	divided := s.Track(div.runKernel(nil, nil, s.convertTo(in, d), by))
	made := s.Track(r.reducer.reduceOutput(s.Op, nil, divided, mask, true, d, result.Compute(), params...))
	for range r.power {
		made = s.Track(Mul(nil, s.Track(Mul(nil, made, by)), s.Number(dtype.FloatScalar(1/unit))))
	}
	return s.convertTo(made, result)
}

// isScale reports whether elements can be divided by v.
func isScale(v float64) bool { return v > 0 && v <= math.MaxFloat64 }

// hasOutside reports whether an element of t is less than low or greater than high, or NaN where nan is set.
func (s *scope) hasOutside(t *tensor.Tensor, low, high float64, nan bool) bool {
	return s.hasElement(t, func(v float64) bool { return v < low || v > high || nan && v != v })
}

// hasElement reports whether holds is true of an element of t, or of the real or imaginary part of one.
func (s *scope) hasElement(t *tensor.Tensor, holds func(v float64) bool) bool {
	switch {
	case t.Numel() == 1:
		v := s.readItem(t)
		return holds(v.Float()) || v.Kind == dtype.KindComplex && holds(v.Im)
	}
	d := dtype.Float64
	if t.DType().IsComplex() {
		d = dtype.Complex128
	}
	values := s.castRowMajor(t, d)
	all, err := backend.Floats(s.Op, values)
	s.Check(err)
	for _, v := range all {
		if holds(v) {
			return true
		}
	}
	return false
}
