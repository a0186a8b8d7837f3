package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	maxPoolKernel             = kernelapi.MaxPool
	maxPoolGradientKernel     = kernelapi.MaxPoolGradient
	averagePoolKernel         = kernelapi.AveragePool
	averagePoolGradientKernel = kernelapi.AveragePoolGradient
	fractionalPoolKernel      = kernelapi.FractionalPool
	columnsKernel             = kernelapi.Columns
	fromColumnsKernel         = kernelapi.FromColumns
)

// NnLargest returns the largest element of each window.
func NnLargest(self *tensor.Tensor, sizes, taps, stride, padding, dilation []int64,
	format shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_largest", maxPoolKernel, taps, stride, padding, dilation)
	defer p.Close(&err)
	p.Images = p.toFormat(self, format)
	p.Results = p.newWithSizes(self, sizes, self.DType(), format)
	return p.launchReturning(p.Results)
}

// NnLargestPlaces returns the largest element of each window, and its place in the image.
func NnLargestPlaces(self *tensor.Tensor, sizes, taps, stride, padding, dilation []int64,
	format shape.MemoryFormat) (values, indices *tensor.Tensor, err error) {
	p := newPooler("nn_largest_places", maxPoolKernel, taps, stride, padding, dilation)
	defer p.Close(&err)
	p.Images = p.toFormat(self, format)
	p.Results = p.newWithSizes(self, sizes, self.DType(), format)
	p.Indices = p.newWithSizes(self, sizes, dtype.Int64, format)
	p.launchKernel()
	return p.ReturnBoth(p.Results, p.Indices)
}

// NnFractionalLargest returns the largest element of each window, with window positions from samples, and its position in the image.
func NnFractionalLargest(self, samples *tensor.Tensor, sizes, taps []int64) (values, indices *tensor.Tensor, err error) {
	p := newPooler("nn_fractional_largest", fractionalPoolKernel, taps, nil, nil, nil)
	defer p.Close(&err)
	n := self.Dim() - 2
	if samples.Dim() != 3 || samples.Sizes()[0] < self.Sizes()[0] || samples.Sizes()[1] != self.Sizes()[1] || samples.Sizes()[2] != int64(n) ||
		samples.DType() != self.DType() {
		p.Failf("random samples must have dtype %v and sizes of at least %v, but have dtype %v and sizes %v", self.DType(),
			append(slices.Clone(self.Sizes()[:2]), int64(n)), samples.DType(), samples.Sizes())
	}
	_, err = tensoriter.Device(p.Op, self, samples)
	p.Check(err)
	p.Images = p.toFormat(self, shape.Contiguous)
	p.Results = p.newWithSizes(self, sizes, self.DType(), shape.Contiguous)
	p.Indices = p.newWithSizes(self, sizes, dtype.Int64, shape.Contiguous)
	p.Samples = samples
	if !samples.IsContiguous() {
		p.Samples = p.Track(cloneTensor(p.Op, samples, samples.DType(), samples.Device(), shape.Contiguous))
	}
	p.launchKernel()
	return p.ReturnBoth(p.Results, p.Indices)
}

// NnAddAtPlaces scatters the values of windows to zeros of the given sizes, at the positions in indices.
func NnAddAtPlaces(given, indices *tensor.Tensor, sizes []int64, format shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_add_at_places", maxPoolGradientKernel, nil, nil, nil, nil)
	defer p.Close(&err)
	if !slices.Equal(given.Sizes(), indices.Sizes()) || indices.DType() != dtype.Int64 {
		p.Failf("indices must be of int64 and have the sizes of given, %v, but have %v, of %v", given.Sizes(), indices.Sizes(), indices.DType())
	}
	_, err = tensoriter.Device(p.Op, given, indices)
	p.Check(err)
	p.Results, p.Indices = p.toFormat(given, format), p.toFormat(indices, format)
	p.Images = p.newWithSizes(given, sizes, given.DType(), format)
	return p.launchReturning(p.Images)
}

