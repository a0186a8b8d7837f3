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

// makeWindow makes a window of length samples from their positions 0, 1, ..., of which the last is n-1. A periodic window leaves out
// the last sample of one that is longer by one.
func makeWindow(c dispatch.Context, op string, length int64, periodic bool, d dtype.DType, layout tensor.Layout, dev device.Device,
	values func(b *build.Builder, x *tensor.Tensor, n float64) *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if d == dtype.None {
		d = dtype.Default()
	}
	switch {
	case !d.IsFloatingPoint():
		return nil, status.Runtimef("%s: expects a floating point dtype, got %v", op, d)
	case length < 0:
		return nil, status.Runtimef("%s: requires non-negative window_length, got window_length=%d", op, length)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if length <= 1 {
		return build.WriteResult(b, nil, b.OnesWith([]int64{length}, d, layout, dev))
	}
	n := length
	if periodic {
		n++
	}
	x := b.ArangeWith(dtype.IntScalar(length), d.Compute(), layout, dev)
	return b.ReturnNew(build.WriteResult(b, nil, b.CastTo(values(b, x, float64(n)), d)))
}

// scaleAndShift returns a*t + b.
func scaleAndShift(b *build.Builder, t *tensor.Tensor, scale, shift float64) *tensor.Tensor {
	return b.Add(b.Mul(t, b.FloatNumber(scale)), b.FloatNumber(shift))
}

// computeCosine returns a*cos(f*x) + b.
func computeCosine(b *build.Builder, x *tensor.Tensor, f, scale, shift float64) *tensor.Tensor {
	return scaleAndShift(b, b.Cos(b.Mul(x, b.FloatNumber(f))), scale, shift)
}

// BartlettWindow returns the triangular window 1 - |2i/(n-1) - 1|.
func BartlettWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeWindow(c, "bartlett_window", length, periodic, d, layout, dev, func(b *build.Builder, x *tensor.Tensor,
		n float64) *tensor.Tensor {
		return scaleAndShift(b, b.Abs(scaleAndShift(b, x, 2/(n-1), -1)), -1, 1)
	})
}

// HannWindow returns the window (1 - cos(2πi/(n-1))) / 2.
func HannWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineWindow(c, "hann_window", length, periodic, 0.5, 0.5, d, layout, dev)
}

// HammingWindow returns the window alpha - beta cos(2πi/(n-1)).
func HammingWindow(c dispatch.Context, length int64, periodic bool, alpha, beta float64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineWindow(c, "hamming_window", length, periodic, alpha, beta, d, layout, dev)
}

func makeCosineWindow(c dispatch.Context, op string, length int64, periodic bool, alpha, beta float64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeWindow(c, op, length, periodic, d, layout, dev, func(b *build.Builder, x *tensor.Tensor, n float64) *tensor.Tensor {
		return computeCosine(b, x, 2*math.Pi/(n-1), -beta, alpha)
	})
}

// BlackmanWindow returns the window 0.42 - 0.5 cos(2πi/(n-1)) + 0.08 cos(4πi/(n-1)).
func BlackmanWindow(c dispatch.Context, length int64, periodic bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeWindow(c, "blackman_window", length, periodic, d, layout, dev, func(b *build.Builder, x *tensor.Tensor,
		n float64) *tensor.Tensor {
		return b.Add(computeCosine(b, x, 4*math.Pi/(n-1), 0.08, 0), computeCosine(b, x, 2*math.Pi/(n-1), -0.5, 0.42))
	})
}

// KaiserWindow returns the window I0(beta sqrt(1 - (2i/(n-1) - 1)²)) / I0(beta).
func KaiserWindow(c dispatch.Context, length int64, periodic bool, beta float64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeWindow(c, "kaiser_window", length, periodic, d, layout, dev, func(b *build.Builder, x *tensor.Tensor,
		n float64) *tensor.Tensor {
		return computeKaiser(b, scaleAndShift(b, x, 2/(n-1), -1), beta)
	})
}

// computeKaiser returns the Kaiser window at positions x from -1 to 1. The Bessel functions are scaled by exp(-x), since they overflow
// otherwise. Their ratio is multiplied by two halves of the remaining exponential, so that no intermediate result is subnormal.
func computeKaiser(b *build.Builder, x *tensor.Tensor, beta float64) *tensor.Tensor {
	top := b.FloatNumber(math.Abs(beta))
	// Rounding may carry the square of the ends beyond 1.
	x = b.Sqrt(b.ClampMin(scaleAndShift(b, b.Square(x), -1, 1), b.FloatNumber(0)))
	x = b.Mul(x, top)
	root := b.Exp(b.Mul(b.Sub(x, top), b.FloatNumber(0.5)))
	return b.Mul(b.Mul(b.Div(b.SpecialI0e(x), b.SpecialI0e(top)), root), root)
}
