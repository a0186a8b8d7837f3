package composite

import (
	"cmp"
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SvdLowrank is A, or A - M, as U diag(S) V^H on a random subspace of q dimensions: N. Halko, P. G. Martinsson, J. A. Tropp, Finding
// structure with randomness (2011), algorithms 4.4 and 5.1.
func SvdLowrank(c dispatch.Context, a *tensor.Tensor, q, niter ops.Int,
	m *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "svd_lowrank")
	defer b.Close(&err)
	b.Check(ops.CheckMatrices(b.Op, "A", a))
	if m != nil {
		m = b.Expand(m, a.Sizes()...)
		a = b.Sub(a, m)
	}
	return decomposeLowRank(b, a, q.Or(6), niter.Or(2))
}

// PcaLowrank is SvdLowrank of matrices without the means of their columns.
func PcaLowrank(c dispatch.Context, a *tensor.Tensor, q ops.Int, center bool,
	niter int64) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "pca_lowrank")
	defer b.Close(&err)
	b.Check(ops.CheckMatrices(b.Op, "A", a))
	rows, columns := shape.Matrix(a.Sizes())
	least := min(rows, columns)
	rank := q.Or(min(6, least))
	if rank > least {
		return nil, nil, nil, status.Valuef("%s: q must be from 0 to min(m, n) = %[3]d for matrices of shape %[2]v, but got %[4]d", b.Op,
			a.Sizes(), least, rank)
	}
	if center {
		means := b.MeanWith(a, []int64{-2}, true, dtype.None)
		if means.Layout() != tensor.Strided { // sparse matrices have become strided here
			means = b.ToDense(means, dtype.None)
		}
		a = b.Sub(a, means)
	}
	return decomposeLowRank(b, a, rank, niter)
}

// decomposeLowRank decomposes matrices on the subspace that powers of them make of random vectors.
func decomposeLowRank(b *build.Builder, a *tensor.Tensor, q, niter int64) (u, values, v *tensor.Tensor, err error) {
	if q < 0 {
		b.Check(status.Runtimef("%s: q must not be negative, got %d", b.Op, q))
	}
	checkIterations(b, niter)
	d := a.DType()
	wide := castToCompute(b, a)
	rows, columns := shape.Matrix(a.Sizes())
	if rows < columns {
		wide = conjTranspose(b, wide)
	}
	transposed := conjTranspose(b, wide)
	basis := orthonormalize(b, b.Matmul(wide, drawNormal(b, a, d.Compute(), min(rows, columns), q)))
	for range niter {
		basis = iterateSubspace(b, transposed, basis)
		basis = iterateSubspace(b, wide, basis)
	}
	left, sizes, vh := b.LinalgSvd(b.Matmul(conjTranspose(b, basis), wide), false)
	left, right := b.Matmul(basis, left), b.CloneWith(conjTranspose(b, vh), shape.Preserve)
	if rows < columns {
		left, right = right, left
	}
	r, err := writeResults(b, nil, make([]*tensor.Tensor, 3), b.CastTo(left, d), b.CastTo(sizes, d.ToReal()), b.CastTo(right, d))
	return r[0], r[1], r[2], err
}

// iterateSubspace replaces basis by one of the columns of a @ basis. It releases all that it makes, so that memory in use does not grow
// with the iterations.
func iterateSubspace(b *build.Builder, a, basis *tensor.Tensor) *tensor.Tensor {
	inner := build.New(b.C, b.Op)
	defer inner.ReleaseAll()
	next, _ := inner.Return(orthonormalize(inner, inner.Matmul(a, basis)))
	result := b.Track(next, nil)
	b.Drop(basis)
	return result
}

// mostRounds end iterations that would go on for ever.
const mostRounds = 10000

func checkIterations(b *build.Builder, n int64) {
	if n < 0 || n > mostRounds {
		b.Check(status.Runtimef("%s: niter must be between 0 and %d, got %d", b.Op, mostRounds, n))
	}
}

// orthonormalize returns orthonormal columns that span the columns of t.
func orthonormalize(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	q, _ := b.LinalgQr(t, "reduced")
	return q
}

