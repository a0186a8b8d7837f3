package cpu

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	recurrenceKernel        = kernel.Of(kernelapi.Recurrence)
	recurrencePackingKernel = kernel.Of(kernelapi.RecurrencePacking)
)

// cellKinds are the kinds of cells in the kernel's terms.
var cellKinds = map[string]int32{"tanh": kernel.TanhCell, "relu": kernel.ReluCell, "lstm": kernel.LSTMCell, "gru": kernel.GRUCell}

// panelVectors is the number of vectors in a packed panel with units of one gate only.
const panelVectors = 4

// stretch is a range of a step's rows with sequences that all begin there, all end there, or neither: its first row and number of rows, the
// first row's sequence, and its rows in the steps before and after, or -1.
type stretch struct{ at, rows, sequence, before, after int64 }

// listStretches returns those of all steps, in the order of their steps in time.
func listStretches(batches []int64, reverse bool) []stretch {
	starts, order := make([]int64, len(batches)), make([]int, len(batches))
	row := int64(0)
	for t, n := range batches {
		starts[t], order[t] = row, t
		row += n
	}
	if reverse {
		slices.Reverse(order)
	}
	side := func(i int) (start, rows int64) {
		if i < 0 || i >= len(order) {
			return 0, 0
		}
		return starts[order[i]], batches[order[i]]
	}
	row = 0
	var list []stretch
	for i := range order {
		start, rows := side(i)
		before, old := side(i - 1)
		after, coming := side(i + 1)
		from := int64(0)
		for _, to := range []int64{min(old, coming, rows), min(max(old, coming), rows), rows} {
			if to == from {
				continue
			}
			s := stretch{start + from, to - from, from, before + from, after + from}
			if to > old {
				s.before = -1
			}
			if to > coming {
				s.after = -1
			}
			list, from = append(list, s), to
		}
	}
	return list
}

// recurring is the state of a layer: k is a step of it, with the arguments that all steps share.
type recurring struct {
	owner.Scope
	w             backend.Recurrence
	k             kernel.Recurrence
	fn, packing   uintptr
	rounded       kernel.GemmRounded // the products of states with bfloat16 weights
	units, gates  int64
	lanes, panels int64
}

// runRecurrence runs the cells of a layer over all steps, one after another, whose units threads share.
func runRecurrence(op string, w backend.Recurrence) (err error) {
	if w.Hidden.Numel() == 0 {
		return nil
	}
	r := &recurring{Scope: owner.Scope{Op: op}, w: w, units: w.Hidden.Sizes()[1]}
	defer r.Close(&err)
	r.gates = w.Weight.Sizes()[0] / r.units
	r.k.Units, r.k.Kind = r.units, cellKinds[w.Cell]
	if r.fn, err = recurrenceKernel.For(op, w.Hidden.DType()); err != nil {
		return err
	}
	if r.packing, err = recurrencePackingKernel.For(op, w.Hidden.DType()); err != nil {
		return err
	}
	var p kernel.RecurrencePacking
	kernel.Call(r.packing, unsafe.Pointer(&p))
	r.lanes = p.Lanes
	list := listStretches(w.Batches, w.Reverse)
	if w.Slopes == nil {
		r.runForward(list)
	} else {
		r.runBackward(list)
	}
	return nil
}

// panelsOf sets the size of packed panels: units of all gates, or of one.
func (r *recurring) panelsOf(vectors, units int64) {
	r.k.Vectors = vectors
	r.panels = (r.units + units - 1) / units
}

// packWeights allocates a packed matrix and packs parts into it.
func (r *recurring) packWeights(depth int64, parts ...kernel.RecurrencePacking) {
	size := r.w.Weight.DType().Size()
	r.k.Weight = newScratch(&r.Scope, r.panels*depth*r.k.Vectors*r.lanes*size)
	for _, p := range parts {
		p.Packed, p.Whole, p.Vectors, p.Units = r.k.Weight, depth, r.k.Vectors, r.units
		parallel.For(r.panels, max(Grain/(p.Depth*p.Vectors*r.lanes), 1), func(begin, end int64) {
			part := p
			part.Begin, part.End = begin, end
			kernel.Call(r.packing, unsafe.Pointer(&part))
		})
	}
}

