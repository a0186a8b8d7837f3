package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Kron computes the Kronecker product: block i, j of the result is element i, j of self times other.
func Kron(c dispatch.Context, out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "kron")
	defer b.Close(&err)
	dims := max(self.Dim(), other.Dim())
	padded := func(t *tensor.Tensor) []int64 {
		return append(slices.Repeat([]int64{1}, dims-t.Dim()), t.Sizes()...)
	}
	selfSizes, otherSizes := padded(self), padded(other)
	var wideA, wideB, sizes []int64
	for i := range dims {
		wideA, wideB, sizes = append(wideA, selfSizes[i], 1), append(wideB, 1, otherSizes[i]), append(sizes, selfSizes[i]*otherSizes[i])
	}
	product := b.Mul(b.AsShape(self, wideA...), b.AsShape(other, wideB...))
	result := b.AsShape(b.AsContiguous(product), sizes...)
	return build.WriteResultCast(b, out, result)
}

// Vander returns the matrix of powers of the vector x, from the (n-1)-th down to the 0-th, or up to it where increasing is set.
func Vander(c dispatch.Context, x *tensor.Tensor, n ops.Int, increasing bool) (_ *tensor.Tensor, err error) {
	const op = "vander"
	if x.Dim() != 1 {
		return nil, status.Runtimef("%s: x must be a one-dimensional tensor, got shape %v", op, x.Sizes())
	}
	columns := n.Or(x.Numel())
	if columns < 0 {
		return nil, status.Runtimef("%s: N must be non-negative, got %d", op, columns)
	}
	d := x.DType().Summed()
	b := build.New(c, op)
	defer b.Close(&err)
	powers := b.EmptyBeside(x, d, x.Numel(), 0)
	if columns > 0 {
		powers = b.OnesBeside(x, d, x.Numel(), 1)
	}
	if columns > 1 {
		powers = b.Cat([]*tensor.Tensor{powers, b.Expand(b.AsShape(b.CastTo(x, d), x.Numel(), 1), x.Numel(), columns-1)}, 1)
	}
	powers = b.Cumprod(powers, 1)
	if !increasing {
		powers = b.Flip(powers, 1)
	}
	return build.WriteResult(b, nil, powers)
}

// Outer returns the matrix of all products of two vectors' elements.
func Outer(c dispatch.Context, out, self, vec2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "outer"
	for i, t := range []*tensor.Tensor{self, vec2} {
		if t.Dim() != 1 {
			return nil, status.Runtimef("%s: %s must be a 1-D tensor, got %d-D with shape %v", op, []string{"self", "vec2"}[i], t.Dim(),
				t.Sizes())
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	b.CheckStrided(self, vec2)
	column, row := b.Unsqueeze(self, 1), b.Unsqueeze(vec2, 0)
	return b.ReturnNew(c.Mul(out, column, row))
}
