package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// form is the layout, block size and number of dense dimensions of a sparse tensor.
type form struct {
	layout tensor.Layout
	block  [2]int64 // of BSR and BSC; 1 and 1 of others
	dense  int      // the number of dimensions that each entry has
}

func isCompressedByRow(l tensor.Layout) bool { return l == tensor.CSR || l == tensor.BSR }
func hasBlocks(l tensor.Layout) bool         { return l == tensor.BSR || l == tensor.BSC }

// batchDim returns the number of batch dimensions of a compressed layout.
func batchDim(t *tensor.Tensor) int { return t.Components().Indices[0].Dim() - 1 }

// denseDim returns the number of dimensions of each entry.
func denseDim(t *tensor.Tensor) int {
	p := t.Components()
	switch {
	case p == nil:
		return t.Dim()
	case t.Layout() == tensor.COO:
		return p.Values.Dim() - 1
	}
	return t.Dim() - batchDim(t) - 2
}

// countEntries returns the number of entries, in each batch.
func countEntries(t *tensor.Tensor) int64 {
	p := t.Components()
	last := p.Indices[len(p.Indices)-1].Sizes()
	return last[len(last)-1]
}

// formOf returns the form of a sparse tensor.
func formOf(t *tensor.Tensor) form {
	f := form{layout: t.Layout(), block: [2]int64{1, 1}, dense: denseDim(t)}
	if hasBlocks(f.layout) {
		batch := batchDim(t)
		copy(f.block[:], t.Components().Values.Sizes()[batch+1:batch+3])
	}
	return f
}

// coordinates are a sparse tensor's entries with the indices of each.
type coordinates struct {
	indices   *tensor.Tensor // a row for each sparse dimension, a column for each entry
	values    *tensor.Tensor // a row for each entry
	sizes     []int64        // of the tensor
	coalesced bool
}

// sparseDim returns the number of sparse dimensions.
func (x coordinates) sparseDim() int {
	if x.indices == nil {
		return 0
	}
	return int(x.indices.Sizes()[0])
}

// nnz returns the number of entries.
func (x coordinates) nnz() int64 { return x.indices.Sizes()[1] }

// assembleCoo returns the COO tensor of the coordinates.
func assembleCoo(b *build.Builder, x coordinates) *tensor.Tensor {
	return b.Track(tensor.Assemble(b.Op, tensor.COO, x.sizes,
		tensor.SparseComponents{Indices: []*tensor.Tensor{x.indices}, Values: x.values, Coalesced: x.coalesced}))
}

// assembleCompressed returns a tensor of a compressed layout.
func assembleCompressed(b *build.Builder, l tensor.Layout, sizes []int64, compressed, plain, values *tensor.Tensor) *tensor.Tensor {
	return b.Track(tensor.Assemble(b.Op, l, sizes, tensor.SparseComponents{Indices: []*tensor.Tensor{compressed, plain}, Values: values}))
}

// checkPositionCount ends the function with an error for sizes with more elements than int64 can number.
func checkPositionCount(b *build.Builder, sizes []int64) {
	if positions, err := shape.Numel(b.Op, dropZeros(sizes)); err != nil || positions > 1<<62 {
		b.Failf("the sizes %v of the sparse dimensions have more elements than a 64-bit integer can represent", sizes)
	}
}

// flattenIndices returns the row-major position of each entry in the sparse dimensions.
func flattenIndices(b *build.Builder, indices *tensor.Tensor, sizes []int64) *tensor.Tensor {
	checkPositionCount(b, sizes)
	indices = checkIndexBounds(b, indices, sizes)
	if len(sizes) == 0 {
		return b.SumWith(indices, []int64{0}, false, indices.DType())
	}
	key := b.Select(indices, 0, 0)
	for d := 1; d < len(sizes); d++ {
		key = b.Add(mulInt(b, key, sizes[d]), b.Select(indices, 0, int64(d)))
	}
	return key
}

// checkIndexBounds returns indices as int64 after a check against sizes: the application may have changed them since the tensor was
// created.
func checkIndexBounds(b *build.Builder, indices *tensor.Tensor, sizes []int64) *tensor.Tensor {
	indices = asInt64(b, indices)
	low, high := findIndexBounds(b, indices)
	for d := range low {
		if low[d] < 0 || high[d] >= sizes[d] {
			b.Failf("the indices of dimension %d go from %d to %d, beyond its size %d: they were changed after the tensor was created", d, low[d],
				high[d], sizes[d])
		}
	}
	return indices
}

