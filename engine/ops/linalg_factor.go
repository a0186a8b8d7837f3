package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// LinalgCholeskyEx factors A = L L^H, or U^H U with upper, reading that triangle of A.
func LinalgCholeskyEx(outL, outInfo, self *tensor.Tensor, upper, checkErrors bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.cholesky_ex"
	if err := CheckSquare(op, "A", self); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	a, info := s.copyInColumns(self), s.newInfos(self, shape.Batch(self.Sizes()))
	s.clearTriangle(a, upper)
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FactorCholesky, A: a, Info: info, Upper: upper})
	s.checkInfo(checkErrors, info, NotDefinite)
	r, err := s.writeResults([]string{"L", "info"}, []*tensor.Tensor{outL, outInfo}, s.castPreservingLayout(a, self.DType()), info)
	return r[0], r[1], err
}

// LinalgLuFactorEx factors A = P L U. L, without its unit diagonal, and U share one matrix.
func LinalgLuFactorEx(outLU, outPivots, outInfo, a *tensor.Tensor, pivot,
	checkErrors bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.lu_factor_ex"
	if err := CheckMatrices(op, "A", a); err != nil {
		return nil, nil, nil, err
	}
	if !pivot {
		return nil, nil, nil, status.NotImplementedf("%s: LU without pivoting is not implemented on the CPU; leave pivot=True", op)
	}
	s := newScope(op)
	defer s.Close(&err)
	rows, columns := shape.Matrix(a.Sizes())
	lu, info := s.copyInColumns(a), s.newInfos(a, shape.Batch(a.Sizes()))
	pivots := s.newInfos(a, shape.Append(shape.Batch(a.Sizes()), min(rows, columns)))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FactorLU, A: lu, Pivots: pivots, Info: info})
	s.checkInfo(checkErrors, info, SingularLU)
	r, err := s.writeResults([]string{"LU", "pivots", "info"}, []*tensor.Tensor{outLU, outPivots, outInfo},
		s.castPreservingLayout(lu, a.DType()), pivots, info)
	return r[0], r[1], r[2], err
}

// PivotsPermutation turns the exchanges of rows that a factorization made into the order of n rows that they lead to.
func PivotsPermutation(pivots *tensor.Tensor, n int64) (_ *tensor.Tensor, err error) {
	const op = "lu_unpack"
	if pivots.Dim() == 0 || !pivots.DType().IsIntegral() {
		return nil, status.Runtimef("%s: expected LU_pivots to be vectors of integers, got shape %v and dtype %v; pass the pivots that lu_factor returns",
			op, pivots.Sizes(), pivots.DType())
	}
	s := newScope(op)
	defer s.Close(&err)
	last := pivots.Dim() - 1
	count := pivots.Sizes()[last]
	if count > n {
		return nil, status.Runtimef("%s: LU_pivots has %d pivots, more than the %d rows of the matrices", op, count, n)
	}
	whole := s.castRowMajor(pivots, dtype.Int64)
	order := s.newEmpty(pivots, dtype.Int64, shape.Append(pivots.Sizes()[:last], n)...)
	if !backend.Known(pivots) {
		return s.Return(order)
	}
	exchanges, err := backend.Ints(op, whole)
	if err != nil {
		return nil, err
	}
	for _, row := range exchanges {
		if row < 1 || row > n {
			return nil, status.Runtimef("%s: LU_pivots contains %d, but must contain row numbers from 1 to %d", op, row, n)
		}
	}
	s.Check(backend.WriteInts(op, order, func(to []int64) {
		for i := 0; n > 0 && i*int(n) < len(to); i++ {
			rows := to[i*int(n):][:n]
			for k := range rows {
				rows[k] = int64(k)
			}
			for k, row := range exchanges[i*int(count):][:count] {
				rows[k], rows[row-1] = rows[row-1], rows[k]
			}
		}
	}))
	return s.Return(order)
}

// LinalgInvEx returns the inverse of matrices.
func LinalgInvEx(outInverse, outInfo, a *tensor.Tensor, checkErrors bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.inv_ex"
	if err := CheckSquare(op, "A", a); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	inverse, info := s.copyInColumns(a), s.newInfos(a, shape.Batch(a.Sizes()))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.Invert, A: inverse, Info: info})
	s.checkInfo(checkErrors, info, SingularInverse)
	r, err := s.writeResults([]string{"inverse", "info"}, []*tensor.Tensor{outInverse, outInfo}, s.castPreservingLayout(inverse, a.DType()),
		info)
	return r[0], r[1], err
}

