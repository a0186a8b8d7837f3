package tensor

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
)

func toFloat(d dtype.DType, bits uint16) float64 {
	if d == dtype.Float16 || d == dtype.Complex32 {
		return float64(dtype.Float16ToFloat32(bits))
	}
	return float64(dtype.BFloat16ToFloat32(bits))
}

func fromFloat(d dtype.DType, f float64) uint16 {
	if d == dtype.Float16 || d == dtype.Complex32 {
		return dtype.Float16FromFloat32(float32(f))
	}
	return dtype.BFloat16FromFloat32(float32(f))
}

// Get reads one element of dtype d.
func Get(p unsafe.Pointer, d dtype.DType) dtype.Scalar {
	switch d {
	case dtype.Bool:
		return dtype.BoolScalar(*(*uint8)(p) != 0)
	case dtype.Uint8:
		return dtype.IntScalar(int64(*(*uint8)(p)))
	case dtype.Int8:
		return dtype.IntScalar(int64(*(*int8)(p)))
	case dtype.Int16:
		return dtype.IntScalar(int64(*(*int16)(p)))
	case dtype.Int32:
		return dtype.IntScalar(int64(*(*int32)(p)))
	case dtype.Int64:
		return dtype.IntScalar(*(*int64)(p))
	case dtype.Uint16:
		return dtype.IntScalar(int64(*(*uint16)(p)))
	case dtype.Uint32:
		return dtype.IntScalar(int64(*(*uint32)(p)))
	case dtype.Uint64:
		return dtype.UintScalar(*(*uint64)(p))
	case dtype.Float16, dtype.BFloat16:
		return dtype.FloatScalar(toFloat(d, *(*uint16)(p)))
	case dtype.Float32:
		return dtype.FloatScalar(float64(*(*float32)(p)))
	case dtype.Float64:
		return dtype.FloatScalar(*(*float64)(p))
	case dtype.Complex64:
		return dtype.ComplexScalar(complex128(*(*complex64)(p)))
	case dtype.Complex128:
		return dtype.ComplexScalar(*(*complex128)(p))
	}
	if d.IsFloat8() {
		return dtype.FloatScalar(float64(d.Float8ToFloat32(*(*uint8)(p))))
	}
	parts := *(*[2]uint16)(p)
	return dtype.ComplexScalar(complex(toFloat(d, parts[0]), toFloat(d, parts[1])))
}

// truncateToInt converts a float to an integer as casts do: towards zero, and to the most negative integer if the value is not finite or
// does not fit.
func truncateToInt(s dtype.Scalar) int64 {
	if s.Kind == dtype.KindBool || s.IsInteger() {
		return s.I
	}
	if !(s.F >= math.MinInt64 && s.F < math.MaxInt64) {
		return math.MinInt64
	}
	return int64(s.F)
}

// toFloat32 returns the number as float32, to which integers are rounded once.
func toFloat32(s dtype.Scalar) float32 {
	switch s.Kind {
	case dtype.KindInt:
		return float32(s.I)
	case dtype.KindUint:
		return float32(uint64(s.I))
	}
	return float32(s.Float())
}

// Put writes one element of dtype d, converting as a cast does.
func Put(p unsafe.Pointer, d dtype.DType, s dtype.Scalar) {
	switch d {
	case dtype.Bool:
		*(*bool)(p) = s.Bool()
	case dtype.Uint8, dtype.Int8:
		*(*uint8)(p) = uint8(truncateToInt(s))
	case dtype.Int16, dtype.Uint16:
		*(*int16)(p) = int16(truncateToInt(s))
	case dtype.Int32, dtype.Uint32:
		*(*int32)(p) = int32(truncateToInt(s))
	case dtype.Int64:
		*(*int64)(p) = truncateToInt(s)
	case dtype.Uint64:
		if s.F >= 1<<63 {
			*(*uint64)(p) = uint64(truncateToInt(dtype.FloatScalar(s.F-1<<63))) ^ 1<<63
		} else {
			*(*int64)(p) = truncateToInt(s)
		}
	case dtype.Float16, dtype.BFloat16:
		*(*uint16)(p) = fromFloat(d, s.Float())
	case dtype.Float32:
		*(*float32)(p) = toFloat32(s)
	case dtype.Float64:
		*(*float64)(p) = s.Float()
	case dtype.Complex64:
		*(*complex64)(p) = complex64(s.Complex())
	case dtype.Complex128:
		*(*complex128)(p) = s.Complex()
	default:
		if d.IsFloat8() {
			*(*uint8)(p) = d.Float8FromFloat32(toFloat32(s))
			return
		}
		c := s.Complex()
		*(*[2]uint16)(p) = [2]uint16{fromFloat(d, real(c)), fromFloat(d, imag(c))}
	}
}

// Rounded returns a number as an element of dtype d holds it.
func Rounded(d dtype.DType, s dtype.Scalar) dtype.Scalar {
	var element [16]byte
	Put(unsafe.Pointer(&element), d, s)
	return Get(unsafe.Pointer(&element), d)
}

// At reads the element at a multi-index, which must be in range.
func (t *Tensor) At(index []int64) dtype.Scalar {
	at := t.offset
	for i, x := range index {
		at += x * t.strides[i]
	}
	return Get(unsafe.Add(t.storage.Data(), at*t.dtype.Size()), t.dtype)
}

// Item returns the value of a tensor with one element.
func (t *Tensor) Item() dtype.Scalar { return Get(t.Data(), t.dtype) }

// FromInts returns a vector of 64-bit integers on the CPU, signed or unsigned.
func FromInts(op string, n int64, d dtype.DType, value func(i int64) int64) (*Tensor, error) {
	t, err := Empty(op, []int64{n}, d, device.Host)
	if err != nil {
		return nil, err
	}
	elements := unsafe.Slice((*int64)(t.Data()), n)
	for i := range elements {
		elements[i] = value(int64(i))
	}
	return t, nil
}
