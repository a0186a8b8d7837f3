package random

// #cgo noescape random_unit_f32
// #cgo nocallback random_unit_f32
// #cgo noescape random_unit_f64
// #cgo nocallback random_unit_f64
// #cgo noescape random_scale_f32
// #cgo nocallback random_scale_f32
// #cgo noescape random_scale_f64
// #cgo nocallback random_scale_f64
// #include "transform.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Uniform draws floating-point or complex values of [From, To), with the same range for both parts of a complex element. Bounds that the
// dtype cannot hold, From > To, and a range that it cannot hold are Runtime errors.
type Uniform struct{ From, To float64 }

// Check implements Distribution.
func (u Uniform) Check(d, _ dtype.DType) error {
	d = d.ToReal()
	if err := requireFloating("uniform_", d); err != nil {
		return err
	}
	limit := dtype.MaxFinite(d)
	switch {
	case !(u.From >= -limit && u.From <= limit):
		return status.Runtimef("uniform_: from=%v is out of bounds for %s", u.From, d)
	case !(u.To >= -limit && u.To <= limit):
		return status.Runtimef("uniform_: to=%v is out of bounds for %s", u.To, d)
	case u.From > u.To:
		return status.Runtimef("uniform_: expected from <= to of a [from, to) range, but found from=%v > to=%v", u.From, u.To)
	case u.To-u.From > limit:
		return status.Runtimef("uniform_: to - from is out of bounds for %s: from=%v, to=%v", d, u.From, u.To)
	}
	return nil
}

func (Uniform) countWords(to, _ dtype.DType) int {
	return countReals(to) * countUniformWords(to.ToReal())
}

func (u Uniform) draw(s *stream, to, _ Span, _ bool) error {
	dst := to.viewReal()
	switch dst.DType {
	case dtype.Float16, dtype.BFloat16:
		s.fillUniformHalf(dst, float32(u.From), float32(u.To))
	case dtype.Float32:
		s.fillUniform32(spanElements[float32](dst), float32(u.From), float32(u.To))
	case dtype.Float64:
		s.fillUniform64(spanElements[float64](dst), u.From, u.To)
	}
	return nil
}

func (s *stream) fillUniform32(v []float32, from, to float32) {
	for rest := v; len(rest) > 0; {
		draws := s.engine.takeWords(len(rest))
		C.random_unit_f32((*C.uint32_t)(&draws[0]), (*C.float)(&rest[0]), C.int64_t(len(draws)))
		rest = rest[len(draws):]
	}
	if len(v) > 0 && (from != 0 || to != 1) {
		C.random_scale_f32((*C.float)(unsafe.SliceData(v)), C.int64_t(len(v)), C.float(from), C.float(to))
	}
}

func (s *stream) fillUniform64(v []float64, from, to float64) {
	for rest := v; len(rest) > 0; {
		draws := s.engine.takeWords(2 * len(rest))
		n := len(draws) / 2
		C.random_unit_f64((*C.uint32_t)(&draws[0]), (*C.double)(&rest[0]), C.int64_t(n))
		if len(draws)%2 == 1 {
			halves := [2]uint32{draws[2*n]} // read before the low half's draw refills draws
			halves[1] = s.engine.drawUint32()
			C.random_unit_f64((*C.uint32_t)(&halves[0]), (*C.double)(&rest[n]), 1)
			n++
		}
		rest = rest[n:]
	}
	if len(v) > 0 && (from != 0 || to != 1) {
		C.random_scale_f64((*C.double)(unsafe.SliceData(v)), C.int64_t(len(v)), C.double(from), C.double(to))
	}
}

// fillUniformHalf draws in float32; a value that rounds up to the open end becomes from.
func (s *stream) fillUniformHalf(dst Span, from, to float32) {
	var ends [2]uint16
	encodeHalf(ends[:], []float32{from, to}, dst.DType)
	var wide [256]float32
	for v := spanElements[uint16](dst); len(v) > 0; {
		n := min(len(wide), len(v))
		s.fillUniform32(wide[:n], from, to)
		encodeHalf(v, wide[:n], dst.DType)
		for i, h := range v[:n] {
			if h == ends[1] {
				v[i] = ends[0]
			}
		}
		v = v[n:]
	}
}
