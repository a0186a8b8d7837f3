package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// smallProduct is the number of multiplications up to which a kernel of ours beats a call of BLAS.
const smallProduct = 16 * 16 * 16

// products owns the copies that a product needs.
type products struct{ owner.Scope }

// copyBroadcast writes t, broadcast, to c.
func (s *products) copyBroadcast(c, t *tensor.Tensor) {
	s.Check(copyTo(s.Op, backend.Copying{To: c, From: t}))
}

// transposeLast returns t with its last two dimensions exchanged.
func (s *products) transposeLast(t *tensor.Tensor) *tensor.Tensor {
	return s.Track(view.Transpose(s.Op, nil, t, -2, -1))
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

// viewFactors views the operands and the result of a product as matrices.
func viewFactors(w backend.Product) (a, b, c matrices) {
	a, b, c = matricesOf(w.A), matricesOf(w.B), matricesOf(w.To)
	if w.Turned {
		b = b.swapDims()
	}
	return a, b, c
}

// broadcastOf views t, which broadcasts to c, as many matrices as c has. Repeated matrices, rows and columns have a stride of 0.
func broadcastOf(t, c *tensor.Tensor) matrices {
	m := matricesOf(c)
	m.data, m.batchStep, m.row, m.column = uintptr(t.Data()), 0, 0, 0
	sizes, strides := t.Sizes(), t.Strides()
	for i, step := range []*int64{&m.column, &m.row, &m.batchStep} {
		if d := len(sizes) - 1 - i; d >= 0 && sizes[d] != 1 {
			*step = strides[d]
		}
	}
	return m
}

func (m matrices) swapDims() matrices {
	m.rows, m.cols, m.row, m.column = m.cols, m.rows, m.column, m.row
	return m
}

// canUseBLAS reports whether OpenBLAS's integers hold the sizes and steps.
func (m matrices) canUseBLAS() bool { return blas.Reaches(m.rows, m.cols, m.row, m.column) }

// leadingDim returns the distance between stored rows, and whether these are the matrix's columns.
func (m matrices) leadingDim() (ld int64, turned, ok bool) {
	return tensoriter.Leading(m.rows, m.cols, m.row, m.column)
}
