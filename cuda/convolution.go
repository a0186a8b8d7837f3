package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// columnBytes is the most memory that the window elements of some images take; those of one image take as much as they need.
const columnBytes = 256 << 20

// runConvolution computes a convolution by matrix products with the window elements of images (im2col), some images at a time.
var runConvolution = makeComposite(func(b *composite, w backend.Convolution) {
	images, kernels, results := w.Images.Sizes(), w.Kernels.Sizes(), w.Results.Sizes()
	c := convolver{b: b, Convolution: w, d: w.Images.DType(), groups: w.Groups,
		rows: results[1] / w.Groups, depth: shape.Product(kernels[1:]), windows: shape.Product(results[2:])}
	if w.Making != backend.Results { // sums of several products are rounded once
		c.d = c.d.Compute()
	}
	each := max(columnBytes/max(images[1]*shape.Product(kernels[2:])*c.windows*c.d.Size(), 1), 1)
	if w.Making != backend.Kernels {
		c.matrices = c.b.viewFlat(c.makeContiguous(w.Kernels), w.Groups, c.rows, c.depth)
	}
	for n := int64(0); n < images[0]; n += each {
		some := min(each, images[0]-n)
		switch w.Making {
		case backend.Results:
			c.makeResults(n, some)
		case backend.Images:
			c.makeImages(n, some)
		default:
			c.addKernels(n, some)
		}
	}
	if w.Making == backend.Kernels {
		b.copyResult(w.Kernels, b.Reshape(c.sum, kernels...))
	}
})

// convolver computes in dtype d. Kernels are a matrix of rows by depth for each group.
type convolver struct {
	b *composite
	backend.Convolution
	d                            dtype.DType
	groups, rows, depth, windows int64
	matrices, sum                *tensor.Tensor
}

// makeContiguous returns t contiguous, in the dtype of the computation.
func (c *convolver) makeContiguous(t *tensor.Tensor) *tensor.Tensor {
	return c.b.AsContiguous(c.b.CastTo(t, c.d))
}

func (c *convolver) narrowImages(t *tensor.Tensor, n, count int64) *tensor.Tensor {
	return c.makeContiguous(c.b.Narrow(t, 0, n, count))
}

// makeColumns returns the window elements of some images as a matrix (depth, windows) for each image and group.
func (c *convolver) makeColumns(n, count int64) *tensor.Tensor {
	images := c.narrowImages(c.Images, n, count)
	if !c.isPointwise() {
		images = c.b.makeColumns(c.makePooling(images), c.Results.Sizes()[2:]).Results
	}
	return c.b.viewFlat(images, count, c.groups, c.depth, c.windows)
}

func (c *convolver) makePooling(images *tensor.Tensor) backend.Pooling {
	return backend.Pooling{Images: images, Taps: c.Kernels.Sizes()[2:], Stride: c.Stride, Padding: c.Padding, Dilation: c.Dilation}
}

// isPointwise reports whether windows are the elements of images.
func (c *convolver) isPointwise() bool {
	for d, size := range c.Kernels.Sizes()[2:] {
		if size != 1 || c.Stride[d] != 1 || c.Padding[d] != 0 || c.Images.Sizes()[d+2] != c.Results.Sizes()[d+2] {
			return false
		}
	}
	return true
}

// multiplyAdd returns to, which has the sizes of the product, as the sum of the product and self, if that is not nil.
func (c *convolver) multiplyAdd(to, self, x, y *tensor.Tensor) *tensor.Tensor {
	w := backend.Product{To: to, Self: self, A: x, B: y, Alpha: dtype.IntScalar(1)}
	if self != nil {
		w.Beta = dtype.IntScalar(1)
	}
	c.b.Check(multiplyMatrices(c.b.Op, w))
	return to
}

// viewBatch views matrices of groups, the same for some images or one for each, as a batch.
func (c *convolver) viewBatch(t *tensor.Tensor, count int64) *tensor.Tensor {
	sizes := t.Sizes()
	if t.Dim() == 4 {
		return c.b.viewFlat(t, sizes[0]*sizes[1], sizes[2], sizes[3])
	}
	if c.groups == 1 {
		return c.b.Expand(t, count, sizes[1], sizes[2])
	}
	whole := c.b.Contiguous(c.b.Expand(t, count, sizes[0], sizes[1], sizes[2]))
	return c.b.viewFlat(whole, count*sizes[0], sizes[1], sizes[2])
}

func (c *convolver) makeResults(n, count int64) {
	columns := c.makeColumns(n, count)
	to := c.b.Narrow(c.Results, 0, n, count)
	made := to
	if !to.IsContiguous() {
		made = c.b.EmptyBeside(to, c.d, to.Sizes()...)
	}
	var bias *tensor.Tensor
	if c.Bias != nil {
		bias = c.viewBatch(c.b.Reshape(c.Bias, c.groups, c.rows, 1), count)
	}
	c.multiplyAdd(c.b.viewFlat(made, count*c.groups, c.rows, c.windows), bias, c.viewBatch(c.matrices, count), c.viewBatch(columns, count))
	if made != to {
		c.b.copyResult(to, made)
	}
}

func (c *convolver) makeImages(n, count int64) {
	results := c.b.viewFlat(c.narrowImages(c.Results, n, count), count, c.groups, c.rows, c.windows)
	columns := c.b.EmptyBeside(results, c.d, count*c.groups, c.depth, c.windows)
	c.multiplyAdd(columns, nil, c.b.Transpose(c.viewBatch(c.matrices, count), 1, 2), c.viewBatch(results, count))
	to := c.b.Narrow(c.Images, 0, n, count)
	var images *tensor.Tensor
	if c.isPointwise() {
		images = c.b.viewFlat(columns, to.Sizes()...)
	} else {
		w := c.makePooling(c.b.EmptyBeside(to, c.d, to.Sizes()...))
		sizes := c.Results.Sizes()
		w.Kernel, w.Results = kernelapi.FromColumns, c.b.viewFlat(columns, append([]int64{count, c.groups * c.depth}, sizes[2:]...)...)
		c.b.Check(runPooling(c.b.Op, w))
		images = w.Images
	}
	if c.Bias != nil {
		ones := make([]int64, to.Dim()-1)
		for d := range ones {
			ones[d] = 1
		}
		ones[0] = c.Bias.Numel()
		images = c.b.Add(images, c.b.Reshape(c.b.CastTo(c.Bias, c.d), ones...))
	}
	c.b.copyResult(to, images)
}

func (c *convolver) addKernels(n, count int64) {
	// A matrix for each group, with the windows of all images next to each other.
	beside := func(t *tensor.Tensor) *tensor.Tensor {
		return c.b.Reshape(c.b.Permute(t, 1, 2, 0, 3), c.groups, t.Sizes()[2], count*c.windows)
	}
	results := beside(c.b.viewFlat(c.narrowImages(c.Results, n, count), count, c.groups, c.rows, c.windows))
	columns := beside(c.makeColumns(n, count))
	made := c.b.EmptyBeside(results, c.d, c.groups, c.rows, c.depth)
	c.sum = c.multiplyAdd(made, c.sum, results, c.b.Transpose(columns, 1, 2))
}
