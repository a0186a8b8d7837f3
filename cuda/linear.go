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

// tasks maps tasks to functions for matrices that are not empty.
var tasks map[backend.Task]func(w *matrices)

func init() {
	tasks = map[backend.Task]func(w *matrices){
		backend.FactorLU:        (*matrices).factorLU,
		backend.Invert:          (*matrices).invert,
		backend.SolveLinear:     (*matrices).solve,
		backend.FactorCholesky:  (*matrices).factorCholesky,
		backend.SolveTriangular: (*matrices).solveTriangular,
		backend.FactorQR:        (*matrices).factorQR,
		backend.FormQ:           (*matrices).formQ,
		backend.ApplyQ:          (*matrices).applyQ,
		backend.EigenHermitian:  (*matrices).eigenHermitian,
		backend.EigenGeneral:    (*matrices).eigenGeneral,
		backend.SingularValues:  (*matrices).singularValues,
		backend.FactorLDL:       (*matrices).factorLDL,
		backend.SolveLDL:        (*matrices).solveLDL,
		backend.LeastSquares:    (*matrices).leastSquares,
	}
}

// linearAlgebra computes by cuSOLVER and cuBLAS, one call for each matrix.
var linearAlgebra = composed(func(b *composite, l backend.LinearAlgebra) {
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
	tasks[l.Task](w)
})

// matrices is a task on a batch of matrices of m rows and n columns.
type matrices struct {
	b *composite
	backend.LinearAlgebra
	d           dtype.DType
	batch, m, n int64
}

// memory views the elements of a batch in the order of memory: the transposed matrices.
func (w *matrices) memory(t *tensor.Tensor) *tensor.Tensor {
	rows, columns := shape.Matrix(t.Sizes())
	return w.b.flat(t, w.batch, columns, rows)
}

// numbers views a batch of vectors, or of numbers.
func (w *matrices) numbers(t *tensor.Tensor) *tensor.Tensor {
	return w.b.flat(t, w.batch, t.Numel()/w.batch)
}

// at returns the address of matrix, or vector, i of an operand; 0 for none.
func (w *matrices) at(t *tensor.Tensor, i int64) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Data()) + uintptr(t.Numel()/w.batch*i*t.DType().Size())
}

// lastDim is the last dimension, as an argument of reductions.
var lastDim = ops.Int(-1)

