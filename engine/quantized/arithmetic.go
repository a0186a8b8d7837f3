package quantized

import (
	"math"
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Arithmetic with a result that is quantized by the caller's parameters.

// wants returns an error for operands that are not quantized, or per channel.
func (s *scope) wants(name string, t *tensor.Tensor) {
	switch {
	case !isQuantized(t):
		s.Failf("%s must be a quantized tensor, but got %v", name, t.DType())
	case t.Quantizer().PerChannel():
		s.Failf("%s must be quantized per tensor, but it is quantized per channel; call dequantize() first", name)
	}
}

// both are two operands of the same dtype.
func (s *scope) both(qa, qb *tensor.Tensor) {
	s.wants("qa", qa)
	s.wants("qb", qb)
	if qa.DType() != qb.DType() {
		s.Failf("qa and qb must have the same dtype, but got %v and %v", qa.DType(), qb.DType())
	}
	s.together(qa, qb)
}

var sumKernel, productKernel = kernel.Get("quantized_add"), kernel.Get("quantized_mul")

// merged returns the result of a kernel on two operands, with the factor of their sums or products. With relu, negative values become 0.
func (s *scope) merged(k *kernel.Kernel, qa, qb *tensor.Tensor, q *tensor.Quantizer, factor float32, relu bool) (*tensor.Tensor, error) {
	s.both(qa, qb)
	sizes, err := shape.Broadcast(s.Op, qa.Sizes(), qb.Sizes())
	s.Check(err)
	a, b, d := s.ints(qa), s.ints(qb), qa.DType()
	var to *tensor.Tensor
	if slices.Equal(sizes, a.Sizes()) {
		to = s.EmptyLikeWith(a, dtype.None, tensor.NoLayout, device.None, shape.Preserve)
	} else {
		to = s.Track(tensor.Empty(s.Op, sizes, d.Stored(), a.Device()))
	}
	made := s.as(to, d, q) // rejected before there is work
	low, high := d.StoredRange()
	if relu {
		low = q.Zeros[0]
	}
	pair := kernel.QuantizedPair{
		AScale: float32(qa.Quantizer().Scales[0]), BScale: float32(qb.Quantizer().Scales[0]), Factor: factor,
		AZero: int32(qa.Quantizer().Zeros[0]), BZero: int32(qb.Quantizer().Zeros[0]), Zero: int32(q.Zeros[0]), Low: int32(low), High: int32(high),
	}
	var params backend.Params
	*(*kernel.QuantizedPair)(unsafe.Pointer(&params)) = pair
	s.run(k, d.Stored(), &params, to, a, b)
	return s.Return(made)
}

// add adds the numbers.
func add(c dispatch.Context, op string, qa, qb *tensor.Tensor, scale float64, zero int64, relu bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	return s.merged(sumKernel, qa, qb, tensor.PerTensor(scale, zero), 1/float32(scale), relu)
}

// positive returns relu(t) if wanted is set, and t otherwise.
func (s *scope) positive(t *tensor.Tensor, wanted bool) *tensor.Tensor {
	if !wanted {
		return t
	}
	return s.Relu(t)
}

// QuantizedAdd returns the sum of two tensors.
func QuantizedAdd(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return add(c, "quantized.add", qa, qb, scale, zero, false)
}

// QuantizedAddRelu returns relu of the sum of two tensors.
func QuantizedAddRelu(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return add(c, "quantized.add_relu", qa, qb, scale, zero, true)
}

// QuantizedMul returns the product of two tensors.
func QuantizedMul(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return multiply(c, "quantized.mul", qa, qb, scale, zero, false)
}

// QuantizedMulRelu returns relu of the product of two tensors.
func QuantizedMulRelu(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return multiply(c, "quantized.mul_relu", qa, qb, scale, zero, true)
}

// multiply multiplies the integers minus their zero points, which is exact for 8 bits.
func multiply(c dispatch.Context, op string, qa, qb *tensor.Tensor, scale float64, zero int64, relu bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.both(qa, qb)
	factor := float32(qa.Quantizer().Scales[0]) * float32(qb.Quantizer().Scales[0]) * (1 / float32(scale))
	return s.merged(productKernel, qa, qb, tensor.PerTensor(scale, zero), factor, relu)
}

// QuantizedAddScalar returns a tensor plus a number, whose quantizer holds all that the tensor's did.
func QuantizedAddScalar(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return shifted(c, "quantized.add_scalar", qa, b, false)
}

// QuantizedAddScalarRelu returns relu of QuantizedAddScalar.
func QuantizedAddScalarRelu(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return shifted(c, "quantized.add_scalar_relu", qa, b, true)
}

// shifted moves the zero point by the number's integer, and where the range of the integers ends before that it makes the scale wider.
func shifted(c dispatch.Context, op string, qa *tensor.Tensor, b dtype.Scalar, relu bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.wants("qa", qa)
	x, ok := s.finite(b)
	if !ok {
		return nil, nil
	}
	q := qa.Quantizer()
	lo, hi := qa.DType().StoredRange()
	scale, zero := q.Scales[0], float64(q.Zeros[0])-math.RoundToEven(x/q.Scales[0])
	if at := min(max(zero, float64(lo)), float64(hi)); at == zero {
		return s.Return(s.positive(s.copied(qa, tensor.PerTensor(scale, int64(zero))), relu))
	} else if at > zero {
		scale, zero = (float64(hi)-zero)/float64(hi-lo)*scale, at
	} else {
		scale, zero = (zero-float64(lo))/float64(hi-lo)*scale, at
	}
	r := s.Add(s.dense(qa), s.Number(dtype.FloatScalar(math.RoundToEven(x/q.Scales[0])*q.Scales[0])))
	return s.Return(s.positive(s.quantized(r, qa.DType(), tensor.PerTensor(scale, int64(zero))), relu))
}

// finite returns a number that is real and finite.
func (s *scope) finite(b dtype.Scalar) (float64, bool) {
	x := b.Float()
	if b.Kind == dtype.KindComplex || math.IsNaN(x) || math.IsInf(x, 0) {
		s.Failf("b must be a finite real number, but got %v", b)
	}
	return x, true
}

// copied returns a copy of the integers of t with another quantizer.
func (s *scope) copied(t *tensor.Tensor, q *tensor.Quantizer) *tensor.Tensor {
	ints := s.ints(t)
	made := s.CloneWith(ints, shape.Preserve)
	return s.as(made, t.DType(), q)
}

// QuantizedMulScalar returns a tensor times a number, whose integers are those of the tensor, from the other end for a negative one.
func QuantizedMulScalar(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return stretched(c, "quantized.mul_scalar", qa, b, false)
}

// QuantizedMulScalarRelu returns relu of QuantizedMulScalar.
func QuantizedMulScalarRelu(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return stretched(c, "quantized.mul_scalar_relu", qa, b, true)
}

func stretched(c dispatch.Context, op string, qa *tensor.Tensor, b dtype.Scalar, relu bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.wants("qa", qa)
	x, ok := s.finite(b)
	if !ok {
		return nil, nil
	}
	q := qa.Quantizer()
	lo, hi := qa.DType().StoredRange()
	switch {
	case x > 0:
		return s.Return(s.positive(s.copied(qa, tensor.PerTensor(q.Scales[0]*x, q.Zeros[0])), relu))
	case x == 0:
		made := s.copied(qa, tensor.PerTensor(1, 0))
		s.Zero(made)
		return s.Return(made)
	}
	ints := s.ints(qa)
	turned := s.BitwiseNot(ints)
	// ~x is hi + lo - x for integers with a sign, and for others too.
	made := s.as(turned, qa.DType(), tensor.PerTensor(-x*q.Scales[0], hi+lo-q.Zeros[0]))
	return s.Return(s.positive(made, relu))
}

// QuantizedRelu6 returns the numbers held to [0, 6].
func QuantizedRelu6(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "quantized.relu6")
	defer s.Close(&err)
	s.wants("self", self)
	return s.Return(s.Clamp(self, dtype.IntScalar(0), dtype.IntScalar(6)))
}

// QuantizedCat concatenates tensors and requantizes them: by default like the first of them, otherwise with scale and zero.
func QuantizedCat(c dispatch.Context, tensors []*tensor.Tensor, dim int64, scale *float64, zero ops.Int) (_ *tensor.Tensor, err error) {
	s := newScope(c, "quantized.cat")
	defer s.Close(&err)
	if len(tensors) == 0 {
		s.Failf("expected a list of at least one tensor")
	}
	alike := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		s.wants("every tensor", t)
		q := *tensor.PerTensor(tensors[0].Quantizer().Scales[0], tensors[0].Quantizer().Zeros[0])
		if scale != nil {
			q.Scales[0] = *scale
		}
		if zero != ops.NoInt {
			q.Zeros[0] = int64(zero)
		}
		alike[i] = s.requantized(t, tensors[0].DType(), &q)
	}
	return s.Return(s.Cat(alike, dim))
}
