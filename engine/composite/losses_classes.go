package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// labels are those of batch elements: the class of each, or one that is left out.
type labels struct {
	index *tensor.Tensor // classes along the dimension of classes, or nil; 0 for ignored targets
	valid *tensor.Tensor
	dim   int64 // of classes
}

// checkLabels returns the labels of target, or an error if target does not contain classes of self.
func (s *loss) checkLabels(self, target *tensor.Tensor, ignore int64) (l labels) {
	if self.Dim() == 0 {
		s.Check(status.Indexf("%s: self must have at least one dimension, the classes", s.Op))
		return l
	}
	l.dim = int64(min(1, self.Dim()-1))
	sizes := slices.Delete(slices.Clone(self.Sizes()), int(l.dim), int(l.dim)+1)
	switch {
	case slices.Equal(sizes, target.Sizes()):
	case self.Dim() == 1 && slices.Equal(target.Sizes(), []int64{1}):
		target = s.AsShape(target)
	case self.Dim() == 1 && target.Dim() == 1:
		s.Check(status.Valuef("%s: target must have one element for a single sample, but has sizes %v", s.Op, target.Sizes()))
	case self.Dim() > 1 && (target.Dim() == 0 || target.Sizes()[0] != sizes[0]):
		s.Check(status.Valuef("%s: Expected input batch_size (%d) to match target batch_size: target has sizes %v", s.Op, sizes[0],
			target.Sizes()))
	case self.Dim() <= 2:
		s.Check(status.Runtimef("%s: 0D or 1D target tensor expected, multi-target not supported: self has sizes %v, but target %v", s.Op,
			self.Sizes(), target.Sizes()))
	default:
		s.Check(status.Runtimef("%s: target must have the sizes of self, %v, without the dimension of classes, but has %v", s.Op,
			self.Sizes(), target.Sizes()))
	}
	if d := target.DType(); d != dtype.Int64 && d != dtype.Uint8 {
		s.Check(status.Runtimef("%s: classes must be of int64 or uint8, but are of %v", s.Op, d))
	}
	l.valid = s.Ne(target, s.IntNumber(ignore))
	l.index = s.Where(l.valid, s.CastTo(target, dtype.Int64), s.IntNumber(0))
	return l
}

// gatherClasses returns the elements of t at the class of each batch element.
func (s *loss) gatherClasses(t *tensor.Tensor, l labels) *tensor.Tensor {
	return s.NnPick(t, l.dim, l.index)
}

// NnPick returns one element of a dimension for each place of the others.
func NnPick(c dispatch.Context, self *tensor.Tensor, dim int64, index *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_nll_loss")
	defer b.Close(&err)
	d, err := shape.WrapDim(b.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Indexf("%s: self must have at least one dimension", b.Op)
	}
	dim = int64(d)
	at := b.Unsqueeze(index, dim)
	found, err := c.Gather(nil, self, dim, at, false)
	b.Track(found, convertClassError(b, err, self.Sizes()[dim], index))
	return build.WriteResult(b, nil, b.SqueezeDim(found, dim))
}

// convertClassError returns the error of an index that names no class, which is an index error as in PyTorch; other errors stay.
func convertClassError(b *build.Builder, err error, classes int64, index *tensor.Tensor) error {
	if err == nil {
		return err
	}
	least, most, known := readRange(b, index)
	if !known || least >= 0 && most < classes {
		return err
	}
	if least >= 0 {
		least = most
	}
	return status.Indexf("%s: Target %d is out of bounds; classes are from 0 to %d", b.Op, least, classes-1)
}

// gatherWeights returns the weight of the class of each target, 0 for ignored ones. Without weights it returns the mask of valid targets.
func (s *loss) gatherWeights(self, weight *tensor.Tensor, l labels) *tensor.Tensor {
	if weight == nil {
		return l.valid
	}
	if n := self.Sizes()[l.dim]; weight.Dim() != 1 || weight.Sizes()[0] != n || weight.DType() != self.DType() {
		s.Check(status.Runtimef("%s: weight tensor should be defined either for all %d classes or no classes, and be of %v, but got weight tensor of shape: %v, of %v",
			s.Op, n, self.DType(), weight.Sizes(), weight.DType()))
		return nil
	}
	flat := s.AsShape(l.index, l.index.Numel())
	each := s.IndexSelect(weight, 0, flat)
	return s.Where(l.valid, s.AsShape(each, l.index.Sizes()...), s.IntNumber(0))
}

// reduceMasked reduces losses that are scaled by factor. It masks ignored targets, which might contribute 0 * inf.
func (s *loss) reduceMasked(each, factor, valid *tensor.Tensor) *tensor.Tensor {
	if factor != valid {
		each = s.Mul(each, factor)
	}
	each = s.Where(valid, each, s.IntNumber(0))
	switch s.reduction {
	case "mean":
		return s.Div(s.Sum(each, nil, false), s.Sum(factor, nil, false))
	case "sum":
		return s.Sum(each, nil, false)
	}
	return each
}

