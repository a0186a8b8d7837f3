package tensoriter

import "github.com/libtensor/libtensor/engine/tensor"

// Leading returns the leading dimension of a matrix with the strides row and column, and whether it is stored transposed. ok is false if
// neither rows nor columns are contiguous.
func Leading(rows, columns, row, column int64) (ld int64, turned, ok bool) {
	step := func(size, stride, adjacent int64) (int64, bool) {
		if size == 1 {
			return max(adjacent, 1), true
		}
		return stride, stride >= max(adjacent, 1)
	}
	if column == 1 || columns == 1 {
		if ld, ok := step(rows, row, columns); ok {
			return ld, false, true
		}
	}
	if row == 1 || rows == 1 {
		if ld, ok := step(columns, column, rows); ok {
			return ld, true, true
		}
	}
	return 0, false, false
}

// Stored describes a matrix or a batch of matrices for BLAS: rows at a distance of Lead elements, which are the matrix's columns if it is
// stored transposed, and Step elements from one matrix to the next.
type Stored struct {
	Data                       uintptr
	Batch, Rows, Columns, Step int64
	Lead                       int64
	Turned                     bool
}

// StoredAs views t, of two or three dimensions; ok is false where neither rows nor columns are adjacent.
func StoredAs(t *tensor.Tensor) (s Stored, ok bool) {
	sizes, strides := t.Sizes(), t.Strides()
	s = Stored{Data: uintptr(t.Data()), Batch: 1}
	if len(sizes) == 3 {
		s.Batch, s.Step = sizes[0], strides[0]
		sizes, strides = sizes[1:], strides[1:]
	}
	s.Rows, s.Columns = sizes[0], sizes[1]
	s.Lead, s.Turned, ok = Leading(sizes[0], sizes[1], strides[0], strides[1])
	return s, ok
}

// Transposed returns the transposed matrix in the same memory.
func (s Stored) Transposed() Stored {
	s.Rows, s.Columns, s.Turned = s.Columns, s.Rows, !s.Turned
	return s
}
