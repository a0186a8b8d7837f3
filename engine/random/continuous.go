package random

// #cgo noescape random_log
// #cgo nocallback random_log
// #cgo noescape random_log1p
// #cgo nocallback random_log1p
// #cgo noescape random_exp
// #cgo nocallback random_exp
// #cgo noescape random_tan
// #cgo nocallback random_tan
// #cgo noescape random_portable_log
// #cgo nocallback random_portable_log
// #cgo noescape random_portable_log1p
// #cgo nocallback random_portable_log1p
// #cgo noescape random_portable_exp
// #cgo nocallback random_portable_exp
// #cgo noescape random_portable_tan
// #cgo nocallback random_portable_tan
// #include "portable.h"
// #include "transform.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// fillFloats fills dst from draw, which writes the next float64 values of the stream.
func (s *stream) fillFloats(dst Span, draw func(v []float64)) {
	for i := 0; i < dst.Len; i += len(s.floats) {
		n := min(len(s.floats), dst.Len-i)
		draw(s.floats[:n])
		writeElements(dst.slice(i, n), s.floats[:n])
	}
}

// Elementary functions, in place: the C library's for PyTorch's streams, for counters such as are the same everywhere.

func (s *stream) applyLog(v []float64) {
	if p, n := toCArray(v); s.engine.kind == Philox {
		C.random_portable_log(p, n)
	} else {
		C.random_log(p, n)
	}
}

func (s *stream) applyLog1p(v []float64) {
	if p, n := toCArray(v); s.engine.kind == Philox {
		C.random_portable_log1p(p, n)
	} else {
		C.random_log1p(p, n)
	}
}

func (s *stream) applyExp(v []float64) {
	if p, n := toCArray(v); s.engine.kind == Philox {
		C.random_portable_exp(p, n)
	} else {
		C.random_exp(p, n)
	}
}

func (s *stream) applyTan(v []float64) {
	if p, n := toCArray(v); s.engine.kind == Philox {
		C.random_portable_tan(p, n)
	} else {
		C.random_tan(p, n)
	}
}

func toCArray(v []float64) (*C.double, C.int64_t) {
	return (*C.double)(unsafe.SliceData(v)), C.int64_t(len(v))
}

// Exponential are floating-point exponentials of rate Lambda: -log(1 - u) / Lambda. Lambda <= 0 is a Runtime error.
type Exponential struct{ Lambda float64 }

// Check implements Distribution.
func (e Exponential) Check(d, _ dtype.DType) error {
	if !(e.Lambda > 0) {
		return status.Runtimef("exponential_: expected lambda > 0.0, but found lambda=%v", e.Lambda)
	}
	return requireContinuous("exponential_", d)
}

func (Exponential) countWords(_, _ dtype.DType) int { return 2 }

func (e Exponential) draw(s *stream, to, _ Span, _ bool) error {
	s.fillFloats(to, func(v []float64) { s.drawExponentials(v, e.Lambda) })
	return nil
}

func (s *stream) drawExponentials(v []float64, lambda float64) {
	s.fillUniform64(v, 0, 1)
	s.applyLog1p(v)
	scale := -1 / lambda
	for i := range v {
		v[i] *= scale
	}
}

// Cauchy are floating-point values of Median + Sigma tan(pi (u - 1/2)). Sigma <= 0 is a Runtime error.
type Cauchy struct{ Median, Sigma float64 }

// Check implements Distribution.
func (c Cauchy) Check(d, _ dtype.DType) error {
	if !(c.Sigma > 0) {
		return status.Runtimef("cauchy_: expected sigma > 0.0, but found sigma=%v", c.Sigma)
	}
	return requireContinuous("cauchy_", d)
}

func (Cauchy) countWords(_, _ dtype.DType) int { return 2 }

func (c Cauchy) draw(s *stream, to, _ Span, _ bool) error {
	s.fillFloats(to, func(v []float64) {
		s.fillUniform64(v, 0, 1)
		s.applyTan(v)
		scaleAndShift(v, c.Sigma, c.Median)
	})
	return nil
}

// LogNormal are floating-point exponentials of normals, drawn serially. Std <= 0 is a Runtime error.
type LogNormal struct{ Mean, Std float64 }

// Check implements Distribution.
func (n LogNormal) Check(d, _ dtype.DType) error {
	if !(n.Std > 0) {
		return status.Runtimef("log_normal_: expected std > 0.0, but found std=%v", n.Std)
	}
	return requireFloating("log_normal_", d)
}

func (LogNormal) countWords(_, _ dtype.DType) int { return 2 }

func (n LogNormal) draw(s *stream, to, _ Span, _ bool) error {
	s.fillFloats(to, func(v []float64) {
		s.drawNormals(v, n.Mean, n.Std)
		s.applyExp(v)
	})
	return nil
}

// Geometric are numbers of trials of probability P up to the first success, ceil(log(u) / log(1 - P)), of an integer or
// floating-point dtype. P outside (0, 1) is a Runtime error.
type Geometric struct{ P float64 }

// Check implements Distribution.
func (t Geometric) Check(d, _ dtype.DType) error {
	if !(t.P > 0 && t.P < 1) {
		return status.Runtimef("geometric_: expected p to be in (0, 1), but got p=%v", t.P)
	}
	if !d.IsIntegral() && !d.IsFloatingPoint() {
		return status.NotImplementedf("geometric_: not implemented for dtype %s; use an integer or floating-point dtype", d)
	}
	return nil
}

func (Geometric) countWords(_, _ dtype.DType) int { return 2 }

func (t Geometric) draw(s *stream, to, _ Span, _ bool) error {
	scale := math.Log1p(-t.P)
	s.fillFloats(to, func(v []float64) {
		s.fillUniform64(v, 0, 1)
		s.applyLog(v)
		for i := range v {
			v[i] = math.Ceil(v[i] / scale)
		}
	})
	return nil
}
