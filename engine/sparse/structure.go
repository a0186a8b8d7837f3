package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// wrapDim wraps a negative dim of n dimensions; n must be at least 1.
func wrapDim(op string, dim int64, n int) (int, error) {
	d, err := shape.WrapDim(op, dim, n)
	if err == nil && n == 0 {
		err = status.Indexf("%s: cannot be applied to a 0-dim tensor", op)
	}
	return d, err
}

// transpose swaps two sparse dimensions. Rows and columns of compressed layouts swap with the layout.
func transpose(c dispatch.Context, out, self *tensor.Tensor, dim0, dim1 int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "transpose")
	defer b.Close(&err)
	i, err := shape.WrapDim(b.Op, dim0, self.Dim())
	if err != nil {
		return nil, err
	}
	j, err := shape.WrapDim(b.Op, dim1, self.Dim())
	if err != nil {
		return nil, err
	}
	sparse := self.Dim() - denseDim(self)
	switch {
	case sparse == self.Dim():
	case self.Layout() != tensor.COO:
		b.Failf("transposing a tensor of layout %v with %d dense dimensions is not supported; convert with to_dense() or to_sparse_coo()",
			self.Layout(), self.Dim()-sparse)
	case i != j && max(i, j) >= sparse:
		b.Failf("dimensions %d and %d must both be sparse, which the first %d are; convert with to_dense(), or use permute() to reorder dense dimensions",
			dim0, dim1, sparse)
	}
	order := make([]int64, self.Dim())
	for d := range order {
		order[d] = int64(d)
	}
	if len(order) > 0 {
		order[i], order[j] = order[j], order[i]
	}
	return writeResult(b, out, permuteDims(b, self, order))
}

// permute permutes the dimensions; the sparse ones must be first.
func permute(c dispatch.Context, self *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "permute")
	defer b.Close(&err)
	if len(dims) != self.Dim() {
		b.Failf("permutation %v must have %d dimensions, as the tensor has", dims, self.Dim())
	}
	if _, err := shape.WrapDims(b.Op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	order := slices.Clone(dims)
	for i, d := range order {
		if d < 0 {
			order[i] += int64(self.Dim())
		}
	}
	return b.Return(permuteDims(b, self, order))
}

// transposedLayouts maps a layout to that of the transposed matrix.
var transposedLayouts = map[tensor.Layout]tensor.Layout{tensor.CSR: tensor.CSC, tensor.CSC: tensor.CSR, tensor.BSR: tensor.BSC,
	tensor.BSC: tensor.BSR}

func permuteDims(b *build.Builder, t *tensor.Tensor, order []int64) *tensor.Tensor {
	sparse := t.Dim() - denseDim(t)
	sizes := make([]int64, len(order))
	for i, d := range order {
		if sizes[i] = t.Sizes()[d]; (int(d) < sparse) != (i < sparse) {
			b.Failf("dimension %d cannot move to position %d: the sparse dimensions, the first %d, must precede the dense ones; convert with to_dense()",
				d, i, sparse)
		}
	}
	p := t.Components()
	values := func(lead int) *tensor.Tensor { // with the dense dimensions in order
		var dims []int64
		for d := range lead {
			dims = append(dims, int64(d))
		}
		for _, d := range order[sparse:] {
			dims = append(dims, d-int64(sparse)+int64(lead))
		}
		if slices.IsSorted(dims) {
			return p.Values
		}
		return b.ReorderDims(p.Values, dims...)
	}
	if t.Layout() == tensor.COO {
		rows := make([]*tensor.Tensor, sparse)
		for i := range rows {
			rows[i] = b.Select(p.Indices[0], 0, order[i])
		}
		indices := p.Indices[0]
		if !slices.IsSorted(order[:sparse]) {
			indices = b.Stack(rows, 0)
		}
		return assembleCoo(b, coordinates{indices, values(1), sizes, indices == p.Indices[0] && p.Coalesced || countEntries(t) < 2})
	}
	batch := batchDim(t)
	lead := batch + 1
	if hasBlocks(t.Layout()) {
		lead += 2
	}
	l, permuted := t.Layout(), values(lead)
	for i, d := range order[:batch] {
		if int(d) >= batch {
			b.Failf("dimension %d cannot move to position %d: the batch dimensions of layout %v, the first %d, must precede the sparse ones; convert with to_sparse() or to_dense()",
				d, i, l, batch)
		}
	}
	if order[batch] != int64(batch) {
		if l = transposedLayouts[l]; hasBlocks(l) {
			permuted = b.Transpose(permuted, int64(batch)+1, int64(batch)+2)
		}
	}
	parts := [3]*tensor.Tensor{p.Indices[0], p.Indices[1], permuted}
	if !slices.IsSorted(order[:batch]) {
		for i, part := range parts {
			dims := slices.Clone(order[:batch])
			for d := batch; d < part.Dim(); d++ {
				dims = append(dims, int64(d))
			}
			parts[i] = b.ReorderDims(part, dims...)
		}
	}
	return assembleCompressed(b, l, sizes, parts[0], parts[1], parts[2])
}

