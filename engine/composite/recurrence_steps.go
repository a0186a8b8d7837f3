package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// stepRunner runs the steps of a layer by operators with derivatives of any order, and with projections; NnRecurrence runs them in one
// launch.
type stepRunner struct {
	*build.Builder
	weight, bias, projection *tensor.Tensor // weight and projection transposed
	cells                    string
}

// NnRecurrenceSteps runs the cells of a layer in one direction, one step after another.
func NnRecurrenceSteps(c dispatch.Context, x, h, cell, weight, bias, projection *tensor.Tensor, batches []int64, reverse bool,
	cells string) (output, hn, cn *tensor.Tensor, err error) {
	w := &stepRunner{Builder: build.New(c, "nn_recurrence_steps"), bias: bias, cells: cells}
	defer w.Close(&err)
	w.weight = w.ReorderDims(weight, 1, 0)
	if projection != nil {
		w.projection = w.ReorderDims(projection, 1, 0)
	}
	begin, at := states{h, cell}, states{h, cell}
	starts, row := make([]int64, len(batches)), int64(0)
	for t, n := range batches {
		starts[t], row = row, row+n
	}
	result := make([]*tensor.Tensor, len(batches))
	ended := []states{}
	for i := range batches {
		t := i
		if reverse {
			t = len(batches) - 1 - i
		}
		rows := batches[t]
		if i == 0 {
			at = w.sliceStates(begin, 0, rows)
		} else if old := w.countRows(at); rows > old {
			at = w.concatStates(at, w.sliceStates(begin, old, rows-old))
		} else if rows < old {
			ended = append(ended, w.sliceStates(at, rows, old-rows))
			at = w.sliceStates(at, 0, rows)
		}
		at = w.computeStep(w.Narrow(x, 0, starts[t], rows), at)
		result[t] = at.h
	}
	for i := len(ended) - 1; i >= 0; i-- {
		at = w.concatStates(at, ended[i])
	}
	list := []*tensor.Tensor{w.Cat(result, 0), at.h, at.c}
	if cell == nil {
		list[2] = w.EmptyBeside(x, x.DType(), 0)
	}
	if list, err = w.ReturnAll(list); err != nil {
		return nil, nil, nil, err
	}
	return list[0], list[1], list[2], nil
}

func (w *stepRunner) countRows(s states) int64 {
	return s.h.Sizes()[0]
}

// sliceStates returns the states of some sequences.
func (w *stepRunner) sliceStates(s states, first, rows int64) (own states) {
	if w.countRows(s) == rows {
		return s
	}
	own.h = w.Narrow(s.h, 0, first, rows)
	if s.c != nil {
		own.c = w.Narrow(s.c, 0, first, rows)
	}
	return own
}

func (w *stepRunner) concatStates(a, b states) (all states) {
	all.h = w.Cat([]*tensor.Tensor{a.h, b.h}, 0)
	if a.c != nil {
		all.c = w.Cat([]*tensor.Tensor{a.c, b.c}, 0)
	}
	return all
}

// computeStep computes the next states from x, the products of inputs, and the current states.
func (w *stepRunner) computeStep(x *tensor.Tensor, s states) states {
	sums := w.Matmul(s.h, w.weight)
	if w.bias != nil {
		sums = w.Add(sums, w.bias)
	}
	units := sums.Sizes()[1] / countGates(w.cells)
	gate := func(t *tensor.Tensor, i int64) *tensor.Tensor { return w.Narrow(t, 1, i*units, units) }
	switch w.cells {
	case "lstm":
		sums = w.Add(sums, x)
		i, f, o := w.Sigmoid(gate(sums, 0)), w.Sigmoid(gate(sums, 1)), w.Sigmoid(gate(sums, 3))
		c := w.Add(w.Mul(f, s.c), w.Mul(i, w.Tanh(gate(sums, 2))))
		h := w.Mul(o, w.Tanh(c))
		if w.projection != nil {
			h = w.Matmul(h, w.projection)
		}
		return states{h, c}
	case "gru":
		r, z := w.Sigmoid(w.Add(gate(sums, 0), gate(x, 0))), w.Sigmoid(w.Add(gate(sums, 1), gate(x, 1)))
		n := w.Tanh(w.Add(gate(x, 2), w.Mul(r, gate(sums, 2))))
		return states{h: w.Add(n, w.Mul(z, w.Sub(s.h, n)))}
	case "tanh":
		return states{h: w.Tanh(w.Add(sums, x))}
	}
	return states{h: w.Relu(w.Add(sums, x))}
}
