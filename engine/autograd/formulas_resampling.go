package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) resampledBack(t *tensor.Tensor, sizes []int64, filter string, alignCorners, antialias bool,
	scales []float64) *tensor.Tensor {
	return s.NnResampledBack(t, slices.Clone(sizes[2:]), filter, alignCorners, antialias, scales)
}

func (s *steps) resampleImages(t *tensor.Tensor, sizes []int64, filter string, alignCorners, antialias bool,
	scales []float64) *tensor.Tensor {
	return s.NnResampled(t, slices.Clone(sizes[2:]), filter, alignCorners, antialias, scales)
}