// NnAverage returns the mean of each window.
func NnAverage(self *tensor.Tensor, sizes, taps, stride, padding []int64, padded bool, divisor int64,
	format shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_average", averagePoolKernel, taps, stride, padding, onesLike(taps))
	defer p.Close(&err)
	p.Padded, p.Divisor = padded, divisor
	p.Images = p.toFormat(self, format)
	p.Results = p.newWithSizes(self, sizes, self.DType(), format)
	return p.launchReturning(p.Results)
}

// NnAverageGradient is the transpose of NnAverage.
func NnAverageGradient(given *tensor.Tensor, sizes, taps, stride, padding []int64, padded bool, divisor int64,
	format shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_average_gradient", averagePoolGradientKernel, taps, stride, padding, onesLike(taps))
	defer p.Close(&err)
	p.Padded, p.Divisor = padded, divisor
	p.Results = p.toFormat(given, format)
	p.Images = p.newWithSizes(given, sizes, given.DType(), format)
	return p.launchReturning(p.Images)
}

// NnColumns computes im2col: for each kernel element of each channel, the input elements that it is multiplied with.
func NnColumns(self *tensor.Tensor, sizes, taps, stride, padding, dilation []int64) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_columns", columnsKernel, taps, stride, padding, dilation)
	defer p.Close(&err)
	p.Images = p.toFormat(self, shape.Contiguous)
	p.Results = p.newWithChannels(self, sizes, func(channels, taps int64) (int64, bool) { return shape.Times(channels, taps), true })
	return p.launchReturning(p.Results)
}

// NnFromColumns is the transpose of NnColumns.
func NnFromColumns(given *tensor.Tensor, sizes, taps, stride, padding, dilation []int64) (_ *tensor.Tensor, err error) {
	p := newPooler("nn_from_columns", fromColumnsKernel, taps, stride, padding, dilation)
	defer p.Close(&err)
	p.Results = p.toFormat(given, shape.Contiguous)
	p.Images = p.newWithChannels(given, sizes, func(channels, taps int64) (int64, bool) { return channels / taps, channels%taps == 0 })
	return p.launchReturning(p.Images)
}

// newWithChannels returns an empty tensor like t with other sizes. number converts the channels of t to those of the result.
func (p *pooler) newWithChannels(t *tensor.Tensor, sizes []int64, number func(channels, taps int64) (int64, bool)) *tensor.Tensor {
	taps := int64(1)
	for _, n := range p.Taps {
		taps = shape.Times(taps, max(n, 0))
	}
	if taps < 1 || len(p.Taps) != t.Dim()-2 || len(sizes) != t.Dim()-2 || slices.ContainsFunc(sizes, func(n int64) bool { return n < 0 }) {
		p.Failf("kernel_size %v and output sizes %v are incompatible with a tensor of sizes %v", p.Taps, sizes, t.Sizes())
	}
	channels, fits := number(t.Sizes()[1], taps)
	if !fits {
		p.Failf("the number of channels must be divisible by the product of kernel_size %v, which is %d, but sizes are %v", p.Taps, taps,
			t.Sizes())
	}
	return p.newEmpty(t, t.DType(), slices.Concat(t.Sizes()[:1], []int64{channels}, sizes)...)
}

// onesLike returns ones, as many as like has numbers.
func onesLike(like []int64) []int64 { return slices.Repeat([]int64{1}, len(like)) }

// pooler is the work of an operator on windows.
type pooler struct {
	*scope
	backend.Pooling
}

func newPooler(op string, k kernelapi.Kernel, taps, stride, padding, dilation []int64) *pooler {
	return &pooler{newScope(op), backend.Pooling{Kernel: k, Taps: taps, Stride: stride, Padding: padding, Dilation: dilation}}
}

