package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

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
	s.Check(withCurrentStream(op, to.Device(), func(m *deviceStream) error { return launchEntry(m, op, findEntry(w.Kernel, d), r.Steps, &r) }))
	if w.Base != nil {
		base := s.Number(dtype.FloatScalar(*w.Base))
		s.Check(runElementwise(op, backend.Elementwise{Kernel: kernelapi.Pow, Compute: d,
			Operands: [backend.MaxOperands]*tensor.Tensor{to, base, to}}))
	}
	if to != w.To {
		s.Check(copyTensor(op, backend.Copying{To: w.To, From: to}))
	}
	return nil
}
