package autograd

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Gradients of determinants. That of det A is grad times the adjugate of A, which singular matrices have too.

// scaledIdentity are multiples of the identity, one for each matrix of a.
func (s *steps) scaledIdentity(scale, a *tensor.Tensor) *tensor.Tensor {
	return s.onDiagonal(s.Expand(s.asColumn(scale), slices.Clone(a.Sizes()[:a.Dim()-1])...))
}

// detGradient returns the adjoint of the adjugate: that of a singular matrix is found for one nearby, whose zero pivots are not quite zero.
func (s *steps) detGradient(grad, a, det *tensor.Tensor) *tensor.Tensor {
	if s.record {
		return s.recordedDetGradient(grad, a, det)
	}
	grad = s.asColumn(s.asColumn(grad))
	return s.inPieces(a, a.DType(), s.matrixDims(a), func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return s.scaledAdjugates(part(grad), part(a))
	})
}

// matrixDims returns the dimensions of a that stay whole where matrices are taken one by one.
func (s *steps) matrixDims(a *tensor.Tensor) []bool {
	uncut := make([]bool, a.Dim())
	uncut[a.Dim()-2], uncut[a.Dim()-1] = true, true
	return uncut
}

// scaledAdjugates returns the adjoints of the adjugates of matrices, times scale, a matrix of one element for each.
func (s *steps) scaledAdjugates(scale, a *tensor.Tensor) *tensor.Tensor {
	n := a.Sizes()[a.Dim()-1]
	lu, pivots, info, err := s.C.LinalgLuFactorEx(nil, nil, nil, a, true, false)
	s.Track(pivots, nil)
	s.Track(info, nil)
	s.Track(lu, err)
	diagonal := s.diagonalOf(lu)
	zero := s.isZero(diagonal)
	_, err = s.C.Add(diagonal, diagonal, s.castTo(zero, a.DType()), dtype.FloatScalar(a.DType().Epsilon()))
	s.Check(err)
	// The determinant is unchanged for matrices without a zero pivot.
	product := s.Prod(diagonal, ops.Int(-1), false)
	places := s.ArangeStartWith(dtype.IntScalar(1), dtype.IntScalar(n+1), dtype.Int32, tensor.NoLayout, a.Device())
	odd := s.Remainder(s.Sum(s.Ne(pivots, places), []int64{-1}, false), s.int(2))
	det := s.mul(product, s.sub(s.int(1), s.mul(odd, s.int(2))))
	right := s.scaledIdentity(s.mul(s.selectAt(s.selectAt(scale, -1, 0), -1, 0), s.conj(det)), a)
	return s.LinalgLuSolveWith(lu, pivots, right, true, true)
}

// recordedDetGradient is detGradient by steps that can be differentiated.
func (s *steps) recordedDetGradient(grad, a, det *tensor.Tensor) *tensor.Tensor {
	if !backend.Known(a) || !s.readBool(s.Any(s.nearlySingular(a, det), nil, false)) {
		return s.solveAny(s.adjointOf(a), s.scaledIdentity(s.mul(grad, s.conj(det)), a), true)
	}
	if a.Dim() == 2 {
		return s.singularDetGradient(grad, a, det)
	}
	n := a.Sizes()[a.Dim()-1]
	flat := func(t *tensor.Tensor, sizes ...int64) *tensor.Tensor { return s.Reshape(t, sizes...) }
	grads, matrices, dets := flat(grad, -1), flat(a, -1, n, n), flat(det, -1)
	pieces := make([]*tensor.Tensor, dets.Numel())
	for i := range pieces {
		of := func(t *tensor.Tensor) *tensor.Tensor { return s.selectAt(t, 0, int64(i)) }
		pieces[i] = s.recordedDetGradient(of(grads), of(matrices), of(dets))
	}
	return flat(s.Stack(pieces, 0), a.Sizes()...)
}

// nearlySingular returns a mask of the matrices with a determinant so small, relative to the product of the row norms (Hadamard's bound),
// that the inverse has lost half of its digits.
func (s *steps) nearlySingular(a, det *tensor.Tensor) *tensor.Tensor {
	inner := &steps{Builder: build.Builder{C: s.C.Recorded(false)}}
	defer inner.Close()
	rows := inner.Track(s.C.LinalgVectorNorm(nil, inner.Track(a.Plain(), nil), dtype.IntScalar(2), []int64{-1}, false, dtype.None))
	limit := inner.mul(inner.Prod(rows, ops.Int(-1), false), inner.float(100*math.Sqrt(a.DType().Epsilon())))
	small := inner.Le(inner.Abs(inner.Track(det.Plain(), nil)), limit)
	return s.Track(inner.LogicalAnd(small, inner.Isfinite(limit)).Alias(), nil)
}

