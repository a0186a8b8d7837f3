package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
)

// tasks maps tasks to functions for matrices that are not empty.
var tasks = map[backend.Task]func(w *matrixWork){
	backend.FactorLU:        (*matrixWork).factorLU,
	backend.Invert:          (*matrixWork).invertMatrices,
	backend.SolveLinear:     (*matrixWork).solveSystem,
	backend.FactorCholesky:  (*matrixWork).factorCholesky,
	backend.SolveTriangular: (*matrixWork).solveTriangular,
	backend.FactorQR:        (*matrixWork).factorQR,
	backend.FormQ:           (*matrixWork).formQ,
	backend.ApplyQ:          (*matrixWork).applyQ,
	backend.EigenHermitian:  (*matrixWork).eigenHermitian,
	backend.EigenGeneral:    (*matrixWork).eigenGeneral,
	backend.SingularValues:  (*matrixWork).singularValues,
	backend.FactorLDL:       (*matrixWork).factorLDL,
	backend.SolveLDL:        (*matrixWork).solveLDL,
	backend.LeastSquares:    (*matrixWork).leastSquares,
}

// linearAlgebra does a task of linear algebra by LAPACK.
func linearAlgebra(op string, l backend.LinearAlgebra) (err error) {
	if l.A.Numel() == 0 || l.B != nil && l.B.Numel() == 0 {
		return nil
	}
	w := &matrixWork{LinearAlgebra: l, Scope: owner.Scope{Op: op}, d: l.A.DType()}
	defer w.Close(&err)
	if !blas.Serves(w.d) {
		return blas.Missing(op)
	}
	w.m, w.n = shape.Matrix(l.A.Sizes())
	w.batch = shape.Product(shape.Batch(l.A.Sizes()))
	// LAPACK routines also compute workspace sizes with these integers: blocks of the longer side, and a few squares of the shorter one.
	if short, long := min(w.m, w.n), max(w.m, w.n); !blas.Reaches(64*long, 8*short*short) {
		return status.NotImplementedf("%s: a matrix of %d by %d is too large for this OpenBLAS, which uses 32-bit integers; set %s to the path of one with 64-bit integers",
			op, w.m, w.n, blas.Variable)
	}
	if !w.runSmall() {
		tasks[l.Task](w)
	}
	return nil
}
