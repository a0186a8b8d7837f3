package quantized

import (
	"math"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Fake quantization, in floats, for quantization-aware training.

// FakeQuantizePerTensorAffineCachemask rounds elements to the values that integers from lo to hi represent, and returns the mask of those in range.
func FakeQuantizePerTensorAffineCachemask(c dispatch.Context, self *tensor.Tensor, scale float64, zero, lo, hi int64) (output, mask *tensor.Tensor, err error) {
	s := newScope(c, "fake_quantize_per_tensor_affine")
	defer s.Close(&err)
	return s.fake(self, tensor.PerTensor(scale, zero), lo, hi)
}

// FakeQuantizePerChannelAffineCachemask returns that with a scale and a zero point for each index along an axis.
func FakeQuantizePerChannelAffineCachemask(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo, hi int64) (output, mask *tensor.Tensor, err error) {
	s := newScope(c, "fake_quantize_per_channel_affine")
	defer s.Close(&err)
	q := s.channels(self, scale, zero, axis)
	s.complete(self, q)
	return s.fake(self, q, lo, hi)
}

// complete returns an error for a quantizer that some channels of x are missing in.
func (s *scope) complete(x *tensor.Tensor, q *tensor.Quantizer) {
	if n := int64(len(q.Scales)); n != x.Sizes()[q.Axis] || len(q.Zeros) != len(q.Scales) {
		s.Failf("expected one scale and one zero point for each of the %d channels along axis %d, but got %d and %d", x.Sizes()[q.Axis], q.Axis, n, len(q.Zeros))
	}
}

func (s *scope) fake(x *tensor.Tensor, q *tensor.Quantizer, lo, hi int64) (output, mask *tensor.Tensor, err error) {
	s.CheckStrided(x)
	if !x.DType().IsFloatingPoint() {
		s.Failf("expected floats, but got %v", x.DType())
	}
	if lo > hi {
		s.Failf("quant_min must not be more than quant_max, but got %d and %d", lo, hi)
	}
	for i := range q.Scales {
		scale := float64(float32(q.Scales[i]))
		switch {
		case !(scale > 0) || math.IsInf(scale, 0):
			s.Failf("a scale must be positive and finite, but got %v", q.Scales[i])
		case q.Zeros[i] < lo || q.Zeros[i] > hi:
			s.Failf("a zero point must be between quant_min and quant_max, %d and %d, but got %d", lo, hi, q.Zeros[i])
		}
	}
	d := x.DType()
	wide := s.CastTo(x, d.Compute())
	each := func(value func(i int) float64) *tensor.Tensor {
		return s.list(broadcast(q, x.Dim()), dtype.Float32, x.Device(), func(i int) dtype.Scalar { return dtype.FloatScalar(value(i)) })
	}
	scales := each(func(i int) float64 { return q.Scales[i] })
	inverse := each(func(i int) float64 { return float64(1 / float32(q.Scales[i])) })
	least := each(func(i int) float64 { return float64(lo - q.Zeros[i]) })
	most := each(func(i int) float64 { return float64(hi - q.Zeros[i]) })
	scaled := s.Mul(wide, inverse)
	whole := s.Round(scaled)
	held := s.ClampTensor(whole, least, most)
	output = s.CastTo(s.Mul(held, scales), d)
	mask = s.LogicalAnd(s.Ge(whole, least), s.Le(whole, most))
	return s.ReturnBoth(output, mask)
}

// FakeQuantizePerTensorAffine returns the numbers alone.
func FakeQuantizePerTensorAffine(c dispatch.Context, self *tensor.Tensor, scale float64, zero, lo, hi int64) (*tensor.Tensor, error) {
	output, mask, err := c.FakeQuantizePerTensorAffineCachemask(self, scale, zero, lo, hi)
	return firstOf(c, "fake_quantize_per_tensor_affine", output, mask, err)
}

// FakeQuantizePerTensorAffineTensorQparams is FakeQuantizePerTensorAffine with a scale and a zero point in tensors.
func FakeQuantizePerTensorAffineTensorQparams(c dispatch.Context, self, scale, zero *tensor.Tensor, lo, hi int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "fake_quantize_per_tensor_affine")
	defer s.Close(&err)
	scales, zeros := s.floats("scale", scale), s.integers("zero_point", zero)
	if len(scales) != 1 || len(zeros) != 1 {
		s.Failf("scale and zero_point must have one element, but got %d and %d", len(scales), len(zeros))
	}
	return c.FakeQuantizePerTensorAffine(self, scales[0], zeros[0], lo, hi)
}

