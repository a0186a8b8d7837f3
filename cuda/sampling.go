package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// sampleGrid interpolates images at the points of a grid, with a thread for each point.
func sampleGrid(op string, w backend.Sampling) error {
	if w.Kernel == kernelapi.SampleSpread {
		return spreadSamples(op, w)
	}
	a := sampling{Sampling: tensoriter.LaySampling(w)}
	a.count = w.Images.Sizes()[0] * a.Points
	return withCurrentStream(op, w.Images.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, findEntry(w.Kernel, w.Images.DType()), a.count, &a)
	})
}

// spreadSamples adds the values of each point, times its interpolation weights, to zeros at the elements around the point, in the
// order of the points. Sums of 16-bit floats are float32.
var spreadSamples = makeComposite(func(b *composite, w backend.Sampling) {
	sizes, d := w.Images.Sizes(), w.Images.DType()
	a := sampling{Sampling: tensoriter.LaySampling(w), volume: shape.Product(sizes[2:])}
	examples, channels := sizes[0], sizes[1]
	a.count = examples * a.Points
	neighbors := int64(1)
	for range a.Dims {
		neighbors *= neighborsOfMode[w.Mode]
	}
	index := b.EmptyBeside(w.Grid, dtype.Int64, a.count*neighbors)
	weights := b.EmptyBeside(w.Grid, d.Compute(), examples, a.Points, neighbors, 1)
	a.index, a.weights = uintptr(index.Data()), uintptr(weights.Data())
	a.Image, a.Values, a.Slope = 0, 0, 0
	b.Check(withCurrentStream(b.Op, w.Images.Device(), func(m *deviceStream) error {
		return launchEntry(m, b.Op, kernels.Of("sample_neighbors", d), a.count, &a)
	}))
	values := b.Transpose(b.viewFlat(w.Values, examples, channels, a.Points), 1, 2)
	parts := b.Mul(weights, b.Unsqueeze(values, 2))
	last := examples * a.volume // a row for elements outside of the image
	index = b.Where(b.Lt(index, b.IntNumber(0)), b.IntNumber(last), index)
	sums := b.IndexAdd(b.ZerosBeside(parts, parts.DType(), last+1, channels), 0, index, b.Reshape(parts, a.count*neighbors, channels))
	images := b.Reshape(b.Narrow(sums, 0, 0, last), examples, a.volume, channels)
	b.copyResult(b.viewFlat(w.Images, examples, channels, a.volume), b.Transpose(images, 1, 2))
})

// neighborsOfMode are the numbers of elements around a point along a dimension, by mode: of backend.SampleModes.
var neighborsOfMode = [...]int64{2, 1, 4}