// runStep runs k, with its packed panels distributed over threads.
func (r *recurring) runStep(k kernel.Recurrence) {
	work := k.Rows * k.Vectors * r.lanes * (k.Depth + cellWork)
	parallel.For(r.panels, max(stepWork/work, 1), func(begin, end int64) {
		part := k
		part.Begin, part.End = begin, end
		kernel.Call(r.fn, unsafe.Pointer(&part))
	})
}

// cellWork is the approximate cost of a cell in products, and stepWork the work that justifies another thread.
const cellWork, stepWork = 64, 8 * Grain

// rowAddress returns the address of row i of a matrix, or 0 of none.
func rowAddress(t *tensor.Tensor, i int64) uintptr {
	if t == nil {
		return 0
	}
	return at(t, i*t.Sizes()[1])
}

// eitherRowAddress returns the address of row i of t, or, if i is -1, of row j of other.
func eitherRowAddress(t *tensor.Tensor, i int64, other *tensor.Tensor, j int64) uintptr {
	if i < 0 {
		return rowAddress(other, j)
	}
	return rowAddress(t, i)
}

// rowsOf returns rows of a matrix from i on, or, if i is -1, of other from j on.
func rowsOf(t *tensor.Tensor, i int64, other *tensor.Tensor, j, rows int64) []byte {
	if i < 0 {
		t, i = other, j
	}
	width := t.Sizes()[1] * t.DType().Size()
	return bytesOf(t)[i*width : (i+rows)*width]
}

func (r *recurring) runForward(list []stretch) {
	r.panelsOf(panelVectors, panelVectors*r.lanes)
	gate := int64(0)
	if r.gates > 1 {
		r.panelsOf(r.gates, r.lanes)
		gate = r.units * r.units
	}
	r.k.Depth, r.k.FromRow = r.units, r.units
	rounded := r.w.Weight.DType() == dtype.BFloat16
	if rounded {
		r.prepareRounded(list)
	} else if len(list) > 1 {
		r.packWeights(r.units, kernel.RecurrencePacking{Matrix: at(r.w.Weight, 0), Depth: r.units, Step: 1, Unit: r.units, Gate: gate})
	} else { // packing would take as long as the product
		sums := r.Track(tensor.Empty(r.Op, r.w.X.Sizes(), r.w.X.DType(), device.Host))
		r.Check(runProduct(r.Op, backend.Product{To: sums, A: r.w.H, B: r.w.Weight, Turned: true, Alpha: dtype.IntScalar(1)}))
		r.k.Depth = 0
		r.k.Sums = at(sums, 0)
	}
	if r.w.Bias != nil {
		r.k.Bias = at(r.w.Bias, 0)
	}
	for _, s := range list {
		k := r.k
		k.Rows, k.H = s.rows, eitherRowAddress(r.w.Hidden, s.before, r.w.H, s.sequence)
		k.From, k.C = k.H, eitherRowAddress(r.w.Cells, s.before, r.w.C, s.sequence)
		k.X, k.Gates = rowAddress(r.w.X, s.at), rowAddress(r.w.Gates, s.at)
		k.Cell, k.Hidden = rowAddress(r.w.Cells, s.at), rowAddress(r.w.Hidden, s.at)
		if rounded {
			r.multiplyRounded(k)
		}
		r.runStep(k)
		if s.after >= 0 {
			continue
		}
		copy(rowsOf(r.w.Last, s.sequence, nil, 0, s.rows), rowsOf(r.w.Hidden, s.at, nil, 0, s.rows))
		if r.w.LastCell != nil {
			copy(rowsOf(r.w.LastCell, s.sequence, nil, 0, s.rows), rowsOf(r.w.Cells, s.at, nil, 0, s.rows))
		}
	}
}