// drawNormal returns elements drawn from the normal distribution, on the device of t.
func drawNormal(b *build.Builder, t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return b.RandnWith(sizes, nil, d, tensor.NoLayout, t.Device())
}

// lobpcg are the operands of Lobpcg, in the dtype of computing.
type lobpcg struct {
	*build.Builder
	a, b, inverse *tensor.Tensor // b and inverse may be nil
	normA, normB  *tensor.Tensor // estimates of their norms
	count         int64          // vectors that are iterated
	largest       bool
}

// Lobpcg finds the k largest or smallest eigenvalues of A X = B X diag(E), A symmetric, by A. V. Knyazev, Toward the optimal preconditioned
// eigensolver (2001), with an orthonormal basis of the three blocks of vectors, as in J. A. Duersch et al., A robust and efficient
// implementation of LOBPCG (2018).
func Lobpcg(c dispatch.Context, a *tensor.Tensor, k ops.Int, mass, x *tensor.Tensor, n ops.Int, iK *tensor.Tensor, niter ops.Int,
	tol *float64, largest ops.Bool, method string) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "lobpcg")
	defer b.Close(&err)
	b.Check(cmp.Or(ops.CheckSquare(b.Op, "A", a), ops.CheckWord(b.Op, "method", method, "", "basic", "ortho")))
	d := a.DType()
	w := &lobpcg{Builder: b, largest: largest != ops.False}
	rows, _ := shape.Matrix(a.Sizes())
	for i, t := range []*tensor.Tensor{mass, iK, x} {
		name := []string{"B", "iK", "X"}[i]
		if t == nil {
			continue
		}
		b.Check(ops.CheckMatrices(b.Op, name, t))
		if r, columns := shape.Matrix(t.Sizes()); t.DType() != d || r != rows || name != "X" && columns != rows {
			return nil, nil,
				status.Runtimef("%s: %s must have the dtype and the number of rows of A, but got %v of shape %v for A of %v and shape %v",
					b.Op, name, t.DType(), t.Sizes(), d, a.Sizes())
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
		return nil, nil, status.Runtimef("%s: %s must not be negative, got %d", b.Op, name, w.count)
	case wanted < 0 || wanted > w.count:
		return nil, nil, status.Runtimef("%s: k must be between 0 and the number of vectors, %d, got %d", b.Op, w.count, wanted)
	case w.count > rows/3:
		return nil, nil,
			status.Valuef("%s: A must have at least 3 rows for each vector; got %d rows and %d vectors; use linalg.eigh instead", b.Op,
				rows, w.count)
	}
	rounds := niter.Or(1000)
	checkIterations(b, rounds)
	limit := math.Sqrt(d.Compute().Epsilon())
	if tol != nil {
		limit = *tol
	}
	w.a = castToCompute(b, a)
	if a.GradientWanted() && a.Keys()&tensor.Sparse == 0 { // differences of its elements then determine the gradient, which is Hermitian
		w.a = b.Mul(b.Add(w.a, conjTranspose(b, w.a)), b.FloatNumber(0.5))
	}
	if mass != nil {
		w.b = castToCompute(b, mass)
	}
	if iK != nil {
		w.inverse = castToCompute(b, iK)
	}
	start := x
	if x == nil {
		start = drawNormal(b, a, d.Compute(), shape.Append(shape.Batch(a.Sizes()), rows, w.count)...)
	}
	values, vectors := w.improveVectors(castToCompute(b, start), wanted, rounds, limit)
	r, err := writeResults(b, nil, make([]*tensor.Tensor, 2), b.CastTo(b.CloneWith(narrowFirst(b, values, -1, wanted), shape.Contiguous),
		d.ToReal()), b.CastTo(b.CloneWith(narrowFirst(b, vectors, -1, wanted), shape.Contiguous), d))
	return r[0], r[1], err
}

