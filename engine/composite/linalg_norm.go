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
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// computeVectorNorm returns the norm of order p over dims, or of all elements where these are nil.
func computeVectorNorm(b *build.Builder, t *tensor.Tensor, p float64, dims []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	return b.LinalgVectorNormWith(t, dtype.FloatScalar(p), dims, keepdim, d)
}

// order is the norm of matrices: a number, or fro or nuc.
type order struct {
	p    float64
	name string
}

// checkName returns an error for unknown names of matrix norms.
func (o order) checkName(op string) error {
	return ops.CheckWord(op, "the order", o.name, "", "fro", "nuc")
}

// computeMatrixNorm returns the norm of the matrices in two dimensions.
func computeMatrixNorm(b *build.Builder, self *tensor.Tensor, by order, dims []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	b.Check(cmp.Or(ops.CheckNormed(b.Op, self, d), by.checkName(b.Op)))
	if self.Dim() < 2 {
		b.Check(status.Runtimef("%s: the input tensor A must have at least 2 dimensions, got shape %v", b.Op, self.Sizes()))
		return nil
	}
	if len(dims) != 2 {
		b.Check(status.Runtimef("%s: dim must be two dimensions, got %v", b.Op, dims))
		return nil
	}
	var at [2]int64
	for i, dim := range dims {
		wrapped, err := shape.WrapDim(b.Op, dim, self.Dim())
		b.Check(err)
		at[i] = int64(wrapped)
	}
	if at[0] == at[1] {
		b.Check(status.Runtimef("%s: dims must be different, got %v", b.Op, dims))
		return nil
	}
	size := math.Abs(by.p)
	switch {
	case by.name == "fro":
		return computeVectorNorm(b, self, 2, at[:], keepdim, d)
	case by.name == "" && (size == 1 || math.IsInf(size, 1)):
		summed, other := at[0], at[1]
		if size != 1 {
			summed, other = other, summed
		}
		sums := computeVectorNorm(b, self, 1, []int64{summed}, keepdim, d)
		if !keepdim && other > summed {
			other--
		}
		return reduceExtreme(b, sums, by.p > 0, keepdim, other)
	case by.name == "nuc" || size == 2:
		if d != dtype.None {
			self = b.CastTo(self, d)
		}
		return computeSpectralNorm(b, self, by, at, keepdim)
	}
	b.Check(status.Runtimef("%s: order %g is not supported; use 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'", b.Op, by.p))
	return nil
}

// reduceExtreme returns the largest or the smallest element along dim; of none the largest is 0, as norms are not negative.
func reduceExtreme(b *build.Builder, t *tensor.Tensor, largest, keepdim bool, dim int64) *tensor.Tensor {
	if n, _ := shape.WrapIndex(dim, int64(t.Dim())); largest && t.Sizes()[n] == 0 {
		return b.Sum(t, []int64{dim}, keepdim)
	}
	if largest {
		return b.Amax(t, []int64{dim}, keepdim)
	}
	return b.Amin(t, []int64{dim}, keepdim)
}

// computeSpectralNorm returns a norm of the singular values of the matrices in two dimensions.
func computeSpectralNorm(b *build.Builder, self *tensor.Tensor, by order, at [2]int64, keepdim bool) *tensor.Tensor {
	var dims []int64
	for d := range int64(self.Dim()) {
		if d != at[0] && d != at[1] {
			dims = append(dims, d)
		}
	}
	matrices := castToCompute(b, b.ReorderDims(self, append(dims, at[0], at[1])...))
	values := b.LinalgSvdvals(matrices)
	var norm *tensor.Tensor
	if by.name == "nuc" {
		norm = b.Sum(values, []int64{-1}, false)
	} else {
		norm = reduceExtreme(b, values, by.p > 0, false, -1)
	}
	if keepdim {
		for _, d := range []int64{min(at[0], at[1]), max(at[0], at[1])} {
			norm = b.Unsqueeze(norm, d)
		}
	}
	return b.CastTo(norm, self.DType().ToReal())
}

// LinalgMatrixNorm returns the norm of order ord of the matrices in two dimensions.
func LinalgMatrixNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.matrix_norm")
	defer b.Close(&err)
	if err := ops.RealOrder(b.Op, ord); err != nil {
		return nil, err
	}
	return build.WriteResult(b, out, computeMatrixNorm(b, self, order{p: ord.Float()}, dim, keepdim, d))
}

