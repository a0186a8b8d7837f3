package composite

import (
	"cmp"
	"slices"

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

func choleskyOf(c dispatch.Context, op string, out, self *tensor.Tensor, upper bool) (*tensor.Tensor, error) {
	s := newScope(c, op)
	defer s.Close()
	l, info := s.two(func() (*tensor.Tensor, *tensor.Tensor, error) {
		return c.LinalgCholeskyEx(nil, nil, self, upper, false)
	})
	s.checkInfo(info, ops.NotDefinite)
	r, err := s.finished(nil, []*tensor.Tensor{out}, l)
	return r[0], err
}

// LinalgLuFactor factors A = P L U for matrices that can be solved with.
func LinalgLuFactor(c dispatch.Context, outLU, outPivots, a *tensor.Tensor, pivot bool) (*tensor.Tensor, *tensor.Tensor, error) {
	s := newScope(c, "linalg.lu_factor")
	defer s.Close()
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
	return s.three(func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
		return s.C.LinalgLuFactorEx(nil, nil, nil, a, pivot, false)
	})
}

// LinalgLu factors A = P L U.
func LinalgLu(c dispatch.Context, outP, outL, outU, a *tensor.Tensor, pivot bool) (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
	s := newScope(c, "linalg.lu")
	defer s.Close()
	lu, pivots, _ := s.factors(a, pivot)
	if s.Err != nil {
		return nil, nil, nil, s.Err
	}
	p, l, u := s.three(func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
		return c.LuUnpack(nil, nil, nil, lu, pivots, true, true)
	})
	r, err := s.finished([]string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// LuUnpack unpacks the results of LinalgLuFactor.
func LuUnpack(c dispatch.Context, outP, outL, outU, lu, pivots *tensor.Tensor, unpackData, unpackPivots bool) (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
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
	defer s.Close()
	none := s.Empty(lu, lu.DType(), 0)
	p, l, u := none, none, none
	if unpackData {
		below := s.firsts(lu, -1, k)
		below = s.Step(func() (*tensor.Tensor, error) { return c.Tril(nil, below, -1) })
		above := s.firsts(lu, -2, k)
		u = s.Contiguous(s.Step(func() (*tensor.Tensor, error) { return c.Triu(nil, above, 0) }))
		ones := s.Step(func() (*tensor.Tensor, error) { return c.EyeM(nil, m, k, lu.DType(), tensor.NoLayout, lu.Device()) })
		l = s.Contiguous(s.Add(below, ones))
	}
	if unpackPivots {
		order := s.Unsqueeze(s.permutation(pivots, m), -2)
		blank := s.Zeros(lu, lu.DType(), shape.Append(shape.Batch(lu.Sizes()), m, m)...)
		p = s.Step(func() (*tensor.Tensor, error) { return c.ScatterValue(nil, blank, -2, order, dtype.IntScalar(1)) })
	}
	r, err := s.finished([]string{"P", "L", "U"}, []*tensor.Tensor{outP, outL, outU}, p, l, u)
	return r[0], r[1], r[2], err
}

// permutation returns the order of n rows that exchanges lead to.
func (s *scope) permutation(pivots *tensor.Tensor, n int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.PivotsPermutation(pivots, n) })
}

// LinalgLdlFactor factors A = L D L^T for matrices that can be solved with.
func LinalgLdlFactor(c dispatch.Context, outLD, outPivots, self *tensor.Tensor, hermitian bool) (*tensor.Tensor, *tensor.Tensor, error) {
	s := newScope(c, "linalg.ldl_factor")
	defer s.Close()
	ld, pivots, info := s.three(func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
		return c.LinalgLdlFactorEx(nil, nil, nil, self, hermitian, false)
	})
	s.checkInfo(info, ops.SingularLDL)
	r, err := s.finished([]string{"LD", "pivots"}, []*tensor.Tensor{outLD, outPivots}, ld, pivots)
	return r[0], r[1], err
}

// Qr factors A = Q R, reduced if some is set.
func Qr(c dispatch.Context, outQ, outR, self *tensor.Tensor, some bool) (*tensor.Tensor, *tensor.Tensor, error) {
	s := newScope(c, "qr")
	defer s.Close()
	mode := "complete"
	if some {
		mode = "reduced"
	}
	q, r := s.two(func() (*tensor.Tensor, *tensor.Tensor, error) { return c.LinalgQr(nil, nil, self, mode) })
	made, err := s.finished([]string{"Q", "R"}, []*tensor.Tensor{outQ, outR}, q, r)
	return made[0], made[1], err
}