// NnNllLoss returns the negative of the element of the class of each batch element.
func NnNllLoss(c dispatch.Context, self, target, weight *tensor.Tensor, average ops.Bool, ignore int64, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_nll_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	l := s.checkLabels(self, target, ignore)
	factor := s.gatherWeights(self, weight, l)
	return build.WriteResult(s.Builder, nil, s.reduceMasked(s.Neg(s.gatherClasses(self, l)), factor, l.valid))
}

// NnCrossEntropy is nll loss of the logarithm of softmax, or that of distributions over classes.
func NnCrossEntropy(c dispatch.Context, self, target, weight *tensor.Tensor, average ops.Bool, ignore int64, reduce ops.Bool,
	reduction string, smoothing float64) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_cross_entropy")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	if !(smoothing >= 0 && smoothing <= 1) {
		s.Check(status.Runtimef("%s: label_smoothing must be between 0.0 and 1.0, but got %v", s.Op, smoothing))
	}
	if self.Dim() > 0 && slices.Equal(self.Sizes(), target.Sizes()) {
		return s.computeSoftTargetLoss(self, target, weight, ignore, smoothing)
	}
	l := s.checkLabels(self, target, ignore)
	logs := s.LogSoftmax(self, l.dim, dtype.None)
	factor := s.gatherWeights(self, weight, l)
	loss := s.reduceMasked(s.Neg(s.gatherClasses(logs, l)), factor, l.valid)
	if smoothing > 0 {
		n := self.Sizes()[l.dim]
		all := s.Neg(s.Sum(s.applyWeight(logs, s.reshapeClassWeight(self, weight, l.dim)), []int64{l.dim}, false))
		smooth := s.Where(l.valid, s.AsShape(all, l.index.Sizes()...), s.IntNumber(0))
		switch s.reduction {
		case "mean":
			smooth = s.Div(s.Sum(smooth, nil, false), s.Sum(factor, nil, false))
		case "sum":
			smooth = s.Sum(smooth, nil, false)
		}
		loss = s.Add(s.Mul(loss, s.FloatNumber(1-smoothing)), s.Mul(smooth, s.FloatNumber(smoothing/float64(n))))
	}
	return build.WriteResult(s.Builder, nil, loss)
}

// reshapeClassWeight reshapes a weight of classes to broadcast with self; nil stays nil.
func (s *loss) reshapeClassWeight(self, weight *tensor.Tensor, dim int64) *tensor.Tensor {
	if weight == nil {
		return nil
	}
	n := self.Sizes()[dim]
	if weight.Dim() != 1 || weight.Sizes()[0] != n {
		s.Check(status.Runtimef("%s: weight tensor should be defined either for all %d classes or no classes, but got weight tensor of shape: %v",
			s.Op, n, weight.Sizes()))
		return nil
	}
	return s.AsShape(weight, append([]int64{n}, slices.Repeat([]int64{1}, self.Dim()-1-int(dim))...)...)
}

// computeSoftTargetLoss computes the cross entropy of distributions over classes. A mean is taken over the batch.
func (s *loss) computeSoftTargetLoss(self, target, weight *tensor.Tensor, ignore int64, smoothing float64) (*tensor.Tensor, error) {
	if !target.DType().IsFloatingPoint() {
		return nil, status.Runtimef("%s: probabilities must be of a floating-point dtype, but are of %v", s.Op, target.DType())
	}
	if ignore >= 0 {
		return nil,
			status.Runtimef("%s: ignore_index is only supported for targets of class indices, but is %d for a target of probabilities",
				s.Op, ignore)
	}
	dim := int64(min(1, self.Dim()-1))
	n := self.Sizes()[dim]
	if smoothing > 0 {
		target = s.Add(s.Mul(target, s.FloatNumber(1-smoothing)), s.FloatNumber(smoothing/float64(n)))
	}
	each := s.applyWeight(s.Mul(s.LogSoftmax(self, dim, dtype.None), target), s.reshapeClassWeight(self, weight, dim))
	switch s.reduction {
	case "mean":
		return build.WriteResult(s.Builder, nil, s.Neg(s.Div(s.Sum(each, nil, false), s.FloatNumber(float64(self.Numel())/float64(n)))))
	case "sum":
		return build.WriteResult(s.Builder, nil, s.Neg(s.Sum(each, nil, false)))
	}
	return build.WriteResult(s.Builder, nil, s.Neg(s.Sum(each, []int64{dim}, false)))
}

