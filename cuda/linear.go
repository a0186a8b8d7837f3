package cuda

import (
	"math"

	"github.com/libtensor/libtensor/cuda/cublas"
	"github.com/libtensor/libtensor/cuda/cusolver"
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// taskFunctions maps tasks to functions for matrices that are not empty.
var taskFunctions map[backend.Task]func(w *matrices)

func init() {
	taskFunctions = map[backend.Task]func(w *matrices){
		backend.FactorLU:        (*matrices).factorLU,
		backend.Invert:          (*matrices).invertLU,
		backend.SolveLinear:     (*matrices).solveLU,
		backend.FactorCholesky:  (*matrices).factorCholesky,
		backend.SolveTriangular: (*matrices).solveTriangular,
		backend.FactorQR:        (*matrices).factorQR,
		backend.FormQ:           (*matrices).formQ,
		backend.ApplyQ:          (*matrices).applyQ,
		backend.EigenHermitian:  (*matrices).decomposeHermitian,
		backend.EigenGeneral:    (*matrices).computeEigenvalues,
		backend.SingularValues:  (*matrices).decomposeSingularValues,
		backend.FactorLDL:       (*matrices).factorLDL,
		backend.SolveLDL:        (*matrices).solveLDL,
		backend.LeastSquares:    (*matrices).solveLeastSquares,
	}
}

// runLinearAlgebra computes by cuSOLVER and cuBLAS, one call for each matrix.
var runLinearAlgebra = makeComposite(func(b *composite, l backend.LinearAlgebra) {
	if l.A.Numel() == 0 || l.B != nil && l.B.Numel() == 0 {
		return
	}
	w := &matrices{b: b, LinearAlgebra: l, d: l.A.DType()}
	w.m, w.n = shape.Matrix(l.A.Sizes())
	w.batch = shape.Product(shape.Batch(l.A.Sizes()))
	if max(w.m, w.n) > math.MaxInt32 {
		b.Check(status.NotImplementedf("%s is not implemented on cuda for matrices of more than %d rows or columns; move the tensors to the cpu",
			b.Op, math.MaxInt32))
	}
	if w.Info == nil { // which cuSOLVER requires
		w.Info = b.ZerosBeside(l.A, dtype.Int32, w.batch)
	}
	taskFunctions[l.Task](w)
})

// matrices is a task on a batch of matrices of m rows and n columns.
type matrices struct {
	b *composite
	backend.LinearAlgebra
	d           dtype.DType
	batch, m, n int64
}

// viewMemory views the elements of a batch in the order of memory: the transposed matrices.
func (w *matrices) viewMemory(t *tensor.Tensor) *tensor.Tensor {
	rows, columns := shape.Matrix(t.Sizes())
	return w.b.viewFlat(t, w.batch, columns, rows)
}

// viewVectors views a batch of vectors, or of numbers.
func (w *matrices) viewVectors(t *tensor.Tensor) *tensor.Tensor {
	return w.b.viewFlat(t, w.batch, t.Numel()/w.batch)
}

// findAddress returns the address of matrix, or vector, i of an operand; 0 for none.
func (w *matrices) findAddress(t *tensor.Tensor, i int64) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Data()) + uintptr(t.Numel()/w.batch*i*t.DType().Size())
}

// lastDim is the last dimension, as an argument of reductions.
var lastDim = ops.Int(-1)

// callSolver calls a function of cuSOLVER for each matrix, with the operands of w.
func (w *matrices) callSolver(c cusolver.Call) {
	w.b.Check(needsLibrary(w.b.Op, &cusolver.Library))
	if c.Function == cusolver.Geev {
		w.b.Check(needsGeev(w.b.Op))
	}
	c.DType, c.M, c.N, c.Upper, c.Right, c.Adjoint = w.A.DType(), w.m, w.n, w.Upper, w.Right, w.Adjoint
	if w.B != nil {
		c.Rows, c.Columns = shape.Matrix(w.B.Sizes())
	}
	w.b.Check(withLaunches(w.b.Op, w.A.Device(), func(s *launchSequence) {
		h := openHandle(s, &s.solver, cusolver.New)
		of := func(i int64) *cusolver.Call {
			c.A, c.B, c.Values = w.findAddress(w.A, i), w.findAddress(w.B, i), w.findAddress(w.Values, i)
			c.U, c.V = w.findAddress(w.U, i), w.findAddress(w.V, i)
			c.Pivots, c.Info = w.findAddress(w.Pivots, i), w.findAddress(w.Info, i)
			return &c
		}
		if s.err != nil {
			return
		}
		room, err := h.Measure(of(0))
		if s.err = s.makeLibraryError(err); s.err != nil {
			return
		}
		device, host := s.allocateTemporary(max(room.Device, 1)), allocateAligned(max(room.Host, 1))
		for i := int64(0); i < w.batch && s.err == nil; i++ {
			s.err = s.makeLibraryError(h.Run(driver.StreamHandle(s.stream), of(i), device, host, room))
		}
	}))
}

