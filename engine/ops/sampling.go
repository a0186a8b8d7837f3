package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	sampleKernel       = kernelapi.Sample
	sampleSlopeKernel  = kernelapi.SampleSlope
	sampleSpreadKernel = kernelapi.SampleSpread
)

// NnSampled samples images at the points of a grid.
func NnSampled(self, grid, along *tensor.Tensor, mode, padding int64, alignCorners bool) (_ *tensor.Tensor, err error) {
	p := newSampler("nn_sampled", sampleKernel, mode, padding, alignCorners)
	defer p.Close(&err)
	p.Images = self
	p.setOperands(self, grid, along)
	g := grid.Sizes()
	p.Values = p.Track(tensor.Empty(p.Op, slices.Concat(self.Sizes()[:2], g[1:len(g)-1]), self.DType(), self.Device()))
	return p.launchReturning(p.Values)
}

// NnSampledSpread is the transpose of NnSampled, of images of the given sizes.
func NnSampledSpread(given, grid, along *tensor.Tensor, sizes []int64, mode, padding int64,
	alignCorners bool) (_ *tensor.Tensor, err error) {
	p := newSampler("nn_sampled_spread", sampleSpreadKernel, mode, padding, alignCorners)
	defer p.Close(&err)
	if given.Dim() != len(sizes)+2 || slices.ContainsFunc(sizes, func(n int64) bool { return n < 1 }) {
		p.Failf("expected %d positive sizes for a tensor of sizes %v, but got %v", given.Dim()-2, given.Sizes(), sizes)
	}
	p.Images = p.Track(tensor.Empty(p.Op, slices.Concat(given.Sizes()[:2], sizes), given.DType(), given.Device()))
	p.setOperands(p.Images, grid, along)
	p.setValues(given)
	if p.Images.Numel() > 0 && given.Numel() == 0 {
		p.Check(fillWith(p.Images, zero))
	}
	return p.launchReturning(p.Images)
}

// NnSampledSlope returns the gradient of NnSampled with respect to the grid.
func NnSampledSlope(given, self, grid, along *tensor.Tensor, mode, padding int64, alignCorners bool) (_ *tensor.Tensor, err error) {
	p := newSampler("nn_sampled_slope", sampleSlopeKernel, mode, padding, alignCorners)
	defer p.Close(&err)
	p.Images = self
	p.setOperands(self, grid, along)
	p.setValues(given)
	p.Slope = p.Track(tensor.Empty(p.Op, grid.Sizes(), grid.DType(), grid.Device()))
	if p.Slope.Numel() > 0 && given.Numel() == 0 {
		p.Check(fillWith(p.Slope, zero))
	}
	return p.launchReturning(p.Slope)
}

// sampler is the work of an operator on points of a grid.
type sampler struct {
	*scope
	backend.Sampling
}

func newSampler(op string, k kernelapi.Kernel, mode, padding int64, alignCorners bool) *sampler {
	return &sampler{newScope(op), backend.Sampling{Kernel: k, Mode: mode, Padding: padding, AlignCorners: alignCorners}}
}

// setOperands checks the operands and prepares the points for kernels.
func (p *sampler) setOperands(images, grid, along *tensor.Tensor) {
	n, sizes, points := images.Dim()-2, images.Sizes(), grid.Sizes()
	switch {
	case p.Mode < 0 || p.Mode > 2 || p.Padding < 0 || p.Padding > 2:
		p.Failf("interpolation_mode and padding_mode must be from 0 to 2, but are %d and %d", p.Mode, p.Padding)
	case n < 1 || len(points) == 0:
		p.Failf("expected 4D or 5D input and grid with same number of dimensions, but got input with sizes %v and grid with sizes %v", sizes,
			points)
	case points[0] != sizes[0]:
		p.Failf("expected grid and input to have same batch size, but got input with sizes %v and grid with sizes %v", sizes, points)
	case points[len(points)-1] != int64(n):
		p.Failf("expected grid to have size %d in last dimension, but got grid with sizes %v", n, points)
	case n != 2 && n != 3 || grid.Dim() != n+2:
		p.Failf("expected 4D or 5D input and grid with same number of dimensions, but got input with sizes %v and grid with sizes %v", sizes,
			points)
	case slices.Min(sizes[2:]) < 1:
		p.Failf("expected input to have non-empty spatial dimensions, but input has sizes %v", sizes)
	case images.Numel()/max(sizes[0]*sizes[1], 1) > math.MaxInt32:
		p.Failf("expected input to have at most %d elements in its spatial dimensions, but input has sizes %v", math.MaxInt32, sizes)
	case p.Mode == 2 && n != 2:
		p.Failf("bicubic interpolation only supports 4D input, but got input with sizes %v", sizes)
	case grid.DType() != images.DType():
		p.Failf("expected input and grid to have the same dtype, but they have %v and %v", images.DType(), grid.DType())
	case along != nil && (!slices.Equal(along.Sizes(), points) || along.DType() != grid.DType()):
		p.Failf("expected the direction to have the sizes and dtype of grid, but got %v of %v for grid %v of %v", along.Sizes(), along.DType(),
			points, grid.DType())
	}
	p.Check(p.Kernel.Check(p.Op, images.DType()))
	_, err := tensoriter.Device(p.Op, images, grid)
	p.Check(err)
	if p.Grid = p.toRowMajor(grid); !hasInt32Offsets(images) {
		p.Images = p.toRowMajor(images)
	}
	if along != nil {
		p.Along = p.toRowMajor(along)
	}
}

// hasInt32Offsets reports whether the offsets of the elements of a channel fit 32 bits, which kernels require.
func hasInt32Offsets(images *tensor.Tensor) bool {
	reach := 0.0
	for d := 2; d < images.Dim(); d++ {
		reach += float64(images.Sizes()[d]-1) * float64(images.Strides()[d])
	}
	return reach < math.MaxInt32
}

// setValues checks the gradient of the sampled values and sets it.
func (p *sampler) setValues(given *tensor.Tensor) {
	g := p.Grid.Sizes()
	if want := slices.Concat(p.Images.Sizes()[:2], g[1:len(g)-1]); !slices.Equal(given.Sizes(), want) || given.DType() != p.Images.DType() {
		p.Failf("expected values of sizes %v, of %v, but got %v, of %v", want, p.Images.DType(), given.Sizes(), given.DType())
	}
	_, err := tensoriter.Device(p.Op, given, p.Grid)
	p.Check(err)
	p.Values = p.toRowMajor(given)
}

// toRowMajor returns t in row-major order.
func (p *sampler) toRowMajor(t *tensor.Tensor) *tensor.Tensor {
	if t.IsContiguous() {
		return t
	}
	return p.Track(cloneTensor(p.Op, t, t.DType(), t.Device(), shape.Contiguous))
}

// launchReturning launches the kernel and returns made. The gradient of nearest sampling with respect to the grid is 0, even for NaN
// images.
func (p *sampler) launchReturning(made *tensor.Tensor) (*tensor.Tensor, error) {
	if p.Values.Numel() > 0 {
		if p.Mode == 1 && (p.Along != nil || p.Slope != nil) {
			p.Check(fillWith(made, zero))
		} else {
			p.Check(backend.On(p.Images).Sample(p.Op, p.Sampling))
		}
	}
	return p.Return(made)
}
