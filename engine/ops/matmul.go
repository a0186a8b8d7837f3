package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	zero    = dtype.IntScalar(0)
	unscale = dtype.IntScalar(1)
)

// productOutput gives the tensor that a product of a and b is written to: out, resized, or a fresh one. direct is false
// where out overlaps an operand, so that the product must be made elsewhere first.
func productOutput(op string, out *tensor.Tensor, sizes []int64, d dtype.DType, operands ...*tensor.Tensor) (to *tensor.Tensor, direct bool, err error) {
	dev := operands[0].Device()
	for _, t := range operands {
		if t.Device() != dev {
			return nil, false, status.Runtimef("%s: expected all tensors to be on the same device, but found at least two devices, %v and %v", op, dev, t.Device())
		}
	}
	if out == nil {
		to, err = tensor.Empty(op, sizes, d, dev)
		return to, true, err
	}
	if err := sameDType(op, out, d); err != nil {
		return nil, false, err
	}
	if err := iter.CheckOutput(op, out, d, dev); err != nil {
		return nil, false, err
	}
	if !slices.Equal(out.Sizes(), sizes) {
		if err := out.Resize(op, sizes); err != nil {
			return nil, false, err
		}
	}
	if err := iter.CheckOverlap(op, out); err != nil {
		return nil, false, err
	}
	direct = true
	for _, t := range operands {
		direct = direct && (t.Storage() != out.Storage() || !iter.Overlaps(t, out))
	}
	return out, direct, nil
}

// matrixProduct computes beta*self + alpha*a@b into out, for matrices or batches of them; self may be nil. sizes are the
// result's.
func matrixProduct(op string, out, self, a, b *tensor.Tensor, sizes []int64, alpha, beta dtype.Scalar) (*tensor.Tensor, error) {
	d := a.DType()
	if err := checkProduct(op, self, a, b, sizes); err != nil {
		return nil, err
	}
	to, direct, err := productOutput(op, out, sizes, d, a, b)
	if err != nil || to.IsMeta() {
		return to, err
	}
	at := to
	if !direct {
		if at, err = tensor.Empty(op, sizes, d, to.Device()); err != nil {
			return nil, err
		}
		defer at.Release()
	}
	if self == nil || beta.Equal(0) {
		beta = zero
	} else if self != at && !iter.SameView(self, at) {
		if err := copyInto(op, at, self); err != nil {
			return nil, err
		}
	}
	if err := multiply(op, at, a, b, alpha, beta); err != nil {
		return nil, err
	}
	if at != to {
		iter.Copy(to, at)
	}
	return to, nil
}

// checkProduct refuses operands of different dtypes, bool, and a self that does not broadcast to sizes.
func checkProduct(op string, self, a, b *tensor.Tensor, sizes []int64) error {
	d := a.DType()
	for _, t := range []*tensor.Tensor{self, b} {
		if t != nil && t.DType() != d {
			return status.Runtimef("%s: expected all operands to have the same dtype, but got %v and %v", op, d, t.DType())
		}
	}
	if d == dtype.Bool {
		return status.NotImplementedf("%s: not implemented for dtype bool; convert to an integer dtype first", op)
	}
	if self == nil {
		return nil
	}
	if shaped, err := shape.Broadcast(op, self.Sizes(), sizes); err != nil || !slices.Equal(shaped, sizes) {
		return status.Runtimef("%s: the size of self %v must be broadcastable to the product's %v", op, self.Sizes(), sizes)
	}
	return nil
}

// copyInto copies src, broadcast, to dst, which it may overlap.
func copyInto(op string, dst, src *tensor.Tensor) error {
	if src.Storage() == dst.Storage() && iter.Overlaps(src, dst) {
		whole, err := castTo(op, src, src.DType())
		if err != nil {
			return err
		}
		defer whole.Release()
		src = whole
	}
	iter.Copy(dst, src)
	return nil
}

// checkScale refuses factors that the products' dtype cannot hold.
func checkScale(op string, d dtype.DType, alpha, beta dtype.Scalar) error {
	if d.IsFloatingPoint() || d.IsComplex() {
		return nil
	}
	for i, s := range []dtype.Scalar{alpha, beta} {
		if s.Kind == dtype.KindFloat || s.Kind == dtype.KindComplex {
			return status.Runtimef("%s: for integral input tensors, argument %s must not be a floating point number, got %v", op, []string{"alpha", "beta"}[i], s)
		}
	}
	return nil
}

// wantDims refuses a tensor of another number of dimensions.
func wantDims(op, name string, t *tensor.Tensor, n int) error {
	if t.Dim() != n {
		return status.Runtimef("%s: %s must be a %d-D tensor, got %d-D with shape %v", op, name, n, t.Dim(), t.Sizes())
	}
	return nil
}

