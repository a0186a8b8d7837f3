package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// factors returns an error for operands of a product that do not fit.
func (s *scope) factors(a, b *tensor.Tensor, dims ...int) {
	for i, t := range []*tensor.Tensor{a, b} {
		switch {
		case t.Dim() != dims[i]:
			s.Failf("expected a %dD tensor as operand %d, but got sizes %v", dims[i], i+1, t.Sizes())
		case isSparse(t) && denseDim(t) != 0:
			s.Failf("operand %d has %d dense dimensions, which products do not support; convert with to_dense()", i+1, denseDim(t))
		}
	}
	switch {
	case a.DType() != b.DType():
		s.Failf("expected m1 and m2 to have the same dtype, but got: %v != %v", a.DType(), b.DType())
	case a.DType() == dtype.Bool:
		s.Check(status.NotImplementedf("%s: not implemented for dtype bool", s.Op))
	case a.Sizes()[a.Dim()-1] != b.Sizes()[max(b.Dim()-2, 0)]:
		s.Failf("mat1 and mat2 shapes cannot be multiplied (%v and %v): the inner sizes %d and %d differ", a.Sizes(), b.Sizes(), a.Sizes()[a.Dim()-1], b.Sizes()[max(b.Dim()-2, 0)])
	}
}

// mm returns the product of two matrices, of which one at least is sparse: strided unless both are. A strided out takes that of two compressed ones,
// too.
func mm(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "mm")
	defer s.Close(&err)
	s.factors(a, b, 2, 2)
	t := s.product(a, b)
	if out != nil && !isSparse(out) && inLines(a) && inLines(b) {
		t = s.dense(t)
	}
	return s.result(out, t)
}

func inLines(t *tensor.Tensor) bool { return t.Layout() == tensor.CSR || t.Layout() == tensor.CSC }

func (s *scope) product(a, b *tensor.Tensor) *tensor.Tensor {
	switch {
	case isSparse(a) && isSparse(b):
		return s.sparseProduct(a, b)
	case isSparse(a):
		return s.rowsOf(a, b)
	case !isSparse(b):
		return s.Mm(a, b)
	}
	t := s.rowsOf(s.Track(transpose(s.C, nil, b, 0, 1)), s.turned(a))
	return s.AsContiguous(s.turned(t))
}

func (s *scope) turned(t *tensor.Tensor) *tensor.Tensor {
	return s.Transpose(t, 0, 1)
}

// rowsOf returns the product of a sparse matrix and a dense vector or matrix.
func (s *scope) rowsOf(a, b *tensor.Tensor) *tensor.Tensor {
	return s.onto(s.rows(a), b)
}

// compressedRows is the layout of the operands of products.
var compressedRows = form{tensor.CSR, [2]int64{1, 1}, 0}

// rows returns the parts of a sparse matrix in the layout CSR.
func (s *scope) rows(a *tensor.Tensor) *tensor.Parts {
	a = s.as(a, compressedRows)
	return a.Parts()
}

func (s *scope) onto(a *tensor.Parts, b *tensor.Tensor) *tensor.Tensor {
	return s.CsrSpmm(a.Indices[0], a.Indices[1], a.Values, b)
}

// sparseProduct returns the product of two sparse matrices: COO of two of these, else CSR.
func (s *scope) sparseProduct(a, b *tensor.Tensor) *tensor.Tensor {
	x, y := s.rows(a), s.rows(b)
	sizes := []int64{a.Sizes()[0], b.Sizes()[1]}
	crow, col, values, err := s.C.CsrSpgemm(x.Indices[0], x.Indices[1], x.Values, y.Indices[0], y.Indices[1], y.Values, sizes[1])
	made := s.assemble(tensor.CSR, sizes, s.Track(crow, err), s.Track(col, nil), s.Track(values, nil))
	if a.Layout() == tensor.COO && b.Layout() == tensor.COO {
		return s.as(made, form{tensor.COO, [2]int64{1, 1}, 0})
	}
	return made
}

// mv returns the product of a matrix and a vector, which is strided.
func mv(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "mv")
	defer s.Close(&err)
	s.factors(a, b, 2, 1)
	b = s.dense(b)
	if !isSparse(a) {
		return s.ReturnNew(c.Mv(out, a, b))
	}
	return s.result(out, s.rowsOf(a, b))
}

