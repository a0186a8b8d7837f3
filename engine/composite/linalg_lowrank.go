package composite

import (
	"cmp"
	"math"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SvdLowrank is A, or A - M, as U diag(S) V^H on a random subspace of q dimensions: N. Halko, P. G. Martinsson, J. A. Tropp, Finding
// structure with randomness (2011), algorithms 4.4 and 5.1.
func SvdLowrank(c dispatch.Context, a *tensor.Tensor, q, niter ops.Int, m *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "svd_lowrank")
	defer s.Close(&err)
	if s.Check(ops.CheckMatrices(s.Op, "A", a)); m != nil {
		m = s.Expand(m, a.Sizes()...)
		a = s.Sub(a, m)
	}
	return s.lowrank(a, q.Or(6), niter.Or(2))
}

// PcaLowrank is SvdLowrank of matrices without the means of their columns.
func PcaLowrank(c dispatch.Context, a *tensor.Tensor, q ops.Int, center bool, niter int64) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "pca_lowrank")
	defer s.Close(&err)
	s.Check(ops.CheckMatrices(s.Op, "A", a))
	rows, columns := shape.Matrix(a.Sizes())
	least := min(rows, columns)
	rank := q.Or(min(6, least))
	if rank > least {
		return nil, nil, nil, status.Valuef("%s: q must be from 0 to min(m, n) = %[3]d for matrices of shape %[2]v, but got %[4]d", s.Op, a.Sizes(), least, rank)
	}
	if center {
		means := s.mean(a, -2, dtype.None)
		if means.Layout() != tensor.Strided { // sparse matrices have become strided here
			means = s.ToDense(means, dtype.None)
		}
		a = s.Sub(a, means)
	}
	return s.lowrank(a, rank, niter)
}

// lowrank decomposes matrices on the subspace that powers of them make of random vectors.
func (s *scope) lowrank(a *tensor.Tensor, q, niter int64) (u, values, v *tensor.Tensor, err error) {
	if q < 0 {
		s.Check(status.Runtimef("%s: q must not be negative, got %d", s.Op, q))
	}
	s.checkRounds(niter)
	d := a.DType()
	wide := s.wideEnough(a)
	rows, columns := shape.Matrix(a.Sizes())
	if rows < columns {
		wide = s.adjoint(wide)
	}
	turned := s.adjoint(wide)
	basis := s.basis(s.matmul(wide, s.randn(a, d.Compute(), min(rows, columns), q)))
	for range niter {
		basis = s.iterate(turned, basis)
		basis = s.iterate(wide, basis)
	}
	left, sizes, vh := s.singular(s.matmul(s.adjoint(basis), wide))
	left, right := s.matmul(basis, left), s.resolved(s.adjoint(vh))
	if rows < columns {
		left, right = right, left
	}
	r, err := s.finished(nil, make([]*tensor.Tensor, 3), s.CastTo(left, d), s.CastTo(sizes, d.ToReal()), s.CastTo(right, d))
	return r[0], r[1], r[2], err
}

// iterate replaces basis by one of the columns of a @ basis. It releases all that it makes, so that memory in use does not grow with the iterations.
func (s *scope) iterate(a, basis *tensor.Tensor) *tensor.Tensor {
	inner := newScope(s.C, s.Op)
	defer inner.ReleaseAll()
	next, _ := inner.Return(inner.basis(inner.matmul(a, basis)))
	made := s.Track(next, nil)
	s.Drop(basis)
	return made
}

// mostRounds end iterations that would go on for ever.
const mostRounds = 10000

func (s *scope) checkRounds(n int64) {
	if n < 0 || n > mostRounds {
		s.Check(status.Runtimef("%s: niter must be between 0 and %d, got %d", s.Op, mostRounds, n))
	}
}

// basis has orthonormal columns that span those of t.
func (s *scope) basis(t *tensor.Tensor) *tensor.Tensor {
	q, _ := s.LinalgQr(t, "reduced")
	return q
}

