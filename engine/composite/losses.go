package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// loss is the scope of a loss, with its reduction: none, mean or sum.
type loss struct {
	*build.Builder
	reduction string
}

func newLoss(c dispatch.Context, op string) *loss { return &loss{Builder: build.New(c, op)} }

// setReduction sets the reduction, one of words or none, mean and sum. The older arguments, two flags, take precedence over it.
func (s *loss) setReduction(average, reduce ops.Bool, reduction string, words ...string) {
	if average == ops.NoBool && reduce == ops.NoBool {
		if words = append(words, "none", "mean", "sum"); !slices.Contains(words, reduction) {
			s.Check(status.Valuef("%s: %s is not a valid value for reduction; use one of %v", s.Op, reduction, words))
		}
		s.reduction = reduction
		return
	}
	s.Check(warning.Deprecated.Of(s.Op, "size_average and reduce are deprecated; use reduction"))
	switch {
	case reduce == ops.False:
		s.reduction = "none"
	case average == ops.False:
		s.reduction = "sum"
	default:
		s.reduction = "mean"
	}
}

// reduceLoss applies the reduction to the losses of elements.
func (s *loss) reduceLoss(t *tensor.Tensor) (*tensor.Tensor, error) {
	switch s.reduction {
	case "mean":
		return s.ReturnNew(s.C.Mean(nil, t, nil, false, dtype.None))
	case "sum":
		return build.WriteResult(s.Builder, nil, s.Sum(t, nil, false))
	}
	return build.WriteResult(s.Builder, nil, t)
}

// reduceWeighted applies the reduction to weighted losses. A mean is divided by the sum of the weights.
func (s *loss) reduceWeighted(t, weight *tensor.Tensor) (*tensor.Tensor, error) {
	t = s.Mul(t, weight)
	if s.reduction == "mean" {
		return build.WriteResult(s.Builder, nil, s.Div(s.Sum(t, nil, false), s.Sum(weight, nil, false)))
	}
	return s.reduceLoss(t)
}

// applyWeight returns t * weight, or t if weight is nil.
func (s *loss) applyWeight(t, weight *tensor.Tensor) *tensor.Tensor {
	if weight == nil {
		return t
	}
	return s.Mul(t, weight)
}

// checkSameSizes returns an error if other has other sizes than self.
func (s *loss) checkSameSizes(name string, self, other *tensor.Tensor) {
	if !slices.Equal(self.Sizes(), other.Sizes()) {
		s.Check(status.Valuef("%s: Using a %s size (%v) that is different to the input size (%v) is an error; the sizes must be equal",
			s.Op, name, other.Sizes(), self.Sizes()))
	}
}

// clampNegative returns max(t, 0).
func (s *loss) clampNegative(t *tensor.Tensor) *tensor.Tensor {
	return s.ClampMin(t, s.IntNumber(0))
}
func (s *loss) isLabel(t *tensor.Tensor, v int64) *tensor.Tensor {
	return s.Eq(t, s.IntNumber(v))
}

// computeLosses returns the losses of self and target, and warns if broadcasting pairs elements that the sizes do not.
func (s *loss) computeLosses(self, target *tensor.Tensor, losses func() (*tensor.Tensor, error)) *tensor.Tensor {
	t := s.Track(losses())
	if !slices.Equal(self.Sizes(), target.Sizes()) {
		s.Check(warning.TargetSize.Of(s.Op,
			"Using a target size (%v) that is different to the input size (%v) computes %d losses by broadcasting, which will likely lead to incorrect results; "+
				"use a target of the size of the input", target.Sizes(), self.Sizes(), t.Numel()))
	}
	return t
}

