package random

// #cgo noescape random_log
// #cgo nocallback random_log
// #cgo noescape random_pow
// #cgo nocallback random_pow
// #include "transform.h"
import "C"

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Gamma are gamma random numbers of rate 1, of float32, float64 or a 16-bit dtype, with a shape parameter of this dtype for each element.
// They are at least the smallest normal number of the dtype.
type Gamma struct{}

// Check implements Distribution.
func (Gamma) Check(d, _ dtype.DType) error { return requireFloating("_standard_gamma", d) }

// countWords returns a block, the first of those that an element uses.
func (Gamma) countWords(_, _ dtype.DType) int { return blockWords }

func (Gamma) draw(s *stream, to, each Span, _ bool) error {
	least, d := to.DType.SmallestNormal(), dtype.Float32
	if each.DType == dtype.Float64 {
		d = dtype.Float64
	}
	s.fillEach(to, each, 1, func(of []float64) float64 {
		if v := s.drawGamma(of[0], d); v > least {
			return v
		}
		return least
	})
	return nil
}

// third is 1/3 as PyTorch's streams have it, rounded to float32.
const third = 0x1.555556p-2

// drawGamma is the method of G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000). Quantities that
// depend only on alpha are computed in its dtype d, as in PyTorch. The conversions prevent a compiler from fusing products into sums.
func (s *stream) drawGamma(alpha float64, d dtype.DType) float64 {
	if alpha == 0 {
		return 0
	}
	scale := 1.0
	if alpha < 1 {
		scale = s.computePow(1-s.engine.drawFloat64(), roundTo(d, 1/alpha))
		alpha = roundTo(d, alpha+1)
	}
	shift := roundTo(d, alpha-third)
	c := 1 / math.Sqrt(9*shift)
	for {
		x, y := 0.0, 0.0
		for y <= 0 {
			x = s.drawNormal()
			y = 1 + float64(c*x)
			if math.IsNaN(y) {
				return y
			}
		}
		v := float64(y*y) * y
		u := 1 - s.engine.drawFloat64()
		square := float64(x * x)
		if u < 1-float64(float64(0.0331*square)*square) || s.computeLog(u) < float64(0.5*square)+float64(shift*(1-v+s.computeLog(v))) {
			return float64(scale*shift) * v
		}
	}
}

// drawNormal returns the next standard normal.
func (s *stream) drawNormal() float64 {
	var z [block]float64
	s.drawNormals(z[:1], 0, 1)
	return z[0]
}

// computeLog and computePow are the C library's functions for PyTorch's streams, and Go's, which are the same everywhere, for counters.
func (s *stream) computeLog(x float64) float64 {
	v := [1]float64{x}
	s.applyLog(v[:])
	return v[0]
}

func (s *stream) computePow(x, y float64) float64 {
	if s.engine.kind == Philox {
		return math.Pow(x, y)
	}
	return float64(C.random_pow(C.double(x), C.double(y)))
}
