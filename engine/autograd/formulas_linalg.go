package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The derivatives of factorizations follow M. Giles, An extended collection of matrix derivative results (2008), I. Murray, Differentiation
// of the Cholesky decomposition (2016), S. F. Walter, L. Lehmann, Algorithmic differentiation of linear algebra functions (2010), and
// G. Golub, V. Pereyra, The differentiation of pseudo-inverses (1973).

func (s *steps) solveTriangular(a, b *tensor.Tensor, upper, left, unit bool) *tensor.Tensor {
	return s.LinalgSolveTriangularWith(a, b, upper, left, unit)
}

// solveAny returns the X of A X = B, whatever A is.
func (s *steps) solveAny(a, b *tensor.Tensor, left bool) *tensor.Tensor {
	x, info, err := s.C.LinalgSolveEx(nil, nil, a, b, left, false)
	s.Track(info, nil)
	return s.Track(x, err)
}

func (s *steps) diagonalOf(t *tensor.Tensor) *tensor.Tensor {
	return s.Diagonal(t, 0, -2, -1)
}

// asColumn and row are a vector, or each of a batch, as matrices.
func (s *steps) asColumn(t *tensor.Tensor) *tensor.Tensor { return s.Unsqueeze(t, -1) }
func (s *steps) asRow(t *tensor.Tensor) *tensor.Tensor    { return s.Unsqueeze(t, -2) }

// onDiagonal returns matrices that are zero off the diagonal.
func (s *steps) onDiagonal(t *tensor.Tensor) *tensor.Tensor {
	return s.DiagEmbed(t, 0, -2, -1)
}

// addOptional returns a sum of which parts may be missing.
func (s *steps) addOptional(a, b *tensor.Tensor) *tensor.Tensor {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return s.add(a, b)
}

// narrowBefore returns the part of t before position n along dim, and rest the part from n on.
func (s *steps) narrowBefore(t *tensor.Tensor, dim, n int64) *tensor.Tensor {
	return s.Narrow(t, dim, 0, n)
}

func (s *steps) narrowFrom(t *tensor.Tensor, dim, n int64) *tensor.Tensor {
	size := t.Sizes()[int64(t.Dim())+dim]
	return s.Narrow(t, dim, n, size-n)
}

// hasGrad reports whether result i has a gradient; check it before an undefined one is replaced by zeros.
func (s *steps) hasGrad(i int) bool { return s.given[i] != nil }

// choleskyGradient returns that of A = L L^H.
func (s *steps) choleskyGradient(grad, l *tensor.Tensor, upper bool) *tensor.Tensor {
	if upper {
		grad, l = s.adjointOf(grad), s.adjointOf(l)
	}
	inner := s.lowerOver(s.Matmul(s.adjointOf(l), grad))
	inner = s.releaseUsed(inner, s.evaluateSeparately(func(s *steps) *tensor.Tensor { return s.add(inner, s.adjointOf(s.Tril(inner, -1))) }))
	inner = s.binary('*', inner, s.float(0.5), left)
	inner = s.releaseUsed(inner, s.solveTriangular(l, inner, false, false, false))
	return s.releaseUsed(inner, s.solveTriangular(s.adjointOf(l), inner, true, true, false))
}

// luFactorGradient returns that of A = P L U, of which wide and tall matrices have a part that is not square.
func (s *steps) luFactorGradient(grad, lu, pivots *tensor.Tensor) *tensor.Tensor {
	m, n := shape.Matrix(lu.Sizes())
	k := min(m, n)
	p := s.permutationOf(lu, pivots, m)
	square := s.narrowBefore(s.narrowBefore(lu, -2, k), -1, k)
	lower := s.add(s.Tril(square, -1), s.EyeWith(k, lu.DType(), tensor.NoLayout, lu.Device()))
	upper := s.Triu(square, 0)
	corner := s.narrowBefore(s.narrowBefore(grad, -2, k), -1, k)
	inner := s.Matmul(s.adjointOf(lower), s.Tril(corner, -1))
	outer := s.Matmul(s.Triu(corner, 0), s.adjointOf(upper))
	back := func(inner *tensor.Tensor) *tensor.Tensor {
		inner = s.solveTriangular(s.adjointOf(upper), inner, false, false, false)
		return s.solveTriangular(s.adjointOf(lower), inner, true, true, true)
	}
	switch {
	case m < n:
		side := s.narrowFrom(grad, -1, k)
		inner = s.sub(inner, s.Matmul(side, s.adjointOf(s.narrowFrom(lu, -1, k))))
		made := back(s.add(s.Tril(inner, -1), s.Triu(outer, 0)))
		return s.Matmul(p, s.Cat([]*tensor.Tensor{made, s.solveTriangular(s.adjointOf(lower), side, true, true, true)}, -1))
	case m > n:
		below := s.narrowFrom(grad, -2, k)
		outer = s.sub(outer, s.Matmul(s.adjointOf(s.narrowFrom(lu, -2, k)), below))
		made := back(s.add(s.Tril(inner, -1), s.Triu(outer, 0)))
		return s.Matmul(p, s.Cat([]*tensor.Tensor{made, s.solveTriangular(s.adjointOf(upper), below, false, false, false)}, -2))
	}
	return s.Matmul(p, back(s.add(s.Tril(inner, -1), s.Triu(outer, 0))))
}

