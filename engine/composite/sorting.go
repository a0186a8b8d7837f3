package composite

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Argsort returns the indices that sort self along dim.
func Argsort(c dispatch.Context, self *tensor.Tensor, dim int64, descending bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "argsort")
	defer s.Close(&err)
	values, indices, err := c.Sort(nil, nil, self, dim, descending)
	s.Track(values, err)
	return s.Return(s.Track(indices, nil))
}

// ArgsortStable is Argsort; all sorts here are stable.
func ArgsortStable(c dispatch.Context, self *tensor.Tensor, _ bool, dim int64, descending bool) (*tensor.Tensor, error) {
	return c.Argsort(self, dim, descending)
}

// Msort sorts along the first dimension.
func Msort(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "msort")
	defer s.Close(&err)
	values, indices, err := c.Sort(out, nil, self, 0, false)
	s.Track(indices, nil)
	return s.ReturnNew(values, err)
}
