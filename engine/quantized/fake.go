package quantized

import (
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Fake quantization, in floats, for quantization-aware training.

// FakeQuantizePerTensorAffineCachemask rounds elements to the values that integers from lo to hi represent, and returns the mask of those
// in range.
func FakeQuantizePerTensorAffineCachemask(c dispatch.Context, self *tensor.Tensor, scale float64, zero, lo,
	hi int64) (output, mask *tensor.Tensor, err error) {
	b := build.New(c, "fake_quantize_per_tensor_affine")
	defer b.Close(&err)
	return fakeQuantize(b, self, tensor.PerTensor(scale, zero), lo, hi)
}

// FakeQuantizePerChannelAffineCachemask is FakeQuantizePerTensorAffineCachemask with a scale and a zero point for each index along an axis.
func FakeQuantizePerChannelAffineCachemask(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo,
	hi int64) (output, mask *tensor.Tensor, err error) {
	b := build.New(c, "fake_quantize_per_channel_affine")
	defer b.Close(&err)
	q := makeChannelQuantizer(b, self, scale, zero, axis)
	checkChannelCount(b, self, q)
	return fakeQuantize(b, self, q, lo, hi)
}

// checkChannelCount ends the function with an error unless q has a scale and a zero point for each channel of x.
func checkChannelCount(b *build.Builder, x *tensor.Tensor, q *tensor.Quantizer) {
	if n := int64(len(q.Scales)); n != x.Sizes()[q.Axis] || len(q.Zeros) != len(q.Scales) {
		b.Failf("expected one scale and one zero point for each of the %d channels along axis %d, but got %d and %d", x.Sizes()[q.Axis], q.Axis,
			n, len(q.Zeros))
	}
}

// fakeQuantize rounds x to the values that integers from lo to hi represent, and returns the mask of elements in range.
func fakeQuantize(b *build.Builder, x *tensor.Tensor, q *tensor.Quantizer, lo, hi int64) (output, mask *tensor.Tensor, err error) {
	b.CheckStrided(x)
	if !x.DType().IsFloatingPoint() {
		b.Failf("expected floats, but got %v", x.DType())
	}
	if lo > hi {
		b.Failf("quant_min must not be more than quant_max, but got %d and %d", lo, hi)
	}
	for i := range q.Scales {
		scale := float64(float32(q.Scales[i]))
		switch {
		case !(scale > 0) || math.IsInf(scale, 0):
			b.Failf("a scale must be positive and finite, but got %v", q.Scales[i])
		case q.Zeros[i] < lo || q.Zeros[i] > hi:
			b.Failf("a zero point must be between quant_min and quant_max, %d and %d, but got %d", lo, hi, q.Zeros[i])
		}
	}
	d := x.DType()
	wide := b.CastTo(x, d.Compute())
	each := func(value func(i int) float64) *tensor.Tensor {
		return makeTensor(b, broadcastSizes(q, x.Dim()), dtype.Float32, x.Device(), func(i int) dtype.Scalar {
			return dtype.FloatScalar(value(i))
		})
	}
	scales := each(func(i int) float64 { return q.Scales[i] })
	inverse := each(func(i int) float64 { return float64(1 / float32(q.Scales[i])) })
	least := each(func(i int) float64 { return float64(lo - q.Zeros[i]) })
	most := each(func(i int) float64 { return float64(hi - q.Zeros[i]) })
	scaled := b.Mul(wide, inverse)
	whole := b.Round(scaled)
	held := b.ClampTensor(whole, least, most)
	output = b.CastTo(b.Mul(held, scales), d)
	mask = b.LogicalAnd(b.Ge(whole, least), b.Le(whole, most))
	return b.ReturnBoth(output, mask)
}

// FakeQuantizePerTensorAffine is FakeQuantizePerTensorAffineCachemask without the mask.
func FakeQuantizePerTensorAffine(c dispatch.Context, self *tensor.Tensor, scale float64, zero, lo, hi int64) (*tensor.Tensor, error) {
	output, mask, err := c.FakeQuantizePerTensorAffineCachemask(self, scale, zero, lo, hi)
	return returnFirst(c, "fake_quantize_per_tensor_affine", output, mask, err)
}

// FakeQuantizePerTensorAffineTensorQparams is FakeQuantizePerTensorAffine with a scale and a zero point in tensors.
func FakeQuantizePerTensorAffineTensorQparams(c dispatch.Context, self, scale, zero *tensor.Tensor, lo,
	hi int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "fake_quantize_per_tensor_affine")
	defer b.Close(&err)
	scales, zeros := readFloats(b, "scale", scale), readInts(b, "zero_point", zero)
	if len(scales) != 1 || len(zeros) != 1 {
		b.Failf("scale and zero_point must have one element, but got %d and %d", len(scales), len(zeros))
	}
	return c.FakeQuantizePerTensorAffine(self, scales[0], zeros[0], lo, hi)
}

