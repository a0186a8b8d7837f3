package composite

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Argsort gives the indices that sort self along dim.
func Argsort(c aten.Ctx, self *tensor.Tensor, dim int64, descending bool) (*tensor.Tensor, error) {
	values, indices, err := c.Sort(nil, nil, self, dim, descending)
	if err != nil {
		return nil, status.In("argsort", err)
	}
	values.Release()
	return indices, nil
}

// ArgsortStable is Argsort; all sorts here are stable.
func ArgsortStable(c aten.Ctx, self *tensor.Tensor, _ bool, dim int64, descending bool) (*tensor.Tensor, error) {
	return c.Argsort(self, dim, descending)
}

// Msort sorts along the first dimension.
func Msort(c aten.Ctx, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	values, indices, err := c.Sort(out, nil, self, 0, false)
	if err != nil {
		return nil, status.In("msort", err)
	}
	indices.Release()
	return values, nil
}
