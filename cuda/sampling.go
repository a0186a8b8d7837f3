package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// sampled mirrors lt::Sampling of kernels/sampling.h.
type sampled struct {
	kernelapi.Sampling
	count, volume  int64
	index, weights uintptr
}

// sample has a thread for each point of the grid.
func sample(op string, w backend.Sampling) error {
	if w.Kernel == kernelapi.SampleSpread {
		return spreadSamples(op, w)
	}
	a := sampled{Sampling: tensoriter.LaySampling(w)}
	a.count = w.Images.Sizes()[0] * a.Points
	return on(op, w.Images.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, w.Images.DType()), a.count, &a) })
}

// spreadSamples adds the values of each point, times the weights of its filter taps, to zeros at the positions of the filter taps, in the
// order of the points. Sums of 16-bit floats are float32.
var spreadSamples = composed(func(b *composite, w backend.Sampling) {
	sizes, d := w.Images.Sizes(), w.Images.DType()
	a := sampled{Sampling: tensoriter.LaySampling(w), volume: shape.Product(sizes[2:])}
	examples, channels := sizes[0], sizes[1]
	a.count = examples * a.Points
	taps := int64(1)
	for range a.Dims {
		taps *= tapsOfMode[w.Mode]
	}
	index := b.EmptyBeside(w.Grid, dtype.Int64, a.count*taps)
	weights := b.EmptyBeside(w.Grid, d.Compute(), examples, a.Points, taps, 1)
	a.index, a.weights = uintptr(index.Data()), uintptr(weights.Data())
	a.Image, a.Values, a.Slope = 0, 0, 0
	b.Check(on(b.Op, w.Images.Device(), func(m *machine) error { return call(m, b.Op, kernels.Of("sample_taps", d), a.count, &a) }))
	values := b.Transpose(b.flat(w.Values, examples, channels, a.Points), 1, 2)
	parts := b.Mul(weights, b.Unsqueeze(values, 2))
	last := examples * a.volume // a row for filter taps outside of the image
	index = b.Where(b.Lt(index, b.IntNumber(0)), b.IntNumber(last), index)
	sums := b.IndexAdd(b.ZerosBeside(parts, parts.DType(), last+1, channels), 0, index, b.Reshape(parts, a.count*taps, channels))
	images := b.Reshape(b.Narrow(sums, 0, 0, last), examples, a.volume, channels)
	b.write(b.flat(w.Images, examples, channels, a.volume), b.Transpose(images, 1, 2))
})

// tapsOfMode are the numbers of filter taps along a dimension by mode: of backend.SampleModes.
var tapsOfMode = [...]int64{2, 1, 4}
