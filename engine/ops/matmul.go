package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

var (
	zero    = dtype.IntScalar(0)
	unscale = dtype.IntScalar(1)
)

// matrixProduct computes beta*self + alpha*a@b into out, for matrices or batches of them; self may be nil. sizes are the
// result's.
func matrixProduct(op string, out, self, a, b *tensor.Tensor, sizes []int64, alpha, beta dtype.Scalar) (_ *tensor.Tensor, err error) {
	if err := checkProduct(op, out, self, a, b, sizes); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	to, err := productOutput(op, out, a, b, sizes, alpha, beta)
	if err == nil {
		err = s.Try(func() { s.multiplyAdd(to.To, self, a, b, alpha, beta) })
	}
	return to.Done(err)
}

// productOutput opens the output of a product of a and b.
func productOutput(op string, out, a, b *tensor.Tensor, sizes []int64, alpha, beta dtype.Scalar) (tensoriter.Output, error) {
	d := a.DType()
	to := tensoriter.Output{Op: op, Out: out, Sizes: sizes, DType: d, Device: a.Device(), Exact: true, Sharing: tensoriter.Beside}
	_, err := tensoriter.Device(op, a, b)
	if err = cmp.Or(err, tensoriter.SameDType(op, out, d), checkFactors(op, d, alpha, beta)); err == nil {
		err = to.Open(a, b)
	}
	return to, err
}

// checkFactors returns an error for factors that the products' dtype cannot hold.
func checkFactors(op string, d dtype.DType, alpha, beta dtype.Scalar) error {
	return cmp.Or(checkFits(op, alpha, d.Compute()), checkFits(op, beta, d.Compute()))
}

// multiplyAdd computes c = alpha*a*b + beta*self; where alpha is 0 or the inner size is 0, a and b are not read.
func (s *scope) multiplyAdd(c, self, a, b *tensor.Tensor, alpha, beta dtype.Scalar) {
	switch {
	case !alpha.Equal(0) && a.Numel() > 0 && b.Numel() > 0:
		s.multiplyMatrices(c, self, a, b, alpha, beta)
	case c.Numel() == 0:
	case self == nil || beta.Equal(0):
		s.Check(fillWith(c, zero))
	case beta.Equal(1):
		s.Check(assignTensor(s.Op, c, self))
	default:
		s.copyTensor(c, s.Track(Mul(nil, self, s.Number(beta))))
	}
}

// multiplyMatrices computes c = alpha*a*b + beta*self; a and b share no memory with c.
func (s *scope) multiplyMatrices(c, self, a, b *tensor.Tensor, alpha, beta dtype.Scalar) {
	switch {
	case self == nil:
	case beta.Equal(0):
		self = nil
	case tensoriter.SameView(self, c):
		self = c
	case self.Storage() == c.Storage() && tensoriter.Overlaps(self, c):
		self = s.copyContiguous(self, self.DType())
	}
	s.Check(backend.On(c).Product(s.Op, backend.Product{To: c, Self: self, A: a, B: b, Alpha: alpha, Beta: beta}))
}

// checkProduct returns an error for operands of different dtypes, bool, a self that does not broadcast to sizes, and one that would have to
// while it is the output.
func checkProduct(op string, out, self, a, b *tensor.Tensor, sizes []int64) error {
	if err := checkSameDevice(op, a, b, self); err != nil {
		return err
	}
	d := a.DType()
	for _, t := range []*tensor.Tensor{self, b} {
		if t != nil && t.DType() != d {
			return status.Runtimef("%s: expected all operands to have the same dtype, but got %v and %v", op, d, t.DType())
		}
	}
	if self == nil && d == dtype.Bool && (a.Numel() == 0 || b.Numel() == 0) {
		return nil // nothing is multiplied
	}
	if err := kernelapi.Gemm.Check(op, d); err != nil || self == nil {
		return err
	}
	if !shape.ExpandsTo(self.Sizes(), sizes) {
		return status.Runtimef("%s: the size of self %v must be broadcastable to the product's %v", op, self.Sizes(), sizes)
	}
	return checkInPlace(op, out, self, sizes)
}