// prepareRounded prepares products of states with bfloat16 weights: memory for the sums of a step and, for several steps, packed weights.
func (r *recurring) prepareRounded(list []stretch) {
	columns, most := r.gates*r.units, int64(0)
	for _, s := range list {
		most = max(most, s.rows)
	}
	r.k.Depth, r.k.Sums = 0, newScratch(&r.Scope, most*columns*dtype.Float32.Size())
	g := kernel.Gemm{Batch: 1, N: columns, K: r.units, B: at(r.w.Weight, 0), ARow: r.units, ACol: 1, BRow: 1, BCol: r.units, CRow: columns,
		CCol: 1, DRow: columns, DCol: 1}
	tensor.Put(unsafe.Pointer(&g.Alpha), dtype.Float32, dtype.IntScalar(1))
	r.rounded = kernel.GemmRounded{Gemm: g}
	if len(list) == 1 { // packing would take as long as the product
		return
	}
	packRounded(&r.Scope, &r.rounded)
}

// multiplyRounded computes the sums of k.
func (r *recurring) multiplyRounded(k kernel.Recurrence) {
	g := r.rounded
	g.A, g.C, g.M = k.From, k.Sums, k.Rows
	panels := ceilDiv(g.N, roundedPanel)
	parallel.For(panels, max(stepWork/(g.M*g.K*roundedPanel), 1), func(begin, end int64) {
		part := g
		part.Column = begin * roundedPanel
		part.N = min(end*roundedPanel, g.N) - part.Column
		part.C += uintptr(part.Column * dtype.Float32.Size())
		part.D = part.C
		if part.B += uintptr(part.Column * g.BCol * dtype.BFloat16.Size()); part.Packed == 0 {
			part.Column = 0
		}
		kernel.Call(roundedKernel(), unsafe.Pointer(&part))
	})
}

func (r *recurring) runBackward(list []stretch) {
	r.panelsOf(panelVectors, panelVectors*r.lanes)
	depth := r.gates * r.units
	square := r.units * r.units
	whole := kernel.RecurrencePacking{Matrix: at(r.w.Weight, 0), Depth: depth, Step: r.units, Unit: 1}
	if r.w.Cell == "gru" { // whose slopes begin with the last gate
		last, rest := whole, whole
		last.Matrix, last.Depth = at(r.w.Weight, 2*square), r.units
		rest.First, rest.Depth = r.units, 2*r.units
		r.packWeights(depth, last, rest)
	} else {
		r.packWeights(depth, whole)
	}
	r.k.Backward, r.k.FromRow = 1, r.w.Slopes.Sizes()[1]
	weight := r.k.Weight
	for _, s := range slices.Backward(list) {
		k := r.k
		k.Rows, k.Weight = s.rows, 0
		if s.after >= 0 {
			k.Weight, k.Depth, k.From = weight, depth, rowAddress(r.w.Slopes, s.after)
		}
		k.H, k.C = eitherRowAddress(r.w.Hidden, s.before, r.w.H, s.sequence), eitherRowAddress(r.w.Cells, s.before, r.w.C, s.sequence)
		k.Gates, k.Cell, k.Hidden = rowAddress(r.w.Gates, s.at), rowAddress(r.w.Cells, s.at), rowAddress(r.w.Hidden, s.at)
		k.Given, k.Slopes = rowAddress(r.w.Given, s.at), rowAddress(r.w.Slopes, s.at)
		k.Carry, k.CarryCell = rowAddress(r.w.Last, s.sequence), rowAddress(r.w.LastCell, s.sequence)
		r.runStep(k)
		copy(rowsOf(r.w.Previous, s.at, nil, 0, s.rows), rowsOf(r.w.Hidden, s.before, r.w.H, s.sequence, s.rows))
		if s.before >= 0 {
			continue
		}
		r.runStep(kernel.Recurrence{Kind: kernel.CarryCell, Backward: 1, Units: r.units, Vectors: r.k.Vectors, FromRow: r.k.FromRow, Rows: s.rows,
			Weight: weight, Depth: depth, From: k.Slopes, Carry: k.Carry})
	}
}
