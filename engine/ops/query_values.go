package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// IsConj returns whether elements are conjugated when they are read.
func IsConj(self *tensor.Tensor) (bool, error) { return self.Lazy()&tensor.Conjugate != 0, nil }

// IsNeg returns whether elements are negated when they are read.
func IsNeg(self *tensor.Tensor) (bool, error) { return self.Lazy()&tensor.Negative != 0, nil }

// IsSameSize reports whether both tensors have the same sizes.
func IsSameSize(self, other *tensor.Tensor) (bool, error) {
	return slices.Equal(self.Sizes(), other.Sizes()), nil
}

// FillDiagonal writes value to the diagonal of self, where all indices are equal. With wrap, the diagonal of a matrix higher
// than wide starts anew below a row left out.
func FillDiagonal(self *tensor.Tensor, value dtype.Scalar, wrap bool) error {
	const op = "fill_diagonal_"
	if self.Dim() < 2 {
		return status.Runtimef("%s: dimensions must be larger than 1, got shape %v", op, self.Sizes())
	}
	if err := cmp.Or(checkFits(op, value, self.DType()), tensoriter.Fillable(op, self)); err != nil {
		return err
	}
	sizes := self.Sizes()
	step := int64(0)
	for d, size := range sizes {
		if self.Dim() > 2 && size != sizes[0] {
			return status.Runtimef("%s: all dimensions of input must be of equal length, got shape %v", op, sizes)
		}
		step += self.Strides()[d]
	}
	// Diagonals are adjacent: the complete ones form one view, the rest of the last one another.
	fillAt := func(start, diagonals, count int64) (err error) {
		if diagonals <= 0 || count <= 0 {
			return nil
		}
		row, next := self.Strides()[0], int64(0)
		if diagonals > 1 {
			next = (sizes[1] + 1) * row
		}
		s := newScope(op)
		defer s.Close(&err)
		part := s.Track(self.View(op, []int64{diagonals, count}, []int64{next, step}, self.Offset()+start*row))
		return fillWith(part, value)
	}
	rows, columns := sizes[0], sizes[1]
	if !wrap || self.Dim() > 2 || rows <= columns {
		return fillAt(0, 1, slices.Min(sizes))
	}
	whole := (rows + 1) / (columns + 1)
	if err := fillAt(0, whole, columns); err != nil {
		return err
	}
	return fillAt(whole*(columns+1), 1, rows-whole*(columns+1))
}

// NnCounts returns the elements of a vector of int64.
func NnCounts(self *tensor.Tensor) (_ []int64, err error) {
	const op = "nn_counts"
	if self.Dim() != 1 || self.DType() != dtype.Int64 {
		return nil, status.Runtimef("%s: self must be a vector of int64, but has sizes %v, of %v", op, self.Sizes(), self.DType())
	}
	s := newScope(op)
	defer s.Close(&err)
	whole := s.castRowMajor(self, dtype.Int64)
	list, err := backend.Ints(op, whole)
	return slices.Clone(list), err
}