// bmm returns the product of the matrices of two batches, of which the second is strided.
func bmm(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "bmm")
	defer s.Close(&err)
	s.factors(a, b, 3, 3)
	b = s.dense(b)
	if a.Sizes()[0] != b.Sizes()[0] {
		s.Failf("the batches have %d and %d matrices", a.Sizes()[0], b.Sizes()[0])
	}
	if !isSparse(a) {
		return s.ReturnNew(c.Bmm(out, a, b))
	}
	x := s.coordinatesOf(a)
	n, rows, inner, columns := a.Sizes()[0], a.Sizes()[1], a.Sizes()[2], b.Sizes()[2]
	at := s.inside(x.indices, x.sizes)
	line := func(size int64, d int64) *tensor.Tensor {
		return s.Add(s.times(s.Select(at, 0, 0), size), s.Select(at, 0, d))
	}
	// The matrices of the batch on the diagonal of one.
	all := s.tensor(coordinates{s.Stack([]*tensor.Tensor{line(rows, 1), line(inner, 2)}, 0), x.values, []int64{n * rows, n * inner}, x.coalesced})
	return s.result(out, s.AsShape(s.rowsOf(all, s.AsShape(b, n*inner, columns)), n, rows, columns))
}

// matmul returns the product of matrices and vectors; batches of matrices are bmm's.
func matmul(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "matmul")
	defer s.Close(&err)
	switch {
	case a.Dim() == 2 && b.Dim() == 2:
		return mm(c, out, a, b)
	case a.Dim() == 2 && b.Dim() == 1:
		return mv(c, out, a, b)
	case a.Dim() == 1 && b.Dim() == 2:
		t := s.Transpose(b, 0, 1)
		return s.ReturnNew(mv(c, out, t, a))
	case a.Dim() == 1 && b.Dim() == 1:
		x, y := s.dense(a), s.dense(b)
		return s.ReturnNew(c.Matmul(out, x, y))
	case a.Dim() == 3 && b.Dim() == 3:
		return bmm(c, out, a, b)
	case a.Dim() > 2 && (b.Dim() == 1 || b.Dim() == 2): // the matrices of the batch below each other
		n := int64(a.Dim() - 1)
		lead := slices.Clone(a.Sizes()[:n])
		var all *tensor.Tensor
		if isSparse(a) {
			all = s.resized(s.as(a, form{tensor.COO, [2]int64{1, 1}, 0}), []int64{shape.Product(lead), a.Sizes()[n]})
		} else {
			all = s.AsShape(a, shape.Product(lead), a.Sizes()[n])
		}
		made := s.Track(matmul(c, nil, all, b))
		return s.result(out, s.AsShape(made, append(lead, b.Sizes()[1:b.Dim():b.Dim()]...)...))
	}
	s.Failf("sparse tensors of sizes %v and %v cannot be multiplied; expected matrices, vectors or batches of the same number of matrices", a.Sizes(), b.Sizes())
	return nil, nil
}

// addmm returns beta*self + alpha*(a @ b).
func addmm(c dispatch.Context, out, self, a, b *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	s := newScope(c, "addmm")
	defer s.Close(&err)
	s.factors(a, b, 2, 2)
	return s.sumWith(out, self, s.product(a, b), beta, alpha)
}

// addmv returns beta*self + alpha*(a @ b).
func addmv(c dispatch.Context, out, self, a, b *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	s := newScope(c, "addmv")
	defer s.Close(&err)
	s.factors(a, b, 2, 1)
	return s.sumWith(out, self, s.Track(mv(c, nil, a, b)), beta, alpha)
}

func (s *scope) sumWith(out, self, product *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	switch {
	case !shape.ExpandsTo(self.Sizes(), product.Sizes()):
		s.Failf("the added tensor of sizes %v does not broadcast to the sizes %v of the product", self.Sizes(), product.Sizes())
	case isSparse(self) && isSparse(product) && !slices.Equal(self.Sizes(), product.Sizes()):
		s.Failf("the added sparse tensor must have the sizes %v of the product, but got %v", product.Sizes(), self.Sizes())
	case self.DType() != product.DType():
		s.Failf("expected the added tensor to have the dtype %v of the matrices, but got %v", product.DType(), self.DType())
	}
	beta, alpha = s.factor(beta, product.DType()), s.factor(alpha, product.DType())
	if beta.Equal(0) { // self does not count, nor do its NaN
		made := s.Mul(product, s.Number(alpha))
		if isSparse(self) && isSparse(product) {
			return s.result(out, s.as(made, formOf(self)))
		}
		return s.result(out, s.dense(made))
	}
	if !beta.Equal(1) {
		self = s.Mul(self, s.Number(beta))
	}
	return s.ReturnNew(s.C.Add(out, self, product, alpha))
}

