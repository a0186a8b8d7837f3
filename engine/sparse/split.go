package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// splitByLengths splits a dimension into parts of the given lengths.
func splitByLengths(c dispatch.Context, op string, self *tensor.Tensor, dim int, lengths []int64) ([]*tensor.Tensor, error) {
	start := int64(0)
	return owner.List(len(lengths), func(i int) (*tensor.Tensor, error) {
		t, err := narrow(c, self, int64(dim), start, lengths[i])
		start += lengths[i]
		return t, status.In(op, err)
	})
}

// splitEvenly splits dimension d into parts of step positions; the last one may be smaller.
func splitEvenly(c dispatch.Context, op string, self *tensor.Tensor, d int, step int64) (_ []*tensor.Tensor, err error) {
	n := self.Sizes()[d]
	lengths := []int64{}
	for at := int64(0); at < n || at == 0; at += step {
		lengths = append(lengths, min(step, n-at))
	}
	if !hasIndicesForDim(self, d) {
		return splitByLengths(c, op, self, d, lengths)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	x, f := coordinatesOf(b, self), formOf(self)
	indices, values := partitionEntries(b, x.indices, x, d, step, len(lengths))
	return owner.List(len(lengths), func(i int) (_ *tensor.Tensor, err error) {
		inner := build.New(c, op)
		defer inner.Close(&err)
		sizes := slices.Clone(self.Sizes())
		sizes[d] = lengths[i]
		part := coordinates{inner.Clone(shiftRow(inner, indices[i], d, -int64(i)*step)), inner.Clone(values[i]), sizes, x.coalesced}
		return inner.Return(assembleForm(inner, part, f))
	})
}

// hasIndicesForDim reports whether entries have indices for a dimension, which dense and batch dimensions, and meta tensors, do not have.
func hasIndicesForDim(t *tensor.Tensor, d int) bool {
	return d < t.Dim()-denseDim(t) && (t.Layout() == tensor.COO || batchDim(t) == 0) && backend.Known(t.Components().Indices[0])
}

// partitionEntries returns the columns of indices and the values of each of n parts of dimension d, of step positions each. A stable sort
// by parts reads each entry once, instead of once for each part.
func partitionEntries(b *build.Builder, indices *tensor.Tensor, x coordinates, d int, step int64,
	n int) (columns, values []*tensor.Tensor) {
	inOrder, order := sortVector(b, floorDivInt(b, b.Select(x.indices, 0, int64(d)), step))
	parts := makeRange(b, int64(n), indices.Device())
	ends := b.SearchsortedWith(inOrder, parts, false, true, "", nil)
	lengths, err := backend.Ints(b.Op, ends)
	b.Check(err)
	lengths = slices.Clone(lengths)
	for i := len(lengths) - 1; i > 0; i-- {
		lengths[i] -= lengths[i-1]
	}
	return b.SplitWithSizes(b.IndexSelect(indices, 1, order), lengths, 1), b.SplitWithSizes(b.IndexSelect(x.values, 0, order), lengths, 0)
}

func split(c dispatch.Context, self *tensor.Tensor, size, dim int64) ([]*tensor.Tensor, error) {
	d, err := wrapDim("split", dim, self.Dim())
	switch {
	case err != nil:
		return nil, err
	case self.Dim() == 0:
		return nil, status.Runtimef("split: expects at least a 1-dimensional tensor")
	case size < 1:
		return nil, status.Runtimef("split: split_size must be positive, but got %d", size)
	}
	return splitEvenly(c, "split", self, d, size)
}

func splitWithSizes(c dispatch.Context, self *tensor.Tensor, sizes []int64, dim int64) ([]*tensor.Tensor, error) {
	d, err := wrapDim("split", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	all, negative := int64(0), false
	for _, n := range sizes {
		all += n
		negative = negative || n < 0
	}
	if self.Dim() == 0 || negative || all != self.Sizes()[d] {
		return nil, status.Runtimef("split: split_sizes %v do not add up to the size of dimension %d of sizes %v", sizes, dim, self.Sizes())
	}
	return splitByLengths(c, "split", self, d, sizes)
}

func chunk(c dispatch.Context, self *tensor.Tensor, chunks, dim int64) ([]*tensor.Tensor, error) {
	d, err := wrapDim("chunk", dim, self.Dim())
	switch {
	case err != nil:
		return nil, err
	case self.Dim() == 0:
		return nil, status.Runtimef("chunk: expects at least a 1-dimensional tensor")
	case chunks < 1:
		return nil, status.Runtimef("chunk: expects chunks to be greater than 0, got: %d", chunks)
	}
	n := self.Sizes()[d]
	if n == 0 && chunks > 1<<24 {
		return nil, status.Runtimef("chunk: %d chunks of a dimension of size 0 are too many", chunks)
	}
	if n == 0 {
		return splitByLengths(c, "chunk", self, d, make([]int64, chunks))
	}
	return splitEvenly(c, "chunk", self, d, (n-1)/chunks+1)
}

// unbind returns the selection of each position of a dimension.
func unbind(c dispatch.Context, self *tensor.Tensor, dim int64) (_ []*tensor.Tensor, err error) {
	d, err := wrapDim("unbind", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("unbind: dimension specified as %d but tensor has no dimensions", dim)
	}
	n := int(self.Sizes()[d])
	if !hasIndicesForDim(self, d) || n == 0 {
		return owner.List(n, func(i int) (*tensor.Tensor, error) {
			t, err := selectIndex(c, self, int64(d), int64(i))
			return t, status.In("unbind", err)
		})
	}
	b := build.New(c, "unbind")
	defer b.Close(&err)
	x, sizes := coordinatesOf(b, self), slices.Delete(slices.Clone(self.Sizes()), d, d+1)
	vector := x.sparseDim() == 1
	rows := x.indices
	if !vector {
		rows = removeRow(b, rows, d)
	}
	indices, values := partitionEntries(b, rows, x, d, 1, n)
	return owner.List(n, func(i int) (_ *tensor.Tensor, err error) {
		inner := build.New(c, "unbind")
		defer inner.Close(&err)
		switch {
		case vector: // no sparse dimension is left
			return inner.Return(inner.CastTo(inner.Sum(values[i], []int64{0}, false), self.DType()))
		}
		return inner.Return(assembleCoo(inner, coordinates{inner.Clone(indices[i]), inner.Clone(values[i]), sizes, x.coalesced}))
	})
}