func (s *steps) permutationOf(lu, pivots *tensor.Tensor, m int64) *tensor.Tensor {
	p, l, u, err := s.C.LuUnpack(nil, nil, nil, lu, pivots, false, true)
	s.Track(l, nil)
	s.Track(u, nil)
	return s.Track(p, err)
}

// choleskySolveGradient and choleskyInverseGradient are in the factor L of A = L L^H, all of whose elements count, as in PyTorch.
func (s *steps) choleskySolveGradient(grad, l, x *tensor.Tensor, upper bool) *tensor.Tensor {
	inner := s.Matmul(s.CholeskySolve(grad, l, upper), s.adjointOf(x))
	return s.besideFactor(s.add(inner, s.adjointOf(inner)), l, upper)
}

func (s *steps) choleskyInverseGradient(grad, l, inverse *tensor.Tensor, upper bool) *tensor.Tensor {
	inner := s.add(grad, s.adjointOf(grad))
	return s.besideFactor(s.Matmul(inverse, s.Matmul(inner, inverse)), l, upper)
}

func (s *steps) besideFactor(inner, l *tensor.Tensor, upper bool) *tensor.Tensor {
	if upper {
		return s.Neg(s.Matmul(l, inner))
	}
	return s.Neg(s.Matmul(inner, l))
}

// solveGradientOfA and solveGradientOfB are those of A X = B or X A = B; vectors count as columns.
func (s *steps) solveGradientOfB(grad, a, x *tensor.Tensor, left bool) *tensor.Tensor {
	solved := s.solvedBack(grad, a, x, left)
	if x.Dim() < a.Dim() {
		return s.SqueezeDim(solved, -1)
	}
	return solved
}

func (s *steps) solveGradientOfA(grad, a, x *tensor.Tensor, left bool) *tensor.Tensor {
	solved := s.solvedBack(grad, a, x, left)
	if x.Dim() < a.Dim() {
		x = s.asColumn(x)
	}
	return s.negOver(s.outerProduct(solved, x, left))
}

// solvedBack returns the gradient of B as matrices, of which that of A is made too.
func (s *steps) solvedBack(grad, a, x *tensor.Tensor, left bool) *tensor.Tensor {
	return s.evaluateOnce(func() []*tensor.Tensor {
		if x.Dim() < a.Dim() {
			grad = s.asColumn(grad)
		}
		return []*tensor.Tensor{s.solveAny(s.adjointOf(a), grad, left)}
	})[0]
}

// outerProduct returns the product of gradients and solutions that is like A.
func (s *steps) outerProduct(grad, x *tensor.Tensor, left bool) *tensor.Tensor {
	if left {
		return s.Matmul(grad, s.adjointOf(x))
	}
	return s.Matmul(s.adjointOf(x), grad)
}

func (s *steps) inverseGradient(grad, inverse *tensor.Tensor) *tensor.Tensor {
	turned := s.adjointOf(inverse)
	inner := s.Matmul(turned, grad)
	return s.negOver(s.releaseUsed(inner, s.Matmul(inner, turned)))
}

func (s *steps) triangularGradientOfB(grad, a *tensor.Tensor, upper, left, unit bool) *tensor.Tensor {
	return s.solveTriangular(s.adjointOf(a), grad, !upper, left, unit)
}

