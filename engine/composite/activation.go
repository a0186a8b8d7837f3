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

// floating returns an error for tensors of other dtypes than floats.
func floating(op string, t *tensor.Tensor) error {
	if t.DType().IsFloatingPoint() {
		return nil
	}
	return status.NotImplementedf("%s: not implemented for %v; convert to a floating-point dtype", op, t.DType())
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
		return nil, status.Runtimef("%s: weight has %d elements, and self, of sizes %v, has %d channels; use one element, or one for each channel", op, n, self.Sizes(), channels)
	case self.Dim() > 1:
		sizes[1] = channels
	}
	s := newScope(c, op)
	defer s.Close(&err)
	each := s.AsShape(weight, sizes...)
	return s.ReturnNew(c.NnPreluEach(self, each))
}

// Rrelu multiplies elements up to 0 by random numbers, one drawn for each of them, or all by the middle of the range.
func Rrelu(c dispatch.Context, out, self *tensor.Tensor, lower, upper float64, training bool, g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "rrelu"
	if err := floating(op, self); err != nil {
		return nil, err
	}
	if !(lower <= upper) {
		return nil, status.Runtimef("%s: lower must not be greater than upper, but lower is %v, and upper is %v", op, lower, upper)
	}
	if !training {
		made, err := c.NnLeakyRelu(out, self, (lower+upper)/2)
		return only(op, made, err)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	factors := s.OnesLikeWith(self, dtype.None, tensor.NoLayout, self.Device(), shape.Preserve)
	if low := s.Le(self, s.IntNumber(0)); backend.Known(self) {
		some := s.MaskedSelect(low, low)
		drawn := s.EmptyBeside(self, dtype.Float64, some.Numel())
		lower, upper = s.asElement(lower, self), s.asElement(upper, self)
		s.FillUniformWith(drawn, lower, upper, g)
		drawn = s.CastTo(drawn, self.DType())
		ones := factors
		factors = s.MaskedScatter(ones, low, drawn)
	}
	return build.WriteResult(s.Builder, out, s.Mul(self, factors))
}

// asElement returns a number as an element of t has it.
func (s *scope) asElement(v float64, t *tensor.Tensor) float64 {
	element := s.FullWith(nil, dtype.FloatScalar(v), t.DType(), tensor.NoLayout, t.Device())
	rounded, _ := s.ReadElement(element)
	return rounded.Float()
}

// NnGlu gates one half of a dimension by the other.
func NnGlu(c dispatch.Context, self *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	const op = "nn_glu"
	if err := floating(op, self); err != nil {
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
	s := newScope(c, op)
	defer s.Close(&err)
	d := self.DType()
	// The product is rounded to 16 bits, and no factor before it.
	gate := s.Sigmoid(s.CastTo(s.Narrow(self, int64(at), n/2, n/2), d.Compute()))
	return build.WriteResult(s.Builder, nil, s.CastTo(s.Mul(s.Narrow(self, int64(at), 0, n/2), gate), d))
}

// NnSoftmin computes softmax(-self).
func NnSoftmin(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "nn_softmin")
	defer s.Close(&err)
	turned := s.Neg(self)
	return s.ReturnNew(c.Softmax(nil, turned, dim, d))
}

// NnGumbelSoftmax is softmax of logits and noise; with hard it is the largest class alone, and has the gradients of softmax.
func NnGumbelSoftmax(c dispatch.Context, self *tensor.Tensor, tau float64, hard bool, _ float64, dim int64, g *random.Generator) (_ *tensor.Tensor, err error) {
	s := newScope(c, "nn_gumbel_softmax")
	defer s.Close(&err)
	s.Check(floating(s.Op, self))
	_, err = shape.WrapDim(s.Op, dim, self.Dim()) // before anything is drawn
	s.Check(err)
	waiting := s.EmptyLikeWith(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	s.FillExponentialWith(waiting, 1, g)
	noise := s.Neg(s.Log(waiting))
	logits := s.Div(s.Add(self, noise), s.FloatNumber(tau))
	soft := s.Softmax(logits, dim, dtype.None)
	if !hard {
		return build.WriteResult(s.Builder, nil, soft)
	}
	index := s.Argmax(soft, ops.Int(dim), true)
	zeros := s.ZerosLikeWith(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	one := s.ScatterValue(zeros, dim, index, dtype.IntScalar(1))
	return build.WriteResult(s.Builder, nil, s.Add(s.Sub(one, s.Detach(soft)), soft))
}