// reducePairs reduces the losses of pairs, weighted if weight is not nil.
func (s *loss) reducePairs(self, target, weight *tensor.Tensor, losses func() (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if weight == nil {
		return s.reduceLoss(s.computeLosses(self, target, losses))
	}
	s.checkSameSizes("weight", self, weight)
	return s.reduceWeighted(s.computeLosses(self, target, losses), weight)
}

// NnL1Loss returns the absolute difference.
func NnL1Loss(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool, reduction string,
	weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_l1_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	difference := s.Sub(self, target)
	return s.reducePairs(self, target, weight, func() (*tensor.Tensor, error) { return c.Abs(nil, difference) })
}

// NnMseLoss returns the square of the difference.
func NnMseLoss(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool, reduction string,
	weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_mse_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	return s.reducePairs(self, target, weight, func() (*tensor.Tensor, error) { return c.NnSquaredError(self, target) })
}

// NnHuberLoss returns the square of small differences, and the size of large ones.
func NnHuberLoss(c dispatch.Context, self, target *tensor.Tensor, reduction string, delta float64,
	weight *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_huber_loss")
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, reduction)
	s.Check(checkFloating(s.Op, self))
	if !(delta > 0) {
		s.Check(status.Runtimef("%s: delta must be positive, but is %v", s.Op, delta))
	}
	each := s.computeLosses(self, target, func() (*tensor.Tensor, error) { return c.NnHuberEach(self, target, delta, 1) })
	if weight != nil {
		s.checkSameSizes("weight", self, weight)
		each = s.Mul(each, weight)
	}
	return s.reduceLoss(each)
}

// NnSmoothL1Loss is huber loss over beta.
func NnSmoothL1Loss(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool, reduction string,
	beta float64) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_smooth_l1_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	if beta < 0 {
		s.Check(status.Runtimef("%s: beta must not be negative, but is %v", s.Op, beta))
	}
	if beta == 0 {
		difference := s.Sub(self, target)
		return s.reducePairs(self, target, nil, func() (*tensor.Tensor, error) { return c.Abs(nil, difference) })
	}
	return s.reducePairs(self, target, nil, func() (*tensor.Tensor, error) { return c.NnHuberEach(self, target, beta, 1/beta) })
}

// NnKlDiv returns the divergence of a distribution from another one, whose logarithms are given.
func NnKlDiv(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool, reduction string,
	logTarget bool) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_kl_div")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction, "batchmean")
	for _, t := range []*tensor.Tensor{self, target} {
		s.Check(checkFloating(s.Op, t))
	}
	var each *tensor.Tensor
	if logTarget {
		each = s.Mul(s.Exp(target), s.Sub(target, self))
	} else {
		each = s.Sub(s.Xlogy(target, target), s.Mul(target, self))
	}
	if s.reduction != "batchmean" {
		return s.reduceLoss(each)
	}
	batch := int64(1)
	if self.Dim() > 0 {
		batch = self.Sizes()[0]
	}
	return build.WriteResult(s.Builder, nil, s.Div(s.Sum(each, nil, false), s.IntNumber(batch)))
}

// NnBinaryCrossEntropy returns that of probabilities.
func NnBinaryCrossEntropy(c dispatch.Context, self, target, weight *tensor.Tensor, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_binary_cross_entropy")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.checkSameSizes("target", self, target)
	s.Check(checkFloating(s.Op, self))
	if self.DType() != target.DType() {
		s.Check(status.Runtimef("%s: target must have the dtype of self, %v, but has %v", s.Op, self.DType(), target.DType()))
	}
	s.checkProbabilities("self", self)
	s.checkProbabilities("target", target)
	each := s.NnBinaryCrossEntropyEach(self, target)
	return s.reduceLoss(s.applyWeight(each, weight))
}

// checkProbabilities returns an error for elements outside of [0, 1], for tensors with data.
func (s *loss) checkProbabilities(name string, t *tensor.Tensor) {
	if t.Numel() == 0 {
		return
	}
	low, known := s.ReadElement(s.Min(t))
	if high, _ := s.ReadElement(s.Max(t)); known && !(low.Float() >= 0 && high.Float() <= 1) {
		s.Failf("all elements of %s should be between 0 and 1, but they go from %v to %v", name, low, high)
	}
}

// NnBinaryCrossEntropyEach returns that of each element; no logarithm counts as less than -100.
func NnBinaryCrossEntropyEach(c dispatch.Context, self, target *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_binary_cross_entropy")
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, "none")
	s.Check(checkFloating(s.Op, self))
	bounded := func(t *tensor.Tensor) *tensor.Tensor { return s.ClampMin(t, s.IntNumber(-100)) }
	off := s.Mul(s.Sub(target, s.IntNumber(1)), bounded(s.Log1p(s.Neg(self))))
	return s.reduceLoss(s.Sub(off, s.Mul(target, bounded(s.Log(self)))))
}

