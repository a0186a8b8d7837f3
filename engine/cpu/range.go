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

// fillRange computes the elements of a sequence directly in the result, or in a contiguous temporary if it has gaps or consists of powers
// of another dtype.
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
	args := kernelapi.RangeArgs{
		Out: at(to, 0), Steps: t.Numel(), Istart: w.Start.Int(), Istep: w.Step.Int(),
		Start: splitComplex(w.Start.Complex()), Step: splitComplex(w.Step.Complex()), Stop: splitComplex(w.Stop),
	}
	parallel.For(args.Steps, Grain, func(begin, end int64) {
		piece := args
		piece.Begin, piece.End = begin, end
		kernel.Call(fn, unsafe.Pointer(&piece))
	})
	switch {
	case w.Base != nil && d == dtype.Float64:
		base := s.Track(tensor.Empty(op, nil, d, device.Host))
		elementsOf[float64](base)[0] = *w.Base
		if err := runElementwise(op, backend.Elementwise{Kernel: kernelapi.Pow, Compute: d,
			Operands: [backend.MaxOperands]*tensor.Tensor{to, base, to}}); err != nil {
			return err
		}
	case w.Base != nil:
		powers := elementsOf[complex128](to)
		for i, x := range powers {
			powers[i] = powComplex(*w.Base, x)
		}
	}
	if to != t {
		return copyTo(op, backend.Copying{To: t, From: to})
	}
	return nil
}

func splitComplex(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} }

// powComplex returns base to the power of x; 0 to the power of NaN is NaN. Roots of negative numbers are complex.
func powComplex(base float64, x complex128) complex128 {
	switch {
	case imag(x) == 0 && !(base < 0 && real(x) != math.Trunc(real(x))):
		return complex(math.Pow(base, real(x)), 0)
	case base == 0 && math.IsNaN(real(x)):
		return cmplx.NaN()
	}
	return cmplx.Pow(complex(base, 0), x)
}
