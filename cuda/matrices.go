package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// product mirrors lt::Product of kernels/matrices.h.
type product struct {
	to, self, a, b                             uintptr
	batch, rows, columns, inner                int64
	toStrides, selfStrides, aStrides, bStrides [3]int64
	alpha, beta                                [16]byte
}

// stacked are the sizes of matrices or batches of them, and the strides in bytes of another tensor that broadcasts to them.
func stacked(t *tensor.Tensor, sizes []int64) (strides [3]int64) {
	shape.BroadcastStrides(strides[3-len(sizes):], t.Sizes(), t.Strides(), sizes, t.DType().Size())
	return strides
}

// multiplyTiles has a thread for each element of the product.
func multiplyTiles(op string, w launch.Product) error {
	to := w.To
	n := to.Dim()
	p := product{to: uintptr(to.Data()), a: uintptr(w.A.Data()), b: uintptr(w.B.Data()), batch: 1,
		rows: to.Sizes()[n-2], columns: to.Sizes()[n-1], inner: w.A.Sizes()[w.A.Dim()-1]}
	if n == 3 {
		p.batch = to.Sizes()[0]
	}
	p.toStrides, p.aStrides, p.bStrides = stacked(to, to.Sizes()), stacked(w.A, w.A.Sizes()), stacked(w.B, w.B.Sizes())
	adds := to.DType().Compute()
	if adds == dtype.Bool {
		adds = dtype.Int64
	}
	tensor.Put(unsafe.Pointer(&p.alpha), adds, w.Alpha)
	tensor.Put(unsafe.Pointer(&p.beta), adds, w.Beta)
	if w.Self != nil {
		p.self, p.selfStrides = uintptr(w.Self.Data()), stacked(w.Self, to.Sizes())
	}
	return on(op, to.Device(), func(m *machine) error {
		return call(m, op, "product_"+to.DType().String(), to.Numel(), &p)
	})
}

// triangle mirrors lt::Triangle of kernels/matrices.h.
type triangle struct {
	to                                          uintptr
	numel, rows, columns, diagonal, size, below int64
}

// triangular zeroes what lies on one side of a diagonal.
func triangular(op string, w launch.Triangle) error {
	to := w.To
	if to.Numel() == 0 {
		return nil
	}
	n := to.Dim()
	t := triangle{to: uintptr(to.Data()), numel: to.Numel(), rows: to.Sizes()[n-2], columns: to.Sizes()[n-1], size: to.DType().Size()}
	t.diagonal = min(max(w.Diagonal, -t.rows), t.columns) // beyond the matrix, all diagonals are alike
	if w.Below {
		t.below = 1
	}
	return on(op, to.Device(), func(m *machine) error { return call(m, op, "triangle", t.numel, &t) })
}
