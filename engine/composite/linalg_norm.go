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

// vectorNorm returns the norm of order p over dims, or of all elements where these are nil.
func (s *scope) vectorNorm(t *tensor.Tensor, p float64, dims []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	return s.LinalgVectorNormWith(t, dtype.FloatScalar(p), dims, keepdim, d)
}

// order is the norm of matrices: a number, or fro or nuc.
type order struct {
	p    float64
	name string
}

// check returns an error for other names.
func (o order) check(op string) error {
	return ops.CheckWord(op, "the order", o.name, "", "fro", "nuc")
}

// matrixNorm returns the norm of the matrices in two dimensions.
func (s *scope) matrixNorm(self *tensor.Tensor, by order, dims []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	s.Check(cmp.Or(ops.CheckNormed(s.Op, self, d), by.check(s.Op)))
	if self.Dim() < 2 {
		s.Check(status.Runtimef("%s: the input tensor A must have at least 2 dimensions, got shape %v", s.Op, self.Sizes()))
		return nil
	}
	if len(dims) != 2 {
		s.Check(status.Runtimef("%s: dim must be two dimensions, got %v", s.Op, dims))
		return nil
	}
	var at [2]int64
	for i, dim := range dims {
		wrapped, err := shape.WrapDim(s.Op, dim, self.Dim())
		if s.Check(err); err != nil {
			return nil
		}
		at[i] = int64(wrapped)
	}
	if at[0] == at[1] {
		s.Check(status.Runtimef("%s: dims must be different, got %v", s.Op, dims))
		return nil
	}
	size := math.Abs(by.p)
	switch {
	case by.name == "fro":
		return s.vectorNorm(self, 2, at[:], keepdim, d)
	case by.name == "" && (size == 1 || math.IsInf(size, 1)):
		summed, other := at[0], at[1]
		if size != 1 {
			summed, other = other, summed
		}
		sums := s.vectorNorm(self, 1, []int64{summed}, keepdim, d)
		if !keepdim && other > summed {
			other--
		}
		return s.extreme(sums, by.p > 0, keepdim, other)
	case by.name == "nuc" || size == 2:
		if d != dtype.None {
			self = s.CastTo(self, d)
		}
		return s.spectralNorm(self, by, at, keepdim)
	}
	s.Check(status.Runtimef("%s: order %g is not supported; use 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'", s.Op, by.p))
	return nil
}

// extreme returns the largest or the smallest element along dim; of none the largest is 0, as norms are not negative.
func (s *scope) extreme(t *tensor.Tensor, largest, keepdim bool, dim int64) *tensor.Tensor {
	if n, _ := shape.WrapIndex(dim, int64(t.Dim())); largest && t.Sizes()[n] == 0 {
		return s.Sum(t, []int64{dim}, keepdim)
	}
	if largest {
		return s.largest(t, keepdim, dim)
	}
	return s.least(t, keepdim, dim)
}

// spectralNorm returns a norm of the singular values of the matrices in two dimensions.
func (s *scope) spectralNorm(self *tensor.Tensor, by order, at [2]int64, keepdim bool) *tensor.Tensor {
	var dims []int64
	for d := range int64(self.Dim()) {
		if d != at[0] && d != at[1] {
			dims = append(dims, d)
		}
	}
	matrices := s.wideEnough(s.ReorderDims(self, append(dims, at[0], at[1])...))
	values := s.LinalgSvdvals(matrices)
	var norm *tensor.Tensor
	if by.name == "nuc" {
		norm = s.Sum(values, []int64{-1}, false)
	} else {
		norm = s.extreme(values, by.p > 0, false, -1)
	}
	if keepdim {
		for _, d := range []int64{min(at[0], at[1]), max(at[0], at[1])} {
			norm = s.Unsqueeze(norm, d)
		}
	}
	return s.CastTo(norm, self.DType().ToReal())
}

// LinalgMatrixNorm returns the norm of order ord of the matrices in two dimensions.
func LinalgMatrixNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.matrix_norm")
	defer s.Close(&err)
	if err := ops.RealOrder(s.Op, ord); err != nil {
		return nil, err
	}
	return build.WriteResult(s.Builder, out, s.matrixNorm(self, order{p: ord.Float()}, dim, keepdim, d))
}

