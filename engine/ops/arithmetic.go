package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	addScaled = newPointwise("add", kernelapi.AddScaled, promote)
	subScaled = newPointwise("sub", kernelapi.AddScaled, promote)
	square    = newPointwise("square", kernelapi.Square, promote)
)

// checkAlpha returns an error for a factor that the result's dtype cannot hold.
func checkAlpha(op, name string, alpha dtype.Scalar, result dtype.DType) error {
	if c := alpha.DType().Category(); c > max(result.Category(), dtype.Integral) || c == dtype.Boolean && result != dtype.Bool {
		return status.Runtimef("%s: %s %v must be of the category of the result's dtype %v or a lower one, and bool only with bool", op, name,
			alpha, result)
	}
	return checkFits(op, alpha, result)
}

// factorParams returns parameters of a kernel with a number that is rounded to the result's dtype.
func factorParams(value dtype.Scalar, result dtype.DType) params {
	return func(d dtype.DType, p *backend.Params) {
		p.Set(0, d, tensor.Rounded(result, value))
	}
}

// Add computes self + alpha*other.
func Add(out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if alpha.Kind == dtype.KindInt && alpha.I == 1 {
		return add.runKernel(out, nil, self, other)
	}
	result := resultType(self, other)
	if err := checkAlpha("add", "alpha", alpha, result); err != nil {
		return nil, err
	}
	return addScaled.runIn(result, out, factorParams(alpha, result), self, other)
}

// Sub computes self - alpha*other; bool is rejected.
func Sub(out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if self.DType() == dtype.Bool || other.DType() == dtype.Bool {
		return nil, status.NotImplementedf("sub: subtraction, the `-` operator, with a bool tensor is not supported; to invert a mask, use `~` or logical_not()")
	}
	if alpha.Kind == dtype.KindInt && alpha.I == 1 {
		return sub.runKernel(out, nil, self, other)
	}
	result := resultType(self, other)
	if err := checkAlpha("sub", "alpha", alpha, result); err != nil {
		return nil, err
	}
	alpha = tensor.Rounded(result, alpha) // of an integer beyond int64 the bits alone can be negated
	alpha.I, alpha.F, alpha.Im = -alpha.I, -alpha.F, -alpha.Im
	return subScaled.runIn(result, out, factorParams(alpha, result), self, other)
}

// addTensors and subtractTensors are Add and Sub as intermediate ops of others.
func addTensors(out, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	return Add(out, a, b, dtype.IntScalar(1))
}
func subtractTensors(out, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	return Sub(out, a, b, dtype.IntScalar(1))
}

// Rsub computes other - alpha*self.
func Rsub(self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return Sub(nil, other, self, alpha)
}

// Neg computes -self; bool is rejected.
func Neg(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("neg: negation, the `-` operator, on a bool tensor is not supported; to invert a mask, use `~` or logical_not()")
	}
	return neg.runKernel(out, nil, self)
}

// Positive returns self itself; bool is rejected.
func Positive(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("positive: the unary `+` operator is not supported on a bool tensor")
	}
	return self.Alias(), nil
}

// Square computes self * self; bool counts as int64.
func Square(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	d := self.DType()
	if d == dtype.Bool {
		d = dtype.Int64
	}
	return square.runIn(d, out, nil, self)
}

// Abs computes absolute values; those of complex numbers are real. In place, complex numbers are rejected.
func Abs(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if !self.DType().IsComplex() {
		if err := tensoriter.SameDType("abs", out, self.DType()); err != nil {
			return nil, err
		}
	} else if out == self {
		return nil, status.Runtimef("abs: in-place abs is not supported for complex tensors, whose absolute value is real")
	}
	return abs.runKernel(out, nil, self)
}

// Sign computes -1, 0 or 1 by the sign of real elements.
func Sign(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType().IsComplex() {
		return nil, status.NotImplementedf("sign: unlike numpy, sign is not defined for complex tensors; use sgn")
	}
	return sign.runKernel(out, nil, self)
}

// Sgn is Sign for reals and z / |z| for complex numbers.
func Sgn(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType().IsComplex() {
		return sgn.runKernel(out, nil, self)
	}
	return sign.runKernel(out, nil, self)
}

// Addcmul computes self + value*tensor1*tensor2.
func Addcmul(out, self, tensor1, tensor2 *tensor.Tensor, value dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkFits("addcmul", value, resultType(self, tensor1, tensor2).Compute()); err != nil {
		return nil, err
	}
	return addcmul.runKernel(out, func(d dtype.DType, p *backend.Params) { p.Set(0, d, value) }, self, tensor1, tensor2)
}

// Addcdiv computes self + value*tensor1/tensor2.
func Addcdiv(out, self, tensor1, tensor2 *tensor.Tensor, value dtype.Scalar) (*tensor.Tensor, error) {
	if tensor1.DType().Category() < dtype.Floating && tensor2.DType().Category() < dtype.Floating {
		return nil, status.Runtimef("addcdiv: integer division of tensor1 (%v) by tensor2 (%v) is not supported; convert one of them to a floating dtype",
			tensor1.DType(), tensor2.DType())
	}
	if err := checkFits("addcdiv", value, resultType(self, tensor1, tensor2).Compute()); err != nil {
		return nil, err
	}
	return addcdiv.runKernel(out, func(d dtype.DType, p *backend.Params) { p.Set(0, d, value) }, self, tensor1, tensor2)
}

// Lerp computes self + weight*(end - self).
func Lerp(out, self, end, weight *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() != end.DType() {
		return nil, status.Runtimef("lerp: expected dtype %v for end but got dtype %v", self.DType(), end.DType())
	}
	if weight.IsWrappedNumber() {
		if err := checkFits("lerp", weight.Item(), self.DType().Compute()); err != nil {
			return nil, err
		}
	} else if weight.DType() != self.DType() {
		return nil, status.Runtimef("lerp: expected dtype %v for weight but got dtype %v", self.DType(), weight.DType())
	}
	return lerp.runIn(self.DType(), out, nil, self, end, weight)
}
