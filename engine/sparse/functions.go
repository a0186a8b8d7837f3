package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
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
	b := build.New(c, "sparse_mask")
	defer b.Close(&err)
	switch {
	case !isSparse(mask):
		b.Failf("the mask must be a sparse tensor, but has layout %v", mask.Layout())
	case !slices.Equal(self.Sizes(), mask.Sizes()):
		b.Failf("operands have incompatible sizes; self has size %v but mask has size %v", self.Sizes(), mask.Sizes())
	}
	given := coordinatesOf(b, mask)
	x := coalesceCoordinates(b, given)
	x.values, x.coalesced = gatherElements(b, asDense(b, self), x), given.coalesced
	f := form{}
	f = formOf(mask)
	return b.Return(assembleForm(b, x, f))
}

// SparseSum returns the sum along dimensions.
func SparseSum(c dispatch.Context, self *tensor.Tensor, dim []int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	if dim != nil && len(dim) == 0 { // no dimension is reduced
		b := build.New(c, "sparse.sum")
		defer b.Close(&err)
		return b.Return(b.CastTo(self, d))
	}
	return c.Sum(nil, self, dim, false, d)
}

// SparseMm returns the product of a sparse matrix and another; of two CSC matrices it is CSC.
func SparseMm(c dispatch.Context, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if self.Layout() != tensor.CSC || mat2.Layout() != tensor.CSC {
		return c.Mm(nil, self, mat2)
	}
	b := build.New(c, "sparse.mm")
	defer b.Close(&err)
	checkFactors(b, self, mat2, 2, 2)
	return b.Return(b.Transpose(b.Mm(b.Transpose(mat2, 0, 1), b.Transpose(self, 0, 1)), 0, 1))
}

// SparseAddmm returns beta*self + alpha*(mat1 @ mat2).
func SparseAddmm(c dispatch.Context, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return c.Addmm(nil, self, mat1, mat2, beta, alpha)
}

// SparseSampledAddmm computes beta*self + alpha*(mat1 @ mat2) at the positions of self's entries, for matrices and for batches of them.
func SparseSampledAddmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse.sampled_addmm")
	defer b.Close(&err)
	// the same positions in each batch
	if n := mat1.Dim() - 2; isSparse(self) && self.Dim() == 2 && denseDim(self) == 0 && n > 0 && !isSparse(mat1) {
		self = broadcastTo(b, self, slices.Concat(mat1.Sizes()[:n], self.Sizes()))
	}
	batch := self.Dim() - 2
	switch {
	case !isSparse(self) || isSparse(mat1) || isSparse(mat2):
		b.Failf("expected a sparse tensor and two strided matrices, but got layouts %v, %v and %v", self.Layout(), mat1.Layout(), mat2.Layout())
	case batch < 0 || mat1.Dim() != batch+2 || mat2.Dim() != batch+2 || denseDim(self) != 0:
		b.Failf("expected matrices, or batches of the same dimensions, but got sizes %v, %v and %v", self.Sizes(), mat1.Sizes(), mat2.Sizes())
	case !slices.Equal(self.Sizes()[:batch], mat1.Sizes()[:batch]) || !slices.Equal(self.Sizes()[:batch], mat2.Sizes()[:batch]):
		b.Failf("the batch sizes must be the same, but got sizes %v, %v and %v", self.Sizes(), mat1.Sizes(), mat2.Sizes())
	case mat1.Sizes()[batch+1] != mat2.Sizes()[batch] || mat1.Sizes()[batch] != self.Sizes()[batch] ||
		mat2.Sizes()[batch+1] != self.Sizes()[batch+1]:
		b.Failf("matrices of sizes %v and %v cannot be multiplied to a result of sizes %v", mat1.Sizes(), mat2.Sizes(), self.Sizes())
	case self.DType() != mat1.DType() || self.DType() != mat2.DType():
		b.Failf("expected operands of the same dtype, but got %v, %v and %v", self.DType(), mat1.DType(), mat2.DType())
	case self.DType() == dtype.Bool:
		b.Check(status.NotImplementedf("%s: not implemented for dtype bool", b.Op))
	}
	beta, alpha = castFactor(b, beta, self.DType()), castFactor(b, alpha, self.DType())
	x := asForm(b, self, csrForm)
	products := sampleProduct(b, x, mat1, mat2)
	result := mapValues(b, x, func(v *tensor.Tensor) *tensor.Tensor {
		if beta.Equal(0) {
			return b.Mul(products, b.Number(alpha))
		}
		if !beta.Equal(1) {
			v = b.Mul(v, b.Number(beta))
		}
		return b.AddWith(v, products, alpha)
	})
	return writeResult(b, out, asForm(b, result, formOf(self)))
}

