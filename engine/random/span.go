package random

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Span is Len adjacent elements of one dtype, aligned to their size. Data is borrowed for the call.
type Span struct {
	DType dtype.DType
	Data  unsafe.Pointer
	Len   int
}

func spanElements[T any](s Span) []T { return unsafe.Slice((*T)(s.Data), s.Len) }

// viewReal returns complex elements as twice as many reals.
func (s Span) viewReal() Span {
	if s.DType.IsComplex() {
		return Span{s.DType.ToReal(), s.Data, 2 * s.Len}
	}
	return s
}

// slice returns the n elements from the i-th on.
func (s Span) slice(i, n int) Span {
	return Span{s.DType, unsafe.Add(s.Data, int64(i)*s.DType.Size()), n}
}

type number interface {
	~uint8 | ~int8 | ~int16 | ~int32 | ~int64 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func convertElements[D, S number](dst []D, src []S) {
	if same, ok := any(src).([]D); ok {
		copy(dst, same)
		return
	}
	for i, v := range src {
		dst[i] = D(v)
	}
}

// encodeHalf rounds to a 16-bit float dtype.
func encodeHalf[S number](dst []uint16, src []S, d dtype.DType) {
	if d == dtype.Float16 {
		for i, v := range src {
			dst[i] = dtype.Float16FromFloat32(float32(v))
		}
		return
	}
	for i, v := range src {
		dst[i] = dtype.BFloat16FromFloat32(float32(v))
	}
}

// writeElements converts the values to the span's elements: floats truncate to integers and round to 16 bits by way of float32.
func writeElements[S number](s Span, values []S) {
	switch s.DType {
	case dtype.Bool:
		for i, v := range values {
			spanElements[bool](s)[i] = v != 0
		}
	case dtype.Uint8:
		convertElements(spanElements[uint8](s), values)
	case dtype.Int8:
		convertElements(spanElements[int8](s), values)
	case dtype.Int16:
		convertElements(spanElements[int16](s), values)
	case dtype.Int32:
		convertElements(spanElements[int32](s), values)
	case dtype.Int64:
		convertElements(spanElements[int64](s), values)
	case dtype.Uint16:
		convertElements(spanElements[uint16](s), values)
	case dtype.Uint32:
		convertElements(spanElements[uint32](s), values)
	case dtype.Uint64:
		convertElements(spanElements[uint64](s), values)
	case dtype.Float16, dtype.BFloat16:
		encodeHalf(spanElements[uint16](s), values, s.DType)
	case dtype.Float32:
		convertElements(spanElements[float32](s), values)
	case dtype.Float64:
		convertElements(spanElements[float64](s), values)
	}
}

// readElements widens the elements of a floating-point span.
func readElements[D float32 | float64](values []D, s Span) {
	switch s.DType {
	case dtype.Float16:
		for i, h := range spanElements[uint16](s) {
			values[i] = D(dtype.Float16ToFloat32(h))
		}
	case dtype.BFloat16:
		for i, h := range spanElements[uint16](s) {
			values[i] = D(dtype.BFloat16ToFloat32(h))
		}
	case dtype.Float32:
		convertElements(values, spanElements[float32](s))
	case dtype.Float64:
		convertElements(values, spanElements[float64](s))
	}
}

// roundTo rounds a value to the precision of a floating-point dtype.
func roundTo(d dtype.DType, v float64) float64 {
	switch d {
	case dtype.Float16:
		return float64(dtype.Float16ToFloat32(dtype.Float16FromFloat32(float32(v))))
	case dtype.BFloat16:
		return float64(dtype.BFloat16ToFloat32(dtype.BFloat16FromFloat32(float32(v))))
	case dtype.Float32:
		return float64(float32(v))
	}
	return v
}

// significandBits returns the number of significant bits of a floating-point dtype.
func significandBits(d dtype.DType) int {
	switch d {
	case dtype.Float16:
		return 11
	case dtype.BFloat16:
		return 8
	case dtype.Float32:
		return 24
	}
	return 53
}

func requireFloating(op string, d dtype.DType) error {
	if d.IsFloatingPoint() {
		return nil
	}
	return status.NotImplementedf("%s: not implemented for dtype %s; use float16, bfloat16, float32 or float64", op, d)
}

// requireContinuous is requireFloating for distributions with a RuntimeError in PyTorch.
func requireContinuous(op string, d dtype.DType) error {
	if d.IsFloatingPoint() {
		return nil
	}
	return status.Runtimef("%s: a continuous distribution is not implemented for dtype %s; use float16, bfloat16, float32 or float64", op, d)
}

func requireReal(op string, d dtype.DType) error {
	if d.IsComplex() {
		return status.NotImplementedf("%s: not implemented for dtype %s; use a real dtype", op, d)
	}
	return nil
}
