package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/shape"
)

// searchSorted finds positions in sorted lines.
func searchSorted(op string, w backend.Searching) error {
	if w.Found.Numel() == 0 {
		return nil
	}
	a := searching{keys: uintptr(w.Keys.Data()), values: uintptr(w.Values.Data()), found: uintptr(w.Found.Data()), count: w.Found.Numel(),
		n: w.Keys.Sizes()[w.Keys.Dim()-1]}
	rows := int64(1)
	if w.Keys.Dim() > 1 {
		rows, a.step = shape.Product(w.Keys.Sizes()[:w.Keys.Dim()-1]), a.n
	}
	a.width = a.count / rows
	if w.Order != nil {
		a.order = uintptr(w.Order.Data())
	}
	if w.Right {
		a.right = 1
	}
	return withCurrentStream(op, w.Found.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Of("search", w.Keys.DType()), a.count, &a)
	})
}

// isIn returns a mask of the values that are among sorted ones.
func isIn(op string, w backend.Membership) error {
	if w.Values.Numel() == 0 {
		return nil
	}
	a := searching{keys: uintptr(w.Sorted.Data()), values: uintptr(w.Values.Data()), found: uintptr(w.Found.Data()), count: w.Values.Numel(),
		n: w.Sorted.Numel()}
	return withCurrentStream(op, w.Found.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Of("member", w.Values.DType()), a.count, &a)
	})
}
