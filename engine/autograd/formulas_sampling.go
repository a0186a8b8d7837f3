package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) sampleGrid(self, grid, along *tensor.Tensor, mode, padding int64, alignCorners bool) *tensor.Tensor {
	return s.NnSampled(self, grid, along, mode, padding, alignCorners)
}

func (s *steps) sampledSpread(given, grid, along *tensor.Tensor, sizes []int64, mode, padding int64, alignCorners bool) *tensor.Tensor {
	return s.NnSampledSpread(given, grid, along, slices.Clone(sizes[2:]), mode, padding, alignCorners)
}

func (s *steps) sampledSlope(given, self, grid, along *tensor.Tensor, mode, padding int64, alignCorners bool) *tensor.Tensor {
	return s.NnSampledSlope(given, self, grid, along, mode, padding, alignCorners)
}

func (s *steps) plainSlope(given, self, grid *tensor.Tensor, mode, padding int64, alignCorners bool) *tensor.Tensor {
	return s.sampledSlope(given, self, grid, nil, mode, padding, alignCorners)
}

// The derivative of sampled slopes with respect to images is sampling, in the direction of the upstream gradient.
func (s *steps) sampledAgain(self, grid, along, t *tensor.Tensor, mode, padding int64, alignCorners bool) *tensor.Tensor {
	s.firstSlope(along)
	return s.sampleGrid(self, grid, t, mode, padding, alignCorners)
}

func (s *steps) spreadAgain(given, grid, along, t *tensor.Tensor, sizes []int64, mode, padding int64, alignCorners bool) *tensor.Tensor {
	s.firstSlope(along)
	return s.sampledSpread(given, grid, t, sizes, mode, padding, alignCorners)
}

func (s *steps) slopeAgain(given, self, grid, along, t *tensor.Tensor, mode, padding int64, alignCorners bool) *tensor.Tensor {
	s.firstSlope(along)
	return s.sampledSlope(given, self, grid, t, mode, padding, alignCorners)
}

// firstSlope returns an error for the derivative of a directional derivative.
func (s *steps) firstSlope(along *tensor.Tensor) {
	if along != nil {
		s.Check(status.NotImplementedf("grid_sampler: third derivatives are not implemented"))
	}
}
