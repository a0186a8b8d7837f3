package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Argsort returns the indices that sort self along dim.
func Argsort(c dispatch.Context, self *tensor.Tensor, dim int64, descending bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "argsort")
	defer b.Close(&err)
	values, indices, err := c.Sort(nil, nil, self, dim, descending)
	b.Track(values, err)
	return b.Return(b.Track(indices, nil))
}

// ArgsortStable is Argsort; all sorts here are stable.
func ArgsortStable(c dispatch.Context, self *tensor.Tensor, _ bool, dim int64, descending bool) (*tensor.Tensor, error) {
	return c.Argsort(self, dim, descending)
}

// Msort sorts along the first dimension.
func Msort(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "msort")
	defer b.Close(&err)
	values, indices, err := c.Sort(out, nil, self, 0, false)
	b.Track(indices, nil)
	return b.ReturnNew(values, err)
}
