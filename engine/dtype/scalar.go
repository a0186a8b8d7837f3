package dtype

import (
	"fmt"
	"math"
	"strconv"
)

// Kind tells which of Scalar's fields hold the value.
type Kind uint8

// The kinds; the numbers are those of tensor_scalar_kind in tensor.h.
const (
	KindNone Kind = iota
	KindBool
	KindInt
	KindFloat
	KindComplex
)

// Scalar is a number of one of four kinds, so that no integer or complex value loses bits on its way through a call.
// Bool and Int live in I, Float in F, Complex in F (real) and Im. An Int beyond int64 has its value in F and is wrapped around in I.
type Scalar struct {
	Kind Kind
	I    int64
	F    float64
	Im   float64
}

// BoolScalar wraps a bool.
func BoolScalar(b bool) Scalar {
	if b {
		return Scalar{Kind: KindBool, I: 1}
	}
	return Scalar{Kind: KindBool}
}

// IntScalar wraps an integer.
func IntScalar(i int64) Scalar { return Scalar{Kind: KindInt, I: i} }

// UintScalar wraps an integer that may lie beyond int64.
func UintScalar(u uint64) Scalar {
	s := IntScalar(int64(u))
	if s.I < 0 {
		s.F = float64(u)
	}
	return s
}

// Wraps tells whether the scalar is an integer beyond int64.
func (s Scalar) Wraps() bool { return s.Kind == KindInt && s.F != 0 }

// FloatScalar wraps a float.
func FloatScalar(f float64) Scalar { return Scalar{Kind: KindFloat, F: f} }

// ComplexScalar wraps a complex number.
func ComplexScalar(c complex128) Scalar { return Scalar{Kind: KindComplex, F: real(c), Im: imag(c)} }

// IsNone tells whether the scalar is absent.
func (s Scalar) IsNone() bool { return s.Kind == KindNone }

// DType is the dtype of the number by itself: bool, int64, the default dtype, or its complex.
func (s Scalar) DType() DType {
	switch s.Kind {
	case KindBool:
		return Bool
	case KindInt:
		return Int64
	case KindComplex:
		return DefaultComplex()
	}
	return Default()
}

// Float is the value as float64; the imaginary part is dropped.
func (s Scalar) Float() float64 {
	if (s.Kind == KindBool || s.Kind == KindInt) && s.F == 0 {
		return float64(s.I)
	}
	return s.F
}

// Int is the value as int64, truncated towards zero.
func (s Scalar) Int() int64 {
	if s.Kind == KindBool || s.Kind == KindInt {
		return s.I
	}
	return int64(s.F)
}

// Complex is the value as complex128.
func (s Scalar) Complex() complex128 {
	if s.Kind == KindComplex {
		return complex(s.F, s.Im)
	}
	return complex(s.Float(), 0)
}

// Bool is true for every value but zero.
func (s Scalar) Bool() bool {
	if s.Kind == KindBool || s.Kind == KindInt {
		return s.I != 0
	}
	return s.F != 0 || s.Im != 0
}

// Equal compares values, across kinds.
func (s Scalar) Equal(v float64) bool { return s.Im == 0 && s.Float() == v }

// Fits tells whether the value can be written to dtype d without overflow: integers must be in d's range,
// the finite parts of floating and complex numbers too, and a number with an imaginary part needs a complex dtype.
func (s Scalar) Fits(d DType) bool {
	switch {
	case s.Kind == KindBool || d == Bool:
		return true
	case d.IsComplex():
		re, im := FloatScalar(s.Float()), FloatScalar(s.Im)
		return re.Fits(d.ToReal()) && im.Fits(d.ToReal())
	case s.Kind == KindComplex && s.Im != 0:
		return false
	case d.IsIntegral():
		return s.fitsIntegral(d)
	case d.IsFloatingPoint():
		f := s.Float()
		return math.IsInf(f, 0) || math.IsNaN(f) || math.Abs(f) <= MaxFinite(d)
	}
	return true
}

func (s Scalar) fitsIntegral(d DType) bool {
	lo, hi := IntRange(d)
	if s.Wraps() {
		return false
	}
	if s.Kind == KindInt {
		if d == Uint8 {
			// PyTorch accepts negative numbers that wrap into uint8.
			return s.I >= -hi && s.I <= hi
		}
		return s.I >= lo && s.I <= hi
	}
	f := s.F
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return false
	}
	return f >= float64(lo) && f <= float64(hi)+1 && math.Trunc(f) <= float64(hi)
}

// String prints the number as Python does.
func (s Scalar) String() string {
	switch s.Kind {
	case KindBool:
		if s.I != 0 {
			return "True"
		}
		return "False"
	case KindInt:
		if s.Wraps() {
			return strconv.FormatUint(uint64(s.I), 10)
		}
		return strconv.FormatInt(s.I, 10)
	case KindFloat:
		return strconv.FormatFloat(s.F, 'g', -1, 64)
	case KindComplex:
		return fmt.Sprintf("(%g%+gj)", s.F, s.Im)
	}
	return "None"
}

// IntRange gives the smallest and largest value of bool and the integer dtypes.
func IntRange(d DType) (lo, hi int64) {
	switch d {
	case Bool:
		return 0, 1
	case Uint8:
		return 0, math.MaxUint8
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Int32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// MaxFinite is the largest finite value of a floating dtype, or of a complex dtype's parts.
func MaxFinite(d DType) float64 {
	switch d.ToReal() {
	case Float16:
		return 65504
	case BFloat16:
		return 0x1.fep127
	case Float32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}
