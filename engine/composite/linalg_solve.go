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

// LinalgSolve returns the X of A X = B, or of X A = B, for matrices A that are not singular.
func LinalgSolve(c dispatch.Context, out, a, b *tensor.Tensor, left bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.solve")
	defer s.Close(&err)
	x, info := s.LinalgSolveExWith(a, b, left, false)
	s.checkInfo(info, ops.SingularSolve)
	r, err := s.finished(nil, []*tensor.Tensor{out}, x)
	return r[0], err
}

// LinalgInv returns the inverse of matrices that are not singular.
func LinalgInv(c dispatch.Context, out, a *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.inv")
	defer s.Close(&err)
	inverse, info := s.LinalgInvEx(a)
	s.checkInfo(info, ops.SingularInverse)
	r, err := s.finished(nil, []*tensor.Tensor{out}, inverse)
	return r[0], err
}

// solveTriangular returns the X of A X = B.
func (s *scope) solveTriangular(a, b *tensor.Tensor, upper, unit bool) *tensor.Tensor {
	return s.LinalgSolveTriangularWith(a, b, upper, true, unit)
}

// TriangularSolve returns the X of A X = self, or of A^T X = self, with a copy of A.
func TriangularSolve(c dispatch.Context, outSolution, outA, self, a *tensor.Tensor, upper, transpose, unitriangular bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "triangular_solve"
	if err := cmp.Or(ops.CheckSquare(op, "A", a), ops.CheckMatrices(op, "b", self)); err != nil {
		return nil, nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	batch, err := shape.Broadcast(op, shape.Batch(a.Sizes()), shape.Batch(self.Sizes()))
	if err != nil {
		return nil, nil, err
	}
	n, _ := shape.Matrix(a.Sizes())
	from := a
	if transpose {
		from = s.turned(a)
	}
	x := s.solveTriangular(from, self, upper != transpose, unitriangular)
	copied := s.turned(s.copied(s.turned(s.Expand(a, shape.Append(batch, n, n)...))))
	r, err := s.finished([]string{"X", "M"}, []*tensor.Tensor{outSolution, outA}, x, copied)
	return r[0], r[1], err
}

// copied returns a copy in row-major order.
func (s *scope) copied(t *tensor.Tensor) *tensor.Tensor {
	return s.CloneWith(t, shape.Contiguous)
}

// CholeskySolve returns the X of A X = self for the A whose Cholesky factor is given.
func CholeskySolve(c dispatch.Context, out, self, l *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	const op = "cholesky_solve"
	if err := cmp.Or(ops.CheckSquare(op, "L", l), ops.CheckMatrices(op, "B", self)); err != nil {
		return nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	d := self.DType()
	l, self = s.bothWide(l, self)
	first, second := l, s.adjoint(l)
	if upper {
		first, second = second, first
	}
	return s.finishedCast(out, s.CastTo(s.solveTriangular(second, s.solveTriangular(first, self, false, false), true, false), d))
}

// CholeskyInverse returns the inverse of the A whose Cholesky factor is given.
func CholeskyInverse(c dispatch.Context, out, self *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	const op = "cholesky_inverse"
	if err := ops.CheckSquare(op, "L", self); err != nil {
		return nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	n, _ := shape.Matrix(self.Sizes())
	if n > 0 {
		s.checkInfo(s.firstZero(s.diagonalOf(self)), ops.SingularInverse)
	}
	wide := s.wideEnough(self)
	ones := s.identity(self.DType().Compute(), self.Device(), n)
	inverse := s.CholeskySolve(ones, wide, upper)
	return s.finishedCast(out, s.CastTo(inverse, self.DType()))
}

// firstZero returns for each row the 1-based index of the first 0, as int32, or 0 without one.
func (s *scope) firstZero(t *tensor.Tensor) *tensor.Tensor {
	zero := s.CastTo(s.LogicalNot(t), dtype.Int32)
	first := s.Argmax(zero, ops.Int(-1), false)
	found := s.Amax(zero, []int64{-1}, false)
	return s.CastTo(s.Mul(s.Add(first, found), found), dtype.Int32)
}

// LinalgLuSolve returns the X of A X = B, or of X A = B, for the A that was factored, or its adjoint.
func LinalgLuSolve(c dispatch.Context, out, lu, pivots, b *tensor.Tensor, left, adjoint bool) (*tensor.Tensor, error) {
	return solveFactored(c, "linalg.lu_solve", out, lu, pivots, b, left, adjoint)
}

// LuSolve is LinalgLuSolve with the right-hand sides first.
func LuSolve(c dispatch.Context, out, self, lu, pivots *tensor.Tensor) (*tensor.Tensor, error) {
	return solveFactored(c, "lu_solve", out, lu, pivots, self, true, false)
}

func solveFactored(c dispatch.Context, op string, out, lu, pivots, b *tensor.Tensor, left, adjoint bool) (_ *tensor.Tensor, err error) {
	if err := cmp.Or(ops.CheckSquare(op, "LU", lu), ops.CheckMatrices(op, "B", b), ops.CheckPivots(op, "pivots", lu, pivots)); err != nil {
		return nil, err
	}
	n, _ := shape.Matrix(lu.Sizes())
	rows, columns := shape.Matrix(b.Sizes())
	if left && rows != n || !left && columns != n {
		return nil, status.Runtimef("%s: incompatible shapes of LU and B for the equation %s (%v and %v)", op, map[bool]string{true: "AX = B", false: "XA = B"}[left], lu.Sizes(), b.Sizes())
	}
	if want := lu.Sizes()[:lu.Dim()-1]; pivots.Dim() != len(want) || !shape.ExpandsTo(pivots.Sizes(), want) || !shape.ExpandsTo(want, pivots.Sizes()) {
		return nil, status.Runtimef("%s: expected LU_pivots of shape %v for LU of shape %v, but got shape %v", op, want, lu.Sizes(), pivots.Sizes())
	}
	s := newScope(c, op)
	defer s.Close(&err)
	order := s.permutation(pivots, n)
	d := b.DType()
	lu, b = s.bothWide(lu, b)
	if !left {
		b, adjoint = s.adjoint(b), !adjoint
	}
	var x *tensor.Tensor
	if adjoint {
		turned := s.adjoint(lu)
		x = s.solveTriangular(turned, s.solveTriangular(turned, b, false, false), true, true)
		x = s.inOrder(x, s.Argsort(order, -1, false))
	} else {
		x = s.solveTriangular(lu, s.solveTriangular(lu, s.inOrder(b, order), false, true), true, false)
	}
	if !left {
		x = s.resolved(s.adjoint(x))
	}
	r, err := s.finished(nil, []*tensor.Tensor{out}, s.CastTo(x, d))
	return r[0], err
}

// inOrder has the rows of matrices in another order, in column-major order.
func (s *scope) inOrder(t, order *tensor.Tensor) *tensor.Tensor {
	rows, columns := shape.Matrix(t.Sizes())
	batch, err := shape.Broadcast(s.Op, shape.Batch(t.Sizes()), order.Sizes()[:order.Dim()-1])
	if s.Check(err); err != nil {
		return nil
	}
	turned := s.Expand(s.turned(t), shape.Append(batch, columns, rows)...)
	index := s.Expand(s.Unsqueeze(order, -2), shape.Append(batch, columns, rows)...)
	return s.turned(s.Gather(turned, -1, index))
}

// LinalgDet returns the determinant of matrices: the product of the diagonal of U, with the sign of the exchanges of rows.
func LinalgDet(c dispatch.Context, out, a *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.det")
	defer s.Close(&err)
	diagonal, parity := s.pivotsOf(a)
	product := s.Prod(diagonal, ops.Int(-1), false)
	return build.WriteResult(s.Builder, out, s.CastTo(s.Mul(product, parity), a.DType()))
}

// LinalgSlogdet returns the determinant of matrices as a number of size 1, or 0, and the logarithm of its size.
func LinalgSlogdet(c dispatch.Context, outSign, outLog, a *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.slogdet")
	defer s.Close(&err)
	diagonal, parity := s.pivotsOf(a)
	signs := s.Sgn(diagonal)
	sign := s.Mul(s.Prod(signs, ops.Int(-1), false), parity)
	log := s.Sum(s.Log(s.Abs(diagonal)), []int64{-1}, false)
	r, err := s.finished([]string{"sign", "logabsdet"}, []*tensor.Tensor{outSign, outLog}, s.CastTo(sign, a.DType()), s.CastTo(log, a.DType().ToReal()))
	return r[0], r[1], err
}

// pivotsOf returns the diagonal of U, and 1 or -1 for an even or odd number of exchanges of rows, in the dtype of computing.
func (s *scope) pivotsOf(a *tensor.Tensor) (diagonal, parity *tensor.Tensor) {
	s.Check(ops.CheckSquare(s.Op, "A", a))
	lu, pivots, _ := s.factors(s.wideEnough(a), true)
	n, _ := shape.Matrix(a.Sizes())
	places := s.ArangeStartWith(dtype.IntScalar(1), dtype.IntScalar(n+1), dtype.Int32, tensor.NoLayout, a.Device())
	exchanges := s.Sum(s.Ne(pivots, places), []int64{-1}, false)
	odd := s.Remainder(exchanges, s.Number(dtype.IntScalar(2)))
	parity = s.Sub(s.Number(dtype.IntScalar(1)), s.Mul(odd, s.Number(dtype.IntScalar(2))))
	return s.diagonalOf(lu), parity
}

// Logdet returns the logarithm of the determinant; NaN for a negative one.
func Logdet(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "logdet")
	defer s.Close(&err)
	sign, log := s.LinalgSlogdet(self)
	if self.DType().IsComplex() {
		return build.WriteResult(s.Builder, nil, s.Add(log, s.Log(sign)))
	}
	negative := s.Lt(sign, s.FloatNumber(0))
	return build.WriteResult(s.Builder, nil, s.Where(negative, s.FloatNumber(math.NaN()), log))
}

// LinalgTensorinv returns the inverse of a tensor that counts as a matrix of its first ind dimensions by the others.
func LinalgTensorinv(c dispatch.Context, out, self *tensor.Tensor, ind int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.tensorinv"
	if ind <= 0 {
		return nil, status.Runtimef("%s: expected ind to be a positive integer, got %d", op, ind)
	}
	first, rest := self.Sizes()[:min(ind, int64(self.Dim()))], self.Sizes()[min(ind, int64(self.Dim())):]
	rows, columns := shape.Product(first), shape.Product(rest)
	if rows != columns {
		return nil, status.Runtimef("%s: expected the product of the first %d sizes to be that of the others, got %d and %d of shape %v", op, ind, rows, columns, self.Sizes())
	}
	s := newScope(c, op)
	defer s.Close(&err)
	matrix := s.AsShape(self, rows, columns)
	inverse := s.LinalgInv(matrix)
	return s.finishedCast(out, s.AsShape(inverse, shape.Append(rest, first...)...))
}

// LinalgTensorsolve returns the X of tensordot(self, X) = other, over the last dimensions of self; dims of self are moved to the end first.
func LinalgTensorsolve(c dispatch.Context, out, self, other *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.tensorsolve"
	s := newScope(c, op)
	defer s.Close(&err)
	from := self
	if dims != nil {
		mask, err := shape.WrapDims(op, dims, self.Dim(), false)
		if err != nil {
			return nil, err
		}
		var order []int64
		for d, moved := range mask {
			if !moved {
				order = append(order, int64(d))
			}
		}
		for _, d := range dims {
			at, _ := shape.WrapDim(op, d, self.Dim())
			order = append(order, int64(at))
		}
		from = s.ReorderDims(self, order...)
	}
	rest := from.Sizes()[min(other.Dim(), from.Dim()):]
	rows, columns := other.Numel(), shape.Product(rest)
	if rows != columns || from.Numel() != rows*columns {
		return nil, status.Runtimef("%s: expected self to be a square matrix with %d rows, the number of elements of other, but got shapes %v and %v", op, rows, self.Sizes(), other.Sizes())
	}
	matrix, vector := s.AsShape(from, rows, columns), s.AsShape(other, rows)
	x := s.LinalgSolve(matrix, vector)
	return build.WriteResultCast(s.Builder, out, s.AsShape(x, rest...))
}