func (s *steps) triangularGradientOfA(grad, a, x *tensor.Tensor, upper, left, unit bool) *tensor.Tensor {
	made := s.Neg(s.outerProduct(s.triangularGradientOfB(grad, a, upper, left, unit), x, left))
	diagonal := int64(0)
	if unit {
		diagonal = 1
	}
	if upper {
		return s.Triu(made, diagonal)
	}
	return s.Tril(made, -diagonal)
}

// qrGradient returns the gradient of A = Q R. For a wide A, the columns after the square part are Q times the rest of R.
func (s *steps) qrGradient(hasQ, hasR bool, gradQ, gradR, q, r *tensor.Tensor, mode string) *tensor.Tensor {
	m, n := q.Sizes()[max(q.Dim()-2, 0)], r.Sizes()[r.Dim()-1]
	switch {
	case mode == "r":
		s.Check(status.Runtimef("linalg.qr: the derivative depends on Q, which mode='r' does not compute; use mode='reduced'"))
	case mode == "complete" && m > n:
		s.Check(status.Runtimef("linalg.qr: with mode='complete' the decomposition of %d by %d matrices, with more rows than columns, has no derivative; use mode='reduced'",
			m, n))
	}
	if m >= n {
		return s.squareQR(hasQ, hasR, gradQ, gradR, q, r)
	}
	right := s.narrowFrom(gradR, -1, m)
	y := s.Matmul(q, s.narrowFrom(r, -1, m))
	gradQ = s.add(gradQ, s.Matmul(y, s.adjointOf(right)))
	left := s.squareQR(true, hasR, gradQ, s.narrowBefore(gradR, -1, m), q, s.narrowBefore(r, -1, m))
	return s.Cat([]*tensor.Tensor{left, s.Matmul(q, right)}, -1)
}

func (s *steps) squareQR(hasQ, hasR bool, gradQ, gradR, q, r *tensor.Tensor) *tensor.Tensor {
	var inner, made *tensor.Tensor
	if hasR {
		inner = s.Matmul(gradR, s.adjointOf(r))
	}
	if hasQ {
		made = gradQ
		inner = s.addOptional(inner, s.Neg(s.Matmul(s.adjointOf(q), gradQ)))
	}
	inner = s.Triu(inner, 0)
	inner = s.add(inner, s.adjointOf(s.Triu(inner, 1)))
	// Of the diagonal, the real part counts.
	if inner.DType().IsComplex() {
		inner = s.sub(inner, s.onDiagonal(s.mul(s.castTo(s.Imag(s.diagonalOf(inner)), inner.DType()), s.number(dtype.ComplexScalar(1i)))))
	}
	made = s.addOptional(made, s.Matmul(q, inner))
	return s.solveTriangular(s.adjointOf(r), made, false, false, false)
}

// reflectionVectors returns the vectors v of reflections 1 - tau v v^H, in columns.
func (s *steps) reflectionVectors(input *tensor.Tensor) *tensor.Tensor {
	m, n := shape.Matrix(input.Sizes())
	return s.add(s.Tril(input, -1), s.EyeMWith(m, n, input.DType(), tensor.NoLayout, input.Device()))
}

// householderOf returns the first columns of a product of reflections. Adding zeros computed from input makes the result depend on it even
// without reflections.
func (s *steps) householderOf(input, tau *tensor.Tensor) *tensor.Tensor {
	m, n := shape.Matrix(input.Sizes())
	ones := s.EyeMWith(m, n, input.DType(), tensor.NoLayout, input.Device())
	ones = s.Expand(ones, slices.Clone(input.Sizes())...)
	return s.applyReflections(s.reflectionVectors(input), tau, s.add(ones, s.Triu(s.Tril(input, -1), 0)), false)
}

// reflectedOf multiplies other by a product of reflections.
func (s *steps) reflectedOf(input, tau, other *tensor.Tensor, left, adjoint bool) *tensor.Tensor {
	v := s.reflectionVectors(input)
	if left {
		return s.applyReflections(v, tau, other, adjoint)
	}
	return s.adjointOf(s.applyReflections(v, tau, s.adjointOf(other), !adjoint))
}