// call calls a function of cuSOLVER for each matrix, with the operands of w.
func (w *matrices) call(c cusolver.Call) {
	w.b.Check(needsLibrary(w.b.Op, &cusolver.Library))
	if c.Function == cusolver.Geev {
		w.b.Check(needsGeev(w.b.Op))
	}
	c.DType, c.M, c.N, c.Upper, c.Right, c.Adjoint = w.A.DType(), w.m, w.n, w.Upper, w.Right, w.Adjoint
	if w.B != nil {
		c.Rows, c.Columns = shape.Matrix(w.B.Sizes())
	}
	w.b.Check(stepping(w.b.Op, w.A.Device(), func(s *steps) {
		h := opened(s, &s.solver, cusolver.New)
		of := func(i int64) *cusolver.Call {
			c.A, c.B, c.Values, c.U, c.V = w.at(w.A, i), w.at(w.B, i), w.at(w.Values, i), w.at(w.U, i), w.at(w.V, i)
			c.Pivots, c.Info = w.at(w.Pivots, i), w.at(w.Info, i)
			return &c
		}
		if s.err != nil {
			return
		}
		room, err := h.Measure(of(0))
		if s.err = s.libraryFailed(err); s.err != nil {
			return
		}
		device, host := s.take(max(room.Device, 1)), aligned(max(room.Host, 1))
		for i := int64(0); i < w.batch && s.err == nil; i++ {
			s.err = s.libraryFailed(h.Run(driver.StreamHandle(s.stream), of(i), device, host, room))
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

// copied returns a copy of a batch, in its order.
func (w *matrices) copied(t *tensor.Tensor) *tensor.Tensor {
	made := w.b.Track(tensor.EmptyStrided(w.b.Op, t.Sizes(), t.Strides(), t.DType(), t.Device()))
	w.b.write(w.memory(made), w.memory(t))
	return made
}

// without returns w for a call without infos of the results.
func (w *matrices) without() *matrices {
	made := *w
	made.Info = w.b.ZerosBeside(w.A, dtype.Int32, w.batch)
	return &made
}

func (w *matrices) factorLU() { w.call(cusolver.Call{Function: cusolver.Getrf}) }

func (w *matrices) solve() {
	if !w.Factored {
		w.factorLU()
	}
	w.without().call(cusolver.Call{Function: cusolver.Getrs})
}

func (w *matrices) invert() {
	lu := *w
	lu.A, lu.B = w.copied(w.A), w.A
	lu.Pivots = w.b.EmptyBeside(w.A, dtype.Int32, w.batch, w.n)
	a := w.memory(w.A)
	w.b.fill(a, dtype.IntScalar(0))
	w.b.fill(w.b.Diagonal(a, 0, -2, -1), dtype.IntScalar(1))
	lu.solve()
}

// factorCholesky also counts diagonal elements that are NaN as not positive.
func (w *matrices) factorCholesky() {
	w.call(cusolver.Call{Function: cusolver.Potrf})
	none := w.b.Isnan(w.b.Diagonal(w.memory(w.A), 0, -2, -1))
	first := w.b.Add(w.b.Argmax(w.b.CastTo(none, dtype.Uint8), lastDim, false), w.b.IntNumber(1))
	info := w.b.flat(w.Info, w.batch)
	missed := w.b.LogicalAnd(w.b.Any(none, []int64{-1}, false), w.b.Eq(info, w.b.IntNumber(0)))
	w.b.write(info, w.b.Where(missed, w.b.CastTo(first, dtype.Int32), info))
}

func (w *matrices) solveTriangular() {
	w.b.Check(needsLibrary(w.b.Op, &cublas.Library))
	rows, columns := shape.Matrix(w.B.Sizes())
	t := cublas.Triangle{DType: w.d, Right: w.Right, Upper: w.Upper, Adjoint: w.Adjoint, Unit: w.Unit, M: rows, N: columns}
	w.b.Check(stepping(w.b.Op, w.A.Device(), func(s *steps) {
		h := opened(s, &s.blas, cublas.New)
		size := s.workspaceSize()
		workspace := s.take(size)
		for i := int64(0); i < w.batch && s.err == nil; i++ {
			t.A, t.B = w.at(w.A, i), w.at(w.B, i)
			s.err = s.libraryFailed(h.Solve(driver.StreamHandle(s.stream), workspace, size, &t))
		}
	}))
}

// reflections returns the number of reflections in Q.
func (w *matrices) reflections() int64 { return w.Values.Numel() / w.batch }

func (w *matrices) factorQR() { w.call(cusolver.Call{Function: cusolver.Geqrf}) }

func (w *matrices) formQ() { w.call(cusolver.Call{Function: cusolver.Orgqr, K: w.reflections()}) }

func (w *matrices) applyQ() { w.call(cusolver.Call{Function: cusolver.Ormqr, K: w.reflections()}) }

// finite returns which matrices have finite elements only, and replaces the others by zeros.
func (w *matrices) finite(elements *tensor.Tensor) *tensor.Tensor {
	whole := w.b.All(w.b.Isfinite(elements), []int64{1, 2}, true)
	a := w.memory(w.A)
	w.b.write(a, w.b.Where(whole, a, w.b.IntNumber(0)))
	return w.b.flat(whole, w.batch)
}

// report notes in the infos which matrices were not finite.
func (w *matrices) report(finite *tensor.Tensor) {
	info := w.b.flat(w.Info, w.batch)
	w.b.write(info, w.b.Where(finite, info, w.b.IntNumber(backend.NotFinite)))
}

func (w *matrices) eigenHermitian() {
	triangle := w.memory(w.A)
	if w.Upper {
		triangle = w.b.Tril(triangle, 0)
	} else {
		triangle = w.b.Triu(triangle, 0)
	}
	finite := w.finite(triangle)
	w.call(cusolver.Call{Function: cusolver.Syevd, Vectors: w.V != nil})
	w.report(finite)
}

// eigenGeneral computes the eigenvalues of real matrices as those of complex ones.
func (w *matrices) eigenGeneral() {
	finite := w.finite(w.memory(w.A))
	of := *w
	if d := w.d.ToComplex(); d != w.d {
		of.A = w.b.Transpose(w.b.AsContiguous(w.b.CastTo(w.memory(w.A), d)), 1, 2)
	}
	of.call(cusolver.Call{Function: cusolver.Geev, Vectors: w.V != nil})
	w.report(finite)
}

// singularValues decomposes the adjoint of matrices with more columns than rows, which cuSOLVER does not support.
func (w *matrices) singularValues() {
	finite := w.finite(w.memory(w.A))
	c := cusolver.Call{Function: cusolver.Gesvd, Vectors: w.U != nil}
	if w.U != nil {
		_, left := shape.Matrix(w.U.Sizes())
		right, _ := shape.Matrix(w.V.Sizes())
		c.Whole = max(left, right) > min(w.m, w.n)
	}
	if w.m >= w.n {
		w.call(c)
		w.report(finite)
		return
	}
	of := *w
	of.m, of.n = w.n, w.m
	of.A = w.adjoint(w.A)
	if w.U != nil {
		of.U, of.V = w.adjoint(w.V), w.adjoint(w.U) // in the right sizes
	}
	of.call(c)
	if w.U != nil {
		w.b.write(w.memory(w.U), w.memory(w.adjoint(of.V)))
		w.b.write(w.memory(w.V), w.memory(w.adjoint(of.U)))
	}
	w.report(finite)
}

// adjoint returns the adjoint matrices, in column-major order.
func (w *matrices) adjoint(t *tensor.Tensor) *tensor.Tensor {
	turned := w.b.Transpose(w.memory(t), 1, 2)
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
	a := w.memory(w.A)
	finite := w.finite(a)
	w.call(cusolver.Call{Function: cusolver.Sytrf})
	some := w.b.flat(finite, w.batch, 1)
	pivots, info := w.numbers(w.Pivots), w.b.flat(w.Info, w.batch)
	own := w.b.CastTo(w.b.Cumsum(w.b.OnesBeside(w.A, dtype.Int32, w.batch, w.n), 1), dtype.Int32)
	w.b.write(pivots, w.b.Where(some, pivots, own))
	w.b.write(info, w.b.Where(finite, info, w.b.IntNumber(0)))
	all := w.b.Where(w.b.flat(finite, w.batch, 1, 1), a, w.b.FloatNumber(math.NaN()))
	if w.Upper {
		w.b.write(a, w.b.Tril(all, 0))
	} else {
		w.b.write(a, w.b.Triu(all, 0))
	}
}

func (w *matrices) solveLDL() {
	w.rejectHermitian()
	of := w.without()
	of.Pivots = w.b.CastTo(w.Pivots, dtype.Int64)
	of.call(cusolver.Call{Function: cusolver.Sytrs})
}

// leastSquares solves by QR, or by the singular values, in whose place B then has the residuals' norms behind the solutions.
func (w *matrices) leastSquares() {
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
	w.b.write(w.b.Narrow(w.B, -2, 0, w.n), x)
	if w.m > w.n {
		w.b.fill(w.b.Narrow(w.B, -2, w.n, w.m-w.n), dtype.IntScalar(0))
		w.b.write(w.b.Narrow(w.B, -2, w.n, 1), w.b.LinalgVectorNorm(rest, dtype.IntScalar(2), []int64{-2}, true))
	}
}

// turned returns the adjoint of matrices.
func (w *matrices) turned(t *tensor.Tensor) *tensor.Tensor {
	return w.b.ConjPhysical(w.b.Transpose(t, -2, -1))
}

func (w *matrices) solveQR(a, right *tensor.Tensor) *tensor.Tensor {
	tall := w.m >= w.n
	if !tall {
		a = w.turned(a)
	}
	q, r := w.b.LinalgQr(a, "reduced")
	zero := w.b.Eq(w.b.Diagonal(r, 0, -2, -1), w.b.IntNumber(0))
	first := w.b.CastTo(w.b.Add(w.b.Argmax(w.b.CastTo(zero, dtype.Uint8), lastDim, false), w.b.IntNumber(1)), dtype.Int32)
	w.b.write(w.Info, w.b.AsShape(w.b.Where(w.b.Any(zero, []int64{-1}, false), first, w.b.IntNumber(0)), w.Info.Sizes()...))
	if tall {
		return w.b.LinalgSolveTriangular(r, w.b.Matmul(w.turned(q), right), true)
	}
	return w.b.Matmul(q, w.b.LinalgSolveTriangular(w.turned(r), right, false))
}

func (w *matrices) solveSingular(a, right *tensor.Tensor) *tensor.Tensor {
	u, s, v := w.b.LinalgSvd(a, false)
	cutoff := w.Cutoff
	if cutoff < 0 {
		cutoff = w.d.Epsilon()
	}
	counts := w.b.Gt(s, w.b.Mul(w.b.Narrow(s, -1, 0, 1), w.b.FloatNumber(cutoff)))
	if w.Rank != nil {
		w.b.write(w.Rank, w.b.AsShape(w.b.SumWith(counts, []int64{-1}, false, dtype.Int64), w.Rank.Sizes()...))
	}
	if w.Driver != backend.GELSY {
		w.b.write(w.Values, s)
	}
	inverse := w.b.Unsqueeze(w.b.Where(counts, w.b.Reciprocal(s), w.b.IntNumber(0)), -1)
	return w.b.Matmul(w.turned(v), w.b.Mul(w.b.Matmul(w.turned(u), right), inverse))
}
