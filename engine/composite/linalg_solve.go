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
func LinalgSolve(c dispatch.Context, out, a, rhs *tensor.Tensor, left bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.solve")
	defer b.Close(&err)
	x, info := b.LinalgSolveExWith(a, rhs, left, false)
	checkInfo(b, info, ops.SingularSolve)
	r, err := writeResults(b, nil, []*tensor.Tensor{out}, x)
	return r[0], err
}

// LinalgInv returns the inverse of matrices that are not singular.
func LinalgInv(c dispatch.Context, out, a *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.inv")
	defer b.Close(&err)
	inverse, info := b.LinalgInvEx(a)
	checkInfo(b, info, ops.SingularInverse)
	r, err := writeResults(b, nil, []*tensor.Tensor{out}, inverse)
	return r[0], err
}

// solveTriangular returns the X of A X = B.
func solveTriangular(b *build.Builder, a, rhs *tensor.Tensor, upper, unit bool) *tensor.Tensor {
	return b.LinalgSolveTriangularWith(a, rhs, upper, true, unit)
}

// TriangularSolve returns the X of A X = self, or of A^T X = self, with a copy of A.
func TriangularSolve(c dispatch.Context, outSolution, outA, self, a *tensor.Tensor, upper, transpose,
	unitriangular bool) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "triangular_solve"
	if err := cmp.Or(ops.CheckSquare(op, "A", a), ops.CheckMatrices(op, "b", self)); err != nil {
		return nil, nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	batch, err := shape.Broadcast(op, shape.Batch(a.Sizes()), shape.Batch(self.Sizes()))
	if err != nil {
		return nil, nil, err
	}
	n, _ := shape.Matrix(a.Sizes())
	from := a
	if transpose {
		from = b.Transpose(a, -2, -1)
	}
	x := solveTriangular(b, from, self, upper != transpose, unitriangular)
	copied := b.Transpose(b.CloneWith(b.Transpose(b.Expand(a, shape.Append(batch, n, n)...), -2, -1), shape.Contiguous), -2, -1)
	r, err := writeResults(b, []string{"X", "M"}, []*tensor.Tensor{outSolution, outA}, x, copied)
	return r[0], r[1], err
}

// CholeskySolve returns the X of A X = self for the A whose Cholesky factor is given.
func CholeskySolve(c dispatch.Context, out, self, l *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	const op = "cholesky_solve"
	if err := cmp.Or(ops.CheckSquare(op, "L", l), ops.CheckMatrices(op, "B", self)); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	d := self.DType()
	l, self = castBothToCompute(b, l, self)
	first, second := l, conjTranspose(b, l)
	if upper {
		first, second = second, first
	}
	return finishCast(b, out, b.CastTo(solveTriangular(b, second, solveTriangular(b, first, self, false, false), true, false), d))
}

// CholeskyInverse returns the inverse of the A whose Cholesky factor is given.
func CholeskyInverse(c dispatch.Context, out, self *tensor.Tensor, upper bool) (_ *tensor.Tensor, err error) {
	const op = "cholesky_inverse"
	if err := ops.CheckSquare(op, "L", self); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	n, _ := shape.Matrix(self.Sizes())
	if n > 0 {
		checkInfo(b, findFirstZero(b, b.Diagonal(self, 0, -2, -1)), ops.SingularInverse)
	}
	wide := castToCompute(b, self)
	ones := makeIdentity(b, self.DType().Compute(), self.Device(), n)
	inverse := b.CholeskySolve(ones, wide, upper)
	return finishCast(b, out, b.CastTo(inverse, self.DType()))
}

// findFirstZero returns for each row the 1-based index of the first 0, as int32, or 0 without one.
func findFirstZero(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	zero := b.CastTo(b.LogicalNot(t), dtype.Int32)
	first := b.Argmax(zero, ops.Int(-1), false)
	found := b.Amax(zero, []int64{-1}, false)
	return b.CastTo(b.Mul(b.Add(first, found), found), dtype.Int32)
}

// LinalgLuSolve returns the X of A X = B, or of X A = B, for the A that was factored, or its adjoint.
func LinalgLuSolve(c dispatch.Context, out, lu, pivots, b *tensor.Tensor, left, adjoint bool) (*tensor.Tensor, error) {
	return solveFactored(c, "linalg.lu_solve", out, lu, pivots, b, left, adjoint)
}

// LuSolve is LinalgLuSolve with the right-hand sides first.
func LuSolve(c dispatch.Context, out, self, lu, pivots *tensor.Tensor) (*tensor.Tensor, error) {
	return solveFactored(c, "lu_solve", out, lu, pivots, self, true, false)
}

