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
	truncDivide = &pointwise{name: "div", kernel: kernelapi.TruncDivide, rule: promote, unrounded: true}
	floatPower  = newPointwise("float_power", kernelapi.Pow, promote)
)

// Div divides; rounding is "" (true division), "trunc" or "floor".
func Div(out, self, other *tensor.Tensor, rounding string) (*tensor.Tensor, error) {
	switch rounding {
	case "":
		return div.runKernel(out, nil, self, other)
	case "trunc":
		if resultType(self, other).IsReducedFloat() && other.Numel() != 1 {
			return divideThenTruncate(out, self, other)
		}
		return truncDivide.checkedDivide(out, self, other)
	case "floor":
		return floorDivide.checkedDivide(out, self, other)
	}
	return nil, status.Runtimef("div: expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", rounding)
}

// divideThenTruncate rounds the quotient to 16 bits before it truncates, as PyTorch does unless there is one divisor of all.
func divideThenTruncate(out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(div.name)
	defer s.Close(&err)
	quotient := s.Track(div.runKernel(nil, nil, self, other))
	s.CheckWritten(trunc.runKernel(quotient, nil, quotient))
	if out == nil {
		return s.Return(quotient)
	}
	to := tensoriter.Output{Op: s.Op, Out: out, DType: quotient.DType()}
	err = to.Broadcast(self, other)
	if err == nil {
		err = to.CopyFrom(quotient)
	}
	return to.Done(err)
}

// TrueDivide divides without rounding.
func TrueDivide(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return div.runKernel(out, nil, self, other)
}

// FloorDivide divides and rounds towards minus infinity.
func FloorDivide(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return floorDivide.checkedDivide(out, self, other)
}

// Remainder is what floor division leaves.
func Remainder(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return remainder.checkedDivide(out, self, other)
}

// Fmod returns the remainder of division rounded towards zero.
func Fmod(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return fmod.checkedDivide(out, self, other)
}

// checkedDivide runs a kernel that cannot divide integers by zero; a zero in an integer divisor is an error.
func (p *pointwise) checkedDivide(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	if d := resultType(self, other); d.IsIntegral() && backend.Known(other) && self.Numel() > 0 {
		zero, err := findAny(p.name, kernelapi.HasZero, d, other)
		if err != nil {
			return nil, err
		}
		if zero {
			return nil, status.Runtimef("%s: ZeroDivisionError: other contains 0, and the dtype is %v; convert to a floating-point dtype to get inf",
				p.name, d)
		}
	}
	return p.runKernel(out, nil, self, other)
}

// Pow raises self to the power of exponent.
func Pow(out, self, exponent *tensor.Tensor) (*tensor.Tensor, error) {
	d := resultType(self, exponent)
	switch {
	case d == dtype.Bool && exponent.IsWrappedNumber():
		if exponent.Item().Bool() {
			return copyOf("pow", out, self)
		}
		return fillResult("pow", out, self, d, false, dtype.BoolScalar(true))
	case d.IsIntegral() && exponent.IsWrappedNumber() && exponent.Item().Float() < 0:
		return nil, status.Runtimef("pow: integers to negative integer powers are not allowed; self has dtype %v and exponent is %v", d,
			exponent.Item())
	}
	if exponent.IsWrappedNumber() && (d.IsIntegral() || d.Compute() != d) {
		if err := checkFits("pow", exponent.Item(), d); err != nil {
			return nil, err
		}
	}
	if root := rootOf(exponent, d); root != nil {
		return root.runKernel(out, nil, self)
	}
	return pow.runKernel(out, nil, self, exponent)
}

// The exponents 1/2 and -1/2 as scalars. The results for -inf and -0 are those of sqrt, as in PyTorch.
var (
	powerHalf      = &pointwise{name: "pow", kernel: kernelapi.Sqrt, rule: promoteFloat}
	powerMinusHalf = &pointwise{name: "pow", kernel: kernelapi.Rsqrt, rule: promoteFloat}
)

// rootOf returns sqrt or rsqrt if exponent is the scalar 1/2 or -1/2 in dtype d, and nil otherwise.
func rootOf(exponent *tensor.Tensor, d dtype.DType) *pointwise {
	if !exponent.IsWrappedNumber() || !d.IsFloatingPoint() || d == dtype.Float16 {
		return nil
	}
	switch exponent.Item().Float() {
	case 0.5:
		return powerHalf
	case -0.5:
		return powerMinusHalf
	}
	return nil
}

// FloatPower is Pow in float64 or complex128.
func FloatPower(out, self, exponent *tensor.Tensor) (*tensor.Tensor, error) {
	d := dtype.Float64
	if self.DType().IsComplex() || exponent.DType().IsComplex() {
		d = dtype.Complex128
	}
	if out != nil && out.DType() != d {
		return nil, status.Runtimef("float_power: the output has dtype %v, but the operation's result requires dtype %v", out.DType(), d)
	}
	return floatPower.runIn(d, out, nil, self, exponent)
}
