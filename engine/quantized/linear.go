package quantized

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Products of integers, whose sums are integers of 32 bits, which are quantized once.

// QuantizedLinear returns self times the transposed weight, plus bias.
func QuantizedLinear(c dispatch.Context, self, weight, bias *tensor.Tensor, scale float64, zero int64,
	packed *tensor.Tensor) (*tensor.Tensor, error) {
	return linearLayer(c, "quantized.linear", self, weight, bias, packed, scale, zero, false)
}

// QuantizedLinearRelu returns relu of QuantizedLinear.
func QuantizedLinearRelu(c dispatch.Context, self, weight, bias *tensor.Tensor, scale float64, zero int64,
	packed *tensor.Tensor) (*tensor.Tensor, error) {
	return linearLayer(c, "quantized.linear_relu", self, weight, bias, packed, scale, zero, true)
}

// linearLayer implements quantized.linear and quantized.linear_relu.
func linearLayer(c dispatch.Context, op string, self, weight, bias, packed *tensor.Tensor, scale float64, zero int64,
	relu bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkPerTensor(b, "self", self)
	if self.DType() == dtype.QInt32 {
		b.Failf("self must be quint8 or qint8, but got %v", self.DType())
	}
	checkLayer(b, self, weight, bias, packed)
	p := product{a: intsOf(b, self), b: b.Transpose(intsOf(b, weight), 0, 1), of: self.Quantizer(), by: weight.Quantizer(), bias: bias,
		packed: packed, relu: relu}
	return b.Return(multiplyMatrix(b, p, self.DType(), tensor.PerTensor(scale, zero)))
}

// checkWeight ends the function with an error unless weight is valid for a linear layer.
func checkWeight(b *build.Builder, weight *tensor.Tensor) {
	switch {
	case !isQuantized(weight) || weight.DType() != dtype.QInt8:
		b.Failf("weight must be a quantized tensor of qint8, but got %v", weight.DType())
	case weight.Dim() != 2:
		b.Failf("weight must have two dimensions, out x in, but got sizes %v", weight.Sizes())
	case weight.Quantizer().Axis > 0:
		b.Failf("the channels of weight must be along dimension 0, but are along %d", weight.Quantizer().Axis)
	}
}

// QuantizedLinearPack returns the integers of a weight, packed for the matrix product.
func QuantizedLinearPack(c dispatch.Context, weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantized.linear_pack")
	defer b.Close(&err)
	checkWeight(b, weight)
	transposed := b.Transpose(intsOf(b, weight), 0, 1)
	return b.Return(b.Track(backend.On(transposed).PackQuantized(b.Op, transposed)))
}

// checkLayer ends the function with an error for parameters of a linear layer that do not match.
func checkLayer(b *build.Builder, self, weight, bias, packed *tensor.Tensor) {
	checkWeight(b, weight)
	checkSameDevice(b, self, weight, bias, packed)
	switch b.CheckStrided(bias, packed); {
	case self.Dim() < 1 || self.Sizes()[self.Dim()-1] != weight.Sizes()[1]:
		b.Failf("the last dimension of sizes %v must be the second size of weight, which has sizes %v", self.Sizes(), weight.Sizes())
	case bias == nil:
	case isQuantized(bias) || bias.DType() != dtype.Float32:
		b.Failf("bias must be of float32, but got %v", bias.DType())
	case bias.Dim() != 1 || bias.Numel() != weight.Sizes()[0]:
		b.Failf("bias must have one dimension of %d elements, but got sizes %v", weight.Sizes()[0], bias.Sizes())
	}
}

// QuantizedLinearDynamic quantizes the float32 tensor self and returns the layer's result in float32.
func QuantizedLinearDynamic(c dispatch.Context, self, weight, bias *tensor.Tensor, reduce bool,
	packed *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantized.linear_dynamic")
	defer b.Close(&err)
	checkLayer(b, self, weight, bias, packed)
	var q *tensor.Tensor
	if self.Numel() == 0 { // no numbers have no range, nor do they need one
		q = b.QuantizePerTensor(self, 1, 0, dtype.QUint8)
	} else {
		q = b.QuantizePerTensorDynamic(self, dtype.QUint8, reduce)
	}
	p := product{a: intsOf(b, q), b: b.Transpose(intsOf(b, weight), 0, 1), of: q.Quantizer(), by: weight.Quantizer(), bias: bias,
		packed: packed}
	return b.Return(multiplyMatrix(b, p, dtype.Float32, nil))
}

// QuantizedMatmul returns the matrix product of two tensors, with integer sums for 8-bit ones.
func QuantizedMatmul(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantized.matmul")
	defer b.Close(&err)
	checkOperands(b, qa, qb)
	if qa.DType() == dtype.QInt32 || qa.Dim() == 0 || qb.Dim() == 0 {
		r := b.Matmul(asDequantized(b, qa), asDequantized(b, qb))
		return b.Return(quantizeTo(b, r, qa.DType(), tensor.PerTensor(scale, zero)))
	}
	rows := max(qb.Dim()-2, 0)
	if last := qa.Sizes()[qa.Dim()-1]; last != qb.Sizes()[rows] {
		b.Failf("shapes %v and %v cannot be multiplied: the inner sizes %d and %d differ", qa.Sizes(), qb.Sizes(), last, qb.Sizes()[rows])
	}
	p := product{a: intsOf(b, qa), b: intsOf(b, qb), of: qa.Quantizer(), by: qb.Quantizer()}
	return b.Return(multiplyBatches(b, p, qa.DType(), tensor.PerTensor(scale, zero)))
}