// NnBinaryCrossEntropyWithLogits returns that of the logistic function of self.
func NnBinaryCrossEntropyWithLogits(c dispatch.Context, self, target, weight *tensor.Tensor, average, reduce ops.Bool, reduction string,
	positive *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_binary_cross_entropy_with_logits")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.checkSameSizes("target", self, target)
	s.Check(checkFloating(s.Op, self))
	on := s.NnLogsigmoid(self)
	if positive != nil {
		on = s.Mul(on, s.Add(s.Mul(s.Sub(positive, s.IntNumber(1)), target), s.IntNumber(1)))
	}
	return s.reduceLoss(s.applyWeight(s.Sub(s.Mul(s.Sub(s.IntNumber(1), target), self), on), weight))
}

// NnPoissonNllLoss returns that of counts, whose rate is self, or its exponential.
func NnPoissonNllLoss(c dispatch.Context, self, target *tensor.Tensor, logInput, full bool, average ops.Bool, eps float64, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_poisson_nll_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	var each *tensor.Tensor
	if logInput {
		each = s.Sub(s.Exp(self), s.Mul(target, self))
	} else {
		each = s.Sub(self, s.Mul(target, s.Log(s.Add(self, s.FloatNumber(eps)))))
	}
	if full {
		stirling := s.Add(s.Sub(s.Mul(target, s.Log(target)), target), s.Mul(s.Log(s.Mul(target, s.FloatNumber(2*math.Pi))),
			s.FloatNumber(0.5)))
		each = s.Add(each, s.Where(s.Gt(target, s.IntNumber(1)), stirling, s.IntNumber(0)))
	}
	return s.reduceLoss(each)
}

// NnGaussianNllLoss returns that of normal distributions, whose variances are at least eps.
func NnGaussianNllLoss(c dispatch.Context, self, target, variance *tensor.Tensor, full bool, eps float64,
	reduction string) (_ *tensor.Tensor, err error) {
	const op = "nn_gaussian_nll_loss"
	s := newLoss(c, op)
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, reduction)
	s.Check(checkFloating(op, self))
	if variance.IsWrappedNumber() {
		variance = s.Mul(s.OnesBeside(self, self.DType(), self.Sizes()...), variance)
	}
	if variance.Numel() > 0 {
		if least, known := s.ReadElement(s.Min(variance)); known && least.Float() < 0 {
			return nil, status.Valuef("%s: var has negative entry/entries: its least element is %v", op, least)
		}
	}
	if !slices.Equal(self.Sizes(), variance.Sizes()) {
		different, n := int64(0), self.Dim() // the sum of the sizes that differ
		if n == variance.Dim() {
			for i, size := range self.Sizes() {
				if size != variance.Sizes()[i] {
					different += variance.Sizes()[i]
				}
			}
		}
		switch {
		case n > 0 && slices.Equal(self.Sizes()[:n-1], variance.Sizes()):
			variance = s.Unsqueeze(variance, -1)
		case different != 1:
			return nil, status.Valuef("%s: var is of incorrect size: it must have the sizes of self, %v, or 1 in one dimension, but has %v",
				op, self.Sizes(), variance.Sizes())
		}
	}
	// The gradient does not see the bound.
	lift := s.Detach(s.Sub(s.ClampMin(variance, s.FloatNumber(eps)), variance))
	bounded := s.Add(variance, lift)
	each := s.Mul(s.Add(s.Log(bounded), s.Div(s.Square(s.Sub(self, target)), bounded)), s.FloatNumber(0.5))
	if full {
		each = s.Add(each, s.FloatNumber(0.5*math.Log(2*math.Pi)))
	}
	return s.reduceLoss(each)
}

// NnHingeEmbeddingLoss returns self where the label is 1, and max(0, margin - self) where it is -1.
func NnHingeEmbeddingLoss(c dispatch.Context, self, target *tensor.Tensor, margin float64, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_hinge_embedding_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	apart := s.Where(s.isLabel(target, 1), s.IntNumber(0), s.clampNegative(s.Sub(s.FloatNumber(margin), self)))
	return s.reduceLoss(s.Add(apart, s.Where(s.isLabel(target, -1), s.IntNumber(0), self)))
}

