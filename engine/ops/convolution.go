package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// NnConvolution makes results of images and kernels.
func NnConvolution(self, weight, bias *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) (*tensor.Tensor, error) {
	c := convolution{op: "nn_convolution", sizes: sizes,
		Convolution: backend.Convolution{Images: self, Kernels: weight, Bias: bias, Making: backend.Results,
			Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}}
	return c.newResult(format)
}

// NnConvolutionTranspose makes images of results and kernels.
func NnConvolutionTranspose(self, weight, bias *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) (*tensor.Tensor, error) {
	c := convolution{op: "nn_convolution_transpose", sizes: sizes,
		Convolution: backend.Convolution{Results: self, Kernels: weight, Bias: bias, Making: backend.Images,
			Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}}
	return c.newResult(format)
}

// NnConvolutionWeight makes kernels of images and results.
func NnConvolutionWeight(self, results *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64,
	format shape.MemoryFormat) (*tensor.Tensor, error) {
	const op = "nn_convolution_weight"
	if d := self.DType(); !d.IsFloatingPoint() && !d.IsComplex() {
		return nil, status.NotImplementedf("%s: gradients are not implemented for %v", op, d)
	}
	c := convolution{op: op, sizes: sizes, Convolution: backend.Convolution{Images: self, Results: results, Making: backend.Kernels,
		Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}}
	return c.newResult(format)
}

// convolution describes a convolution of which one tensor is computed from the two others. It holds the sizes of that tensor after the
// first two.
type convolution struct {
	backend.Convolution
	op    string
	sizes []int64
}

// newResult creates the result tensor. It is zero, or the bias, where the operands have no elements.
func (c *convolution) newResult(format shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	var made **tensor.Tensor
	var given []*tensor.Tensor
	for _, t := range []**tensor.Tensor{&c.Images, &c.Kernels, &c.Results} {
		if *t == nil {
			made = t
		} else {
			given = append(given, *t)
		}
	}
	a, b := given[0], given[1]
	sizes, err := c.computeSizes(a, b)
	if err != nil {
		return nil, err
	}
	if c.Bias != nil {
		given = append(given, c.Bias)
	}
	for _, t := range given[1:] {
		if t.DType() != a.DType() {
			return nil, status.Runtimef("%s: expected all operands to have the same dtype, but got %v and %v", c.op, a.DType(), t.DType())
		}
	}
	if err := kernelapi.Convolution.Check(c.op, a.DType()); err != nil {
		return nil, err
	}
	dev, err := tensoriter.Device(c.op, given...)
	if err != nil {
		return nil, err
	}
	s := newScope(c.op)
	defer s.Close(&err)
	strides, err := shape.FormatStrides(c.op, sizes, format)
	s.Check(err)
	*made = s.Track(tensor.EmptyStrided(c.op, sizes, strides, a.DType(), dev))
	switch {
	case (*made).Numel() == 0:
	case a.Numel() > 0 && b.Numel() > 0:
		s.Check(backend.On(*made).Convolution(c.op, c.Convolution))
	case c.Bias == nil:
		s.Check(fillWith(*made, zero))
	default:
		bias := s.Track(view.Reshape(c.op, c.Bias, append([]int64{-1}, slices.Repeat([]int64{1}, len(c.sizes))...)))
		s.Check(backend.Copy(c.op, *made, bias))
	}
	return s.Return(*made)
}

// computeSizes returns the sizes of the result of a and b, or an error if their shapes do not match.
func (c *convolution) computeSizes(a, b *tensor.Tensor) ([]int64, error) {
	n := len(c.sizes)
	if n < 1 || n > 3 || a.Dim() != n+2 || b.Dim() != n+2 || len(c.Stride) != n || len(c.Padding) != n || len(c.Dilation) != n {
		return nil, status.Runtimef("%s: expected tensors of 3 to 5 dimensions (batch, channels and 1 to 3 spatial dimensions), but got sizes %v and %v, made %v, stride %v, padding %v, dilation %v",
			c.op, a.Sizes(), b.Sizes(), c.sizes, c.Stride, c.Padding, c.Dilation)
	}
	sizes := append(make([]int64, 2), c.sizes...)
	images, kernels, results := sizes, sizes, sizes
	for _, t := range []struct {
		t     *tensor.Tensor
		sizes *[]int64
	}{{c.Images, &images}, {c.Kernels, &kernels}, {c.Results, &results}} {
		if t.t != nil {
			*t.sizes = t.t.Sizes()
		}
	}
	fits := false
	if c.Groups > 0 {
		sizes[0], sizes[1], fits = c.matchChannels(images, kernels, results)
	}
	if !fits {
		return nil, status.Runtimef("%s: sizes %v and %v are incompatible with groups=%d", c.op, a.Sizes(), b.Sizes(), c.Groups)
	}
	if c.Bias != nil && (c.Bias.Dim() != 1 || c.Bias.Sizes()[0] != sizes[1]) {
		return nil, status.Runtimef("%s: expected bias to be 1-dimensional with %d elements, but got bias of size %v", c.op, sizes[1],
			c.Bias.Sizes())
	}
	for i := range n {
		const most = 1 << 60 // which the kernels can count with
		reach := float64(results[i+2])*float64(c.Stride[i]) + float64(kernels[i+2])*float64(c.Dilation[i]) + float64(c.Padding[i])
		if sizes[i+2] < 0 || c.Stride[i] < 1 || c.Dilation[i] < 1 || c.Padding[i] < 0 || reach > most {
			return nil, status.Runtimef("%s: stride and dilation must be positive, padding and sizes must not be negative, and none may overflow a 64-bit integer: stride %v, padding %v, dilation %v, sizes %v",
				c.op, c.Stride, c.Padding, c.Dilation, c.sizes)
		}
	}
	return sizes, nil
}

// matchChannels returns the first two sizes of the result, and whether the channels of images, kernels and results are compatible.
func (c *convolution) matchChannels(images, kernels, results []int64) (first, second int64, fits bool) {
	switch c.Making {
	case backend.Results:
		return images[0], kernels[0], images[1]%c.Groups == 0 && images[1]/c.Groups == kernels[1] && kernels[0]%c.Groups == 0
	case backend.Images:
		return results[0], shape.Times(kernels[1], c.Groups), results[1] == kernels[0] && kernels[0]%c.Groups == 0
	}
	return results[1], images[1] / c.Groups, images[0] == results[0] && images[1]%c.Groups == 0 && results[1]%c.Groups == 0
}
