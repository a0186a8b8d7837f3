package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SparseMask returns the elements of self at the positions of mask's entries.
func SparseMask(c dispatch.Context, self, mask *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse_mask")
	defer s.Close(&err)
	switch {
	case !isSparse(mask):
		s.Failf("the mask must be a sparse tensor, but has layout %v", mask.Layout())
	case !slices.Equal(self.Sizes(), mask.Sizes()):
		s.Failf("operands have incompatible sizes; self has size %v but mask has size %v", self.Sizes(), mask.Sizes())
	}
	given := s.coordinatesOf(mask)
	x := s.coalesced(given)
	x.values, x.coalesced = s.elements(s.dense(self), x), given.coalesced
	f := form{}
	f = formOf(mask)
	return s.Return(s.from(x, f))
}

// SparseSum adds up along dimensions.
func SparseSum(c dispatch.Context, self *tensor.Tensor, dim []int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	if dim != nil && len(dim) == 0 { // nothing is added up
		s := newScope(c, "sparse.sum")
		defer s.Close(&err)
		return s.Return(s.CastTo(self, d))
	}
	return c.Sum(nil, self, dim, false, d)
}

// SparseMm returns the product of a sparse matrix and another; of two CSC matrices it is CSC.
func SparseMm(c dispatch.Context, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if self.Layout() != tensor.CSC || mat2.Layout() != tensor.CSC {
		return c.Mm(nil, self, mat2)
	}
	s := newScope(c, "sparse.mm")
	defer s.Close(&err)
	s.factors(self, mat2, 2, 2)
	return s.Return(s.turned(s.Mm(s.turned(mat2), s.turned(self))))
}

// SparseAddmm returns beta*self + alpha*(mat1 @ mat2).
func SparseAddmm(c dispatch.Context, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return c.Addmm(nil, self, mat1, mat2, beta, alpha)
}

// SparseSampledAddmm computes beta*self + alpha*(mat1 @ mat2) at the positions of self's entries, for matrices and for batches of them.
func SparseSampledAddmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse.sampled_addmm")
	defer s.Close(&err)
	if n := mat1.Dim() - 2; isSparse(self) && self.Dim() == 2 && denseDim(self) == 0 && n > 0 && !isSparse(mat1) { // the same positions in each batch
		self = s.broadcast(self, slices.Concat(mat1.Sizes()[:n], self.Sizes()))
	}
	b := self.Dim() - 2
	switch {
	case !isSparse(self) || isSparse(mat1) || isSparse(mat2):
		s.Failf("expected a sparse tensor and two strided matrices, but got layouts %v, %v and %v", self.Layout(), mat1.Layout(), mat2.Layout())
	case b < 0 || mat1.Dim() != b+2 || mat2.Dim() != b+2 || denseDim(self) != 0:
		s.Failf("expected matrices, or batches of the same dimensions, but got sizes %v, %v and %v", self.Sizes(), mat1.Sizes(), mat2.Sizes())
	case !slices.Equal(self.Sizes()[:b], mat1.Sizes()[:b]) || !slices.Equal(self.Sizes()[:b], mat2.Sizes()[:b]):
		s.Failf("the batch sizes must be the same, but got sizes %v, %v and %v", self.Sizes(), mat1.Sizes(), mat2.Sizes())
	case mat1.Sizes()[b+1] != mat2.Sizes()[b] || mat1.Sizes()[b] != self.Sizes()[b] || mat2.Sizes()[b+1] != self.Sizes()[b+1]:
		s.Failf("matrices of sizes %v and %v cannot be multiplied to a result of sizes %v", mat1.Sizes(), mat2.Sizes(), self.Sizes())
	case self.DType() != mat1.DType() || self.DType() != mat2.DType():
		s.Failf("expected operands of the same dtype, but got %v, %v and %v", self.DType(), mat1.DType(), mat2.DType())
	case self.DType() == dtype.Bool:
		s.Check(status.NotImplementedf("%s: not implemented for dtype bool", s.Op))
	}
	beta, alpha = s.factor(beta, self.DType()), s.factor(alpha, self.DType())
	x := s.as(self, compressedRows)
	products := s.sampled(x, mat1, mat2)
	made := s.onValues(x, func(v *tensor.Tensor) *tensor.Tensor {
		if beta.Equal(0) {
			return s.Mul(products, s.Number(alpha))
		}
		if !beta.Equal(1) {
			v = s.Mul(v, s.Number(beta))
		}
		return s.AddWith(v, products, alpha)
	})
	return s.result(out, s.as(made, formOf(self)))
}