// checkMatrices refuses operands that cannot be multiplied as batch+2-dimensional matrices.
func checkMatrices(op, nameA, nameB string, a, b *tensor.Tensor, dims int) error {
	if err := wantDims(op, nameA, a, dims); err != nil {
		return err
	}
	if err := wantDims(op, nameB, b, dims); err != nil {
		return err
	}
	sa, sb := a.Sizes(), b.Sizes()
	if dims == 3 && sa[0] != sb[0] {
		return status.Runtimef("%s: batch sizes of %s and %s must match, got %v and %v", op, nameA, nameB, sa, sb)
	}
	if sa[dims-1] != sb[dims-2] {
		return status.Runtimef("%s: %s and %s shapes cannot be multiplied (%dx%d and %dx%d)", op, nameA, nameB, sa[dims-2], sa[dims-1], sb[dims-2], sb[dims-1])
	}
	return nil
}

// Mm is the product of two matrices.
func Mm(out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkMatrices("mm", "self", "mat2", self, mat2, 2); err != nil {
		return nil, err
	}
	return matrixProduct("mm", out, nil, self, mat2, []int64{self.Sizes()[0], mat2.Sizes()[1]}, unscale, zero)
}

// Bmm is the product of two batches of matrices.
func Bmm(out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkMatrices("bmm", "batch1", "batch2", self, mat2, 3); err != nil {
		return nil, err
	}
	return matrixProduct("bmm", out, nil, self, mat2, []int64{self.Sizes()[0], self.Sizes()[1], mat2.Sizes()[2]}, unscale, zero)
}

// Addmm is beta*self + alpha*(mat1 @ mat2).
func Addmm(out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkMatrices("addmm", "mat1", "mat2", mat1, mat2, 2); err != nil {
		return nil, err
	}
	return inPlaceShape("addmm", out, self, mat1, mat2, []int64{mat1.Sizes()[0], mat2.Sizes()[1]}, beta, alpha)
}

// inPlaceShape refuses an in-place product that would change self's shape.
func inPlaceShape(op string, out, self, a, b *tensor.Tensor, sizes []int64, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if out == self && !slices.Equal(self.Sizes(), sizes) {
		return nil, status.Runtimef("%s: bad in-place call: input tensor size %v and output tensor size %v should match", op, self.Sizes(), sizes)
	}
	return matrixProduct(op, out, self, a, b, sizes, alpha, beta)
}

// Baddbmm is beta*self + alpha*(batch1 @ batch2).
func Baddbmm(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkMatrices("baddbmm", "batch1", "batch2", batch1, batch2, 3); err != nil {
		return nil, err
	}
	return inPlaceShape("baddbmm", out, self, batch1, batch2, []int64{batch1.Sizes()[0], batch1.Sizes()[1], batch2.Sizes()[2]}, beta, alpha)
}

// Addbmm is beta*self + alpha times the sum over the batch of batch1 @ batch2: one product along batch and inner dimension
// together.
func Addbmm(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkMatrices("addbmm", "batch1", "batch2", batch1, batch2, 3); err != nil {
		return nil, err
	}
	s := batch1.Sizes()
	rows, inner, cols := s[1], s[0]*s[2], batch2.Sizes()[2]
	if batch1.DType().IsReducedFloat() && s[0] > 0 {
		return addbmmEach(out, self, batch1, batch2, beta, alpha)
	}
	flipped, err := permuted("addbmm", batch1, 1, 0, 2)
	if err != nil {
		return nil, err
	}
	defer flipped.Release()
	a, err := reshaped("addbmm", flipped, rows, inner)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	b, err := reshaped("addbmm", batch2, inner, cols)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return inPlaceShape("addbmm", out, self, a, b, []int64{rows, cols}, beta, alpha)
}

// addbmmEach adds one product after the other, rounding to 16 bits in between as PyTorch does.
func addbmmEach(out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	s := &scope{op: "addbmm"}
	defer s.close()
	sum := self
	for i := range batch1.Sizes()[0] {
		a, b := s.at(batch1, 0, i), s.at(batch2, 0, i)
		if s.err != nil {
			return nil, s.err
		}
		sum = s.keep(Addmm(nil, sum, a, b, beta, alpha))
		beta = unscale
		if s.err != nil {
			return nil, s.err
		}
	}
	return s.result(out, sum)
}

