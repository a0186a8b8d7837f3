package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SparseResize changes the sizes of a COO tensor and keeps its entries, which must fit them.
func SparseResize(c dispatch.Context, self *tensor.Tensor, size []int64, sparseDim, denseDims int64) error {
	return resizeCoo(c, "sparse_resize_", self, size, sparseDim, denseDims, false)
}

// SparseResizeAndClear changes the sizes of a COO tensor and drops its entries.
func SparseResizeAndClear(c dispatch.Context, self *tensor.Tensor, size []int64, sparseDim, denseDims int64) error {
	return resizeCoo(c, "sparse_resize_and_clear_", self, size, sparseDim, denseDims, true)
}

// resizeCoo changes the sizes of a COO tensor.
func resizeCoo(c dispatch.Context, op string, self *tensor.Tensor, size []int64, sparseDim, denseDims int64, clear bool) (err error) {
	if err := checkLayout(op, self, tensor.COO); err != nil {
		return err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	switch {
	case sparseDim < 0 || denseDims < 0 || sparseDim+denseDims != int64(len(size)):
		b.Failf("number of dimensions must be sparse_dim (%d) + dense_dim (%d), but got %d", sparseDim, denseDims, len(size))
	case slices.ContainsFunc(size, func(n int64) bool { return n < 0 }):
		b.Failf("sizes must not be negative, got %v", size)
	}
	if clear || countEntries(self) == 0 {
		t := makeEmpty(b, tensor.COO, slices.Clone(size), self.DType(), self.Device(), int(sparseDim))
		b.Check(self.Replace(op, t.Sizes(), *t.Components()))
		return nil
	}
	x := coordinatesOf(b, self)
	if int(sparseDim) != x.sparseDim() || !coversSizes(size[sparseDim:], x.sizes[x.sparseDim():]) {
		b.Failf("the number of sparse dimensions (%d) and dense sizes (%v) of a tensor with entries must not change or shrink, but got size %v with %d sparse dimensions; use sparse_resize_and_clear_() to drop the entries",
			x.sparseDim(), x.sizes[x.sparseDim():], size, sparseDim)
		return nil
	}
	_, high := findIndexBounds(b, x.indices)
	for d, last := range high {
		if last >= size[d] {
			b.Failf("size %d of dimension %d is too small for the entry at index %d; use sparse_resize_and_clear_() to drop the entries", size[d], d,
				last)
		}
	}
	p := *self.Components()
	for d, n := range size[sparseDim:] { // new elements are 0
		more := slices.Clone(p.Values.Sizes())
		if more[d+1] = n - more[d+1]; more[d+1] > 0 {
			p.Values = b.Cat([]*tensor.Tensor{p.Values, makeZeros(b, p.Values, more...)}, int64(d)+1)
		}
	}
	b.Check(self.Replace(op, slices.Clone(size), p))
	return nil
}

// coversSizes reports whether there are as many sizes as others and none is smaller.
func coversSizes(sizes, others []int64) bool {
	if len(sizes) != len(others) {
		return false
	}
	for i := range sizes {
		if sizes[i] < others[i] {
			return false
		}
	}
	return true
}

// resizeCompressed resizes a tensor of a compressed layout. Removed rows lose their entries; the other dimension cannot become smaller.
func resizeCompressed(c dispatch.Context, self *tensor.Tensor, size []int64, f shape.MemoryFormat) (err error) {
	const op = "resize_"
	b := build.New(c, op)
	defer b.Close(&err)
	batch, form := batchDim(self), formOf(self)
	switch {
	case f != shape.NoFormat && f != shape.Contiguous:
		b.Failf("memory format %v is only supported for strided tensors, not for sparse ones", f)
	case len(size) != self.Dim() || !slices.Equal(size[:batch], self.Sizes()[:batch]) || !slices.Equal(size[batch+2:], self.Sizes()[batch+2:]):
		b.Failf("batch and dense sizes of a tensor of layout %v and sizes %v cannot change, but got size %v", form.layout, self.Sizes(), size)
	case size[batch] < 0 || size[batch+1] < 0:
		b.Failf("sizes must not be negative, got %v", size)
	case batch > 0 && !slices.Equal(size, self.Sizes()):
		b.Failf("the sizes of batches of matrices, %v, cannot change, but got size %v", self.Sizes(), size)
	}
	if checkBlockSize(b, size, form); slices.Equal(size, self.Sizes()) {
		return nil
	}
	major, minor := 0, 1
	if !isCompressedByRow(form.layout) {
		major, minor = minor, major
	}
	if size[minor] < self.Sizes()[minor] {
		b.Failf("dimension %d of a tensor of layout %v cannot shrink from %d to %d, because it may contain entries", minor, form.layout,
			self.Sizes()[minor], size[minor])
	}
	p := *self.Components()
	compressed, n, had := p.Indices[0], size[major]/form.block[major], p.Indices[0].Numel()-1
	if n < had {
		compressed = b.Clone(b.Narrow(compressed, 0, 0, n+1))
		count, known := readInt(b, b.Select(compressed, 0, n))
		if !known || count < 0 || count > countEntries(self) {
			b.Failf("the number of entries in the first %d lines, %d, is not known, or was changed after the tensor was created", n, count)
		}
		p = tensor.SparseComponents{Indices: []*tensor.Tensor{compressed, b.Clone(b.Narrow(p.Indices[1], 0, 0, count))},
			Values: b.Clone(b.Narrow(p.Values, 0, 0, count))}
	} else {
		last := b.Narrow(compressed, 0, had, 1)
		more := b.Expand(last, n-had)
		p = tensor.SparseComponents{Indices: []*tensor.Tensor{b.Cat([]*tensor.Tensor{compressed, more}, 0), p.Indices[1]}, Values: p.Values}
	}
	b.Check(self.Replace(op, slices.Clone(size), p))
	return nil
}

// resizeAs changes the sizes of a sparse tensor to those of another one.
func resizeAs(c dispatch.Context, self, template *tensor.Tensor, f shape.MemoryFormat) error {
	switch {
	case !isSparse(self):
		return status.In("resize_as_", c.Resize(self, slices.Clone(template.Sizes()), shape.NoFormat))
	case f != shape.NoFormat && f != shape.Contiguous && f != shape.Preserve:
		return status.Runtimef("resize_as_: memory format %v is only supported for strided tensors, not for sparse ones", f)
	case self.Layout() != tensor.COO:
		return status.In("resize_as_", resizeCompressed(c, self, slices.Clone(template.Sizes()), shape.NoFormat))
	}
	return resizeLike(c, "resize_as_", self, template)
}

// ResizeAsSparse resizes a sparse tensor to the sizes of another one of the same layout. A compressed layout also gets its indices.
func ResizeAsSparse(c dispatch.Context, self, template *tensor.Tensor) error {
	return resizeLike(c, "resize_as_sparse_", self, template)
}

// resizeLike changes the sizes of a sparse tensor to those of template.
func resizeLike(c dispatch.Context, op string, self, template *tensor.Tensor) (err error) {
	if !isSparse(self) || self.Layout() != template.Layout() {
		return status.Runtimef("%s: expected two sparse tensors of the same layout, but got %v and %v", op, self.Layout(), template.Layout())
	}
	if self.Layout() == tensor.COO {
		if slices.Equal(self.Sizes(), template.Sizes()) && denseDim(self) == denseDim(template) {
			return nil
		}
		dense := int64(denseDim(template))
		return resizeCoo(c, op, self, slices.Clone(template.Sizes()), int64(template.Dim())-dense, dense, false)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	like := mapComponents(b, template, b.Clone, func(v *tensor.Tensor) *tensor.Tensor {
		if had := self.Components().Values; slices.Equal(had.Sizes(), v.Sizes()) {
			return had
		}
		return b.ZerosWith(slices.Clone(v.Sizes()), self.DType(), tensor.NoLayout, self.Device())
	})
	like = castIndices(b, like, self.Components().Indices[0].DType())
	b.Check(self.Replace(op, like.Sizes(), *like.Components()))
	return nil
}

// MarkCoalesced sets whether a COO tensor is coalesced, after a check that its entries are in order and unique.
func MarkCoalesced(c dispatch.Context, self *tensor.Tensor, coalesced bool) (err error) {
	const op = "_coalesced_"
	if err := checkLayout(op, self, tensor.COO); err != nil {
		return err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	p := *self.Components()
	if coalesced && !p.Coalesced && !isStrictlyIncreasing(b, flattenIndices(b, p.Indices[0], self.Sizes()[:self.Dim()-denseDim(self)])) {
		b.Failf("the indices are not sorted in row-major order without duplicates; call coalesce() instead")
	}
	p.Coalesced = coalesced
	b.Check(self.Replace(op, slices.Clone(self.Sizes()), p))
	return nil
}
