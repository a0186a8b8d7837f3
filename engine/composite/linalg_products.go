package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// LinalgCross returns the cross product along dim.
func LinalgCross(c dispatch.Context, out, self, other *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	result, err := c.Cross(out, self, other, ops.Int(dim))
	return wrapError("linalg.cross", result, err)
}

// LinalgDiagonal views a diagonal.
func LinalgDiagonal(c dispatch.Context, a *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	result, err := c.Diagonal(a, offset, dim1, dim2)
	return wrapError("linalg.diagonal", result, err)
}

// LinalgMultiDot returns the product of matrices in the order that takes the fewest multiplications.
func LinalgMultiDot(c dispatch.Context, out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	const op = "linalg.multi_dot"
	if len(tensors) < 2 {
		return nil, status.Runtimef("%s: expected at least 2 tensors, got %d", op, len(tensors))
	}
	return multiplyChain(c, op, out, tensors, true)
}

// ChainMatmul is LinalgMultiDot for matrices alone.
func ChainMatmul(c dispatch.Context, out *tensor.Tensor, matrices []*tensor.Tensor) (*tensor.Tensor, error) {
	const op = "chain_matmul"
	if len(matrices) == 0 {
		return nil, status.Runtimef("%s: expected one or more matrices", op)
	}
	return multiplyChain(c, op, out, matrices, false)
}

func multiplyChain(c dispatch.Context, op string, out *tensor.Tensor, tensors []*tensor.Tensor,
	vectors bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	last := len(tensors) - 1
	factors := slices.Clone(tensors)
	for i, t := range tensors {
		switch {
		case t.DType() != tensors[0].DType():
			return nil, status.Runtimef("%s: expected all tensors to have the same dtype, but tensors 0 and %d have %v and %v", op, i,
				tensors[0].DType(), t.DType())
		case t.Dim() == 2:
		case vectors && t.Dim() == 1 && i == 0:
			factors[0] = b.Unsqueeze(t, 0)
		case vectors && t.Dim() == 1 && i == last:
			factors[last] = b.Unsqueeze(t, 1)
		default:
			return nil, status.Runtimef("%s: tensor %d must be 2D%s, got shape %v", op, i,
				map[bool]string{true: ", or 1D if it is the first or the last"}[vectors], t.Sizes())
		}
		if last > 1 {
			factors[i] = castToCompute(b, factors[i])
		}
	}
	for i, t := range factors[1:] {
		if before := factors[i].Sizes()[1]; before != t.Sizes()[0] {
			return nil, status.Runtimef("%s: tensors %d and %d with shapes %v and %v cannot be multiplied", op, i, i+1, factors[i].Sizes(),
				t.Sizes())
		}
	}
	split := findCheapestSplits(factors)
	var multiply func(i, j int) *tensor.Tensor
	multiply = func(i, j int) *tensor.Tensor {
		if i == j {
			return factors[i]
		}
		k := split[i][j]
		return b.Matmul(multiply(i, k), multiply(k+1, j))
	}
	product := multiply(0, last)
	if last == 0 {
		product = b.CloneWith(product, shape.Contiguous)
	}
	if tensors[last].Dim() == 1 {
		product = b.Select(product, 1, 0)
	}
	if tensors[0].Dim() == 1 {
		product = b.Select(product, 0, 0)
	}
	r, err := writeResults(b, nil, []*tensor.Tensor{out}, b.CastTo(product, tensors[0].DType()))
	return r[0], err
}

// findCheapestSplits returns, for each range of matrices, where to split it for the fewest multiplications (dynamic programming after S.
// Godbole, On efficient computation of matrix chain products, 1973).
func findCheapestSplits(matrices []*tensor.Tensor) [][]int {
	n := len(matrices)
	rows := func(i int) float64 { return float64(matrices[i].Sizes()[0]) }
	columns := func(i int) float64 { return float64(matrices[i].Sizes()[1]) }
	cost, split := make([][]float64, n), make([][]int, n)
	for i := range n {
		cost[i], split[i] = make([]float64, n), make([]int, n)
	}
	for length := 1; length < n; length++ {
		for i := range n - length {
			j := i + length
			cost[i][j] = math.Inf(1)
			for k := i; k < j; k++ {
				if total := cost[i][k] + cost[k+1][j] + rows(i)*columns(k)*columns(j); total < cost[i][j] {
					cost[i][j], split[i][j] = total, k
				}
			}
		}
	}
	return split
}