// NnMarginRankingLoss returns by how much the first is not above the second by margin, or below it where the label is -1.
func NnMarginRankingLoss(c dispatch.Context, first, second, target *tensor.Tensor, margin float64, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_margin_ranking_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	if first.Dim() != second.Dim() || first.Dim() != target.Dim() {
		s.Check(status.Runtimef("%s: all tensors must have the same number of dimensions, but have sizes %v, %v and %v", s.Op,
			first.Sizes(), second.Sizes(), target.Sizes()))
	}
	return s.reduceLoss(s.clampNegative(s.Add(s.Mul(s.Neg(target), s.Sub(first, second)), s.FloatNumber(margin))))
}

// NnSoftMarginLoss returns log(1 + e^-xy) of labels y.
func NnSoftMarginLoss(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_soft_margin_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	products := s.Mul(self, target)
	if !slices.Equal(products.Sizes(), self.Sizes()) {
		return nil, status.Runtimef("%s: target must broadcast to the sizes of self, %v, but has sizes %v", s.Op, self.Sizes(),
			target.Sizes())
	}
	return s.reduceLoss(s.Neg(s.NnLogsigmoid(products)))
}

// NnMultilabelSoftMarginLoss returns the mean of binary cross entropies over classes.
func NnMultilabelSoftMarginLoss(c dispatch.Context, self, target, weight *tensor.Tensor, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_multilabel_soft_margin_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	if self.Dim() == 0 {
		s.Check(status.Indexf("%s: self must have at least one dimension, the classes", s.Op))
	}
	on, off := s.NnLogsigmoid(self), s.NnLogsigmoid(s.Neg(self))
	each := s.applyWeight(s.Neg(s.Add(s.Mul(target, on), s.Mul(s.Sub(s.IntNumber(1), target), off))), weight)
	return s.reduceLoss(s.Mean(each, []int64{-1}, false))
}

// NnCosineEmbeddingLoss penalizes large angles of vectors where the label is 1, and small ones where it is -1.
func NnCosineEmbeddingLoss(c dispatch.Context, first, second, target *tensor.Tensor, margin float64, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_cosine_embedding_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	switch n := target.Dim(); {
	case n > 1:
		s.Check(status.Runtimef("%s: 0D or 1D target tensor expected, multi-target not supported, but got target of sizes %v", s.Op,
			target.Sizes()))
	case first.Dim() != n+1 || second.Dim() != n+1:
		s.Check(status.Runtimef("%s: %dD target tensor expects %dD input tensors, but found inputs with sizes %v and %v", s.Op, n, n+1,
			first.Sizes(), second.Sizes()))
	}
	over := func(t *tensor.Tensor) *tensor.Tensor { return s.Sum(t, []int64{-1}, false) }
	length := func(t *tensor.Tensor) *tensor.Tensor { return s.Add(over(s.Mul(t, t)), s.FloatNumber(1e-12)) }
	cosine := s.Div(over(s.Mul(first, second)), s.Sqrt(s.Mul(length(first), length(second))))
	near := s.Where(s.isLabel(target, 1), s.Sub(s.IntNumber(1), cosine), s.IntNumber(0))
	return s.reduceLoss(s.Add(near, s.Where(s.isLabel(target, -1), s.clampNegative(s.Sub(cosine, s.FloatNumber(margin))), s.IntNumber(0))))
}

// NnTripletMarginLoss returns by how much the positive vector is not nearer to the anchor than the negative one by margin.
func NnTripletMarginLoss(c dispatch.Context, anchor, positive, negative *tensor.Tensor, margin, p, eps float64, swap bool, average,
	reduce ops.Bool, reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_triplet_margin_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	switch {
	case !(margin > 0):
		s.Check(status.Valuef("%s: margin must be positive, but is %v", s.Op, margin))
	case anchor.Dim() != positive.Dim() || anchor.Dim() != negative.Dim():
		s.Check(status.Runtimef("%s: all tensors must have the same number of dimensions, but have sizes %v, %v and %v", s.Op,
			anchor.Sizes(), positive.Sizes(), negative.Sizes()))
	}
	distance := func(a, b *tensor.Tensor) *tensor.Tensor {
		return s.PairwiseDistance(a, b, p, eps, false)
	}
	near, far := distance(anchor, positive), distance(anchor, negative)
	if swap {
		far = s.Minimum(far, distance(positive, negative))
	}
	return s.reduceLoss(s.clampNegative(s.Sub(s.Add(near, s.FloatNumber(margin)), far)))
}