func (s *steps) applyReflections(v, tau, other *tensor.Tensor, adjoint bool) *tensor.Tensor {
	count := tau.Sizes()[tau.Dim()-1]
	if adjoint {
		tau = s.conj(tau)
	}
	for i := range count {
		if !adjoint {
			i = count - 1 - i
		}
		column := s.Narrow(v, -1, i, 1)
		scale := s.asColumn(s.Narrow(tau, -1, i, 1))
		other = s.sub(other, s.Matmul(s.mul(column, scale), s.Matmul(s.adjointOf(column), other)))
	}
	return other
}

// hermitianPart returns the nearest Hermitian matrix to t.
func (s *steps) hermitianPart(t *tensor.Tensor) *tensor.Tensor {
	return s.mul(s.add(t, s.adjointOf(t)), s.float(0.5))
}

func (s *steps) lyapunovGradient(grad, h, x *tensor.Tensor) *tensor.Tensor {
	inner, turned := s.Lyapunov(h, grad), s.adjointOf(x)
	return s.Neg(s.add(s.Matmul(inner, turned), s.Matmul(turned, inner)))
}

// matrixSqrthGradient returns that of S S = A.
func (s *steps) matrixSqrthGradient(grad, root *tensor.Tensor) *tensor.Tensor {
	return s.Lyapunov(root, s.hermitianPart(grad))
}

// polarGradient returns the gradient of A = U H, where H H = A^H A. It does not use singular vectors, so that singular values may be equal.
func (s *steps) polarGradient(hasU, hasH bool, gradU, gradH, a, u, h *tensor.Tensor) *tensor.Tensor {
	var made, inner *tensor.Tensor
	if hasU {
		made = s.solveAny(h, gradU, false)
		inner = s.Neg(s.Matmul(s.adjointOf(u), made))
	}
	if hasH {
		inner = s.addOptional(inner, gradH)
	}
	return s.addOptional(made, s.Matmul(a, s.mul(s.Lyapunov(h, s.hermitianPart(inner)), s.int(2))))
}

// pairwiseDifferences returns the differences of a vector's elements, row by column, with ones on the diagonal.
func (s *steps) pairwiseDifferences(values *tensor.Tensor) *tensor.Tensor {
	differences := s.sub(s.asRow(values), s.asColumn(values))
	n := values.Sizes()[values.Dim()-1]
	return s.add(differences, s.EyeWith(n, values.DType(), tensor.NoLayout, values.Device()))
}

// zeroDiagonal returns t with a diagonal of zeros.
func (s *steps) zeroDiagonal(t *tensor.Tensor) *tensor.Tensor {
	return s.add(s.Tril(t, -1), s.Triu(t, 1))
}

// checkPhases returns an error for gradients of complex vectors that change with their phases, which are free: the parts along the vectors
// themselves are real where they do not.
func (s *steps) checkPhases(op string, along ...*tensor.Tensor) {
	var diagonal *tensor.Tensor
	for _, t := range along {
		if t != nil {
			diagonal = s.addOptional(diagonal, s.diagonalOf(t))
		}
	}
	if !diagonal.DType().IsComplex() || !backend.Known(diagonal) {
		return
	}
	turned := s.Gt(s.Abs(s.Imag(diagonal)), s.float(1e-2))
	if s.anyTrue(turned) {
		s.Check(status.Runtimef("%s_backward: the vectors of complex matrices are unique up to multiplication by e^{i phi}; the specified loss function depends on this phase, so it is ill-defined",
			op))
	}
}

func (s *steps) eighGradient(hasValues, hasVectors bool, gradValues, gradVectors, values, vectors *tensor.Tensor) *tensor.Tensor {
	var inner *tensor.Tensor
	if hasVectors {
		// Vectors that stay orthonormal turn by skew matrices alone.
		along := s.Matmul(s.adjointOf(vectors), gradVectors)
		s.checkPhases("linalg_eigh", along)
		turn := s.div(s.sub(along, s.adjointOf(along)), s.int(2))
		inner = s.zeroDiagonal(s.div(turn, s.pairwiseDifferences(values)))
	}
	if hasValues {
		if inner == nil {
			return s.Matmul(s.mul(vectors, s.asRow(gradValues)), s.adjointOf(vectors))
		}
		inner = s.add(inner, s.onDiagonal(gradValues))
	}
	return s.Matmul(s.Matmul(vectors, inner), s.adjointOf(vectors))
}