// multiplyBatches returns the product of vectors, matrices or batches of matrices, as matmul does.
func multiplyBatches(b *build.Builder, p product, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	aSizes, bSizes := p.a.Sizes(), p.b.Sizes()
	if len(bSizes) == 1 {
		p.b = b.Unsqueeze(p.b, 1)
		sizes := aSizes[:len(aSizes)-1]
		result := multiplyMatrix(b, p, d, q)
		return b.Reshape(result, sizes...)
	}
	if len(bSizes) == 2 {
		return multiplyMatrix(b, p, d, q)
	}
	k, n, sizes, m := bSizes[len(bSizes)-2], bSizes[len(bSizes)-1], []int64{bSizes[len(bSizes)-1]}, int64(1)
	var outer []int64
	if len(aSizes) > 1 {
		m, outer, sizes = aSizes[len(aSizes)-2], aSizes[:len(aSizes)-2], []int64{aSizes[len(aSizes)-2], n}
	}
	batch, err := shape.Broadcast(b.Op, outer, bSizes[:len(bSizes)-2])
	b.Check(err)
	count := shape.Product(batch)
	// contiguous batches of matrices
	each := func(t *tensor.Tensor, rows, columns int64) *tensor.Tensor {
		wide := b.Expand(t, append(slices.Clone(batch), rows, columns)...)
		return b.Reshape(wide, count, rows, columns)
	}
	x, y := each(p.a, m, k), each(p.b, k, n)
	to := b.Track(tensor.Empty(b.Op, append(slices.Clone(batch), sizes...), d.Stored(), p.a.Device()))
	result := asQuantized(b, to, d, q) // rejected before there is work
	outputs := b.Reshape(to, count, m, n)
	for i := int64(0); i < count; i++ {
		one := func(t *tensor.Tensor) *tensor.Tensor {
			return b.Select(t, 0, i)
		}
		p.a, p.b = one(x), one(y)
		part, output := intsOf(b, multiplyMatrix(b, p, d, q)), one(outputs)
		b.Copy(output, part, false)
	}
	return result
}

// product describes a product of integers: a has any number of dimensions, b is a matrix.
type product struct {
	a, b   *tensor.Tensor
	of, by *tensor.Quantizer
	bias   *tensor.Tensor // numbers, or nil
	packed *tensor.Tensor // b in the order of products, or nil
	relu   bool
}

// multiplyMatrix returns the product as a quantized tensor, or in float32 without a quantizer.
func multiplyMatrix(b *build.Builder, p product, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	k, n := p.b.Sizes()[0], p.b.Sizes()[1]
	sizes := append(slices.Clone(p.a.Sizes()[:p.a.Dim()-1]), n)
	rows := int64(1)
	for _, size := range sizes[:len(sizes)-1] {
		rows *= size
	}
	to := b.Track(tensor.Empty(b.Op, sizes, d.Stored(), p.a.Device()))
	result, w := to, backend.QuantizedProduct{AZero: int32(p.of.Zeros[0])}
	over := 1.0
	if q != nil {
		result = asQuantized(b, to, d, q)
		lo, hi := d.StoredRange()
		w.Zero, w.Low, w.High, over = int32(q.Zeros[0]), int32(lo), int32(hi), q.Scales[0]
		if p.relu {
			w.Low = w.Zero
		}
	}
	units := make([]float64, len(p.by.Scales)) // of the sums
	for i := range p.by.Scales {
		units[i] = p.of.Scales[0] * p.by.Scales[i]
		w.Scales, w.BZeros = append(w.Scales, float32(units[i]/over)), append(w.BZeros, int32(p.by.Zeros[i]))
	}
	w.To, w.A, w.B, w.Packed = b.AsShape(to, rows, n), b.AsShape(p.a, rows, k), p.b, p.packed
	if p.b.DType() == dtype.Uint8 { // the product takes int8: the same integers less 128
		w.B = shiftToInt8(b, p.b)
		for i := range w.BZeros {
			w.BZeros[i] -= 128
		}
	}
	if p.bias != nil {
		size := []int64{1}
		if p.by.PerChannel() {
			size[0] = n
		}
		in := makeTensor(b, size, dtype.Float32, p.a.Device(), func(i int) dtype.Scalar { return dtype.FloatScalar(units[i]) })
		quotient := b.Div(p.bias, in)
		w.Bias = b.RowMajor(quotient, dtype.Float32)
	}
	b.Check(backend.On(to).QuantizedProduct(b.Op, w))
	return result
}

// shiftToInt8 returns uint8 integers minus 128 as int8.
func shiftToInt8(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	flipped := b.BitwiseXor(t, b.Number(dtype.IntScalar(128)))
	return b.ViewDtype(flipped, dtype.Int8)
}