func dropZeros(sizes []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return n == 0 })
}

// unflattenIndices returns the indices of row-major positions: the inverse of flattenIndices.
func unflattenIndices(b *build.Builder, key *tensor.Tensor, sizes []int64) *tensor.Tensor {
	if len(sizes) == 0 {
		return b.ZerosWith([]int64{0, key.Numel()}, int64s, tensor.NoLayout, key.Device())
	}
	rows := make([]*tensor.Tensor, len(sizes))
	for d := len(sizes) - 1; d >= 0; d-- {
		if d == 0 {
			rows[d] = key
			break
		}
		n := max(sizes[d], 1)
		rows[d] = remainderInt(b, key, n)
		key = floorDivInt(b, key, n)
	}
	return b.Stack(rows, 0)
}

// coalesceCoordinates returns x in row-major order, with the sum of entries at the same position.
func coalesceCoordinates(b *build.Builder, x coordinates) coordinates {
	if x.coalesced {
		return x
	}
	return groupEntries(b, x.values, x.sizes, x.sparseDim(), x.indices)
}

// needsCoalesceToCast reports whether a cast changes the sum of duplicate entries: integers wrap around, and the sum of bools is a bool.
func needsCoalesceToCast(from, to dtype.DType) bool {
	return to != dtype.None && to != from && min(from.Category(), to.Category()) < dtype.Floating
}

// castCoordinates returns x with values of dtype d.
func castCoordinates(b *build.Builder, x coordinates, d dtype.DType) coordinates {
	if needsCoalesceToCast(x.values.DType(), d) {
		x = coalesceCoordinates(b, x)
	}
	x.values = b.CastTo(x.values, d)
	return x
}

// coalesceToCast returns t, coalesced if a cast of its values to d would otherwise change their sums.
func coalesceToCast(b *build.Builder, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.Layout() != tensor.COO || t.Components().Coalesced || !needsCoalesceToCast(t.DType(), d) {
		return t
	}
	return assembleCoo(b, coalesceCoordinates(b, coordinatesOf(b, t)))
}

// groupEntries coalesces entries with the given values and lists of indices.
func groupEntries(b *build.Builder, values *tensor.Tensor, sizes []int64, sparse int, lists ...*tensor.Tensor) coordinates {
	y := coordinates{indices: lists[0], values: values, sizes: sizes, coalesced: true}
	checkPositionCount(b, sizes[:sparse])
	for i := range lists {
		lists[i] = asInt64(b, lists[i])
	}
	if !backend.Known(values) { // as if all positions were distinct
		if len(lists) > 1 {
			y.indices = b.Cat(lists, 1)
		}
		return y
	}
	w, err := backend.On(values).Group(b.Op, backend.Grouping{Lists: lists, Sizes: sizes[:sparse]})
	b.Check(err)
	if w.Places == nil {
		return y
	}
	y.indices = b.Track(w.Places, nil)
	y.values = sumRows(b, values, b.Track(w.Order, nil), b.Track(w.Starts, nil))
	return y
}

// sumRows sums the rows of values in the given order, from each of starts to the next, with 16-bit floats accumulated in float32.
func sumRows(b *build.Builder, values, order, starts *tensor.Tensor) *tensor.Tensor {
	rows := values
	if values.Dim() > 2 {
		rows = b.AsShape(values, values.Sizes()[0], shape.Product(values.Sizes()[1:]))
	}
	sums := b.CsrSpmm(starts, order, nil, rows)
	if values.Dim() > 2 {
		sums = b.AsShape(sums, append([]int64{sums.Sizes()[0]}, values.Sizes()[1:]...)...)
	}
	return sums
}

// isStrictlyIncreasing reports whether each element of a vector is larger than the one before.
func isStrictlyIncreasing(b *build.Builder, t *tensor.Tensor) bool {
	if t.Sizes()[0] < 2 {
		return true
	}
	n := t.Sizes()[0]
	return isAllTrue(b, b.Lt(b.Narrow(t, 0, 0, n-1), b.Narrow(t, 0, 1, n-1)))
}