// reshaped views or, where the strides forbid that, copies t with new sizes.
func reshaped(op string, t *tensor.Tensor, sizes ...int64) (*tensor.Tensor, error) {
	if strides, ok := shape.ViewStrides(t.Sizes(), t.Strides(), sizes); ok {
		return t.View(op, sizes, strides, t.Offset())
	}
	whole, err := castTo(op, t, t.DType())
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	return whole.View(op, sizes, shape.ContiguousStrides(sizes), 0)
}

// column views a vector as a matrix of one column, row as one of one row.
func column(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	return t.View(op, []int64{t.Numel(), 1}, []int64{t.Strides()[0], 1}, t.Offset())
}

func row(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	return t.View(op, []int64{1, t.Numel()}, []int64{max(t.Numel(), 1), t.Strides()[0]}, t.Offset())
}

// Addmv is beta*self + alpha*(mat @ vec).
func Addmv(out, self, mat, vec *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return matrixVector("addmv", out, self, mat, vec, beta, alpha)
}

// Mv is the product of a matrix and a vector.
func Mv(out, self, vec *tensor.Tensor) (*tensor.Tensor, error) {
	return matrixVector("mv", out, nil, self, vec, zero, unscale)
}

func matrixVector(op string, out, self, mat, vec *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if err := wantDims(op, "mat", mat, 2); err != nil {
		return nil, err
	}
	if err := wantDims(op, "vec", vec, 1); err != nil {
		return nil, err
	}
	n, k := mat.Sizes()[0], mat.Sizes()[1]
	if k != vec.Numel() {
		return nil, status.Runtimef("%s: size mismatch, got mat (%dx%d), vec (%d)", op, n, k, vec.Numel())
	}
	if self != nil && !(self.Numel() == 1 && self.Dim() < 2 || slices.Equal(self.Sizes(), []int64{n})) {
		return nil, status.Runtimef("%s: size mismatch, got input %v, mat (%dx%d), vec (%d)", op, self.Sizes(), n, k, vec.Numel())
	}
	if err := checkProduct(op, nil, mat, vec, nil); err != nil {
		return nil, err
	}
	if self != nil && self.DType() != mat.DType() {
		return nil, status.Runtimef("%s: expected self and mat to have the same dtype, but got %v and %v", op, self.DType(), mat.DType())
	}
	to, direct, err := productOutput(op, out, []int64{n}, mat.DType(), mat, vec)
	if err != nil || to.IsMeta() {
		return to, err
	}
	if !direct {
		made, err := matrixVector(op, nil, self, mat, vec, beta, alpha)
		if err != nil {
			return nil, err
		}
		defer made.Release()
		iter.Copy(to, made)
		return to, nil
	}
	b, err := column(op, vec)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	c, err := column(op, to)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	if self == nil || beta.Equal(0) {
		beta = zero
	} else if self != to {
		if err := copyInto(op, to, self); err != nil {
			return nil, err
		}
	}
	return to, multiply(op, c, mat, b, alpha, beta)
}

// Dot is the sum of the products of two vectors' elements.
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
		return nil, status.Runtimef("%s: inconsistent tensor size, expected tensors to have the same number of elements, but got %d and %d", op, self.Numel(), other.Numel())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	to, _, err := productOutput(op, out, nil, self.DType(), self, other)
	if err != nil || to.IsMeta() {
		return to, err
	}
	return to, dot(op, to, self, other, conjugate)
}

// Outer is the matrix of all products of two vectors' elements.
func Outer(out, self, vec2 *tensor.Tensor) (*tensor.Tensor, error) {
	for i, t := range []*tensor.Tensor{self, vec2} {
		if err := wantDims("outer", []string{"self", "vec2"}[i], t, 1); err != nil {
			return nil, err
		}
	}
	a, err := column("outer", self)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	b, err := row("outer", vec2)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return Mul(out, a, b)
}