// LinalgMatrixNormStrOrd is LinalgMatrixNorm for norms with names.
func LinalgMatrixNormStrOrd(c dispatch.Context, out, self *tensor.Tensor, ord string, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.matrix_norm")
	defer b.Close(&err)
	return build.WriteResult(b, out, computeMatrixNorm(b, self, order{name: ord}, dim, keepdim, d))
}

// LinalgNorm computes a norm of vectors or matrices, by the number of dimensions.
func LinalgNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	const op = "linalg.norm"
	b := build.New(c, op)
	defer b.Close(&err)
	if dim != nil && len(dim) != 1 && len(dim) != 2 {
		return nil, status.Runtimef("%s: dim must be one or two dimensions, got %v", op, dim)
	}
	if ord.IsNone() {
		return build.WriteResult(b, out, computeVectorNorm(b, self, 2, dim, keepdim, d))
	}
	if err := ops.RealOrder(op, ord); err != nil {
		return nil, err
	}
	count := len(dim)
	if dim == nil {
		count = self.Dim()
	}
	switch {
	case count > 2, dim == nil && count == 0:
		return nil, status.Runtimef("%s: without dim, ord is for tensors of one or two dimensions, but the shape is %v", op, self.Sizes())
	case count == 2:
		return build.WriteResult(b, out, computeMatrixNorm(b, self, order{p: ord.Float()}, matrixDims(dim), keepdim, d))
	}
	return build.WriteResult(b, out, computeVectorNorm(b, self, ord.Float(), dim, keepdim, d))
}

// matrixDims are dimensions, or those of a tensor of two.
func matrixDims(dim []int64) []int64 {
	if dim == nil {
		return []int64{0, 1}
	}
	return dim
}

