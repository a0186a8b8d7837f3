package host

import (
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
)

// tasks maps tasks to functions for matrices that are not empty.
var tasks = map[launch.Task]func(w *matrixWork){
	launch.FactorLU:        (*matrixWork).factorLU,
	launch.Invert:          (*matrixWork).invert,
	launch.SolveLinear:     (*matrixWork).solve,
	launch.FactorCholesky:  (*matrixWork).factorCholesky,
	launch.SolveTriangular: (*matrixWork).solveTriangular,
	launch.FactorQR:        (*matrixWork).factorQR,
	launch.FormQ:           (*matrixWork).formQ,
	launch.ApplyQ:          (*matrixWork).applyQ,
	launch.EigenHermitian:  (*matrixWork).eigenHermitian,
	launch.EigenGeneral:    (*matrixWork).eigenGeneral,
	launch.SingularValues:  (*matrixWork).singularValues,
	launch.FactorLDL:       (*matrixWork).factorLDL,
	launch.SolveLDL:        (*matrixWork).solveLDL,
	launch.LeastSquares:    (*matrixWork).leastSquares,
}

// linearAlgebra does a task of linear algebra by LAPACK.
func linearAlgebra(op string, l launch.LinearAlgebra) error {
	if l.A.Numel() == 0 || l.B != nil && l.B.Numel() == 0 {
		return nil
	}
	w := &matrixWork{LinearAlgebra: l, Scope: owner.Scope{Op: op}, d: l.A.DType()}
	defer w.Close()
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
	if !w.small() {
		tasks[l.Task](w)
	}
	return w.Err
}
