package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkFloating returns an error unless t has a floating-point dtype.
func checkFloating(op string, t *tensor.Tensor) error {
	if t.DType().IsFloatingPoint() {
		return nil
	}
	return unsupportedDType(op, t.DType(), "convert to a floating-point dtype")
}

// unsupportedDType returns the error of an operator for a dtype, and what to do instead; quantized tensors have one error for all
// operators.
func unsupportedDType(op string, d dtype.DType, instead string) error {
	if d.IsQuantized() {
		return dispatch.Unsupported(op, tensor.Quantized)
	}
	return status.NotImplementedf("%s: not implemented for %v; %s", op, d, instead)
}

// Prelu multiplies negative elements by a weight, or by that of their channel.
func Prelu(c dispatch.Context, self, weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "prelu"
	if self.DType() != weight.DType() {
		return nil, status.Runtimef("%s: weight must have the dtype of self, %v, but has %v", op, self.DType(), weight.DType())
	}
	if weight.Dim() > 1 {
		return nil, status.Runtimef("%s: weight must have at most one dimension, but has %d", op, weight.Dim())
	}
	channels, sizes := int64(1), slices.Repeat([]int64{1}, self.Dim())
	if self.Dim() > 1 {
		channels = self.Sizes()[1]
	}
	switch n := weight.Numel(); {
	case n == 1:
	case n != channels || self.Dim() == 0:
		return nil,
			status.Runtimef("%s: weight has %d elements, and self, of sizes %v, has %d channels; use one element, or one for each channel",
				op, n, self.Sizes(), channels)
	case self.Dim() > 1:
		sizes[1] = channels
	}
	b := build.New(c, op)
	defer b.Close(&err)
	each := b.AsShape(weight, sizes...)
	return b.ReturnNew(c.NnPreluEach(self, each))
}

// Rrelu multiplies elements up to 0 by random numbers, one drawn for each of them, or all by the middle of the range.
func Rrelu(c dispatch.Context, out, self *tensor.Tensor, lower, upper float64, training bool,
	g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "rrelu"
	if err := checkFloating(op, self); err != nil {
		return nil, err
	}
	if !(lower <= upper) {
		return nil, status.Runtimef("%s: lower must not be greater than upper, but lower is %v, and upper is %v", op, lower, upper)
	}
	if !training {
		result, err := c.NnLeakyRelu(out, self, (lower+upper)/2)
		return wrapError(op, result, err)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	factors := b.OnesLikeWith(self, dtype.None, tensor.NoLayout, self.Device(), shape.Preserve)
	if low := b.Le(self, b.IntNumber(0)); backend.Known(self) {
		some := b.MaskedSelect(low, low)
		drawn := b.EmptyBeside(self, dtype.Float64, some.Numel())
		lower, upper = roundScalar(b, lower, self), roundScalar(b, upper, self)
		b.FillUniformWith(drawn, lower, upper, g)
		drawn = b.CastTo(drawn, self.DType())
		ones := factors
		factors = b.MaskedScatter(ones, low, drawn)
	}
	return build.WriteResult(b, out, b.Mul(self, factors))
}

// roundScalar returns v rounded to the dtype of t.
func roundScalar(b *build.Builder, v float64, t *tensor.Tensor) float64 {
	element := b.FullWith(nil, dtype.FloatScalar(v), t.DType(), tensor.NoLayout, t.Device())
	rounded, _ := b.ReadElement(element)
	return rounded.Float()
}

// NnGlu gates one half of a dimension by the other.
func NnGlu(c dispatch.Context, self *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	const op = "nn_glu"
	if err := checkFloating(op, self); err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("%s: cannot be applied to a 0-dim tensor", op)
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	n := self.Sizes()[at]
	if n%2 != 0 {
		return nil, status.Runtimef("%s: the size of dimension %d must be even, but is %d", op, at, n)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	d := self.DType()
	// The product is rounded to 16 bits, and no factor before it.
	gate := b.Sigmoid(b.CastTo(b.Narrow(self, int64(at), n/2, n/2), d.Compute()))
	return build.WriteResult(b, nil, b.CastTo(b.Mul(b.Narrow(self, int64(at), 0, n/2), gate), d))
}

// NnSoftmin computes softmax(-self).
func NnSoftmin(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_softmin")
	defer b.Close(&err)
	transposed := b.Neg(self)
	return b.ReturnNew(c.Softmax(nil, transposed, dim, d))
}

// NnGumbelSoftmax is softmax of logits and noise; with hard it is the largest class alone, and has the gradients of softmax.
func NnGumbelSoftmax(c dispatch.Context, self *tensor.Tensor, tau float64, hard bool, _ float64, dim int64,
	g *random.Generator) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_gumbel_softmax")
	defer b.Close(&err)
	b.Check(checkFloating(b.Op, self))
	_, err = shape.WrapDim(b.Op, dim, self.Dim()) // before anything is drawn
	b.Check(err)
	waiting := b.EmptyLikeWith(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	b.FillExponentialWith(waiting, 1, g)
	noise := b.Neg(b.Log(waiting))
	logits := b.Div(b.Add(self, noise), b.FloatNumber(tau))
	soft := b.Softmax(logits, dim, dtype.None)
	if !hard {
		return build.WriteResult(b, nil, soft)
	}
	index := b.Argmax(soft, ops.Int(dim), true)
	zeros := b.ZerosLikeWith(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	one := b.ScatterValue(zeros, dim, index, dtype.IntScalar(1))
	return build.WriteResult(b, nil, b.Add(b.Sub(one, b.Detach(soft)), soft))
}
