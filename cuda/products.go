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
)

// multiply computes a product by cuBLAS, if it supports it, and by the project's kernels otherwise.
func multiply(op string, w backend.Product) (err error) {
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
		return multiplyTiles(op, w)
	}
	s := &products{owner.Scope{Op: op}}
	defer s.Close(&err)
	s.multiply(w)
	return nil
}

// products owns the copies that cuBLAS needs.
type products struct{ owner.Scope }

// multiply computes a product by cuBLAS in place, or in a temporary.
func (s *products) multiply(w backend.Product) {
	d := w.To.DType()
	c, ok := tensoriter.StoredAs(w.To)
	if !ok {
		to := w.To
		w.To = s.Track(tensor.Empty(s.Op, to.Sizes(), d, to.Device()))
		s.multiply(w)
		s.copy(to, w.To)
		return
	}
	a, b := s.stored(w.A), s.stored(w.B)
	// Matrices whose rows are adjacent are to cuBLAS transposed ones whose columns are, and the transposed product is that of b and a.
	if c.Turned {
		a, b, c = b.Transposed(), a.Transposed(), c.Transposed()
	}
	p := cublas.Product{DType: d, TF32: device.Precision() > 0, M: c.Columns, N: c.Rows, K: a.Columns, Batch: c.Batch, A: operand(b),
		B: operand(a), C: operand(c)}
	tensor.Put(unsafe.Pointer(&p.Alpha), d.Compute(), w.Alpha)
	tensor.Put(unsafe.Pointer(&p.Beta), d.Compute(), w.Beta)
	s.Check(stepping(s.Op, w.To.Device(), func(steps *steps) { steps.multiply(w, &p) }))
}

func (s *products) copy(to, from *tensor.Tensor) {
	s.Check(copyTo(s.Op, backend.Copying{To: to, From: from}))
}

// stored returns t in a layout that cuBLAS reads: a copy if neither rows nor columns are contiguous.
func (s *products) stored(t *tensor.Tensor) tensoriter.Stored {
	m, ok := tensoriter.StoredAs(t)
	if ok {
		return m
	}
	whole := backend.RowMajorCopy(&s.Scope, t, t.DType())
	m, _ = tensoriter.StoredAs(whole)
	return m
}

func operand(s tensoriter.Stored) cublas.Operand {
	return cublas.Operand{Data: s.Data, Lead: s.Lead, Step: s.Step, Turned: s.Turned}
}

// multiply computes a product by cuBLAS in the stream. No other product uses the workspace meanwhile, so that results are reproducible.
func (s *steps) multiply(w backend.Product, p *cublas.Product) {
	h := opened(s, &s.blas, cublas.New)
	size := s.workspaceSize()
	workspace := s.take(size)
	if s.err == nil && w.Self != nil && w.Self != w.To {
		s.err = copyTo(s.op, backend.Copying{To: w.To, From: w.Self})
	}
	if s.err != nil {
		return
	}
	err := h.Multiply(driver.StreamHandle(s.stream), workspace, size, p)
	if cublas.Unsupported(err) { // as for 16-bit floats or batches that the device does not support
		s.err = multiplyTiles(s.op, w)
		return
	}
	s.err = s.libraryFailed(err)
}

// workspaceSize returns the workspace that cuBLAS recommends for the device, in bytes.
func (s *steps) workspaceSize() int64 {
	if s.major >= 9 {
		return 32 << 20
	}
	return 8 << 20
}