// eigGradient returns that of A V = V diag(L), with vectors of norm 1.
func (s *steps) eigGradient(hasValues, hasVectors, complexes bool, gradValues, gradVectors, values, vectors *tensor.Tensor) *tensor.Tensor {
	turned := s.adjointOf(vectors)
	var inner *tensor.Tensor
	if hasVectors {
		along := s.Matmul(turned, gradVectors)
		s.checkPhases("linalg_eig", along)
		scale := s.castTo(s.real(s.diagonalOf(along)), along.DType())
		along = s.sub(along, s.Matmul(turned, s.mul(vectors, s.asRow(scale))))
		inner = s.zeroDiagonal(s.div(along, s.pairwiseDifferences(s.conj(values))))
	}
	if hasValues {
		inner = s.addOptional(inner, s.onDiagonal(gradValues))
	}
	made := s.solveAny(turned, s.Matmul(inner, turned), true)
	if complexes {
		return made
	}
	return s.real(made)
}

// svdGradient returns that of A = U diag(S) Vh; of vectors beyond the singular values none depend on A smoothly.
func (s *steps) svdGradient(hasU, hasS, hasVh bool, gradU, gradS, gradVh, u, values, vh *tensor.Tensor) *tensor.Tensor {
	m, _ := shape.Matrix(u.Sizes())
	_, n := shape.Matrix(vh.Sizes())
	k := values.Sizes()[values.Dim()-1]
	u, vh = s.narrowBefore(u, -1, k), s.narrowBefore(vh, -2, k)
	if !hasU && !hasVh {
		return s.Matmul(s.mul(u, s.asRow(gradS)), vh)
	}
	squares := s.pairwiseDifferences(s.mul(values, values))
	var inner, left, right, across *tensor.Tensor
	if hasS {
		inner = s.onDiagonal(gradS)
	}
	skew := func(t *tensor.Tensor) *tensor.Tensor { return s.sub(t, s.adjointOf(t)) }
	if hasU {
		gradU = s.narrowBefore(gradU, -1, k)
		left = s.Matmul(s.adjointOf(u), gradU)
		turn := skew(left)
		inner = s.addOptional(inner, s.mul(s.zeroDiagonal(s.div(turn, squares)), s.asRow(values)))
		if turn.DType().IsComplex() {
			inner = s.add(inner, s.onDiagonal(s.div(s.diagonalOf(turn), s.mul(values, s.int(2)))))
		}
	}
	if hasVh {
		gradVh = s.narrowBefore(gradVh, -2, k)
		right = s.Matmul(gradVh, s.adjointOf(vh))
		across = s.adjointOf(right)
		inner = s.addOptional(inner, s.mul(s.asColumn(values), s.zeroDiagonal(s.div(skew(across), squares))))
	}
	s.checkPhases("svd", left, across)
	made := s.Matmul(u, inner)
	if hasU && m > k {
		made = s.add(made, s.div(s.sub(gradU, s.Matmul(u, left)), s.asRow(values)))
	}
	made = s.Matmul(made, vh)
	if hasVh && n > k {
		made = s.add(made, s.Matmul(u, s.div(s.sub(gradVh, s.Matmul(right, vh)), s.asColumn(values))))
	}
	return made
}

// eigvalshOf, eigvalsOf and svdvalsOf are values with the vectors that their derivatives need.
func (s *steps) eigvalshOf(self *tensor.Tensor, uplo string) *tensor.Tensor {
	values, vectors, err := s.C.LinalgEigh(nil, nil, self, uplo)
	s.Track(vectors, nil)
	return s.Track(values, err)
}

func (s *steps) eigvalsOf(self *tensor.Tensor) *tensor.Tensor {
	values, vectors, err := s.C.LinalgEig(nil, nil, self)
	s.Track(vectors, nil)
	return s.Track(values, err)
}

func (s *steps) svdvalsOf(a *tensor.Tensor) *tensor.Tensor {
	u, values, vh, err := s.C.LinalgSvd(nil, nil, nil, a, false, "")
	s.Track(u, nil)
	s.Track(vh, nil)
	return s.Track(values, err)
}

// pinvGradient returns that of the pseudoinverse P of A, in A.
func (s *steps) pinvGradient(grad, p, a *tensor.Tensor) *tensor.Tensor {
	turned, ph := s.adjointOf(grad), s.adjointOf(p)
	made := s.Neg(s.Matmul(s.Matmul(ph, grad), ph))
	left := s.Matmul(s.Matmul(turned, p), ph)
	made = s.add(made, s.sub(left, s.Matmul(a, s.Matmul(p, left))))
	right := s.Matmul(ph, s.Matmul(p, turned))
	return s.add(made, s.sub(right, s.Matmul(s.Matmul(right, p), a)))
}

