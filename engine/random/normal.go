package random

// #cgo noescape random_box_muller_f32
// #cgo nocallback random_box_muller_f32
// #cgo noescape random_box_muller_f64
// #cgo nocallback random_box_muller_f64
// #cgo noescape random_polar
// #cgo nocallback random_polar
// #cgo noescape random_portable_box_muller
// #cgo nocallback random_portable_box_muller
// #include "portable.h"
// #include "transform.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// block is the number of normals that Box-Muller makes at once: 8 radii and 8 angles.
const block = 16

// Normal are floating-point or complex normals. The parts of a complex element have half the variance each. Std < 0 is a Runtime
// error.
type Normal struct{ Mean, Std float64 }

// Check implements Distribution.
func (n Normal) Check(d, _ dtype.DType) error {
	if !(n.Std >= 0) {
		return status.Runtimef("normal: expected std >= 0.0, but found std=%v", n.Std)
	}
	return requireFloating("normal_", d.ToReal())
}

func (Normal) countWords(to, _ dtype.DType) int {
	return countReals(to) * countUniformWords(to.ToReal())
}

// draw uses blocks in the same cases as PyTorch: for contiguous tensors with enough elements.
func (n Normal) draw(s *stream, to, _ Span, rowMajor bool) error {
	dst, mean, std := to.viewReal(), n.Mean, n.Std
	if to.DType.IsComplex() {
		std /= math.Sqrt2
	}
	counted := s.engine.kind == Philox
	switch {
	case counted && dst.DType != dtype.Float64:
		s.fillWholeBlocks(dst, float32(mean), float32(std))
		return nil
	case counted || !rowMajor || dst.Len < block:
		s.fillFloats(dst, func(v []float64) { s.drawNormals(v, mean, std) })
		return nil
	}
	switch dst.DType {
	case dtype.Float16, dtype.BFloat16:
		s.fillNormalHalf(dst, float32(mean), float32(std))
	case dtype.Float32:
		v := spanElements[float32](dst)
		s.fillUniform32(v, 0, 1)
		transformNormals32(v[:len(v)&^(block-1)], float32(mean), float32(std))
		if len(v)%block != 0 {
			tail := v[len(v)-block:]
			s.fillUniform32(tail, 0, 1)
			transformNormals32(tail, float32(mean), float32(std))
		}
	case dtype.Float64:
		v := spanElements[float64](dst)
		s.fillUniform64(v, 0, 1)
		transformNormals64(v[:len(v)&^(block-1)], mean, std)
		if len(v)%block != 0 {
			tail := v[len(v)-block:]
			s.fillUniform64(tail, 0, 1)
			transformNormals64(tail, mean, std)
		}
	}
	return nil
}

// fillWholeBlocks fills dst with normals of whole blocks, and drops the part of the last block beyond dst.
func (s *stream) fillWholeBlocks(dst Span, mean, std float32) {
	var wide [32 * block]float32
	for i := 0; i < dst.Len; i += len(wide) {
		n := min(len(wide), dst.Len-i)
		w := wide[:(n+block-1)&^(block-1)]
		s.fillUniform32(w, 0, 1)
		transformNormals32(w, mean, std)
		writeElements(dst.slice(i, n), w[:n])
	}
}

// drawNormals draws pairs of uniforms and caches the last pair's second normal if v has an odd length. From a counter's words it draws
// whole blocks, for which v has the capacity.
func (s *stream) drawNormals(v []float64, mean, std float64) {
	if s.engine.kind == Philox {
		w := v[:(len(v)+block-1)&^(block-1)]
		s.fillUniform64(w, 0, 1)
		p, n := toCArray(w)
		C.random_portable_box_muller(p, n)
		scaleAndShift(v, std, mean)
		return
	}
	z := v
	if len(z) > 0 && s.hasCachedNormal {
		z[0], z, s.hasCachedNormal = s.cachedNormal, z[1:], false
	}
	if odd := len(z) % 2; len(z) > 0 {
		var last [2]float64
		s.drawPolarPairs(z[:len(z)-odd])
		if odd == 1 {
			s.drawPolarPairs(last[:])
			z[len(z)-1], s.cachedNormal, s.hasCachedNormal = last[0], last[1], true
		}
	}
	scaleAndShift(v, std, mean)
}

// scaleAndShift computes v = v scale + shift with fused multiply-adds.
func scaleAndShift(v []float64, scale, shift float64) {
	for i := range v {
		v[i] = math.FMA(v[i], scale, shift)
	}
}

func (s *stream) drawPolarPairs(pairs []float64) {
	if len(pairs) == 0 {
		return
	}
	s.fillUniform64(pairs, 0, 1)
	C.random_polar((*C.double)(unsafe.SliceData(pairs)), C.int64_t(len(pairs)/2))
}

// fillNormalHalf works in float32 and, unlike the wider dtypes, draws nothing for the elements that the tail replaces.
func (s *stream) fillNormalHalf(dst Span, mean, std float32) {
	var wide [16 * block]float32
	fill := func(v []uint16) {
		for len(v) >= block {
			w := wide[:min(len(wide), len(v)&^(block-1))]
			s.fillUniform32(w, 0, 1)
			transformNormals32(w, mean, std)
			encodeHalf(v, w, dst.DType)
			v = v[len(w):]
		}
	}
	v := spanElements[uint16](dst)
	fill(v)
	if len(v)%block != 0 {
		fill(v[len(v)-block:])
	}
}

func transformNormals32(v []float32, mean, std float32) {
	C.random_box_muller_f32((*C.float)(unsafe.SliceData(v)), C.int64_t(len(v)), C.float(mean), C.float(std))
}

func transformNormals64(v []float64, mean, std float64) {
	for len(v) > 0 {
		w := v[:min(len(v), 64*block)] // stays in cache between the two passes
		C.random_box_muller_f64((*C.double)(unsafe.SliceData(w)), C.int64_t(len(w)))
		scaleAndShift(w, std, mean)
		v = v[len(w):]
	}
}
