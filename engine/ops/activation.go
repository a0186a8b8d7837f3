package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// floatParams returns parameters of a kernel that begin with the given floats.
func floatParams(values ...float64) params {
	return func(d dtype.DType, p *backend.Params) {
		for i, v := range values {
			p.Set(i, d, dtype.FloatScalar(v))
		}
	}
}

// storedParams returns parameters of a kernel that begin with a number as an element of t represents it.
func storedParams(value float64, t *tensor.Tensor) params {
	return scalarParams(tensor.Rounded(t.DType(), dtype.FloatScalar(value)))
}

// NnLeakyRelu multiplies negative elements by a number.
func NnLeakyRelu(out, self *tensor.Tensor, slope float64) (*tensor.Tensor, error) {
	return nnLeakyRelu.runKernel(out, floatParams(slope), self)
}

var openGradient = newPointwise("nn_piecewise_gradient", kernelapi.OpenGradient, promote)

// NnPiecewiseGradient multiplies a gradient by inside where self is within [low, high], and by outside elsewhere.
func NnPiecewiseGradient(given, self *tensor.Tensor, low, high, inside, outside float64, closed bool) (*tensor.Tensor, error) {
	row := openGradient
	if closed {
		row = nnPiecewiseGradient
	}
	return row.runKernel(nil, floatParams(low, high, inside, outside), given, self)
}

// NnHardtanh limits elements to [low, high]; integers to the integers there.
func NnHardtanh(out, self *tensor.Tensor, low, high dtype.Scalar) (*tensor.Tensor, error) {
	if low.Float() > high.Float() {
		return nil, status.Valuef("nn_hardtanh: min_val must not be greater than max_val, but is %v, and max_val is %v", low, high)
	}
	return nnHardtanh.runLimits(out, self, low, high)
}

// NnRelu6 limits elements to [0, 6].
func NnRelu6(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return nnRelu6.runLimits(out, self, dtype.IntScalar(0), dtype.IntScalar(6))
}

// runLimits runs a kernel with two limits, which are clamped to the range of an integer dtype.
func (p *pointwise) runLimits(out, self *tensor.Tensor, low, high dtype.Scalar) (*tensor.Tensor, error) {
	d := self.DType()
	if !d.IsIntegral() {
		return p.runKernel(out, scalarParams(low, high), self)
	}
	least, most := d.IntegerRange()
	limits := [2]dtype.Scalar{low, high}
	for i, v := range limits {
		f := math.Trunc(v.Float())
		switch {
		case f < float64(least):
			limits[i] = dtype.IntScalar(least)
		case f > float64(most):
			limits[i] = dtype.UintScalar(most)
		case v.Kind == dtype.KindFloat:
			limits[i] = dtype.IntScalar(int64(f))
		}
	}
	return p.runKernel(out, scalarParams(limits[:]...), self)
}

// scalarParams returns parameters of a kernel that begin with the given scalars.
func scalarParams(values ...dtype.Scalar) params {
	return func(d dtype.DType, p *backend.Params) {
		for i, v := range values {
			p.Set(i, d, v)
		}
	}
}

// Threshold replaces elements up to a number by another one.
func Threshold(out, self *tensor.Tensor, limit, value dtype.Scalar) (*tensor.Tensor, error) {
	for _, v := range []dtype.Scalar{limit, value} {
		if err := checkConvertedFits("threshold", v, self.DType()); err != nil {
			return nil, err
		}
	}
	return threshold.runKernel(out, scalarParams(limit, value), self)
}

// Hardshrink replaces elements from -lambd to lambd by 0.
func Hardshrink(out, self *tensor.Tensor, lambd float64) (*tensor.Tensor, error) {
	return hardshrink.runKernel(out, storedParams(lambd, self), self)
}

// NnSoftshrink moves elements towards 0.
func NnSoftshrink(out, self *tensor.Tensor, lambd float64) (*tensor.Tensor, error) {
	if !(lambd >= 0) {
		return nil, status.Runtimef("nn_softshrink: lambda must be greater or equal to 0, but found to be %v", lambd)
	}
	return nnSoftshrink.runKernel(out, storedParams(lambd, self), self)
}

// NnElu returns alpha (e^x - 1) below 0.
func NnElu(out, self *tensor.Tensor, alpha float64) (*tensor.Tensor, error) {
	return nnElu.runKernel(out, floatParams(1, alpha, 1), self)
}

// Celu returns alpha (e^(x / alpha) - 1) below 0.
func Celu(out, self *tensor.Tensor, alpha float64) (*tensor.Tensor, error) {
	if alpha == 0 {
		return nil, status.Runtimef("celu: alpha must not be 0")
	}
	return celu.runKernel(out, floatParams(1, alpha, alpha), self)
}

// Selu returns the function of networks that normalize themselves.
func Selu(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	const scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
	return selu.runKernel(out, floatParams(scale, scale*alpha, 1), self)
}

// NnEluGradient multiplies a gradient by the derivative of elu, celu or selu.
func NnEluGradient(given, self *tensor.Tensor, positive, negative, divisor float64) (*tensor.Tensor, error) {
	return nnEluGradient.runKernel(nil, floatParams(positive, negative, divisor), given, self)
}

// NnSoftplus returns log(1 + e^(beta x)) / beta.
func NnSoftplus(out, self *tensor.Tensor, beta, threshold float64) (*tensor.Tensor, error) {
	return nnSoftplus.runKernel(out, floatParams(beta, threshold), self)
}

// NnLogsigmoid is softplus of a beta of -1.
func NnLogsigmoid(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return nnLogsigmoid.runKernel(out, floatParams(-1, math.Inf(1)), self)
}

// NnSoftplusGradient multiplies a gradient by the derivative of softplus.
func NnSoftplusGradient(given, self *tensor.Tensor, beta, threshold float64) (*tensor.Tensor, error) {
	return nnSoftplusGradient.runKernel(nil, floatParams(beta, threshold), given, self)
}

// The other form of gelu.
var (
	geluTanh         = &pointwise{name: "nn_gelu", kernel: kernelapi.GeluTanh, rule: promote}
	geluTanhGradient = &pointwise{name: "nn_gelu_gradient", kernel: kernelapi.GeluTanhGradient, rule: promote}
)

// NnGelu returns x times the distribution function of the normal distribution, or an approximation of that.
func NnGelu(out, self *tensor.Tensor, approximate string) (*tensor.Tensor, error) {
	switch approximate {
	case "none":
		return nnGelu.runKernel(out, nil, self)
	case "tanh":
		return geluTanh.runKernel(out, nil, self)
	}
	return nil, status.Runtimef("nn_gelu: approximate must be none or tanh, but is %s", approximate)
}

// NnGeluGradient multiplies a gradient by the derivative of gelu.
func NnGeluGradient(given, self *tensor.Tensor, approximate string) (*tensor.Tensor, error) {
	if approximate == "tanh" {
		return geluTanhGradient.runKernel(nil, nil, given, self)
	}
	return nnGeluGradient.runKernel(nil, nil, given, self)
}

// NnHuberEach returns half the square of small differences, and delta times the size of large ones, less half of delta.
func NnHuberEach(self, target *tensor.Tensor, delta, scale float64) (*tensor.Tensor, error) {
	return nnHuberEach.runKernel(nil, floatParams(delta, scale), self, target)
}