// sampled returns the elements of a matrix product at the positions of x, a CSR tensor, for each batch.
func (s *scope) sampled(x, a, b *tensor.Tensor) *tensor.Tensor {
	crow, col := x.Parts().Indices[0], x.Parts().Indices[1]
	if x.Dim() == 2 {
		columns := s.turned(b)
		return s.CsrSddmm(crow, col, a, columns)
	}
	sizes := col.Sizes()
	n := shape.Product(sizes[:x.Dim()-2])
	if n == 0 {
		return s.zeros(a, sizes...)
	}
	flat := func(t *tensor.Tensor, own int) *tensor.Tensor {
		return s.AsShape(t, append([]int64{n}, t.Sizes()[t.Dim()-own:]...)...)
	}
	crow, col, a, b = flat(crow, 1), flat(col, 1), flat(a, 2), flat(b, 2)
	each := make([]*tensor.Tensor, n)
	for i := range n {
		starts, columns, left, right := s.Select(crow, 0, i), s.Select(col, 0, i), s.Select(a, 0, i), s.turned(s.Select(b, 0, i))
		each[i] = s.CsrSddmm(starts, columns, left, right)
	}
	return s.AsShape(s.Stack(each, 0), sizes...)
}

// SparseSpdiags returns a matrix with the rows of diagonals on the diagonals that offsets selects: element j of a row is in column j.
func SparseSpdiags(c dispatch.Context, diagonals, offsets *tensor.Tensor, size []int64, l tensor.Layout) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse.spdiags")
	defer s.Close(&err)
	if l == tensor.NoLayout {
		l = tensor.COO
	}
	d, o := diagonals, offsets
	if !isSparse(d) && d.Dim() == 1 {
		d = s.Unsqueeze(d, 0)
	}
	if !isSparse(o) && o.Dim() == 0 {
		o = s.AsShape(o, 1)
	}
	switch {
	case isSparse(diagonals) || isSparse(offsets):
		s.Failf("diagonals and offsets must be strided, but got layouts %v and %v", diagonals.Layout(), offsets.Layout())
	case d.Dim() != 2:
		s.Failf("diagonals must be a vector or a matrix, but got sizes %v", diagonals.Sizes())
	case o.Dim() != 1 || d.Sizes()[0] != o.Sizes()[0]:
		s.Failf("the number of diagonals (%d) does not match the number of offsets, a vector of sizes %v", d.Sizes()[0], offsets.Sizes())
	case offsets.DType() != int64s:
		s.Failf("offsets must have dtype int64, but got %v", offsets.DType())
	case len(size) != 2 || size[0] < 0 || size[1] < 0:
		s.Failf("shape must be two sizes that are not negative, but got %v", size)
	case l != tensor.COO && l != tensor.CSR && l != tensor.CSC:
		s.Failf("only output layouts (sparse_coo, sparse_csr, sparse_csc) are supported, got %v", l)
	}
	once, _, _ := s.unique(first(s.sorted(o)))
	if once.Numel() != o.Numel() {
		s.Failf("offsets contain duplicate values")
	}
	n, m := d.Sizes()[0], d.Sizes()[1]
	each := s.arange(n*m, d.Device())
	column := s.remainder(each, max(m, 1))
	row := s.Sub(column, s.take(o, 0, s.quotient(each, max(m, 1))))
	inside := s.LogicalAnd(s.Ge(row, s.IntNumber(0)), s.Lt(row, s.IntNumber(size[0])))
	inside = s.LogicalAnd(inside, s.Lt(column, s.IntNumber(size[1])))
	of := s.AsShape(s.Nonzero(inside), -1)
	x := s.coalesced(coordinates{s.take(s.Stack([]*tensor.Tensor{row, column}, 0), 1, of), s.take(s.AsShape(d, n*m), 0, of), slices.Clone(size), false})
	return s.Return(s.from(x, form{l, [2]int64{1, 1}, 0}))
}

func first(a, _ *tensor.Tensor) *tensor.Tensor { return a }

// zero drops all entries.
func zero(c dispatch.Context, self *tensor.Tensor) (err error) {
	s := newScope(c, "zero_")
	defer s.Close(&err)
	t := s.cleared(self, self.DType(), self.Device())
	s.Check(self.Replace(s.Op, t.Sizes(), *t.Parts()))
	return nil
}