// LinalgMatrixNormStrOrd is LinalgMatrixNorm for norms with names.
func LinalgMatrixNormStrOrd(c dispatch.Context, out, self *tensor.Tensor, ord string, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.matrix_norm")
	defer s.Close(&err)
	return build.WriteResult(s.Builder, out, s.matrixNorm(self, order{name: ord}, dim, keepdim, d))
}

// LinalgNorm computes a norm of vectors or matrices, by the number of dimensions.
func LinalgNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	const op = "linalg.norm"
	s := newScope(c, op)
	defer s.Close(&err)
	if dim != nil && len(dim) != 1 && len(dim) != 2 {
		return nil, status.Runtimef("%s: dim must be one or two dimensions, got %v", op, dim)
	}
	if ord.IsNone() {
		return build.WriteResult(s.Builder, out, s.vectorNorm(self, 2, dim, keepdim, d))
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
		return build.WriteResult(s.Builder, out, s.matrixNorm(self, order{p: ord.Float()}, matrixDims(dim), keepdim, d))
	}
	return build.WriteResult(s.Builder, out, s.vectorNorm(self, ord.Float(), dim, keepdim, d))
}

// matrixDims are dimensions, or those of a tensor of two.
func matrixDims(dim []int64) []int64 {
	if dim == nil {
		return []int64{0, 1}
	}
	return dim
}

// LinalgNormOrdStr is LinalgNorm for norms with names, which are of matrices.
func LinalgNormOrdStr(c dispatch.Context, out, self *tensor.Tensor, ord string, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	const op = "linalg.norm"
	if dim == nil && self.Dim() != 2 {
		return nil, status.Runtimef("%s: the norm %q without dim is for tensors of two dimensions, got shape %v", op, ord, self.Sizes())
	}
	s := newScope(c, op)
	defer s.Close(&err)
	return build.WriteResult(s.Builder, out, s.matrixNorm(self, order{name: ord}, matrixDims(dim), keepdim, d))
}

// NormName returns the norm that a name means: "fro" is the 2-norm over any dimensions, "nuc" the sum of the singular values of matrices.
func NormName(c dispatch.Context, out, self *tensor.Tensor, p string, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	if p == "fro" {
		return c.Norm(out, self, dtype.IntScalar(2), dim, keepdim, d)
	}
	if len(dim) == 0 && self.Dim() == 2 {
		dim = []int64{0, 1}
	}
	s := newScope(c, "norm")
	defer s.Close(&err)
	s.Check(ops.CheckWord(s.Op, "p", p, "fro", "nuc"))
	made := s.matrixNorm(self, order{name: p}, dim, keepdim, d)
	s.Check(tensoriter.SameDType(s.Op, out, made.DType()))
	return build.WriteResult(s.Builder, out, made)
}

// FrobeniusNorm returns the root of the sum of squares over up to two dimensions, or of all elements.
func FrobeniusNorm(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	const op = "frobenius_norm"
	if len(dim) > 2 {
		return nil, status.Runtimef("%s: expected at most 2 dimensions, got %v", op, dim)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	if len(dim) == 0 {
		dim = nil
	}
	return build.WriteResult(s.Builder, out, s.vectorNorm(self, 2, dim, keepdim, dtype.None))
}

// NuclearNorm returns the sum of the singular values of the matrices in two dimensions.
func NuclearNorm(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "nuclear_norm")
	defer s.Close(&err)
	return build.WriteResult(s.Builder, out, s.matrixNorm(self, order{name: "nuc"}, dim, keepdim, dtype.None))
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
		return conditioned(c, out, self, by)
	}
	if err := ops.CheckMatrices(op, "A", self); err != nil {
		return nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	if self.Numel() == 0 {
		return s.finishedCast(out, s.ZerosBeside(self, self.DType().ToReal(), shape.Batch(self.Sizes())...))
	}
	wide := s.wideEnough(self)
	values := s.LinalgSvdvals(wide)
	first, last := s.Select(values, -1, 0), s.Select(values, -1, -1)
	if by.p < 0 {
		first, last = last, first
	}
	return s.finishedCast(out, s.CastTo(s.Div(first, last), self.DType().ToReal()))
}

