package autograd

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) zerosLike(t *tensor.Tensor) *tensor.Tensor {
	return s.fullOf(0, t.DType(), t.Device(), t.Sizes()...)
}

func (s *steps) zerosOf(l like) *tensor.Tensor {
	return s.fullOf(0, l.dtype, l.device, l.sizes()...)
}

func (s *steps) zeroWhere(t, condition *tensor.Tensor) *tensor.Tensor {
	return s.Where(condition, s.int(0), t)
}

// oneWhereZero returns a divisor with 1 for its zeros, whose quotients are cleared: of the derivative of such a one 0/0 would be left.
func (s *steps) oneWhereZero(t, zero *tensor.Tensor) *tensor.Tensor {
	return s.Where(zero, s.int(1), t)
}

func (s *steps) isZero(t *tensor.Tensor) *tensor.Tensor { return s.Eq(t, s.int(0)) }

// timesI returns t times the imaginary unit.
func (s *steps) timesI(t *tensor.Tensor) *tensor.Tensor {
	return s.mul(t, s.number(dtype.ComplexScalar(1i)))
}

// toDouble returns t in double precision, complex where t or the other operand is.
func (s *steps) toDouble(t, other *tensor.Tensor) *tensor.Tensor {
	if t.DType().IsComplex() || other.DType().IsComplex() {
		return s.castTo(t, dtype.Complex128)
	}
	return s.castTo(t, dtype.Float64)
}

// toComputable converts complex numbers in half precision, which cannot be divided, to single precision; it returns other tensors
// unchanged.
func (s *steps) toComputable(t *tensor.Tensor) *tensor.Tensor {
	if t.DType() == dtype.Complex32 {
		return s.castTo(t, dtype.Complex64)
	}
	return t
}

// powerBase and powerExponent return the derivatives of self**exponent. The derivative at 0**0, and where the power is constant, is 0.
func (s *steps) powerBase(grad, self, exponent *tensor.Tensor) *tensor.Tensor {
	if exponent.IsWrappedNumber() && exponent.Item().Equal(0) {
		return s.zerosLike(grad)
	}
	less := s.sub(exponent, s.int(1))
	slope := s.binary('*', exponent, s.Pow(self, less), right)
	slope = s.binary('*', grad, s.conj(slope), right)
	return s.release(1, s.clearedOver(slope, s.consume(s.isZero(exponent))))
}

func (s *steps) powerExponent(grad, self, exponent, result *tensor.Tensor) *tensor.Tensor {
	rising := s.Ge(s.real(exponent), s.int(0))
	base := self
	if self.IsWrappedNumber() || result.DType().IsComplex() { // real numbers below 0 have complex logarithms
		base = s.castTo(self, result.DType())
	}
	slope := s.mul(grad, s.conj(s.mul(result, s.Log(base))))
	return s.Where(s.LogicalAnd(s.isZero(self), rising), s.int(0), slope)
}

// logNormalGradient returns that of the logarithm of the normal distribution's function: its density over it. Both are too small for a
// float far below 0, where erfcx is their quotient; erfcx is too large for one far above 0.
func (s *steps) logNormalGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	above := s.Gt(self, s.int(0))
	high, low := s.Where(above, self, s.int(0)), s.Where(above, s.int(0), self)
	density := s.mul(s.Exp(s.mul(s.mul(high, high), s.float(-0.5))), s.float(1/math.Sqrt(2*math.Pi)))
	upper := s.div(density, s.SpecialNdtr(high))
	lower := s.div(s.float(math.Sqrt(2/math.Pi)), s.SpecialErfcx(s.mul(low, s.float(-math.Sqrt2/2))))
	return s.mul(grad, s.Where(above, upper, lower))
}

// signGradient returns that of z/|z|.
func (s *steps) signGradient(grad, self, result *tensor.Tensor) *tensor.Tensor {
	if !self.DType().IsComplex() {
		return s.zerosLike(grad)
	}
	size := s.Abs(self)
	zero := s.isZero(size)
	slope := s.sub(s.div(grad, s.oneWhereZero(size, zero)), s.mul(s.real(s.div(grad, s.oneWhereZero(self, zero))), result))
	return s.zeroWhere(slope, zero)
}

