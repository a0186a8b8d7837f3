package cuda

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// distances mirrors lt::Distances of kernels/distances.h.
type distances struct {
	a, b, out                   uintptr
	total, rows, columns, width int64
	p                           float64
}

// distance has a thread for each distance.
func distance(op string, w launch.Distance) error {
	to := w.To
	if to.Numel() == 0 {
		return nil
	}
	d := distances{a: address0(w.A), out: uintptr(to.Data()), total: to.Numel(), p: w.P}
	if w.B == nil {
		d.rows, d.width = w.A.Sizes()[0], w.A.Sizes()[1]
	} else {
		d.b, d.rows, d.columns = address0(w.B), to.Sizes()[to.Dim()-2], to.Sizes()[to.Dim()-1]
		d.width = w.A.Numel() / (d.total / d.columns)
	}
	return on(op, to.Device(), func(m *machine) error { return call(m, op, entry(w.Kernel, to.DType()), d.total, &d) })
}

// address0 is where a tensor lies; 1, which nothing follows, where it has no elements.
func address0(t *tensor.Tensor) uintptr {
	if t.Numel() == 0 {
		return 1
	}
	return uintptr(t.Data())
}

var mulKernel, conjKernel, sumKernel = kernel.Get("mul"), kernel.Get("conj_physical"), kernel.Get("sum")

// dot sums the products of two vectors, those of floats in float64.
func dot(op string, w launch.Dot) error {
	d := w.A.DType()
	if w.A.Numel() == 0 {
		return fill(op, launch.Filling{To: w.To})
	}
	switch {
	case d.IsFloatingPoint():
		d = dtype.Float64
	case d.IsComplex():
		d = dtype.Complex128
	}
	s := owner.Scope{Op: op}
	defer s.Close()
	products := s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(op, w.A.Sizes(), d, w.A.Device()) })
	a := w.A
	if w.Conjugate && d.IsComplex() {
		s.Do(func() error {
			return elementwise(op, launch.Elementwise{Kernel: conjKernel, Compute: d, Operands: [launch.MaxOperands]*tensor.Tensor{products, a}})
		})
		a = products
	}
	s.Do(func() error {
		return elementwise(op, launch.Elementwise{Kernel: mulKernel, Compute: d, Operands: [launch.MaxOperands]*tensor.Tensor{products, a, w.B}})
	})
	s.Do(func() error {
		return reduce(op, launch.Reduction{Kernel: sumKernel, Compute: d, Out: [2]*tensor.Tensor{w.To}, In: products, Mask: []bool{true}})
	})
	return s.Err
}