// FakeQuantizePerChannelAffine is FakeQuantizePerChannelAffineCachemask without the mask.
func FakeQuantizePerChannelAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo, hi int64) (*tensor.Tensor, error) {
	output, mask, err := c.FakeQuantizePerChannelAffineCachemask(self, scale, zero, axis, lo, hi)
	return returnFirst(c, "fake_quantize_per_channel_affine", output, mask, err)
}

// returnFirst returns the first of two results and releases the second.
func returnFirst(c dispatch.Context, op string, first, second *tensor.Tensor, failed error) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	b.Track(second, nil)
	b.Track(first, failed)
	return b.Return(first)
}

// FakeQuantizeLearnablePerTensorAffine is FakeQuantizePerTensorAffine with gradients of the scale and the zero point.
func FakeQuantizeLearnablePerTensorAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, lo, hi int64,
	factor float64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "fake_quantize_learnable_per_tensor_affine")
	defer b.Close(&err)
	q := &tensor.Quantizer{Scales: readFloats(b, "scale", scale), Zeros: roundZeroPoints(b, zero, lo, hi), Axis: -1}
	if len(q.Scales) != 1 || len(q.Zeros) != 1 {
		b.Failf("scale and zero_point must have one element, but got %d and %d", len(q.Scales), len(q.Zeros))
	}
	return fakeQuantizeLearnable(b, self, scale, zero, q, lo, hi, factor)
}

// FakeQuantizeLearnablePerChannelAffine is FakeQuantizeLearnablePerTensorAffine with a scale and a zero point for each index along an axis.
func FakeQuantizeLearnablePerChannelAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo, hi int64,
	factor float64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "fake_quantize_learnable_per_channel_affine")
	defer b.Close(&err)
	at := checkChannelAxis(b, self, axis, scale, zero)
	q := &tensor.Quantizer{Scales: readFloats(b, "scale", scale), Zeros: roundZeroPoints(b, zero, lo, hi), Axis: at}
	checkChannelCount(b, self, q)
	return fakeQuantizeLearnable(b, self, scale, zero, q, lo, hi, factor)
}

// roundZeroPoints returns learned zero points, rounded and clamped to the range.
func roundZeroPoints(b *build.Builder, zero *tensor.Tensor, lo, hi int64) []int64 {
	return readElements(b, zero, dtype.Float64, func(v dtype.Scalar) int64 {
		return int64(min(max(math.RoundToEven(v.Float()), float64(lo)), float64(hi)))
	})
}

// fakeQuantizeLearnable returns the result of fakeQuantize plus terms that are 0 and whose gradients are those of x, scale and zero point.
func fakeQuantizeLearnable(b *build.Builder, x, scale, zero *tensor.Tensor, q *tensor.Quantizer, lo, hi int64,
	factor float64) (*tensor.Tensor, error) {
	d := x.DType()
	expand := func(t *tensor.Tensor) *tensor.Tensor {
		return b.Reshape(b.CastTo(t, d), broadcastSizes(q, x.Dim())...)
	}
	fixed := b.Detach(x)
	y, inside, err := fakeQuantize(b, fixed, q, lo, hi)
	b.Track(y, err)
	b.Track(inside, nil)
	scales, zeros, none := expand(scale), expand(zero), b.CastTo(b.FloatNumber(0), d)
	units, rate := b.Detach(scales), b.FloatNumber(factor)
	levels := b.Round(b.Div(y, units))
	scaleDerivative := b.Where(inside, b.Div(b.Sub(y, fixed), units), levels)
	zeroDerivative := b.Where(inside, none, b.Neg(units))
	learned := b.Add(b.Mul(scaleDerivative, b.Sub(scales, units)), b.Mul(zeroDerivative, b.Sub(zeros, b.Detach(zeros))))
	return b.Return(b.Add(b.Add(y, b.Where(inside, b.Sub(x, fixed), none)), b.Mul(learned, rate)))
}
