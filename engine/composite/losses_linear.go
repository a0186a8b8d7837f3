package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// withoutLabel is a class that no example has.
const withoutLabel = -100

// NnLinearCrossEntropy computes the cross entropy of a linear layer's output, for a limited number of rows at a time if their number is given.
func NnLinearCrossEntropy(c dispatch.Context, self, linear, target, bias, weight *tensor.Tensor, reduction string, ignore ops.Int, smoothing float64, rows ops.Int) (*tensor.Tensor, error) {
	s := lose(c, "nn_linear_cross_entropy", ops.NoBool, ops.NoBool, reduction)
	defer s.Close()
	x, w := self.Sizes(), linear.Sizes()
	switch {
	case len(x) != 1 && len(x) != 2:
		s.Failf("self must have shape (features) or (N, features), but has sizes %v", x)
	case len(w) < 2:
		s.Failf("linear_weight must have shape (classes, ..., features), but has sizes %v", w)
	case x[len(x)-1] != w[len(w)-1]:
		s.Failf("self and linear_weight must have the same number of features, but have sizes %v and %v", x, w)
	case bias != nil && !slices.Equal(bias.Sizes(), w[:len(w)-1]):
		s.Failf("linear_bias must have sizes %v, but has %v", w[:len(w)-1], bias.Sizes())
	case len(w) > 2 && len(x) == 1:
		s.Failf("losses of several dimensions require a batch dimension, but self has sizes %v and linear_weight %v", x, w)
	case rows != ops.NoInt && rows <= 0:
		s.Failf("batch_chunk_size must be positive, but is %d", rows)
	}
	if s.Err != nil {
		return nil, s.Err
	}
	sizes := append(slices.Clone(x[:len(x)-1]), w[:len(w)-1]...)
	likely := slices.Equal(target.Sizes(), sizes)
	if likely && ignore != ops.NoInt {
		s.Failf("ignore_index is only supported for targets of class indices, but is %d for a target of probabilities", ignore)
	}
	left := int64(ignore.Or(withoutLabel))
	if rows != ops.NoInt && len(w) == 2 && len(x) == 2 && smoothing == 0 && s.Err == nil {
		each := s.Step(func() (*tensor.Tensor, error) {
			return c.NnLinearLosses(self, linear, target, bias, weight, left, int64(rows))
		})
		if reduction != "mean" || likely {
			return s.reduced(each)
		}
		return s.result(nil, s.Div(s.total(each), s.total(s.factor(target, weight, self.DType(), left))))
	}
	features := w[len(w)-1]
	flat := s.Reshape(linear, shape.Product(w[:len(w)-1]), features)
	if bias != nil {
		bias = s.Reshape(bias, bias.Numel())
	}
	logits := s.Reshape(s.Step(func() (*tensor.Tensor, error) { return c.NnLinear(nil, self, flat, bias) }), sizes...)
	return s.result(nil, s.Step(func() (*tensor.Tensor, error) {
		return c.NnCrossEntropy(logits, target, weight, ops.NoBool, left, ops.NoBool, reduction, smoothing)
	}))
}

// factor returns the weight of the class of each target, 0 for ignored ones.
func (s *losing) factor(target, weight *tensor.Tensor, d dtype.DType, left int64) *tensor.Tensor {
	valid := s.Binary(s.C.Ne, target, s.Int(left))
	if weight == nil {
		return s.Cast(valid, d)
	}
	index := s.Where(valid, target, s.Int(0))
	return s.Where(valid, s.Step(func() (*tensor.Tensor, error) { return s.C.IndexSelect(nil, weight, 0, index) }), s.Int(0))
}

// NnLinearLosses returns the cross entropies of examples, of which some rows at a time are made.
func NnLinearLosses(c dispatch.Context, self, linear, target, bias, weight *tensor.Tensor, left, rows int64) (*tensor.Tensor, error) {
	s := newScope(c, "nn_linear_cross_entropy")
	defer s.Close()
	if self.Dim() != 2 || rows <= 0 {
		s.Failf("self must be a matrix and rows positive, but self has sizes %v and rows is %d", self.Sizes(), rows)
		return nil, s.Err
	}
	n := self.Sizes()[0]
	if target.Dim() == 0 || target.Sizes()[0] != n {
		s.Failf("target must have one element for each of the %d rows of self, but has sizes %v", n, target.Sizes())
	}
	var parts []*tensor.Tensor
	for i := int64(0); s.Err == nil && (i < n || i == 0); i += rows {
		m := min(rows, n-i)
		x, t := s.Narrow(self, 0, i, m), s.Narrow(target, 0, i, m)
		logits := s.Step(func() (*tensor.Tensor, error) { return c.NnLinear(nil, x, linear, bias) })
		parts = append(parts, s.Step(func() (*tensor.Tensor, error) {
			return c.NnCrossEntropy(logits, t, weight, ops.NoBool, left, ops.NoBool, "none", 0)
		}))
		s.Drop(logits)
	}
	return s.result(nil, s.Cat(0, parts...))
}
