package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// withoutLabel is a class that no batch element has.
const withoutLabel = -100

// NnLinearCrossEntropy computes the cross entropy of a linear layer's output, for a limited number of rows at a time if their number is
// given.
func NnLinearCrossEntropy(c dispatch.Context, self, linear, target, bias, weight *tensor.Tensor, reduction string, ignore ops.Int,
	smoothing float64, rows ops.Int) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_linear_cross_entropy")
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, reduction)
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
	sizes := append(slices.Clone(x[:len(x)-1]), w[:len(w)-1]...)
	likely := slices.Equal(target.Sizes(), sizes)
	if likely && ignore != ops.NoInt {
		s.Failf("ignore_index is only supported for targets of class indices, but is %d for a target of probabilities", ignore)
	}
	left := int64(ignore.Or(withoutLabel))
	if rows != ops.NoInt && len(w) == 2 && len(x) == 2 && smoothing == 0 {
		each := s.NnLinearLosses(self, linear, target, bias, weight, left, int64(rows))
		if reduction != "mean" || likely {
			return s.reduceLoss(each)
		}
		return build.WriteResult(s.Builder, nil, s.Div(s.Sum(each, nil, false), s.Sum(s.gatherMarginWeights(target, weight, self.DType(),
			left), nil, false)))
	}
	features := w[len(w)-1]
	flat := s.AsShape(linear, shape.Product(w[:len(w)-1]), features)
	if bias != nil {
		bias = s.AsShape(bias, bias.Numel())
	}
	logits := s.AsShape(s.NnLinear(self, flat, bias), sizes...)
	return build.WriteResult(s.Builder, nil, s.NnCrossEntropy(logits, target, weight, ops.NoBool, left, ops.NoBool, reduction, smoothing))
}

// gatherMarginWeights returns the weight of the class of each target, 0 for ignored ones.
func (s *loss) gatherMarginWeights(target, weight *tensor.Tensor, d dtype.DType, left int64) *tensor.Tensor {
	valid := s.Ne(target, s.IntNumber(left))
	if weight == nil {
		return s.CastTo(valid, d)
	}
	index := s.Where(valid, target, s.IntNumber(0))
	return s.Where(valid, s.IndexSelect(weight, 0, index), s.IntNumber(0))
}

// NnLinearLosses returns the cross entropies of batch elements, of which some rows at a time are made.
func NnLinearLosses(c dispatch.Context, self, linear, target, bias, weight *tensor.Tensor, left, rows int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_linear_cross_entropy")
	defer b.Close(&err)
	if self.Dim() != 2 || rows <= 0 {
		b.Failf("self must be a matrix and rows positive, but self has sizes %v and rows is %d", self.Sizes(), rows)
	}
	n := self.Sizes()[0]
	if target.Dim() == 0 || target.Sizes()[0] != n {
		b.Failf("target must have one element for each of the %d rows of self, but has sizes %v", n, target.Sizes())
	}
	var parts []*tensor.Tensor
	for i := int64(0); i < n || i == 0; i += rows {
		m := min(rows, n-i)
		x, t := b.Narrow(self, 0, i, m), b.Narrow(target, 0, i, m)
		logits := b.NnLinear(x, linear, bias)
		parts = append(parts, b.NnCrossEntropy(logits, t, weight, ops.NoBool, left, ops.NoBool, "none", 0))
		b.Drop(logits)
	}
	return build.WriteResult(b, nil, b.Cat(parts, 0))
}
