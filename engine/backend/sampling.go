package backend

import (
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Sampling processes Images (N, C, ...) of two or three spatial dimensions at the points of a contiguous Grid (N, ..., D). sample writes
// the sampled values to the contiguous Values (N, C, ...). sample_spread zeros the contiguous Images and scatters Values to them.
// sample_slope writes the derivative with respect to the grid of the sum of Values times the sampled values to the contiguous Slope. If
// Along is not nil, each kernel computes the directional derivative along it.
type Sampling struct {
	Kernel                             kernelapi.Kernel
	Images, Grid, Along, Values, Slope *tensor.Tensor
	Mode, Padding                      int64 // of SampleModes and SamplePaddings
	AlignCorners                       bool
}

// SampleModes and SamplePaddings list PyTorch's names in the order of their numbers.
var (
	SampleModes    = []string{"bilinear", "nearest", "bicubic"}
	SamplePaddings = []string{"zeros", "border", "reflection"}
)
