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
	return choleskyOf(c, "linalg.cholesky", out, self, upper)
}

// Cholesky is LinalgCholesky.
func Cholesky(c dispatch.Context, out, self *tensor.Tensor, upper bool) (*tensor.Tensor, error) {
	return choleskyOf(c, "cholesky", out, self, upper)
}

func choleskyOf(c dispatch.Context, op string, out, self *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	l, info := s.LinalgCholeskyExWith(self, upper, false)
	s.checkInfo(info, ops.NotDefinite)
	r, err := s.finished(nil, []*tensor.Tensor{out}, l)
	return r[0], err
}

// LinalgLuFactor factors A = P L U for matrices that can be solved with.
func LinalgLuFactor(c dispatch.Context, outLU, outPivots, a *tensor.Tensor, pivot bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.lu_factor")
	defer s.Close(&err)
	lu, pivots, info := s.factors(a, pivot)
	s.checkInfo(info, ops.SingularLU)
	r, err := s.finished([]string{"LU", "pivots"}, []*tensor.Tensor{outLU, outPivots}, lu, pivots)
	return r[0], r[1], err
}

// Lu is LinalgLuFactorEx without errors for singular matrices.
func Lu(c dispatch.Context, a *tensor.Tensor, pivot bool) (lu, pivots, info *tensor.Tensor, err error) {
	lu, pivots, info, err = c.LinalgLuFactorEx(nil, nil, nil, a, pivot, false)
	return lu, pivots, info, status.In("lu", err)
}

func (s *scope) factors(a *tensor.Tensor, pivot bool) (lu, pivots, info *tensor.Tensor) {
	return s.LinalgLuFactorExWith(a, pivot, false)
}

// LinalgLu factors A = P L U.
func LinalgLu(c dispatch.Context, outP, outL, outU, a *tensor.Tensor, pivot bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.lu")
	defer s.Close(&err)
	lu, pivots, _ := s.factors(a, pivot)
	p, l, u := s.LuUnpack(lu, pivots, true, true)
	r, err := s.finished([]string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// LuUnpack unpacks the results of LinalgLuFactor.
func LuUnpack(c dispatch.Context, outP, outL, outU, lu, pivots *tensor.Tensor, unpackData, unpackPivots bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "lu_unpack"
	if err := cmp.Or(ops.CheckMatrices(op, "LU_data", lu), ops.CheckPivots(op, "LU_pivots", lu, pivots)); err != nil {
		return nil, nil, nil, err
	}
	m, n := shape.Matrix(lu.Sizes())
	k := min(m, n)
	if want := shape.Append(shape.Batch(lu.Sizes()), k); unpackPivots && !slices.Equal(pivots.Sizes(), want) {
		return nil, nil, nil, status.Runtimef("%s: expected LU_pivots of shape %v for LU_data of shape %v, but got shape %v", op, want, lu.Sizes(), pivots.Sizes())
	}
	s := newScope(c, op)
	defer s.Close(&err)
	none := s.EmptyBeside(lu, lu.DType(), 0)
	p, l, u := none, none, none
	if unpackData {
		below := s.firsts(lu, -1, k)
		below = s.Tril(below, -1)
		above := s.firsts(lu, -2, k)
		u = s.AsContiguous(s.Triu(above, 0))
		ones := s.EyeMWith(m, k, lu.DType(), tensor.NoLayout, lu.Device())
		l = s.AsContiguous(s.Add(below, ones))
	}
	if unpackPivots {
		order := s.Unsqueeze(s.permutation(pivots, m), -2)
		blank := s.ZerosBeside(lu, lu.DType(), shape.Append(shape.Batch(lu.Sizes()), m, m)...)
		p = s.ScatterValue(blank, -2, order, dtype.IntScalar(1))
	}
	r, err := s.finished([]string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// permutation returns the order of n rows that exchanges lead to.
func (s *scope) permutation(pivots *tensor.Tensor, n int64) *tensor.Tensor {
	return s.PivotsPermutation(pivots, n)
}

// LinalgLdlFactor factors A = L D L^T for matrices that can be solved with.
func LinalgLdlFactor(c dispatch.Context, outLD, outPivots, self *tensor.Tensor, hermitian bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.ldl_factor")
	defer s.Close(&err)
	ld, pivots, info := s.LinalgLdlFactorExWith(self, hermitian, false)
	s.checkInfo(info, ops.SingularLDL)
	r, err := s.finished([]string{"LD", "pivots"}, []*tensor.Tensor{outLD, outPivots}, ld, pivots)
	return r[0], r[1], err
}

// Qr factors A = Q R, reduced if some is set.
func Qr(c dispatch.Context, outQ, outR, self *tensor.Tensor, some bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "qr")
	defer s.Close(&err)
	mode := "complete"
	if some {
		mode = "reduced"
	}
	q, r := s.LinalgQr(self, mode)
	made, err := s.finished([]string{"Q", "R"}, []*tensor.Tensor{outQ, outR}, q, r)
	return made[0], made[1], err
}

// Svd factors A = U diag(S) V^H.
func Svd(c dispatch.Context, outU, outS, outV, self *tensor.Tensor, some, computeUV bool) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "svd")
	defer s.Close(&err)
	if err := ops.CheckMatrices(s.Op, "input", self); err != nil {
		return nil, nil, nil, err
	}
	var u, values, v *tensor.Tensor
	if computeUV {
		u, values, v = s.LinalgSvd(self, !some)
		v = s.resolved(s.adjoint(v))
	} else {
		m, n := shape.Matrix(self.Sizes())
		values = s.LinalgSvdvals(self)
		u, v = s.ZerosBeside(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), m, m)...), s.ZerosBeside(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), n, n)...)
	}
	r, err := s.finished([]string{"U", "S", "V"}, []*tensor.Tensor{outU, outS, outV}, u, values, v)
	return r[0], r[1], r[2], err
}

