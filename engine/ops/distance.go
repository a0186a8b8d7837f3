package ops

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var distanceKernel = kernel.Get("distance")

// distanceArgs mirrors distance_args of distance.h.
type distanceArgs struct {
	a, b, out            uintptr
	rows, columns, width int64
	p                    float64
}

// Cdist is the p-norm of the difference of every row of x1 to every row of x2, matrix by matrix.
func Cdist(x1, x2 *tensor.Tensor, p float64, _ string) (*tensor.Tensor, error) {
	const op = "cdist"
	d := resultType(x1, x2)
	switch {
	case !x1.DType().IsFloatingPoint() || !x2.DType().IsFloatingPoint():
		return nil, status.Runtimef("%s: only supports floating-point dtypes, got %v and %v", op, x1.DType(), x2.DType())
	case x1.Dim() < 2 || x2.Dim() < 2:
		return nil, status.Runtimef("%s: needs at least 2D tensors, got shapes %v and %v", op, x1.Sizes(), x2.Sizes())
	case x1.Sizes()[x1.Dim()-1] != x2.Sizes()[x2.Dim()-1]:
		return nil, status.Runtimef("%s: x1 and x2 must have the same number of columns, got %d and %d", op, x1.Sizes()[x1.Dim()-1], x2.Sizes()[x2.Dim()-1])
	case !(p >= 0):
		return nil, status.Runtimef("%s: only supports non-negative p values, got %v", op, p)
	}
	if _, err := iter.Device(op, x1, x2); err != nil {
		return nil, err
	}
	split := func(t *tensor.Tensor) (batch []int64, rows int64) {
		return t.Sizes()[:t.Dim()-2], t.Sizes()[t.Dim()-2]
	}
	batch1, rows := split(x1)
	batch2, columns := split(x2)
	width := x1.Sizes()[x1.Dim()-1]
	batch, err := shape.Broadcast(op, batch1, batch2)
	if err != nil {
		return nil, err
	}
	s := &scope{op: op}
	defer s.close()
	compute := d.Compute()
	whole := func(t *tensor.Tensor, n int64) *tensor.Tensor {
		if t = s.keep(expand(op, t, append(slices.Clone(batch), n, width))); s.err != nil {
			return nil
		}
		return s.cast(t, compute)
	}
	a, b := whole(x1, rows), whole(x2, columns)
	out := s.empty(a, compute, append(slices.Clone(batch), rows, columns)...)
	if s.err != nil {
		return nil, s.err
	}
	if !out.IsMeta() && out.Numel() > 0 {
		size := compute.Size()
		parallel.For(shape.Product(batch)*rows, max(iter.Grain/max(columns*width, 1), 1), func(begin, end int64) {
			for begin < end {
				matrix := begin / rows
				n := min(end, (matrix+1)*rows) - begin
				args := distanceArgs{rows: n, columns: columns, width: width, p: p, a: uintptr(a.Data()) + uintptr(begin*width*size),
					b: uintptr(b.Data()) + uintptr(matrix*columns*width*size), out: uintptr(out.Data()) + uintptr(begin*columns*size)}
				kernel.Call(distanceKernel.Row(compute), unsafe.Pointer(&args))
				begin += n
			}
		})
	}
	return s.result(nil, s.cast(out, d))
}
