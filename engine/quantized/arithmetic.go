package quantized

import (
	"math"
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Arithmetic whose result has the quantizer that the caller passes.

// checkPerTensor ends the function with an error unless t is quantized per tensor.
func checkPerTensor(b *build.Builder, name string, t *tensor.Tensor) {
	switch {
	case !isQuantized(t):
		b.Failf("%s must be a quantized tensor, but got %v", name, t.DType())
	case t.Quantizer().PerChannel():
		b.Failf("%s must be quantized per tensor, but it is quantized per channel; call dequantize() first", name)
	}
}

// checkOperands ends the function with an error unless both operands are quantized per tensor, with the same dtype.
func checkOperands(b *build.Builder, qa, qb *tensor.Tensor) {
	checkPerTensor(b, "qa", qa)
	checkPerTensor(b, "qb", qb)
	if qa.DType() != qb.DType() {
		b.Failf("qa and qb must have the same dtype, but got %v and %v", qa.DType(), qb.DType())
	}
	checkSameDevice(b, qa, qb)
}

// runBinary runs a kernel on two operands, with the factor of their sums or products. With relu, negative values become 0.
func runBinary(b *build.Builder, k kernelapi.Kernel, qa, qb *tensor.Tensor, q *tensor.Quantizer, factor float32,
	relu bool) (*tensor.Tensor, error) {
	checkOperands(b, qa, qb)
	sizes, err := shape.Broadcast(b.Op, qa.Sizes(), qb.Sizes())
	b.Check(err)
	a, other, d := intsOf(b, qa), intsOf(b, qb), qa.DType()
	var to *tensor.Tensor
	if slices.Equal(sizes, a.Sizes()) {
		to = b.EmptyLikeWith(a, dtype.None, tensor.NoLayout, device.None, shape.Preserve)
	} else {
		to = b.Track(tensor.Empty(b.Op, sizes, d.Stored(), a.Device()))
	}
	result := asQuantized(b, to, d, q) // rejected before there is work
	low, high := d.StoredRange()
	if relu {
		low = q.Zeros[0]
	}
	pair := kernelapi.QuantizedPair{
		AScale: float32(qa.Quantizer().Scales[0]), BScale: float32(qb.Quantizer().Scales[0]), Factor: factor,
		AZero: int32(qa.Quantizer().Zeros[0]), BZero: int32(qb.Quantizer().Zeros[0]), Zero: int32(q.Zeros[0]), Low: int32(low), High: int32(high),
	}
	var params backend.Params
	*(*kernelapi.QuantizedPair)(unsafe.Pointer(&params)) = pair
	runKernel(b, k, d.Stored(), &params, to, a, other)
	return b.Return(result)
}

// addQuantized implements quantized.add and quantized.add_relu.
func addQuantized(c dispatch.Context, op string, qa, qb *tensor.Tensor, scale float64, zero int64,
	relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	return runBinary(b, kernelapi.QuantizedAdd, qa, qb, tensor.PerTensor(scale, zero), 1/float32(scale), relu)
}

// applyRelu returns relu(t) if wanted is set, and t otherwise.
func applyRelu(b *build.Builder, t *tensor.Tensor, wanted bool) *tensor.Tensor {
	if !wanted {
		return t
	}
	return b.Relu(t)
}

// QuantizedAdd returns the sum of two tensors.
func QuantizedAdd(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return addQuantized(c, "quantized.add", qa, qb, scale, zero, false)
}

// QuantizedAddRelu returns relu of the sum of two tensors.
func QuantizedAddRelu(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return addQuantized(c, "quantized.add_relu", qa, qb, scale, zero, true)
}

// QuantizedMul returns the product of two tensors.
func QuantizedMul(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return mulQuantized(c, "quantized.mul", qa, qb, scale, zero, false)
}

// QuantizedMulRelu returns relu of the product of two tensors.
func QuantizedMulRelu(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (*tensor.Tensor, error) {
	return mulQuantized(c, "quantized.mul_relu", qa, qb, scale, zero, true)
}

// mulQuantized implements quantized.mul and quantized.mul_relu: it multiplies the integers minus their zero points, which is exact for 8
// bits.
func mulQuantized(c dispatch.Context, op string, qa, qb *tensor.Tensor, scale float64, zero int64,
	relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkOperands(b, qa, qb)
	factor := float32(qa.Quantizer().Scales[0]) * float32(qb.Quantizer().Scales[0]) * (1 / float32(scale))
	return runBinary(b, kernelapi.QuantizedMul, qa, qb, tensor.PerTensor(scale, zero), factor, relu)
}

// QuantizedAddScalar returns a tensor plus a scalar, with a quantizer that represents all values of the result.
func QuantizedAddScalar(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return addScalar(c, "quantized.add_scalar", qa, b, false)
}

// QuantizedAddScalarRelu returns relu of QuantizedAddScalar.
func QuantizedAddScalarRelu(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return addScalar(c, "quantized.add_scalar_relu", qa, b, true)
}

// addScalar subtracts the quantized scalar from the zero point, and increases the scale if the zero point would be out of range.
func addScalar(c dispatch.Context, op string, qa *tensor.Tensor, value dtype.Scalar, relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkPerTensor(b, "qa", qa)
	x := readFinite(b, value)
	q := qa.Quantizer()
	lo, hi := qa.DType().StoredRange()
	scale, zero := q.Scales[0], float64(q.Zeros[0])-math.RoundToEven(x/q.Scales[0])
	if at := min(max(zero, float64(lo)), float64(hi)); at == zero {
		return b.Return(applyRelu(b, copyInts(b, qa, tensor.PerTensor(scale, int64(zero))), relu))
	} else if at > zero {
		scale, zero = (float64(hi)-zero)/float64(hi-lo)*scale, at
	} else {
		scale, zero = (zero-float64(lo))/float64(hi-lo)*scale, at
	}
	r := b.Add(asDequantized(b, qa), b.Number(dtype.FloatScalar(math.RoundToEven(x/q.Scales[0])*q.Scales[0])))
	return b.Return(applyRelu(b, quantizeTo(b, r, qa.DType(), tensor.PerTensor(scale, int64(zero))), relu))
}

// readFinite returns a scalar as a float64; it must be real and finite.
func readFinite(b *build.Builder, value dtype.Scalar) float64 {
	x := value.Float()
	if value.Kind == dtype.KindComplex || math.IsNaN(x) || math.IsInf(x, 0) {
		b.Failf("b must be a finite real number, but got %v", value)
	}
	return x
}

// copyInts returns a copy of the integers of t with another quantizer.
func copyInts(b *build.Builder, t *tensor.Tensor, q *tensor.Quantizer) *tensor.Tensor {
	ints := intsOf(b, t)
	result := b.CloneWith(ints, shape.Preserve)
	return asQuantized(b, result, t.DType(), q)
}

// QuantizedMulScalar returns a tensor times a scalar: the same integers with another scale, mirrored within their range for a negative
// scalar.
func QuantizedMulScalar(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return mulScalar(c, "quantized.mul_scalar", qa, b, false)
}

// QuantizedMulScalarRelu returns relu of QuantizedMulScalar.
func QuantizedMulScalarRelu(c dispatch.Context, qa *tensor.Tensor, b dtype.Scalar) (*tensor.Tensor, error) {
	return mulScalar(c, "quantized.mul_scalar_relu", qa, b, true)
}

// mulScalar implements quantized.mul_scalar and quantized.mul_scalar_relu.
func mulScalar(c dispatch.Context, op string, qa *tensor.Tensor, value dtype.Scalar, relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkPerTensor(b, "qa", qa)
	x := readFinite(b, value)
	q := qa.Quantizer()
	lo, hi := qa.DType().StoredRange()
	switch {
	case x > 0:
		return b.Return(applyRelu(b, copyInts(b, qa, tensor.PerTensor(q.Scales[0]*x, q.Zeros[0])), relu))
	case x == 0:
		result := copyInts(b, qa, tensor.PerTensor(1, 0))
		b.Zero(result)
		return b.Return(result)
	}
	ints := intsOf(b, qa)
	inverted := b.BitwiseNot(ints)
	// ~x is hi + lo - x for integers with a sign, and for others too.
	result := asQuantized(b, inverted, qa.DType(), tensor.PerTensor(-x*q.Scales[0], hi+lo-q.Zeros[0]))
	return b.Return(applyRelu(b, result, relu))
}

// QuantizedRelu6 returns the elements clamped to [0, 6].
func QuantizedRelu6(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantized.relu6")
	defer b.Close(&err)
	checkPerTensor(b, "self", self)
	return b.Return(b.Clamp(self, dtype.IntScalar(0), dtype.IntScalar(6)))
}

// QuantizedCat concatenates tensors and requantizes them: by default like the first of them, otherwise with scale and zero.
func QuantizedCat(c dispatch.Context, tensors []*tensor.Tensor, dim int64, scale *float64, zero ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantized.cat")
	defer b.Close(&err)
	if len(tensors) == 0 {
		b.Failf("expected a list of at least one tensor")
	}
	requantized := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		checkPerTensor(b, "every tensor", t)
		q := *tensor.PerTensor(tensors[0].Quantizer().Scales[0], tensors[0].Quantizer().Zeros[0])
		if scale != nil {
			q.Scales[0] = *scale
		}
		if zero != ops.NoInt {
			q.Zeros[0] = int64(zero)
		}
		requantized[i] = requantize(b, t, tensors[0].DType(), &q)
	}
	return b.Return(b.Cat(requantized, dim))
}
