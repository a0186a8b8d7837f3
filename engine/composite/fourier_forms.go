package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FftFft transforms along dim.
func FftFft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.fft", out, self, n, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformAny()
}

// FftIfft transforms back along dim.
func FftIfft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.ifft", out, self, n, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformAny()
}

// FftRfft returns the first half of the transform of real numbers along dim.
func FftRfft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.rfft", out, self, n, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftIrfft transforms half of Hermitian numbers back to real ones along dim.
func FftIrfft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.irfft", out, self, n, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftHfft transforms half of Hermitian numbers to real ones along dim.
func FftHfft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.hfft", out, self, n, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftIhfft returns the first half of the transform back of real numbers along dim.
func FftIhfft(c dispatch.Context, out, self *tensor.Tensor, n ops.Int, dim int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourier1D(c, "fft.ihfft", out, self, n, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftFft2 transforms along two dimensions.
func FftFft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.fft2", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformComplex()
}

// FftFftn transforms along dimensions, all in their absence.
func FftFftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.fftn", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformComplex()
}

// FftIfft2 transforms back along two dimensions.
func FftIfft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.ifft2", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformComplex()
}

// FftIfftn transforms back along dimensions, all in their absence.
func FftIfftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.ifftn", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformComplex()
}

// FftRfft2 returns the first half of the transform of real numbers along two dimensions.
func FftRfft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.rfft2", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftRfftn returns the first half of the transform of real numbers along dimensions, all in their absence.
func FftRfftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.rfftn", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftIrfft2 transforms half of Hermitian numbers back to real ones along two dimensions.
func FftIrfft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.irfft2", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftIrfftn transforms half of Hermitian numbers back to real ones along dimensions, all in their absence.
func FftIrfftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.irfftn", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftHfft2 transforms half of Hermitian numbers to real ones along two dimensions.
func FftHfft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.hfft2", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftHfftn transforms half of Hermitian numbers to real ones along dimensions, all in their absence.
func FftHfftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.hfftn", out, self, size, dim, norm, true)
	if err != nil {
		return nil, err
	}
	return f.transformToReal()
}

// FftIhfft2 returns the first half of the transform back of real numbers along two dimensions.
func FftIhfft2(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.ihfft2", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftIhfftn returns the first half of the transform back of real numbers along dimensions, all in their absence.
func FftIhfftn(c dispatch.Context, out, self *tensor.Tensor, size, dim []int64, norm string) (*tensor.Tensor, error) {
	f, err := newFourierND(c, "fft.ihfftn", out, self, size, dim, norm, false)
	if err != nil {
		return nil, err
	}
	return f.transformReal(true)
}

// FftFftshift rolls by half of the sizes.
func FftFftshift(c dispatch.Context, self *tensor.Tensor, dim []int64) (*tensor.Tensor, error) {
	return shiftDims(c, "fft.fftshift", self, dim, func(size int64) int64 { return size / 2 })
}

// FftIfftshift returns the inverse of FftFftshift.
func FftIfftshift(c dispatch.Context, self *tensor.Tensor, dim []int64) (*tensor.Tensor, error) {
	return shiftDims(c, "fft.ifftshift", self, dim, func(size int64) int64 { return (size + 1) / 2 })
}

func shiftDims(c dispatch.Context, op string, self *tensor.Tensor, dims []int64, by func(size int64) int64) (*tensor.Tensor, error) {
	if dims == nil {
		for d := range self.Dim() {
			dims = append(dims, int64(d))
		}
	}
	if len(dims) == 0 {
		return c.Clone(self, shape.Preserve)
	}
	var shifts []int64
	for _, d := range dims {
		at, err := shape.WrapDim(op, d, self.Dim())
		if err != nil {
			return nil, err
		}
		if self.Dim() == 0 {
			return nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, d)
		}
		shifts = append(shifts, by(self.Sizes()[at]))
	}
	rolled, err := c.Roll(self, shifts, dims)
	return wrapError(op, rolled, err)
}

// FftFftfreq returns the frequencies of a transform of n samples with spacing d.
func FftFftfreq(c dispatch.Context, out *tensor.Tensor, n int64, d float64, dt dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeFrequencies(c, "fft.fftfreq", out, n, d, dt, layout, dev, [2]int64{0, (n + 1) / 2}, [2]int64{-(n / 2), 0})
}

// FftRfftfreq returns the frequencies of the one-sided transform of n samples with spacing d.
func FftRfftfreq(c dispatch.Context, out *tensor.Tensor, n int64, d float64, dt dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeFrequencies(c, "fft.rfftfreq", out, n, d, dt, layout, dev, [2]int64{0, n/2 + 1})
}

// makeFrequencies returns the integers in ranges, divided by n*d.
func makeFrequencies(c dispatch.Context, op string, out *tensor.Tensor, n int64, d float64, dt dtype.DType, layout tensor.Layout,
	dev device.Device, ranges ...[2]int64) (_ *tensor.Tensor, err error) {
	if dt == dtype.None {
		dt = dtype.Default()
		if out != nil {
			dt = out.DType()
		}
	}
	switch {
	case n < 0:
		return nil, status.Runtimef("%s: expects a non-negative number of samples, got n=%d", op, n)
	case dt.Category() < dtype.Floating:
		return nil, status.Runtimef("%s: expects a floating point or complex dtype, got %v", op, dt)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	var parts []*tensor.Tensor
	for _, r := range ranges {
		parts = append(parts, b.ArangeStartWith(dtype.IntScalar(r[0]), dtype.IntScalar(r[1]), dt, layout, dev))
	}
	return build.WriteResult(b, out, b.Mul(b.Cat(parts, 0), b.FloatNumber(1/(float64(n)*d))))
}
