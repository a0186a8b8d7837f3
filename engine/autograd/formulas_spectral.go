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
