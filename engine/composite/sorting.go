package composite

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Argsort returns the indices that sort self along dim.
func Argsort(c dispatch.Ctx, self *tensor.Tensor, dim int64, descending bool) (*tensor.Tensor, error) {
	s := within(c, "argsort")
	defer s.Close()
	values, indices, err := c.Sort(nil, nil, self, dim, descending)
	s.Keep(values, err)
	return s.Give(s.Keep(indices, nil))
}

// ArgsortStable is Argsort; all sorts here are stable.
func ArgsortStable(c dispatch.Ctx, self *tensor.Tensor, _ bool, dim int64, descending bool) (*tensor.Tensor, error) {
	return c.Argsort(self, dim, descending)
}

// Msort sorts along the first dimension.
func Msort(c dispatch.Ctx, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	s := within(c, "msort")
	defer s.Close()
	return s.Last(func() (*tensor.Tensor, error) {
		values, indices, err := c.Sort(out, nil, self, 0, false)
		s.Keep(indices, nil)
		return values, err
	})
}