// sampleProduct returns the elements of a matrix product at the positions of x, a CSR tensor, for each batch.
func sampleProduct(b *build.Builder, x, mat1, mat2 *tensor.Tensor) *tensor.Tensor {
	crow, col := x.Components().Indices[0], x.Components().Indices[1]
	if x.Dim() == 2 {
		columns := b.Transpose(mat2, 0, 1)
		return b.CsrSddmm(crow, col, mat1, columns)
	}
	sizes := col.Sizes()
	n := shape.Product(sizes[:x.Dim()-2])
	if n == 0 {
		return makeZeros(b, mat1, sizes...)
	}
	flat := func(t *tensor.Tensor, own int) *tensor.Tensor {
		return b.AsShape(t, append([]int64{n}, t.Sizes()[t.Dim()-own:]...)...)
	}
	crow, col, mat1, mat2 = flat(crow, 1), flat(col, 1), flat(mat1, 2), flat(mat2, 2)
	each := make([]*tensor.Tensor, n)
	for i := range n {
		starts, columns, left, right := b.Select(crow, 0, i), b.Select(col, 0, i), b.Select(mat1, 0, i), b.Transpose(b.Select(mat2, 0, i), 0, 1)
		each[i] = b.CsrSddmm(starts, columns, left, right)
	}
	return b.AsShape(b.Stack(each, 0), sizes...)
}

// SparseSpdiags returns a matrix with the rows of diagonals on the diagonals that offsets selects: element j of a row is in column j.
func SparseSpdiags(c dispatch.Context, diagonals, offsets *tensor.Tensor, size []int64, l tensor.Layout) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse.spdiags")
	defer b.Close(&err)
	if l == tensor.NoLayout {
		l = tensor.COO
	}
	d, o := diagonals, offsets
	if !isSparse(d) && d.Dim() == 1 {
		d = b.Unsqueeze(d, 0)
	}
	if !isSparse(o) && o.Dim() == 0 {
		o = b.AsShape(o, 1)
	}
	switch {
	case isSparse(diagonals) || isSparse(offsets):
		b.Failf("diagonals and offsets must be strided, but got layouts %v and %v", diagonals.Layout(), offsets.Layout())
	case d.Dim() != 2:
		b.Failf("diagonals must be a vector or a matrix, but got sizes %v", diagonals.Sizes())
	case o.Dim() != 1 || d.Sizes()[0] != o.Sizes()[0]:
		b.Failf("the number of diagonals (%d) does not match the number of offsets, a vector of sizes %v", d.Sizes()[0], offsets.Sizes())
	case offsets.DType() != int64s:
		b.Failf("offsets must have dtype int64, but got %v", offsets.DType())
	case len(size) != 2 || size[0] < 0 || size[1] < 0:
		b.Failf("shape must be two sizes that are not negative, but got %v", size)
	case l != tensor.COO && l != tensor.CSR && l != tensor.CSC:
		b.Failf("only output layouts (sparse_coo, sparse_csr, sparse_csc) are supported, got %v", l)
	}
	inOrder, _ := sortVector(b, o)
	once, _, _ := b.UniqueConsecutive(inOrder, true, true, noDim)
	if once.Numel() != o.Numel() {
		b.Failf("offsets contain duplicate values")
	}
	n, m := d.Sizes()[0], d.Sizes()[1]
	each := makeRange(b, n*m, d.Device())
	column := remainderInt(b, each, max(m, 1))
	row := b.Sub(column, b.IndexSelect(o, 0, floorDivInt(b, each, max(m, 1))))
	inside := b.LogicalAnd(b.Ge(row, b.IntNumber(0)), b.Lt(row, b.IntNumber(size[0])))
	inside = b.LogicalAnd(inside, b.Lt(column, b.IntNumber(size[1])))
	of := b.AsShape(b.Nonzero(inside), -1)
	x := coalesceCoordinates(b, coordinates{b.IndexSelect(b.Stack([]*tensor.Tensor{row, column}, 0), 1, of),
		b.IndexSelect(b.AsShape(d, n*m), 0, of), slices.Clone(size), false})
	return b.Return(assembleForm(b, x, form{l, [2]int64{1, 1}, 0}))
}

// zero drops all entries.
func zero(c dispatch.Context, self *tensor.Tensor) (err error) {
	b := build.New(c, "zero_")
	defer b.Close(&err)
	t := copyWithoutEntries(b, self, self.DType(), self.Device())
	parts := *t.Components()
	dim := 0
	if self.Layout() != tensor.COO {
		dim = batchDim(self)
	}
	parts.Values = b.Clone(b.Narrow(self.Components().Values, int64(dim), 0, 0)) // with a gradient function if self's have one
	b.Check(self.Replace(b.Op, t.Sizes(), parts))
	return nil
}

