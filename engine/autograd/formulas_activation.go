package autograd

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) infinity() float64                       { return math.Inf(1) }
func (s *steps) numberOf(v dtype.Scalar) float64         { return v.Float() }
func (s *steps) sigmoid(t *tensor.Tensor) *tensor.Tensor { return s.Keep(s.c.Sigmoid(nil, t)) }

// The derivatives of activations, in operators that have derivatives themselves.

func (s *steps) siluSlope(self *tensor.Tensor) *tensor.Tensor {
	y := s.sigmoid(self)
	return s.mul(y, s.add(s.int(1), s.mul(self, s.sub(s.int(1), y))))
}

func (s *steps) geluSlope(self *tensor.Tensor, approximate string) *tensor.Tensor {
	square := s.mul(self, self)
	if approximate != "tanh" {
		density := s.mul(s.exp(s.mul(square, s.float(-0.5))), s.float(1/math.Sqrt(2*math.Pi)))
		return s.add(s.Keep(s.c.SpecialNdtr(nil, self)), s.mul(self, density))
	}
	unit := s.float(math.Sqrt(8 / math.Pi))
	cubic := func(factor float64) *tensor.Tensor {
		return s.mul(s.add(s.mul(square, s.float(factor)), s.int(1)), unit)
	}
	y := s.sigmoid(s.mul(self, cubic(0.044715)))
	return s.add(y, s.mul(s.mul(s.mul(self, y), s.sub(s.int(1), y)), cubic(3*0.044715)))
}

func (s *steps) mishSlope(self *tensor.Tensor) *tensor.Tensor {
	y := s.Keep(s.c.Tanh(nil, s.Keep(s.c.NnSoftplus(nil, self, 1, math.Inf(1)))))
	return s.add(y, s.mul(s.mul(self, s.sigmoid(self)), s.sub(s.int(1), s.mul(y, y))))
}

// softsignGradient is that of z / (1 + |z|), which of complex numbers depends on both parts.
func (s *steps) softsignGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	whole := s.add(s.abs(self), s.int(1))
	if !self.DType().IsComplex() {
		return s.div(grad, s.mul(whole, whole))
	}
	along := s.div(s.real(s.mul(grad, s.conj(self))), s.mul(whole, whole))
	return s.sub(s.div(grad, whole), s.mul(s.sgn(self), along))
}
