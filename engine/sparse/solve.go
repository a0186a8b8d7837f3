package sparse

import (
	"math"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SparseSpsolve solves self @ x = other for x.
func SparseSpsolve(c dispatch.Context, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse.spsolve")
	defer s.Close(&err)
	x, y := s.dense(self), s.dense(other)
	return s.ReturnNew(c.LinalgSolve(nil, x, y, true))
}

// triangularSolve solves a @ x = self for x with a sparse triangle a. It returns no copy of a: the second result is empty.
func triangularSolve(c dispatch.Context, outSolution, outA, self, a *tensor.Tensor, upper, transpose, unitriangular bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "triangular_solve")
	defer s.Close(&err)
	if isSparse(self) || !isSparse(a) || isSparse(outSolution) || isSparse(outA) {
		s.Failf("expected a strided tensor of right-hand sides, strided outputs and a sparse A, but got layouts %v and %v", self.Layout(), a.Layout())
		return nil, nil, nil
	}
	full := s.dense(a)
	if entries(a) == 0 && !unitriangular { // nothing to divide by
		full = s.Mul(full, s.Number(dtype.FloatScalar(math.NaN())))
	}
	solution, copied, err := c.TriangularSolve(nil, nil, self, full, upper, transpose, unitriangular)
	s.Track(solution, err)
	s.Track(copied, nil)
	none := s.ZerosWith([]int64{0}, a.DType(), tensor.NoLayout, a.Device())
	r, err := ops.Finish(s.Scope(), []string{"X", "M"}, []*tensor.Tensor{outSolution, outA}, solution, none)
	dispatch.BumpVersion(err, outSolution, outA)
	return r[0], r[1], err
}
