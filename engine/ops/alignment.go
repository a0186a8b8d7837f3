package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// alignment holds the operands of connectionist temporal classification.
type alignment struct {
	*scope
	backend.Alignment
	most int64 // labels
}

// newAlignment validates the operands of ctc_loss and starts an operation on them.
func newAlignment(s *scope, logs, targets *tensor.Tensor, steps, labels []int64, blank int64) *alignment {
	a := &alignment{scope: s}
	switch {
	case logs.DType() != dtype.Float32 && logs.DType() != dtype.Float64:
		a.Check(status.NotImplementedf("%s: not implemented for %v; convert to float32 or float64", a.Op, logs.DType()))
	case logs.Dim() != 3:
		a.Failf("log_probs must have shape (T, N, C), but has sizes %v", logs.Sizes())
	case logs.Numel() == 0:
		a.Failf("log_probs must not be empty, but has sizes %v", logs.Sizes())
	case targets.Device() != logs.Device():
		a.Failf("targets must be on the device of log_probs, %v, but is on %v", logs.Device(), targets.Device())
	case targets.Dim() != 1 && targets.Dim() != 2 || targets.DType() != dtype.Int64:
		a.Failf("targets must have one or two dimensions, of int64, but has sizes %v, of %v", targets.Sizes(), targets.DType())
	}
	sizes := logs.Sizes()
	if blank < 0 || blank >= sizes[2] {
		a.Failf("blank must be a class, from 0 to %d, but is %d", sizes[2]-1, blank)
	}
	for i, list := range [][]int64{steps, labels} {
		name := []string{"input_lengths", "target_lengths"}[i]
		if int64(len(list)) != sizes[1] {
			a.Failf("%s must have one length for each of the %d batch elements, but has %d", name, sizes[1], len(list))
		} else if least := slices.Min(list); least < 0 {
			a.Failf("%s must not be negative, but one is %d", name, least)
		}
	}
	if longest := slices.Max(steps); longest > sizes[0] {
		a.Failf("input_lengths must be at most %d, the steps of log_probs, but one is %d", sizes[0], longest)
	}
	a.most = slices.Max(labels)
	a.Steps, a.Labels, a.Blank = steps, labels, blank
	a.Starts = make([]int64, len(labels))
	switch {
	case targets.Dim() == 1:
		sum := int64(0)
		for i, n := range labels {
			a.Starts[i], sum = sum, shape.Plus(sum, n)
		}
		if targets.Sizes()[0] != sum {
			a.Failf("targets must have sum(target_lengths) = %d labels, but has %d", sum, targets.Sizes()[0])
		}
	case targets.Sizes()[0] != sizes[1] || targets.Sizes()[1] < a.most:
		a.Failf("targets must have %d rows, one for each batch element, of at least %d labels, but has sizes %v", sizes[1], a.most,
			targets.Sizes())
	default:
		for i := range labels {
			a.Starts[i] = int64(i) * targets.Sizes()[1]
		}
	}
	width, err := shape.Larger(a.Op, a.most, 2, 1)
	a.Check(err)
	a.most = width
	a.Logs, a.Targets = a.castRowMajor(logs, logs.DType()), a.castRowMajor(targets, dtype.Int64)
	return a
}

// NnAlignment returns the loss of each batch element, the partial sums up to each step, and the divisor of a mean: the number of labels, at
// least 1.
func NnAlignment(logs, targets *tensor.Tensor, times, labels []int64, blank int64,
	finite bool) (losses, forward, counts *tensor.Tensor, err error) {
	s := newScope("ctc_loss")
	defer s.Close(&err)
	a := newAlignment(s, logs, targets, times, labels, blank)
	examples := logs.Sizes()[1]
	list := []*tensor.Tensor{a.newEmpty(logs, dtype.Float64, examples), a.newEmpty(logs, dtype.Float64, examples, logs.Sizes()[0], a.most),
		a.newEmpty(logs, dtype.Int64, examples)}
	a.Losses, a.Forward = list[0], list[1]
	a.Check(backend.WriteInts(a.Op, list[2], func(to []int64) {
		for i, n := range labels {
			to[i] = max(n, 1)
		}
	}))
	a.Check(backend.On(logs).Align(a.Op, a.Alignment))
	list, err = a.ReturnAll(list)
	return list[0], list[1], list[2], err
}

// NnAlignmentGradient returns the gradient with respect to logs, the result of log_softmax.
func NnAlignmentGradient(given, logs, targets *tensor.Tensor, times, labels []int64, blank int64, finite bool, losses,
	forward *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("ctc_loss")
	defer s.Close(&err)
	a := newAlignment(s, logs, targets, times, labels, blank)
	sizes := logs.Sizes()
	if !slices.Equal(losses.Sizes(), sizes[1:2]) || !slices.Equal(given.Sizes(), sizes[1:2]) ||
		!slices.Equal(forward.Sizes(), []int64{sizes[1], sizes[0], a.most}) {
		a.Failf("losses, their gradients and log_alpha must have one entry for each batch element, but have sizes %v, %v and %v", losses.Sizes(),
			given.Sizes(), forward.Sizes())
	}
	_, err = tensoriter.Device(a.Op, logs, given, losses, forward)
	a.Check(err)
	a.Given, a.Losses, a.Forward, a.Finite = a.castRowMajor(given, dtype.Float64), a.castRowMajor(losses, dtype.Float64),
		a.castRowMajor(forward, dtype.Float64), finite
	a.Gradient = a.newEmpty(logs, logs.DType(), sizes...)
	a.Check(backend.On(logs).Align(a.Op, a.Alignment))
	return a.Return(a.Gradient)
}
