package cuda

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recur computes a recurrent layer (RNN, LSTM, GRU) step by step: a matrix product and pointwise operators for each step.
var recur = composed(func(b *composite, w backend.Recurrence) {
	if w.Hidden.Numel() == 0 {
		return
	}
	r := recurrence{b: b, Recurrence: w, units: w.Hidden.Sizes()[1]}
	r.order()
	if w.Slopes == nil {
		r.forward()
	} else {
		r.backward()
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

func (r *recurrence) order() {
	row := int64(0)
	for t, n := range r.Batches {
		r.starts, r.steps = append(r.starts, row), append(r.steps, t)
		row += n
	}
	if r.Reverse {
		slices.Reverse(r.steps)
	}
}

// rows views the rows of a step.
func (r *recurrence) rows(t *tensor.Tensor, step int) *tensor.Tensor {
	return r.b.Narrow(t, 0, r.starts[step], r.Batches[step])
}

// first views the states of the sequences of a step.
func (r *recurrence) first(t *tensor.Tensor, step int) *tensor.Tensor {
	return r.b.Narrow(t, 0, 0, r.Batches[step])
}

// gate views gate i of rows.
func (r *recurrence) gate(t *tensor.Tensor, i int64) *tensor.Tensor {
	return r.b.Narrow(t, 1, i*r.units, r.units)
}

// forward advances the states of all sequences, those of a step at a time.
func (r *recurrence) forward() {
	r.b.write(r.Last, r.H)
	if r.LastCell != nil {
		r.b.write(r.LastCell, r.C)
	}
	weight := r.b.Transpose(r.Weight, 0, 1)
	one := dtype.IntScalar(1)
	for _, t := range r.steps {
		if r.Batches[t] == 0 {
			continue
		}
		x, state, hidden := r.rows(r.X, t), r.first(r.Last, t), r.rows(r.Hidden, t)
		switch r.Cell {
		case "lstm":
			sums := r.b.AddmmWith(x, state, weight, one, one)
			r.runLSTM(sums, r.rows(r.Gates, t), r.rows(r.Cells, t), r.first(r.LastCell, t), hidden)
		case "gru":
			sums := r.b.Matmul(state, weight)
			if r.Bias != nil {
				sums = r.b.AddmmWith(r.Bias, state, weight, one, one)
			}
			r.runGRU(sums, x, state, r.rows(r.Gates, t), r.rows(r.Cells, t), hidden)
		case "relu":
			r.b.write(hidden, r.b.Relu(r.b.AddmmWith(x, state, weight, one, one)))
		default:
			r.b.write(hidden, r.b.Tanh(r.b.AddmmWith(x, state, weight, one, one)))
		}
		r.b.write(state, hidden)
	}
}

func (r *recurrence) runLSTM(sums, gates, cells, cell, hidden *tensor.Tensor) {
	r.b.write(gates, r.b.Sigmoid(sums))
	r.b.write(r.gate(gates, 2), r.b.Tanh(r.gate(sums, 2)))
	i, f, n, o := r.gate(gates, 0), r.gate(gates, 1), r.gate(gates, 2), r.gate(gates, 3)
	r.b.write(cells, r.b.Addcmul(r.b.Mul(f, cell), i, n))
	r.b.write(cell, cells)
	r.b.write(hidden, r.b.Mul(o, r.b.Tanh(cells)))
}

func (r *recurrence) runGRU(sums, x, state, gates, own, hidden *tensor.Tensor) {
	both := 2 * r.units // of the first two gates
	r.b.write(r.b.Narrow(gates, 1, 0, both), r.b.Sigmoid(r.b.Add(r.b.Narrow(sums, 1, 0, both), r.b.Narrow(x, 1, 0, both))))
	r.b.write(own, r.gate(sums, 2))
	n := r.gate(gates, 2)
	r.b.write(n, r.b.Tanh(r.b.Addcmul(r.gate(x, 2), r.gate(gates, 0), own)))
	r.b.write(hidden, r.b.Addcmul(n, r.gate(gates, 1), r.b.Sub(state, n)))
}

// backward propagates the gradients of the states from step to step.
func (r *recurrence) backward() {
	weight := r.Weight
	if r.Cell == "gru" { // whose slopes begin with the last gate
		weight = r.b.Cat([]*tensor.Tensor{r.b.Narrow(weight, 0, 2*r.units, r.units), r.b.Narrow(weight, 0, 0, 2*r.units)}, 0)
	}
	for i, t := range r.steps {
		r.b.write(r.rows(r.Previous, t), r.before(i, r.Hidden, r.H))
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		t := r.steps[i]
		if r.Batches[t] == 0 {
			continue
		}
		carry := r.first(r.Last, t)
		given := r.b.Add(r.rows(r.Given, t), carry)
		slopes := r.rows(r.Slopes, t)
		var rest *tensor.Tensor // of the gradient of the states before
		switch r.Cell {
		case "lstm":
			r.backwardLSTM(given, r.rows(r.Gates, t), r.rows(r.Cells, t), r.before(i, r.Cells, r.C), r.first(r.LastCell, t), slopes)
		case "gru":
			rest = r.backwardGRU(given, r.rows(r.Gates, t), r.rows(r.Cells, t), r.rows(r.Previous, t), slopes)
		case "relu":
			y := r.rows(r.Hidden, t)
			r.b.write(slopes, r.b.Where(r.b.Le(y, r.b.IntNumber(0)), r.b.IntNumber(0), given))
		default:
			y := r.rows(r.Hidden, t)
			r.b.write(slopes, r.b.Mul(given, r.oneMinus(r.b.Mul(y, y))))
		}
		before := r.b.Matmul(r.b.Narrow(slopes, 1, 0, weight.Sizes()[0]), weight)
		if rest != nil {
			before = r.b.Add(before, rest)
		}
		r.b.write(carry, before)
	}
}

func (r *recurrence) oneMinus(t *tensor.Tensor) *tensor.Tensor {
	return r.b.Sub(r.b.FloatNumber(1), t)
}

// slope returns t * x * (1 - x), the gradient of the sum of a gate with value x.
func (r *recurrence) slope(t, x *tensor.Tensor) *tensor.Tensor {
	return r.b.Mul(r.b.Mul(t, x), r.oneMinus(x))
}

func (r *recurrence) backwardLSTM(given, gates, cells, before, carry, slopes *tensor.Tensor) {
	i, f, n, o := r.gate(gates, 0), r.gate(gates, 1), r.gate(gates, 2), r.gate(gates, 3)
	t := r.b.Tanh(cells)
	c := r.b.Addcmul(carry, r.b.Mul(given, o), r.oneMinus(r.b.Mul(t, t)))
	r.b.write(r.gate(slopes, 0), r.slope(r.b.Mul(c, n), i))
	r.b.write(r.gate(slopes, 1), r.slope(r.b.Mul(c, before), f))
	r.b.write(r.gate(slopes, 2), r.b.Mul(r.b.Mul(c, i), r.oneMinus(r.b.Mul(n, n))))
	r.b.write(r.gate(slopes, 3), r.slope(r.b.Mul(given, t), o))
	r.b.write(carry, r.b.Mul(c, f))
}

// backwardGRU returns the part of the gradient of the states before that does not pass through the products.
func (r *recurrence) backwardGRU(given, gates, own, state, slopes *tensor.Tensor) *tensor.Tensor {
	reset, z, n := r.gate(gates, 0), r.gate(gates, 1), r.gate(gates, 2)
	s := r.b.Mul(r.b.Mul(given, r.oneMinus(z)), r.oneMinus(r.b.Mul(n, n)))
	r.b.write(r.gate(slopes, 0), r.b.Mul(s, reset))
	r.b.write(r.gate(slopes, 1), r.slope(r.b.Mul(s, own), reset))
	r.b.write(r.gate(slopes, 2), r.slope(r.b.Mul(given, r.b.Sub(state, n)), z))
	r.b.write(r.gate(slopes, 3), s)
	return r.b.Mul(given, z)
}

// before returns the rows of the sequences of a step, the i-th in time, in the step before it, or in their initial states.
func (r *recurrence) before(i int, t, initial *tensor.Tensor) *tensor.Tensor {
	n, old := r.Batches[r.steps[i]], int64(0)
	if i > 0 {
		old = min(r.Batches[r.steps[i-1]], n)
	}
	switch old {
	case 0:
		return r.b.Narrow(initial, 0, 0, n)
	case n:
		return r.b.Narrow(r.rows(t, r.steps[i-1]), 0, 0, n)
	}
	return r.b.Cat([]*tensor.Tensor{r.b.Narrow(r.rows(t, r.steps[i-1]), 0, 0, old), r.b.Narrow(initial, 0, old, n-old)}, 0)
}
