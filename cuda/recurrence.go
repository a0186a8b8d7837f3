package cuda

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// runRecurrence computes a recurrent layer (RNN, LSTM, GRU) step by step: a matrix product and pointwise operators for each step.
var runRecurrence = makeComposite(func(b *composite, w backend.Recurrence) {
	if w.Hidden.Numel() == 0 {
		return
	}
	r := recurrence{b: b, Recurrence: w, units: w.Hidden.Sizes()[1]}
	r.orderSteps()
	if w.Slopes == nil {
		r.runForward()
	} else {
		r.runBackward()
	}
})

// recurrence is a layer, with the first row of each step, and the steps in the order of time.
type recurrence struct {
	b *composite
	backend.Recurrence
	units  int64
	starts []int64
	steps  []int
}

func (r *recurrence) orderSteps() {
	row := int64(0)
	for t, n := range r.Batches {
		r.starts, r.steps = append(r.starts, row), append(r.steps, t)
		row += n
	}
	if r.Reverse {
		slices.Reverse(r.steps)
	}
}

// viewRows views the rows of a step.
func (r *recurrence) viewRows(t *tensor.Tensor, step int) *tensor.Tensor {
	return r.b.Narrow(t, 0, r.starts[step], r.Batches[step])
}

// viewStates views the states of the sequences of a step.
func (r *recurrence) viewStates(t *tensor.Tensor, step int) *tensor.Tensor {
	return r.b.Narrow(t, 0, 0, r.Batches[step])
}

// viewGate views gate i of rows.
func (r *recurrence) viewGate(t *tensor.Tensor, i int64) *tensor.Tensor {
	return r.b.Narrow(t, 1, i*r.units, r.units)
}

// runForward advances the states of all sequences, those of a step at a time.
func (r *recurrence) runForward() {
	r.b.copyResult(r.Last, r.H)
	if r.LastCell != nil {
		r.b.copyResult(r.LastCell, r.C)
	}
	weight := r.b.Transpose(r.Weight, 0, 1)
	one := dtype.IntScalar(1)
	for _, t := range r.steps {
		if r.Batches[t] == 0 {
			continue
		}
		x, state, hidden := r.viewRows(r.X, t), r.viewStates(r.Last, t), r.viewRows(r.Hidden, t)
		switch r.Cell {
		case "lstm":
			sums := r.b.AddmmWith(x, state, weight, one, one)
			r.runLSTM(sums, r.viewRows(r.Gates, t), r.viewRows(r.Cells, t), r.viewStates(r.LastCell, t), hidden)
		case "gru":
			sums := r.b.Matmul(state, weight)
			if r.Bias != nil {
				sums = r.b.AddmmWith(r.Bias, state, weight, one, one)
			}
			r.runGRU(sums, x, state, r.viewRows(r.Gates, t), r.viewRows(r.Cells, t), hidden)
		case "relu":
			r.b.copyResult(hidden, r.b.Relu(r.b.AddmmWith(x, state, weight, one, one)))
		default:
			r.b.copyResult(hidden, r.b.Tanh(r.b.AddmmWith(x, state, weight, one, one)))
		}
		r.b.copyResult(state, hidden)
	}
}

func (r *recurrence) runLSTM(sums, gates, cells, cell, hidden *tensor.Tensor) {
	r.b.copyResult(gates, r.b.Sigmoid(sums))
	r.b.copyResult(r.viewGate(gates, 2), r.b.Tanh(r.viewGate(sums, 2)))
	i, f, n, o := r.viewGate(gates, 0), r.viewGate(gates, 1), r.viewGate(gates, 2), r.viewGate(gates, 3)
	r.b.copyResult(cells, r.b.Addcmul(r.b.Mul(f, cell), i, n))
	r.b.copyResult(cell, cells)
	r.b.copyResult(hidden, r.b.Mul(o, r.b.Tanh(cells)))
}

func (r *recurrence) runGRU(sums, x, state, gates, own, hidden *tensor.Tensor) {
	both := 2 * r.units // of the first two gates
	r.b.copyResult(r.b.Narrow(gates, 1, 0, both), r.b.Sigmoid(r.b.Add(r.b.Narrow(sums, 1, 0, both), r.b.Narrow(x, 1, 0, both))))
	r.b.copyResult(own, r.viewGate(sums, 2))
	n := r.viewGate(gates, 2)
	r.b.copyResult(n, r.b.Tanh(r.b.Addcmul(r.viewGate(x, 2), r.viewGate(gates, 0), own)))
	r.b.copyResult(hidden, r.b.Addcmul(n, r.viewGate(gates, 1), r.b.Sub(state, n)))
}