// LinalgCondPStr is LinalgCond for norms with names.
func LinalgCondPStr(c dispatch.Context, out, self *tensor.Tensor, p string) (*tensor.Tensor, error) {
	return conditioned(c, out, self, order{name: p})
}

// conditioned returns the product of the norms of matrices and their inverses.
func conditioned(c dispatch.Context, out, self *tensor.Tensor, by order) (_ *tensor.Tensor, err error) {
	const op = "linalg.cond"
	if err := cmp.Or(ops.CheckMatrices(op, "A", self), by.check(op)); err != nil {
		return nil, err
	}
	if self.Numel() > 0 || by.name != "" {
		if err := ops.CheckSquare(op, "A", self); err != nil {
			return nil, err
		}
	}
	s := newScope(c, op)
	defer s.Close(&err)
	if self.Numel() == 0 {
		return s.finishedCast(out, s.ZerosBeside(self, self.DType().ToReal(), shape.Batch(self.Sizes())...))
	}
	wide := s.wideEnough(self)
	inverse, info := s.LinalgInvEx(wide)
	singular := s.greater(info, s.Number(dtype.IntScalar(0)))
	filled := func(t, where *tensor.Tensor, value float64) *tensor.Tensor {
		v := s.FloatNumber(value)
		return s.MaskedFill(t, where, v)
	}
	inverse = filled(inverse, s.Unsqueeze(s.Unsqueeze(singular, -1), -1), 0) // an inverse of a singular matrix has no norm
	dims := []int64{-2, -1}
	product := s.Mul(s.matrixNorm(wide, by, dims, false, dtype.None), s.matrixNorm(inverse, by, dims, false, dtype.None))
	return s.finishedCast(out, s.CastTo(filled(product, singular, math.Inf(1)), self.DType().ToReal()))
}

// tolerance is the threshold for singular values.
type tolerance struct{ atol, rtol *tensor.Tensor }

// tolerances are given as numbers, of which either may be missing.
func (s *scope) tolerances(self *tensor.Tensor, atol, rtol *float64) tolerance {
	a, r := 0.0, 0.0
	if atol != nil {
		a = *atol
	}
	switch {
	case rtol != nil:
		r = *rtol
	case !(a > 0):
		r = s.defaultRtol(self)
	}
	return tolerance{s.Unsqueeze(s.exact(a, self), -1), s.Unsqueeze(s.exact(r, self), -1)}
}

// exact returns a tensor of one number with all its digits: values of any dtype are compared with it as float64.
func (s *scope) exact(v float64, like *tensor.Tensor) *tensor.Tensor {
	return s.FullWith([]int64{}, dtype.FloatScalar(v), dtype.Float64, tensor.NoLayout, like.Device())
}

func (s *scope) defaultRtol(self *tensor.Tensor) float64 {
	m, n := shape.Matrix(self.Sizes())
	return self.DType().Epsilon() * float64(max(m, n))
}

// tensorTolerances are tolerances given as tensors, of which either may be nil.
func (s *scope) tensorTolerances(self, atol, rtol *tensor.Tensor) tolerance {
	for i, t := range []*tensor.Tensor{atol, rtol} {
		if t != nil && t.DType().IsComplex() {
			s.Check(status.Runtimef("%s: %s must be real, got %v", s.Op, []string{"atol", "rtol"}[i], t.DType()))
		}
	}
	t := tolerance{atol, rtol}
	if atol == nil {
		t.atol = s.exact(0, self)
	}
	if rtol == nil {
		t.rtol = s.exact(s.defaultRtol(self), self)
		if atol != nil {
			t.rtol = s.Where(s.greater(atol, s.FloatNumber(0)), s.FloatNumber(0), t.rtol)
		}
	}
	t.atol, t.rtol = s.Unsqueeze(t.atol, -1), s.Unsqueeze(t.rtol, -1)
	return t
}

