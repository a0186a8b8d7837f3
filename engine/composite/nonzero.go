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
	s := newScope(c, op)
	defer s.Close(&err)
	rows := s.FullWith([]int64{size, int64(self.Dim())}, dtype.IntScalar(fill), dtype.Int64, tensor.NoLayout, self.Device())
	if backend.Known(self) {
		found := s.Nonzero(self)
		n := min(size, found.Sizes()[0])
		s.Copy(s.Narrow(rows, 0, 0, n), s.Narrow(found, 0, 0, n), false)
	}
	return build.WriteResult(s.Builder, out, rows)
}
