package composite

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// LinalgCholesky returns the Cholesky factor of matrices that have one.
func LinalgCholesky(c dispatch.Context, out, self *tensor.Tensor, upper bool) (*tensor.Tensor, error) {
	return factorCholesky(c, "linalg.cholesky", out, self, upper)
}

// Cholesky is LinalgCholesky.
func Cholesky(c dispatch.Context, out, self *tensor.Tensor, upper bool) (*tensor.Tensor, error) {
	return factorCholesky(c, "cholesky", out, self, upper)
}

func factorCholesky(c dispatch.Context, op string, out, self *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	l, info := b.LinalgCholeskyExWith(self, upper, false)
	checkInfo(b, info, ops.NotDefinite)
	r, err := writeResults(b, nil, []*tensor.Tensor{out}, l)
	return r[0], err
}

// LinalgLuFactor factors A = P L U for matrices that can be solved with.
func LinalgLuFactor(c dispatch.Context, outLU, outPivots, a *tensor.Tensor, pivot bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.lu_factor")
	defer b.Close(&err)
	lu, pivots, info := factorLU(b, a, pivot)
	checkInfo(b, info, ops.SingularLU)
	r, err := writeResults(b, []string{"LU", "pivots"}, []*tensor.Tensor{outLU, outPivots}, lu, pivots)
	return r[0], r[1], err
}

// Lu is LinalgLuFactorEx without errors for singular matrices.
func Lu(c dispatch.Context, a *tensor.Tensor, pivot bool) (lu, pivots, info *tensor.Tensor, err error) {
	lu, pivots, info, err = c.LinalgLuFactorEx(nil, nil, nil, a, pivot, false)
	return lu, pivots, info, status.In("lu", err)
}

// factorLU returns the LU decomposition of matrices, with pivots unless pivot is false.
func factorLU(b *build.Builder, a *tensor.Tensor, pivot bool) (lu, pivots, info *tensor.Tensor) {
	return b.LinalgLuFactorExWith(a, pivot, false)
}