func (s *steps) angleGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	if !self.DType().IsComplex() {
		return s.zerosLike(grad)
	}
	size := s.Abs(self)
	zero := s.isZero(size)
	size = s.oneWhereZero(size, zero)
	return s.zeroWhere(s.mul(grad, s.div(s.timesI(self), s.mul(size, size))), zero)
}

// sincGradient uses a power series near 0, where the difference of cos and sin cancels.
func (s *steps) sincGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	angle := s.mul(self, s.float(math.Pi))
	near := s.Lt(s.Abs(angle), s.float(0.1))
	square, series := s.mul(angle, angle), s.int(1)
	for _, divisor := range []float64{54, 28, 10} {
		series = s.sub(s.int(1), s.mul(s.div(square, s.float(divisor)), series))
	}
	series = s.mul(s.div(angle, s.float(-3)), series)
	angle = s.Where(near, s.int(1), angle)
	slope := s.div(s.sub(s.Cos(angle), s.div(s.Sin(angle), angle)), angle)
	return s.mul(grad, s.conj(s.mul(s.Where(near, series, slope), s.float(math.Pi))))
}

// atan2Slope is part / (self^2 + other^2), of which no square is taken, and part where both are 0.
func (s *steps) atan2Slope(part, self, other *tensor.Tensor) *tensor.Tensor {
	nowhere := s.LogicalAnd(s.isZero(self), s.isZero(other))
	radius := s.Hypot(s.Where(nowhere, s.int(1), self), other)
	return s.div(s.div(part, radius), radius)
}

func (s *steps) logitGradient(grad, self *tensor.Tensor, eps *float64) *tensor.Tensor {
	slope := s.div(grad, s.mul(self, s.sub(s.int(1), self)))
	low, outside := 0.0, s.float(math.NaN())
	if eps != nil {
		low, outside = *eps, s.int(0)
	}
	beyond := s.LogicalOr(s.Lt(self, s.float(low)), s.Gt(self, s.float(1-low)))
	return s.MaskedFill(slope, beyond, outside)
}

// besselOneGradient returns that of I1 and J1 with zeroth the function of order 0, and besselI1eGradient that of I1 times exp(-|self|).
// Next to 0 their slopes are 1/2: of numbers so small that nothing is lost, and quotients of the least have no digits.
func (s *steps) besselOneGradient(grad, self, result, zeroth *tensor.Tensor) *tensor.Tensor {
	tiny := s.isBelowEpsilon(self, result)
	slope := s.sub(zeroth, s.div(result, s.Where(tiny, s.int(1), self)))
	return s.mul(grad, s.Where(tiny, s.float(0.5), slope))
}

func (s *steps) besselI1eGradient(grad, self, result *tensor.Tensor) *tensor.Tensor {
	tiny := s.isBelowEpsilon(self, result)
	self = s.Where(tiny, s.int(1), self)
	slope := s.sub(s.SpecialI0e(self), s.add(s.mul(result, s.Sgn(self)), s.div(result, self)))
	return s.mul(grad, s.Where(tiny, s.float(0.5), slope))
}

// isBelowEpsilon reports where elements are no larger than the result's distance from 1 to the next number.
func (s *steps) isBelowEpsilon(self, result *tensor.Tensor) *tensor.Tensor {
	return s.Le(s.Abs(self), s.float(result.DType().Epsilon()))
}

// lgammaSum returns the derivative of the logarithm of the multivariate gamma function.
func (s *steps) lgammaSum(self *tensor.Tensor, p int64) *tensor.Tensor {
	var total *tensor.Tensor
	for i := range p {
		term := s.Digamma(s.sub(self, s.float(float64(i)/2)))
		if total == nil {
			total = term
		} else {
			total = s.add(total, term)
		}
	}
	return total
}

// reluGradient consumes the gradient. With create_graph the result also depends on the output of relu in the graph, with a gradient of
// zero.
func (s *steps) reluGradient(grad, result *tensor.Tensor) *tensor.Tensor {
	off := s.Le(result, s.int(0))
	if s.record {
		return s.Where(off, s.mul(result, s.int(0)), grad)
	}
	return s.release(1, s.clearedOver(grad, s.consume(off)))
}

