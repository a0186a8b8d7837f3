package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// pointwise is a convolution with one kernel element that covers every input element: a matrix product per batch element, or a single one
// if the elements of all batch elements have one stride.
type pointwise struct{ products }

// runPointwise computes a pointwise convolution, and reports whether it is one.
func (c *convolver) runPointwise() bool {
	for _, a := range c.axes {
		if a.taps != 1 || a.stride != 1 || a.padding != 0 || a.image != a.positions {
			return false
		}
	}
	x, fits := pixelsOf(c.Images)
	y, fit := pixelsOf(c.Results)
	joined := x.mergeBatch() && y.mergeBatch()
	if !fits || !fit || c.Groups != 1 || !joined && c.Making == backend.Kernels && c.d.IsReducedFloat() { // which is rounded once
		return false
	}
	if !joined {
		x, _ = pixelsOf(c.Images)
		y, _ = pixelsOf(c.Results)
	}
	p := pointwise{products{owner.Scope{Op: c.Op}}}
	defer p.ReleaseAll()
	images, results := p.viewMatrices(x), p.viewMatrices(y)
	kernels := p.Track(c.Kernels.View(p.Op, c.Kernels.Sizes()[:2], c.Kernels.Strides()[:2], c.Kernels.Offset()))
	switch c.Making {
	case backend.Results:
		p.multiplyEach(results, kernels, images, c.Bias)
	case backend.Images:
		p.multiplyEach(images, p.transposeLast(kernels), results, c.Bias)
	default:
		p.sumProducts(kernels, results, p.transposeLast(images))
	}
	return true
}

// pixels are the contiguous elements of a tensor's channels: a number of them for each batch element.
type pixels struct {
	t                          *tensor.Tensor
	examples, count            int64
	exampleStep, channel, step int64
}

// pixelsOf returns the elements of each channel as pixels. ok is false if their stride is not uniform.
func pixelsOf(t *tensor.Tensor) (p pixels, ok bool) {
	sizes, strides := t.Sizes(), t.Strides()
	p = pixels{t: t, examples: sizes[0], count: shape.Product(sizes[2:]), exampleStep: strides[0], channel: strides[1]}
	one, ok := shape.ViewStrides(sizes[2:], strides[2:], []int64{p.count})
	if ok {
		p.step = one[0]
	}
	return p, ok
}

// mergeBatch merges the batch into one matrix if the elements of all batch elements have one stride. It reports whether it did.
func (p *pixels) mergeBatch() bool {
	switch {
	case p.examples == 1:
	case p.count == 1:
		p.step = p.exampleStep
	case p.exampleStep != p.count*p.step:
		return false
	}
	p.count, p.examples = p.count*p.examples, 1
	return true
}

// viewMatrices returns those of each example, with a row for each channel.
func (p *pointwise) viewMatrices(x pixels) *tensor.Tensor {
	return p.Track(x.t.View(p.Op, []int64{x.examples, x.t.Sizes()[1], x.count}, []int64{x.exampleStep, x.channel, x.step}, x.t.Offset()))
}

// multiplyEach writes the products of kernels and matrices, plus the bias of each row, to to. If channels are adjacent in to, it computes
// the transposed products.
func (p *pointwise) multiplyEach(to, kernels, matrices, bias *tensor.Tensor) {
	beta := dtype.IntScalar(0)
	kernels = p.Track(view.Expand(p.Op, kernels, append([]int64{to.Sizes()[0]}, kernels.Sizes()...)))
	if bias != nil {
		beta = dtype.IntScalar(1)
		bias = p.Track(view.Unsqueeze(p.Op, nil, bias, 1))
	}
	if to.Strides()[1] == 1 && to.Strides()[2] != 1 {
		to, kernels, matrices = p.transposeLast(to), p.transposeLast(matrices), p.transposeLast(kernels)
		if bias != nil {
			bias = p.transposeLast(bias)
		}
	}
	p.multiplyMatrices(backend.Product{To: to, Self: bias, A: kernels, B: matrices, Alpha: dtype.IntScalar(1), Beta: beta})
}

// sumProducts writes the sum of the products of each example's two matrices to to.
func (p *pointwise) sumProducts(to, a, b *tensor.Tensor) {
	var before *tensor.Tensor
	for i := range a.Sizes()[0] {
		p.addProduct(to, before, a, b, i)
		before = to
	}
}

// addProduct writes the sum of before and the product of the matrices of example i to to.
func (p *pointwise) addProduct(to, before, a, b *tensor.Tensor, i int64) {
	one := pointwise{products{owner.Scope{Op: p.Op}}}
	defer one.ReleaseAll()
	x, y := one.Track(view.Select(p.Op, a, 0, i)), one.Track(view.Select(p.Op, b, 0, i))
	one.multiplyMatrices(backend.Product{To: to, Self: before, A: x, B: y, Alpha: dtype.IntScalar(1), Beta: dtype.IntScalar(1)})
}
