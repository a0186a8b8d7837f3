package random

// #cgo noescape random_log
// #cgo nocallback random_log
// #cgo noescape random_log1p
// #cgo nocallback random_log1p
// #cgo noescape random_exp
// #cgo nocallback random_exp
// #cgo noescape random_tan
// #cgo nocallback random_tan
// #include "transform.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/status"
)

// serial fills dst from draw, which writes the next float64 values of the stream.
func (g *Generator) serial(dst Span, draw func(v []float64)) {
	for i := 0; i < dst.Len; i += len(g.floats) {
		n := min(len(g.floats), dst.Len-i)
		draw(g.floats[:n])
		put(dst.at(i, n), g.floats[:n])
	}
}

func c(v []float64) (*C.double, C.int64_t) {
	return (*C.double)(unsafe.SliceData(v)), C.int64_t(len(v))
}

// Exponential fills a floating-point span with exponentials of rate lambda: -log(1 - u) / lambda. lambda <= 0 is a
// Runtime error.
func (g *Generator) Exponential(dst Span, lambda float64) error {
	if !(lambda > 0) {
		return status.Runtimef("exponential_ expects lambda > 0.0, but found lambda=%v", lambda)
	}
	if err := requireContinuous("exponential_", dst.DType); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial(dst, func(v []float64) { g.exponentials(v, lambda) })
	return nil
}

func (g *Generator) exponentials(v []float64, lambda float64) {
	g.uniform64(v, 0, 1)
	p, n := c(v)
	C.random_log1p(p, n)
	scale := -1 / lambda
	for i := range v {
		v[i] *= scale
	}
}

// Cauchy fills a floating-point span with median + sigma tan(pi (u - 1/2)). sigma <= 0 is a Runtime error.
func (g *Generator) Cauchy(dst Span, median, sigma float64) error {
	if !(sigma > 0) {
		return status.Runtimef("cauchy_ expects sigma > 0.0, but found sigma=%v", sigma)
	}
	if err := requireContinuous("cauchy_", dst.DType); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial(dst, func(v []float64) {
		g.uniform64(v, 0, 1)
		p, n := c(v)
		C.random_tan(p, n)
		affine(v, sigma, median)
	})
	return nil
}

// LogNormal fills a floating-point span with exponentials of normals of the given mean and standard deviation, drawn
// serially. std <= 0 is a Runtime error.
func (g *Generator) LogNormal(dst Span, mean, std float64) error {
	if !(std > 0) {
		return status.Runtimef("log_normal_ expects std > 0.0, but found std=%v", std)
	}
	if err := requireFloating("log_normal_", dst.DType); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.serial(dst, func(v []float64) {
		g.normals(v, mean, std)
		p, n := c(v)
		C.random_exp(p, n)
	})
	return nil
}

// Geometric fills an integer or floating-point span with the number of trials of probability p up to the first success:
// ceil(log(u) / log(1 - p)). p outside (0, 1) is a Runtime error.
func (g *Generator) Geometric(dst Span, p float64) error {
	if !(p > 0 && p < 1) {
		return status.Runtimef("geometric_ expects p to be in (0, 1), but got p=%v", p)
	}
	if !dst.DType.IsIntegral() && !dst.DType.IsFloatingPoint() {
		return status.NotImplementedf("geometric_ is not implemented for %s: use an integer or floating-point dtype",
			dst.DType)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	scale := math.Log1p(-p)
	g.serial(dst, func(v []float64) {
		g.uniform64(v, 0, 1)
		data, n := c(v)
		C.random_log(data, n)
		for i := range v {
			v[i] = math.Ceil(v[i] / scale)
		}
	})
	return nil
}