// runBackward propagates the gradients of the states from step to step.
func (r *recurrence) runBackward() {
	weight := r.Weight
	if r.Cell == "gru" { // whose slopes begin with the last gate
		weight = r.b.Cat([]*tensor.Tensor{r.b.Narrow(weight, 0, 2*r.units, r.units), r.b.Narrow(weight, 0, 0, 2*r.units)}, 0)
	}
	for i, t := range r.steps {
		r.b.copyResult(r.viewRows(r.Previous, t), r.findPreviousStates(i, r.Hidden, r.H))
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		t := r.steps[i]
		if r.Batches[t] == 0 {
			continue
		}
		carry := r.viewStates(r.Last, t)
		given := r.b.Add(r.viewRows(r.Given, t), carry)
		slopes := r.viewRows(r.Slopes, t)
		var rest *tensor.Tensor // of the gradient of the states before
		switch r.Cell {
		case "lstm":
			r.backwardLSTM(given, r.viewRows(r.Gates, t), r.viewRows(r.Cells, t), r.findPreviousStates(i, r.Cells, r.C),
				r.viewStates(r.LastCell, t), slopes)
		case "gru":
			rest = r.backwardGRU(given, r.viewRows(r.Gates, t), r.viewRows(r.Cells, t), r.viewRows(r.Previous, t), slopes)
		case "relu":
			y := r.viewRows(r.Hidden, t)
			r.b.copyResult(slopes, r.b.Where(r.b.Le(y, r.b.IntNumber(0)), r.b.IntNumber(0), given))
		default:
			y := r.viewRows(r.Hidden, t)
			r.b.copyResult(slopes, r.b.Mul(given, r.subtractFromOne(r.b.Mul(y, y))))
		}
		before := r.b.Matmul(r.b.Narrow(slopes, 1, 0, weight.Sizes()[0]), weight)
		if rest != nil {
			before = r.b.Add(before, rest)
		}
		r.b.copyResult(carry, before)
	}
}

func (r *recurrence) subtractFromOne(t *tensor.Tensor) *tensor.Tensor {
	return r.b.Sub(r.b.FloatNumber(1), t)
}

// computeGateGradient returns t * x * (1 - x), the gradient of the sum of a gate with value x.
func (r *recurrence) computeGateGradient(t, x *tensor.Tensor) *tensor.Tensor {
	return r.b.Mul(r.b.Mul(t, x), r.subtractFromOne(x))
}

func (r *recurrence) backwardLSTM(given, gates, cells, before, carry, slopes *tensor.Tensor) {
	i, f, n, o := r.viewGate(gates, 0), r.viewGate(gates, 1), r.viewGate(gates, 2), r.viewGate(gates, 3)
	t := r.b.Tanh(cells)
	c := r.b.Addcmul(carry, r.b.Mul(given, o), r.subtractFromOne(r.b.Mul(t, t)))
	r.b.copyResult(r.viewGate(slopes, 0), r.computeGateGradient(r.b.Mul(c, n), i))
	r.b.copyResult(r.viewGate(slopes, 1), r.computeGateGradient(r.b.Mul(c, before), f))
	r.b.copyResult(r.viewGate(slopes, 2), r.b.Mul(r.b.Mul(c, i), r.subtractFromOne(r.b.Mul(n, n))))
	r.b.copyResult(r.viewGate(slopes, 3), r.computeGateGradient(r.b.Mul(given, t), o))
	r.b.copyResult(carry, r.b.Mul(c, f))
}

// backwardGRU returns the part of the gradient of the states before that does not pass through the products.
func (r *recurrence) backwardGRU(given, gates, own, state, slopes *tensor.Tensor) *tensor.Tensor {
	reset, z, n := r.viewGate(gates, 0), r.viewGate(gates, 1), r.viewGate(gates, 2)
	s := r.b.Mul(r.b.Mul(given, r.subtractFromOne(z)), r.subtractFromOne(r.b.Mul(n, n)))
	r.b.copyResult(r.viewGate(slopes, 0), r.b.Mul(s, reset))
	r.b.copyResult(r.viewGate(slopes, 1), r.computeGateGradient(r.b.Mul(s, own), reset))
	r.b.copyResult(r.viewGate(slopes, 2), r.computeGateGradient(r.b.Mul(given, r.b.Sub(state, n)), z))
	r.b.copyResult(r.viewGate(slopes, 3), s)
	return r.b.Mul(given, z)
}

// findPreviousStates returns the rows of the sequences of a step, the i-th in time, in the step before it, or in their initial states.
func (r *recurrence) findPreviousStates(i int, t, initial *tensor.Tensor) *tensor.Tensor {
	n, old := r.Batches[r.steps[i]], int64(0)
	if i > 0 {
		old = min(r.Batches[r.steps[i-1]], n)
	}
	switch old {
	case 0:
		return r.b.Narrow(initial, 0, 0, n)
	case n:
		return r.b.Narrow(r.viewRows(t, r.steps[i-1]), 0, 0, n)
	}
	return r.b.Cat([]*tensor.Tensor{r.b.Narrow(r.viewRows(t, r.steps[i-1]), 0, 0, old), r.b.Narrow(initial, 0, old, n-old)}, 0)
}