// requireBatches returns an error for tensors without the dimensions of batches of matrices, which baddbmm and addbmm look up by number.
func requireBatches(op string, batches ...*tensor.Tensor) error {
	for i, t := range batches {
		if n := t.Dim(); n < 3 {
			return status.Indexf("%s: batch%d must be a 3-D tensor; dimension %d is out of range for one of shape %v", op, i+1, n, t.Sizes())
		}
	}
	return nil
}

// requireDims returns an error for a tensor of another number of dimensions.
func requireDims(op, name string, t *tensor.Tensor, n int) error {
	if t.Dim() != n {
		return status.Runtimef("%s: %s must be a %d-D tensor, got %d-D with shape %v", op, name, n, t.Dim(), t.Sizes())
	}
	return nil
}

// checkMatrices returns an error for operands that cannot be multiplied as batch+2-dimensional matrices.
func checkMatrices(op, nameA, nameB string, a, b *tensor.Tensor, dims int) error {
	if err := cmp.Or(requireDims(op, nameA, a, dims), requireDims(op, nameB, b, dims)); err != nil {
		return err
	}
	sa, sb := a.Sizes(), b.Sizes()
	if dims == 3 && sa[0] != sb[0] {
		return status.Runtimef("%s: batch sizes of %s and %s must match, got %v and %v", op, nameA, nameB, sa, sb)
	}
	if sa[dims-1] != sb[dims-2] {
		if dims == 2 {
			nameA, nameB = "mat1", "mat2" // PyTorch's wording for every product of matrices
		}
		return status.Runtimef("%s: %s and %s shapes cannot be multiplied (%dx%d and %dx%d)", op, nameA, nameB, sa[dims-2], sa[dims-1],
			sb[dims-2], sb[dims-1])
	}
	return nil
}

// Mm returns the product of two matrices.
func Mm(out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkMatrices("mm", "self", "mat2", self, mat2, 2); err != nil {
		return nil, err
	}
	return matrixProduct("mm", out, nil, self, mat2, []int64{self.Sizes()[0], mat2.Sizes()[1]}, unscale, zero)
}

// Bmm returns the product of two batches of matrices.
func Bmm(out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkMatrices("bmm", "batch1", "batch2", self, mat2, 3); err != nil {
		return nil, err
	}
	return matrixProduct("bmm", out, nil, self, mat2, []int64{self.Sizes()[0], self.Sizes()[1], mat2.Sizes()[2]}, unscale, zero)
}

// Addmm returns beta*self + alpha*(mat1 @ mat2).
func Addmm(out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkMatrices("addmm", "mat1", "mat2", mat1, mat2, 2); err != nil {
		return nil, err
	}
	return matrixProduct("addmm", out, self, mat1, mat2, []int64{mat1.Sizes()[0], mat2.Sizes()[1]}, alpha, beta)
}

// checkInPlace returns an error for an in-place product that would change self's shape.
func checkInPlace(op string, out, self *tensor.Tensor, sizes []int64) error {
	if out == nil || out != self {
		return nil
	}
	return tensoriter.Fits(op, out, sizes)
}

// Baddbmm returns beta*self + alpha*(batch1 @ batch2).
func Baddbmm(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := requireBatches("baddbmm", batch1, batch2); err != nil {
		return nil, err
	}
	if err := checkMatrices("baddbmm", "batch1", "batch2", batch1, batch2, 3); err != nil {
		return nil, err
	}
	return matrixProduct("baddbmm", out, self, batch1, batch2, []int64{batch1.Sizes()[0], batch1.Sizes()[1], batch2.Sizes()[2]}, alpha, beta)
}

