package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// readLengths returns the elements of a tensor of integers: of a vector, or of the only batch element.
func (s *loss) readLengths(t *tensor.Tensor, name string) []int64 {
	if !t.DType().IsIntegral() {
		s.Failf("%s must be of integers, but is of %v", name, t.DType())
	}
	if t.Dim() > 1 {
		s.Failf("%s must be a vector, but has sizes %v", name, t.Sizes())
	}
	return readCounts(s.Builder, s.AsShape(s.CastTo(t, dtype.Int64), t.Numel()), name)
}

// computeCTC computes the connectionist temporal classification loss.
func (s *loss) computeCTC(logs, targets *tensor.Tensor, steps, labels []int64, blank int64, finite bool) (*tensor.Tensor, error) {
	alone := logs.Dim() == 2
	if alone {
		logs = s.Unsqueeze(logs, 1)
		targets = s.AsShape(targets, targets.Numel())
	}
	if targets.DType() == dtype.Bool || targets.DType().IsComplex() {
		s.Failf("targets must be of integers, but is of %v", targets.DType())
	}
	targets = s.CastTo(targets, dtype.Int64) // floats too, as PyTorch
	losses, forward, counts, err := s.C.NnAlignment(logs, targets, steps, labels, blank, finite)
	s.Track(losses, err)
	s.Track(forward, nil)
	s.Track(counts, nil)
	losses = s.CastTo(losses, logs.DType())
	if finite {
		losses = s.Where(s.Isinf(losses), s.IntNumber(0), losses)
	}
	switch s.reduction {
	case "sum":
		return build.WriteResult(s.Builder, nil, s.Sum(losses, nil, false))
	case "mean":
		each := s.Div(losses, counts)
		return s.ReturnNew(s.C.Mean(nil, each, nil, false, dtype.None))
	}
	if alone {
		losses = s.AsShape(losses)
	}
	return build.WriteResult(s.Builder, nil, losses)
}

// reductionName returns the name of a reduction that is given by PyTorch's number.
func reductionName(op string, number int64) (string, error) {
	words := []string{"none", "mean", "sum"}
	if number < 0 || number >= int64(len(words)) {
		return "", status.Valuef("%s: reduction must be 0 (none), 1 (mean) or 2 (sum), but is %d", op, number)
	}
	return words[number], nil
}

// CtcLoss returns the loss of connectionist temporal classification.
func CtcLoss(c dispatch.Context, logs, targets *tensor.Tensor, steps, labels []int64, blank, reduction int64,
	finite bool) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "ctc_loss")
	defer s.Close(&err)
	s.reduction, err = reductionName(s.Op, reduction)
	s.Check(err)
	return s.computeCTC(logs, targets, steps, labels, blank, finite)
}

// CtcLossTensor is CtcLoss with lengths in tensors.
func CtcLossTensor(c dispatch.Context, logs, targets, steps, labels *tensor.Tensor, blank, reduction int64,
	finite bool) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "ctc_loss")
	defer s.Close(&err)
	s.reduction, err = reductionName(s.Op, reduction)
	s.Check(err)
	return s.computeCTC(logs, targets, s.readLengths(steps, "input_lengths"), s.readLengths(labels, "target_lengths"), blank, finite)
}

// NnCtcLoss is CtcLoss with the reduction as a string.
func NnCtcLoss(c dispatch.Context, logs, targets *tensor.Tensor, steps, labels []int64, blank int64, reduction string,
	finite bool) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_ctc_loss")
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, reduction)
	return s.computeCTC(logs, targets, steps, labels, blank, finite)
}

// NnCtcLossTensor is NnCtcLoss with lengths in tensors.
func NnCtcLossTensor(c dispatch.Context, logs, targets, steps, labels *tensor.Tensor, blank int64, reduction string,
	finite bool) (_ *tensor.Tensor, err error) {
	s := newLoss(c, "nn_ctc_loss")
	defer s.Close(&err)
	s.setReduction(ops.NoBool, ops.NoBool, reduction)
	return s.computeCTC(logs, targets, s.readLengths(steps, "input_lengths"), s.readLengths(labels, "target_lengths"), blank, finite)
}
