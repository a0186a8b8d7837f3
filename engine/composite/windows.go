package composite

import (
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// window makes a window of length samples from their positions 0, 1, ..., of which the last is n-1. A periodic window leaves out
// the last sample of one that is longer by one.
func window(c dispatch.Context, op string, length int64, periodic bool, d dtype.DType, layout tensor.Layout, dev device.Device, values func(s *scope, x *tensor.Tensor, n float64) *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if d == dtype.None {
		d = dtype.Default()
	}
	switch {
	case !d.IsFloatingPoint():
		return nil, status.Runtimef("%s: expects a floating point dtype, got %v", op, d)
	case length < 0:
		return nil, status.Runtimef("%s: requires non-negative window_length, got window_length=%d", op, length)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	if length <= 1 {
		return build.WriteResult(s.Builder, nil, s.OnesWith([]int64{length}, d, layout, dev))
	}
	n := length
	if periodic {
		n++
	}
	x := s.ArangeWith(dtype.IntScalar(length), d.Compute(), layout, dev)
	return s.ReturnNew(build.WriteResult(s.Builder, nil, s.CastTo(values(s, x, float64(n)), d)))
}

// scaled is a*t + b.
func (s *scope) scaled(t *tensor.Tensor, a, b float64) *tensor.Tensor {
	return s.Add(s.Mul(t, s.FloatNumber(a)), s.FloatNumber(b))
}

// cosine is a*cos(f*x) + b.
func (s *scope) cosine(x *tensor.Tensor, f, a, b float64) *tensor.Tensor {
	return s.scaled(s.Cos(s.Mul(x, s.FloatNumber(f))), a, b)
}

// BartlettWindow returns the triangular window 1 - |2i/(n-1) - 1|.
func BartlettWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return window(c, "bartlett_window", length, periodic, d, layout, dev, func(s *scope, x *tensor.Tensor, n float64) *tensor.Tensor {
		return s.scaled(s.Abs(s.scaled(x, 2/(n-1), -1)), -1, 1)
	})
}

// HannWindow returns the window (1 - cos(2πi/(n-1))) / 2.
func HannWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return cosineWindow(c, "hann_window", length, periodic, 0.5, 0.5, d, layout, dev)
}

// HammingWindow returns the window alpha - beta cos(2πi/(n-1)).
func HammingWindow(c dispatch.Context, length int64, periodic bool, alpha, beta float64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return cosineWindow(c, "hamming_window", length, periodic, alpha, beta, d, layout, dev)
}

func cosineWindow(c dispatch.Context, op string, length int64, periodic bool, alpha, beta float64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return window(c, op, length, periodic, d, layout, dev, func(s *scope, x *tensor.Tensor, n float64) *tensor.Tensor {
		return s.cosine(x, 2*math.Pi/(n-1), -beta, alpha)
	})
}

// BlackmanWindow returns the window 0.42 - 0.5 cos(2πi/(n-1)) + 0.08 cos(4πi/(n-1)).
func BlackmanWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return window(c, "blackman_window", length, periodic, d, layout, dev, func(s *scope, x *tensor.Tensor, n float64) *tensor.Tensor {
		return s.Add(s.cosine(x, 4*math.Pi/(n-1), 0.08, 0), s.cosine(x, 2*math.Pi/(n-1), -0.5, 0.42))
	})
}

// KaiserWindow returns the window I0(beta sqrt(1 - (2i/(n-1) - 1)²)) / I0(beta).
func KaiserWindow(c dispatch.Context, length int64, periodic bool, beta float64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return window(c, "kaiser_window", length, periodic, d, layout, dev, func(s *scope, x *tensor.Tensor, n float64) *tensor.Tensor {
		return s.kaiser(s.scaled(x, 2/(n-1), -1), beta)
	})
}

// kaiser returns the Kaiser window at positions x from -1 to 1. The Bessel functions go without their exponentials, which overflow; their ratio is
// multiplied in by halves, the root twice, so that it is not rounded to a subnormal number on the way.
func (s *scope) kaiser(x *tensor.Tensor, beta float64) *tensor.Tensor {
	top := s.FloatNumber(math.Abs(beta))
	// Rounding may carry the square of the ends beyond 1.
	x = s.Sqrt(s.ClampMin(s.scaled(s.Square(x), -1, 1), s.FloatNumber(0)))
	x = s.Mul(x, top)
	root := s.Exp(s.Mul(s.Sub(x, top), s.FloatNumber(0.5)))
	return s.Mul(s.Mul(s.Div(s.SpecialI0e(x), s.SpecialI0e(top)), root), root)
}
