package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// runElementwiseAnyDType is runElementwise for operands of any dtype.
func runElementwiseAnyDType(op string, w backend.Elementwise) error {
	if err := runElementwise(op, w); err != errFloat8 {
		return err
	}
	return withoutFloat8(op, w, runElementwise)
}

// hasMatchAnyDType is hasMatch for operands of any dtype.
func hasMatchAnyDType(op string, w backend.Elementwise) (bool, error) {
	found, err := hasMatch(op, w)
	if err != errFloat8 {
		return found, err
	}
	err = withoutFloat8(op, w, func(op string, w backend.Elementwise) (err error) {
		found, err = hasMatch(op, w)
		return err
	})
	return found, err
}

// runReductionAnyDType is runReduction for operands of any dtype.
func runReductionAnyDType(op string, w backend.Reduction) error {
	if err := runReduction(op, w); err != errFloat8 {
		return err
	}
	return reduceWithoutFloat8(op, w)
}

// needsFloat8 reports whether a kernel that computes an operand in dtype d reads or writes it as an eight-bit float, which kernels do not
// convert.
func needsFloat8(t *tensor.Tensor, d dtype.DType) bool {
	return t != nil && t.DType().IsFloat8() && t.DType() != d
}

// decodeInput replaces an input that needsFloat8 by a copy of dtype d.
func decodeInput(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if !needsFloat8(t, d) {
		return t
	}
	made := newOutput(s, t, d)
	s.Check(copyTo(s.Op, backend.Copying{To: made, From: t}))
	return made
}

// newOutput returns t, or, if t needsFloat8, a temporary output, which storeOutput copies to t.
func newOutput(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if !needsFloat8(t, d) {
		return t
	}
	return s.Track(tensor.Empty(s.Op, t.Sizes(), d, device.Host))
}

func storeOutput(s *owner.Scope, t, made *tensor.Tensor) {
	if made != t {
		s.Check(copyTo(s.Op, backend.Copying{To: t, From: made}))
	}
}

// withoutFloat8 runs a kernel over copies of the operands that need it.
func withoutFloat8(op string, w backend.Elementwise, run func(string, backend.Elementwise) error) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	operands := w.Operands
	for i, t := range operands[:len(w.Kernel.Operands())] {
		copied := decodeInput
		if i < w.Kernel.Outputs() {
			copied = newOutput
		}
		w.Operands[i] = copied(&s, t, tensoriter.OperandDType(w.Kernel.Operands()[i], w.Compute))
	}
	s.Check(run(op, w))
	for i := range w.Kernel.Outputs() {
		storeOutput(&s, operands[i], w.Operands[i])
	}
	return nil
}

// reduceWithoutFloat8 is withoutFloat8 for a reduction.
func reduceWithoutFloat8(op string, w backend.Reduction) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	w.In = decodeInput(&s, w.In, w.Compute)
	out := w.Out
	for i, t := range out {
		w.Out[i] = newOutput(&s, t, dtype.Float32)
	}
	s.Check(runReduction(op, w))
	for i, t := range out {
		storeOutput(&s, t, w.Out[i])
	}
	return nil
}
