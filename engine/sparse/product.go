package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkFactors ends the function with an error for operands of a product that do not fit.
func checkFactors(b *build.Builder, mat1, mat2 *tensor.Tensor, dims ...int) {
	for i, t := range []*tensor.Tensor{mat1, mat2} {
		switch {
		case t.Dim() != dims[i]:
			b.Failf("expected a %dD tensor as operand %d, but got sizes %v", dims[i], i+1, t.Sizes())
		case isSparse(t) && denseDim(t) != 0:
			b.Failf("operand %d has %d dense dimensions, which products do not support; convert with to_dense()", i+1, denseDim(t))
		}
	}
	switch {
	case mat1.DType() != mat2.DType():
		b.Failf("expected m1 and m2 to have the same dtype, but got: %v != %v", mat1.DType(), mat2.DType())
	case mat1.DType() == dtype.Bool:
		b.Check(status.NotImplementedf("%s: not implemented for dtype bool", b.Op))
	case mat1.Sizes()[mat1.Dim()-1] != mat2.Sizes()[max(mat2.Dim()-2, 0)]:
		b.Failf("mat1 and mat2 shapes cannot be multiplied (%v and %v): the inner sizes %d and %d differ", mat1.Sizes(), mat2.Sizes(),
			mat1.Sizes()[mat1.Dim()-1], mat2.Sizes()[max(mat2.Dim()-2, 0)])
	}
}

// mm returns the product of two matrices, of which one at least is sparse: strided unless both are. A strided out takes that of two
// compressed ones, too.
func mm(c dispatch.Context, out, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "mm")
	defer b.Close(&err)
	checkFactors(b, self, mat2, 2, 2)
	t := multiplyMatrices(b, self, mat2)
	if out != nil && !isSparse(out) && isCsrOrCsc(self) && isCsrOrCsc(mat2) {
		t = asDense(b, t)
	}
	return writeResult(b, out, t)
}

// isCsrOrCsc reports whether t has the layout CSR or CSC.
func isCsrOrCsc(t *tensor.Tensor) bool { return t.Layout() == tensor.CSR || t.Layout() == tensor.CSC }

// multiplyMatrices returns the product of two matrices in any layouts: sparse if both are.
func multiplyMatrices(b *build.Builder, mat1, mat2 *tensor.Tensor) *tensor.Tensor {
	switch {
	case isSparse(mat1) && isSparse(mat2):
		return multiplySparse(b, mat1, mat2)
	case isSparse(mat1):
		return multiplyRows(b, mat1, mat2)
	case !isSparse(mat2):
		return b.Mm(mat1, mat2)
	}
	t := multiplyRows(b, b.Track(transpose(b.C, nil, mat2, 0, 1)), b.Transpose(mat1, 0, 1))
	return b.AsContiguous(b.Transpose(t, 0, 1))
}

// multiplyRows returns the product of a sparse matrix and a dense vector or matrix.
func multiplyRows(b *build.Builder, mat1, mat2 *tensor.Tensor) *tensor.Tensor {
	p := csrComponents(b, mat1)
	return b.CsrSpmm(p.Indices[0], p.Indices[1], p.Values, mat2)
}

// csrForm is the form of the sparse operands of products.
var csrForm = form{tensor.CSR, [2]int64{1, 1}, 0}

// csrComponents returns the parts of a sparse matrix in the layout CSR.
func csrComponents(b *build.Builder, mat *tensor.Tensor) *tensor.SparseComponents {
	return asForm(b, mat, csrForm).Components()
}

// multiplySparse returns the product of two sparse matrices: COO if both are COO, otherwise CSR.
func multiplySparse(b *build.Builder, mat1, mat2 *tensor.Tensor) *tensor.Tensor {
	x, y := csrComponents(b, mat1), csrComponents(b, mat2)
	sizes := []int64{mat1.Sizes()[0], mat2.Sizes()[1]}
	crow, col, values, err := b.C.CsrSpgemm(x.Indices[0], x.Indices[1], x.Values, y.Indices[0], y.Indices[1], y.Values, sizes[1])
	result := assembleCompressed(b, tensor.CSR, sizes, b.Track(crow, err), b.Track(col, nil), b.Track(values, nil))
	if mat1.Layout() == tensor.COO && mat2.Layout() == tensor.COO {
		return asForm(b, result, form{tensor.COO, [2]int64{1, 1}, 0})
	}
	return result
}

// mv returns the product of a matrix and a vector, which is strided.
func mv(c dispatch.Context, out, self, vec *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "mv")
	defer b.Close(&err)
	checkFactors(b, self, vec, 2, 1)
	vec = asDense(b, vec)
	if !isSparse(self) {
		return b.ReturnNew(c.Mv(out, self, vec))
	}
	return writeResult(b, out, multiplyRows(b, self, vec))
}

