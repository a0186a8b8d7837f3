package backend

import (
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Alignment sums the probabilities of all alignments of a sequence of labels, with blanks between them, to the time steps (connectionist
// temporal classification). Logs (T, N, C), of float32 or float64, are log probabilities. Batch element i has Steps[i] steps, and Labels[i]
// labels in Targets, of int64, from Starts[i] on. Losses (N) and the partial sums up to each step, Forward (N, T, 1 + 2 * max(Labels)), are
// float64. If Given, the gradient of the losses in float64, is not nil, both are read, and Gradient, of the shape of Logs, is written: the
// gradient with respect to the input of log_softmax. If Finite is set, the gradient for an infinite loss is zero.
type Alignment struct {
	Logs, Targets, Losses, Forward, Given, Gradient *tensor.Tensor
	Steps, Labels, Starts                           []int64
	Blank                                           int64
	Finite                                          bool
}

// CheckLabels returns an error for labels that are no classes; targets are the elements of Targets.
func (w Alignment) CheckLabels(op string, targets []int64) error {
	classes := w.Logs.Sizes()[2]
	for i, n := range w.Labels {
		for _, label := range targets[w.Starts[i] : w.Starts[i]+n] {
			if label < 0 || label >= classes {
				return status.Indexf("%s: targets must be classes, from 0 to %d, but one is %d", op, classes-1, label)
			}
		}
	}
	return nil
}
