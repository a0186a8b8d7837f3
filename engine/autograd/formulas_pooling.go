package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// largestGradient finds again where the largest elements of windows are.
func (s *steps) largestGradient(t, self *tensor.Tensor, taps, stride, padding, dilation []int64, format shape.MemoryFormat) *tensor.Tensor {
	values, places, err := s.C.NnLargestPlaces(self, slices.Clone(t.Sizes()[2:]), taps, stride, padding, dilation, format)
	s.Track(values, err)
	return s.addAtPlaces(t, s.Track(places, err), self.Sizes(), format)
}

func (s *steps) addAtPlaces(t, indices *tensor.Tensor, sizes []int64, format shape.MemoryFormat) *tensor.Tensor {
	return s.NnAddAtPlaces(t, indices, slices.Clone(sizes[2:]), format)
}

// addInRows is addAtPlaces of images that are contiguous.
func (s *steps) addInRows(t, indices *tensor.Tensor, sizes []int64) *tensor.Tensor {
	return s.addAtPlaces(t, indices, sizes, shape.Contiguous)
}

// atPlaces gathers elements of images at indices, with 0 for an index of -1.
func (s *steps) atPlaces(t, indices *tensor.Tensor) *tensor.Tensor {
	flat := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Reshape(t, slices.Concat(t.Sizes()[:2], []int64{shape.Product(t.Sizes()[2:])})...)
	}
	met := s.Ge(indices, s.int(0))
	taken := s.Gather(flat(t), 2, flat(s.Mul(indices, met)))
	return s.zeroUnless(s.Reshape(taken, slices.Clone(indices.Sizes())...), met)
}

func (s *steps) averageSpread(t *tensor.Tensor, sizes, taps, stride, padding []int64, padded bool, divisor int64,
	format shape.MemoryFormat) *tensor.Tensor {
	return s.NnAverageGradient(t, slices.Clone(sizes[2:]), taps, stride, padding, padded, divisor, format)
}

func (s *steps) averageGathered(t *tensor.Tensor, sizes, taps, stride, padding []int64, padded bool, divisor int64,
	format shape.MemoryFormat) *tensor.Tensor {
	return s.NnAverage(t, slices.Clone(sizes[2:]), taps, stride, padding, padded, divisor, format)
}

func (s *steps) fromColumns(t *tensor.Tensor, sizes, taps, stride, padding, dilation []int64) *tensor.Tensor {
	return s.NnFromColumns(t, slices.Clone(sizes[2:]), taps, stride, padding, dilation...)
}

func (s *steps) unfoldColumns(t *tensor.Tensor, sizes, taps, stride, padding, dilation []int64) *tensor.Tensor {
	return s.NnColumns(t, slices.Clone(sizes[2:]), taps, stride, padding, dilation...)
}