// randn is drawn from the normal distribution, on t's device.
func (s *scope) randn(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.RandnWith(sizes, nil, d, tensor.NoLayout, t.Device())
}

// lobpcg are the operands of Lobpcg, in the dtype of computing.
type lobpcg struct {
	*scope
	a, b, inverse *tensor.Tensor // b and inverse may be nil
	normA, normB  *tensor.Tensor // estimates of their norms
	count         int64          // vectors that are iterated
	largest       bool
}

// Lobpcg finds the k largest or smallest eigenvalues of A X = B X diag(E), A symmetric, by A. V. Knyazev, Toward the optimal preconditioned
// eigensolver (2001), with an orthonormal basis of the three blocks of vectors, as in J. A. Duersch et al., A robust and efficient
// implementation of LOBPCG (2018).
func Lobpcg(c dispatch.Context, a *tensor.Tensor, k ops.Int, b, x *tensor.Tensor, n ops.Int, iK *tensor.Tensor, niter ops.Int, tol *float64, largest ops.Bool, method string) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "lobpcg")
	defer s.Close(&err)
	s.Check(cmp.Or(ops.CheckSquare(s.Op, "A", a), ops.CheckWord(s.Op, "method", method, "", "basic", "ortho")))
	d := a.DType()
	w := &lobpcg{scope: s, largest: largest != ops.False}
	rows, _ := shape.Matrix(a.Sizes())
	for i, t := range []*tensor.Tensor{b, iK, x} {
		name := []string{"B", "iK", "X"}[i]
		if t == nil {
			continue
		}
		s.Check(ops.CheckMatrices(s.Op, name, t))
		if r, columns := shape.Matrix(t.Sizes()); t.DType() != d || r != rows || name != "X" && columns != rows {
			return nil, nil, status.Runtimef("%s: %s must have the dtype and the number of rows of A, but got %v of shape %v for A of %v and shape %v", s.Op, name, t.DType(), t.Sizes(), d, a.Sizes())
		}
	}
	w.count = k.Or(1)
	if x != nil {
		_, w.count = shape.Matrix(x.Sizes())
	} else {
		w.count = n.Or(w.count)
	}
	wanted := k.Or(1)
	if k.IsNone() && x != nil {
		wanted = w.count
	}
	switch {
	case w.count < 0:
		name := "k"
		if !n.IsNone() {
			name = "n"
		}
		return nil, nil, status.Runtimef("%s: %s must not be negative, got %d", s.Op, name, w.count)
	case wanted < 0 || wanted > w.count:
		return nil, nil, status.Runtimef("%s: k must be between 0 and the number of vectors, %d, got %d", s.Op, w.count, wanted)
	case w.count > rows/3:
		return nil, nil, status.Valuef("%s: A must have at least 3 rows for each vector; got %d rows and %d vectors; use linalg.eigh instead", s.Op, rows, w.count)
	}
	rounds := niter.Or(1000)
	s.checkRounds(rounds)
	limit := math.Sqrt(d.Compute().Epsilon())
	if tol != nil {
		limit = *tol
	}
	w.a = s.wideEnough(a)
	if a.GradientWanted() && a.Keys()&tensor.Sparse == 0 { // differences of its elements then determine the gradient, which is Hermitian
		w.a = s.Mul(s.Add(w.a, s.adjoint(w.a)), s.FloatNumber(0.5))
	}
	if b != nil {
		w.b = s.wideEnough(b)
	}
	if iK != nil {
		w.inverse = s.wideEnough(iK)
	}
	start := x
	if x == nil {
		start = s.randn(a, d.Compute(), shape.Append(shape.Batch(a.Sizes()), rows, w.count)...)
	}
	values, vectors := w.iterate(s.wideEnough(start), wanted, rounds, limit)
	r, err := s.finished(nil, make([]*tensor.Tensor, 2), s.CastTo(s.copied(s.firsts(values, -1, wanted)), d.ToReal()), s.CastTo(s.copied(s.firsts(vectors, -1, wanted)), d))
	return r[0], r[1], err
}