// significant returns a mask of the values that are not treated as zero, relative to the largest along the last dimension.
func (s *scope) significant(values *tensor.Tensor, t tolerance) *tensor.Tensor {
	if values.Sizes()[values.Dim()-1] == 0 {
		return s.greater(values, s.FloatNumber(0))
	}
	limit := s.Maximum(t.atol, s.Mul(t.rtol, s.largest(values, true, -1)))
	return s.greater(values, limit)
}

// sizesOfSpectrum returns the singular values, or the absolute values of the eigenvalues of Hermitian matrices.
func (s *scope) sizesOfSpectrum(self *tensor.Tensor, hermitian bool) *tensor.Tensor {
	if hermitian {
		return s.Abs(s.LinalgEigvalsh(self, "L"))
	}
	return s.LinalgSvdvals(self)
}

func rankOf(c dispatch.Context, out, self *tensor.Tensor, hermitian bool, limits func(s *scope) tolerance) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.matrix_rank")
	defer s.Close(&err)
	s.Check(ops.CheckMatrices(s.Op, "A", self))
	t := limits(s)
	return s.finishedCast(out, s.Sum(s.significant(s.sizesOfSpectrum(self, hermitian), t), []int64{-1}, false))
}

// LinalgMatrixRank returns the number of singular values that are not negligible.
func LinalgMatrixRank(c dispatch.Context, out, self *tensor.Tensor, atol, rtol *float64, hermitian bool) (*tensor.Tensor, error) {
	return rankOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tolerances(self, atol, rtol) })
}

// LinalgMatrixRankAtolRtolTensor is LinalgMatrixRank with tensors.
func LinalgMatrixRankAtolRtolTensor(c dispatch.Context, out, self, atol, rtol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return rankOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tensorTolerances(self, atol, rtol) })
}

// LinalgMatrixRankTol is LinalgMatrixRank with an absolute tolerance alone.
func LinalgMatrixRankTol(c dispatch.Context, out, self *tensor.Tensor, tol float64, hermitian bool) (*tensor.Tensor, error) {
	return rankOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tolerances(self, &tol, new(float64)) })
}

// LinalgMatrixRankTolTensor is LinalgMatrixRankTol with a tensor.
func LinalgMatrixRankTolTensor(c dispatch.Context, out, self, tol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return rankOf(c, out, self, hermitian, func(s *scope) tolerance {
		t := s.tensorTolerances(self, tol, nil)
		t.rtol = s.FloatNumber(0)
		return t
	})
}

func pinvOf(c dispatch.Context, out, self *tensor.Tensor, hermitian bool, limits func(s *scope) tolerance) (_ *tensor.Tensor, err error) {
	s := newScope(c, "linalg.pinv")
	defer s.Close(&err)
	s.Check(ops.CheckMatrices(s.Op, "A", self))
	if hermitian {
		s.Check(ops.CheckSquare(s.Op, "A", self))
	}
	t := limits(s)
	if m, n := shape.Matrix(self.Sizes()); self.Numel() == 0 {
		return s.finishedCast(out, s.EmptyBeside(self, self.DType(), shape.Append(shape.Batch(self.Sizes()), n, m)...))
	}
	wide := s.wideEnough(self)
	var left, right, values, sizes *tensor.Tensor
	if hermitian {
		values, left = s.spectrum(wide)
		right, sizes = s.adjoint(left), s.Abs(values)
	} else {
		left, values, right = s.singular(wide)
		left, right, sizes = s.adjoint(right), s.adjoint(left), values
	}
	inverse := s.Where(s.significant(sizes, t), s.Reciprocal(values), s.FloatNumber(0))
	return s.finishedCast(out, s.CastTo(s.matmul(s.scaledColumns(left, inverse), right), self.DType()))
}

// LinalgPinv returns the pseudoinverse of matrices.
func LinalgPinv(c dispatch.Context, out, self *tensor.Tensor, atol, rtol *float64, hermitian bool) (*tensor.Tensor, error) {
	return pinvOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tolerances(self, atol, rtol) })
}