// copyWithoutEntries returns a tensor of the same form without entries.
func copyWithoutEntries(b *build.Builder, t *tensor.Tensor, d dtype.DType, dev device.Device) *tensor.Tensor {
	f := formOf(t)
	if !hasBlocks(f.layout) && (f.layout == tensor.COO || f.dense == 0) {
		return makeEmpty(b, f.layout, slices.Clone(t.Sizes()), d, dev, t.Dim()-f.dense)
	}
	p, batch := t.Components(), batchDim(t)
	compressed := b.ZerosLikeWith(p.Indices[0], dtype.None, tensor.NoLayout, dev, shape.Contiguous)
	none := func(part *tensor.Tensor, d dtype.DType) *tensor.Tensor {
		sizes := slices.Clone(part.Sizes())
		sizes[batch] = 0
		return b.ZerosWith(sizes, d, tensor.NoLayout, dev)
	}
	return assembleCompressed(b, f.layout, slices.Clone(t.Sizes()), compressed, none(p.Indices[1], p.Indices[1].DType()), none(p.Values, d))
}

// resolveOptions returns the dtype and device of the result of a *_like function.
func resolveOptions(t *tensor.Tensor, d dtype.DType, dev device.Device) (dtype.DType, device.Device) {
	if d == dtype.None {
		d = t.DType()
	}
	if dev.IsNone() {
		dev = t.Device()
	}
	return d, dev
}

// zerosLike returns a tensor without entries, in the requested layout.
func zerosLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	d, dev = resolveOptions(self, d, dev)
	b := build.New(c, "zeros_like")
	defer b.Close(&err)
	checkMemoryFormat(b, l, f)
	switch {
	case l != tensor.NoLayout && hasBlocks(l) && isSparse(self) && hasBlocks(self.Layout()): // of the same blocks
		f := formOf(self)
		f.layout = l
		return b.Return(asForm(b, copyWithoutEntries(b, self, d, dev), f))
	case l != tensor.NoLayout && l != self.Layout():
		return b.ReturnNew(c.Zeros(nil, slices.Clone(self.Sizes()), d, l, dev))
	}
	return b.Return(copyWithoutEntries(b, self, d, dev))
}

// checkMemoryFormat ends the function with an error if a memory format is requested for a sparse result.
func checkMemoryFormat(b *build.Builder, l tensor.Layout, f shape.MemoryFormat) {
	if l != tensor.Strided && f != shape.NoFormat && f != shape.Preserve {
		b.Failf("memory format %v is only supported for strided tensors, not for sparse ones", f)
	}
}

// makeMetaLike returns a strided meta tensor of the sizes and dtype of t.
func makeMetaLike(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	return b.EmptyWith(slices.Clone(t.Sizes()), t.DType(), tensor.NoLayout, device.Device{Type: device.Meta, Index: -1}, shape.Contiguous)
}

// makeFilledLike returns the kernel of a *_like operator: the result has the indices of self, and the values that another function returns
// for the values of self.
func makeFilledLike(op string, values func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, dtype.DType, tensor.Layout, device.Device,
	shape.MemoryFormat) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device,
		f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		d, dev = resolveOptions(self, d, dev)
		checkMemoryFormat(b, l, f)
		if l == tensor.Strided {
			plain := makeMetaLike(b, self)
			return b.ReturnNew(values(c, plain, d, dev, f))
		}
		if !isSparse(self) || l != tensor.NoLayout && l != self.Layout() {
			b.Failf("layout %v cannot be created from a tensor of layout %v; convert with to_sparse() or to_dense()", l, self.Layout())
		}
		x := self
		if self.Layout() == tensor.COO {
			x = assembleCoo(b, coalesceCoordinates(b, coordinatesOf(b, self)))
		}
		return b.Return(mapComponents(b, x, b.Clone, func(v *tensor.Tensor) *tensor.Tensor {
			return b.Track(values(c, v, d, dev, f))
		}))
	}
}

// indexGet supports integers, slices of step 1 and one vector of integers as indices.
func indexGet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem) (_ *tensor.Tensor, err error) {
	b := build.New(c, "index")
	defer b.Close(&err)
	if !isSparse(self) {
		b.Failf("sparse tensors are not supported as indices")
	}
	t, d, vectors := self, int64(0), 0
	left := len(items)
	for _, item := range items {
		left--
		was, at := t, d
		if (item.Kind == ops.IndexInt || item.Kind == ops.IndexSlice || item.Kind == ops.IndexTensor) && at >= int64(was.Dim()) {
			b.Failf("too many indices for a tensor of dimension %d", self.Dim())
		}
		switch item.Kind {
		case ops.IndexInt:
			t = b.Select(was, at, item.Start)
		case ops.IndexSlice:
			t = b.Track(slice(c, was, at, ops.Int(item.Start), ops.Int(item.Stop), ops.Int(item.Step).Or(1)))
			d++
		case ops.IndexNewAxis:
			t = b.Unsqueeze(was, at)
			d++
		case ops.IndexEllipsis:
			d = int64(was.Dim() - countIndexedDims(items[len(items)-left:]))
		case ops.IndexTensor:
			if vectors++; vectors > 1 || item.Tensor.Dim() != 1 || !item.Tensor.DType().IsIntegral() || isSparse(item.Tensor) {
				b.Failf("sparse tensors support integers, slices and one 1-D integer tensor as indices; convert with to_dense()")
			}
			t = b.IndexSelect(was, at, item.Tensor)
			d++
		default:
			b.Failf("sparse tensors support integers, slices and one 1-D integer tensor as indices; convert with to_dense()")
		}
	}
	return b.Return(t)
}