// LinalgLdlFactorEx factors A = L D L^T, or L D L^H where hermitian is set, reading the lower triangle of A.
func LinalgLdlFactorEx(outLD, outPivots, outInfo, self *tensor.Tensor, hermitian,
	checkErrors bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.ldl_factor_ex"
	if err := CheckSquare(op, "A", self); err != nil {
		return nil, nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	a, info, pivots := s.copyInColumns(self), s.newInfos(self, shape.Batch(self.Sizes())), s.newInfos(self, self.Sizes()[:self.Dim()-1])
	s.clearTriangle(a, false)
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FactorLDL, A: a, Pivots: pivots, Info: info, Hermitian: hermitian})
	s.checkInfo(checkErrors, info, SingularLDL)
	r, err := s.writeResults([]string{"LD", "pivots", "info"}, []*tensor.Tensor{outLD, outPivots, outInfo},
		s.castPreservingLayout(a, self.DType()), pivots, info)
	return r[0], r[1], r[2], err
}

// Geqrf factors A = Q R as LAPACK stores it: R above and on the diagonal, below it the reflections that Q is the product of.
func Geqrf(outA, outTau, self *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "geqrf"
	if err := CheckMatrices(op, "input", self); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	a, tau := s.factorReflections(self)
	r, err := s.writeResultsCast([]string{"a", "tau"}, []*tensor.Tensor{outA, outTau}, s.castPreservingLayout(a, self.DType()),
		s.castPreservingLayout(tau, self.DType()))
	return r[0], r[1], err
}

// factorReflections factors a copy of matrices into R and reflections.
func (s *scope) factorReflections(self *tensor.Tensor) (a, tau *tensor.Tensor) {
	rows, columns := shape.Matrix(self.Sizes())
	a = s.copyInColumns(self)
	tau = s.newEmpty(self, self.DType().Compute(), shape.Append(shape.Batch(self.Sizes()), min(rows, columns))...)
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FactorQR, A: a, Values: tau})
	return a, tau
}

// LinalgQr factors A = Q R: reduced, complete, or R alone.
func LinalgQr(outQ, outR, a *tensor.Tensor, mode string) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.qr"
	if err := cmp.Or(CheckMatrices(op, "A", a), CheckWord(op, "mode", mode, "reduced", "complete", "r")); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	rows, columns := shape.Matrix(a.Sizes())
	short := min(rows, columns)
	wide := short // the columns of Q
	if mode == "complete" {
		wide = rows
	}
	factored, tau := s.factorReflections(a)
	upper := s.newColumns(a, a.DType().Compute(), shape.Append(shape.Batch(a.Sizes()), wide, columns))
	if wide > short {
		s.Check(fillWith(upper, zero))
	}
	s.copyTensor(s.narrowDim(upper, -2, short), s.narrowDim(factored, -2, short))
	s.clearTriangle(upper, true)
	var q *tensor.Tensor
	if mode == "r" {
		q = s.newEmpty(a, a.DType().Compute(), 0)
	} else {
		q = s.newColumns(a, a.DType().Compute(), shape.Append(shape.Batch(a.Sizes()), rows, wide))
		s.copyTensor(s.narrowDim(q, -1, short), s.narrowDim(factored, -1, short))
		s.formOrthogonal(q, tau)
	}
	r, err := s.writeResults([]string{"Q", "R"}, []*tensor.Tensor{outQ, outR}, s.castPreservingLayout(q, a.DType()),
		s.castPreservingLayout(upper, a.DType()))
	return r[0], r[1], err
}

// narrowDim views the first n positions of a dimension.
func (s *scope) narrowDim(t *tensor.Tensor, dim, n int64) *tensor.Tensor {
	return s.Track(view.Narrow(s.Op, t, dim, 0, n))
}

// formOrthogonal computes Q from reflections; without any it begins with an identity.
func (s *scope) formOrthogonal(q, tau *tensor.Tensor) {
	if tau.Numel() > 0 {
		s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FormQ, A: q, Values: tau})
		return
	}
	s.fillIdentity(q)
}

