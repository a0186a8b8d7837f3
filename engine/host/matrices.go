package host

import (
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// smallProduct is the number of multiplications up to which a kernel of ours beats a call of BLAS.
const smallProduct = 16 * 16 * 16

// products owns the copies that a product needs.
type products struct{ owner.Scope }

// copy writes t, broadcast, to c.
func (s *products) copy(c, t *tensor.Tensor) {
	s.Do(func() error { return copyTo(s.Op, launch.Copying{To: c, From: t}) })
}

// matrices is a batch of matrices; strides count elements.
type matrices struct {
	data                   uintptr
	batch, rows, cols      int64
	batchStep, row, column int64
}

// matricesOf views t, of two or three dimensions.
func matricesOf(t *tensor.Tensor) matrices {
	s, st := t.Sizes(), t.Strides()
	m := matrices{data: uintptr(t.Data()), batch: 1}
	if len(s) == 3 {
		m.batch, m.batchStep = s[0], st[0]
		s, st = s[1:], st[1:]
	}
	m.rows, m.cols, m.row, m.column = s[0], s[1], st[0], st[1]
	return m
}

func (m matrices) transposed() matrices {
	m.rows, m.cols, m.row, m.column = m.cols, m.rows, m.column, m.row
	return m
}

// served tells whether OpenBLAS's integers hold the sizes and steps.
func (m matrices) served() bool { return blas.Reaches(m.rows, m.cols, m.row, m.column) }

// leading gives the distance between stored rows, and whether these are the matrix's columns; ok is false where
// neither rows nor columns are adjacent.
func (m matrices) leading() (ld int64, transposed, ok bool) {
	step := func(size, stride, adjacent int64) (int64, bool) {
		if size == 1 {
			return max(adjacent, 1), true
		}
		return stride, stride >= max(adjacent, 1)
	}
	if m.column == 1 || m.cols == 1 {
		if ld, ok := step(m.rows, m.row, m.cols); ok {
			return ld, false, true
		}
	}
	if m.row == 1 || m.rows == 1 {
		if ld, ok := step(m.cols, m.column, m.rows); ok {
			return ld, true, true
		}
	}
	return 0, false, false
}

// Stored is how BLAS sees a matrix or each of a batch: rows that are Lead elements apart, which are the matrix's columns where it is turned;
// and Step elements from one matrix to the next.
type Stored struct {
	Data                       uintptr
	Batch, Rows, Columns, Step int64
	Lead                       int64
	Turned                     bool
}

// StoredAs views t, of two or three dimensions; ok is false where neither rows nor columns are adjacent.
func StoredAs(t *tensor.Tensor) (s Stored, ok bool) {
	m := matricesOf(t)
	s = Stored{Data: m.data, Batch: m.batch, Rows: m.rows, Columns: m.cols, Step: m.batchStep}
	s.Lead, s.Turned, ok = m.leading()
	return s, ok
}

// Transposed is the transposed matrix in the same memory.
func (s Stored) Transposed() Stored {
	s.Rows, s.Columns, s.Turned = s.Columns, s.Rows, !s.Turned
	return s
}