// FakeQuantizePerChannelAffine returns the numbers alone.
func FakeQuantizePerChannelAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo, hi int64) (*tensor.Tensor, error) {
	output, mask, err := c.FakeQuantizePerChannelAffineCachemask(self, scale, zero, axis, lo, hi)
	return firstOf(c, "fake_quantize_per_channel_affine", output, mask, err)
}

// firstOf returns the first of two results.
func firstOf(c dispatch.Context, op string, first, second *tensor.Tensor, failed error) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.Track(second, nil)
	s.Track(first, failed)
	return s.Return(first)
}

// FakeQuantizeLearnablePerTensorAffine is FakeQuantizePerTensorAffine with gradients of the scale and the zero point.
func FakeQuantizeLearnablePerTensorAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, lo, hi int64, factor float64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "fake_quantize_learnable_per_tensor_affine")
	defer s.Close(&err)
	q := &tensor.Quantizer{Scales: s.floats("scale", scale), Zeros: s.whole(zero, lo, hi), Axis: -1}
	if len(q.Scales) != 1 || len(q.Zeros) != 1 {
		s.Failf("scale and zero_point must have one element, but got %d and %d", len(q.Scales), len(q.Zeros))
	}
	return s.learnable(self, scale, zero, q, lo, hi, factor)
}

// FakeQuantizeLearnablePerChannelAffine returns that with a scale and a zero point for each index along an axis.
func FakeQuantizeLearnablePerChannelAffine(c dispatch.Context, self, scale, zero *tensor.Tensor, axis, lo, hi int64, factor float64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "fake_quantize_learnable_per_channel_affine")
	defer s.Close(&err)
	at := s.axis(self, axis, scale, zero)
	q := &tensor.Quantizer{Scales: s.floats("scale", scale), Zeros: s.whole(zero, lo, hi), Axis: at}
	s.complete(self, q)
	return s.learnable(self, scale, zero, q, lo, hi, factor)
}

// whole are zero points that learn, rounded and held to the range.
func (s *scope) whole(zero *tensor.Tensor, lo, hi int64) []int64 {
	return elements(s, zero, dtype.Float64, func(v dtype.Scalar) int64 {
		return int64(min(max(math.RoundToEven(v.Float()), float64(lo)), float64(hi)))
	})
}

// learnable returns the result of fake, plus zeros that gradients flow through: those of x, of the scale times its derivative, and of the zero point.
func (s *scope) learnable(x, scale, zero *tensor.Tensor, q *tensor.Quantizer, lo, hi int64, factor float64) (*tensor.Tensor, error) {
	d := x.DType()
	value := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Detach(t)
	}
	less := func(a, b *tensor.Tensor) *tensor.Tensor {
		return s.Sub(a, b)
	}
	over := func(a, b *tensor.Tensor) *tensor.Tensor {
		return s.Div(a, b)
	}
	spread := func(t *tensor.Tensor) *tensor.Tensor {
		wide := s.CastTo(t, d)
		return s.Reshape(wide, broadcast(q, x.Dim())...)
	}
	fixed := value(x)
	y, inside, err := s.fake(fixed, q, lo, hi)
	s.Track(y, err)
	s.Track(inside, nil)
	choose := func(a, b *tensor.Tensor) *tensor.Tensor {
		return s.Where(inside, a, b)
	}
	scales, zeros, none := spread(scale), spread(zero), s.CastTo(s.Number(dtype.FloatScalar(0)), d)
	units, rate := value(scales), s.Number(dtype.FloatScalar(factor))
	steps := over(y, units)
	ends := s.Round(steps)
	ofScale := choose(over(less(y, fixed), units), ends)
	ofZero := choose(none, s.Neg(units))
	learns := s.Add(s.Mul(ofScale, less(scales, units)), s.Mul(ofZero, less(zeros, value(zeros))))
	return s.Return(s.Add(s.Add(y, choose(less(x, fixed), none)), s.Mul(learns, rate)))
}
