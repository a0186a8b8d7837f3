package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// realTransformGradient returns that of the transform of real numbers: the real part of the transform back of the gradient. Where a half
// was left out its numbers are zeros: the transform back to real numbers takes for it the conjugates of the other half, so that those count
// twice.
func (s *steps) realTransformGradient(grad *tensor.Tensor, sizes, dim []int64, onesided bool, scale float64) *tensor.Tensor {
	if !onesided {
		return s.real(s.FftC2c(grad, slices.Clone(dim), false, scale))
	}
	first, last := slices.Clone(dim[:len(dim)-1]), dim[len(dim)-1]
	if len(first) > 0 {
		grad = s.FftC2c(grad, first, false, 1)
	}
	at, err := shape.WrapDim("backward", last, len(sizes))
	s.Check(err)
	halved := s.binary('*', grad, s.spectrumFactors(grad, at, sizes[at], 0.5), right)
	return s.releaseUsed(halved, s.FftC2r(halved, last, sizes[at], scale))
}

// hermitianTransformGradient returns the gradient of the transform of a half-Hermitian input to a real output: half of the transform of the
// gradient, with the elements that also represent their conjugate counted twice.
func (s *steps) hermitianTransformGradient(grad *tensor.Tensor, dim int64, scale float64) *tensor.Tensor {
	half := s.FftR2c(grad, []int64{dim}, true, scale)
	at, err := shape.WrapDim("backward", dim, grad.Dim())
	s.Check(err)
	return s.binary('*', half, s.spectrumFactors(half, at, grad.Sizes()[at], 2), left|right)
}

// spectrumFactors returns factors for the half of a transform of n elements along dim: by for elements with a conjugate in the other half,
// and 1 for the others.
func (s *steps) spectrumFactors(half *tensor.Tensor, dim int, n int64, by float64) *tensor.Tensor {
	sizes := slices.Repeat([]int64{1}, half.Dim())
	sizes[dim] = half.Sizes()[dim]
	made := s.fullOf(1, half.DType().ToReal(), half.Device(), sizes...)
	if twice := n - sizes[dim]; twice > 0 {
		middle := s.Narrow(made, int64(dim), 1, twice)
		_, err := s.C.Fill(middle, middle, s.float(by))
		s.Check(err)
	}
	return made
}

// signalPadGradient adds the gradients of the padding of a signal to those of the elements that it was copied from.
func (s *steps) signalPadGradient(grad, self *tensor.Tensor, before, after int64, mode string) *tensor.Tensor {
	n := self.Sizes()[self.Dim()-1]
	first, last := s.Narrow(grad, -1, 0, before), s.Narrow(grad, -1, before+n, after)
	total := s.Narrow(grad, -1, before, n)
	more := func(t *tensor.Tensor, start int64) {
		pad := []int64{start, n - start - t.Sizes()[t.Dim()-1]}
		total = s.add(total, s.ConstantPadNd(t, pad, dtype.IntScalar(0)))
	}
	sum := func(t *tensor.Tensor) *tensor.Tensor { return s.Sum(t, []int64{-1}, true) }
	switch mode {
	case "constant":
		return total
	case "circular":
		more(first, n-before)
		more(last, 0)
		return total
	case "reflect":
		more(s.Flip(first, -1), 1)
		more(s.Flip(last, -1), n-1-after)
	case "replicate":
		more(sum(first), 0)
		more(sum(last), n-1)
	}
	if !s.record {
		return total
	}
	// As in PyTorch, a second gradient of these exists, and is zero.
	all := s.fullOf(1, dtype.Bool, self.Device(), self.Sizes()...)
	return s.add(total, s.MaskedFill(self, all, s.int(0)))
}