// improveVectors improves vectors until the residuals of the first `wanted` ones are small, for at most `most` iterations.
func (w *lobpcg) improveVectors(x *tensor.Tensor, wanted, most int64, limit float64) (values, vectors *tensor.Tensor) {
	w.normA, w.normB = w.estimateNorm(w.a, x), w.estimateNorm(w.b, x)
	values, x, _ = w.solveRayleighRitz(x)
	var along *tensor.Tensor
	for range most {
		residual := w.Sub(w.Matmul(w.a, x), scaleColumns(w.Builder, w.multiplyBy(w.b, x), values))
		if w.hasConverged(residual, x, values, wanted, limit) {
			break
		}
		blocks := []*tensor.Tensor{x, w.multiplyBy(w.inverse, residual)}
		if along != nil {
			blocks = append(blocks, along)
		}
		values, x, along = w.solveRayleighRitz(w.Cat(blocks, int64(x.Dim()-1)))
	}
	return values, x
}

// estimateNorm returns the norm of m x divided by the norm of x.
func (w *lobpcg) estimateNorm(m, x *tensor.Tensor) *tensor.Tensor {
	norm := func(t *tensor.Tensor) *tensor.Tensor {
		return computeVectorNorm(w.Builder, t, 2, []int64{-2, -1}, false, dtype.None)
	}
	return w.Unsqueeze(w.Div(norm(w.multiplyBy(m, x)), norm(x)), -1)
}

// multiplyBy returns the product with m, which is the identity if nil.
func (w *lobpcg) multiplyBy(m, x *tensor.Tensor) *tensor.Tensor {
	if m == nil {
		return x
	}
	return w.Matmul(m, x)
}

// solveRayleighRitz finds the best vectors in the span of the given ones, and the part of them that is not in the span of the first block.
func (w *lobpcg) solveRayleighRitz(span *tensor.Tensor) (values, x, along *tensor.Tensor) {
	basis := orthonormalize(w.Builder, span)
	transposed := conjTranspose(w.Builder, basis)
	inner := w.Matmul(transposed, w.Matmul(w.a, basis))
	var factor *tensor.Tensor
	if w.b != nil {
		gram := w.Matmul(transposed, w.Matmul(w.b, basis))
		factor = w.LinalgCholesky(gram)
		inner = solveTriangular(w.Builder, factor, inner, false, false)
		inner = solveTriangular(w.Builder, factor, conjTranspose(w.Builder, inner), false, false)
	}
	values, vectors := w.LinalgEigh(w.Mul(w.Add(inner, conjTranspose(w.Builder, inner)), w.FloatNumber(0.5)), "L")
	if w.b != nil {
		vectors = solveTriangular(w.Builder, conjTranspose(w.Builder, factor), vectors, true, false)
	}
	if w.largest {
		values, vectors = w.Flip(values, -1), w.Flip(vectors, -1)
	}
	values, vectors = narrowFirst(w.Builder, values, -1, w.count), narrowFirst(w.Builder, vectors, -1, w.count)
	if rest := basis.Sizes()[basis.Dim()-1] - w.count; rest > 0 {
		along = w.Matmul(w.Narrow(basis, -1, w.count, rest), w.Narrow(vectors, -2, w.count, rest))
	}
	return values, w.Matmul(basis, vectors), along
}

// hasConverged reports whether the residuals of the first vectors are small relative to the terms that they are differences of. For tensors
// without data it returns true.
func (w *lobpcg) hasConverged(residual, x, values *tensor.Tensor, wanted int64, limit float64) bool {
	if residual.Numel() == 0 || wanted == 0 {
		return true
	}
	norms := func(t *tensor.Tensor) *tensor.Tensor {
		return computeVectorNorm(w.Builder, narrowFirst(w.Builder, t, -1, wanted), 2, []int64{-2}, false, dtype.None)
	}
	sizes := w.Mul(norms(x), w.Add(w.normA, w.Mul(w.Abs(narrowFirst(w.Builder, values, -1, wanted)), w.normB)))
	within := w.Le(norms(residual), w.Mul(sizes, w.FloatNumber(limit)))
	all := w.All(within, nil, false)
	done, known := w.ReadElement(all)
	return !known || done.Bool()
}