// toFormat returns t in a format that kernels support.
func (p *pooler) toFormat(t *tensor.Tensor, format shape.MemoryFormat) *tensor.Tensor {
	if n := t.Dim() - 2; n < 1 || n > 3 {
		p.Failf("expected 1 to 3 spatial dimensions after (N, C), but got sizes %v", t.Sizes())
	}
	if shape.IsFormat(t.Sizes(), t.Strides(), format) {
		return t
	}
	return p.Track(cloneTensor(p.Op, t, t.DType(), t.Device(), format))
}

// newWithSizes returns a tensor with the batch size and channels of t, followed by sizes.
func (p *pooler) newWithSizes(t *tensor.Tensor, sizes []int64, d dtype.DType, format shape.MemoryFormat) *tensor.Tensor {
	if len(sizes) != t.Dim()-2 || slices.ContainsFunc(sizes, func(n int64) bool { return n < 0 }) {
		p.Failf("expected %d sizes, none of them negative, for a tensor of sizes %v, but got %v", t.Dim()-2, t.Sizes(), sizes)
	}
	all := slices.Concat(t.Sizes()[:2], sizes)
	strides, err := shape.FormatStrides(p.Op, all, format)
	p.Check(err)
	return p.Track(tensor.EmptyStrided(p.Op, all, strides, d, t.Device()))
}

// launchReturning launches the kernel and returns made.
func (p *pooler) launchReturning(made *tensor.Tensor) (*tensor.Tensor, error) {
	p.launchKernel()
	return p.Return(made)
}

func (p *pooler) launchKernel() {
	p.Check(p.Kernel.Check(p.Op, p.Images.DType()))
	images, results := p.Images.Sizes()[2:], p.Results.Sizes()[2:]
	apart := p.Kernel == columnsKernel || p.Kernel == fromColumnsKernel // windows may be outside of the image
	for i := range images {
		if len(p.Taps) == 0 {
			break
		}
		if p.Kernel == fractionalPoolKernel {
			if len(p.Taps) != len(images) || p.Taps[i] < 1 || p.Taps[i] > images[i] || results[i] > images[i]-p.Taps[i]+1 {
				p.Failf("kernel_size must be positive, and windows at least one element apart must fit into the input: output sizes %v, input sizes %v, kernel_size %v",
					results, images, p.Taps)
			}
			continue
		}
		if len(p.Taps) != len(images) || len(p.Stride) != len(images) || len(p.Padding) != len(images) || len(p.Dilation) != len(images) {
			p.Failf("expected %d values in each of kernel_size, stride, padding and dilation, but got %v, %v, %v and %v", len(images), p.Taps,
				p.Stride, p.Padding, p.Dilation)
		}
		const most = 1 << 60 // which the kernels can count with
		reach := float64(results[i])*float64(p.Stride[i]) + float64(p.Taps[i])*float64(p.Dilation[i]) + float64(p.Padding[i])
		if p.Taps[i] < 1 || p.Stride[i] < 1 || p.Dilation[i] < 1 || p.Padding[i] < 0 || reach > most || !apart &&
			(results[i]-1)*p.Stride[i]-p.Padding[i] >= images[i] && results[i] > 0 {
			p.Failf("kernel_size, stride and dilation must be positive, padding not negative, none may overflow, and the last window must start inside the input or its left padding: output sizes %v, input sizes %v, kernel_size %v, stride %v, padding %v, dilation %v",
				results, images, p.Taps, p.Stride, p.Padding, p.Dilation)
		}
	}
	switch {
	case p.Results.Numel() > 0 && p.Images.Numel() > 0:
		p.Check(backend.On(p.Images).Pooling(p.Op, p.Pooling))
	case p.Kernel == maxPoolGradientKernel, p.Kernel == averagePoolGradientKernel, p.Kernel == fromColumnsKernel:
		p.Check(fillWith(p.Images, zero))
	case p.Results.Numel() > 0:
		p.Failf("the input has no elements, but the output has: input sizes %v, output sizes %v", p.Images.Sizes(), p.Results.Sizes())
	}
}