func solveFactored(c dispatch.Context, op string, out, lu, pivots, rhs *tensor.Tensor, left, adjoint bool) (_ *tensor.Tensor, err error) {
	if err := cmp.Or(ops.CheckSquare(op, "LU", lu), ops.CheckMatrices(op, "B", rhs), ops.CheckPivots(op, "pivots", lu,
		pivots)); err != nil {
		return nil, err
	}
	n, _ := shape.Matrix(lu.Sizes())
	rows, columns := shape.Matrix(rhs.Sizes())
	if left && rows != n || !left && columns != n {
		return nil, status.Runtimef("%s: incompatible shapes of LU and B for the equation %s (%v and %v)", op,
			map[bool]string{true: "AX = B", false: "XA = B"}[left], lu.Sizes(), rhs.Sizes())
	}
	if want := lu.Sizes()[:lu.Dim()-1]; pivots.Dim() != len(want) || !shape.ExpandsTo(pivots.Sizes(), want) || !shape.ExpandsTo(want,
		pivots.Sizes()) {
		return nil, status.Runtimef("%s: expected LU_pivots of shape %v for LU of shape %v, but got shape %v", op, want, lu.Sizes(),
			pivots.Sizes())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	order := pivotsToPermutation(b, pivots, n)
	d := rhs.DType()
	lu, rhs = castBothToCompute(b, lu, rhs)
	if !left {
		rhs, adjoint = conjTranspose(b, rhs), !adjoint
	}
	var x *tensor.Tensor
	if adjoint {
		transposed := conjTranspose(b, lu)
		x = solveTriangular(b, transposed, solveTriangular(b, transposed, rhs, false, false), true, true)
		x = permuteRows(b, x, b.Argsort(order, -1, false))
	} else {
		x = solveTriangular(b, lu, solveTriangular(b, lu, permuteRows(b, rhs, order), false, true), true, false)
	}
	if !left {
		x = b.CloneWith(conjTranspose(b, x), shape.Preserve)
	}
	r, err := writeResults(b, nil, []*tensor.Tensor{out}, b.CastTo(x, d))
	return r[0], err
}

// permuteRows returns matrices in column-major order with their rows in the given order.
func permuteRows(b *build.Builder, t, order *tensor.Tensor) *tensor.Tensor {
	rows, columns := shape.Matrix(t.Sizes())
	batch, err := shape.Broadcast(b.Op, shape.Batch(t.Sizes()), order.Sizes()[:order.Dim()-1])
	b.Check(err)
	transposed := b.Expand(b.Transpose(t, -2, -1), shape.Append(batch, columns, rows)...)
	index := b.Expand(b.Unsqueeze(order, -2), shape.Append(batch, columns, rows)...)
	return b.Transpose(b.Gather(transposed, -1, index), -2, -1)
}

// LinalgDet returns the determinant of matrices: the product of the diagonal of U, with the sign of the exchanges of rows.
func LinalgDet(c dispatch.Context, out, a *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.det")
	defer b.Close(&err)
	diagonal, parity := readPivots(b, a)
	product := b.Prod(diagonal, ops.Int(-1), false)
	return build.WriteResult(b, out, b.CastTo(b.Mul(product, parity), a.DType()))
}

// LinalgSlogdet returns the determinant of matrices as a number of size 1, or 0, and the logarithm of its size.
func LinalgSlogdet(c dispatch.Context, outSign, outLog, a *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.slogdet")
	defer b.Close(&err)
	diagonal, parity := readPivots(b, a)
	signs := b.Sgn(diagonal)
	sign := b.Mul(b.Prod(signs, ops.Int(-1), false), parity)
	log := b.Sum(b.Log(b.Abs(diagonal)), []int64{-1}, false)
	r, err := writeResults(b, []string{"sign", "logabsdet"}, []*tensor.Tensor{outSign, outLog}, b.CastTo(sign, a.DType()), b.CastTo(log,
		a.DType().ToReal()))
	return r[0], r[1], err
}

// readPivots returns the diagonal of U, and the sign of the row permutation, in the compute dtype.
func readPivots(b *build.Builder, a *tensor.Tensor) (diagonal, parity *tensor.Tensor) {
	b.Check(ops.CheckSquare(b.Op, "A", a))
	lu, pivots, _ := factorLU(b, castToCompute(b, a), true)
	n, _ := shape.Matrix(a.Sizes())
	indices := b.ArangeStartWith(dtype.IntScalar(1), dtype.IntScalar(n+1), dtype.Int32, tensor.NoLayout, a.Device())
	exchanges := b.Sum(b.Ne(pivots, indices), []int64{-1}, false)
	odd := b.Remainder(exchanges, b.Number(dtype.IntScalar(2)))
	parity = b.Sub(b.Number(dtype.IntScalar(1)), b.Mul(odd, b.Number(dtype.IntScalar(2))))
	return b.Diagonal(lu, 0, -2, -1), parity
}

// Logdet returns the logarithm of the determinant; NaN for a negative one.
func Logdet(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "logdet")
	defer b.Close(&err)
	sign, log := b.LinalgSlogdet(self)
	if self.DType().IsComplex() {
		return build.WriteResult(b, nil, b.Add(log, b.Log(sign)))
	}
	negative := b.Lt(sign, b.FloatNumber(0))
	return build.WriteResult(b, nil, b.Where(negative, b.FloatNumber(math.NaN()), log))
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
		return nil, status.Runtimef("%s: expected the product of the first %d sizes to be that of the others, got %d and %d of shape %v",
			op, ind, rows, columns, self.Sizes())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	matrix := b.AsShape(self, rows, columns)
	inverse := b.LinalgInv(matrix)
	return finishCast(b, out, b.AsShape(inverse, shape.Append(rest, first...)...))
}

// LinalgTensorsolve returns the X of tensordot(self, X) = other, over the last dimensions of self; dims of self are moved to the end first.
func LinalgTensorsolve(c dispatch.Context, out, self, other *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.tensorsolve"
	b := build.New(c, op)
	defer b.Close(&err)
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
		from = b.ReorderDims(self, order...)
	}
	rest := from.Sizes()[min(other.Dim(), from.Dim()):]
	rows, columns := other.Numel(), shape.Product(rest)
	if rows != columns || from.Numel() != rows*columns {
		return nil,
			status.Runtimef("%s: expected self to be a square matrix with %d rows, the number of elements of other, but got shapes %v and %v", op,
				rows, self.Sizes(), other.Sizes())
	}
	matrix, vector := b.AsShape(from, rows, columns), b.AsShape(other, rows)
	x := b.LinalgSolve(matrix, vector)
	return build.WriteResultCast(b, out, b.AsShape(x, rest...))
}
