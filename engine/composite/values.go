package composite

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Allclose tells whether Isclose holds everywhere.
func Allclose(c aten.Ctx, self, other *tensor.Tensor, rtol, atol float64, equalNan bool) (bool, error) {
	s := within(c, "allclose")
	defer s.Close()
	near := s.Step(func() (*tensor.Tensor, error) { return c.Isclose(self, other, rtol, atol, equalNan) })
	all := s.Step(func() (*tensor.Tensor, error) { return c.All(nil, near, nil, false) })
	if s.Err != nil {
		return false, s.Err
	}
	return truth(c, s.Op, all)
}

// IsNonzero tells whether the only element of self is not zero.
func IsNonzero(c aten.Ctx, self *tensor.Tensor) (bool, error) {
	if self.Numel() != 1 {
		return false, status.Runtimef("is_nonzero: the truth of a tensor with %d elements is ambiguous; use any() or all()", self.Numel())
	}
	return truth(c, "is_nonzero", self)
}

// truth tells whether the only element of t is not zero.
func truth(c aten.Ctx, op string, t *tensor.Tensor) (bool, error) {
	v, err := c.Item(t)
	if err != nil {
		return false, status.In(op, err)
	}
	return v.Bool(), nil
}

// Argwhere lists the positions of the elements that are not zero, a row for each.
func Argwhere(c aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := c.Nonzero(nil, self)
	return only("argwhere", t, err)
}
