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

// pointwise does a convolution as one of those, and reports whether it is one.
func (c *convolver) pointwise() bool {
	for _, a := range c.axes {
		if a.taps != 1 || a.stride != 1 || a.padding != 0 || a.image != a.positions {
			return false
		}
	}
	x, fits := pixelsOf(c.Images)
	y, fit := pixelsOf(c.Results)
	joined := x.join() && y.join()
	if !fits || !fit || c.Groups != 1 || !joined && c.Making == backend.Kernels && c.d.IsReducedFloat() { // which is rounded once
		return false
	}
	if !joined {
		x, _ = pixelsOf(c.Images)
		y, _ = pixelsOf(c.Results)
	}
	p := pointwise{products{owner.Scope{Op: c.Op}}}
	defer p.ReleaseAll()
	images, results := p.matrices(x), p.matrices(y)
	kernels := p.Track(c.Kernels.View(p.Op, c.Kernels.Sizes()[:2], c.Kernels.Strides()[:2], c.Kernels.Offset()))
	switch c.Making {
	case backend.Results:
		p.each(results, kernels, images, c.Bias)
	case backend.Images:
		p.each(images, p.turn(kernels), results, c.Bias)
	default:
		p.sum(kernels, results, p.turn(images))
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

// join merges the batch into one matrix if the elements of all batch elements have one stride. It reports whether it did.
func (p *pixels) join() bool {
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

// matrices returns those of each example, with a row for each channel.
func (p *pointwise) matrices(x pixels) *tensor.Tensor {
	return p.Track(x.t.View(p.Op, []int64{x.examples, x.t.Sizes()[1], x.count}, []int64{x.exampleStep, x.channel, x.step}, x.t.Offset()))
}

// each writes the products of kernels and matrices, plus the bias of each row, to to. If channels are adjacent in to, it computes the
// transposed products.
func (p *pointwise) each(to, kernels, matrices, bias *tensor.Tensor) {
	beta := dtype.IntScalar(0)
	kernels = p.Track(view.Expand(p.Op, kernels, append([]int64{to.Sizes()[0]}, kernels.Sizes()...)))
	if bias != nil {
		beta = dtype.IntScalar(1)
		bias = p.Track(view.Unsqueeze(p.Op, nil, bias, 1))
	}
	if to.Strides()[1] == 1 && to.Strides()[2] != 1 {
		to, kernels, matrices = p.turn(to), p.turn(matrices), p.turn(kernels)
		if bias != nil {
			bias = p.turn(bias)
		}
	}
	p.multiply(backend.Product{To: to, Self: bias, A: kernels, B: matrices, Alpha: dtype.IntScalar(1), Beta: beta})
}

// sum adds the products of each example's two matrices up.
func (p *pointwise) sum(to, a, b *tensor.Tensor) {
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
	one.multiply(backend.Product{To: to, Self: before, A: x, B: y, Alpha: dtype.IntScalar(1), Beta: dtype.IntScalar(1)})
}
