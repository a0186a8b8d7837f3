package cpu

import (
	"math"
	"math/cmplx"
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

// rangeArgs mirrors range_args of ranges.h.
type rangeArgs struct {
	out               uintptr
	begin, end, steps int64
	istart, istep     int64
	start, step, stop [2]float64
}

// fillRange computes the elements of a sequence directly in the result, or in a contiguous temporary if it has gaps or consists of powers of another
// dtype.
func fillRange(op string, w backend.Range) (err error) {
	t, d := w.To, w.To.DType()
	if w.Base != nil {
		d = w.Exponents()
	}
	fn, err := kernel.Of(w.Kernel).For(op, d)
	if err != nil || t.Numel() == 0 {
		return err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	to := t
	if d != t.DType() || !t.IsContiguous() {
		to = s.Track(tensor.Empty(op, t.Sizes(), d, device.Host))
	}
	args := rangeArgs{out: at(to, 0), steps: t.Numel(), istart: w.Start.Int(), istep: w.Step.Int(), start: parts(w.Start.Complex()), step: parts(w.Step.Complex()), stop: parts(w.Stop)}
	parallel.For(args.steps, Grain, func(begin, end int64) {
		piece := args
		piece.begin, piece.end = begin, end
		kernel.Call(fn, unsafe.Pointer(&piece))
	})
	switch {
	case w.Base != nil && d == dtype.Float64:
		base := s.Track(tensor.Empty(op, nil, d, device.Host))
		elements[float64](base)[0] = *w.Base
		if err := elementwise(op, backend.Elementwise{Kernel: kernelapi.Pow, Compute: d, Operands: [backend.MaxOperands]*tensor.Tensor{to, base, to}}); err != nil {
			return err
		}
	case w.Base != nil:
		powers := elements[complex128](to)
		for i, x := range powers {
			powers[i] = power(*w.Base, x)
		}
	}
	if to != t {
		return copyTo(op, backend.Copying{To: t, From: to})
	}
	return nil
}

func parts(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} }

// power returns base to the power of x; 0 to the power of NaN is NaN. Roots of negative numbers are complex.
func power(base float64, x complex128) complex128 {
	switch {
	case imag(x) == 0 && !(base < 0 && real(x) != math.Trunc(real(x))):
		return complex(math.Pow(base, real(x)), 0)
	case base == 0 && math.IsNaN(real(x)):
		return cmplx.NaN()
	}
	return cmplx.Pow(complex(base, 0), x)
}
