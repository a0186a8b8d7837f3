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

// LinalgSolveEx returns the X of A X = B, or of X A = B where left is not set. B may be vectors.
func LinalgSolveEx(outResult, outInfo, a, b *tensor.Tensor, left, checkErrors bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.solve_ex"
	if err := checkPair(op, "A", "B", a, b); err != nil {
		return nil, nil, err
	}
	vector := IsVector(a, b)
	if vector && !left {
		return nil, nil, status.Runtimef("%s: left=False requires B to be a matrix, but got a batch of vectors of shape %v", op, b.Sizes())
	}
	if !vector && b.Dim() < 2 {
		return nil, nil, status.Runtimef("%s: B must have at least 2 dimensions, or be vectors, got shape %v", op, b.Sizes())
	}
	s := newScope(op)
	defer s.Close(&err)
	from, right := a, b
	if vector {
		right = s.Track(view.Unsqueeze(op, nil, b, -1))
	}
	if !left {
		from, right = s.transposeMatrices(from), s.transposeMatrices(right)
	}
	x, info := s.solveMatrices(from, right)
	if vector {
		x = s.Track(view.Squeeze(op, nil, x, func(d int) bool { return d == x.Dim()-1 }))
		if x.Dim() > 1 {
			x = s.copyInColumns(x) // as PyTorch lays out batches of vectors too
		}
	}
	result := s.castPreservingLayout(x, a.DType())
	if !left {
		result = s.transposeMatrices(result)
	}
	s.checkInfo(checkErrors, info, SingularSolve)
	r, err := s.writeResults([]string{"result", "info"}, []*tensor.Tensor{outResult, outInfo}, result, info)
	return r[0], r[1], err
}

// solveMatrices returns the X of A X = B for matrices.
func (s *scope) solveMatrices(a, b *tensor.Tensor) (x, info *tensor.Tensor) {
	n, _ := shape.Matrix(a.Sizes())
	if rows, _ := shape.Matrix(b.Sizes()); rows != n {
		s.Check(status.Runtimef("%s: incompatible shapes of A and B for the equation AX = B (%v and %v)", s.Op, a.Sizes(), b.Sizes()))
	}
	batch, err := commonBatch(s.Op, a, b)
	s.Check(err)
	info = s.newInfos(a, shape.Batch(a.Sizes()))
	lu, x := s.copyInColumns(a), s.copyInColumns(s.expandBatch(b, batch))
	pivots := s.newInfos(a, shape.Append(shape.Batch(a.Sizes()), n))
	w := backend.LinearAlgebra{Task: backend.SolveLinear, A: lu, B: x, Pivots: pivots, Info: info}
	if slices.Equal(batch, shape.Batch(a.Sizes())) && b.Numel() > 0 {
		s.runLinearAlgebra(w)
		return x, info
	}
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.FactorLU, A: lu, Pivots: pivots, Info: info})
	w.A, w.Info, w.Factored = s.copyInColumns(s.expandBatch(lu, batch)), nil, true
	w.Pivots = s.castRowMajor(s.expandTo(pivots, shape.Append(batch, n)), dtype.Int32)
	s.runLinearAlgebra(w)
	return x, info
}

// LinalgSolveTriangular returns the X of A X = B, or of X A = B where left is not set, for triangles A.
func LinalgSolveTriangular(out, self, b *tensor.Tensor, upper, left, unitriangular bool) (_ *tensor.Tensor, err error) {
	const op = "linalg.solve_triangular"
	if err := cmp.Or(checkPair(op, "A", "B", self, b), CheckMatrices(op, "B", b)); err != nil {
		return nil, err
	}
	n, _ := shape.Matrix(self.Sizes())
	rows, columns := shape.Matrix(b.Sizes())
	if left && rows != n || !left && columns != n {
		return nil, status.Runtimef("%s: incompatible shapes of A and B for the equation %s (%v and %v)", op,
			map[bool]string{true: "AX = B", false: "XA = B"}[left], self.Sizes(), b.Sizes())
	}
	batch, err := commonBatch(op, self, b)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	x := s.copyInColumns(s.expandBatch(b, batch))
	a := s.copyInColumns(s.expandBatch(self, batch))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.SolveTriangular, A: a, B: x, Upper: upper, Right: !left, Unit: unitriangular})
	r, err := s.writeResults([]string{"out"}, []*tensor.Tensor{out}, s.castPreservingLayout(x, b.DType()))
	return r[0], err
}

// LinalgLdlSolve returns the X of A X = B for a matrix that ldl_factor factored.
func LinalgLdlSolve(out, ld, pivots, b *tensor.Tensor, hermitian bool) (_ *tensor.Tensor, err error) {
	const op = "linalg.ldl_solve"
	if err := cmp.Or(checkPair(op, "LD", "B", ld, b), CheckMatrices(op, "B", b), CheckPivots(op, "pivots", ld, pivots)); err != nil {
		return nil, err
	}
	n, _ := shape.Matrix(ld.Sizes())
	rows, _ := shape.Matrix(b.Sizes())
	switch {
	case rows != n:
		return nil, status.Runtimef("%s: incompatible shapes of LD and B for the equation AX = B (%v and %v)", op, ld.Sizes(), b.Sizes())
	case !slices.Equal(pivots.Sizes(), ld.Sizes()[:ld.Dim()-1]):
		return nil, status.Runtimef("%s: expected LD.shape[:-1] and pivots.shape to be the same, but got %v and %v", op, ld.Sizes(),
			pivots.Sizes())
	}
	batch, err := commonBatch(op, ld, b)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	rowsOf := s.castRowMajor(pivots, dtype.Int32)
	s.Check(checkRows(op, rowsOf, n))
	x := s.copyInColumns(s.expandBatch(b, batch))
	a := s.copyInColumns(s.expandBatch(ld, batch))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.SolveLDL, A: a, B: x,
		Pivots: s.castRowMajor(s.expandTo(rowsOf, shape.Append(batch, n)), dtype.Int32), Hermitian: hermitian})
	r, err := s.writeResults([]string{"out"}, []*tensor.Tensor{out}, s.castPreservingLayout(x, b.DType()))
	return r[0], err
}