// resolved returns a tensor that is no view.
func (s *scope) resolved(t *tensor.Tensor) *tensor.Tensor {
	return s.CloneWith(t, shape.Preserve)
}

// spectrum is A = V diag(values) V^H.
func (s *scope) spectrum(self *tensor.Tensor) (values, vectors *tensor.Tensor) {
	return s.LinalgEigh(self, "L")
}

// singular is A = U diag(values) Vh, reduced.
func (s *scope) singular(self *tensor.Tensor) (u, values, vh *tensor.Tensor) {
	return s.LinalgSvd(self, false)
}

// scaledColumns is V diag(values), scaledBack that times V^H.
func (s *scope) scaledColumns(vectors, values *tensor.Tensor) *tensor.Tensor {
	return s.Mul(vectors, s.Unsqueeze(values, -2))
}

func (s *scope) scaledBack(vectors, values *tensor.Tensor) *tensor.Tensor {
	return s.matmul(s.scaledColumns(vectors, values), s.adjoint(vectors))
}

// LinalgMatrixSqrth computes the square root of positive semidefinite Hermitian matrices. Negative eigenvalues from rounding, as rank-deficient
// matrices have them, count as 0.
func LinalgMatrixSqrth(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.matrix_sqrth")
	defer s.Close(&err)
	values, vectors := s.spectrum(s.wideEnough(self))
	roots := s.Sqrt(s.Relu(values))
	return build.WriteResult(s.Builder, out, s.CastTo(s.scaledBack(vectors, roots), self.DType()))
}

// Lyapunov returns the X of H X + X H = G for a Hermitian H without negative eigenvalues.
func Lyapunov(c dispatch.Context, h, g *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "lyapunov"
	if err := ops.CheckSquare(op, "H", h); err != nil {
		return nil, err
	}
	if !slices.Equal(h.Sizes(), g.Sizes()) || h.DType() != g.DType() {
		return nil, status.Runtimef("%s: expected G of the shape and dtype of H, %v and %v, but got %v and %v", op, h.Sizes(), h.DType(), g.Sizes(), g.DType())
	}
	s := newScope(c, op)
	defer s.Close(&err)
	d := h.DType()
	h, g = s.bothWide(h, g)
	values, vectors := s.spectrum(h)
	values = s.Relu(values)
	sums := s.Add(s.Unsqueeze(values, -1), s.Unsqueeze(values, -2))
	inner := s.matmul(s.matmul(s.adjoint(vectors), g), vectors)
	parts := s.Where(s.greater(sums, s.FloatNumber(0)), s.Div(inner, sums), s.FloatNumber(0))
	return build.WriteResult(s.Builder, nil, s.CastTo(s.matmul(s.matmul(vectors, parts), s.adjoint(vectors)), d))
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
	s := newScope(c, op)
	defer s.Close(&err)
	w, values, vh := s.singular(s.wideEnough(a))
	u, h := s.matmul(w, vh), s.scaledBack(s.adjoint(vh), values)
	r, err := s.finished([]string{"U", "H"}, []*tensor.Tensor{outU, outH}, s.CastTo(u, a.DType()), s.CastTo(h, a.DType()))
	return r[0], r[1], err
}
