package sparse

import (
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SparseSpsolve solves self @ x = other for x.
func SparseSpsolve(c dispatch.Context, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse.spsolve")
	defer b.Close(&err)
	x, y := asDense(b, self), asDense(b, other)
	return b.ReturnNew(c.LinalgSolve(nil, x, y, true))
}

// triangularSolve solves a @ x = self for x with a sparse triangle a. It returns no copy of a: the second result is empty.
func triangularSolve(c dispatch.Context, outSolution, outA, self, a *tensor.Tensor, upper, transpose,
	unitriangular bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "triangular_solve")
	defer b.Close(&err)
	if isSparse(self) || !isSparse(a) || isSparse(outSolution) || isSparse(outA) {
		b.Failf("expected a strided tensor of right-hand sides, strided outputs and a sparse A, but got layouts %v and %v", self.Layout(),
			a.Layout())
	}
	full := asDense(b, a)
	if countEntries(a) == 0 && !unitriangular { // nothing to divide by
		full = b.Mul(full, b.Number(dtype.FloatScalar(math.NaN())))
	}
	solution, copied, err := c.TriangularSolve(nil, nil, self, full, upper, transpose, unitriangular)
	b.Track(solution, err)
	b.Track(copied, nil)
	none := b.ZerosWith([]int64{0}, a.DType(), tensor.NoLayout, a.Device())
	r, err := ops.Finish(&b.Scope, []string{"X", "M"}, []*tensor.Tensor{outSolution, outA}, solution, none)
	dispatch.BumpVersion(err, outSolution, outA)
	return r[0], r[1], err
}
