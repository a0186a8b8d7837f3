package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// SparseResize returns a COO tensor other sizes; it keeps its entries, which must have a place in them.
func SparseResize(c dispatch.Context, self *tensor.Tensor, size []int64, sparseDim, denseDims int64) error {
	return resize(c, "sparse_resize_", self, size, sparseDim, denseDims, false)
}

// SparseResizeAndClear returns a COO tensor other sizes and no entries.
func SparseResizeAndClear(c dispatch.Context, self *tensor.Tensor, size []int64, sparseDim, denseDims int64) error {
	return resize(c, "sparse_resize_and_clear_", self, size, sparseDim, denseDims, true)
}

func resize(c dispatch.Context, op string, self *tensor.Tensor, size []int64, sparseDim, denseDims int64, clear bool) (err error) {
	if err := wants(op, self, tensor.COO); err != nil {
		return err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	switch {
	case sparseDim < 0 || denseDims < 0 || sparseDim+denseDims != int64(len(size)):
		s.Failf("number of dimensions must be sparse_dim (%d) + dense_dim (%d), but got %d", sparseDim, denseDims, len(size))
	case slices.ContainsFunc(size, func(n int64) bool { return n < 0 }):
		s.Failf("sizes must not be negative, got %v", size)
	}
	if clear || entries(self) == 0 {
		t := s.empty(tensor.COO, slices.Clone(size), self.DType(), self.Device(), int(sparseDim))
		s.Check(self.Replace(op, t.Sizes(), *t.Parts()))
		return nil
	}
	x := s.coordinatesOf(self)
	if int(sparseDim) != x.sparse() || !covers(size[sparseDim:], x.sizes[x.sparse():]) {
		s.Failf("the number of sparse dimensions (%d) and dense sizes (%v) of a tensor with entries must not change or shrink, but got size %v with %d sparse dimensions; use sparse_resize_and_clear_() to drop the entries",
			x.sparse(), x.sizes[x.sparse():], size, sparseDim)
		return nil
	}
	_, high := s.bounds(x.indices)
	for d, last := range high {
		if last >= size[d] {
			s.Failf("size %d of dimension %d is too small for the entry at index %d; use sparse_resize_and_clear_() to drop the entries", size[d], d, last)
		}
	}
	p := *self.Parts()
	for d, n := range size[sparseDim:] { // new elements are 0
		more := slices.Clone(p.Values.Sizes())
		if more[d+1] = n - more[d+1]; more[d+1] > 0 {
			p.Values = s.Cat([]*tensor.Tensor{p.Values, s.zeros(p.Values, more...)}, int64(d)+1)
		}
	}
	s.Check(self.Replace(op, slices.Clone(size), p))
	return nil
}

// covers reports whether sizes are as many as others, and none is smaller.
func covers(sizes, others []int64) bool {
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

// resizeTo resizes a tensor of a compressed layout. Removed rows lose their entries; the other dimension cannot become smaller.
func resizeTo(c dispatch.Context, self *tensor.Tensor, size []int64, f shape.MemoryFormat) (err error) {
	const op = "resize_"
	s := newScope(c, op)
	defer s.Close(&err)
	b, form := batches(self), formOf(self)
	switch {
	case f != shape.NoFormat && f != shape.Contiguous:
		s.Failf("memory format %v is only supported for strided tensors, not for sparse ones", f)
	case len(size) != self.Dim() || !slices.Equal(size[:b], self.Sizes()[:b]) || !slices.Equal(size[b+2:], self.Sizes()[b+2:]):
		s.Failf("batch and dense sizes of a tensor of layout %v and sizes %v cannot change, but got size %v", form.layout, self.Sizes(), size)
	case size[b] < 0 || size[b+1] < 0:
		s.Failf("sizes must not be negative, got %v", size)
	case b > 0 && !slices.Equal(size, self.Sizes()):
		s.Failf("the sizes of batches of matrices, %v, cannot change, but got size %v", self.Sizes(), size)
	}
	if s.checkBlock(size, form); slices.Equal(size, self.Sizes()) {
		return nil
	}
	major, minor := 0, 1
	if !byRows(form.layout) {
		major, minor = minor, major
	}
	if size[minor] < self.Sizes()[minor] {
		s.Failf("dimension %d of a tensor of layout %v cannot shrink from %d to %d, because it may contain entries", minor, form.layout, self.Sizes()[minor], size[minor])
		return nil
	}
	p := *self.Parts()
	compressed, n, had := p.Indices[0], size[major]/form.block[major], p.Indices[0].Numel()-1
	if n < had {
		compressed = s.clone(s.Narrow(compressed, 0, 0, n+1))
		count, known := s.integer(s.Select(compressed, 0, n))
		if !known || count < 0 || count > entries(self) {
			s.Failf("the number of entries in the first %d lines, %d, is not known, or was changed after the tensor was created", n, count)
		}
		p = tensor.Parts{Indices: []*tensor.Tensor{compressed, s.clone(s.Narrow(p.Indices[1], 0, 0, count))}, Values: s.clone(s.Narrow(p.Values, 0, 0, count))}
	} else {
		last := s.Narrow(compressed, 0, had, 1)
		more := s.Expand(last, n-had)
		p = tensor.Parts{Indices: []*tensor.Tensor{s.Cat([]*tensor.Tensor{compressed, more}, 0), p.Indices[1]}, Values: p.Values}
	}
	s.Check(self.Replace(op, slices.Clone(size), p))
	return nil
}

// resizeAs returns a sparse tensor the sizes of another one.
func resizeAs(c dispatch.Context, self, template *tensor.Tensor, f shape.MemoryFormat) error {
	switch {
	case !isSparse(self):
		return status.In("resize_as_", c.Resize(self, slices.Clone(template.Sizes()), shape.NoFormat))
	case f != shape.NoFormat && f != shape.Contiguous && f != shape.Preserve:
		return status.Runtimef("resize_as_: memory format %v is only supported for strided tensors, not for sparse ones", f)
	case self.Layout() != tensor.COO:
		return status.In("resize_as_", resizeTo(c, self, slices.Clone(template.Sizes()), shape.NoFormat))
	}
	return likeTemplate(c, "resize_as_", self, template)
}

// ResizeAsSparse resizes a sparse tensor to the sizes of another one of the same layout. A compressed layout also gets its indices.
func ResizeAsSparse(c dispatch.Context, self, template *tensor.Tensor) error {
	return likeTemplate(c, "resize_as_sparse_", self, template)
}

func likeTemplate(c dispatch.Context, op string, self, template *tensor.Tensor) (err error) {
	if !isSparse(self) || self.Layout() != template.Layout() {
		return status.Runtimef("%s: expected two sparse tensors of the same layout, but got %v and %v", op, self.Layout(), template.Layout())
	}
	if self.Layout() == tensor.COO {
		if slices.Equal(self.Sizes(), template.Sizes()) && denseDim(self) == denseDim(template) {
			return nil
		}
		dense := int64(denseDim(template))
		return resize(c, op, self, slices.Clone(template.Sizes()), int64(template.Dim())-dense, dense, false)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	like := s.onParts(template, s.clone, func(v *tensor.Tensor) *tensor.Tensor {
		if had := self.Parts().Values; slices.Equal(had.Sizes(), v.Sizes()) {
			return had
		}
		return s.ZerosWith(slices.Clone(v.Sizes()), self.DType(), tensor.NoLayout, self.Device())
	})
	like = s.indexed(like, self.Parts().Indices[0].DType())
	s.Check(self.Replace(op, like.Sizes(), *like.Parts()))
	return nil
}

// MarkCoalesced sets whether a COO tensor is coalesced: that its entries are in order and unique is checked.
func MarkCoalesced(c dispatch.Context, self *tensor.Tensor, coalesced bool) (err error) {
	const op = "_coalesced_"
	if err := wants(op, self, tensor.COO); err != nil {
		return err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	p := *self.Parts()
	if coalesced && !p.Coalesced && !s.rising(s.keys(p.Indices[0], self.Sizes()[:self.Dim()-denseDim(self)])) {
		s.Failf("the indices are not sorted in row-major order without duplicates; call coalesce() instead")
	}
	p.Coalesced = coalesced
	s.Check(self.Replace(op, slices.Clone(self.Sizes()), p))
	return nil
}