// coordinatesOf returns the coordinates of a sparse tensor of any layout; those of compressed layouts are coalesced.
func coordinatesOf(b *build.Builder, t *tensor.Tensor) coordinates {
	p := t.Components()
	if t.Layout() == tensor.COO {
		return coordinates{p.Indices[0], p.Values, t.Sizes(), p.Coalesced}
	}
	batch, f := batchDim(t), formOf(t)
	index, values := expandIndices(b, t)
	if hasBlocks(f.layout) {
		index, values = expandBlocks(b, index, values, f, batch)
	}
	return coalesceCoordinates(b, coordinates{index, values, t.Sizes(), f.layout == tensor.CSR})
}

// countPerLine returns the number of entries of each row or column of compressed indices.
func countPerLine(b *build.Builder, compressed *tensor.Tensor) *tensor.Tensor {
	last := int64(compressed.Dim() - 1)
	n := compressed.Sizes()[last] - 1
	return b.Sub(b.Narrow(compressed, last, 1, n), b.Narrow(compressed, last, 0, n))
}

// repeatByCount returns each flat position i counts[i] times.
func repeatByCount(b *build.Builder, counts *tensor.Tensor) *tensor.Tensor {
	flat := b.AsShape(counts, -1)
	return b.RepeatInterleaveWith(flat, noDim)
}

// expandIndices returns the COO indices and the values of a compressed tensor's entries or blocks, concatenated over batches.
func expandIndices(b *build.Builder, t *tensor.Tensor) (indices, values *tensor.Tensor) {
	p, batch := t.Components(), batchDim(t)
	plain := asInt64(b, p.Indices[1])
	rows := []*tensor.Tensor{expandCompressed(b, p.Indices[0], plain), b.AsShape(plain, plain.Numel())}
	if !isCompressedByRow(t.Layout()) {
		slices.Reverse(rows)
	}
	indices = b.Stack(rows, 0)
	if batch > 0 {
		each := floorDivInt(b, makeRange(b, plain.Numel(), plain.Device()), max(countEntries(t), 1))
		indices = b.Cat([]*tensor.Tensor{unflattenIndices(b, each, t.Sizes()[:batch]), indices}, 0)
	}
	return indices, b.AsShape(p.Values, append([]int64{plain.Numel()}, p.Values.Sizes()[batch+1:]...)...)
}

// expandCompressed returns the row or column of each entry.
func expandCompressed(b *build.Builder, compressed, plain *tensor.Tensor) *tensor.Tensor {
	n, nnz := compressed.Sizes()[compressed.Dim()-1], plain.Sizes()[plain.Dim()-1]
	from := b.AsContiguous(b.AsShape(asInt64(b, compressed), shape.Product(compressed.Sizes()[:compressed.Dim()-1]), n))
	to := b.Track(tensor.Empty(b.Op, []int64{from.Sizes()[0], nnz}, int64s, plain.Device()))
	b.Check(backend.On(to).Expand(b.Op, backend.Expansion{To: to, From: from}))
	return b.AsShape(to, plain.Numel())
}

// asInt64 returns indices as int64.
func asInt64(b *build.Builder, t *tensor.Tensor) *tensor.Tensor { return b.CastTo(t, int64s) }

// expandBlocks returns the elements of blocks with the indices of each.
func expandBlocks(b *build.Builder, indices, values *tensor.Tensor, f form, batch int) (each, elements *tensor.Tensor) {
	n, h, w := indices.Sizes()[1], f.block[0], f.block[1]
	inside := makeRange(b, h*w, indices.Device())
	offsets := []*tensor.Tensor{floorDivInt(b, inside, max(w, 1)), remainderInt(b, inside, max(w, 1))}
	rows := make([]*tensor.Tensor, batch+2)
	for d := range rows {
		row := b.Unsqueeze(b.Select(indices, 0, int64(d)), 1)
		if d < batch {
			row = b.Expand(row, n, h*w)
		} else {
			row = b.Add(mulInt(b, row, f.block[d-batch]), offsets[d-batch])
		}
		rows[d] = b.AsShape(row, n*h*w)
	}
	return b.Stack(rows, 0), b.AsShape(values, append([]int64{n * h * w}, values.Sizes()[3:]...)...)
}