// cleared returns a tensor of the same form without entries.
func (s *scope) cleared(t *tensor.Tensor, d dtype.DType, dev device.Device) *tensor.Tensor {
	f := formOf(t)
	if !inBlocks(f.layout) && (f.layout == tensor.COO || f.dense == 0) {
		return s.empty(f.layout, slices.Clone(t.Sizes()), d, dev, t.Dim()-f.dense)
	}
	p, b := t.Parts(), batches(t)
	compressed := s.ZerosLikeWith(p.Indices[0], dtype.None, tensor.NoLayout, dev, shape.Contiguous)
	none := func(part *tensor.Tensor, d dtype.DType) *tensor.Tensor {
		sizes := slices.Clone(part.Sizes())
		sizes[b] = 0
		return s.ZerosWith(sizes, d, tensor.NoLayout, dev)
	}
	return s.assemble(f.layout, slices.Clone(t.Sizes()), compressed, none(p.Indices[1], p.Indices[1].DType()), none(p.Values, d))
}

// likeOf returns the dtype and device of the result of a *_like function.
func likeOf(t *tensor.Tensor, d dtype.DType, dev device.Device) (dtype.DType, device.Device) {
	if d == dtype.None {
		d = t.DType()
	}
	if dev.IsNone() {
		dev = t.Device()
	}
	return d, dev
}

// zerosLike returns a tensor without entries, in the requested layout.
func zerosLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	d, dev = likeOf(self, d, dev)
	s := newScope(c, "zeros_like")
	defer s.Close(&err)
	s.strided(l, f)
	switch {
	case l != tensor.NoLayout && inBlocks(l) && isSparse(self) && inBlocks(self.Layout()): // of the same blocks
		f := formOf(self)
		f.layout = l
		return s.Return(s.as(s.cleared(self, d, dev), f))
	case l != tensor.NoLayout && l != self.Layout():
		return s.ReturnNew(c.Zeros(nil, slices.Clone(self.Sizes()), d, l, dev))
	}
	return s.Return(s.cleared(self, d, dev))
}

// strided returns an error if a memory format is requested for a sparse result.
func (s *scope) strided(l tensor.Layout, f shape.MemoryFormat) {
	if l != tensor.Strided && f != shape.NoFormat && f != shape.Preserve {
		s.Failf("memory format %v is only supported for strided tensors, not for sparse ones", f)
	}
}

// outline returns a strided tensor of the sizes and the dtype of t without elements.
func (s *scope) outline(t *tensor.Tensor) *tensor.Tensor {
	return s.EmptyWith(slices.Clone(t.Sizes()), t.DType(), tensor.NoLayout, device.Device{Type: device.Meta, Index: -1}, shape.Contiguous)
}

// filledLike implements *_like functions: the result has the indices of self, and values that another function returns for those of self.
func filledLike(op string, values func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, dtype.DType, tensor.Layout, device.Device, shape.MemoryFormat) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		d, dev = likeOf(self, d, dev)
		s.strided(l, f)
		if l == tensor.Strided {
			plain := s.outline(self)
			return s.ReturnNew(values(c, plain, d, dev, f))
		}
		if !isSparse(self) || l != tensor.NoLayout && l != self.Layout() {
			s.Failf("layout %v cannot be created from a tensor of layout %v; convert with to_sparse() or to_dense()", l, self.Layout())
			return nil, nil
		}
		x := self
		if self.Layout() == tensor.COO {
			x = s.tensor(s.coalesced(s.coordinatesOf(self)))
		}
		return s.Return(s.onParts(x, s.clone, func(v *tensor.Tensor) *tensor.Tensor {
			return s.Track(values(c, v, d, dev, f))
		}))
	}
}

// indexGet reads positions of leading dimensions, slices of step 1 and whole ones.
func indexGet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem) (_ *tensor.Tensor, err error) {
	s := newScope(c, "index")
	defer s.Close(&err)
	if !isSparse(self) {
		s.Failf("sparse tensors are not supported as indices")
		return nil, nil
	}
	t, d, vectors := self, int64(0), 0
	left := len(items)
	for _, item := range items {
		left--
		was, at := t, d
		if (item.Kind == ops.IndexInt || item.Kind == ops.IndexSlice || item.Kind == ops.IndexTensor) && at >= int64(was.Dim()) {
			s.Failf("too many indices for a tensor of dimension %d", self.Dim())
		}
		switch item.Kind {
		case ops.IndexInt:
			t = s.Select(was, at, item.Start)
		case ops.IndexSlice:
			t = s.Track(slice(c, was, at, ops.Int(item.Start), ops.Int(item.Stop), ops.Int(item.Step).Or(1)))
			d++
		case ops.IndexNewAxis:
			t = s.Unsqueeze(was, at)
			d++
		case ops.IndexEllipsis:
			d = int64(was.Dim() - consumed(items[len(items)-left:]))
		case ops.IndexTensor:
			if vectors++; vectors > 1 || item.Tensor.Dim() != 1 || !item.Tensor.DType().IsIntegral() || isSparse(item.Tensor) {
				s.Failf("sparse tensors support integers, slices and one 1-D integer tensor as indices; convert with to_dense()")
				break
			}
			t = s.take(was, at, item.Tensor)
			d++
		default:
			s.Failf("sparse tensors support integers, slices and one 1-D integer tensor as indices; convert with to_dense()")
		}
	}
	return s.Return(t)
}

