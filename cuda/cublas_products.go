package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/cublas"
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
	"github.com/libtensor/libtensor/engine/warning"
)

// multiplyMatrices computes a product by cuBLAS, if it supports it, and by the project's kernels otherwise.
func multiplyMatrices(op string, w backend.Product) (err error) {
	if w.To.Numel() == 0 {
		return nil
	}
	if w.Self == nil || w.Beta.Equal(0) {
		w.Self, w.Beta = nil, dtype.IntScalar(0)
	}
	if w.A.Lazy()|w.B.Lazy() != 0 {
		s := &owner.Scope{Op: op}
		defer s.Close(&err)
		w.A, w.B = backend.Computed(s, w.A), backend.Computed(s, w.B)
	}
	if w.Turned {
		s := &owner.Scope{Op: op}
		defer s.Close(&err)
		w.B, w.Turned = s.Track(view.Transpose(op, nil, w.B, 0, 1)), false
	}
	if !cublas.Serves(w.To.DType()) || w.A.Numel() == 0 {
		return multiplyTiles(op, w)
	}
	found, err := cublas.Library.Find()
	switch {
	case err != nil:
		return status.Runtimef("%s: %v", op, err)
	case !found:
		if err := warnWithoutCublas(op); err != nil {
			return err
		}
		return multiplyTiles(op, w)
	}
	s := &productCopies{owner.Scope{Op: op}}
	defer s.Close(&err)
	s.multiplyInPlace(w)
	return nil
}

// warnWithoutCublas warns that products are slower than they could be, unless the environment disables cuBLAS.
func warnWithoutCublas(op string) error {
	l := &cublas.Library
	if l.Disabled() {
		return nil
	}
	return warning.CublasMissing.Of(op, "cuBLAS was not found, and libtensor's kernels, which are slower, compute matrix products; "+
		"install it (pip install nvidia-cublas-cu12), set %s to its path, or set it to none to use the kernels without this warning", l.Variable)
}

// productCopies owns the copies that cuBLAS needs.
type productCopies struct{ owner.Scope }

// multiplyInPlace computes a product by cuBLAS in place, or in a temporary.
func (s *productCopies) multiplyInPlace(w backend.Product) {
	d := w.To.DType()
	c, ok := tensoriter.StoredAs(w.To)
	if !ok {
		to := w.To
		w.To = s.Track(tensor.Empty(s.Op, to.Sizes(), d, to.Device()))
		s.multiplyInPlace(w)
		s.copyTensor(to, w.To)
		return
	}
	a, b := s.findLayout(w.A), s.findLayout(w.B)
	// Matrices whose rows are adjacent are to cuBLAS transposed ones whose columns are, and the transposed product is that of b and a.
	if c.Turned {
		a, b, c = b.Transposed(), a.Transposed(), c.Transposed()
	}
	p := cublas.Product{DType: d, TF32: device.Precision() > 0, M: c.Columns, N: c.Rows, K: a.Columns, Batch: c.Batch, A: makeOperand(b),
		B: makeOperand(a), C: makeOperand(c)}
	tensor.Put(unsafe.Pointer(&p.Alpha), d.Compute(), w.Alpha)
	tensor.Put(unsafe.Pointer(&p.Beta), d.Compute(), w.Beta)
	s.Check(withLaunches(s.Op, w.To.Device(), func(steps *launchSequence) { steps.callCublas(w, &p) }))
}

func (s *productCopies) copyTensor(to, from *tensor.Tensor) {
	s.Check(copyTensor(s.Op, backend.Copying{To: to, From: from}))
}

// findLayout returns t in a layout that cuBLAS reads: a copy if neither rows nor columns are contiguous.
func (s *productCopies) findLayout(t *tensor.Tensor) tensoriter.Stored {
	m, ok := tensoriter.StoredAs(t)
	if ok {
		return m
	}
	whole := backend.RowMajorCopy(&s.Scope, t, t.DType())
	m, _ = tensoriter.StoredAs(whole)
	return m
}

func makeOperand(s tensoriter.Stored) cublas.Operand {
	return cublas.Operand{Data: s.Data, Lead: s.Lead, Step: s.Step, Turned: s.Turned}
}

// callCublas computes a product by cuBLAS in the stream. No other product uses the workspace meanwhile, so that results are reproducible.
func (s *launchSequence) callCublas(w backend.Product, p *cublas.Product) {
	h := openHandle(s, &s.blas, cublas.New)
	size := s.findWorkspaceSize()
	workspace := s.allocateTemporary(size)
	if s.err == nil && w.Self != nil && w.Self != w.To {
		s.err = copyTensor(s.op, backend.Copying{To: w.To, From: w.Self})
	}
	if s.err != nil {
		return
	}
	err := h.Multiply(driver.StreamHandle(s.stream), workspace, size, p)
	if cublas.Unsupported(err) { // as for 16-bit floats or batches that the device does not support
		s.err = multiplyTiles(s.op, w)
		return
	}
	s.err = s.makeLibraryError(err)
}

// findWorkspaceSize returns the workspace that cuBLAS recommends for the device, in bytes.
func (s *launchSequence) findWorkspaceSize() int64 {
	if s.major >= 9 {
		return 32 << 20
	}
	return 8 << 20
}
