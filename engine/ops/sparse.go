package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// newCSR returns a matrix in compressed rows with a number of columns; values may be nil.
func (s *scope) newCSR(compressed, plain, values *tensor.Tensor, columns int64) (m backend.CSR) {
	switch {
	case compressed.Dim() != 1 || plain.Dim() != 1 || values != nil && values.Dim() != 1:
		s.Failf("crow_indices, col_indices and values must be vectors")
	case compressed.DType() != plain.DType() || compressed.DType() != dtype.Int64 && compressed.DType() != dtype.Int32:
		s.Failf("crow_indices and col_indices must both be int32 or int64, but got %v and %v", compressed.DType(), plain.DType())
	case compressed.Numel() < 1:
		s.Failf("crow_indices must have at least 1 entry, but got none")
	case values != nil && values.Numel() != plain.Numel():
		s.Failf("col_indices and values must have the same number of entries, but got %d and %d", plain.Numel(), values.Numel())
	}
	m = backend.CSR{Compressed: s.castRowMajor(compressed, compressed.DType()), Plain: s.castRowMajor(plain, plain.DType()), Columns: columns}
	if values != nil {
		m.Values = s.castRowMajor(values, values.DType())
	}
	return m
}

// CsrSpmm returns the product of a matrix in compressed rows and a dense vector or matrix; without values those are 1.
func CsrSpmm(crow, col, values, mat *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("csr_spmm")
	defer s.Close(&err)
	if _, err := tensoriter.Device(s.Op, crow, col, mat); err != nil {
		return nil, err
	}
	switch {
	case mat.Dim() != 1 && mat.Dim() != 2:
		s.Failf("mat must be a vector or a matrix, but got sizes %v", mat.Sizes())
	case values != nil && values.DType() != mat.DType():
		s.Failf("values and mat must have the same dtype, but got %v and %v", values.DType(), mat.DType())
	}
	a := s.newCSR(crow, col, values, mat.Sizes()[0])
	b := mat
	if mat.Dim() == 2 && mat.Strides()[1] != 1 || mat.Numel() > 0 && mat.Strides()[0] < 0 {
		b = s.castRowMajor(mat, mat.DType())
	}
	out := s.newEmpty(mat, mat.DType(), append([]int64{crow.Numel() - 1}, mat.Sizes()[1:]...)...)
	s.Check(backend.On(out).SparseDense(s.Op, backend.SparseDense{To: out, A: a, B: b}))
	return s.Return(out)
}

// NnBagMaxima returns the row of weight with the first maximum or NaN of each bag and column.
func NnBagMaxima(weight, crow, col *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("embedding_bag")
	defer s.Close(&err)
	if _, err := tensoriter.Device(s.Op, weight, crow, col); err != nil {
		return nil, err
	}
	if weight.Dim() != 2 {
		s.Failf("weight must be a matrix, but has sizes %v", weight.Sizes())
	}
	a := s.newCSR(crow, col, nil, weight.Sizes()[0])
	b := s.castRowMajor(weight, weight.DType())
	out := s.newEmpty(weight, crow.DType(), crow.Numel()-1, weight.Sizes()[1])
	s.Check(backend.On(out).SparseDense(s.Op, backend.SparseDense{To: out, A: a, B: b, Maxima: true}))
	return s.Return(out)
}

// CsrSddmm has the elements of the product of mat1 and the transpose of mat2 where a matrix in compressed rows has entries.
func CsrSddmm(crow, col, mat1, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("csr_sddmm")
	defer s.Close(&err)
	if _, err := tensoriter.Device(s.Op, crow, col, mat1, mat2); err != nil {
		return nil, err
	}
	switch {
	case mat1.Dim() != 2 || mat2.Dim() != 2 || mat1.Sizes()[1] != mat2.Sizes()[1]:
		s.Failf("mat1 and mat2 must be matrices with the same number of columns, but got sizes %v and %v", mat1.Sizes(), mat2.Sizes())
	case mat1.DType() != mat2.DType():
		s.Failf("mat1 and mat2 must have the same dtype, but got %v and %v", mat1.DType(), mat2.DType())
	case crow.Dim() == 1 && crow.Numel() != mat1.Sizes()[0]+1:
		s.Failf("crow_indices must have one element more than the number of rows of mat1, but got %d elements for %d rows", crow.Numel(),
			mat1.Sizes()[0])
	}
	at := s.newCSR(crow, col, nil, mat2.Sizes()[0])
	rows := func(t *tensor.Tensor) *tensor.Tensor {
		if t.Numel() > 0 && (t.Strides()[1] != 1 || t.Strides()[0] < 0) {
			return s.castRowMajor(t, t.DType())
		}
		return t
	}
	a, b := rows(mat1), rows(mat2)
	at.Values = s.newEmpty(mat1, mat1.DType(), col.Numel())
	s.Check(backend.On(at.Values).Sampled(s.Op, backend.Sampled{At: at, A: a, B: b}))
	return s.Return(at.Values)
}

// CsrSpgemm returns the product of two CSR matrices, the second with `columns` columns, in CSR.
func CsrSpgemm(crow, col, values, otherCrow, otherCol, otherValues *tensor.Tensor,
	columns int64) (compressed, plain, product *tensor.Tensor, err error) {
	s := newScope("csr_spgemm")
	defer s.Close(&err)
	if _, err := tensoriter.Device(s.Op, crow, col, values, otherCrow, otherCol, otherValues); err != nil {
		return nil, nil, nil, err
	}
	switch {
	case values.DType() != otherValues.DType():
		s.Failf("values and other_values must have the same dtype, but got %v and %v", values.DType(), otherValues.DType())
	case columns < 0:
		s.Failf("columns must not be negative, but got %d", columns)
	}
	a, b := s.newCSR(crow, col, values, otherCrow.Numel()-1), s.newCSR(otherCrow, otherCol, otherValues, columns)
	made, err := backend.On(values).SparseSparse(s.Op, backend.SparseSparse{A: a, B: b})
	if err != nil {
		return nil, nil, nil, err
	}
	return made.Compressed, made.Plain, made.Values, nil
}

// CsrSpadd returns the sum of two CSR matrices with `columns` columns, in CSR.
func CsrSpadd(crow, col, values, otherCrow, otherCol, otherValues *tensor.Tensor,
	columns int64) (compressed, plain, sum *tensor.Tensor, err error) {
	s := newScope("csr_spadd")
	defer s.Close(&err)
	if _, err := tensoriter.Device(s.Op, crow, col, values, otherCrow, otherCol, otherValues); err != nil {
		return nil, nil, nil, err
	}
	switch {
	case values.DType() != otherValues.DType():
		s.Failf("values and other_values must have the same dtype, but got %v and %v", values.DType(), otherValues.DType())
	case crow.Numel() != otherCrow.Numel():
		s.Failf("crow_indices and other_crow must have the same number of elements, but got %d and %d", crow.Numel(), otherCrow.Numel())
	case columns < 0:
		s.Failf("columns must not be negative, but got %d", columns)
	}
	a, b := s.newCSR(crow, col, values, columns), s.newCSR(otherCrow, otherCol, otherValues, columns)
	made, err := backend.On(values).SparseSum(s.Op, backend.SparseSum{A: a, B: b})
	if err != nil {
		return nil, nil, nil, err
	}
	return made.Compressed, made.Plain, made.Values, nil
}
