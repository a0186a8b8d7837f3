package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// realTransformGradient is that of the transform of real numbers: the transform back of the gradient, in which the half that
// was left out is zeros.
func (s *steps) realTransformGradient(grad *tensor.Tensor, sizes, dim []int64, onesided bool, scale float64) *tensor.Tensor {
	if onesided {
		last, err := shape.WrapDim("backward", dim[len(dim)-1], len(sizes))
		s.check(err)
		if missing := sizes[last] - grad.Sizes()[last]; missing > 0 {
			more := slices.Clone(grad.Sizes())
			more[last] = missing
			zeros := s.keep(s.c.NewZeros(grad, more, dtype.None, tensor.NoLayout, device.None))
			grad = s.keep(s.c.Cat(nil, []*tensor.Tensor{grad, zeros}, int64(last)))
		}
	}
	return s.real(s.keep(s.c.FftC2c(grad, slices.Clone(dim), false, scale)))
}

// hermitianTransformGradient is that of the transform of Hermitian numbers to real ones: half of the transform of the gradient,
// in which what stands for its conjugate too counts twice.
func (s *steps) hermitianTransformGradient(grad *tensor.Tensor, dim int64, scale float64) *tensor.Tensor {
	half := s.keep(s.c.FftR2c(grad, []int64{dim}, true, scale))
	at, err := shape.WrapDim("backward", dim, grad.Dim())
	s.check(err)
	twice := grad.Sizes()[at] - half.Sizes()[at]
	if twice == 0 {
		return half
	}
	end := half.Sizes()[at] - 1 - twice
	parts := []*tensor.Tensor{s.part(half, dim, 0, 1), s.mul(s.part(half, dim, 1, twice), s.int(2)), s.part(half, dim, 1+twice, end)}
	return s.keep(s.c.Cat(nil, parts, dim))
}

// signalPadGradient adds the gradients of what a signal was continued by to those of its own numbers.
func (s *steps) signalPadGradient(grad, self *tensor.Tensor, before, after int64, mode string) *tensor.Tensor {
	n := self.Sizes()[self.Dim()-1]
	first, last := s.part(grad, -1, 0, before), s.part(grad, -1, before+n, after)
	total := s.part(grad, -1, before, n)
	more := func(t *tensor.Tensor, start int64) {
		pad := []int64{start, n - start - t.Sizes()[t.Dim()-1]}
		total = s.add(total, s.keep(s.c.ConstantPadNd(t, pad, dtype.IntScalar(0))))
	}
	sum := func(t *tensor.Tensor) *tensor.Tensor { return s.keep(s.c.Sum(nil, t, []int64{-1}, true, dtype.None)) }
	switch mode {
	case "constant":
		return total
	case "circular":
		more(first, n-before)
		more(last, 0)
		return total
	case "reflect":
		more(s.flipped(first, -1), 1)
		more(s.flipped(last, -1), n-1-after)
	case "replicate":
		more(sum(first), 0)
		more(sum(last), n-1)
	}
	if !s.record {
		return total
	}
	// As in PyTorch, a second gradient of these exists, and is zero.
	all := s.filled(1, dtype.Bool, self.Device(), self.Sizes()...)
	return s.add(total, s.keep(s.c.MaskedFill(nil, self, all, s.int(0))))
}
