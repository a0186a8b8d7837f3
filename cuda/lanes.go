package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// lanes mirrors lt::Lanes of kernels/lanes.h.
type lanes struct {
	in, with              uintptr
	out                   [2]uintptr
	count, n, kept, inner int64
}

// scan runs a kernel along lanes, each of which has a thread.
func scan(op string, w backend.Lanes) error {
	if w.Out.Numel() == 0 {
		return nil
	}
	l := lanes{in: uintptr(w.In.Data()), count: w.Outer * w.Inner, n: w.N, inner: w.Inner}
	l.kept = w.Out.Numel() / l.count
	l.out[0] = uintptr(w.Out.Data())
	if w.With != nil {
		l.with = uintptr(w.With.Data())
	}
	if w.Indices != nil {
		l.out[1] = uintptr(w.Indices.Data())
	}
	return on(op, w.In.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, w.In.DType()), l.count, &l) })
}

// rangeArgs mirrors range_args of the unit ranges.
type rangeArgs struct {
	out               uintptr
	_, _, steps       int64 // of the lines, which threads take the place of
	istart, istep     int64
	start, step, stop [2]float64
}

// fillRange computes the elements of a sequence, in a contiguous copy where the result has gaps or consists of powers.
func fillRange(op string, w backend.Range) error {
	to, d := w.To, w.To.DType()
	if to.Numel() == 0 {
		return nil
	}
	if w.Base != nil {
		d = w.Exponents()
	}
	s := owner.Scope{Op: op}
	defer s.Close()
	if d != to.DType() || !to.IsContiguous() {
		to = s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(op, to.Sizes(), d, to.Device()) })
	}
	if s.Err != nil {
		return s.Err
	}
	parts := func(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} }
	r := rangeArgs{out: uintptr(to.Data()), steps: to.Numel(), istart: w.Start.Int(), istep: w.Step.Int(),
		start: parts(w.Start.Complex()), step: parts(w.Step.Complex()), stop: parts(w.Stop)}
	s.Do(func() error {
		return on(op, to.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, d), r.steps, &r) })
	})
	if w.Base != nil {
		if base := s.Number(dtype.FloatScalar(*w.Base)); s.Err == nil {
			s.Err = elementwise(op, backend.Elementwise{Kernel: power, Compute: d, Operands: [backend.MaxOperands]*tensor.Tensor{to, base, to}})
		}
	}
	if to != w.To {
		s.Do(func() error { return copyTo(op, backend.Copying{To: w.To, From: to}) })
	}
	return s.Err
}

var power = kernel.Get("pow")
