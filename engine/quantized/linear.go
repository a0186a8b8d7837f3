package quantized

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Products of integers, whose sums are integers of 32 bits, which are quantized once.

// QuantizedLinear returns self times the transposed weight, plus bias.
func QuantizedLinear(c dispatch.Context, self, weight, bias *tensor.Tensor, scale float64, zero int64, packed *tensor.Tensor) (*tensor.Tensor, error) {
	return linear(c, "quantized.linear", self, weight, bias, packed, scale, zero, false)
}

// QuantizedLinearRelu returns relu of QuantizedLinear.
func QuantizedLinearRelu(c dispatch.Context, self, weight, bias *tensor.Tensor, scale float64, zero int64, packed *tensor.Tensor) (*tensor.Tensor, error) {
	return linear(c, "quantized.linear_relu", self, weight, bias, packed, scale, zero, true)
}

func linear(c dispatch.Context, op string, self, weight, bias, packed *tensor.Tensor, scale float64, zero int64, relu bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.wants("self", self)
	if self.DType() == dtype.QInt32 {
		s.Failf("self must be quint8 or qint8, but got %v", self.DType())
	}
	s.checkLayer(self, weight, bias, packed)
	p := product{a: s.ints(self), b: s.transposed(s.ints(weight)), of: self.Quantizer(), by: weight.Quantizer(), bias: bias, packed: packed, relu: relu}
	return s.Return(s.multiplied(p, self.DType(), tensor.PerTensor(scale, zero)))
}

// checkWeight returns an error unless weight is valid for a linear layer.
func (s *scope) checkWeight(weight *tensor.Tensor) {
	switch {
	case !isQuantized(weight) || weight.DType() != dtype.QInt8:
		s.Failf("weight must be a quantized tensor of qint8, but got %v", weight.DType())
	case weight.Dim() != 2:
		s.Failf("weight must have two dimensions, out x in, but got sizes %v", weight.Sizes())
	case weight.Quantizer().Axis > 0:
		s.Failf("the channels of weight must be along dimension 0, but are along %d", weight.Quantizer().Axis)
	}
}

// QuantizedLinearPack returns the integers of a weight as products read them.
func QuantizedLinearPack(c dispatch.Context, weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "quantized.linear_pack")
	defer s.Close(&err)
	s.checkWeight(weight)
	b := s.transposed(s.ints(weight))
	return s.Return(s.Track(backend.On(b).PackQuantized(s.Op, b)))
}

// checkLayer holds the parameters of a linear layer to each other.
func (s *scope) checkLayer(self, weight, bias, packed *tensor.Tensor) {
	s.checkWeight(weight)
	s.together(self, weight, bias, packed)
	switch s.CheckStrided(bias, packed); {
	case self.Dim() < 1 || self.Sizes()[self.Dim()-1] != weight.Sizes()[1]:
		s.Failf("the last dimension of sizes %v must be the second size of weight, which has sizes %v", self.Sizes(), weight.Sizes())
	case bias == nil:
	case isQuantized(bias) || bias.DType() != dtype.Float32:
		s.Failf("bias must be of float32, but got %v", bias.DType())
	case bias.Dim() != 1 || bias.Numel() != weight.Sizes()[0]:
		s.Failf("bias must have one dimension of %d elements, but got sizes %v", weight.Sizes()[0], bias.Sizes())
	}
}

// QuantizedLinearDynamic is QuantizedLinear of numbers, which are quantized for it, in numbers.
func QuantizedLinearDynamic(c dispatch.Context, self, weight, bias *tensor.Tensor, reduce bool, packed *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "quantized.linear_dynamic")
	defer s.Close(&err)
	s.checkLayer(self, weight, bias, packed)
	var q *tensor.Tensor
	if self.Numel() == 0 { // no numbers have no range, nor do they need one
		q = s.QuantizePerTensor(self, 1, 0, dtype.QUint8)
	} else {
		q = s.QuantizePerTensorDynamic(self, dtype.QUint8, reduce)
	}
	p := product{a: s.ints(q), b: s.transposed(s.ints(weight)), of: q.Quantizer(), by: weight.Quantizer(), bias: bias, packed: packed}
	return s.Return(s.multiplied(p, dtype.Float32, nil))
}

// QuantizedMatmul returns the matrix product of two tensors, with integer sums for 8-bit ones.
func QuantizedMatmul(c dispatch.Context, qa, qb *tensor.Tensor, scale float64, zero int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "quantized.matmul")
	defer s.Close(&err)
	s.both(qa, qb)
	if qa.DType() == dtype.QInt32 || qa.Dim() == 0 || qb.Dim() == 0 {
		r := s.Matmul(s.dense(qa), s.dense(qb))
		return s.Return(s.quantized(r, qa.DType(), tensor.PerTensor(scale, zero)))
	}
	rows := max(qb.Dim()-2, 0)
	if last := qa.Sizes()[qa.Dim()-1]; last != qb.Sizes()[rows] {
		s.Failf("shapes %v and %v cannot be multiplied: the inner sizes %d and %d differ", qa.Sizes(), qb.Sizes(), last, qb.Sizes()[rows])
		return nil, nil
	}
	p := product{a: s.ints(qa), b: s.ints(qb), of: qa.Quantizer(), by: qb.Quantizer()}
	return s.Return(s.matrices(p, qa.DType(), tensor.PerTensor(scale, zero)))
}

