package random

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

// Uniform are floating-point or complex values of [From, To), both parts of a complex element alike. Bounds that the dtype cannot
// hold, From > To, and a range that it cannot hold are Runtime errors.
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
		return status.Runtimef("uniform_ expects to return a [from, to) range, but found from=%v > to=%v", u.From, u.To)
	case u.To-u.From > limit:
		return status.Runtimef("uniform_: to - from is out of bounds for %s: from=%v, to=%v", d, u.From, u.To)
	}
	return nil
}

func (u Uniform) draw(g *Generator, to, _ Span, _ bool) error {
	dst := to.parts()
	switch dst.DType {
	case dtype.Float16, dtype.BFloat16:
		g.uniformHalf(dst, float32(u.From), float32(u.To))
	case dtype.Float32:
		g.uniform32(elements[float32](dst), float32(u.From), float32(u.To))
	case dtype.Float64:
		g.uniform64(elements[float64](dst), u.From, u.To)
	}
	return nil
}

func (g *Generator) uniform32(v []float32, from, to float32) {
	for rest := v; len(rest) > 0; {
		draws := g.engine.take(len(rest))
		for i, x := range draws {
			rest[i] = unit32(x)
		}
		rest = rest[len(draws):]
	}
	if len(v) > 0 && (from != 0 || to != 1) {
		C.random_scale_f32((*C.float)(unsafe.SliceData(v)), C.int64_t(len(v)), C.float(from), C.float(to))
	}
}

func (g *Generator) uniform64(v []float64, from, to float64) {
	for rest := v; len(rest) > 0; {
		draws := g.engine.take(2 * len(rest))
		n := len(draws) / 2
		for i := range rest[:n] {
			rest[i] = unit64(draws[2*i], draws[2*i+1])
		}
		if len(draws)%2 == 1 {
			high := draws[2*n] // read before the low half's draw refills draws
			rest[n] = unit64(high, g.engine.uint32())
			n++
		}
		rest = rest[n:]
	}
	if len(v) > 0 && (from != 0 || to != 1) {
		C.random_scale_f64((*C.double)(unsafe.SliceData(v)), C.int64_t(len(v)), C.double(from), C.double(to))
	}
}

// uniformHalf draws in float32; a value that rounds up to the open end becomes from.
func (g *Generator) uniformHalf(dst Span, from, to float32) {
	var ends [2]uint16
	encode(ends[:], []float32{from, to}, dst.DType)
	var wide [256]float32
	for v := elements[uint16](dst); len(v) > 0; {
		n := min(len(wide), len(v))
		g.uniform32(wide[:n], from, to)
		encode(v, wide[:n], dst.DType)
		for i, h := range v[:n] {
			if h == ends[1] {
				v[i] = ends[0]
			}
		}
		v = v[n:]
	}
}