// Addbmm returns beta*self + alpha times the sum over the batch of batch1 @ batch2: one product along batch and inner dimension together.
func Addbmm(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	if err := requireBatches("addbmm", batch1, batch2); err != nil {
		return nil, err
	}
	if err := checkMatrices("addbmm", "batch1", "batch2", batch1, batch2, 3); err != nil {
		return nil, err
	}
	s := batch1.Sizes()
	rows, inner, cols := s[1], s[0]*s[2], batch2.Sizes()[2]
	if batch1.DType().IsReducedFloat() && s[0] > 0 {
		return addbmmEach(out, self, batch1, batch2, beta, alpha)
	}
	e := newScope("addbmm")
	defer e.Close(&err)
	a := e.reshapeTo(e.permuteDims(batch1, 1, 0, 2), rows, inner)
	b := e.reshapeTo(batch2, inner, cols)
	return e.ReturnNew(matrixProduct("addbmm", out, self, a, b, []int64{rows, cols}, alpha, beta))
}

// addbmmEach adds one product after the other, rounding to 16 bits in between as in PyTorch.
func addbmmEach(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	sizes := []int64{batch1.Sizes()[1], batch2.Sizes()[2]}
	if err := checkInPlace("addbmm", out, self, sizes); err != nil {
		return nil, err
	}
	s := newScope("addbmm")
	defer s.Close(&err)
	sum := self
	for i := range batch1.Sizes()[0] {
		a, b := s.selectPosition(batch1, 0, i), s.selectPosition(batch2, 0, i)
		sum = s.Track(Addmm(nil, sum, a, b, beta, alpha))
		beta = unscale
	}
	return s.writeResult(out, sum)
}

// viewColumn views a vector as a matrix of one column, viewRow as one of one row.
func (s *scope) viewColumn(t *tensor.Tensor) *tensor.Tensor {
	return s.Track(view.Unsqueeze(s.Op, nil, t, 1))
}

func (s *scope) viewRow(t *tensor.Tensor) *tensor.Tensor {
	return s.Track(view.Unsqueeze(s.Op, nil, t, 0))
}

// Addmv returns beta*self + alpha*(mat @ vec).
func Addmv(out, self, mat, vec *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return matrixVector("addmv", out, self, mat, vec, beta, alpha)
}

// Mv returns the product of a matrix and a vector.
func Mv(out, self, vec *tensor.Tensor) (*tensor.Tensor, error) {
	return matrixVector("mv", out, nil, self, vec, zero, unscale)
}

func matrixVector(op string, out, self, mat, vec *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	if err := cmp.Or(requireDims(op, "mat", mat, 2), requireDims(op, "vec", vec, 1)); err != nil {
		return nil, err
	}
	n, k := mat.Sizes()[0], mat.Sizes()[1]
	if k != vec.Numel() {
		return nil, status.Runtimef("%s: size mismatch, got mat (%dx%d), vec (%d)", op, n, k, vec.Numel())
	}
	if self != nil && !(self.Numel() == 1 && self.Dim() < 2 || slices.Equal(self.Sizes(), []int64{n})) {
		return nil, status.Runtimef("%s: size mismatch, got input %v, mat (%dx%d), vec (%d)", op, self.Sizes(), n, k, vec.Numel())
	}
	if err := checkProduct(op, out, self, mat, vec, []int64{n}); err != nil {
		return nil, err
	}
	to, err := productOutput(op, out, mat, vec, []int64{n}, alpha, beta)
	if err != nil {
		return to.Done(err)
	}
	s := newScope(op)
	defer s.Close(&err)
	return to.Done(s.Try(func() {
		c, b := s.viewColumn(to.To), s.viewColumn(vec)
		if self != nil && self.Dim() == 1 {
			self = s.viewColumn(self)
		}
		s.multiplyAdd(c, self, mat, b, alpha, beta)
	}))
}

// Dot returns the sum of the products of two vectors' elements.
func Dot(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return innerProduct("dot", out, self, other, false)
}

// Vdot is Dot with the first vector conjugated.
func Vdot(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return innerProduct("vdot", out, self, other, self.DType().IsComplex())
}

