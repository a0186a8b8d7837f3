package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnResampled are images with other sizes.
func NnResampled(self *tensor.Tensor, sizes []int64, filter string, alignCorners, antialias bool,
	scales []float64) (*tensor.Tensor, error) {
	return resampleTensor("nn_resampled", self, sizes,
		backend.Resampling{Filter: filter, Scales: scales, AlignCorners: alignCorners, Antialias: antialias})
}

// NnResampledBack is the transpose of NnResampled.
func NnResampledBack(given *tensor.Tensor, sizes []int64, filter string, alignCorners, antialias bool,
	scales []float64) (*tensor.Tensor, error) {
	return resampleTensor("nn_resampled_back", given, sizes,
		backend.Resampling{Filter: filter, Scales: scales, AlignCorners: alignCorners, Antialias: antialias, Transposed: true})
}

func resampleTensor(op string, self *tensor.Tensor, sizes []int64, w backend.Resampling) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	n := self.Dim() - 2
	if n < 1 || n > 3 || len(sizes) != n || w.Scales != nil && len(w.Scales) != n {
		s.Failf("expected 1 to 3 output sizes for the dimensions after (N, C), but got sizes %v and scales %v for a tensor of sizes %v", sizes,
			w.Scales, self.Sizes())
	}
	all := slices.Concat(self.Sizes()[:2], sizes)
	for _, size := range slices.Concat(self.Sizes()[2:], sizes) {
		if size < 1 || size > math.MaxInt32 {
			s.Failf("the sizes after (N, C) must be from 1 to %d, but the sizes are %v, and those of the result %v", math.MaxInt32, self.Sizes(),
				all)
		}
	}
	d := self.DType()
	if err := kernelapi.Resample.Check(op, d); err != nil || w.Transposed && d == dtype.Uint8 {
		s.Check(err)
		s.Failf("not implemented for %v", d)
	}
	format := shape.SuggestFormat(self.Sizes(), self.Strides())
	if w.Transposed && (w.Filter == "cubic" || w.Filter == "lanczos") {
		format = shape.Contiguous // as in PyTorch
	}
	strides, err := shape.FormatStrides(op, all, format)
	s.Check(err)
	w.From = self
	if !shape.IsFormat(self.Sizes(), self.Strides(), format) {
		w.From = s.Track(cloneTensor(op, self, d, self.Device(), format))
	}
	w.To = s.Track(tensor.EmptyStrided(op, all, strides, d, self.Device()))
	if w.To.Numel() > 0 {
		s.Check(backend.On(self).Resample(op, w))
	}
	return s.Return(w.To)
}