// bmm returns the product of the matrices of two batches, of which the second is strided.
func bmm(c dispatch.Context, out, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "bmm")
	defer b.Close(&err)
	checkFactors(b, self, mat2, 3, 3)
	mat2 = asDense(b, mat2)
	if self.Sizes()[0] != mat2.Sizes()[0] {
		b.Failf("the batches have %d and %d matrices", self.Sizes()[0], mat2.Sizes()[0])
	}
	if !isSparse(self) {
		return b.ReturnNew(c.Bmm(out, self, mat2))
	}
	x := coordinatesOf(b, self)
	n, rows, inner, columns := self.Sizes()[0], self.Sizes()[1], self.Sizes()[2], mat2.Sizes()[2]
	at := checkIndexBounds(b, x.indices, x.sizes)
	line := func(size int64, d int64) *tensor.Tensor {
		return b.Add(mulInt(b, b.Select(at, 0, 0), size), b.Select(at, 0, d))
	}
	// The matrices of the batch on the diagonal of one.
	all := assembleCoo(b, coordinates{b.Stack([]*tensor.Tensor{line(rows, 1), line(inner, 2)}, 0), x.values, []int64{n * rows, n * inner},
		x.coalesced})
	return writeResult(b, out, b.AsShape(multiplyRows(b, all, b.AsShape(mat2, n*inner, columns)), n, rows, columns))
}

// matmul returns the product of matrices and vectors; batches of matrices are bmm's.
func matmul(c dispatch.Context, out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "matmul")
	defer b.Close(&err)
	switch {
	case self.Dim() == 2 && other.Dim() == 2:
		return mm(c, out, self, other)
	case self.Dim() == 2 && other.Dim() == 1:
		return mv(c, out, self, other)
	case self.Dim() == 1 && other.Dim() == 2:
		t := b.Transpose(other, 0, 1)
		return b.ReturnNew(mv(c, out, t, self))
	case self.Dim() == 1 && other.Dim() == 1:
		x, y := asDense(b, self), asDense(b, other)
		return b.ReturnNew(c.Matmul(out, x, y))
	case self.Dim() == 3 && other.Dim() == 3:
		return bmm(c, out, self, other)
	case self.Dim() > 2 && (other.Dim() == 1 || other.Dim() == 2): // the matrices of the batch below each other
		n := int64(self.Dim() - 1)
		lead := slices.Clone(self.Sizes()[:n])
		var all *tensor.Tensor
		if isSparse(self) {
			all = reshapeTo(b, asForm(b, self, form{tensor.COO, [2]int64{1, 1}, 0}), []int64{shape.Product(lead), self.Sizes()[n]})
		} else {
			all = b.AsShape(self, shape.Product(lead), self.Sizes()[n])
		}
		result := b.Track(matmul(c, nil, all, other))
		return writeResult(b, out, b.AsShape(result, append(lead, other.Sizes()[1:other.Dim():other.Dim()]...)...))
	}
	b.Failf("sparse tensors of sizes %v and %v cannot be multiplied; expected matrices, vectors or batches of the same number of matrices",
		self.Sizes(), other.Sizes())
	return nil, nil
}

// addmm returns beta*self + alpha*(mat1 @ mat2).
func addmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	b := build.New(c, "addmm")
	defer b.Close(&err)
	checkFactors(b, mat1, mat2, 2, 2)
	return addProduct(b, out, self, multiplyMatrices(b, mat1, mat2), beta, alpha)
}

// addmv returns beta*self + alpha*(mat @ vec).
func addmv(c dispatch.Context, out, self, mat, vec *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	b := build.New(c, "addmv")
	defer b.Close(&err)
	checkFactors(b, mat, vec, 2, 1)
	return addProduct(b, out, self, b.Track(mv(c, nil, mat, vec)), beta, alpha)
}

// addProduct returns beta*self + alpha*product.
func addProduct(b *build.Builder, out, self, product *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	switch {
	case !shape.ExpandsTo(self.Sizes(), product.Sizes()):
		b.Failf("the added tensor of sizes %v does not broadcast to the sizes %v of the product", self.Sizes(), product.Sizes())
	case isSparse(self) && isSparse(product) && !slices.Equal(self.Sizes(), product.Sizes()):
		b.Failf("the added sparse tensor must have the sizes %v of the product, but got %v", product.Sizes(), self.Sizes())
	case self.DType() != product.DType():
		b.Failf("expected the added tensor to have the dtype %v of the matrices, but got %v", product.DType(), self.DType())
	}
	beta, alpha = castFactor(b, beta, product.DType()), castFactor(b, alpha, product.DType())
	if beta.Equal(0) { // self does not count, nor do its NaN
		scaled := b.Mul(product, b.Number(alpha))
		if isSparse(self) && isSparse(product) {
			return writeResult(b, out, asForm(b, scaled, formOf(self)))
		}
		return writeResult(b, out, asDense(b, scaled))
	}
	if !beta.Equal(1) {
		self = b.Mul(self, b.Number(beta))
	}
	return b.ReturnNew(b.C.Add(out, self, product, alpha))
}