func innerProduct(op string, out, self, other *tensor.Tensor, conjugate bool) (*tensor.Tensor, error) {
	if self.Dim() != 1 || other.Dim() != 1 {
		return nil, status.Runtimef("%s: 1D tensors expected, but got %dD and %dD tensors", op, self.Dim(), other.Dim())
	}
	if self.DType() != other.DType() {
		return nil, status.Runtimef("%s: expected both vectors to have same dtype, but found %v and %v", op, self.DType(), other.DType())
	}
	if self.Numel() != other.Numel() {
		return nil, status.Runtimef("%s: inconsistent tensor size, expected tensors to have the same number of elements, but got %d and %d", op,
			self.Numel(), other.Numel())
	}
	if err := kernelapi.Dot.Check(op, self.DType()); err != nil {
		return nil, err
	}
	to, err := productOutput(op, out, self, other, nil, unscale, zero)
	if err == nil {
		err = backend.On(to.To).Dot(op, backend.Dot{To: to.To, A: self, B: other, Conjugate: conjugate})
	}
	return to.Done(err)
}

// addOuter adds a product of a column and a row.
var addOuter = &pointwise{name: "addr", kernel: kernelapi.Addcmul, rule: promote}

// Addr returns beta*self + alpha*outer(vec1, vec2), rounded after every step. For bool, sums are or and products are and. Where beta is 0,
// self is not read.
func Addr(out, self, vec1, vec2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	for i, t := range []*tensor.Tensor{vec1, vec2} {
		if err := requireDims("addr", []string{"vec1", "vec2"}[i], t, 1); err != nil {
			return nil, err
		}
	}
	sizes := []int64{vec1.Numel(), vec2.Numel()}
	if !shape.ExpandsTo(self.Sizes(), sizes) {
		return nil, status.Runtimef("addr: size mismatch, input %v, v1 [%d], v2 [%d]", self.Sizes(), sizes[0], sizes[1])
	}
	if err := checkInPlace("addr", out, self, sizes); err != nil {
		return nil, err
	}
	d := resultType(self, vec1, vec2)
	if err := cmp.Or(checkAlpha("addr", "alpha", alpha, d), checkAlpha("addr", "beta", beta, d)); err != nil {
		return nil, err
	}
	if d == dtype.Bool {
		alpha, beta = dtype.BoolScalar(alpha.Bool()), dtype.BoolScalar(beta.Bool())
	}
	s := newScope("addr")
	defer s.Close(&err)
	s.Check(checkSameDevice("addr", vec1, vec2, self))
	a, b := s.viewColumn(s.castRowMajor(vec1, d)), s.viewRow(s.castRowMajor(vec2, d))
	if !beta.Equal(0) {
		self = s.scaleTensor(self, beta, d)
	}
	switch {
	case beta.Equal(0):
		return s.writeResultCast(out, s.Track(Mul(nil, s.scaleTensor(a, alpha, d), b)))
	case d == dtype.Bool || d.IsReducedFloat():
		return s.writeResultCast(out, s.Track(addTensors(nil, self, s.Track(Mul(nil, s.scaleTensor(a, alpha, d), b)))))
	}
	return addOuter.runKernel(out, func(d dtype.DType, p *backend.Params) { p.Set(0, d, alpha) }, self, a, b)
}

// scaleTensor returns t times factor, rounded to dtype d.
func (s *scope) scaleTensor(t *tensor.Tensor, factor dtype.Scalar, d dtype.DType) *tensor.Tensor {
	if factor.Equal(1) {
		return t
	}
	return s.Track(Mul(nil, t, s.newScalarTensor(factor, d, t.Device())))
}