// flattenBatch returns self with the batch in its first dimension, and the classes in its second one.
func (s *loss) flattenBatch(self *tensor.Tensor) *tensor.Tensor {
	if self.Dim() > 2 || self.Dim() > 0 && self.Sizes()[self.Dim()-1] == 0 {
		s.Check(status.Runtimef("%s: Expected non-empty vector or matrix with optional 0-dim batch size, but got: %v", s.Op, self.Sizes()))
	}
	if self.Dim() == 2 {
		return self
	}
	return s.AsShape(self, 1, self.Numel())
}

// reshapeLosses returns the losses of the batch in the sizes of its labels.
func (s *loss) reshapeLosses(each *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	if s.reduction == "none" {
		each = s.AsShape(each, sizes...)
	}
	return s.reduceLoss(each)
}

// NnMultiMarginLoss returns by how much the class of a batch element is not above each other one by margin.
func NnMultiMarginLoss(c dispatch.Context, self, target *tensor.Tensor, p int64, margin float64, weight *tensor.Tensor, average,
	reduce ops.Bool, reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_multi_margin_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	if p != 1 && p != 2 {
		s.Check(status.Valuef("%s: p must be 1 or 2, but is %d", s.Op, p))
	}
	table := s.flattenBatch(self)
	n, m := table.Sizes()[0], table.Sizes()[1]
	if target.Dim() > 1 || target.Numel() != n || target.DType() != dtype.Int64 {
		return nil, status.Runtimef("%s: target must be an int64 tensor of %d class indices, but has sizes %v and dtype %v", s.Op, n,
			target.Sizes(), target.DType())
	}
	if weight != nil && (weight.Dim() != 1 || weight.Sizes()[0] != m || weight.DType() != self.DType()) {
		return nil, status.Runtimef("%s: inconsistent weight size: expected %d elements of %v, one for each class, but got sizes %v, of %v",
			s.Op, m, self.DType(), weight.Sizes(), weight.DType())
	}
	at := s.AsShape(target, n, 1)
	own := s.Gather(table, 1, at)
	each := s.clampNegative(s.Add(s.Sub(table, own), s.FloatNumber(margin)))
	if p == 2 {
		each = s.Square(each)
	}
	if weight != nil {
		flat := s.AsShape(target, n)
		chosen := s.IndexSelect(weight, 0, flat)
		each = s.Mul(each, s.AsShape(chosen, n, 1))
	}
	others := s.Ne(s.ArangeWith(dtype.IntScalar(m), dtype.Int64, tensor.NoLayout, self.Device()), at)
	each = s.Div(s.Sum(s.Where(others, each, s.IntNumber(0)), []int64{1}, false), s.IntNumber(m))
	return s.reshapeLosses(each, target.Sizes())
}

// NnMultilabelMarginLoss sums the margins by which each target class is not at least 1 above each other class. The list of target classes
// ends at the first negative number.
func NnMultilabelMarginLoss(c dispatch.Context, self, target *tensor.Tensor, average, reduce ops.Bool,
	reduction string) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_multilabel_margin_loss")
	defer s.Close(&err)
	s.setReduction(average, reduce, reduction)
	s.Check(checkFloating(s.Op, self))
	if target.DType() != dtype.Int64 || !slices.Equal(self.Sizes(), target.Sizes()) {
		s.Check(status.Runtimef("%s: target must have the sizes of self, %v, and be of int64, but has %v, of %v", s.Op, self.Sizes(),
			target.Sizes(), target.DType()))
	}
	table, list := s.flattenBatch(self), s.flattenBatch(target)
	m := table.Sizes()[1]
	ends := s.Lt(list, s.IntNumber(0))
	ended := s.CumsumWith(ends, 1, dtype.Int64)
	valid := s.isLabel(ended, 0)
	if list.Numel() > 0 {
		if least, known := s.ReadElement(s.Min(list)); known && least.I < -1 {
			s.Failf("target must have class indices, followed by -1, but has %d", least.I)
		}
		// The following ops allocate memory for the longest list of labels.
		if longest, known := s.ReadElement(s.Max(s.Sum(valid, []int64{1}, false))); known {
			list, valid = s.Narrow(list, 1, 0, longest.I), s.Narrow(valid, 1, 0, longest.I)
		}
	}
	at := s.Where(valid, list, s.IntNumber(0))
	own := s.Gather(table, 1, at)
	none, one := s.ZerosBeside(table, dtype.Int64, table.Sizes()...), s.CastTo(valid, dtype.Int64)
	counts := s.ScatterAdd(none, 1, at, one)
	pairs := s.LogicalAnd(s.Unsqueeze(valid, 2), s.Unsqueeze(s.isLabel(counts, 0), 1))
	each := s.clampNegative(s.Add(s.Sub(s.Unsqueeze(table, 1), s.Unsqueeze(own, 2)), s.IntNumber(1)))
	each = s.Div(s.Sum(s.Where(pairs, each, s.IntNumber(0)), []int64{1, 2}, false), s.IntNumber(m))
	return s.reshapeLosses(each, self.Sizes()[:max(self.Dim()-1, 0)])
}
