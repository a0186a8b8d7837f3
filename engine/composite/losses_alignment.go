package composite

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// lengths returns the elements of a tensor of integers: of a vector, or of the only example.
func (s *losing) lengths(t *tensor.Tensor, name string) []int64 {
	if s.Err == nil && !t.DType().IsIntegral() {
		s.Failf("%s must be of integers, but is of %v", name, t.DType())
	}
	if s.Err == nil && t.Dim() > 1 {
		s.Failf("%s must be a vector, but has sizes %v", name, t.Sizes())
	}
	if s.Err != nil {
		return nil
	}
	return s.counts(s.Reshape(s.Cast(t, dtype.Int64), t.Numel()), name)
}

// aligned returns the loss of connectionist temporal classification.
func (s *losing) aligned(logs, targets *tensor.Tensor, steps, labels []int64, blank int64, finite bool) (*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	alone := logs.Dim() == 2
	if alone {
		logs = s.Unsqueeze(logs, 1)
		targets = s.Reshape(targets, targets.Numel())
	}
	if s.Err == nil && (targets.DType() == dtype.Bool || targets.DType().IsComplex()) {
		s.Failf("targets must be of integers, but is of %v", targets.DType())
	}
	targets = s.Cast(targets, dtype.Int64) // floats too, as PyTorch
	if s.Err != nil {
		return nil, s.Err
	}
	losses, forward, counts, err := s.C.NnAlignment(logs, targets, steps, labels, blank, finite)
	s.Track(losses, err)
	s.Track(forward, nil)
	s.Track(counts, nil)
	losses = s.Cast(losses, logs.DType())
	if finite {
		losses = s.Where(s.view(s.C.Isinf, losses), s.Int(0), losses)
	}
	switch s.reduction {
	case "sum":
		return s.result(nil, s.total(losses))
	case "mean":
		each := s.Div(losses, counts)
		return s.Last(func() (*tensor.Tensor, error) { return s.C.Mean(nil, each, nil, false, dtype.None) })
	}
	if alone {
		losses = s.Reshape(losses)
	}
	return s.result(nil, losses)
}

// reductionOf returns the word for a number of PyTorch's.
func reductionOf(op string, number int64) (string, error) {
	words := []string{"none", "mean", "sum"}
	if number < 0 || number >= int64(len(words)) {
		return "", status.Valuef("%s: reduction must be 0 (none), 1 (mean) or 2 (sum), but is %d", op, number)
	}
	return words[number], nil
}

// CtcLoss returns the loss of connectionist temporal classification.
func CtcLoss(c dispatch.Context, logs, targets *tensor.Tensor, steps, labels []int64, blank, reduction int64, finite bool) (*tensor.Tensor, error) {
	s := &losing{scope: newScope(c, "ctc_loss")}
	defer s.Close()
	var err error
	s.reduction, err = reductionOf(s.Op, reduction)
	s.Fail(err)
	return s.aligned(logs, targets, steps, labels, blank, finite)
}

// CtcLossTensor is CtcLoss with lengths in tensors.
func CtcLossTensor(c dispatch.Context, logs, targets, steps, labels *tensor.Tensor, blank, reduction int64, finite bool) (*tensor.Tensor, error) {
	s := &losing{scope: newScope(c, "ctc_loss")}
	defer s.Close()
	var err error
	s.reduction, err = reductionOf(s.Op, reduction)
	s.Fail(err)
	return s.aligned(logs, targets, s.lengths(steps, "input_lengths"), s.lengths(labels, "target_lengths"), blank, finite)
}

// NnCtcLoss is CtcLoss with the reduction as a string.
func NnCtcLoss(c dispatch.Context, logs, targets *tensor.Tensor, steps, labels []int64, blank int64, reduction string, finite bool) (*tensor.Tensor, error) {
	s := lose(c, "nn_ctc_loss", ops.NoBool, ops.NoBool, reduction)
	defer s.Close()
	return s.aligned(logs, targets, steps, labels, blank, finite)
}

// NnCtcLossTensor is NnCtcLoss with lengths in tensors.
func NnCtcLossTensor(c dispatch.Context, logs, targets, steps, labels *tensor.Tensor, blank int64, reduction string, finite bool) (*tensor.Tensor, error) {
	s := lose(c, "nn_ctc_loss", ops.NoBool, ops.NoBool, reduction)
	defer s.Close()
	return s.aligned(logs, targets, s.lengths(steps, "input_lengths"), s.lengths(labels, "target_lengths"), blank, finite)
}
