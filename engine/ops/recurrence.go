package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// cellGates is how many gates each kind of cells has.
var cellGates = map[string]int64{"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}

// recurrence is a layer of cells in one direction.
type recurrence struct {
	*scope
	backend.Recurrence
	rows, sequences, units, gates int64
}

// newRecurrence starts a recurrent layer, whose operands it checks. weight has the dtype and device of
// like.
func newRecurrence(s *scope, x, h, c, weight, like *tensor.Tensor, batches []int64, reverse bool, cells string) *recurrence {
	r := &recurrence{scope: s}
	gates, ok := cellGates[cells]
	if !ok {
		r.Failf("cells must be 'tanh', 'relu', 'lstm' or 'gru', but got '%s'", cells)
	}
	if d := x.DType(); d != dtype.Float32 && d != dtype.Float64 {
		r.Failf("operands must be of float32 or float64, but are of %v", d)
	}
	for i, n := range batches {
		if n < 0 || i > 0 && n > batches[i-1] {
			r.Failf("batch sizes must not increase, but are %v", batches)
		}
		r.rows = shape.Plus(r.rows, n)
	}
	if len(batches) > 0 {
		r.sequences = batches[0]
	}
	if h.Dim() == 2 {
		r.units = h.Sizes()[1]
	}
	r.gates = gates
	r.Cell, r.Batches, r.Reverse = cells, batches, reverse
	r.checkMatrix("x", x, x, r.rows, r.gates*r.units)
	r.checkMatrix("the state", x, h, r.sequences, r.units)
	r.checkMatrix("weight", like, weight, r.gates*r.units, r.units)
	if cells == "lstm" {
		r.checkMatrix("the cells' state", x, c, r.sequences, r.units)
	} else if c != nil {
		r.Failf("a cell state is only supported for 'lstm'")
	}
	return r
}

// checkMatrix returns an error for a matrix of other sizes, or of another dtype or device than x.
func (r *recurrence) checkMatrix(name string, x, t *tensor.Tensor, sizes ...int64) {
	switch {
	case t == nil:
		r.Failf("%s must be given", name)
	case !slices.Equal(t.Sizes(), sizes):
		r.Failf("%s must have sizes %v, but has %v", name, sizes, t.Sizes())
	case t.DType() != x.DType() || t.Device() != x.Device():
		r.Failf("%s must be of %v on %v as x is, but is of %v on %v", name, x.DType(), x.Device(), t.DType(), t.Device())
	}
}

// toRowMajor returns t in row-major order; nil stays nil.
func (r *recurrence) toRowMajor(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return r.castRowMajor(t, t.DType())
}

// NnLinearRounded is Linear, for operands of float32 or float64, or for float32 and a bfloat16 weight, with which kernels multiply self
// rounded to bfloat16, and sum in float32.
func NnLinearRounded(self, weight, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("nn_linear_rounded")
	defer s.Close(&err)
	if d := self.DType(); (d == dtype.Float32 || d == dtype.Float64) && Linears(self, weight, bias) {
		return Linear(s.Op, self, weight, bias)
	}
	if self.DType() != dtype.Float32 || !backend.RoundsProducts(weight.DType()) || self.Device().Type != device.CPU ||
		weight.Device() != self.Device() {
		s.Failf("expected self and weight of one of float32 and float64, or of float32 and bfloat16 on a CPU with tile registers, "+
			"but got %v on %v and %v on %v", self.DType(), self.Device(), weight.DType(), weight.Device())
	}
	if self.Dim() != 2 || weight.Dim() != 2 || self.Sizes()[1] != weight.Sizes()[1] {
		s.Failf("expected matrices of shape (N, K) and (M, K), but got sizes %v and %v", self.Sizes(), weight.Sizes())
	}
	n := weight.Sizes()[0]
	if bias != nil && (bias.DType() != self.DType() || bias.Device() != self.Device() || !slices.Equal(bias.Sizes(), []int64{n})) {
		s.Failf("expected bias of %v on %v with size %d, but got %v on %v with sizes %v", self.DType(), self.Device(), n, bias.DType(),
			bias.Device(), bias.Sizes())
	}
	to := s.newEmpty(self, self.DType(), self.Sizes()[0], n)
	s.Check(backend.On(to).Product(s.Op, backend.Product{To: to, Self: bias, A: self, B: weight, Turned: true, Alpha: unscale, Beta: unscale}))
	return s.Return(to)
}

// NnRecurrence runs the cells of a layer in one direction over all steps, whose products of inputs are x.
func NnRecurrence(x, h, cell, weight, bias *tensor.Tensor, batches []int64, reverse bool,
	cells string) (output, hn, cn, gates, kept *tensor.Tensor, err error) {
	like := x
	if x.DType() == dtype.Float32 && x.Device().Type == device.CPU && weight.Device().Type == device.CPU &&
		backend.RoundsProducts(weight.DType()) {
		like = weight
	}
	s := newScope("nn_recurrence")
	defer s.Close(&err)
	r := newRecurrence(s, x, h, cell, weight, like, batches, reverse, cells)
	if bias != nil {
		r.checkMatrix("bias", x, bias, r.gates*r.units)
	}
	d := x.DType()
	r.X, r.H, r.C, r.Weight, r.Bias = r.toRowMajor(x), r.toRowMajor(h), r.toRowMajor(cell), r.toRowMajor(weight), r.toRowMajor(bias)
	saved, savedCells, cellStates := int64(0), int64(0), int64(0)
	if r.gates > 1 && like == x { // no backward pass follows rounded products
		saved, savedCells = r.rows, r.rows
	}
	if cell != nil {
		savedCells, cellStates = r.rows, r.sequences // each step reads the cells of the one before
	}
	list := []*tensor.Tensor{r.newEmpty(x, d, r.rows, r.units), r.newEmpty(x, d, r.sequences, r.units), r.newEmpty(x, d, cellStates, r.units),
		r.newEmpty(x, d, saved, r.gates*r.units), r.newEmpty(x, d, savedCells, r.units)}
	r.Hidden, r.Last = list[0], list[1]
	if saved > 0 {
		r.Gates = list[3]
	}
	if savedCells > 0 {
		r.Cells = list[4]
	}
	if cell != nil {
		r.LastCell = list[2]
	}
	r.Check(backend.On(x).Recur(r.Op, r.Recurrence))
	list, err = r.ReturnAll(list)
	return list[0], list[1], list[2], list[3], list[4], err
}

// NnRecurrenceGradient returns the gradients of the sums of gates, with a fourth for a GRU, which comes first, those of the initial states,
// and the states before each step.
func NnRecurrenceGradient(given, givenLast, givenCell, gates, kept, output, h, cell, weight *tensor.Tensor, batches []int64, reverse bool,
	cells string) (slopes, ofState, ofCell, previous *tensor.Tensor, err error) {
	sums := gates
	if cellGates[cells] == 1 { // they save nothing but their states
		sums = output
	}
	s := newScope("nn_recurrence_gradient")
	defer s.Close(&err)
	r := newRecurrence(s, sums, h, cell, weight, sums, batches, reverse, cells)
	r.checkMatrix("the gradient", output, given, r.rows, r.units)
	r.checkMatrix("output", gates, output, r.rows, r.units)
	r.checkMatrix("the gradient of the last state", output, givenLast, r.sequences, r.units)
	if r.gates > 1 {
		r.checkMatrix("what cells keep", output, kept, r.rows, r.units)
	}
	if cell != nil {
		r.checkMatrix("the gradient of the last cells' state", output, givenCell, r.sequences, r.units)
	}
	d := output.DType()
	r.Given, r.Hidden, r.H, r.C, r.Weight = r.toRowMajor(given), r.toRowMajor(output), r.toRowMajor(h), r.toRowMajor(cell),
		r.toRowMajor(weight)
	if r.gates > 1 {
		r.Gates, r.Cells = r.toRowMajor(gates), r.toRowMajor(kept)
	}
	width := r.gates
	if cells == "gru" {
		width = 4
	}
	list := []*tensor.Tensor{r.newEmpty(output, d, r.rows, width*r.units), r.copyContiguous(givenLast, d), r.newEmpty(output, d, 0, r.units),
		r.newEmpty(output, d, r.rows, r.units)}
	if cell != nil {
		list[2] = r.copyContiguous(givenCell, d)
		r.LastCell = list[2]
	}
	r.Slopes, r.Last, r.Previous = list[0], list[1], list[3]
	r.Check(backend.On(output).Recur(r.Op, r.Recurrence))
	list, err = r.ReturnAll(list)
	return list[0], list[1], list[2], list[3], err
}

// NnConjugate returns, for decreasing lengths, how many are longer than 0, than 1 and so on (the conjugate partition). Applied twice, it
// returns the lengths.
func NnConjugate(lengths *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("nn_conjugate")
	defer s.Close(&err)
	list, err := readDecreasingCounts(lengths)
	if err != nil {
		return nil, err
	}
	most := int64(0)
	if len(list) > 0 {
		most = list[0]
	}
	made := s.newEmpty(lengths, dtype.Int64, most)
	s.Check(backend.WriteInts(s.Op, made, func(to []int64) {
		j := len(list)
		for i := range to {
			for list[j-1] <= int64(i) {
				j--
			}
			to[i] = int64(j)
		}
	}))
	return s.Return(made)
}

// readDecreasingCounts returns the positive counts in t, none larger than the one before.
func readDecreasingCounts(t *tensor.Tensor) ([]int64, error) {
	list, err := NnCounts(t)
	for i, n := range list {
		if n <= 0 || i > 0 && n > list[i-1] {
			return nil, status.Runtimef("nn_counts: counts must be positive and must not increase, but are %v", list)
		}
	}
	return list, err
}

// NnPlaces returns the position of each row of packed sequences in a matrix with one row of sequences per step. counts holds the number of
// sequences at each step.
func NnPlaces(counts *tensor.Tensor, sequences int64) (_ *tensor.Tensor, err error) {
	s := newScope("nn_places")
	defer s.Close(&err)
	list, err := readDecreasingCounts(counts)
	if err != nil {
		return nil, err
	}
	rows := int64(0)
	for _, n := range list {
		rows = shape.Plus(rows, n)
	}
	places := s.newEmpty(counts, dtype.Int64, rows)
	s.Check(backend.WriteInts(s.Op, places, func(to []int64) {
		row := 0
		for t, n := range list {
			for b := range n {
				to[row], row = int64(t)*sequences+b, row+1
			}
		}
	}))
	return s.Return(places)
}