// transpose2d implements t().
func transpose2d(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	switch {
	case self.Dim() > 2:
		return nil, status.Runtimef("t: expects a tensor with <= 2 sparse and 0 dense dimensions, but self is %dD", self.Dim())
	case self.Dim() < 2:
		b := build.New(c, "t")
		defer b.Close(&err)
		return writeResult(b, out, b.Track(self.Alias(), nil))
	}
	return transpose(c, out, self, 0, 1)
}

// unsqueeze inserts a dimension of size 1: a sparse one before the dense ones, a batch of compressed layouts.
func unsqueeze(c dispatch.Context, out, self *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "unsqueeze")
	defer b.Close(&err)
	d, err := shape.WrapDim(b.Op, dim, self.Dim()+1)
	if err != nil {
		return nil, err
	}
	sizes := slices.Insert(slices.Clone(self.Sizes()), d, 1)
	p, sparse := self.Components(), self.Dim()-denseDim(self)
	if self.Layout() != tensor.COO {
		if d > batchDim(self) {
			b.Failf("layout %v supports new dimensions only among the batch dimensions, the first %d, not at %d; convert with to_sparse() or to_dense()",
				self.Layout(), batchDim(self), d)
		}
		at := int64(d)
		return writeResult(b, out, assembleCompressed(b, self.Layout(), sizes, b.Unsqueeze(p.Indices[0], at), b.Unsqueeze(p.Indices[1], at),
			b.Unsqueeze(p.Values, at)))
	}
	if d > sparse {
		return writeResult(b, out, assembleCoo(b, coordinates{p.Indices[0], b.Unsqueeze(p.Values, int64(d-sparse+1)), sizes, p.Coalesced}))
	}
	n := countEntries(self)
	indices := b.Cat([]*tensor.Tensor{b.Narrow(p.Indices[0], 0, 0, int64(d)), makeZeros(b, p.Indices[0], 1, n),
		b.Narrow(p.Indices[0], 0, int64(d), int64(sparse-d))}, 0)
	return writeResult(b, out, assembleCoo(b, coordinates{indices, p.Values, sizes, p.Coalesced}))
}

