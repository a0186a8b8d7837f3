package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// Diag makes a matrix with a vector on its diagonal, or copies the diagonal of a matrix.
func Diag(out, self *tensor.Tensor, offset int64) (*tensor.Tensor, error) {
	const op = "diag"
	var result *tensor.Tensor
	var err error
	switch self.Dim() {
	case 1:
		result, err = DiagEmbed(self, offset, 0, 1)
	case 2:
		var line *tensor.Tensor
		if line, err = view.Diagonal(op, self, offset, 0, 1); err != nil {
			return nil, err
		}
		defer line.Release()
		result, err = rowMajorCopy(op, line, self.DType())
	default:
		return nil, status.Runtimef("%s: supports 1D or 2D tensors, but got %dD", op, self.Dim())
	}
	if err != nil || out == nil {
		return result, err
	}
	defer result.Release()
	if _, err := target(op, out, result.Sizes(), self.DType(), self.Device(), self); err != nil {
		return nil, err
	}
	return out, assign(op, out, result)
}

// DiagEmbed spreads the last dimension over the diagonal of two new dimensions of zeros.
func DiagEmbed(self *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	const op = "diag_embed"
	if self.Dim() == 0 {
		return nil, status.Runtimef("%s: needs a tensor of at least 1 dimension", op)
	}
	n := self.Dim() + 1
	a, err := shape.WrapDim(op, dim1, n)
	if err != nil {
		return nil, err
	}
	b, err := shape.WrapDim(op, dim2, n)
	if err != nil {
		return nil, err
	}
	if a == b {
		return nil, status.Runtimef("%s: diagonal dimensions cannot be identical %d, %d", op, dim1, dim2)
	}
	side := self.Sizes()[n-2] + max(offset, -offset)
	sizes := slices.Clone(self.Sizes()[:n-2])
	sizes = slices.Insert(sizes, min(a, b), side)
	sizes = slices.Insert(sizes, max(a, b), side)
	out, err := tensor.Zeros(op, sizes, self.DType(), self.Device())
	if err != nil || out.IsMeta() {
		return out, err
	}
	line, err := view.Diagonal(op, out, offset, int64(a), int64(b))
	if err != nil {
		return made(out, nil, err)
	}
	defer line.Release()
	return made(out, nil, assign(op, line, self))
}

// Diagflat puts the elements of self on the diagonal of a matrix of zeros.
func Diagflat(self *tensor.Tensor, offset int64) (*tensor.Tensor, error) {
	flat, err := reshape("diagflat", self, []int64{self.Numel()})
	if err != nil {
		return nil, err
	}
	defer flat.Release()
	return Diag(nil, flat, offset)
}

// withPart gives to, of which it takes charge, once src is written to the part of it that see views.
func withPart(op string, to, src *tensor.Tensor, see func(*tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	part, err := see(to)
	if err != nil {
		return made(to, nil, err)
	}
	defer part.Release()
	if !slices.Equal(part.Sizes(), src.Sizes()) {
		return made(to, nil, status.Runtimef("%s: expected src to have a size equal to the slice of self: src size = %v, slice size = %v", op, src.Sizes(), part.Sizes()))
	}
	return made(to, nil, assign(op, part, src))
}

// replaced is a copy of self in which src replaces the part that see views.
func replaced(op string, self, src *tensor.Tensor, see func(*tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	to, err := cloned(op, self, self.DType(), self.Device(), shape.Preserve)
	if err != nil {
		return nil, err
	}
	return withPart(op, to, src, see)
}

// DiagonalScatter replaces a diagonal.
func DiagonalScatter(self, src *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	const op = "diagonal_scatter"
	return replaced(op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) { return view.Diagonal(op, t, offset, dim1, dim2) })
}

// SelectScatter replaces one position of a dimension.
func SelectScatter(self, src *tensor.Tensor, dim, index int64) (*tensor.Tensor, error) {
	const op = "select_scatter"
	return replaced(op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) { return view.Select(op, t, dim, index) })
}

// SliceScatter replaces part of a dimension.
func SliceScatter(self, src *tensor.Tensor, dim int64, start, end Int, step int64) (*tensor.Tensor, error) {
	const op = "slice_scatter"
	return replaced(op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) {
		return view.Slice(op, t, dim, start.Or(0), end.Or(math.MaxInt64), step)
	})
}

// AsStridedScatter replaces the elements of a view of self's storage; the result has self's geometry.
func AsStridedScatter(self, src *tensor.Tensor, size, stride []int64, offset Int) (*tensor.Tensor, error) {
	const op = "as_strided_scatter"
	// The copy has to hold whatever self's storage holds, as the view may reach elements that self does not.
	n := self.Storage().Nbytes() / self.DType().Size()
	all, err := self.View(op, []int64{n}, []int64{1}, 0)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	to, err := rowMajorCopy(op, all, self.DType())
	if err != nil {
		return nil, err
	}
	if err := to.SetGeometry(op, self.Sizes(), self.Strides(), self.Offset()); err != nil {
		return made(to, nil, err)
	}
	return withPart(op, to, src, func(t *tensor.Tensor) (*tensor.Tensor, error) {
		return t.View(op, size, stride, offset.Or(t.Offset()))
	})
}

// UnravelIndex turns row-major numbers into coordinates, a tensor for each dimension of shape.
func UnravelIndex(indices *tensor.Tensor, sizes []int64) ([]*tensor.Tensor, error) {
	const op = "unravel_index"
	if !indices.DType().IsIntegral() {
		return nil, status.Typef("%s: expected integer indices, but got %v", op, indices.DType())
	}
	total, err := shape.Numel(op, sizes)
	if err != nil {
		return nil, err
	}
	flat, err := rowMajorCopy(op, indices, dtype.Int64)
	if err != nil {
		return nil, err
	}
	defer flat.Release()
	if !flat.IsMeta() {
		for i, x := range int64s(flat) {
			if x < -total || x >= total {
				return nil, status.Valuef("%s: index %d is out of bounds for shape %v with %d elements", op, x, sizes, total)
			}
			if x < 0 {
				int64s(flat)[i] += total
			}
		}
	}
	// As PyTorch's, the coordinates of an index lie side by side.
	all, err := tensor.Empty(op, append(slices.Clone(indices.Sizes()), int64(len(sizes))), dtype.Int64, indices.Device())
	if err != nil {
		return nil, err
	}
	defer all.Release()
	if !all.IsMeta() {
		rows := int64s(all)
		for i, at := range int64s(flat) {
			row := rows[i*len(sizes):][:len(sizes)]
			for d := len(sizes) - 1; d >= 0; d-- {
				row[d] = at % sizes[d]
				at /= sizes[d]
			}
		}
	}
	return Unbind(all, -1)
}