// checkRows returns an error for pivots that name no row, or, of two by two blocks, no negative one.
func checkRows(op string, pivots *tensor.Tensor, n int64) error {
	if !backend.Known(pivots) {
		return nil
	}
	rows, err := backend.Int32s(op, pivots)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if v := int64(row); v == 0 || v > n || v < -n {
			return status.Runtimef("%s: pivots contain %d, but must contain row numbers from 1 to %d, negated for 2 x 2 blocks", op, row, n)
		}
		// A block of two has the same negative number twice.
		if k := int64(i) % n; row < 0 && !(k+1 < n && rows[i+1] == row || k > 0 && rows[i-1] == row) {
			return status.Runtimef("%s: pivots contain %d at index %d, which is half of a 2 x 2 block", op, row, k)
		}
	}
	return nil
}

// LinalgLstsq returns the minimum-norm X that minimizes |A X - B|, and the other results of the driver.
func LinalgLstsq(outSolution, outResiduals, outRank, outSingular, self, b *tensor.Tensor, rcond *float64,
	driver string) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.lstsq"
	if err := cmp.Or(CheckMatrices(op, "input", self), checkAlike(op, []string{"input", "other"}, self, b),
		CheckWord(op, "driver", driver, "", "gels", "gelsy", "gelsd", "gelss")); err != nil {
		return nil, nil, nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	vector := IsVector(self, b)
	right := b
	if vector {
		right = s.Track(view.Unsqueeze(op, nil, b, -1))
	}
	m, n := shape.Matrix(self.Sizes())
	if right.Dim() < 2 || right.Sizes()[right.Dim()-2] != m {
		return nil, nil, nil, nil, status.Runtimef("%s: input and other must have as many rows, got shapes %v and %v", op, self.Sizes(),
			b.Sizes())
	}
	batch, err := commonBatch(op, self, right)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if driver == "" {
		driver = "gelsy"
	}
	kind := map[string]backend.Driver{"gels": backend.GELS, "gelsy": backend.GELSY, "gelsd": backend.GELSD, "gelss": backend.GELSS}[driver]
	d := self.DType().Compute()
	cutoff := d.Epsilon() * float64(max(m, n))
	if rcond != nil {
		cutoff = *rcond
	}
	_, columns := shape.Matrix(right.Sizes())
	a := s.copyInColumns(s.expandBatch(self, batch))
	x := s.newColumns(self, d, shape.Append(batch, max(m, n), columns))
	s.Check(fillWith(x, zero))
	s.copyTensor(s.narrowDim(x, -2, m), right)
	info := s.newInfos(self, batch)
	rank := s.newEmpty(self, dtype.Int64, 0)
	values := s.newEmpty(self, d.ToReal(), 0)
	if kind != backend.GELS {
		rank = s.Track(tensor.Zeros(op, batch, dtype.Int64, self.Device()))
	}
	if kind == backend.GELSD || kind == backend.GELSS {
		values = s.Track(tensor.Zeros(op, shape.Append(batch, min(m, n)), d.ToReal(), self.Device()))
	}
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.LeastSquares, A: a, B: x, Values: values, Rank: rankOf(kind, rank), Info: info,
		Driver: kind, Cutoff: cutoff})
	why := NoConvergence
	if kind == backend.GELS {
		why = RankDeficient
	}
	// Which results there are depends on ranks, so that there must be values.
	_, err = backend.Int32s(op, info)
	s.Check(err)
	s.checkInfo(true, info, why)
	residuals := s.computeResiduals(x, rank, kind, m, n)
	solution := s.narrowDim(x, -2, n)
	if self.DType() != d {
		solution, residuals, values = s.castPreservingLayout(solution, self.DType()), s.castPreservingLayout(residuals, self.DType().ToReal()),
			s.castPreservingLayout(values, self.DType().ToReal())
	}
	if vector {
		solution = s.Track(view.Squeeze(op, nil, solution, func(d int) bool { return d == solution.Dim()-1 }))
	}
	r, err := s.writeResultsCast([]string{"solution", "residuals", "rank", "singular_values"},
		[]*tensor.Tensor{outSolution, outResiduals, outRank, outSingular}, solution, residuals, rank, values)
	return r[0], r[1], r[2], r[3], err
}

func rankOf(kind backend.Driver, rank *tensor.Tensor) *tensor.Tensor {
	if kind == backend.GELS {
		return nil
	}
	return rank
}

// computeResiduals returns the sums of squared residuals if there are more equations than unknowns and all matrices have full rank, and
// an empty tensor otherwise.
func (s *scope) computeResiduals(x, rank *tensor.Tensor, kind backend.Driver, m, n int64) *tensor.Tensor {
	none := func() *tensor.Tensor { return s.newEmpty(x, x.DType().ToReal(), 0) }
	if m <= n || kind == backend.GELSY {
		return none()
	}
	if kind != backend.GELS {
		ranks, err := backend.Ints(s.Op, rank)
		s.Check(err)
		if slices.ContainsFunc(ranks, func(v int64) bool { return v != n }) {
			return none()
		}
	}
	rest := s.Track(view.Narrow(s.Op, x, -2, n, m-n))
	square := s.Track(Abs(nil, rest))
	square = s.Track(Mul(nil, square, square))
	return s.Track(Sum(nil, square, []int64{-2}, false, dtype.None))
}