// needsGeev returns an error unless the cuSOLVER that was found computes eigenvalues of general matrices.
func needsGeev(op string) error {
	if err := needsLibrary(op, &cusolver.Library); err != nil || cusolver.HasGeev() {
		return err
	}
	return status.NotImplementedf("%s: not implemented on cuda without cuSOLVER 11.7.2 or newer; install it, set %s to its path, or move the "+
		"tensors to the cpu", op, cusolver.Library.Variable)
}

// copyBatch returns a copy of a batch, in its order.
func (w *matrices) copyBatch(t *tensor.Tensor) *tensor.Tensor {
	made := w.b.Track(tensor.EmptyStrided(w.b.Op, t.Sizes(), t.Strides(), t.DType(), t.Device()))
	w.b.copyResult(w.viewMemory(made), w.viewMemory(t))
	return made
}

// dropInfo returns w for a call without infos of the results.
func (w *matrices) dropInfo() *matrices {
	made := *w
	made.Info = w.b.ZerosBeside(w.A, dtype.Int32, w.batch)
	return &made
}

func (w *matrices) factorLU() { w.callSolver(cusolver.Call{Function: cusolver.Getrf}) }

func (w *matrices) solveLU() {
	if !w.Factored {
		w.factorLU()
	}
	w.dropInfo().callSolver(cusolver.Call{Function: cusolver.Getrs})
}

func (w *matrices) invertLU() {
	lu := *w
	lu.A, lu.B = w.copyBatch(w.A), w.A
	lu.Pivots = w.b.EmptyBeside(w.A, dtype.Int32, w.batch, w.n)
	a := w.viewMemory(w.A)
	w.b.fillTensor(a, dtype.IntScalar(0))
	w.b.fillTensor(w.b.Diagonal(a, 0, -2, -1), dtype.IntScalar(1))
	lu.solveLU()
}

// factorCholesky also counts diagonal elements that are NaN as not positive.
func (w *matrices) factorCholesky() {
	w.callSolver(cusolver.Call{Function: cusolver.Potrf})
	none := w.b.Isnan(w.b.Diagonal(w.viewMemory(w.A), 0, -2, -1))
	first := w.b.Add(w.b.Argmax(w.b.CastTo(none, dtype.Uint8), lastDim, false), w.b.IntNumber(1))
	info := w.b.viewFlat(w.Info, w.batch)
	missed := w.b.LogicalAnd(w.b.Any(none, []int64{-1}, false), w.b.Eq(info, w.b.IntNumber(0)))
	w.b.copyResult(info, w.b.Where(missed, w.b.CastTo(first, dtype.Int32), info))
}

func (w *matrices) solveTriangular() {
	w.b.Check(needsLibrary(w.b.Op, &cublas.Library))
	rows, columns := shape.Matrix(w.B.Sizes())
	t := cublas.Triangle{DType: w.d, Right: w.Right, Upper: w.Upper, Adjoint: w.Adjoint, Unit: w.Unit, M: rows, N: columns}
	w.b.Check(withLaunches(w.b.Op, w.A.Device(), func(s *launchSequence) {
		h := openHandle(s, &s.blas, cublas.New)
		size := s.findWorkspaceSize()
		workspace := s.allocateTemporary(size)
		for i := int64(0); i < w.batch && s.err == nil; i++ {
			t.A, t.B = w.findAddress(w.A, i), w.findAddress(w.B, i)
			s.err = s.makeLibraryError(h.Solve(driver.StreamHandle(s.stream), workspace, size, &t))
		}
	}))
}

// countReflections returns the number of reflections in Q.
func (w *matrices) countReflections() int64 { return w.Values.Numel() / w.batch }

func (w *matrices) factorQR() { w.callSolver(cusolver.Call{Function: cusolver.Geqrf}) }

