package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
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
func Prelu(c dispatch.Context, self, weight *tensor.Tensor) (*tensor.Tensor, error) {
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
	defer s.Close()
	each := s.Reshape(weight, sizes...)
	return s.Last(func() (*tensor.Tensor, error) { return c.NnPreluEach(self, each) })
}

// Rrelu multiplies elements up to 0 by random numbers, one drawn for each of them, or all by the middle of the range.
func Rrelu(c dispatch.Context, out, self *tensor.Tensor, lower, upper float64, training bool, g *random.Generator) (*tensor.Tensor, error) {
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
	defer s.Close()
	factors := s.Track(c.OnesLike(self, dtype.None, tensor.NoLayout, self.Device(), shape.Preserve))
	if low := s.Binary(c.Le, self, s.Int(0)); backend.Known(self) {
		some := s.Binary(c.MaskedSelect, low, low)
		if s.Err != nil {
			return nil, s.Err
		}
		drawn := s.Empty(self, dtype.Float64, some.Numel())
		lower, upper = s.asElement(lower, self), s.asElement(upper, self)
		s.Do(func() error { return c.FillUniform(drawn, lower, upper, g) })
		drawn = s.Cast(drawn, self.DType())
		ones := factors
		factors = s.Step(func() (*tensor.Tensor, error) { return c.MaskedScatter(nil, ones, low, drawn) })
	}
	return s.result(out, s.Mul(self, factors))
}

// asElement returns a number as an element of t has it.
func (s *scope) asElement(v float64, t *tensor.Tensor) float64 {
	element := s.Track(s.C.Full(nil, nil, dtype.FloatScalar(v), t.DType(), tensor.NoLayout, t.Device()))
	rounded, _ := s.Value(element)
	return rounded.Float()
}

// NnGlu gates one half of a dimension by the other.
func NnGlu(c dispatch.Context, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
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
	defer s.Close()
	d := self.DType()
	// The product is rounded to 16 bits, and no factor before it.
	gate := s.Unary(c.Sigmoid, s.Cast(s.Narrow(self, int64(at), n/2, n/2), d.Compute()))
	return s.result(nil, s.Cast(s.Mul(s.Narrow(self, int64(at), 0, n/2), gate), d))
}

// NnSoftmin computes softmax(-self).
func NnSoftmin(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	s := newScope(c, "nn_softmin")
	defer s.Close()
	turned := s.Unary(c.Neg, self)
	return s.Last(func() (*tensor.Tensor, error) { return c.Softmax(nil, turned, dim, d) })
}

// NnGumbelSoftmax is softmax of logits and noise; with hard it is the largest class alone, and has the gradients of softmax.
func NnGumbelSoftmax(c dispatch.Context, self *tensor.Tensor, tau float64, hard bool, _ float64, dim int64, g *random.Generator) (*tensor.Tensor, error) {
	s := newScope(c, "nn_gumbel_softmax")
	defer s.Close()
	s.Fail(floating(s.Op, self))
	_, err := shape.WrapDim(s.Op, dim, self.Dim()) // before anything is drawn
	s.Fail(err)
	waiting := s.Step(func() (*tensor.Tensor, error) {
		return c.EmptyLike(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	})
	s.Do(func() error { return c.FillExponential(waiting, 1, g) })
	noise := s.Unary(c.Neg, s.Unary(c.Log, waiting))
	logits := s.Div(s.Add(self, noise), s.Float(tau))
	soft := s.Step(func() (*tensor.Tensor, error) { return c.Softmax(nil, logits, dim, dtype.None) })
	if !hard {
		return s.result(nil, soft)
	}
	index := s.Step(func() (*tensor.Tensor, error) { return c.Argmax(nil, soft, ops.Int(dim), true) })
	zeros := s.Step(func() (*tensor.Tensor, error) {
		return c.ZerosLike(self, self.DType(), tensor.NoLayout, self.Device(), shape.Contiguous)
	})
	one := s.Step(func() (*tensor.Tensor, error) { return c.ScatterValue(nil, zeros, dim, index, dtype.IntScalar(1)) })
	return s.result(nil, s.Add(s.Sub(one, s.view(c.Detach, soft)), soft))
}
