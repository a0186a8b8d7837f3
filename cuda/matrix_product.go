package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	productTile    = 64   // rows and columns that a block computes
	minSplitLength = 1024 // the minimum length of a block of the inner dimension
	enoughBlocks   = 256  // to occupy a device
)

// findBatchStrides returns the sizes of matrices or batches of them, and the strides in bytes of another tensor that broadcasts to them.
func findBatchStrides(t *tensor.Tensor, sizes []int64) (strides [3]int64) {
	shape.BroadcastStrides(strides[3-len(sizes):], t.Sizes(), t.Strides(), sizes, t.DType().Size())
	return strides
}

// multiplyTiles runs one thread block for each tile of the product. If there are few tiles, the inner dimension is split into blocks, and a
// second launch adds up their sums in order. The split depends on the shape alone.
func multiplyTiles(op string, w backend.Product) error {
	to, d := w.To, w.To.DType()
	n := to.Dim()
	p := product{to: uintptr(to.Data()), a: kernelAddress(w.A), b: kernelAddress(w.B), batch: 1,
		rows: to.Sizes()[n-2], columns: to.Sizes()[n-1], inner: w.A.Sizes()[w.A.Dim()-1]}
	if n == 3 {
		p.batch = to.Sizes()[0]
	}
	p.toStrides = findBatchStrides(to, to.Sizes())
	p.aStrides, p.bStrides = findBatchStrides(w.A, w.A.Sizes()), findBatchStrides(w.B, w.B.Sizes())
	adds := d.Compute()
	tensor.Put(unsafe.Pointer(&p.alpha), adds, w.Alpha)
	tensor.Put(unsafe.Pointer(&p.beta), adds, w.Beta)
	if w.Self != nil {
		p.self, p.selfStrides = uintptr(w.Self.Data()), findBatchStrides(w.Self, to.Sizes())
	}
	tiles := p.batch * ((p.rows + productTile - 1) / productTile) * ((p.columns + productTile - 1) / productTile)
	p.pieces, p.length = splitLength(p.inner, max(enoughBlocks/tiles, 1))
	return withLaunches(op, to.Device(), func(s *launchSequence) {
		if p.pieces > 1 {
			p.sums = s.allocateTemporary(p.pieces * to.Numel() * adds.Size())
		}
		launchStep(s, kernels.Of("product", d), p.pieces*tiles*blockThreads, &p)
		if p.pieces > 1 {
			launchStep(s, kernels.Of("product_pieces", d), to.Numel(), &p)
		}
	})
}

// splitLength splits n into at most `most` blocks of sufficient length.
func splitLength(n, most int64) (count, length int64) {
	count = min(max(n/minSplitLength, 1), most)
	length = max((n+count-1)/count, 1)
	return max((n+length-1)/length, 1), length
}

// zeroTriangle zeroes the elements on one side of a diagonal.
func zeroTriangle(op string, w backend.Triangle) error {
	to := w.To
	if to.Numel() == 0 {
		return nil
	}
	n := to.Dim()
	t := triangle{to: uintptr(to.Data()), numel: to.Numel(), rows: to.Sizes()[n-2], columns: to.Sizes()[n-1], size: to.DType().Size()}
	t.diagonal = min(max(w.Diagonal, -t.rows), t.columns) // all diagonals beyond the matrix have the same result
	if w.Below {
		t.below = 1
	}
	return withCurrentStream(op, to.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Alone("triangle"), t.numel, &t)
	})
}
