package autograd

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// adjointOf is a matrix, or each of a stack of them, transposed and conjugated. One number is its own transpose.
func (s *steps) adjointOf(t *tensor.Tensor) *tensor.Tensor {
	if t.Dim() == 0 {
		return s.conj(t)
	}
	return s.conj(s.keep(s.c.Transpose(nil, t, -2, -1)))
}

// matmulLeft and matmulRight are the gradients of the operands of a matrix product; vectors count as matrices of one row or
// column.
func (s *steps) matmulLeft(grad *tensor.Tensor, sizes []int64, other *tensor.Tensor) *tensor.Tensor {
	grad = s.asProduct(grad, len(sizes), other.Dim())
	if other.Dim() == 1 {
		other = s.keep(s.c.Unsqueeze(nil, other, 1))
	}
	made := s.keep(s.c.Matmul(nil, grad, s.adjointOf(other)))
	if len(sizes) > 1 {
		return made
	}
	return s.keep(s.c.SumToSize(s.keep(s.c.SqueezeDim(nil, made, -2)), sizes))
}

func (s *steps) matmulRight(grad, self *tensor.Tensor, sizes []int64) *tensor.Tensor {
	grad = s.asProduct(grad, self.Dim(), len(sizes))
	if self.Dim() == 1 {
		self = s.keep(s.c.Unsqueeze(nil, self, 0))
	}
	if len(sizes) <= 2 && self.Dim() > 2 {
		rows := shape.Product(self.Sizes()[:self.Dim()-1])
		self = s.keep(s.c.Reshape(self, []int64{rows, self.Sizes()[self.Dim()-1]}))
		grad = s.keep(s.c.Reshape(grad, []int64{rows, grad.Sizes()[grad.Dim()-1]}))
	}
	made := s.keep(s.c.Matmul(nil, s.adjointOf(self), grad))
	if len(sizes) > 1 {
		return made
	}
	return s.keep(s.c.SqueezeDim(nil, made, -1))
}

// asProduct gives the gradient of a product the dimensions that it would have had for matrices.
func (s *steps) asProduct(grad *tensor.Tensor, left, right int) *tensor.Tensor {
	if right == 1 {
		grad = s.keep(s.c.Unsqueeze(nil, grad, -1))
	}
	if left == 1 {
		grad = s.keep(s.c.Unsqueeze(nil, grad, -2))
	}
	return grad
}

// cdistGradient is that of the distances of the rows of x1 and x2, with respect to x1.
func (s *steps) cdistGradient(grad, x1, x2 *tensor.Tensor, p float64, result *tensor.Tensor) *tensor.Tensor {
	apart := s.sub(s.keep(s.c.Unsqueeze(nil, x1, -2)), s.keep(s.c.Unsqueeze(nil, x2, -3)))
	grad, result = s.keep(s.c.Unsqueeze(nil, grad, -1)), s.keep(s.c.Unsqueeze(nil, result, -1))
	var slope *tensor.Tensor
	switch {
	case p == 0:
		return s.zerosLike(x1)
	case p == 1:
		slope = s.mul(s.sgn(apart), grad)
	case math.IsInf(p, 0):
		slope = s.mul(s.mul(s.sgn(apart), s.eq(s.abs(apart), result)), grad)
	case p == 2:
		slope = s.mul(grad, s.cleared(s.div(apart, result), s.isZero(result)))
	default:
		scale := s.cleared(s.div(grad, s.pow(result, s.float(p-1))), s.isZero(result))
		steep := s.cleared(s.mul(s.sgn(apart), s.pow(s.abs(apart), s.float(p-1))), s.isZero(apart))
		slope = s.mul(steep, scale)
	}
	return s.keep(s.c.Sum(nil, slope, []int64{-2}, false, dtype.None))
}