// consumed returns the number of dimensions that items are about.
func consumed(items []ops.IndexItem) (n int) {
	for _, item := range items {
		if item.Kind == ops.IndexInt || item.Kind == ops.IndexSlice || item.Kind == ops.IndexTensor {
			n++
		}
	}
	return n
}

// copied replaces the entries of self by those of src, in its own layout.
func copied(c dispatch.Context, self, src *tensor.Tensor, busy bool) (err error) {
	s := newScope(c, "copy_")
	defer s.Close(&err)
	switch {
	case !isSparse(self):
		d := s.dense(src)
		s.Copy(self, d, busy)
		return nil
	case !isSparse(src):
		s.Failf("copying between a strided and a sparse tensor is not supported; convert with to_sparse()")
	case !slices.Equal(self.Sizes(), src.Sizes()):
		s.Failf("the sizes of sparse tensors must be the same, but got %v and %v", self.Sizes(), src.Sizes())
	case self.Layout() != src.Layout():
		s.Failf("cannot copy to a tensor of layout %v from one of layout %v; convert with to_sparse(layout=%v)", self.Layout(), src.Layout(), self.Layout())
	case self.Layout() != tensor.COO && formOf(self) != formOf(src):
		s.Failf("blocks and dense dimensions must be the same, but got values of sizes %v and %v", self.Parts().Values.Sizes(), src.Parts().Values.Sizes())
	case self.Layout() != tensor.COO && entries(self) != entries(src):
		s.Failf("tensors of layout %v must have the same number of entries, but got %d and %d; use clone()", self.Layout(), entries(self), entries(src))
	}
	x := s.as(src, formOf(self))
	x = s.ToOptionsWith(x, self.DType(), tensor.NoLayout, self.Device(), false, true, shape.Preserve)
	s.Check(self.Replace(s.Op, x.Sizes(), *x.Parts()))
	return nil
}

// isContiguous returns false: entries are not in the order of elements.
func isContiguous(_ dispatch.Context, _ *tensor.Tensor, _ shape.MemoryFormat) (bool, error) {
	return false, nil
}

// equal reports whether two tensors have the same sizes and elements.
func equal(c dispatch.Context, self, other *tensor.Tensor) (_ bool, err error) {
	s := newScope(c, "equal")
	defer s.Close(&err)
	if !slices.Equal(self.Sizes(), other.Sizes()) {
		return false, nil
	}
	x, y := s.beside(self, other)
	return c.Equal(x, y)
}

// beside returns strided tensors to compare in place of a and b: their values if the entries are at the same positions, otherwise dense copies.
func (s *scope) beside(a, b *tensor.Tensor) (x, y *tensor.Tensor) {
	if s.together(a, b) {
		return a.Parts().Values, b.Parts().Values
	}
	return s.dense(a), s.dense(b)
}

// together reports whether two tensors are known to be sparse and to have entries at the same positions, in the same order, without duplicates.
func (s *scope) together(a, b *tensor.Tensor) bool {
	p, q := a.Parts(), b.Parts()
	if p == nil || q == nil || !slices.Equal(a.Sizes(), b.Sizes()) || formOf(a) != formOf(b) || entries(a) != entries(b) ||
		a.Layout() == tensor.COO && !(p.Coalesced && q.Coalesced) || !backend.Known(p.Values) || !backend.Known(q.Values) {
		return false
	}
	for i := range p.Indices {
		same, err := s.C.Equal(p.Indices[i], q.Indices[i])
		if s.Check(err); !same {
			return false
		}
	}
	return true
}

// allclose reports whether the elements of two tensors are close.
func allclose(c dispatch.Context, self, other *tensor.Tensor, rtol, atol float64, equalNaN bool) (_ bool, err error) {
	s := newScope(c, "allclose")
	defer s.Close(&err)
	x, y := s.beside(self, other)
	return c.Allclose(x, y, rtol, atol, equalNaN)
}