// lstsqGradientOfA and lstsqGradientOfB take the solution for the product of the pseudoinverse and B. Sums of squares that are left, which
// are smallest for the solution, depend on A and B alone.
func (s *steps) lstsqGradientOfA(hasX, hasRest bool, gradX, gradRest, a, b, x *tensor.Tensor) *tensor.Tensor {
	if x.Dim() < a.Dim() {
		gradX, b, x = s.asColumn(gradX), s.asColumn(b), s.asColumn(x)
	}
	var made *tensor.Tensor
	if hasX {
		made = s.pinvGradient(s.Matmul(gradX, s.adjointOf(b)), s.LinalgPinv(a), a)
	}
	if hasRest && gradRest.Numel() > 0 {
		made = s.addOptional(made, s.Matmul(s.restGradient(gradRest, a, b, x), s.adjointOf(x)))
	}
	return made
}

func (s *steps) lstsqGradientOfB(hasX, hasRest bool, gradX, gradRest, a, b, x *tensor.Tensor) *tensor.Tensor {
	vector := x.Dim() < a.Dim()
	if vector {
		gradX, b, x = s.asColumn(gradX), s.asColumn(b), s.asColumn(x)
	}
	var made *tensor.Tensor
	if hasX {
		made = s.Matmul(s.adjointOf(s.LinalgPinv(a)), gradX)
	}
	if hasRest && gradRest.Numel() > 0 {
		made = s.addOptional(made, s.Neg(s.restGradient(gradRest, a, b, x)))
	}
	if vector && made != nil {
		return s.SqueezeDim(made, -1)
	}
	return made
}

// restGradient returns that of the squares of A X - B, in A X.
func (s *steps) restGradient(grad, a, b, x *tensor.Tensor) *tensor.Tensor {
	return s.mul(s.sub(s.Matmul(a, x), b), s.mul(s.asRow(grad), s.int(2)))
}

// matrixExpGradient returns a block of the exponential of a matrix of twice the size (R. Mathias, A chain rule for matrix functions, 1996).
func (s *steps) matrixExpGradient(grad, self *tensor.Tensor) *tensor.Tensor {
	n, _ := shape.Matrix(self.Sizes())
	turned := s.adjointOf(self)
	blocks := s.Cat([]*tensor.Tensor{s.Cat([]*tensor.Tensor{turned, grad}, -1), s.Cat([]*tensor.Tensor{s.zerosLike(turned), turned}, -1)}, -2)
	made := s.LinalgMatrixExp(blocks)
	return s.narrowFrom(s.narrowBefore(made, -2, n), -1, n)
}

// lobpcgGradient returns that of some eigenvalues and eigenvectors, in whose directions the others have a part too. The matrix is
// Hermitian, and so is its gradient.
func (s *steps) lobpcgGradient(hasValues, hasVectors bool, gradValues, gradVectors, a, b, values, vectors *tensor.Tensor) *tensor.Tensor {
	if b != nil {
		s.Check(status.NotImplementedf("lobpcg: the derivative with B is not implemented; pass A = L^-1 A L^-H, with L the Cholesky factor of B"))
	}
	var made *tensor.Tensor
	if hasVectors {
		all, every, err := s.C.LinalgEigh(nil, nil, s.hermitianPart(a), "L")
		all, every = s.Track(all, err), s.Track(every, nil)
		inner := s.Matmul(s.adjointOf(every), gradVectors)
		apart := s.sub(s.asRow(values), s.asColumn(all))
		// A vector's own part, of which there is no change, is the one whose eigenvalue is nearest.
		nearest := s.Argmin(s.Abs(apart), -2, true)
		put := func(t *tensor.Tensor, v int64) *tensor.Tensor {
			return s.ScatterValue(t, -2, nearest, dtype.IntScalar(v))
		}
		made = s.Matmul(s.Matmul(every, s.div(put(inner, 0), put(apart, 1))), s.adjointOf(vectors))
	}
	if hasValues {
		made = s.addOptional(made, s.Matmul(s.mul(vectors, s.asRow(gradValues)), s.adjointOf(vectors)))
	}
	return s.hermitianPart(made)
}
