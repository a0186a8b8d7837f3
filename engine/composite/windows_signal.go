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

// makeSignalWindow returns a window of m samples, computed from their positions.
func makeSignalWindow(c dispatch.Context, name string, m int64, sym bool, d dtype.DType, layout tensor.Layout, dev device.Device,
	positions func(width float64) (first, step float64), values func(b *build.Builder,
		x *tensor.Tensor) *tensor.Tensor) (_ *tensor.Tensor, err error) {
	op := "signal.windows." + name
	if d == dtype.None {
		d = dtype.Default()
	}
	switch {
	case m < 0:
		return nil, status.Valuef("%s: requires non-negative window length, got M=%d", op, m)
	case d != dtype.Float32 && d != dtype.Float64:
		return nil, status.Valuef("%s: expects float32 or float64 dtypes, got: %v", op, d)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if m <= 1 {
		return build.WriteResult(b, nil, b.OnesWith([]int64{m}, d, layout, dev))
	}
	width := float64(m)
	if sym {
		width--
	}
	first, step := positions(width)
	x := b.LinspaceWith(dtype.FloatScalar(first), dtype.FloatScalar(first+float64(m-1)*step), m, d, layout, dev)
	return b.ReturnNew(build.WriteResult(b, nil, values(b, x)))
}

// SignalWindowsBartlett returns the triangular window 1 - |x|, x going from -1 to 1.
func SignalWindowsBartlett(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeSignalWindow(c, "bartlett", m, sym, d, layout, dev, func(width float64) (first, step float64) { return -1, 2 / width },
		func(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
			return scaleAndShift(b, b.Abs(x), -1, 1)
		})
}

// SignalWindowsCosine returns half a period of a sine.
func SignalWindowsCosine(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	half := func(width float64) (first, step float64) {
		step = math.Pi / (width + 1)
		return step / 2, step
	}
	return makeSignalWindow(c, "cosine", m, sym, d, layout, dev, half, func(b *build.Builder,
		x *tensor.Tensor) *tensor.Tensor {
		return b.Sin(x)
	})
}

// SignalWindowsExponential is exp(-|i - center| / tau), center being the middle by default.
func SignalWindowsExponential(c dispatch.Context, m int64, center *float64, tau float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	const name = "exponential"
	switch {
	case !(tau > 0):
		return nil, status.Valuef("signal.windows.%s: Tau must be positive, got: %v instead", name, tau)
	case sym && center != nil:
		return nil, status.Valuef("signal.windows.%s: Center must be None for symmetric windows, got: %v", name, *center)
	}
	around := func(width float64) (first, step float64) {
		middle := width / 2
		if center != nil {
			middle = *center
		}
		return -middle / tau, 1 / tau
	}
	return makeSignalWindow(c, name, m, sym, d, layout, dev, around, func(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
		return b.Exp(b.Neg(b.Abs(x)))
	})
}

// SignalWindowsGaussian is exp(-(x / std)² / 2), x being the distance from the middle.
func SignalWindowsGaussian(c dispatch.Context, m int64, std float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if !(std > 0) {
		return nil, status.Valuef("signal.windows.gaussian: Standard deviation must be positive, got: %v instead", std)
	}
	around := func(width float64) (first, step float64) {
		step = 1 / (std * math.Sqrt2)
		return -width / 2 * step, step
	}
	return makeSignalWindow(c, "gaussian", m, sym, d, layout, dev, around, func(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
		return b.Exp(b.Neg(b.Square(x)))
	})
}

// SignalWindowsKaiser is I0(sqrt(beta² - x²)) / I0(beta), x going from -beta to beta.
func SignalWindowsKaiser(c dispatch.Context, m int64, beta float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if !(beta >= 0) {
		return nil, status.Valuef("signal.windows.kaiser: beta must be non-negative, got: %v instead", beta)
	}
	return makeSignalWindow(c, "kaiser", m, sym, d, layout, dev, func(width float64) (first, step float64) { return -1, 2 / width },
		func(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
			return computeKaiser(b, x, beta)
		})
}

// makeCosineSum returns a sum of cosines, of which number i has i periods in the window, with weights of alternating signs.
func makeCosineSum(c dispatch.Context, name string, m int64, weights []float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeSignalWindow(c, name, m, sym, d, layout, dev, func(width float64) (first, step float64) { return 0, 2 * math.Pi / width },
		func(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
			total := scaleAndShift(b, x, 0, weights[0])
			for i, w := range weights[1:] {
				if i%2 == 0 {
					w = -w
				}
				total = b.Add(total, computeCosine(b, x, float64(i+1), w, 0))
			}
			return total
		})
}

// SignalWindowsBlackman returns a sum of three cosines.
func SignalWindowsBlackman(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineSum(c, "blackman", m, []float64{0.42, 0.5, 0.08}, sym, d, layout, dev)
}

// SignalWindowsGeneralCosine returns a sum of cosines with the weights that are given.
func SignalWindowsGeneralCosine(c dispatch.Context, m int64, weights []float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if len(weights) == 0 {
		return nil, status.Valuef("signal.windows.general_cosine: Coefficients cannot be empty")
	}
	return makeCosineSum(c, "general_cosine", m, weights, sym, d, layout, dev)
}

// SignalWindowsGeneralHamming returns alpha - (1 - alpha) cos(2πx), x going from 0 to 1.
func SignalWindowsGeneralHamming(c dispatch.Context, m int64, alpha float64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineSum(c, "general_hamming", m, []float64{alpha, 1 - alpha}, sym, d, layout, dev)
}

// SignalWindowsHamming is 0.54 - 0.46 cos(2πx), x going from 0 to 1.
func SignalWindowsHamming(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineSum(c, "hamming", m, []float64{0.54, 0.46}, sym, d, layout, dev)
}

// SignalWindowsHann is (1 - cos(2πx)) / 2, x going from 0 to 1.
func SignalWindowsHann(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineSum(c, "hann", m, []float64{0.5, 0.5}, sym, d, layout, dev)
}

// SignalWindowsNuttall returns a sum of four cosines with continuous first derivatives at its ends. After A. H. Nuttall, Some windows with
// very good sidelobe behavior (1981).
func SignalWindowsNuttall(c dispatch.Context, m int64, sym bool, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeCosineSum(c, "nuttall", m, []float64{0.3635819, 0.4891775, 0.1365995, 0.0106411}, sym, d, layout, dev)
}
