package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Kron is the Kronecker product: every element of self times the whole of other, side by side in every dimension.
func Kron(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	s := within("kron")
	defer s.Close()
	dims := max(self.Dim(), other.Dim())
	padded := func(t *tensor.Tensor) []int64 {
		return append(slices.Repeat([]int64{1}, dims-t.Dim()), t.Sizes()...)
	}
	a, b := padded(self), padded(other)
	var wideA, wideB, sizes []int64
	for i := range dims {
		wideA, wideB, sizes = append(wideA, a[i], 1), append(wideB, 1, b[i]), append(sizes, a[i]*b[i])
	}
	product := s.mul(s.reshape(self, wideA...), s.reshape(other, wideB...))
	if s.Err != nil {
		return nil, s.Err
	}
	product = s.cast(product, product.DType())
	return s.result(out, s.reshape(product, sizes...))
}

// Vander is the matrix of powers of the vector x, from the (n-1)-th down to the 0-th, or up to it where increasing is set.
func Vander(x *tensor.Tensor, n Int, increasing bool) (*tensor.Tensor, error) {
	const op = "vander"
	if x.Dim() != 1 {
		return nil, status.Runtimef("%s: x must be a one-dimensional tensor, got shape %v", op, x.Sizes())
	}
	columns := n.Or(x.Numel())
	if columns < 0 {
		return nil, status.Runtimef("%s: N must be non-negative, got %d", op, columns)
	}
	d := x.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Int64
	}
	s := within(op)
	defer s.Close()
	powers := s.empty(x, d, x.Numel(), columns)
	if columns > 0 {
		s.copy(s.part(powers, 1, 0, 1), s.number(dtype.IntScalar(1)))
	}
	if columns > 1 {
		base := s.reshape(x, x.Numel(), 1)
		if s.Err != nil {
			return nil, s.Err
		}
		s.copy(s.part(powers, 1, 1, columns-1), s.Keep(expand(op, base, []int64{x.Numel(), columns - 1})))
	}
	if s.Err != nil {
		return nil, s.Err
	}
	powers = s.Keep(Cumprod(nil, powers, 1, dtype.None))
	if !increasing && s.Err == nil {
		powers = s.Keep(Flip(powers, []int64{1}))
	}
	return s.result(nil, powers)
}