// iterate improves vectors until the residuals of the first `wanted` ones are small, for at most `most` iterations.
func (w *lobpcg) iterate(x *tensor.Tensor, wanted, most int64, limit float64) (values, vectors *tensor.Tensor) {
	w.normA, w.normB = w.growth(w.a, x), w.growth(w.b, x)
	values, x, _ = w.ritz(x)
	var along *tensor.Tensor
	for range most {
		residual := w.Sub(w.matmul(w.a, x), w.scaledColumns(w.times(w.b, x), values))
		if w.small(residual, x, values, wanted, limit) {
			break
		}
		blocks := []*tensor.Tensor{x, w.times(w.inverse, residual)}
		if along != nil {
			blocks = append(blocks, along)
		}
		values, x, along = w.ritz(w.Cat(blocks, int64(x.Dim()-1)))
	}
	return values, x
}

// growth returns how much longer a matrix makes vectors.
func (w *lobpcg) growth(m, x *tensor.Tensor) *tensor.Tensor {
	norm := func(t *tensor.Tensor) *tensor.Tensor { return w.vectorNorm(t, 2, []int64{-2, -1}, false, dtype.None) }
	return w.Unsqueeze(w.Div(norm(w.times(m, x)), norm(x)), -1)
}

// times returns the product with m, which is the identity if nil.
func (w *lobpcg) times(m, x *tensor.Tensor) *tensor.Tensor {
	if m == nil {
		return x
	}
	return w.matmul(m, x)
}

// ritz finds the best vectors in the span of the given ones, and the part of them that is not in the span of the first block.
func (w *lobpcg) ritz(span *tensor.Tensor) (values, x, along *tensor.Tensor) {
	basis := w.basis(span)
	turned := w.adjoint(basis)
	inner := w.matmul(turned, w.matmul(w.a, basis))
	var factor *tensor.Tensor
	if w.b != nil {
		gram := w.matmul(turned, w.matmul(w.b, basis))
		factor = w.LinalgCholesky(gram)
		inner = w.solveTriangular(factor, inner, false, false)
		inner = w.solveTriangular(factor, w.adjoint(inner), false, false)
	}
	values, vectors := w.spectrum(w.Mul(w.Add(inner, w.adjoint(inner)), w.FloatNumber(0.5)))
	if w.b != nil {
		vectors = w.solveTriangular(w.adjoint(factor), vectors, true, false)
	}
	if w.largest {
		values, vectors = w.reversed(values), w.reversed(vectors)
	}
	values, vectors = w.firsts(values, -1, w.count), w.firsts(vectors, -1, w.count)
	if rest := basis.Sizes()[basis.Dim()-1] - w.count; rest > 0 {
		along = w.matmul(w.Narrow(basis, -1, w.count, rest), w.Narrow(vectors, -2, w.count, rest))
	}
	return values, w.matmul(basis, vectors), along
}

// reversed has the positions of the last dimension in the other order.
func (s *scope) reversed(t *tensor.Tensor) *tensor.Tensor {
	return s.Flip(t, -1)
}

// small reports whether the residuals of the first vectors are small relative to the terms that they are differences of. For tensors without data it
// returns true.
func (w *lobpcg) small(residual, x, values *tensor.Tensor, wanted int64, limit float64) bool {
	if residual.Numel() == 0 || wanted == 0 {
		return true
	}
	norms := func(t *tensor.Tensor) *tensor.Tensor {
		return w.vectorNorm(w.firsts(t, -1, wanted), 2, []int64{-2}, false, dtype.None)
	}
	sizes := w.Mul(norms(x), w.Add(w.normA, w.Mul(w.Abs(w.firsts(values, -1, wanted)), w.normB)))
	within := w.Le(norms(residual), w.Mul(sizes, w.FloatNumber(limit)))
	all := w.All(within, nil, false)
	done, known := w.ReadElement(all)
	return !known || done.Bool()
}