func (w *matrices) formQ() {
	w.callSolver(cusolver.Call{Function: cusolver.Orgqr, K: w.countReflections()})
}

func (w *matrices) applyQ() {
	w.callSolver(cusolver.Call{Function: cusolver.Ormqr, K: w.countReflections()})
}

// replaceNonFinite returns which matrices have finite elements only, and replaces the others by zeros.
func (w *matrices) replaceNonFinite(elements *tensor.Tensor) *tensor.Tensor {
	whole := w.b.All(w.b.Isfinite(elements), []int64{1, 2}, true)
	a := w.viewMemory(w.A)
	w.b.copyResult(a, w.b.Where(whole, a, w.b.IntNumber(0)))
	return w.b.viewFlat(whole, w.batch)
}

// reportNonFinite notes in the infos which matrices were not finite.
func (w *matrices) reportNonFinite(finite *tensor.Tensor) {
	info := w.b.viewFlat(w.Info, w.batch)
	w.b.copyResult(info, w.b.Where(finite, info, w.b.IntNumber(backend.NotFinite)))
}

func (w *matrices) decomposeHermitian() {
	triangle := w.viewMemory(w.A)
	if w.Upper {
		triangle = w.b.Tril(triangle, 0)
	} else {
		triangle = w.b.Triu(triangle, 0)
	}
	finite := w.replaceNonFinite(triangle)
	w.callSolver(cusolver.Call{Function: cusolver.Syevd, Vectors: w.V != nil})
	w.reportNonFinite(finite)
}

// computeEigenvalues computes the eigenvalues of real matrices as those of complex ones.
func (w *matrices) computeEigenvalues() {
	finite := w.replaceNonFinite(w.viewMemory(w.A))
	of := *w
	if d := w.d.ToComplex(); d != w.d {
		of.A = w.b.Transpose(w.b.AsContiguous(w.b.CastTo(w.viewMemory(w.A), d)), 1, 2)
	}
	of.callSolver(cusolver.Call{Function: cusolver.Geev, Vectors: w.V != nil})
	w.reportNonFinite(finite)
}

// decomposeSingularValues decomposes the adjoint of matrices with more columns than rows, which cuSOLVER does not support.
func (w *matrices) decomposeSingularValues() {
	finite := w.replaceNonFinite(w.viewMemory(w.A))
	c := cusolver.Call{Function: cusolver.Gesvd, Vectors: w.U != nil}
	if w.U != nil {
		_, left := shape.Matrix(w.U.Sizes())
		right, _ := shape.Matrix(w.V.Sizes())
		c.Whole = max(left, right) > min(w.m, w.n)
	}
	if w.m >= w.n {
		w.callSolver(c)
		w.reportNonFinite(finite)
		return
	}
	of := *w
	of.m, of.n = w.n, w.m
	of.A = w.copyAdjoint(w.A)
	if w.U != nil {
		of.U, of.V = w.copyAdjoint(w.V), w.copyAdjoint(w.U) // in the right sizes
	}
	of.callSolver(c)
	if w.U != nil {
		w.b.copyResult(w.viewMemory(w.U), w.viewMemory(w.copyAdjoint(of.V)))
		w.b.copyResult(w.viewMemory(w.V), w.viewMemory(w.copyAdjoint(of.U)))
	}
	w.reportNonFinite(finite)
}

// copyAdjoint returns the adjoint matrices, in column-major order.
func (w *matrices) copyAdjoint(t *tensor.Tensor) *tensor.Tensor {
	turned := w.b.Transpose(w.viewMemory(t), 1, 2)
	return w.b.Transpose(backend.RowMajorCopy(&w.b.Scope, w.b.ConjPhysical(turned), t.DType()), 1, 2)
}

// rejectHermitian returns an error for complex matrices that equal their adjoint: cuSOLVER factors those that equal their transpose.
func (w *matrices) rejectHermitian() {
	if w.Hermitian && w.d.IsComplex() {
		w.b.Check(status.NotImplementedf("%s is not implemented on cuda for Hermitian complex matrices, which cuSOLVER does not support; move the tensors to the cpu", w.b.Op))
	}
}