// LinalgPinvAtolRtolTensor is LinalgPinv with tensors.
func LinalgPinvAtolRtolTensor(c dispatch.Context, out, self, atol, rtol *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return pinvOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tensorTolerances(self, atol, rtol) })
}

// LinalgPinvRcond is LinalgPinv with a relative tolerance alone.
func LinalgPinvRcond(c dispatch.Context, out, self *tensor.Tensor, rcond float64, hermitian bool) (*tensor.Tensor, error) {
	return pinvOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tolerances(self, nil, &rcond) })
}

// LinalgPinvRcondTensor is LinalgPinvRcond with a tensor.
func LinalgPinvRcondTensor(c dispatch.Context, out, self, rcond *tensor.Tensor, hermitian bool) (*tensor.Tensor, error) {
	return pinvOf(c, out, self, hermitian, func(s *scope) tolerance { return s.tensorTolerances(self, nil, rcond) })
}

// Pinverse is LinalgPinvRcond.
func Pinverse(c dispatch.Context, self *tensor.Tensor, rcond float64) (*tensor.Tensor, error) {
	made, err := c.LinalgPinvRcond(nil, self, rcond, false)
	return only("pinverse", made, err)
}

// LinalgVander has the powers of the elements of vectors in rows.
func LinalgVander(c dispatch.Context, x *tensor.Tensor, n ops.Int) (_ *tensor.Tensor, err error) {
	const op = "linalg.vander"
	if x.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	if x.Dim() == 0 {
		x = s.AsShape(x, 1)
	}
	columns := n.Or(x.Sizes()[x.Dim()-1])
	if columns < 1 && !n.IsNone() {
		return nil, status.Runtimef("%s: N must be greater than 0, got %d", op, columns)
	}
	d := x.DType().Summed()
	sizes := x.Sizes()
	if columns == 0 {
		return build.WriteResult(s.Builder, nil, s.ZerosBeside(x, d, shape.Append(sizes, 0)...))
	}
	first := s.OnesBeside(x, d, shape.Append(sizes, 1)...)
	factors := s.Expand(s.Unsqueeze(s.CastTo(x, d), -1), shape.Append(sizes, columns-1)...)
	all := s.Cat([]*tensor.Tensor{first, factors}, int64(x.Dim()))
	return build.WriteResult(s.Builder, nil, s.Cumprod(all, -1))
}

// productsFirst reports whether sums of products in dtype d, over `all` elements in sums of `length`, take less time as an elementwise product in
// memory order and a sum than as separate dot products: for short sums, or non-adjacent elements. 16-bit floats are rounded once, in matrix products,
// which do not support bool.
func productsFirst(d dtype.DType, all, length int64, adjacent bool) bool {
	return d.Compute() == d && d != dtype.Bool && all > length && (length < 64 || !adjacent)
}

// LinalgVecdot returns the sum of the products of x conjugated and y along dim.
func LinalgVecdot(c dispatch.Context, out, x, y *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	const op = "linalg.vecdot"
	if d := x.DType(); !d.IsFloatingPoint() && !d.IsComplex() {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; convert to floats", op, d)
	}
	s := newScope(c, op)
	defer s.Close(&err)
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
	left, right := s.Expand(x, sizes...), s.Expand(y, sizes...)
	if x.DType().IsComplex() {
		left = s.Conj(left)
	}
	all, adjacent := left.Numel(), left.Strides()[at] == 1 && right.Strides()[at] == 1
	if d := left.DType(); d == right.DType() && max(x.Numel(), y.Numel()) == all && productsFirst(d, all, sizes[at], adjacent) {
		products := s.Mul(left, right)
		return build.WriteResult(s.Builder, out, s.SumWith(products, []int64{int64(at)}, false, d))
	}
	move := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Movedim(t, int64(at), -1)
	}
	product := s.matmul(s.Unsqueeze(move(left), -2), s.Unsqueeze(move(right), -1))
	return build.WriteResult(s.Builder, out, s.Select(s.Select(product, -1, 0), -1, 0))
}