// Matmul multiplies as Python's @ does: vectors get a dimension of size 1 that the result loses, batch dimensions broadcast.
func Matmul(out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if self.Dim() == 0 || other.Dim() == 0 {
		return nil, status.Runtimef("matmul: both arguments need to be at least 1D, but they are %dD and %dD", self.Dim(), other.Dim())
	}
	switch {
	case self.Dim() == 1 && other.Dim() == 1:
		return innerProduct("matmul", out, self, other, false)
	case self.Dim() == 2 && other.Dim() == 1:
		return matrixVector("matmul", out, nil, self, other, zero, unscale)
	case self.Dim() == 2 && other.Dim() == 2:
		return Mm(out, self, other)
	}
	s := newScope("matmul")
	defer s.Close(&err)
	a, b := self, other
	if a.Dim() == 1 {
		a = s.viewRow(a)
	}
	if b.Dim() == 1 {
		b = s.viewColumn(b)
	}
	sa, sb := a.Sizes(), b.Sizes()
	na, nb := len(sa), len(sb)
	m, k, n := sa[na-2], sa[na-1], sb[nb-1]
	if k != sb[nb-2] {
		return nil, status.Runtimef("matmul: mat1 and mat2 shapes cannot be multiplied (%v and %v): the inner sizes %d and %d differ",
			self.Sizes(), other.Sizes(), k, sb[nb-2])
	}
	batch, err := shape.Broadcast("matmul", sa[:na-2], sb[:nb-2])
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(batch)
	if self.Dim() > 1 {
		sizes = append(sizes, m)
	}
	if other.Dim() > 1 {
		sizes = append(sizes, n)
	}
	product := s.batchedProduct(a, b, batch, m, k, n)
	return s.writeResult(out, s.reshapeTo(product, sizes...))
}

// batchedProduct returns a contiguous tensor of the products, as one large product where b is a single matrix.
func (s *scope) batchedProduct(a, b *tensor.Tensor, batch []int64, m, k, n int64) *tensor.Tensor {
	count, err := shape.Numel(s.Op, append(slices.Clone(batch), m))
	s.Check(err)
	sizes := []int64{count, n}
	if b.Dim() == 2 {
		a = s.reshapeTo(a, count, k)
	} else {
		count = shape.Product(batch)
		a, b, sizes = s.mergeBatches(a, batch, count), s.mergeBatches(b, batch, count), []int64{count, m, n}
	}
	return s.Track(matrixProduct(s.Op, nil, nil, a, b, sizes, unscale, zero))
}

// mergeBatches broadcasts t's batch dimensions and merges them into one.
func (s *scope) mergeBatches(t *tensor.Tensor, batch []int64, count int64) *tensor.Tensor {
	matrix := t.Sizes()[t.Dim()-2:]
	wide := s.Track(view.Expand(s.Op, t, append(slices.Clone(batch), matrix...)))
	return s.reshapeTo(wide, count, matrix[0], matrix[1])
}

// Linears reports whether Linear takes the operands: matrices with elements, and a bias, if any, with one for each row of weight, all of
// one dtype that is multiplied and on one device.
func Linears(self, weight, bias *tensor.Tensor) bool {
	alike := func(t *tensor.Tensor) bool { return t.DType() == self.DType() && t.Device() == self.Device() }
	if self.Dim() != 2 || weight.Dim() != 2 || !alike(weight) || !kernelapi.Gemm.Has(self.DType()) || self.Numel() == 0 ||
		weight.Numel() == 0 {
		return false
	}
	n := weight.Sizes()[0]
	return self.Sizes()[1] == weight.Sizes()[1] && (bias == nil || alike(bias) && bias.Dim() == 1 && bias.Numel() == n)
}

// Linear computes self @ weight.T + bias. It avoids the intermediate ops of the decomposition, which take longer than small products.
func Linear(op string, self, weight, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	to := s.newEmpty(self, self.DType(), self.Sizes()[0], weight.Sizes()[0])
	s.Check(backend.On(to).Product(op, backend.Product{To: to, Self: bias, A: self, B: weight, Turned: true, Alpha: unscale, Beta: unscale}))
	return s.Return(to)
}
