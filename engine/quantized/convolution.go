package quantized

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// QuantizedConv2d returns the convolution of quantized tensors, plus bias.
func QuantizedConv2d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64, groups int64, scale float64,
	zero int64) (*tensor.Tensor, error) {
	return convolve2d(c, "quantized.conv2d", self, weight, bias, stride, padding, dilation, groups, tensor.PerTensor(scale, zero), false)
}

// QuantizedConv2dRelu returns relu of QuantizedConv2d.
func QuantizedConv2dRelu(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64, groups int64,
	scale float64, zero int64) (*tensor.Tensor, error) {
	return convolve2d(c, "quantized.conv2d_relu", self, weight, bias, stride, padding, dilation, groups, tensor.PerTensor(scale, zero), true)
}

// convolve2d implements quantized.conv2d and quantized.conv2d_relu.
func convolve2d(c dispatch.Context, op string, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64, groups int64,
	q *tensor.Quantizer, relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkPerTensor(b, "self", self)
	switch {
	case self.DType() == dtype.QInt32:
		b.Failf("self must be quint8 or qint8, but got %v", self.DType())
	case !isQuantized(weight) || weight.DType() != dtype.QInt8:
		b.Failf("weight must be a quantized tensor of qint8, but got %v", weight.DType())
	case weight.Quantizer().Axis > 0:
		b.Failf("the channels of weight must be along dimension 0, but are along %d", weight.Quantizer().Axis)
	case weight.Dim() != 4:
		b.Failf("weight must have four dimensions, but got sizes %v", weight.Sizes())
	case bias != nil && (isQuantized(bias) || bias.DType() != dtype.Float32):
		b.Failf("bias must be of float32, but got %v", bias.DType())
	}
	checkSameDevice(b, self, weight, bias)
	x, w := asDequantized(b, self), asDequantized(b, weight)
	y := b.Conv2d(x, w, bias, stride, padding, dilation, groups)
	if relu {
		y = b.Relu(y)
	}
	return b.Return(quantizeTo(b, y, self.DType(), q))
}
