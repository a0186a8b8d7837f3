package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// Diag creates a matrix with a vector on its diagonal, or copies the diagonal of a matrix.
func Diag(out, self *tensor.Tensor, offset int64) (_ *tensor.Tensor, err error) {
	const op = "diag"
	s := newScope(op)
	defer s.Close(&err)
	var result *tensor.Tensor
	switch self.Dim() {
	case 1:
		result = s.Track(DiagEmbed(self, offset, 0, 1))
	case 2:
		result = s.copyContiguous(s.Track(view.Diagonal(op, self, offset, 0, 1)), self.DType())
	default:
		return nil, status.Runtimef("%s: supports 1D or 2D tensors, but got %dD", op, self.Dim())
	}
	return s.writeResult(out, result, self)
}

// DiagEmbed spreads the last dimension over the diagonal of two new dimensions of zeros.
func DiagEmbed(self *tensor.Tensor, offset, dim1, dim2 int64) (_ *tensor.Tensor, err error) {
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
	s := newScope(op)
	defer s.Close(&err)
	out := s.Track(tensor.Zeros(op, sizes, self.DType(), self.Device()))
	s.replaceView(out, self, func(t *tensor.Tensor) (*tensor.Tensor, error) {
		return view.Diagonal(op, t, offset, int64(a), int64(b))
	})
	return s.Return(out)
}

// Diagflat puts the elements of self on the diagonal of a matrix of zeros.
func Diagflat(self *tensor.Tensor, offset int64) (_ *tensor.Tensor, err error) {
	s := newScope("diagflat")
	defer s.Close(&err)
	flat := s.reshapeTo(self, self.Numel())
	return s.ReturnNew(Diag(nil, flat, offset))
}

// replaceView writes src to the part of to that see views.
func (s *scope) replaceView(to, src *tensor.Tensor, see func(*tensor.Tensor) (*tensor.Tensor, error)) {
	part := s.Track(see(to))
	switch {
	case !slices.Equal(part.Sizes(), src.Sizes()):
		s.Check(status.Runtimef("%s: expected src to have a size equal to the slice of self: src size = %v, slice size = %v", s.Op, src.Sizes(),
			part.Sizes()))
	default:
		s.Check(assignTensor(s.Op, part, src))
	}
}

// copyReplacingView returns a copy of self in which src replaces the part that see views.
func copyReplacingView(op string, self, src *tensor.Tensor,
	see func(*tensor.Tensor) (*tensor.Tensor, error)) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	to := s.Track(cloneTensor(op, self, self.DType(), self.Device(), shape.Preserve))
	s.replaceView(to, src, see)
	return s.Return(to)
}

// DiagonalScatter replaces a diagonal.
func DiagonalScatter(self, src *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	const op = "diagonal_scatter"
	return copyReplacingView(op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) { return view.Diagonal(op, t, offset, dim1, dim2) })
}

// SelectScatter replaces one position of a dimension.
func SelectScatter(self, src *tensor.Tensor, dim, index int64) (*tensor.Tensor, error) {
	const op = "select_scatter"
	return copyReplacingView(op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) { return view.Select(op, t, dim, index) })
}

// SliceScatter replaces part of a dimension.
func SliceScatter(out, self, src *tensor.Tensor, dim int64, start, end Int, step int64) (_ *tensor.Tensor, err error) {
	s := newScope("slice_scatter")
	defer s.Close(&err)
	return s.writeResult(out, s.Track(copyReplacingView(s.Op, self, src, func(t *tensor.Tensor) (*tensor.Tensor, error) {
		return view.Slice(s.Op, t, dim, start.Or(0), end.Or(math.MaxInt64), step)
	})))
}

// AsStridedScatter replaces the elements of a view of self's storage; the result has self's geometry.
func AsStridedScatter(self, src *tensor.Tensor, size, stride []int64, offset Int) (_ *tensor.Tensor, err error) {
	const op = "as_strided_scatter"
	// The copy has to hold whatever self's storage holds, as the view may reach elements that self does not.
	n := self.Storage().Nbytes() / self.DType().Size()
	s := newScope(op)
	defer s.Close(&err)
	to := s.copyContiguous(s.Track(self.View(op, []int64{n}, []int64{1}, 0)), self.DType())
	s.Check(to.SetGeometry(op, self.Sizes(), self.Strides(), self.Offset()))
	s.replaceView(to, src, func(t *tensor.Tensor) (*tensor.Tensor, error) { return t.View(op, size, stride, offset.Or(t.Offset())) })
	return s.Return(to)
}
