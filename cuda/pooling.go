package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// runPooling computes pooled windows or their gradients, with a thread for each element of the results or, in gradients, of the images.
func runPooling(op string, w backend.Pooling) error {
	k, _ := tensoriter.LayPooling(w)
	a := windowing{pool: k, count: w.Results.Numel()}
	e := findEntry(w.Kernel, w.Images.DType())
	switch w.Kernel {
	case kernelapi.MaxPoolGradient:
		return spreadMaxima(op, w)
	case kernelapi.AveragePoolGradient, kernelapi.FromColumns:
		a.count = w.Images.Numel()
	case kernelapi.Columns:
		e = kernels.Wide("columns", w.Images.DType().Size())
	}
	return withCurrentStream(op, w.Images.Device(), func(m *deviceStream) error { return launchEntry(m, op, e, a.count, &a) })
}

// spreadMaxima adds the results to zeros at their indices, in the order of memory; indices outside of the image are ignored. Sums of
// 16-bit floats are float32.
var spreadMaxima = makeComposite(func(b *composite, w backend.Pooling) {
	images, results := w.Images.Sizes(), w.Results.Sizes()
	volume, positions := shape.Product(images[2:]), shape.Product(results[2:])
	planes, lanes := images[0]*images[1], int64(1)
	if !w.Images.IsContiguous() || !w.Results.IsContiguous() { // with adjacent channels
		planes, lanes = images[0], images[1]
	}
	given := b.CastTo(b.viewFlat(w.Results, planes, positions, lanes), w.Results.DType().Compute())
	index := b.viewFlat(w.Indices, planes, positions, lanes)
	none := b.LogicalOr(b.Lt(index, b.IntNumber(0)), b.Ge(index, b.IntNumber(volume)))
	index = b.Where(none, b.IntNumber(volume), index)
	sums := b.ScatterAdd(b.ZerosBeside(given, given.DType(), planes, volume+1, lanes), 1, index, given)
	b.copyResult(b.viewFlat(w.Images, planes, volume, lanes), b.Narrow(sums, 1, 0, volume))
})

// makeColumns returns the window elements of contiguous images (N, C, ...), as a matrix (C * kernel elements, windows) for each image.
func (b *composite) makeColumns(w backend.Pooling, positions []int64) backend.Pooling {
	sizes := w.Images.Sizes()
	taps := shape.Product(w.Taps)
	w.Kernel = kernelapi.Columns
	w.Results = b.EmptyBeside(w.Images, w.Images.DType(), append([]int64{sizes[0], sizes[1] * taps}, positions...)...)
	b.Check(runPooling(b.Op, w))
	return w
}
