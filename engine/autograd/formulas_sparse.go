package autograd

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

func (s *steps) selectRows(t, index *tensor.Tensor) *tensor.Tensor {
	return s.IndexSelect(t, 0, index)
}

// rowCounts returns the numbers of entries of lines, of which compressed has where each begins.
func (s *steps) rowCounts(compressed *tensor.Tensor) *tensor.Tensor {
	compressed = s.castTo(compressed, dtype.Int64)
	n := compressed.Numel() - 1
	return s.sub(s.Narrow(compressed, 0, 1, n), s.Narrow(compressed, 0, 0, n))
}

// repeatByCounts has each number i counts[i] times.
func (s *steps) repeatByCounts(counts *tensor.Tensor) *tensor.Tensor {
	return s.RepeatInterleave(counts)
}

// csrValuesGradient returns that of the values of a product with a dense matrix: of each entry, the gradient's row times the matrix's.
func (s *steps) csrValuesGradient(grad, crow, col, mat *tensor.Tensor) *tensor.Tensor {
	if mat.Dim() == 1 {
		return s.mul(s.selectRows(grad, s.repeatByCounts(s.rowCounts(crow))), s.conj(s.selectRows(mat, col)))
	}
	return s.CsrSddmm(crow, col, grad, s.conj(mat))
}

// csrDenseGradient returns that of the dense matrix: the gradient times the sparse matrix's adjoint, whose rows are its columns.
func (s *steps) csrDenseGradient(grad, crow, col, values *tensor.Tensor, sizes []int64) *tensor.Tensor {
	if !backend.Known(crow) {
		return s.fullOf(0, grad.DType(), grad.Device(), sizes...)
	}
	inOrder, order, err := s.C.SortStable(nil, nil, s.castTo(col, dtype.Int64), ops.True, 0, false)
	s.TrackAll([]*tensor.Tensor{inOrder, order}, err)
	counts := s.Bincount(inOrder, nil, sizes[0])
	ends := s.CumsumWith(counts, 0, dtype.Int64)
	starts := s.ConstantPadNd(ends, []int64{1, 0}, dtype.IntScalar(0))
	if values != nil {
		values = s.selectRows(s.conj(values), order)
	}
	return s.CsrSpmm(starts, s.selectRows(s.repeatByCounts(s.rowCounts(crow)), order), values, grad)
}

// csrProductGradient returns the gradient of the values of one factor of a sparse product: a product of entries of both factors was added
// to the entry of the result in the row of the one and the column of the other.
func (s *steps) csrProductGradient(grad, rows, columns, crow, col, values, otherCrow, otherCol, otherValues *tensor.Tensor, width int64,
	ofOther bool) *tensor.Tensor {
	_, err := shape.Numel("backward", []int64{crow.Numel(), max(width, 1)})
	s.Check(err)
	starts, each := s.selectRows(s.castTo(otherCrow, dtype.Int64), col), s.selectRows(s.rowCounts(otherCrow), col)
	of := s.repeatByCounts(each) // the entry of a in each product
	ends := s.CumsumWith(each, 0, dtype.Int64)
	number := s.ArangeWith(dtype.IntScalar(of.Numel()), dtype.Int64, tensor.NoLayout, of.Device())
	with := s.add(number, s.selectRows(s.sub(starts, s.sub(ends, each)), of)) // that of b
	made := s.placeKeys(s.selectRows(s.repeatByCounts(s.rowCounts(crow)), of), s.selectRows(otherCol, with), width)
	at := s.Searchsorted(s.placeKeys(s.repeatByCounts(s.rowCounts(rows)), columns, width), made)
	to, from, factors := values, of, s.selectRows(otherValues, with)
	if ofOther {
		to, from, factors = otherValues, with, s.selectRows(values, of)
	}
	shares := s.castTo(s.mul(s.selectRows(grad, at), s.conj(factors)), to.DType().Compute())
	zeros := s.fullOf(0, shares.DType(), shares.Device(), to.Numel())
	return s.castTo(s.IndexAdd(zeros, 0, from, shares), to.DType())
}

// placeKeys returns the row-major indices of positions in a matrix with width columns.
func (s *steps) placeKeys(rows, columns *tensor.Tensor, width int64) *tensor.Tensor {
	return s.add(s.mul(rows, s.int(width)), s.castTo(columns, dtype.Int64))
}

// csrSumGradient returns that of the values of a summand: each entry has gone to the one of the sum at its place.
func (s *steps) csrSumGradient(grad, rows, columns, crow, col *tensor.Tensor, width int64) *tensor.Tensor {
	_, err := shape.Numel("backward", []int64{crow.Numel(), max(width, 1)})
	s.Check(err)
	to, from := s.placeKeys(s.repeatByCounts(s.rowCounts(rows)), columns, width), s.placeKeys(s.repeatByCounts(s.rowCounts(crow)), col, width)
	return s.selectRows(grad, s.Searchsorted(to, from))
}
