package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/tensor"
)

// computeDistances computes p-norm distances between rows, with a thread for each distance.
func computeDistances(op string, w backend.Distance) error {
	to := w.To
	if to.Numel() == 0 {
		return nil
	}
	d := distances{a: kernelAddress(w.A), out: uintptr(to.Data()), total: to.Numel(), p: w.P}
	if w.B == nil {
		d.rows, d.width = w.A.Sizes()[0], w.A.Sizes()[1]
	} else {
		d.b, d.rows, d.columns = kernelAddress(w.B), to.Sizes()[to.Dim()-2], to.Sizes()[to.Dim()-1]
		d.width = w.A.Numel() / (d.total / d.columns)
	}
	return withCurrentStream(op, to.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, findEntry(w.Kernel, to.DType()), d.total, &d)
	})
}

// kernelAddress returns the address of a tensor, or 1 for an empty one, which is never dereferenced.
func kernelAddress(t *tensor.Tensor) uintptr {
	if t.Numel() == 0 {
		return 1
	}
	return uintptr(t.Data())
}