// mapBatchParts returns a compressed tensor of the given sizes with each part mapped by an operator along a batch dimension.
func mapBatchParts(b *build.Builder, t *tensor.Tensor, sizes []int64, each func(part *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p := t.Components()
	return assembleCompressed(b, t.Layout(), sizes, each(p.Indices[0]), each(p.Indices[1]), each(p.Values))
}

// isBatchDim reports whether a dimension is one of the batch dimensions of a compressed layout.
func isBatchDim(t *tensor.Tensor, d int) bool { return t.Layout() != tensor.COO && d < batchDim(t) }

// selectIndex implements select. The result is strided if no sparse dimension remains. A selection along a batch dimension shares its
// parts.
func selectIndex(c dispatch.Context, self *tensor.Tensor, dim, index int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "select")
	defer b.Close(&err)
	if self.Dim() == 0 {
		return nil, status.Indexf("select: cannot be applied to a 0-dim tensor")
	}
	d, err := wrapDim(b.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	at, ok := shape.WrapIndex(index, self.Sizes()[d])
	if !ok {
		return nil, status.Indexf("select: index %d is out of bounds for dimension %d with size %d", index, d, self.Sizes()[d])
	}
	sizes := slices.Delete(slices.Clone(self.Sizes()), d, d+1)
	if isBatchDim(self, d) {
		return b.Return(mapBatchParts(b, self, sizes, func(part *tensor.Tensor) *tensor.Tensor { return b.Select(part, int64(d), at) }))
	}
	if batch := batchDim(self); self.Layout() != tensor.COO {
		switch {
		case d >= self.Dim()-denseDim(self):
			p := self.Components()
			values := b.Select(p.Values, int64(d-self.Dim()+p.Values.Dim()), at)
			return b.Return(assembleCompressed(b, self.Layout(), sizes, p.Indices[0], p.Indices[1], values))
		case batch > 0:
			b.Failf("selecting rows or columns of a batch (dimension %d) is not supported; index the batch dimensions first, or convert with to_sparse_coo() or to_dense()",
				d)
		}
	}
	if l := self.Layout(); (l == tensor.CSR && d == 0 || l == tensor.CSC && d == 1) && backend.Known(self.Components().Indices[0]) {
		return b.Return(assembleCoo(b, sliceLine(b, self, at, sizes)))
	}
	x := coordinatesOf(b, self)
	if d >= x.sparseDim() {
		return b.Return(assembleCoo(b, coordinates{x.indices, b.Select(x.values, int64(d-x.sparseDim()+1), at), sizes, x.coalesced}))
	}
	of := b.AsShape(b.Nonzero(b.Eq(b.Select(x.indices, 0, int64(d)), b.IntNumber(at))), -1)
	values := b.IndexSelect(x.values, 0, of)
	if x.sparseDim() == 1 {
		return b.Return(b.CastTo(b.Sum(values, []int64{0}, false), self.DType()))
	}
	return b.Return(assembleCoo(b, coordinates{b.IndexSelect(removeRow(b, x.indices, d), 1, of), values, sizes, x.coalesced}))
}

// sliceLine returns the entries of a row of a CSR matrix, or of a column in CSC, which are adjacent.
func sliceLine(b *build.Builder, t *tensor.Tensor, i int64, sizes []int64) coordinates {
	p, n := t.Components(), countEntries(t)
	start, _ := readInt(b, b.Select(p.Indices[0], 0, i))
	end, _ := readInt(b, b.Select(p.Indices[0], 0, i+1))
	if start < 0 || end < start || end > n {
		b.Failf("the compressed indices of line %d, %d to %d, exceed the %d entries: they were changed after the tensor was created", i, start,
			end, n)
	}
	indices := b.Unsqueeze(asInt64(b, b.Narrow(p.Indices[1], 0, start, end-start)), 0)
	return coordinates{b.Clone(indices), b.Clone(b.Narrow(p.Values, 0, start, end-start)), sizes, true}
}

// removeRow returns indices without row d.
func removeRow(b *build.Builder, indices *tensor.Tensor, d int) *tensor.Tensor {
	n := indices.Sizes()[0]
	return b.Cat([]*tensor.Tensor{b.Narrow(indices, 0, 0, int64(d)), b.Narrow(indices, 0, int64(d)+1, n-int64(d)-1)}, 0)
}

// narrow returns length positions of a dimension.
func narrow(c dispatch.Context, self *tensor.Tensor, dim, start, length int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "narrow")
	defer b.Close(&err)
	d, err := wrapDim(b.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if start, err = view.Start(b.Op, self.Sizes()[d], start, length); err != nil {
		return nil, err
	}
	sizes := slices.Clone(self.Sizes())
	sizes[d] = length
	if isBatchDim(self, d) {
		return b.Return(mapBatchParts(b, self, sizes, func(part *tensor.Tensor) *tensor.Tensor {
			return b.Narrow(part, int64(d), start, length)
		}))
	}
	x := coordinatesOf(b, self)
	f := formOf(self)
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if d >= x.sparseDim() {
		y.values = b.Narrow(x.values, int64(d-x.sparseDim()+1), start, length)
	} else {
		row := b.Select(x.indices, 0, int64(d))
		within := b.LogicalAnd(b.Ge(row, b.IntNumber(start)), b.Lt(row, b.IntNumber(start+length)))
		of := b.AsShape(b.Nonzero(within), -1)
		y.indices, y.values = shiftRow(b, b.IndexSelect(x.indices, 1, of), d, -start), b.IndexSelect(x.values, 0, of)
	}
	return b.Return(assembleForm(b, y, f))
}

// slice returns the positions of a dimension from start to end.
func slice(c dispatch.Context, self *tensor.Tensor, dim int64, start, end ops.Int, step int64) (*tensor.Tensor, error) {
	d, err := wrapDim("slice", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if step != 1 {
		return nil, status.Runtimef("slice: a step of %d is not supported for sparse tensors; use index_select(), or convert with to_dense()",
			step)
	}
	from, length := clipSlice(start.Or(0), end.Or(self.Sizes()[d]), self.Sizes()[d])
	part, err := narrow(c, self, int64(d), from, length)
	return part, status.In("slice", err)
}

// clipSlice returns a slice within a dimension.
func clipSlice(start, stop, size int64) (from, length int64) {
	clip := func(v int64) int64 {
		if v < 0 {
			v += size
		}
		return max(0, min(v, size))
	}
	from = clip(start)
	return from, max(0, clip(stop)-from)
}

// shiftRow returns indices with by added to row d.
func shiftRow(b *build.Builder, indices *tensor.Tensor, d int, by int64) *tensor.Tensor {
	if by == 0 {
		return indices
	}
	n := indices.Sizes()[0]
	return b.Cat([]*tensor.Tensor{b.Narrow(indices, 0, 0, int64(d)), b.Add(b.Narrow(indices, 0, int64(d), 1), b.IntNumber(by)),
		b.Narrow(indices, 0, int64(d)+1, n-int64(d)-1)}, 0)
}

// indexSelect returns the positions of a dimension that index names, in its order.
func indexSelect(c dispatch.Context, out, self *tensor.Tensor, dim int64, index *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "index_select")
	defer b.Close(&err)
	switch {
	case !isSparse(self) || isSparse(index):
		b.Failf("expected a sparse tensor and a strided index, but got layouts %v and %v", self.Layout(), index.Layout())
	case index.Dim() > 1 || !index.DType().IsIntegral():
		b.Failf("index must be a vector of integers, but got sizes %v of %v", index.Sizes(), index.DType())
	}
	d, err := wrapDim(b.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	at := asInt64(b, b.AsShape(index, index.Numel()))
	n := self.Sizes()[d]
	if at.Numel() > 0 {
		low, high := findIndexBounds(b, b.Unsqueeze(at, 0))
		if len(low) > 0 && (low[0] < -n || high[0] >= n) {
			return nil, status.Indexf("index_select: index %d is out of bounds for dimension %d with size %d",
				map[bool]int64{true: low[0], false: high[0]}[low[0] < -n], d, n)
		}
		if len(low) > 0 && low[0] < 0 {
			at = remainderInt(b, at, n)
		}
	}
	sizes := slices.Clone(self.Sizes())
	sizes[d] = at.Numel()
	if isBatchDim(self, d) {
		return writeResult(b, out, mapBatchParts(b, self, sizes, func(part *tensor.Tensor) *tensor.Tensor {
			return b.IndexSelect(part, int64(d), at)
		}))
	}
	x := coordinatesOf(b, self)
	f := formOf(self)
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if d >= x.sparseDim() {
		y.values = b.IndexSelect(x.values, int64(d-x.sparseDim()+1), at)
	} else {
		inOrder, from := sortVector(b, b.Select(x.indices, 0, int64(d)))
		place, entry := matchSorted(b, at, inOrder)
		entry = b.IndexSelect(from, 0, entry)
		rest := b.IndexSelect(x.indices, 1, entry)
		y.indices = b.Cat([]*tensor.Tensor{b.Narrow(rest, 0, 0, int64(d)), b.Unsqueeze(place, 0),
			b.Narrow(rest, 0, int64(d)+1, int64(x.sparseDim()-d-1))}, 0)
		y.values, y.coalesced = b.IndexSelect(x.values, 0, entry), false
		if x.coalesced {
			y = coalesceCoordinates(b, y)
		}
	}
	return writeResult(b, out, assembleForm(b, y, f))
}

// cat joins tensors along a dimension, in the form of the first.
func cat(c dispatch.Context, out *tensor.Tensor, list []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "cat")
	defer b.Close(&err)
	if len(list) == 0 {
		return nil, status.Valuef("%s: expected a non-empty list of Tensors", b.Op)
	}
	first := list[0]
	for i, t := range list {
		switch {
		case !isSparse(t):
			b.Failf("expected sparse tensors, but tensor %d has layout %v; convert with to_dense()", i, t.Layout())
		case t.Dim() != first.Dim():
			b.Failf("tensors must have same number of dimensions: got %d and %d", first.Dim(), t.Dim())
		}
	}
	d, err := wrapDim(b.Op, dim, first.Dim())
	if err != nil {
		return nil, err
	}
	f := formOf(first)
	sparse := first.Dim() - f.dense
	result := coordinates{sizes: slices.Clone(first.Sizes())}
	result.sizes[d] = 0
	as := first.DType()
	for i, t := range list {
		for at, n := range t.Sizes() {
			if at != d && n != first.Sizes()[at] {
				b.Failf("sizes of tensors must match except in dimension %d, but tensor %d has sizes %v and the first one %v", d, i, t.Sizes(),
					first.Sizes())
			}
		}
		if result.sizes[d] > math.MaxInt64-t.Sizes()[d] {
			b.Failf("the sizes of dimension %d add up to more than a 64-bit integer can represent", d)
		}
		result.sizes[d] += t.Sizes()[d]
		as = dtype.Promote(as, t.DType())
	}
	var indices, values []*tensor.Tensor
	start := int64(0)
	for _, t := range list {
		x := castCoordinates(b, changeDenseDim(b, coordinatesOf(b, t), f.dense), as)
		at := asInt64(b, x.indices)
		if d < sparse {
			at = shiftRow(b, at, d, start)
		} else { // the other tensors have zeros there
			before, after := slices.Clone(x.values.Sizes()), slices.Clone(x.values.Sizes())
			before[d-sparse+1], after[d-sparse+1] = start, result.sizes[d]-start-t.Sizes()[d]
			x.values = b.Cat([]*tensor.Tensor{makeZeros(b, x.values, before...), x.values, makeZeros(b, x.values, after...)}, int64(d-sparse+1))
		}
		indices, values = append(indices, at), append(values, x.values)
		start += t.Sizes()[d]
	}
	result.indices, result.values = b.Cat(indices, 1), b.Cat(values, 0)
	return writeResult(b, out, assembleForm(b, result, f))
}

// stack joins tensors of the same sizes along a new dimension.
func stack(c dispatch.Context, out *tensor.Tensor, list []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "stack")
	defer b.Close(&err)
	if len(list) == 0 {
		return nil, status.Runtimef("%s: expects a non-empty list of tensors", b.Op)
	}
	d, err := shape.WrapDim(b.Op, dim, list[0].Dim()+1)
	if err != nil {
		return nil, err
	}
	unsqueezed := make([]*tensor.Tensor, len(list))
	for i, t := range list {
		switch {
		case !isSparse(t):
			b.Failf("expected sparse tensors, but tensor %d has layout %v; convert with to_dense()", i, t.Layout())
		case !slices.Equal(t.Sizes(), list[0].Sizes()):
			b.Failf("expected sparse tensors of the same sizes, but tensor %d has sizes %v, and the first one %v", i, t.Sizes(), list[0].Sizes())
		}
		if list[0].Layout() != tensor.COO && d > batchDim(list[0]) {
			t = asForm(b, t, form{tensor.COO, [2]int64{1, 1}, denseDim(t)})
		}
		unsqueezed[i] = b.Track(unsqueeze(c, nil, t, int64(d)))
	}
	return b.ReturnNew(cat(c, out, unsqueezed, int64(d)))
}

// matchSorted returns the pairs of positions of equal elements of keys and of the ascending vector sorted, in the order of keys.
func matchSorted(b *build.Builder, keys, sorted *tensor.Tensor) (in, of *tensor.Tensor) {
	bound := func(right bool) *tensor.Tensor {
		return b.SearchsortedWith(sorted, keys, false, right, "", nil)
	}
	first := bound(false)
	counts := b.Sub(bound(true), first)
	ends := b.CumsumWith(counts, 0, int64s)
	in = repeatByCount(b, counts)
	shift := b.Sub(first, b.Sub(ends, counts)) // from the position among the pairs to that in b
	return in, b.Add(makeRange(b, in.Numel(), keys.Device()), b.IndexSelect(shift, 0, in))
}
