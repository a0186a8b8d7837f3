package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// softLanes mirrors lt::SoftLanes of kernels/soft.h.
type softLanes struct {
	in, with, out   uintptr
	lanes, n, inner int64
	strands, across int32
}

// soft runs a kernel of the unit softmax. A lane is the elements along the reduced dimension; the threads of a block that share it are its
// strands.
func soft(op string, w backend.Lanes) error {
	l := softLanes{in: uintptr(w.In.Data()), out: uintptr(w.Out.Data()), lanes: w.Outer * w.Inner, n: w.N, inner: w.Inner}
	if w.With != nil {
		l.with = uintptr(w.With.Data())
	}
	most := int64(threads)
	if w.Inner > 1 { // adjacent threads load elements of adjacent lanes
		l.across, most = 1, 8
	}
	l.strands = strands(w.N, softBatch, most)
	blocks := (l.lanes*int64(l.strands) + threads - 1) / threads
	return on(op, w.In.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, w.In.DType()), blocks*threads, &l) })
}

const (
	softBatch    = 8 // elements of a strand
	scannedBatch = 8
	manyLanes    = 1 << 12
)

// scanning mirrors lt::Scanning of kernels/scanning.h.
type scanning struct {
	in                              uintptr
	out                             [2]uintptr
	totals                          uintptr
	lanes, n, inner, pieces, length int64
	strands                         int32
	across, totaling                bool
	_                               [2]byte
}

// scan runs a kernel along lanes: one launch, or two for a few long lanes, which are divided into blocks.
func scan(op string, w backend.Lanes) error {
	if w.Out.Numel() == 0 {
		return nil
	}
	e := entry(w.Kernel, w.In.DType())
	if unit, _ := kernels.Unit(e); unit == "softmax" {
		return soft(op, w)
	}
	l := scanning{in: uintptr(w.In.Data()), lanes: w.Outer * w.Inner, n: w.N, inner: w.Inner}
	l.out[0] = uintptr(w.Out.Data())
	if w.Indices != nil {
		l.out[1] = uintptr(w.Indices.Data())
	}
	l.share()
	return stepping(op, w.In.Device(), func(s *steps) {
		if l.pieces > 1 {
			l.totals, l.totaling = s.take(l.lanes*l.pieces*stateBytes), true
			step(s, e, l.threads(), &l)
			l.totaling = false
		}
		step(s, e, l.threads(), &l)
	})
}

const stateBytes = 16 // of the largest state of a lane

// share sets the number of strands and blocks of lanes, by the shape alone.
func (l *scanning) share() {
	most := int64(threads)
	if l.inner > 1 { // adjacent threads load elements of adjacent lanes
		l.across, most = true, 8
		if l.lanes >= manyLanes {
			most = 1
		}
	}
	l.strands = strands(l.n, scannedBatch, most)
	tile := int64(l.strands) * scannedBatch
	l.pieces, l.length = 1, (l.n+tile-1)/tile*tile
	if cut := enoughStrands / (l.lanes * int64(l.strands)); cut > 1 && l.n > tile*manyBatches {
		l.length = max((l.n+cut-1)/cut, tile)
		l.length = (l.length + tile - 1) / tile * tile
		l.pieces = (l.n + l.length - 1) / l.length
	}
}

// threads returns the number of threads for all blocks of lanes.
func (l *scanning) threads() int64 {
	return (l.lanes*l.pieces*int64(l.strands) + threads - 1) / threads * threads
}

// fillRange computes the elements of a sequence, in a contiguous copy where the result has gaps or consists of powers.
func fillRange(op string, w backend.Range) (err error) {
	to, d := w.To, w.To.DType()
	if to.Numel() == 0 {
		return nil
	}
	if w.Base != nil {
		d = w.Exponents()
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	if d != to.DType() || !to.IsContiguous() {
		to = s.Track(tensor.Empty(op, to.Sizes(), d, to.Device()))
	}
	parts := func(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} }
	// Begin and End are those of the CPU's threads.
	r := kernelapi.RangeArgs{Out: uintptr(to.Data()), Steps: to.Numel(), Istart: w.Start.Int(), Istep: w.Step.Int(),
		Start: parts(w.Start.Complex()), Step: parts(w.Step.Complex()), Stop: parts(w.Stop)}
	s.Check(on(op, to.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, d), r.Steps, &r) }))
	if w.Base != nil {
		base := s.Number(dtype.FloatScalar(*w.Base))
		s.Check(elementwise(op, backend.Elementwise{Kernel: kernelapi.Pow, Compute: d,
			Operands: [backend.MaxOperands]*tensor.Tensor{to, base, to}}))
	}
	if to != w.To {
		s.Check(copyTo(op, backend.Copying{To: w.To, From: to}))
	}
	return nil
}