// matrices returns the product of tensors of any dimensions, as matmul has it: of vectors too, and of batches of matrices.
func (s *scope) matrices(p product, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	a, b := p.a.Sizes(), p.b.Sizes()
	if len(b) == 1 {
		p.b = s.Unsqueeze(p.b, 1)
		sizes := a[:len(a)-1]
		made := s.multiplied(p, d, q)
		return s.Reshape(made, sizes...)
	}
	if len(b) == 2 {
		return s.multiplied(p, d, q)
	}
	k, n, sizes, m := b[len(b)-2], b[len(b)-1], []int64{b[len(b)-1]}, int64(1)
	var outer []int64
	if len(a) > 1 {
		m, outer, sizes = a[len(a)-2], a[:len(a)-2], []int64{a[len(a)-2], n}
	}
	batch, err := shape.Broadcast(s.Op, outer, b[:len(b)-2])
	s.Check(err)
	count := shape.Product(batch)
	// contiguous batches of matrices
	each := func(t *tensor.Tensor, rows, columns int64) *tensor.Tensor {
		wide := s.Expand(t, append(slices.Clone(batch), rows, columns)...)
		return s.Reshape(wide, count, rows, columns)
	}
	x, y := each(p.a, m, k), each(p.b, k, n)
	to := s.Track(tensor.Empty(s.Op, append(slices.Clone(batch), sizes...), d.Stored(), p.a.Device()))
	made := s.as(to, d, q) // rejected before there is work
	places := s.Reshape(to, count, m, n)
	for i := int64(0); i < count; i++ {
		one := func(t *tensor.Tensor) *tensor.Tensor {
			return s.Select(t, 0, i)
		}
		p.a, p.b = one(x), one(y)
		part, place := s.ints(s.multiplied(p, d, q)), one(places)
		s.Copy(place, part, false)
	}
	return made
}

func (s *scope) transposed(t *tensor.Tensor) *tensor.Tensor {
	return s.Transpose(t, 0, 1)
}

// product is that of integers, of which a has any dimensions before its last and b is a matrix.
type product struct {
	a, b   *tensor.Tensor
	of, by *tensor.Quantizer
	bias   *tensor.Tensor // numbers, or nil
	packed *tensor.Tensor // b in the order of products, or nil
	relu   bool
}

// multiplied returns the product as a quantized tensor, or in float32 without a quantizer.
func (s *scope) multiplied(p product, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	k, n := p.b.Sizes()[0], p.b.Sizes()[1]
	sizes := append(slices.Clone(p.a.Sizes()[:p.a.Dim()-1]), n)
	rows := int64(1)
	for _, size := range sizes[:len(sizes)-1] {
		rows *= size
	}
	to := s.Track(tensor.Empty(s.Op, sizes, d.Stored(), p.a.Device()))
	made, w := to, backend.QuantizedProduct{AZero: int32(p.of.Zeros[0])}
	over := 1.0
	if q != nil {
		made = s.as(to, d, q)
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
	w.To, w.A, w.B, w.Packed = s.flat(to, rows, n), s.flat(p.a, rows, k), p.b, p.packed
	if p.b.DType() == dtype.Uint8 { // the product takes int8: the same integers less 128
		w.B = s.signed(p.b)
		for i := range w.BZeros {
			w.BZeros[i] -= 128
		}
	}
	if p.bias != nil {
		size := []int64{1}
		if p.by.PerChannel() {
			size[0] = n
		}
		in := s.list(size, dtype.Float32, p.a.Device(), func(i int) dtype.Scalar { return dtype.FloatScalar(units[i]) })
		quotient := s.Div(p.bias, in)
		w.Bias = s.RowMajor(quotient, dtype.Float32)
	}
	s.Check(backend.On(to).QuantizedProduct(s.Op, w))
	return made
}

// flat returns t as a matrix.
func (s *scope) flat(t *tensor.Tensor, rows, columns int64) *tensor.Tensor {
	if t.Dim() == 2 {
		return t
	}
	return s.Reshape(t, rows, columns)
}

// signed is integers of uint8 less 128, in int8.
func (s *scope) signed(t *tensor.Tensor) *tensor.Tensor {
	turned := s.BitwiseXor(t, s.Number(dtype.IntScalar(128)))
	return s.ViewDtype(turned, dtype.Int8)
}