// Svd factors A = U diag(S) V^H.
func Svd(c dispatch.Context, outU, outS, outV, self *tensor.Tensor, some, computeUV bool) (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
	s := newScope(c, "svd")
	defer s.Close()
	if err := ops.CheckMatrices(s.Op, "input", self); err != nil {
		return nil, nil, nil, err
	}
	var u, values, v *tensor.Tensor
	if computeUV {
		u, values, v = s.three(func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
			return c.LinalgSvd(nil, nil, nil, self, !some, "")
		})
		v = s.resolved(s.adjoint(v))
	} else {
		m, n := shape.Matrix(self.Sizes())
		values = s.Step(func() (*tensor.Tensor, error) { return c.LinalgSvdvals(nil, self, "") })
		u, v = s.Zeros(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), m, m)...), s.Zeros(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), n, n)...)
	}
	r, err := s.finished([]string{"U", "S", "V"}, []*tensor.Tensor{outU, outS, outV}, u, values, v)
	return r[0], r[1], r[2], err
}

// resolved returns a tensor that is no view.
func (s *scope) resolved(t *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.Clone(t, shape.Preserve) })
}

// spectrum is A = V diag(values) V^H.
func (s *scope) spectrum(self *tensor.Tensor) (values, vectors *tensor.Tensor) {
	return s.two(func() (*tensor.Tensor, *tensor.Tensor, error) { return s.C.LinalgEigh(nil, nil, self, "L") })
}

// singular is A = U diag(values) Vh, reduced.
func (s *scope) singular(self *tensor.Tensor) (u, values, vh *tensor.Tensor) {
	return s.three(func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error) {
		return s.C.LinalgSvd(nil, nil, nil, self, false, "")
	})
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
func LinalgMatrixSqrth(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	s := newScope(c, "linalg.matrix_sqrth")
	defer s.Close()
	values, vectors := s.spectrum(s.wideEnough(self))
	roots := s.Unary(c.Sqrt, s.Unary(c.Relu, values))
	return s.result(out, s.Cast(s.scaledBack(vectors, roots), self.DType()))
}

// Lyapunov returns the X of H X + X H = G for a Hermitian H without negative eigenvalues.
func Lyapunov(c dispatch.Context, h, g *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "lyapunov"
	if err := ops.CheckSquare(op, "H", h); err != nil {
		return nil, err
	}
	if !slices.Equal(h.Sizes(), g.Sizes()) || h.DType() != g.DType() {
		return nil, status.Runtimef("%s: expected G of the shape and dtype of H, %v and %v, but got %v and %v", op, h.Sizes(), h.DType(), g.Sizes(), g.DType())
	}
	s := newScope(c, op)
	defer s.Close()
	d := h.DType()
	h, g = s.bothWide(h, g)
	values, vectors := s.spectrum(h)
	values = s.Unary(c.Relu, values)
	sums := s.Add(s.Unsqueeze(values, -1), s.Unsqueeze(values, -2))
	inner := s.matmul(s.matmul(s.adjoint(vectors), g), vectors)
	parts := s.Where(s.greater(sums, s.Float(0)), s.Div(inner, sums), s.Float(0))
	return s.result(nil, s.Cast(s.matmul(s.matmul(vectors, parts), s.adjoint(vectors)), d))
}

// LinalgPolar factors A = U H into a part with orthonormal columns and a Hermitian part without negative eigenvalues.
func LinalgPolar(c dispatch.Context, outU, outH, a *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	const op = "linalg.polar"
	if err := ops.CheckMatrices(op, "A", a); err != nil {
		return nil, nil, err
	}
	if m, n := shape.Matrix(a.Sizes()); m < n {
		return nil, nil, status.Runtimef("%s: A must have at least as many rows as columns, but got %d by %d matrices", op, m, n)
	}
	s := newScope(c, op)
	defer s.Close()
	w, values, vh := s.singular(s.wideEnough(a))
	u, h := s.matmul(w, vh), s.scaledBack(s.adjoint(vh), values)
	r, err := s.finished([]string{"U", "H"}, []*tensor.Tensor{outU, outH}, s.Cast(u, a.DType()), s.Cast(h, a.DType()))
	return r[0], r[1], err
}