// fillIdentity fills matrices with ones on the diagonal and zeros elsewhere.
func (s *scope) fillIdentity(t *tensor.Tensor) {
	s.Check(fillWith(t, zero))
	diagonal := s.Track(view.Diagonal(s.Op, t, 0, -2, -1))
	s.Check(fillWith(diagonal, unscale))
}

// checkReflections returns an error unless input and tau are the Householder reflections of matrices with rows.
func checkReflections(op string, input, tau *tensor.Tensor) error {
	if err := cmp.Or(CheckMatrices(op, "input", input), checkAlike(op, []string{"input", "tau"}, input, tau)); err != nil {
		return err
	}
	rows, columns := shape.Matrix(input.Sizes())
	if columns > rows {
		return status.Runtimef("%s: input.shape[-2] must be greater than or equal to input.shape[-1], got %d and %d", op, rows, columns)
	}
	if tau.Dim() != input.Dim()-1 || !slices.Equal(tau.Sizes()[:tau.Dim()-1], shape.Batch(input.Sizes())) {
		return status.Runtimef("%s: expected tau.shape to be input.shape without the dimension of rows, but got tau of shape %v and input of shape %v",
			op, tau.Sizes(), input.Sizes())
	}
	if n := tau.Sizes()[tau.Dim()-1]; n > columns {
		return status.Runtimef("%s: input.shape[-1] must be greater than or equal to tau.shape[-1], got %d and %d", op, columns, n)
	}
	return nil
}

// LinalgHouseholderProduct returns the first columns of the product of reflections.
func LinalgHouseholderProduct(out, input, tau *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "linalg.householder_product"
	if err := checkReflections(op, input, tau); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	q := s.copyInColumns(input)
	s.formOrthogonal(q, s.castRowMajor(tau, tau.DType().Compute()))
	return FinishCast(&s.Scope, out, s.castPreservingLayout(q, input.DType()))
}

// Ormqr multiplies other by the product of reflections, or its adjoint, from the left or from the right.
func Ormqr(out, self, tau, other *tensor.Tensor, left, transpose bool) (_ *tensor.Tensor, err error) {
	const op = "ormqr"
	if err := cmp.Or(checkMatrixShape(op, "input", self), checkMatrixShape(op, "other", other),
		checkAlike(op, []string{"input", "tau", "other"}, self, tau, other)); err != nil {
		return nil, err
	}
	rows, columns := shape.Matrix(self.Sizes())
	reflections := min(rows, columns)
	along := other.Dim() - 1
	if left {
		along--
	}
	switch {
	case other.Sizes()[along] != rows:
		return nil, status.Runtimef("%s: other.shape[%d] must be equal to input.shape[-2], got %d and %d", op, along-other.Dim(),
			other.Sizes()[along], rows)
	case tau.Dim() != self.Dim()-1 || !slices.Equal(tau.Sizes()[:tau.Dim()-1], shape.Batch(self.Sizes())):
		return nil, status.Runtimef("%s: expected tau.shape to be input.shape without the dimension of rows, but got tau of shape %v and input of shape %v",
			op, tau.Sizes(), self.Sizes())
	case tau.Sizes()[tau.Dim()-1] != reflections:
		return nil, status.Runtimef("%s: tau.shape[-1] must be equal to the smaller one of other.shape[%d] and input.shape[-1], %d, got %d", op,
			along-other.Dim(), reflections, tau.Sizes()[tau.Dim()-1])
	case !slices.Equal(shape.Batch(other.Sizes()), shape.Batch(self.Sizes())):
		return nil, status.Runtimef("%s: batch dimensions of other must be equal to input's, got %v and %v", op, other.Sizes(), self.Sizes())
	}
	if err := CheckInexact(op, "input", self); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	b := s.copyInColumns(other)
	if tau.Numel() > 0 {
		s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.ApplyQ, A: s.copyInColumns(self),
			Values: s.castRowMajor(tau, tau.DType().Compute()), B: b, Right: !left, Adjoint: transpose})
	}
	r, err := s.writeResults([]string{"out"}, []*tensor.Tensor{out}, s.castPreservingLayout(b, other.DType()))
	return r[0], err
}
