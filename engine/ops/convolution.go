package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var convolutionKernel = kernel.Get("convolution")

// NnConvolution makes results of images and kernels.
func NnConvolution(self, weight, bias *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64, format shape.MemoryFormat) (*tensor.Tensor, error) {
	return convolve("nn_convolution", launch.Convolution{Images: self, Kernels: weight, Bias: bias, Making: launch.Results,
		Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}, []int64{self.Sizes()[0], weight.Sizes()[0]}, sizes, format)
}

// NnConvolutionTranspose makes images of results and kernels.
func NnConvolutionTranspose(self, weight, bias *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64, format shape.MemoryFormat) (*tensor.Tensor, error) {
	return convolve("nn_convolution_transpose", launch.Convolution{Results: self, Kernels: weight, Bias: bias, Making: launch.Images,
		Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}, []int64{self.Sizes()[0], weight.Sizes()[1] * groups}, sizes, format)
}

// NnConvolutionWeight makes kernels of images and results.
func NnConvolutionWeight(self, results *tensor.Tensor, sizes, stride, padding, dilation []int64, groups int64, format shape.MemoryFormat) (*tensor.Tensor, error) {
	return convolve("nn_convolution_weight", launch.Convolution{Images: self, Results: results, Making: launch.Kernels,
		Stride: stride, Padding: padding, Dilation: dilation, Groups: groups}, []int64{results.Sizes()[1], self.Sizes()[1] / groups}, sizes, format)
}

// convolve makes the tensor of a convolution that is missing, whose first two sizes are given apart from the others. It is zero where the others have
// no elements.
func convolve(op string, w launch.Convolution, first, sizes []int64, format shape.MemoryFormat) (*tensor.Tensor, error) {
	places := []**tensor.Tensor{launch.Results: &w.Results, launch.Images: &w.Images, launch.Kernels: &w.Kernels}
	made := places[w.Making]
	given := slices.Delete(slices.Clone(places), int(w.Making), int(w.Making)+1)
	a, b := *given[0], *given[1]
	d := a.DType()
	for _, t := range []*tensor.Tensor{b, w.Bias} {
		if t != nil && t.DType() != d {
			return nil, status.Runtimef("%s: expected all operands to have the same dtype, but got %v and %v", op, d, t.DType())
		}
	}
	if _, err := convolutionKernel.For(op, d); err != nil {
		return nil, err
	}
	operands := []*tensor.Tensor{a, b}
	if w.Bias != nil {
		operands = append(operands, w.Bias)
	}
	dev, err := iter.Device(op, operands...)
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	all := append(first, sizes...)
	strides, err := shape.FormatStrides(op, all, format)
	s.Fail(err)
	*made = s.Step(func() (*tensor.Tensor, error) { return tensor.EmptyStrided(op, all, strides, d, dev) })
	switch {
	case s.Err != nil || (*made).Numel() == 0:
	case a.Numel() == 0 || b.Numel() == 0:
		s.Do(func() error { return fillWith(*made, zero) })
	default:
		s.Do(func() error { return launch.On(*made).Convolution(op, w) })
	}
	return s.Give(*made)
}