// withinLimits returns the gradient of clamp with scalars: grad for the elements between them, and 0 elsewhere.
func (s *steps) withinLimits(grad, self *tensor.Tensor, low, high dtype.Scalar) *tensor.Tensor {
	switch {
	case low.IsNone():
		return s.zeroUnless(grad, s.Lt(self, s.number(high)))
	case high.IsNone():
		return s.zeroUnless(grad, s.Gt(self, s.number(low)))
	}
	return s.zeroUnless(grad, s.release(2, s.LogicalAnd(s.consume(s.Gt(self, s.number(low))), s.consume(s.Lt(self, s.number(high))))))
}

// zeroUnless returns t where condition is true and zero elsewhere. It consumes condition.
func (s *steps) zeroUnless(t, condition *tensor.Tensor) *tensor.Tensor {
	return s.release(1, s.Where(s.consume(condition), t, s.int(0)))
}

// shareEqual returns half of a gradient where two operands are equal, of which each gets as much, and all of it elsewhere.
func (s *steps) shareEqual(grad, a, b *tensor.Tensor) *tensor.Tensor {
	return s.Where(s.Eq(a, b), s.div(grad, s.int(2)), grad)
}

// withinTensors, below and above return the gradients of self and of tensor limits: the operand that equals the result receives it, or both
// if they are equal. A high limit below the low one is the result.
func (s *steps) withinTensors(grad, self, low, high *tensor.Tensor) *tensor.Tensor {
	switch {
	case high == nil:
		return s.zeroWhere(s.shareEqual(grad, self, low), s.Lt(self, low))
	case low == nil:
		return s.zeroWhere(s.shareEqual(grad, self, high), s.Gt(self, high))
	}
	equalOne := s.LogicalAnd(s.Ne(s.Eq(self, low), s.Eq(self, high)), s.Lt(low, high))
	return s.zeroWhere(s.Where(equalOne, s.div(grad, s.int(2)), grad), s.LogicalOr(s.Lt(self, low), s.Gt(self, high)))
}

func (s *steps) gradBelow(grad, self, low, high *tensor.Tensor) *tensor.Tensor {
	if high == nil {
		return s.zeroWhere(s.shareEqual(grad, self, low), s.Gt(self, low))
	}
	half := s.Where(s.LogicalAnd(s.Eq(self, low), s.Lt(low, high)), s.div(grad, s.int(2)), s.int(0))
	return s.Where(s.LogicalAnd(s.Lt(self, low), s.Le(low, high)), grad, half)
}

func (s *steps) gradAbove(grad, self, low, high *tensor.Tensor) *tensor.Tensor {
	if low == nil {
		return s.zeroWhere(s.shareEqual(grad, self, high), s.Lt(self, high))
	}
	half := s.Where(s.LogicalAnd(s.Eq(self, high), s.Lt(low, high)), s.div(grad, s.int(2)), s.int(0))
	beyond := s.LogicalAnd(s.Gt(self, high), s.Le(low, high))
	return s.Where(s.LogicalOr(beyond, s.Gt(low, high)), grad, half)
}

// withinOne returns the gradient of self where one limit is a number or a tensor.
func (s *steps) withinOne(grad, self, low, high *tensor.Tensor) *tensor.Tensor {
	switch {
	case low != nil && low.IsWrappedNumber():
		return s.Where(s.Gt(self, low), grad, s.int(0))
	case high != nil && high.IsWrappedNumber():
		return s.Where(s.Lt(self, high), grad, s.int(0))
	}
	return s.withinTensors(grad, self, low, high)
}

// diagonalCleared returns t with zeros on its diagonal.
func (s *steps) diagonalCleared(t *tensor.Tensor, wrap bool) *tensor.Tensor {
	made := s.CloneWith(t, shape.Preserve)
	s.Check(s.C.FillDiagonal(made, dtype.IntScalar(0), wrap))
	return made
}