// castFactor converts a scalar to a factor for matrices of a dtype: without its fraction for integers.
func castFactor(b *build.Builder, v dtype.Scalar, d dtype.DType) dtype.Scalar {
	switch {
	case !v.Fits(d.Compute()):
		b.Failf("value %v cannot be converted to type %v without overflow", v, d)
	case v.Kind == dtype.KindBool || d.IsIntegral() && v.Kind == dtype.KindFloat:
		return dtype.IntScalar(v.Int())
	case !d.IsComplex() && v.Kind == dtype.KindComplex:
		return dtype.FloatScalar(v.F)
	}
	return v
}

// multiplyFilledRows returns the indices of the rows in which mat1 has entries, and these rows of the product with a strided matrix.
func multiplyFilledRows(b *build.Builder, mat1, mat2 *tensor.Tensor) (rows, product *tensor.Tensor) {
	checkFactors(b, mat1, mat2, 2, 2)
	if !isSparse(mat1) {
		b.Failf("expected a sparse tensor as operand 1, but got layout %v", mat1.Layout())
	}
	x := coalesceCoordinates(b, coordinatesOf(b, mat1))
	all := multiplyMatrices(b, mat1, asDense(b, mat2))
	rows, _, _ = b.UniqueConsecutive(b.Select(asInt64(b, x.indices), 0, 0), true, true, noDim)
	return rows, b.IndexSelect(all, 0, rows)
}

// multiplyToCoo returns the product of a sparse matrix and a strided one in the layout COO: all elements of the rows that have entries.
func multiplyToCoo(b *build.Builder, mat1, mat2 *tensor.Tensor) *tensor.Tensor {
	rows, product := multiplyFilledRows(b, mat1, mat2)
	n, m := rows.Numel(), mat2.Sizes()[1]
	each := makeRange(b, n*m, rows.Device())
	at := b.Stack([]*tensor.Tensor{b.IndexSelect(rows, 0, floorDivInt(b, each, max(m, 1))), remainderInt(b, each, max(m, 1))}, 0)
	return assembleCoo(b, coordinates{at, b.AsShape(product, n*m), []int64{mat1.Sizes()[0], m}, true})
}

// Smm returns the product of a sparse matrix and a strided one in the layout COO.
func Smm(c dispatch.Context, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "smm")
	defer b.Close(&err)
	return b.Return(multiplyToCoo(b, self, mat2))
}

// Sspaddmm returns beta*self + alpha*(mat1 @ mat2) in the layout COO.
func Sspaddmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sspaddmm")
	defer b.Close(&err)
	if !isSparse(self) {
		b.Failf("expected a sparse tensor as self, but got layout %v", self.Layout())
	}
	product := multiplyToCoo(b, mat1, mat2)
	if !slices.Equal(self.Sizes(), product.Sizes()) {
		b.Failf("self must have the sizes %v of the product, but got %v", product.Sizes(), self.Sizes())
	}
	return addProduct(b, out, asForm(b, self, form{tensor.COO, [2]int64{1, 1}, 0}), product, beta, alpha)
}

// Hspmm returns the product of a sparse matrix and a strided one with rows of elements for entries.
func Hspmm(c dispatch.Context, out, mat1, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "hspmm")
	defer b.Close(&err)
	rows, product := multiplyFilledRows(b, mat1, mat2)
	return writeResult(b, out, assembleCoo(b, coordinates{b.Unsqueeze(rows, 0), product, []int64{mat1.Sizes()[0], mat2.Sizes()[1]}, true}))
}

// SparseMmReduce returns a product whose elements are the sum, the mean, the largest or the least of the products of a row's entries; 0
// where a row has none.
func SparseMmReduce(c dispatch.Context, self, mat2 *tensor.Tensor, reduce string) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse.mm")
	defer b.Close(&err)
	checkFactors(b, self, mat2, 2, 2)
	switch {
	case !isSparse(self) || isSparse(mat2):
		b.Failf("reduce requires a sparse and a strided matrix, but got layouts %v and %v", self.Layout(), mat2.Layout())
	case !slices.Contains([]string{"sum", "mean", "amax", "amin"}, reduce):
		b.Failf("reduce must be one of sum, mean, amax and amin, but got %s", reduce)
	case reduce == "sum":
		return b.Return(multiplyMatrices(b, self, mat2))
	}
	x := coalesceCoordinates(b, coordinatesOf(b, self))
	indices := asInt64(b, x.indices)
	products := b.Mul(b.Unsqueeze(x.values, 1), b.IndexSelect(mat2, 0, b.Select(indices, 0, 1)))
	rows, of, _ := b.UniqueConsecutive(b.Select(indices, 0, 0), true, true, noDim)
	nothing := makeReductionStart(b, mat2, rows.Numel(), mat2.Sizes()[1])
	reduced := b.IndexReduceWith(nothing, 0, of, products, reduce, false)
	return b.Return(sumByIndex(b, self.Sizes()[0], rows, reduced))
}