// singularDetGradient returns that of the determinant of one matrix A, in a form that depends on A smoothly though it be singular: with the
// vectors u and v of small singular values, as long as the largest one, [[A, u], [v^H, 0]] is not, and with the last block G of its inverse
// det A is its determinant times that of G.
func (s *steps) singularDetGradient(grad, a, det *tensor.Tensor) *tensor.Tensor {
	plain := &steps{Builder: build.Builder{C: s.C.Recorded(false)}}
	defer plain.Close()
	u, values, vh, err := plain.C.LinalgSvd(nil, nil, nil, plain.Track(a.Plain(), nil), true, "")
	plain.Track(u, nil)
	plain.Track(vh, nil)
	plain.Track(values, err)
	n := a.Sizes()[0]
	largest := plain.selectAt(values, 0, 0)
	least := plain.mul(largest, plain.float(math.Pow(a.DType().Epsilon(), 0.25)))
	count, err := backend.Item("backward", plain.Sum(plain.Le(values, least), nil, false))
	s.Check(err)
	k := count.I
	if k == 0 {
		return s.solveAny(s.adjointOf(a), s.scaledIdentity(s.mul(grad, s.conj(det)), a), true)
	}
	length := plain.Where(plain.isZero(largest), plain.int(1), largest)
	last := func(t *tensor.Tensor, dim int64) *tensor.Tensor {
		return plain.mul(plain.Narrow(t, dim, n-k, k), length)
	}
	zeros := s.fullOf(0, a.DType(), a.Device(), k, k)
	bordered := s.Cat([]*tensor.Tensor{s.Cat([]*tensor.Tensor{a, last(u, 1)}, 1), s.Cat([]*tensor.Tensor{last(vh, 0), zeros}, 1)}, 0)
	identity := s.EyeWith(n+k, a.DType(), tensor.NoLayout, a.Device())
	block := s.Narrow(s.solveAny(bordered, s.Narrow(identity, 1, n, k), true), 0, n, k)
	value := s.mul(s.LinalgDet(bordered), s.expandedDet(block, k))
	made, err := AutogradGrad(s.C, []*tensor.Tensor{value}, []*tensor.Tensor{a}, []*tensor.Tensor{grad}, ops.True, true, false, false)
	return s.TrackAll(made, err)[0]
}

// expandedDet returns the determinant of a small matrix as a polynomial of its elements (the method of Faddeev and LeVerrier).
func (s *steps) expandedDet(a *tensor.Tensor, n int64) *tensor.Tensor {
	power, coefficient := a, s.Neg(s.Trace(a))
	for i := int64(2); i <= n; i++ {
		power = s.Matmul(a, s.add(power, s.mul(coefficient, s.EyeWith(n, a.DType(), tensor.NoLayout, a.Device()))))
		coefficient = s.div(s.Trace(power), s.int(-i))
	}
	return chooseValue(n%2 == 0, coefficient, s.Neg(coefficient))
}

// readBool returns the value of one truth.
func (s *steps) readBool(t *tensor.Tensor) bool {
	v, err := backend.Item("backward", t)
	s.Check(err)
	return v.I != 0
}

// slogdetGradient returns that of log det A, whose imaginary part turns the sign.
func (s *steps) slogdetGradient(gradSign, gradLog, a, sign *tensor.Tensor) *tensor.Tensor {
	scale := gradLog
	if a.DType().IsComplex() {
		turn := s.Neg(s.Imag(s.mul(s.conj(gradSign), sign)))
		scale = s.ComplexParts(gradLog, turn)
	}
	if s.record {
		return s.solveAny(s.adjointOf(a), s.scaledIdentity(scale, a), true)
	}
	scale = s.asColumn(s.asColumn(scale))
	return s.inPieces(a, a.DType(), s.matrixDims(a), func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		inverse, info, err := s.C.LinalgInvEx(nil, nil, s.adjointOf(part(a)), false)
		s.Track(info, nil)
		return s.binary('*', s.Track(inverse, err), part(scale), left)
	})
}