// LinalgMatrixPower returns the n-th power of matrices, by repeated squaring.
func LinalgMatrixPower(c dispatch.Context, out, self *tensor.Tensor, n int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.matrix_power"
	if self.Dim() < 2 || self.Sizes()[self.Dim()-1] != self.Sizes()[self.Dim()-2] {
		return nil, status.Runtimef("%s: A must be batches of square matrices, got shape %v", op, self.Sizes())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	square := castToCompute(b, self)
	if n < 0 {
		square = b.LinalgInv(square)
	}
	var power *tensor.Tensor
	left := uint64(n)
	if n < 0 {
		left = -left
	}
	switch left {
	case 0:
		size, _ := shape.Matrix(self.Sizes())
		power = b.CloneWith(self, shape.Contiguous)
		b.Copy(power, makeIdentity(b, self.DType(), self.Device(), size), false)
	case 1:
		power = square
		if n > 0 {
			power = b.CloneWith(self, shape.Preserve)
		}
	default:
		for ; left > 0; left >>= 1 {
			if left&1 != 0 {
				if power == nil {
					power = square
				} else {
					power = b.Matmul(power, square)
				}
			}
			if left > 1 {
				square = b.Matmul(square, square)
			}
		}
	}
	if n == 0 || n == 1 { // a copy, in PyTorch too
		return build.WriteResultCast(b, out, b.CastTo(power, self.DType()))
	}
	return build.WriteResult(b, out, b.CastTo(power, self.DType()))
}

// The coefficients of the Pade approximant of degree 13 relative to the first one, and the 1-norm up to which it has full precision
// (Higham, 2005).
var (
	pade = [...]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
		670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	padeReach = 5.371920351148152
)

// matricesAtOnce is the number of matrix elements per batch. It limits the size of the temporaries.
const matricesAtOnce = 1 << 17

// LinalgMatrixExp returns the exponential of matrices.
func LinalgMatrixExp(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "linalg.matrix_exp"
	if err := ops.CheckSquare(op, "A", self); err != nil {
		return nil, err
	}
	if sparse := self.Keys() & tensor.Sparse; sparse != 0 {
		return nil, dispatch.Unsupported(op, sparse) // a step has another meaning for them
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if self.Numel() == 0 {
		return build.WriteResult(b, nil, b.CloneWith(self, shape.Contiguous))
	}
	size, _ := shape.Matrix(self.Sizes())
	count := self.Numel() / (size * size)
	piece := max(matricesAtOnce/(size*size), 1)
	if count <= piece || !backend.Known(self) {
		return computeMatrixExp(c, self)
	}
	from := b.AsShape(self, count, size, size)
	result := b.EmptyBeside(self, self.DType(), count, size, size)
	for i := int64(0); i < count; i += piece {
		writeExponentials(b, result, from, i, min(piece, count-i))
	}
	return build.WriteResult(b, nil, b.AsShape(result, self.Sizes()...))
}

// writeExponentials writes the exponentials of count matrices, from index start on, to result.
func writeExponentials(b *build.Builder, result, from *tensor.Tensor, start, count int64) {
	piece := build.New(b.C, b.Op)
	defer piece.ReleaseAll()
	of := func(t *tensor.Tensor) *tensor.Tensor {
		return piece.Narrow(t, 0, start, count)
	}
	to, a := of(result), of(from)
	piece.Copy(to, piece.Track(computeMatrixExp(b.C, a)), false)
}

// computeMatrixExp is LinalgMatrixExp of matrices together.
func computeMatrixExp(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.matrix_exp")
	defer b.Close(&err)
	a := b.CastTo(self, matrixExpDType(self.DType()))
	size, _ := shape.Matrix(self.Sizes())
	halvings, most := countHalvings(b, a)
	a = b.Div(a, b.Unsqueeze(b.Unsqueeze(b.Exp2(halvings), -1), -1))
	ones := makeIdentity(b, a.DType(), a.Device(), size)
	two := b.Matmul(a, a)
	four := b.Matmul(two, two)
	six := b.Matmul(four, two)
	// Sums of even powers with every second coefficient, from the first one on.
	plus := func(sum, t *tensor.Tensor, k int) {
		b.CheckWritten(c.Add(sum, sum, t, dtype.FloatScalar(pade[k]/pade[0])))
	}
	even := func(k int) *tensor.Tensor {
		high := b.Mul(six, b.FloatNumber(pade[k+12]/pade[0]))
		plus(high, four, k+10)
		plus(high, two, k+8)
		sum := b.Matmul(six, high)
		b.Drop(high)
		for i, t := range []*tensor.Tensor{ones, two, four, six} {
			plus(sum, t, k+2*i)
		}
		return sum
	}
	v, odd := even(0), even(1)
	for _, t := range []*tensor.Tensor{two, four, six} {
		b.Drop(t)
	}
	u := b.Matmul(a, odd)
	b.Drop(odd)
	numerator, denominator := b.Add(v, u), b.Sub(v, u)
	b.Drop(v)
	b.Drop(u)
	x, _ := b.LinalgSolveEx(denominator, numerator)
	b.Drop(numerator)
	b.Drop(denominator)
	x = b.AsContiguous(x)
	for k := range most {
		again := b.Unsqueeze(b.Unsqueeze(b.Gt(halvings, b.Number(dtype.IntScalar(k))), -1), -1)
		square := b.Matmul(x, x)
		next := b.Where(again, square, x)
		b.Drop(square)
		b.Drop(x)
		x = next
	}
	return build.WriteResult(b, nil, b.CastTo(x, self.DType()))
}

// matrixExpDType returns the dtype that exponentials are computed in: squaring magnifies the errors of float32.
func matrixExpDType(d dtype.DType) dtype.DType {
	if d.IsComplex() {
		return dtype.Complex128
	}
	return dtype.Float64
}

// countHalvings returns how often each matrix is halved until the approximant converges, and the largest of these counts; nil if matrices
// are not finite.
func countHalvings(b *build.Builder, a *tensor.Tensor) (each *tensor.Tensor, most int64) {
	norms := b.Amax(computeVectorNorm(b, a, 1, []int64{-2}, false, dtype.None), []int64{-1}, false)
	each = b.Ceil(b.Log2(b.Div(norms, b.FloatNumber(padeReach))))
	each = b.NanToNum(each, new(float64), new(float64), new(float64))
	each = b.Clamp(each, dtype.IntScalar(0), dtype.Scalar{})
	v, known := b.ReadElement(b.Amax(each, nil, false))
	if !known {
		return each, 0
	}
	return each, int64(v.Float())
}