// factorLDL fills the factors of matrices that are not finite with NaN.
func (w *matrices) factorLDL() {
	w.rejectHermitian()
	a := w.viewMemory(w.A)
	finite := w.replaceNonFinite(a)
	w.callSolver(cusolver.Call{Function: cusolver.Sytrf})
	some := w.b.viewFlat(finite, w.batch, 1)
	pivots, info := w.viewVectors(w.Pivots), w.b.viewFlat(w.Info, w.batch)
	own := w.b.CastTo(w.b.Cumsum(w.b.OnesBeside(w.A, dtype.Int32, w.batch, w.n), 1), dtype.Int32)
	w.b.copyResult(pivots, w.b.Where(some, pivots, own))
	w.b.copyResult(info, w.b.Where(finite, info, w.b.IntNumber(0)))
	all := w.b.Where(w.b.viewFlat(finite, w.batch, 1, 1), a, w.b.FloatNumber(math.NaN()))
	if w.Upper {
		w.b.copyResult(a, w.b.Tril(all, 0))
	} else {
		w.b.copyResult(a, w.b.Triu(all, 0))
	}
}

func (w *matrices) solveLDL() {
	w.rejectHermitian()
	of := w.dropInfo()
	of.Pivots = w.b.CastTo(w.Pivots, dtype.Int64)
	of.callSolver(cusolver.Call{Function: cusolver.Sytrs})
}

// solveLeastSquares solves by QR, or by the singular values, in whose place B then has the residuals' norms behind the solutions.
func (w *matrices) solveLeastSquares() {
	a := w.A
	rows := w.b.Narrow(w.B, -2, 0, w.m)
	right := w.b.Clone(rows)
	var x *tensor.Tensor
	if w.Driver == backend.GELS {
		x = w.solveQR(a, right)
	} else {
		x = w.solveSingular(a, right)
	}
	rest := w.b.Sub(right, w.b.Matmul(a, x))
	w.b.copyResult(w.b.Narrow(w.B, -2, 0, w.n), x)
	if w.m > w.n {
		w.b.fillTensor(w.b.Narrow(w.B, -2, w.n, w.m-w.n), dtype.IntScalar(0))
		w.b.copyResult(w.b.Narrow(w.B, -2, w.n, 1), w.b.LinalgVectorNorm(rest, dtype.IntScalar(2), []int64{-2}, true))
	}
}

// makeAdjoint returns the adjoint of matrices.
func (w *matrices) makeAdjoint(t *tensor.Tensor) *tensor.Tensor {
	return w.b.ConjPhysical(w.b.Transpose(t, -2, -1))
}

func (w *matrices) solveQR(a, right *tensor.Tensor) *tensor.Tensor {
	tall := w.m >= w.n
	if !tall {
		a = w.makeAdjoint(a)
	}
	q, r := w.b.LinalgQr(a, "reduced")
	zero := w.b.Eq(w.b.Diagonal(r, 0, -2, -1), w.b.IntNumber(0))
	first := w.b.CastTo(w.b.Add(w.b.Argmax(w.b.CastTo(zero, dtype.Uint8), lastDim, false), w.b.IntNumber(1)), dtype.Int32)
	w.b.copyResult(w.Info, w.b.AsShape(w.b.Where(w.b.Any(zero, []int64{-1}, false), first, w.b.IntNumber(0)), w.Info.Sizes()...))
	if tall {
		return w.b.LinalgSolveTriangular(r, w.b.Matmul(w.makeAdjoint(q), right), true)
	}
	return w.b.Matmul(q, w.b.LinalgSolveTriangular(w.makeAdjoint(r), right, false))
}

func (w *matrices) solveSingular(a, right *tensor.Tensor) *tensor.Tensor {
	u, s, v := w.b.LinalgSvd(a, false)
	cutoff := w.Cutoff
	if cutoff < 0 {
		cutoff = w.d.Epsilon()
	}
	counts := w.b.Gt(s, w.b.Mul(w.b.Narrow(s, -1, 0, 1), w.b.FloatNumber(cutoff)))
	if w.Rank != nil {
		w.b.copyResult(w.Rank, w.b.AsShape(w.b.SumWith(counts, []int64{-1}, false, dtype.Int64), w.Rank.Sizes()...))
	}
	if w.Driver != backend.GELSY {
		w.b.copyResult(w.Values, s)
	}
	inverse := w.b.Unsqueeze(w.b.Where(counts, w.b.Reciprocal(s), w.b.IntNumber(0)), -1)
	return w.b.Matmul(w.makeAdjoint(v), w.b.Mul(w.b.Matmul(w.makeAdjoint(u), right), inverse))
}