// LinalgNormOrdStr is LinalgNorm for norms with names, which are of matrices.
func LinalgNormOrdStr(c dispatch.Context, out, self *tensor.Tensor, ord string, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	const op = "linalg.norm"
	if dim == nil && self.Dim() != 2 {
		return nil, status.Runtimef("%s: the norm %q without dim is for tensors of two dimensions, got shape %v", op, ord, self.Sizes())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	return build.WriteResult(b, out, computeMatrixNorm(b, self, order{name: ord}, matrixDims(dim), keepdim, d))
}

// NormName returns the norm that a name means: "fro" is the 2-norm over any dimensions, "nuc" the sum of the singular values of matrices.
func NormName(c dispatch.Context, out, self *tensor.Tensor, p string, dim []int64, keepdim bool,
	d dtype.DType) (_ *tensor.Tensor, err error) {
	if p == "fro" {
		return c.Norm(out, self, dtype.IntScalar(2), dim, keepdim, d)
	}
	if len(dim) == 0 && self.Dim() == 2 {
		dim = []int64{0, 1}
	}
	b := build.New(c, "norm")
	defer b.Close(&err)
	b.Check(ops.CheckWord(b.Op, "p", p, "fro", "nuc"))
	result := computeMatrixNorm(b, self, order{name: p}, dim, keepdim, d)
	b.Check(tensoriter.SameDType(b.Op, out, result.DType()))
	return build.WriteResult(b, out, result)
}

// FrobeniusNorm returns the root of the sum of squares over up to two dimensions, or of all elements.
func FrobeniusNorm(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	const op = "frobenius_norm"
	if len(dim) > 2 {
		return nil, status.Runtimef("%s: expected at most 2 dimensions, got %v", op, dim)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if len(dim) == 0 {
		dim = nil
	}
	return build.WriteResult(b, out, computeVectorNorm(b, self, 2, dim, keepdim, dtype.None))
}

// NuclearNorm returns the sum of the singular values of the matrices in two dimensions.
func NuclearNorm(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nuclear_norm")
	defer b.Close(&err)
	return build.WriteResult(b, out, computeMatrixNorm(b, self, order{name: "nuc"}, dim, keepdim, dtype.None))
}

// LinalgCond returns the condition number of matrices.
func LinalgCond(c dispatch.Context, out, self *tensor.Tensor, p dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "linalg.cond"
	by := order{p: 2}
	if !p.IsNone() {
		if err := ops.RealOrder(op, p); err != nil {
			return nil, err
		}
		by.p = p.Float()
	}
	if math.Abs(by.p) != 2 {
		return computeCond(c, out, self, by)
	}
	if err := ops.CheckMatrices(op, "A", self); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if self.Numel() == 0 {
		return finishCast(b, out, b.ZerosBeside(self, self.DType().ToReal(), shape.Batch(self.Sizes())...))
	}
	wide := castToCompute(b, self)
	values := b.LinalgSvdvals(wide)
	first, last := b.Select(values, -1, 0), b.Select(values, -1, -1)
	if by.p < 0 {
		first, last = last, first
	}
	return finishCast(b, out, b.CastTo(b.Div(first, last), self.DType().ToReal()))
}

// LinalgCondPStr is LinalgCond for norms with names.
func LinalgCondPStr(c dispatch.Context, out, self *tensor.Tensor, p string) (*tensor.Tensor, error) {
	return computeCond(c, out, self, order{name: p})
}

// computeCond returns the product of the norms of matrices and their inverses.
func computeCond(c dispatch.Context, out, self *tensor.Tensor, by order) (_ *tensor.Tensor, err error) {
	const op = "linalg.cond"
	if err := cmp.Or(ops.CheckMatrices(op, "A", self), by.checkName(op)); err != nil {
		return nil, err
	}
	if self.Numel() > 0 || by.name != "" {
		if err := ops.CheckSquare(op, "A", self); err != nil {
			return nil, err
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if self.Numel() == 0 {
		return finishCast(b, out, b.ZerosBeside(self, self.DType().ToReal(), shape.Batch(self.Sizes())...))
	}
	wide := castToCompute(b, self)
	inverse, info := b.LinalgInvEx(wide)
	singular := b.Gt(info, b.Number(dtype.IntScalar(0)))
	filled := func(t, where *tensor.Tensor, value float64) *tensor.Tensor {
		v := b.FloatNumber(value)
		return b.MaskedFill(t, where, v)
	}
	inverse = filled(inverse, b.Unsqueeze(b.Unsqueeze(singular, -1), -1), 0) // an inverse of a singular matrix has no norm
	dims := []int64{-2, -1}
	product := b.Mul(computeMatrixNorm(b, wide, by, dims, false, dtype.None), computeMatrixNorm(b, inverse, by, dims, false, dtype.None))
	return finishCast(b, out, b.CastTo(filled(product, singular, math.Inf(1)), self.DType().ToReal()))
}

// tolerance is the threshold for singular values.
type tolerance struct{ atol, rtol *tensor.Tensor }

// scalarTolerances returns tolerances given as scalars, of which either may be missing.
func scalarTolerances(b *build.Builder, self *tensor.Tensor, atol, rtol *float64) tolerance {
	a, r := 0.0, 0.0
	if atol != nil {
		a = *atol
	}
	switch {
	case rtol != nil:
		r = *rtol
	case !(a > 0):
		r = defaultRtol(b, self)
	}
	return tolerance{b.Unsqueeze(makeFloat64Scalar(b, a, self), -1), b.Unsqueeze(makeFloat64Scalar(b, r, self), -1)}
}

// makeFloat64Scalar returns a 0-dim float64 tensor on the device of like: values of any dtype are compared with it in float64.
func makeFloat64Scalar(b *build.Builder, v float64, like *tensor.Tensor) *tensor.Tensor {
	return b.FullWith([]int64{}, dtype.FloatScalar(v), dtype.Float64, tensor.NoLayout, like.Device())
}

// defaultRtol returns the default of the relative tolerance.
func defaultRtol(b *build.Builder, self *tensor.Tensor) float64 {
	m, n := shape.Matrix(self.Sizes())
	return self.DType().Epsilon() * float64(max(m, n))
}

// tensorTolerances returns tolerances given as tensors, of which either may be nil.
func tensorTolerances(b *build.Builder, self, atol, rtol *tensor.Tensor) tolerance {
	for i, t := range []*tensor.Tensor{atol, rtol} {
		if t != nil && t.DType().IsComplex() {
			b.Check(status.Runtimef("%s: %s must be real, got %v", b.Op, []string{"atol", "rtol"}[i], t.DType()))
		}
	}
	t := tolerance{atol, rtol}
	if atol == nil {
		t.atol = makeFloat64Scalar(b, 0, self)
	}
	if rtol == nil {
		t.rtol = makeFloat64Scalar(b, defaultRtol(b, self), self)
		if atol != nil {
			t.rtol = b.Where(b.Gt(atol, b.FloatNumber(0)), b.FloatNumber(0), t.rtol)
		}
	}
	t.atol, t.rtol = b.Unsqueeze(t.atol, -1), b.Unsqueeze(t.rtol, -1)
	return t
}

// maskSignificant returns a mask of the values that are not treated as zero, relative to the largest along the last dimension.
func maskSignificant(b *build.Builder, values *tensor.Tensor, t tolerance) *tensor.Tensor {
	if values.Sizes()[values.Dim()-1] == 0 {
		return b.Gt(values, b.FloatNumber(0))
	}
	limit := b.Maximum(t.atol, b.Mul(t.rtol, b.Amax(values, []int64{-1}, true)))
	return b.Gt(values, limit)
}

// computeSingularValues returns the singular values, or the absolute values of the eigenvalues of Hermitian matrices.
func computeSingularValues(b *build.Builder, self *tensor.Tensor, hermitian bool) *tensor.Tensor {
	if hermitian {
		return b.Abs(b.LinalgEigvalsh(self, "L"))
	}
	return b.LinalgSvdvals(self)
}

func computeRank(c dispatch.Context, out, self *tensor.Tensor, hermitian bool,
	limits func(b *build.Builder) tolerance) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.matrix_rank")
	defer b.Close(&err)
	b.Check(ops.CheckMatrices(b.Op, "A", self))
	t := limits(b)
	return finishCast(b, out, b.Sum(maskSignificant(b, computeSingularValues(b, self, hermitian), t), []int64{-1}, false))
}

// LinalgMatrixRank returns the number of singular values that are not negligible.
func LinalgMatrixRank(c dispatch.Context, out, self *tensor.Tensor, atol, rtol *float64, hermitian bool) (*tensor.Tensor, error) {
	return computeRank(c, out, self, hermitian, func(b *build.Builder) tolerance { return scalarTolerances(b, self, atol, rtol) })
}

// LinalgMatrixRankAtolRtolTensor is LinalgMatrixRank with tensors.
func LinalgMatrixRankAtolRtolTensor(c dispatch.Context, out, self, atol, rtol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return computeRank(c, out, self, hermitian, func(b *build.Builder) tolerance { return tensorTolerances(b, self, atol, rtol) })
}

// LinalgMatrixRankTol is LinalgMatrixRank with an absolute tolerance alone.
func LinalgMatrixRankTol(c dispatch.Context, out, self *tensor.Tensor, tol float64, hermitian bool) (*tensor.Tensor, error) {
	return computeRank(c, out, self, hermitian, func(b *build.Builder) tolerance { return scalarTolerances(b, self, &tol, new(float64)) })
}

// LinalgMatrixRankTolTensor is LinalgMatrixRankTol with a tensor.
func LinalgMatrixRankTolTensor(c dispatch.Context, out, self, tol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return computeRank(c, out, self, hermitian, func(b *build.Builder) tolerance {
		t := tensorTolerances(b, self, tol, nil)
		t.rtol = b.FloatNumber(0)
		return t
	})
}

func computePinv(c dispatch.Context, out, self *tensor.Tensor, hermitian bool,
	limits func(b *build.Builder) tolerance) (_ *tensor.Tensor, err error) {
	b := build.New(c, "linalg.pinv")
	defer b.Close(&err)
	b.Check(ops.CheckMatrices(b.Op, "A", self))
	if hermitian {
		b.Check(ops.CheckSquare(b.Op, "A", self))
	}
	t := limits(b)
	if m, n := shape.Matrix(self.Sizes()); self.Numel() == 0 {
		return finishCast(b, out, b.EmptyBeside(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), n, m)...))
	}
	wide := castToCompute(b, self)
	var left, right, values, sizes *tensor.Tensor
	if hermitian {
		values, left = b.LinalgEigh(wide, "L")
		right, sizes = conjTranspose(b, left), b.Abs(values)
	} else {
		left, values, right = b.LinalgSvd(wide, false)
		left, right, sizes = conjTranspose(b, right), conjTranspose(b, left), values
	}
	inverse := b.Where(maskSignificant(b, sizes, t), b.Reciprocal(values), b.FloatNumber(0))
	return finishCast(b, out, b.CastTo(b.Matmul(scaleColumns(b, left, inverse), right), self.DType()))
}

// LinalgPinv returns the pseudoinverse of matrices.
func LinalgPinv(c dispatch.Context, out, self *tensor.Tensor, atol, rtol *float64, hermitian bool) (*tensor.Tensor, error) {
	return computePinv(c, out, self, hermitian, func(b *build.Builder) tolerance { return scalarTolerances(b, self, atol, rtol) })
}

// LinalgPinvAtolRtolTensor is LinalgPinv with tensors.
func LinalgPinvAtolRtolTensor(c dispatch.Context, out, self, atol, rtol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return computePinv(c, out, self, hermitian, func(b *build.Builder) tolerance { return tensorTolerances(b, self, atol, rtol) })
}

// LinalgPinvRcond is LinalgPinv with a relative tolerance alone.
func LinalgPinvRcond(c dispatch.Context, out, self *tensor.Tensor, rcond float64, hermitian bool) (*tensor.Tensor, error) {
	return computePinv(c, out, self, hermitian, func(b *build.Builder) tolerance { return scalarTolerances(b, self, nil, &rcond) })
}

// LinalgPinvRcondTensor is LinalgPinvRcond with a tensor.
func LinalgPinvRcondTensor(c dispatch.Context, out, self, rcond *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return computePinv(c, out, self, hermitian, func(b *build.Builder) tolerance { return tensorTolerances(b, self, nil, rcond) })
}

// Pinverse is LinalgPinvRcond.
func Pinverse(c dispatch.Context, self *tensor.Tensor, rcond float64) (*tensor.Tensor, error) {
	result, err := c.LinalgPinvRcond(nil, self, rcond, false)
	return wrapError("pinverse", result, err)
}

// LinalgVander has the powers of the elements of vectors in rows.
func LinalgVander(c dispatch.Context, x *tensor.Tensor, n ops.Int) (_ *tensor.Tensor, err error) {
	const op = "linalg.vander"
	if x.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if x.Dim() == 0 {
		x = b.AsShape(x, 1)
	}
	columns := n.Or(x.Sizes()[x.Dim()-1])
	if columns < 1 && !n.IsNone() {
		return nil, status.Runtimef("%s: N must be greater than 0, got %d", op, columns)
	}
	d := x.DType().Summed()
	sizes := x.Sizes()
	if columns == 0 {
		return build.WriteResult(b, nil, b.ZerosBeside(x, d, shape.Append(sizes, 0)...))
	}
	first := b.OnesBeside(x, d, shape.Append(sizes, 1)...)
	factors := b.Expand(b.Unsqueeze(b.CastTo(x, d), -1), shape.Append(sizes, columns-1)...)
	all := b.Cat([]*tensor.Tensor{first, factors}, int64(x.Dim()))
	return build.WriteResult(b, nil, b.Cumprod(all, -1))
}

// isElementwiseProductFaster reports whether sums of products in dtype d, over `all` elements in sums of `length`, take less time as an
// elementwise product in memory order and a sum than as separate dot products: for short sums, or non-adjacent elements. 16-bit floats are
// rounded once, in matrix products, which do not support bool.
func isElementwiseProductFaster(d dtype.DType, all, length int64, adjacent bool) bool {
	return d.Compute() == d && d != dtype.Bool && all > length && (length < 64 || !adjacent)
}

// LinalgVecdot returns the sum of the products of x conjugated and y along dim.
func LinalgVecdot(c dispatch.Context, out, x, y *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.vecdot"
	if d := x.DType(); !d.IsFloatingPoint() && !d.IsComplex() {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; convert to floats", op, d)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	sizes, err := shape.Broadcast(op, x.Sizes(), y.Sizes())
	if err != nil {
		return nil, err
	}
	at, err := shape.WrapDim(op, dim, len(sizes))
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, status.Runtimef("%s: one of the arguments needs to be at least 1D, but both are 0D", op)
	}
	left, right := b.Expand(x, sizes...), b.Expand(y, sizes...)
	if x.DType().IsComplex() {
		left = b.Conj(left)
	}
	all, adjacent := left.Numel(), left.Strides()[at] == 1 && right.Strides()[at] == 1
	if d := left.DType(); d == right.DType() && max(x.Numel(), y.Numel()) == all && isElementwiseProductFaster(d, all, sizes[at],
		adjacent) {
		products := b.Mul(left, right)
		return build.WriteResult(b, out, b.SumWith(products, []int64{int64(at)}, false, d))
	}
	move := func(t *tensor.Tensor) *tensor.Tensor {
		return b.Movedim(t, int64(at), -1)
	}
	product := b.Matmul(b.Unsqueeze(move(left), -2), b.Unsqueeze(move(right), -1))
	return build.WriteResult(b, out, b.Select(b.Select(product, -1, 0), -1, 0))
}