// LinalgLu factors A = P L U.
func LinalgLu(c dispatch.Context, outP, outL, outU, a *tensor.Tensor,
	pivot bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.lu")
	defer b.Close(&err)
	lu, pivots, _ := factorLU(b, a, pivot)
	p, l, u := b.LuUnpack(lu, pivots, true, true)
	r, err := writeResults(b, []string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// LuUnpack unpacks the results of LinalgLuFactor.
func LuUnpack(c dispatch.Context, outP, outL, outU, lu, pivots *tensor.Tensor, unpackData,
	unpackPivots bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "lu_unpack"
	if err := cmp.Or(ops.CheckMatrices(op, "LU_data", lu), ops.CheckPivots(op, "LU_pivots", lu, pivots)); err != nil {
		return nil, nil, nil, err
	}
	m, n := shape.Matrix(lu.Sizes())
	k := min(m, n)
	if want := shape.Append(shape.Batch(lu.Sizes()), k); unpackPivots && !slices.Equal(pivots.Sizes(), want) {
		return nil, nil, nil, status.Runtimef("%s: expected LU_pivots of shape %v for LU_data of shape %v, but got shape %v", op, want,
			lu.Sizes(), pivots.Sizes())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	none := b.EmptyBeside(lu, lu.DType(), 0)
	p, l, u := none, none, none
	if unpackData {
		below := narrowFirst(b, lu, -1, k)
		below = b.Tril(below, -1)
		above := narrowFirst(b, lu, -2, k)
		u = b.AsContiguous(b.Triu(above, 0))
		ones := b.EyeMWith(m, k, lu.DType(), tensor.NoLayout, lu.Device())
		l = b.AsContiguous(b.Add(below, ones))
	}
	if unpackPivots {
		order := b.Unsqueeze(pivotsToPermutation(b, pivots, m), -2)
		blank := b.ZerosBeside(lu, lu.DType(), shape.Append(shape.Batch(lu.Sizes()), m, m)...)
		p = b.ScatterValue(blank, -2, order, dtype.IntScalar(1))
	}
	r, err := writeResults(b, []string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// pivotsToPermutation returns the permutation of n rows that the row exchanges in pivots produce.
func pivotsToPermutation(b *build.Builder, pivots *tensor.Tensor, n int64) *tensor.Tensor {
	return b.PivotsPermutation(pivots, n)
}

// LinalgLdlFactor factors A = L D L^T for matrices that can be solved with.
func LinalgLdlFactor(c dispatch.Context, outLD, outPivots, self *tensor.Tensor,
	hermitian bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.ldl_factor")
	defer b.Close(&err)
	ld, pivots, info := b.LinalgLdlFactorExWith(self, hermitian, false)
	checkInfo(b, info, ops.SingularLDL)
	r, err := writeResults(b, []string{"LD", "pivots"}, []*tensor.Tensor{outLD, outPivots}, ld, pivots)
	return r[0], r[1], err
}

// Qr factors A = Q R, reduced if some is set.
func Qr(c dispatch.Context, outQ, outR, self *tensor.Tensor, some bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "qr")
	defer b.Close(&err)
	mode := "complete"
	if some {
		mode = "reduced"
	}
	q, r := b.LinalgQr(self, mode)
	result, err := writeResults(b, []string{"Q", "R"}, []*tensor.Tensor{outQ, outR}, q, r)
	return result[0], result[1], err
}

// Svd factors A = U diag(S) V^H.
func Svd(c dispatch.Context, outU, outS, outV, self *tensor.Tensor, some,
	computeUV bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "svd")
	defer b.Close(&err)
	if err := ops.CheckMatrices(b.Op, "input", self); err != nil {
		return nil, nil, nil, err
	}
	var u, values, v *tensor.Tensor
	if computeUV {
		u, values, v = b.LinalgSvd(self, !some)
		v = b.CloneWith(conjTranspose(b, v), shape.Preserve)
	} else {
		m, n := shape.Matrix(self.Sizes())
		values = b.LinalgSvdvals(self)
		u, v = b.ZerosBeside(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), m, m)...), b.ZerosBeside(self, self.DType(),
			shape.Append(shape.Batch(self.Sizes()), n, n)...)
	}
	r, err := writeResults(b, []string{"U", "S", "V"}, []*tensor.Tensor{outU, outS, outV}, u, values, v)
	return r[0], r[1], r[2], err
}

// scaleColumns returns V diag(values).
func scaleColumns(b *build.Builder, vectors, values *tensor.Tensor) *tensor.Tensor {
	return b.Mul(vectors, b.Unsqueeze(values, -2))
}

// composeHermitian returns V diag(values) V^H.
func composeHermitian(b *build.Builder, vectors, values *tensor.Tensor) *tensor.Tensor {
	return b.Matmul(scaleColumns(b, vectors, values), conjTranspose(b, vectors))
}

// LinalgMatrixSqrth computes the square root of positive semidefinite Hermitian matrices. Negative eigenvalues from rounding, as
// rank-deficient matrices have them, count as 0.
func LinalgMatrixSqrth(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.matrix_sqrth")
	defer b.Close(&err)
	values, vectors := b.LinalgEigh(castToCompute(b, self), "L")
	roots := b.Sqrt(b.Relu(values))
	return build.WriteResult(b, out, b.CastTo(composeHermitian(b, vectors, roots), self.DType()))
}

// Lyapunov returns the X of H X + X H = G for a Hermitian H without negative eigenvalues.
func Lyapunov(c dispatch.Context, h, g *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "lyapunov"
	if err := ops.CheckSquare(op, "H", h); err != nil {
		return nil, err
	}
	if !slices.Equal(h.Sizes(), g.Sizes()) || h.DType() != g.DType() {
		return nil, status.Runtimef("%s: expected G of the shape and dtype of H, %v and %v, but got %v and %v", op, h.Sizes(), h.DType(),
			g.Sizes(), g.DType())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	d := h.DType()
	h, g = castBothToCompute(b, h, g)
	values, vectors := b.LinalgEigh(h, "L")
	values = b.Relu(values)
	sums := b.Add(b.Unsqueeze(values, -1), b.Unsqueeze(values, -2))
	inner := b.Matmul(b.Matmul(conjTranspose(b, vectors), g), vectors)
	parts := b.Where(b.Gt(sums, b.FloatNumber(0)), b.Div(inner, sums), b.FloatNumber(0))
	return build.WriteResult(b, nil, b.CastTo(b.Matmul(b.Matmul(vectors, parts), conjTranspose(b, vectors)), d))
}

// LinalgPolar factors A = U H into a part with orthonormal columns and a Hermitian part without negative eigenvalues.
func LinalgPolar(c dispatch.Context, outU, outH, a *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.polar"
	if err := ops.CheckMatrices(op, "A", a); err != nil {
		return nil, nil, err
	}
	if m, n := shape.Matrix(a.Sizes()); m < n {
		return nil, nil, status.Runtimef("%s: A must have at least as many rows as columns, but got %d by %d matrices", op, m, n)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	w, values, vh := b.LinalgSvd(castToCompute(b, a), false)
	u, h := b.Matmul(w, vh), composeHermitian(b, conjTranspose(b, vh), values)
	r, err := writeResults(b, []string{"U", "H"}, []*tensor.Tensor{outU, outH}, b.CastTo(u, a.DType()), b.CastTo(h, a.DType()))
	return r[0], r[1], err
}
