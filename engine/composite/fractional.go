package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnFractionalMaxPool2d returns the largest element of each of windows of images that begin at random.
func NnFractionalMaxPool2d(c dispatch.Context, self *tensor.Tensor, kernel, sizes []int64, ratios []float64, samples *tensor.Tensor,
	g *random.Generator) (*tensor.Tensor, error) {
	values, indices, err := fractionalMaxPool(c, "nn_fractional_max_pool2d", 2, self, kernel, sizes, ratios, samples, g)
	return dropIndices(values, indices, err)
}

// NnFractionalMaxPool3d is NnFractionalMaxPool2d of volumes.
func NnFractionalMaxPool3d(c dispatch.Context, self *tensor.Tensor, kernel, sizes []int64, ratios []float64, samples *tensor.Tensor,
	g *random.Generator) (*tensor.Tensor, error) {
	values, indices, err := fractionalMaxPool(c, "nn_fractional_max_pool3d", 3, self, kernel, sizes, ratios, samples, g)
	return dropIndices(values, indices, err)
}

// NnFractionalMaxPool2dWithIndices returns NnFractionalMaxPool2d and the positions of the elements.
func NnFractionalMaxPool2dWithIndices(c dispatch.Context, self *tensor.Tensor, kernel, sizes []int64, ratios []float64,
	samples *tensor.Tensor, g *random.Generator) (values, indices *tensor.Tensor, err error) {
	return fractionalMaxPool(c, "nn_fractional_max_pool2d_with_indices", 2, self, kernel, sizes, ratios, samples, g)
}

// NnFractionalMaxPool3dWithIndices returns NnFractionalMaxPool3d and the positions of the elements.
func NnFractionalMaxPool3dWithIndices(c dispatch.Context, self *tensor.Tensor, kernel, sizes []int64, ratios []float64,
	samples *tensor.Tensor, g *random.Generator) (values, indices *tensor.Tensor, err error) {
	return fractionalMaxPool(c, "nn_fractional_max_pool3d_with_indices", 3, self, kernel, sizes, ratios, samples, g)
}

// dropIndices returns values and releases indices.
func dropIndices(values, indices *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	var s owner.Scope
	defer s.ReleaseAll()
	s.Track(indices, nil)
	return values, nil
}

func fractionalMaxPool(c dispatch.Context, op string, n int, self *tensor.Tensor, kernel, sizes []int64, ratios []float64,
	samples *tensor.Tensor, g *random.Generator) (_, _ *tensor.Tensor, err error) {
	if !self.DType().IsFloatingPoint() {
		return nil, nil, unsupportedDType(op, self.DType(), "convert to a floating-point dtype")
	}
	p := pooling{Builder: build.New(c, op), n: n, kernel: kernel, sizes: sizes, counted: true}
	defer p.Close(&err)
	p.expandArguments()
	images := p.addBatchDim(self)
	spatial := images.Sizes()[2:]
	switch {
	case sizes == nil && ratios == nil:
		return nil, nil, status.Valuef("%s: output_size or output_ratio must be given", op)
	case sizes == nil && len(ratios) != 1 && len(ratios) != n:
		return nil, nil,
			status.Valuef("%s: fractional_max_pool%dd requires output_ratio to either be a single Int or tuple of Ints. It must have %d numbers, but is %v",
				op, n, n, ratios)
	case sizes != nil && len(sizes) != 1 && len(sizes) != n:
		return nil, nil, status.Runtimef("%s: output_size must be an int or %d ints, but is %v", op, n, sizes)
	case sizes != nil:
		p.sizes = slices.Repeat(sizes, n/len(sizes))
	default:
		p.sizes = make([]int64, n)
		for i, size := range spatial {
			ratio := ratios[i%len(ratios)]
			if !(ratio >= 0 && ratio <= 1) {
				return nil, nil, status.Runtimef("%s: output_ratio must be from 0 to 1, but is %v", op, ratios)
			}
			p.sizes[i] = int64(float64(size) * ratio)
		}
	}
	for i, size := range p.sizes {
		if size < 0 || p.kernel[i] > spatial[i] || size > spatial[i]-p.kernel[i]+1 {
			return nil, nil,
				status.Runtimef("%s: the windows, at least one element apart, do not fit into the input: input sizes %v, kernel_size %v, output_size %v",
					op, self.Sizes(), p.kernel, p.sizes)
		}
	}
	if samples == nil {
		samples = p.RandWith([]int64{images.Sizes()[0], images.Sizes()[1], int64(n)}, g, self.DType(), tensor.NoLayout, self.Device())
	}
	values, indices := p.NnFractionalLargest(images, samples, p.sizes, p.kernel...)
	return p.ReturnBoth(p.removeBatchDim(self, values), p.removeBatchDim(self, indices))
}
