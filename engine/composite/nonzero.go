package composite

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NonzeroStatic returns the first size rows of Nonzero, padded with rows of fill.
func NonzeroStatic(c dispatch.Context, out, self *tensor.Tensor, size, fill int64) (_ *tensor.Tensor, err error) {
	const op = "nonzero_static"
	if size < 0 {
		return nil, status.Runtimef("%s: 'size' must be an non-negative integer, but got %d", op, size)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	rows := b.FullWith([]int64{size, int64(self.Dim())}, dtype.IntScalar(fill), dtype.Int64, tensor.NoLayout, self.Device())
	if backend.Known(self) {
		found := b.Nonzero(self)
		n := min(size, found.Sizes()[0])
		b.Copy(b.Narrow(rows, 0, 0, n), b.Narrow(found, 0, 0, n), false)
	}
	return build.WriteResult(b, out, rows)
}
