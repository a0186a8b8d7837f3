package dtype

import (
	"fmt"
	"math"
	"strconv"
)

// Kind identifies the field of Scalar that holds the value.
type Kind uint8

// The kinds; the numbers are those of tensor_scalar_kind in tensor.h.
const (
	KindNone Kind = iota
	KindBool
	KindInt
	KindFloat
	KindComplex
	KindUint
)

// Scalar is a number of one of five kinds, so that no integer or complex value loses bits on its way through a call.
// Bool and Int live in I, Float in F, Complex in F (real) and Im. An integer beyond int64 is a Uint, of which I has the bits.
type Scalar struct {
	Kind Kind
	I    int64
	F    float64
	Im   float64
}

// FromBool returns 1 for true and 0 for false.
func FromBool[T int32 | int64](b bool) T {
	if b {
		return 1
	}
	return 0
}

// BoolScalar wraps a bool.
func BoolScalar(b bool) Scalar { return Scalar{Kind: KindBool, I: FromBool[int64](b)} }

// IntScalar wraps an integer.
func IntScalar(i int64) Scalar { return Scalar{Kind: KindInt, I: i} }

// UintScalar wraps an integer that may exceed int64.
func UintScalar(u uint64) Scalar {
	s := IntScalar(int64(u))
	if s.I < 0 {
		s.Kind = KindUint
	}
	return s
}

// IsInteger reports whether the number is an integer, bool not among them.
func (s Scalar) IsInteger() bool { return s.Kind == KindInt || s.Kind == KindUint }

// isWhole reports whether I has the value.
func (s Scalar) isWhole() bool { return s.Kind == KindBool || s.IsInteger() }

// FloatScalar wraps a float.
func FloatScalar(f float64) Scalar { return Scalar{Kind: KindFloat, F: f} }

// ComplexScalar wraps a complex number.
func ComplexScalar(c complex128) Scalar { return Scalar{Kind: KindComplex, F: real(c), Im: imag(c)} }

// IsNone reports whether the scalar is absent.
func (s Scalar) IsNone() bool { return s.Kind == KindNone }

// DType returns the dtype of the number by itself: bool, int64, whether or not it fits, the default dtype, or its complex.
func (s Scalar) DType() DType {
	switch s.Kind {
	case KindBool:
		return Bool
	case KindInt, KindUint:
		return Int64
	case KindComplex:
		return DefaultComplex()
	}
	return Default()
}

// Float returns the value as float64; the imaginary part is dropped.
func (s Scalar) Float() float64 {
	switch {
	case s.Kind == KindUint:
		return float64(uint64(s.I))
	case s.isWhole():
		return float64(s.I)
	}
	return s.F
}

// Int returns the value as int64, truncated towards zero; integers beyond that wrap around.
func (s Scalar) Int() int64 {
	if s.isWhole() {
		return s.I
	}
	return int64(s.F)
}

// Position returns the value as int64, truncated towards zero, and the largest one for integers beyond that, which are positions of
// nothing.
func (s Scalar) Position() int64 {
	if s.Kind == KindUint {
		return math.MaxInt64
	}
	return s.Int()
}

// Complex returns the value as complex128.
func (s Scalar) Complex() complex128 {
	if s.Kind == KindComplex {
		return complex(s.F, s.Im)
	}
	return complex(s.Float(), 0)
}

// Bool is true for every value but zero.
func (s Scalar) Bool() bool {
	if s.isWhole() {
		return s.I != 0
	}
	return s.F != 0 || s.Im != 0
}

// Equal compares values, across kinds.
func (s Scalar) Equal(v float64) bool { return s.Im == 0 && s.Float() == v }

// Fits reports whether the value can be written to dtype d without overflow: integers must be in d's range, the finite parts of floating
// and complex numbers too, and a number with an imaginary part needs a complex dtype.
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
		if d.IsFloat8() {
			return math.IsNaN(f) || d.float8().canHold(f, s.isWhole())
		}
		return math.IsInf(f, 0) || math.IsNaN(f) || math.Abs(f) <= MaxFinite(d)
	}
	return true
}

func (s Scalar) fitsIntegral(d DType) bool {
	lo, hi := d.IntegerRange()
	switch {
	case s.Kind == KindUint:
		return uint64(s.I) <= hi
	case s.Kind == KindInt && s.I >= 0:
		return uint64(s.I) <= hi
	case s.Kind == KindInt && d.IsSigned():
		return s.I >= lo
	case s.Kind == KindInt: // PyTorch accepts negative numbers that wrap into dtypes without a sign.
		return -uint64(s.I) <= hi
	}
	return s.F >= float64(lo) && math.Trunc(s.F) <= float64(hi)
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
		return strconv.FormatInt(s.I, 10)
	case KindUint:
		return strconv.FormatUint(uint64(s.I), 10)
	case KindFloat:
		return strconv.FormatFloat(s.F, 'g', -1, 64)
	case KindComplex:
		return fmt.Sprintf("(%g%+gj)", s.F, s.Im)
	}
	return "None"
}

// MaxFinite returns the largest finite value of a floating dtype, or of a complex dtype's parts.
func MaxFinite(d DType) float64 {
	if d.IsFloat8() {
		return d.float8().largest()
	}
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
