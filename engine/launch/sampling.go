package launch

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Sampling is about Images (N, C, ...) of two or three dimensions at the points of a contiguous Grid (N, ..., D): sample writes what is
// there to the contiguous Values (N, C, ...), sample_spread adds Values to the zeros that it makes of the contiguous Images, and
// sample_slope writes the derivative by the grid of the sum of Values times what is there to the contiguous Slope. Where Along is not nil,
// all this is of the derivative in its direction.
type Sampling struct {
	Kernel                             *kernel.Kernel
	Images, Grid, Along, Values, Slope *tensor.Tensor
	Mode, Padding                      int64 // of SampleModes and SamplePaddings
	AlignCorners                       bool
}

// SampleModes and SamplePaddings have the numbers of what PyTorch calls so.
var (
	SampleModes    = []string{"bilinear", "nearest", "bicubic"}
	SamplePaddings = []string{"zeros", "border", "reflection"}
)