// factor converts a scalar to a factor for matrices of a dtype: without its fraction for integers.
func (s *scope) factor(v dtype.Scalar, d dtype.DType) dtype.Scalar {
	switch {
	case !v.Fits(d.Compute()):
		s.Failf("value %v cannot be converted to type %v without overflow", v, d)
	case v.Kind == dtype.KindBool || d.IsIntegral() && v.Kind == dtype.KindFloat:
		return dtype.IntScalar(v.Int())
	case !d.IsComplex() && v.Kind == dtype.KindComplex:
		return dtype.FloatScalar(v.F)
	}
	return v
}

// filled returns the numbers of the rows in which the first factor has entries, and these rows of the product with a strided matrix.
func (s *scope) filled(a, b *tensor.Tensor) (rows, product *tensor.Tensor) {
	s.factors(a, b, 2, 2)
	if !isSparse(a) {
		s.Failf("expected a sparse tensor as operand 1, but got layout %v", a.Layout())
	}
	x := s.coalesced(s.coordinatesOf(a))
	made := s.product(a, s.dense(b))
	rows, _, _ = s.unique(s.Select(s.wide(x.indices), 0, 0))
	return rows, s.take(made, 0, rows)
}

// productEntries returns the product of a sparse matrix and a strided one in the layout COO: all elements of the rows that have entries.
func (s *scope) productEntries(a, b *tensor.Tensor) *tensor.Tensor {
	rows, made := s.filled(a, b)
	n, m := rows.Numel(), b.Sizes()[1]
	each := s.arange(n*m, rows.Device())
	at := s.Stack([]*tensor.Tensor{s.take(rows, 0, s.quotient(each, max(m, 1))), s.remainder(each, max(m, 1))}, 0)
	return s.tensor(coordinates{at, s.AsShape(made, n*m), []int64{a.Sizes()[0], m}, true})
}

// Smm returns the product of a sparse matrix and a strided one in the layout COO.
func Smm(c dispatch.Context, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "smm")
	defer s.Close(&err)
	return s.Return(s.productEntries(self, mat2))
}

// Sspaddmm returns beta*self + alpha*(mat1 @ mat2) in the layout COO.
func Sspaddmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sspaddmm")
	defer s.Close(&err)
	if !isSparse(self) {
		s.Failf("expected a sparse tensor as self, but got layout %v", self.Layout())
	}
	made := s.productEntries(mat1, mat2)
	if !slices.Equal(self.Sizes(), made.Sizes()) {
		s.Failf("self must have the sizes %v of the product, but got %v", made.Sizes(), self.Sizes())
	}
	return s.sumWith(out, s.as(self, form{tensor.COO, [2]int64{1, 1}, 0}), made, beta, alpha)
}

// Hspmm returns the product of a sparse matrix and a strided one with rows of elements for entries.
func Hspmm(c dispatch.Context, out, mat1, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "hspmm")
	defer s.Close(&err)
	rows, made := s.filled(mat1, mat2)
	return s.result(out, s.tensor(coordinates{s.Unsqueeze(rows, 0), made, []int64{mat1.Sizes()[0], mat2.Sizes()[1]}, true}))
}

// SparseMmReduce returns a product whose elements are the sum, the mean, the largest or the least of the products of a row's entries; 0 where a row
// has none.
func SparseMmReduce(c dispatch.Context, self, mat2 *tensor.Tensor, reduce string) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse.mm")
	defer s.Close(&err)
	s.factors(self, mat2, 2, 2)
	switch {
	case !isSparse(self) || isSparse(mat2):
		s.Failf("reduce requires a sparse and a strided matrix, but got layouts %v and %v", self.Layout(), mat2.Layout())
	case !slices.Contains([]string{"sum", "mean", "amax", "amin"}, reduce):
		s.Failf("reduce must be one of sum, mean, amax and amin, but got %s", reduce)
	case reduce == "sum":
		return s.Return(s.product(self, mat2))
	}
	x := s.coalesced(s.coordinatesOf(self))
	indices := s.wide(x.indices)
	products := s.Mul(s.Unsqueeze(x.values, 1), s.take(mat2, 0, s.Select(indices, 0, 1)))
	rows, of, _ := s.unique(s.Select(indices, 0, 0))
	nothing := s.nothing(mat2, rows.Numel(), mat2.Sizes()[1])
	reduced := s.IndexReduceWith(nothing, 0, of, products, reduce, false)
	return s.Return(s.gather(self.Sizes()[0], rows, reduced))
}