// Addr is beta*self + alpha*outer(vec1, vec2). For bool, sums are or and products are and.
func Addr(out, self, vec1, vec2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	for i, t := range []*tensor.Tensor{vec1, vec2} {
		if err := wantDims("addr", []string{"vec1", "vec2"}[i], t, 1); err != nil {
			return nil, err
		}
	}
	sizes := []int64{vec1.Numel(), vec2.Numel()}
	if shaped, err := shape.Broadcast("addr", self.Sizes(), sizes); err != nil || !slices.Equal(shaped, sizes) {
		return nil, status.Runtimef("addr: size mismatch, input %v, v1 [%d], v2 [%d]", self.Sizes(), sizes[0], sizes[1])
	}
	d := resultType(self, vec1, vec2)
	if err := checkScale("addr", d, alpha, beta); err != nil {
		return nil, err
	}
	if d == dtype.Bool {
		for i, s := range []dtype.Scalar{alpha, beta} {
			if s.Kind != dtype.KindBool && s.Kind != dtype.KindInt {
				return nil, status.Runtimef("addr: for bool input tensors, argument %s must be a bool or an integer, got %v", []string{"alpha", "beta"}[i], s)
			}
		}
	}
	to, _, err := productOutput("addr", nil, sizes, d, self, vec1, vec2)
	if err != nil {
		return nil, err
	}
	if to.IsMeta() {
		return finishProduct("addr", out, to)
	}
	compute := d
	if d == dtype.Bool {
		compute, alpha, beta = dtype.Uint8, dtype.BoolScalar(alpha.Bool()), dtype.BoolScalar(beta.Bool())
	}
	parts := [3]*tensor.Tensor{}
	for i, t := range []*tensor.Tensor{vec1, vec2} {
		whole, err := castTo("addr", t, compute)
		if err != nil {
			return nil, err
		}
		defer whole.Release()
		view := column
		if i == 1 {
			view = row
		}
		if parts[i], err = view("addr", whole); err != nil {
			return nil, err
		}
		defer parts[i].Release()
	}
	if parts[2], err = tensor.Empty("addr", sizes, compute, to.Device()); err != nil {
		return nil, err
	}
	defer parts[2].Release()
	if !beta.Equal(0) {
		iter.Copy(parts[2], self)
	}
	if err := multiply("addr", parts[2], parts[0], parts[1], alpha, beta); err != nil {
		return nil, err
	}
	iter.Copy(to, parts[2])
	return finishProduct("addr", out, to)
}

// finishProduct hands made over to out where there is one.
func finishProduct(op string, out, made *tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return made, nil
	}
	defer made.Release()
	to, _, err := productOutput(op, out, made.Sizes(), made.DType(), made)
	if err != nil || to.IsMeta() {
		return to, err
	}
	iter.Copy(to, made)
	return to, nil
}

// Matmul multiplies as Python's @ does: vectors get a dimension of size 1 that the result loses, batch dimensions broadcast.
func Matmul(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
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
	a, b := self, other
	var err error
	if a.Dim() == 1 {
		if a, err = row("matmul", a); err != nil {
			return nil, err
		}
		defer a.Release()
	}
	if b.Dim() == 1 {
		if b, err = column("matmul", b); err != nil {
			return nil, err
		}
		defer b.Release()
	}
	sa, sb := a.Sizes(), b.Sizes()
	na, nb := len(sa), len(sb)
	m, k, n := sa[na-2], sa[na-1], sb[nb-1]
	if k != sb[nb-2] {
		return nil, status.Runtimef("matmul: mat1 and mat2 shapes cannot be multiplied (%v and %v): the inner sizes %d and %d differ", self.Sizes(), other.Sizes(), k, sb[nb-2])
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
	made, err := batchedProduct(a, b, batch, m, k, n)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	shaped, err := reshaped("matmul", made, sizes...)
	if err != nil {
		return nil, err
	}
	return finishProduct("matmul", out, shaped)
}

// batchedProduct is a contiguous tensor of the products, as one large product where b is a single matrix.
func batchedProduct(a, b *tensor.Tensor, batch []int64, m, k, n int64) (*tensor.Tensor, error) {
	count := shape.Product(batch)
	if b.Dim() == 2 {
		flat, err := reshaped("matmul", a, count*m, k)
		if err != nil {
			return nil, err
		}
		defer flat.Release()
		return matrixProduct("matmul", nil, nil, flat, b, []int64{count * m, n}, unscale, zero)
	}
	wa, err := batched(a, batch, count)
	if err != nil {
		return nil, err
	}
	defer wa.Release()
	wb, err := batched(b, batch, count)
	if err != nil {
		return nil, err
	}
	defer wb.Release()
	return matrixProduct("matmul", nil, nil, wa, wb, []int64{count, m, n}, unscale, zero)
}

// batched broadcasts t's batch dimensions and joins them into one.
func batched(t *tensor.Tensor, batch []int64, count int64) (*tensor.Tensor, error) {
	matrix := t.Sizes()[t.Dim()-2:]
	wide, err := expanded("matmul", t, append(slices.Clone(batch), matrix...))
	if err != nil {
		return nil, err
	}
	defer wide.Release()
	return reshaped("matmul", wide, count, matrix[0], matrix[1])
}

// expanded views t broadcast to sizes.
func expanded(op string, t *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	strides := make([]int64, len(sizes))
	shift := len(sizes) - t.Dim()
	for i := shift; i < len(sizes); i++ {
		if t.Sizes()[i-shift] == sizes[i] {
			strides[i] = t.Strides()[i-shift]
		}
	}
	return t.View(op, sizes, strides, t.Offset())
}
