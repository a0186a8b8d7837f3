package composite

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// IsNonzero reports whether the only element of self is not zero.
func IsNonzero(c dispatch.Context, self *tensor.Tensor) (bool, error) {
	if self.Numel() != 1 {
		return false, status.Runtimef("is_nonzero: the truth of a tensor with %d elements is ambiguous; use any() or all()", self.Numel())
	}
	v, err := c.Item(self)
	if err != nil {
		return false, status.In("is_nonzero", err)
	}
	return v.Bool(), nil
}

// Argwhere lists the positions of the elements that are not zero, a row for each.
func Argwhere(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := c.Nonzero(nil, self)
	return wrapError("argwhere", t, err)
}