// countIndexedDims returns the number of dimensions that items index.
func countIndexedDims(items []ops.IndexItem) (n int) {
	for _, item := range items {
		if item.Kind == ops.IndexInt || item.Kind == ops.IndexSlice || item.Kind == ops.IndexTensor {
			n++
		}
	}
	return n
}

// copyEntries implements copy_: it replaces the entries of self by those of src and keeps the layout.
func copyEntries(c dispatch.Context, self, src *tensor.Tensor, busy bool) (err error) {
	b := build.New(c, "copy_")
	defer b.Close(&err)
	switch {
	case !isSparse(self):
		d := asDense(b, src)
		b.Copy(self, d, busy)
		return nil
	case !isSparse(src):
		b.Failf("copying between a strided and a sparse tensor is not supported; convert with to_sparse()")
	case !slices.Equal(self.Sizes(), src.Sizes()):
		b.Failf("the sizes of sparse tensors must be the same, but got %v and %v", self.Sizes(), src.Sizes())
	case self.Layout() != src.Layout():
		b.Failf("cannot copy to a tensor of layout %v from one of layout %v; convert with to_sparse(layout=%v)", self.Layout(), src.Layout(),
			self.Layout())
	case self.Layout() != tensor.COO && formOf(self) != formOf(src):
		b.Failf("blocks and dense dimensions must be the same, but got values of sizes %v and %v", self.Components().Values.Sizes(),
			src.Components().Values.Sizes())
	case self.Layout() != tensor.COO && countEntries(self) != countEntries(src):
		b.Failf("tensors of layout %v must have the same number of entries, but got %d and %d; use clone()", self.Layout(), countEntries(self),
			countEntries(src))
	}
	x := asForm(b, src, formOf(self))
	x = b.ToOptionsWith(x, self.DType(), tensor.NoLayout, self.Device(), false, true, shape.Preserve)
	b.Check(self.Replace(b.Op, x.Sizes(), *x.Components()))
	return nil
}

// isContiguous returns false: entries are not in the order of elements.
func isContiguous(_ dispatch.Context, _ *tensor.Tensor, _ shape.MemoryFormat) (bool, error) {
	return false, nil
}

// equal reports whether two tensors have the same sizes and elements.
func equal(c dispatch.Context, self, other *tensor.Tensor) (_ bool, err error) {
	b := build.New(c, "equal")
	defer b.Close(&err)
	if !slices.Equal(self.Sizes(), other.Sizes()) {
		return false, nil
	}
	x, y := prepareComparison(b, self, other)
	return c.Equal(x, y)
}

// prepareComparison returns strided tensors to compare in place of self and other: their values if the entries are at the same positions,
// otherwise dense copies.
func prepareComparison(b *build.Builder, self, other *tensor.Tensor) (x, y *tensor.Tensor) {
	if hasSameIndices(b, self, other) {
		return self.Components().Values, other.Components().Values
	}
	return asDense(b, self), asDense(b, other)
}

// hasSameIndices reports whether two tensors are known to be sparse and to have entries at the same positions, in the same order, without
// duplicates.
func hasSameIndices(b *build.Builder, self, other *tensor.Tensor) bool {
	p, q := self.Components(), other.Components()
	if p == nil || q == nil || !slices.Equal(self.Sizes(), other.Sizes()) || formOf(self) != formOf(other) ||
		countEntries(self) != countEntries(other) ||
		self.Layout() == tensor.COO && !(p.Coalesced && q.Coalesced) || !backend.Known(p.Values) || !backend.Known(q.Values) {
		return false
	}
	for i := range p.Indices {
		same, err := b.C.Equal(p.Indices[i], q.Indices[i])
		b.Check(err)
		if !same {
			return false
		}
	}
	return true
}

// allclose reports whether the elements of two tensors are close.
func allclose(c dispatch.Context, self, other *tensor.Tensor, rtol, atol float64, equalNaN bool) (_ bool, err error) {
	b := build.New(c, "allclose")
	defer b.Close(&err)
	x, y := prepareComparison(b, self, other)
	return c.Allclose(x, y, rtol, atol, equalNaN)
}
