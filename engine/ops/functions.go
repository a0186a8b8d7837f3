package ops

import "github.com/libtensor/libtensor/engine/tensor"

var (
	sqrt    = newPointwise("sqrt", "sqrt", promoteFloat)
	rsqrt   = newPointwise("rsqrt", "rsqrt", promoteFloat)
	exp     = newPointwise("exp", "exp", promoteFloat)
	exp2    = newPointwise("exp2", "exp2", promoteFloat)
	expm1   = newPointwise("expm1", "expm1", promoteFloat)
	log     = newPointwise("log", "log", promoteFloat)
	log2    = newPointwise("log2", "log2", promoteFloat)
	log10   = newPointwise("log10", "log10", promoteFloat)
	log1p   = newPointwise("log1p", "log1p", promoteFloat)
	sin     = newPointwise("sin", "sin", promoteFloat)
	cos     = newPointwise("cos", "cos", promoteFloat)
	tan     = newPointwise("tan", "tan", promoteFloat)
	asin    = newPointwise("asin", "asin", promoteFloat)
	acos    = newPointwise("acos", "acos", promoteFloat)
	atan    = newPointwise("atan", "atan", promoteFloat)
	sinh    = newPointwise("sinh", "sinh", promoteFloat)
	cosh    = newPointwise("cosh", "cosh", promoteFloat)
	tanh    = newPointwise("tanh", "tanh", promoteFloat)
	asinh   = newPointwise("asinh", "asinh", promoteFloat)
	acosh   = newPointwise("acosh", "acosh", promoteFloat)
	atanh   = newPointwise("atanh", "atanh", promoteFloat)
	sigmoid = newPointwise("sigmoid", "sigmoid", promoteFloat)
	atan2   = newPointwise("atan2", "atan2", promoteFloat)
	hypot   = newPointwise("hypot", "hypot", promote)
)

// Sqrt computes square roots.
func Sqrt(out, self *tensor.Tensor) (*tensor.Tensor, error) { return sqrt.run(out, nil, self) }

// Rsqrt computes reciprocals of square roots.
func Rsqrt(out, self *tensor.Tensor) (*tensor.Tensor, error) { return rsqrt.run(out, nil, self) }

// Exp computes powers of e.
func Exp(out, self *tensor.Tensor) (*tensor.Tensor, error) { return exp.run(out, nil, self) }

// Exp2 computes powers of 2.
func Exp2(out, self *tensor.Tensor) (*tensor.Tensor, error) { return exp2.run(out, nil, self) }

// Expm1 computes exp(self) - 1.
func Expm1(out, self *tensor.Tensor) (*tensor.Tensor, error) { return expm1.run(out, nil, self) }

// Log computes natural logarithms.
func Log(out, self *tensor.Tensor) (*tensor.Tensor, error) { return log.run(out, nil, self) }

// Log2 computes logarithms to base 2.
func Log2(out, self *tensor.Tensor) (*tensor.Tensor, error) { return log2.run(out, nil, self) }

// Log10 computes logarithms to base 10.
func Log10(out, self *tensor.Tensor) (*tensor.Tensor, error) { return log10.run(out, nil, self) }

// Log1p computes log(1 + self).
func Log1p(out, self *tensor.Tensor) (*tensor.Tensor, error) { return log1p.run(out, nil, self) }

// Sin computes sines.
func Sin(out, self *tensor.Tensor) (*tensor.Tensor, error) { return sin.run(out, nil, self) }

// Cos computes cosines.
func Cos(out, self *tensor.Tensor) (*tensor.Tensor, error) { return cos.run(out, nil, self) }

// Tan computes tangents.
func Tan(out, self *tensor.Tensor) (*tensor.Tensor, error) { return tan.run(out, nil, self) }

// Asin computes arcsines.
func Asin(out, self *tensor.Tensor) (*tensor.Tensor, error) { return asin.run(out, nil, self) }

// Acos computes arccosines.
func Acos(out, self *tensor.Tensor) (*tensor.Tensor, error) { return acos.run(out, nil, self) }

// Atan computes arctangents.
func Atan(out, self *tensor.Tensor) (*tensor.Tensor, error) { return atan.run(out, nil, self) }

// Sinh computes hyperbolic sines.
func Sinh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return sinh.run(out, nil, self) }

// Cosh computes hyperbolic cosines.
func Cosh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return cosh.run(out, nil, self) }

// Tanh computes hyperbolic tangents.
func Tanh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return tanh.run(out, nil, self) }

// Asinh computes inverse hyperbolic sines.
func Asinh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return asinh.run(out, nil, self) }

// Acosh computes inverse hyperbolic cosines.
func Acosh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return acosh.run(out, nil, self) }

// Atanh computes inverse hyperbolic tangents.
func Atanh(out, self *tensor.Tensor) (*tensor.Tensor, error) { return atanh.run(out, nil, self) }

// Sigmoid computes 1 / (1 + exp(-self)).
func Sigmoid(out, self *tensor.Tensor) (*tensor.Tensor, error) { return sigmoid.run(out, nil, self) }

// Atan2 is the angle of the points (other, self).
func Atan2(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return atan2.run(out, nil, self, other)
}

// Hypot computes sqrt(self² + other²).
func Hypot(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return hypot.run(out, nil, self, other)
}
