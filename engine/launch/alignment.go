package launch

import "github.com/libtensor/libtensor/engine/tensor"

// Alignment sums the probabilities of all ways in which a sequence of labels, with blanks between them, can be laid along steps (connectionist
// temporal classification). Logs (steps, examples, classes), of float32 or float64, are logarithms of probabilities. Example i has Steps[i] steps, and
// Labels[i] of Targets, of int64, from Starts[i] on. Losses, one for each example, and Forward (examples, steps, 1 + 2 * the most labels), which
// has the sums up to each step, are of float64.
//
// With Given, the gradient of the losses in float64, both are read, and Gradient, like Logs, is written: that of what Logs are the logarithms of softmax of.
// Examples of infinite loss have none where Finite is set.
type Alignment struct {
	Logs, Targets, Losses, Forward, Given, Gradient *tensor.Tensor
	Steps, Labels, Starts                           []int64
	Blank                                           int64
	Finite                                          bool
}
