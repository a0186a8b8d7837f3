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
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	noDim  = ops.NoInt
	int64s = dtype.Int64
)

// asDense returns a sparse tensor as a strided one, with 0 at positions without an entry, and any other tensor unchanged.
func asDense(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	if !isSparse(t) {
		return t
	}
	x := coordinatesOf(b, t)
	sizes := x.sizes[:x.sparseDim()]
	flat := sumByIndex(b, shape.Product(sizes), flattenIndices(b, x.indices, sizes), x.values)
	return b.AsShape(flat, slices.Clone(x.sizes)...)
}

// findNonzero returns the elements of a dense tensor that are not 0, or the entries of its first dimensions that are not all 0.
func findNonzero(b *build.Builder, t *tensor.Tensor, sparse int) coordinates {
	flat := b.AsShape(t, append([]int64{shape.Product(t.Sizes()[:sparse])}, t.Sizes()[sparse:]...)...)
	set := b.Ne(flat, b.IntNumber(0))
	for set.Dim() > 1 {
		set = b.Any(set, []int64{-1}, false)
	}
	key := b.AsShape(b.Nonzero(set), -1)
	return selectEntries(b, flat, key, t.Sizes(), sparse)
}

// selectEntries returns the entries of flat, with the sparse dimensions of sizes in place of its first dimension, at ascending positions.
func selectEntries(b *build.Builder, flat, key *tensor.Tensor, sizes []int64, sparse int) coordinates {
	return coordinates{sizes: sizes, coalesced: true, values: b.IndexSelect(flat, 0, key), indices: unflattenIndices(b, key, sizes[:sparse])}
}

// asForm returns t, dense or sparse, in a form; indices of a compressed layout keep their dtype.
func asForm(b *build.Builder, t *tensor.Tensor, f form) *tensor.Tensor {
	result := convertForm(b, t, f)
	if result == t || f.layout < tensor.CSR || t.Layout() < tensor.CSR {
		return result
	}
	return castIndices(b, result, t.Components().Indices[0].DType())
}

// castIndices returns a tensor of a compressed layout with indices of dtype d, or t itself if d cannot represent them.
func castIndices(b *build.Builder, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.Components().Indices[0].DType() == d || d != int64s && max(countEntries(t), slices.Max(t.Sizes())) > math.MaxInt32 {
		return t
	}
	return mapComponents(b, t, func(i *tensor.Tensor) *tensor.Tensor { return b.CastTo(i, d) }, returnSame)
}

// convertForm is asForm with int64 indices unless t has the form already.
func convertForm(b *build.Builder, t *tensor.Tensor, f form) *tensor.Tensor {
	switch {
	case f.layout == tensor.Strided:
		return asDense(b, t)
	case isSparse(t) && formOf(t) == f:
		return t
	}
	if t.Dim() < f.dense {
		b.Failf("a tensor with %d dense dimensions cannot have sizes %v", f.dense, t.Sizes())
	}
	if f.layout != tensor.COO && t.Dim()-f.dense < 2 {
		b.Failf("%v tensors require at least 2 dimensions in addition to %d dense dimensions, but got sizes %v", f.layout, f.dense, t.Sizes())
	}
	sparse := t.Dim() - f.dense
	switch {
	case !isSparse(t) && hasBlocks(f.layout):
		return compressCoordinates(b, findNonzeroBlocks(b, t, f), t.Sizes(), f)
	case !isSparse(t):
		return assembleForm(b, findNonzero(b, t, sparse), f)
	case f.layout == tensor.COO:
		return assembleCoo(b, changeDenseDim(b, coordinatesOf(b, t), f.dense))
	case hasBlocks(f.layout) && formOf(t).dense == f.dense:
		return assembleForm(b, coordinatesOf(b, t), f)
	case hasBlocks(f.layout):
		return asForm(b, asDense(b, t), f)
	}
	return assembleForm(b, changeDenseDim(b, coordinatesOf(b, t), f.dense), f)
}

// changeDenseDim returns x with another number of dense dimensions: its entries are split or merged.
func changeDenseDim(b *build.Builder, x coordinates, dense int) coordinates {
	sparse := len(x.sizes) - dense
	switch {
	case x.sparseDim() == sparse:
		return x
	case x.sparseDim() < sparse:
		return splitEntries(b, x, sparse)
	}
	return joinEntries(b, x, sparse)
}

// splitEntries makes leading dense dimensions sparse: each entry becomes one entry for each of its elements along them.
func splitEntries(b *build.Builder, x coordinates, sparse int) coordinates {
	inner := x.sizes[x.sparseDim():sparse]
	n := shape.Product(inner)
	each := makeRange(b, x.nnz()*n, x.values.Device())
	of := floorDivInt(b, each, max(n, 1))
	within := unflattenIndices(b, b.Sub(each, mulInt(b, of, n)), inner)
	return coordinates{
		b.Cat([]*tensor.Tensor{b.IndexSelect(asInt64(b, x.indices), 1, of), within}, 0),
		b.AsShape(x.values, append([]int64{x.nnz() * n}, x.sizes[sparse:]...)...),
		x.sizes, x.coalesced,
	}
}

// joinEntries makes trailing sparse dimensions dense: entries with the same leading indices become one entry.
func joinEntries(b *build.Builder, x coordinates, sparse int) coordinates {
	x = coalesceCoordinates(b, x)
	inner := x.sizes[sparse:x.sparseDim()]
	n := shape.Product(inner)
	rest := flattenIndices(b, b.Narrow(x.indices, 0, int64(sparse), int64(x.sparseDim()-sparse)), inner)
	once, inverse, _ := b.UniqueConsecutive(flattenIndices(b, b.Narrow(x.indices, 0, 0, int64(sparse)), x.sizes[:sparse]), true, true, noDim)
	count := once.Numel()
	values := sumByIndex(b, count*n, b.Add(mulInt(b, inverse, n), rest), x.values)
	return coordinates{unflattenIndices(b, once, x.sizes[:sparse]), b.AsShape(values, append([]int64{count}, x.sizes[sparse:]...)...), x.sizes,
		true}
}

// assembleForm returns the tensor of a form that has the entries of x.
func assembleForm(b *build.Builder, x coordinates, f form) *tensor.Tensor {
	switch {
	case f.layout == tensor.COO:
		return assembleCoo(b, x)
	case hasBlocks(f.layout):
		return compressCoordinates(b, gatherBlocks(b, x, f), x.sizes, f)
	}
	return compressCoordinates(b, x, x.sizes, f)
}

// checkBlockSize returns an error for blocks that do not divide the matrices.
func checkBlockSize(b *build.Builder, sizes []int64, f form) {
	at := len(sizes) - f.dense - 2
	rows, columns := sizes[at], sizes[at+1]
	if f.block[0] < 1 || f.block[1] < 1 || rows%f.block[0] != 0 || columns%f.block[1] != 0 {
		b.Failf("matrices of sizes (%d, %d) cannot be divided into blocks of sizes (%d, %d)", rows, columns, f.block[0], f.block[1])
	}
}

// findNonzeroBlocks returns the blocks of a dense tensor that are not all 0.
func findNonzeroBlocks(b *build.Builder, t *tensor.Tensor, f form) coordinates {
	checkBlockSize(b, t.Sizes(), f)
	at := t.Dim() - f.dense - 2
	rows, columns := t.Sizes()[at], t.Sizes()[at+1]
	sizes := slices.Concat(t.Sizes()[:at], []int64{rows / f.block[0], f.block[0], columns / f.block[1], f.block[1]}, t.Sizes()[at+2:])
	order := make([]int64, len(sizes))
	for i := range order {
		order[i] = int64(i)
	}
	order[at+1], order[at+2] = order[at+2], order[at+1]
	return findNonzero(b, b.ReorderDims(b.AsShape(t, sizes...), order...), at+2)
}

// gatherBlocks returns the blocks that contain entries.
func gatherBlocks(b *build.Builder, x coordinates, f form) coordinates {
	checkBlockSize(b, x.sizes, f)
	at, h, w := len(x.sizes)-f.dense-2, f.block[0], f.block[1]
	rows, inside := make([]*tensor.Tensor, at+2), make([]*tensor.Tensor, 2)
	indices := asInt64(b, x.indices)
	for d := range rows {
		rows[d] = b.Select(indices, 0, int64(d))
		if d >= at {
			inside[d-at] = remainderInt(b, rows[d], f.block[d-at])
			rows[d] = floorDivInt(b, rows[d], f.block[d-at])
		}
	}
	sizes := slices.Clone(x.sizes[:at+2])
	sizes[at], sizes[at+1] = sizes[at]/h, sizes[at+1]/w
	key := flattenIndices(b, b.Stack(rows, 0), sizes)
	offset := b.Add(mulInt(b, inside[0], w), inside[1])
	inOrder, from := sortVector(b, key)
	once, inverse, _ := b.UniqueConsecutive(inOrder, true, true, noDim)
	n := once.Sizes()[0]
	where := b.Add(mulInt(b, inverse, h*w), b.IndexSelect(offset, 0, from))
	values := sumByIndex(b, n*h*w, where, b.IndexSelect(x.values, 0, from))
	return coordinates{unflattenIndices(b, once, sizes), b.AsShape(values, append([]int64{n, h, w}, x.values.Sizes()[1:]...)...),
		append(sizes, x.sizes[at+2:]...), true}
}

// compressCoordinates returns the tensor of a compressed form and the given sizes that has the entries, or blocks, of x.
func compressCoordinates(b *build.Builder, x coordinates, sizes []int64, f form) *tensor.Tensor {
	batch := len(sizes) - f.dense - 2
	major, minor := batch, batch+1
	if !isCompressedByRow(f.layout) {
		major, minor = minor, major
	}
	n := sizes[major] / f.block[major-batch]
	m := sizes[minor] / f.block[minor-batch]
	count := shape.Product(sizes[:batch])
	if batch > 0 || major > minor || !x.coalesced {
		indices := x.indices
		if major > minor {
			rows := []*tensor.Tensor{}
			for d := range batch {
				rows = append(rows, b.Select(indices, 0, int64(d)))
			}
			indices = b.Stack(append(rows, b.Select(indices, 0, int64(major)), b.Select(indices, 0, int64(minor))), 0)
		}
		x = coalesceCoordinates(b, coordinates{indices, x.values, slices.Concat(sizes[:batch], []int64{n, m}, x.values.Sizes()[1:]),
			x.coalesced && major < minor})
	}
	line, nnz := b.Select(asInt64(b, x.indices), 0, 0), x.nnz()
	if batch > 0 { // batch and row of each entry
		line = flattenIndices(b, b.Narrow(x.indices, 0, 0, int64(batch)+1), append(slices.Clone(sizes[:batch]), n))
	}
	compressed := compressIndices(b, line, count*n)
	if batch > 0 {
		compressed = splitByBatch(b, compressed, count, n)
		if count > 0 {
			nnz /= count
		}
		if !isAllTrue(b, b.Eq(b.Narrow(compressed, 1, n, 1), b.IntNumber(nnz))) {
			b.Failf("expected the same number of specified elements per batch of sizes %v", sizes[:batch])
		}
	}
	batchSizes := slices.Clone(sizes[:batch])
	return assembleCompressed(b, f.layout, sizes,
		b.AsShape(compressed, append(batchSizes, n+1)...),
		b.AsShape(b.AsContiguous(b.Select(x.indices, 0, int64(batch)+1)), append(batchSizes, nnz)...),
		b.AsShape(x.values, slices.Concat(batchSizes, []int64{nnz}, x.values.Sizes()[1:])...))
}

// compressIndices returns the compressed indices of n lines from the ascending line number of each entry.
func compressIndices(b *build.Builder, line *tensor.Tensor, n int64) *tensor.Tensor {
	to := b.Track(tensor.Empty(b.Op, []int64{n + 1}, int64s, line.Device()))
	b.Check(backend.On(to).Lines(b.Op, backend.Lines{To: to, From: line}))
	return to
}

// splitByBatch returns the compressed indices of count matrices of n lines each from the compressed indices of all lines.
func splitByBatch(b *build.Builder, compressed *tensor.Tensor, count, n int64) *tensor.Tensor {
	if n == 0 || count == 0 {
		return makeZeros(b, compressed, count, n+1)
	}
	each := b.Unfold(compressed, 0, n+1, n)
	return b.Sub(each, b.Narrow(each, 1, 0, 1))
}

// ToDense returns self as a strided tensor, in dtype d if d is given.
func ToDense(c dispatch.Context, self *tensor.Tensor, d dtype.DType, _ ops.Bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "to_dense")
	defer b.Close(&err)
	return b.Return(b.CastTo(asDense(b, self), d))
}

// ToSparseDim returns self in the layout COO with sparseDim sparse dimensions.
func ToSparseDim(c dispatch.Context, self *tensor.Tensor, sparseDim int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "to_sparse")
	defer b.Close(&err)
	switch {
	case sparseDim < 0 || sparseDim > int64(self.Dim()) || sparseDim == 0 && self.Dim() > 0:
		b.Failf("sparse_dim %d must be in the range 1 to %d of dimensions of the tensor", sparseDim, self.Dim())
	case self.Layout() == tensor.COO && int(sparseDim) != self.Dim()-denseDim(self):
		b.Failf("sparse_dim %d must be the tensor's number of sparse dimensions, %d; convert with to_dense() first", sparseDim,
			self.Dim()-denseDim(self))
	case isSparse(self) && self.Layout() != tensor.COO && sparseDim != 2:
		b.Failf("sparse_dim must be 2 for a tensor of layout %v, but got %d; convert with to_dense() first", self.Layout(), sparseDim)
	}
	if isSparse(self) {
		return b.Return(asForm(b, self, form{tensor.COO, [2]int64{1, 1}, denseDim(self)}))
	}
	return b.Return(asForm(b, self, form{tensor.COO, [2]int64{1, 1}, self.Dim() - int(sparseDim)}))
}

// ToSparse returns self in a sparse layout, COO by default.
func ToSparse(c dispatch.Context, self *tensor.Tensor, layout tensor.Layout, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	if layout == tensor.NoLayout {
		layout = tensor.COO
	}
	return convertLayout(c, "to_sparse", self, layout, blockSize, dense)
}

// ToSparseCoo returns self in the layout COO.
func ToSparseCoo(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return convertLayout(c, "to_sparse_coo", self, tensor.COO, nil, dense)
}

// ToSparseCsr returns self in the layout CSR.
func ToSparseCsr(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return convertLayout(c, "to_sparse_csr", self, tensor.CSR, nil, dense)
}

// ToSparseCsc returns self in the layout CSC.
func ToSparseCsc(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return convertLayout(c, "to_sparse_csc", self, tensor.CSC, nil, dense)
}

// ToSparseBsr returns self in the layout BSR.
func ToSparseBsr(c dispatch.Context, self *tensor.Tensor, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	return convertLayout(c, "to_sparse_bsr", self, tensor.BSR, blockSize, dense)
}

// ToSparseBsc returns self in the layout BSC.
func ToSparseBsc(c dispatch.Context, self *tensor.Tensor, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	return convertLayout(c, "to_sparse_bsc", self, tensor.BSC, blockSize, dense)
}

// convertLayout returns self in layout l, after the checks of the to_sparse operators.
func convertLayout(c dispatch.Context, op string, self *tensor.Tensor, l tensor.Layout, blockSize []int64,
	dense ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	f := form{l, [2]int64{1, 1}, 0}
	if isSparse(self) {
		f.dense = formOf(self).dense
	}
	if len(blockSize) == 1 { // of squares
		blockSize = slices.Repeat(blockSize, 2)
	}
	if !dense.IsNone() {
		f.dense = int(max(-1, min(int64(dense), 1<<16)))
	}
	switch {
	case l == tensor.Strided:
		return b.Return(asDense(b, self))
	case f.dense < 0 || f.dense > self.Dim():
		b.Failf("dense_dim %d must be in the range 0 to %d of dimensions of the tensor", f.dense, self.Dim())
	case hasBlocks(l) && len(blockSize) == 0 && isSparse(self) && hasBlocks(self.Layout()):
		f.block = formOf(self).block
	case hasBlocks(l) && len(blockSize) != 2:
		b.Failf("blocksize must have two sizes for layout %v, but got %v", l, blockSize)
	case !hasBlocks(l) && len(blockSize) != 0:
		b.Failf("blocksize is only supported for the layouts sparse_bsr and sparse_bsc, not %v", l)
	case hasBlocks(l):
		f.block = [2]int64(blockSize)
	}
	checkConversion(b, self, f)
	return b.Return(asForm(b, self, f))
}

// checkConversion returns an error for those conversions that PyTorch rejects.
func checkConversion(b *build.Builder, t *tensor.Tensor, f form) {
	if !isSparse(t) {
		if batch := t.Dim() - f.dense - 2; f.layout != tensor.COO && batch > 0 && shape.Product(t.Sizes()[:batch]) == 0 {
			b.Failf("the batch of sizes %v is empty, so the number of entries of layout %v is unknown; use to_sparse_coo()", t.Sizes(), f.layout)
		}
		return
	}
	from := formOf(t)
	sparse := t.Dim() - from.dense
	matrices := from.layout != tensor.COO
	switch {
	case f.dense != from.dense:
		b.Failf("dense_dim %d must be the tensor's number of dense dimensions, %d; convert with to_dense() first", f.dense, from.dense)
	case !matrices && f.layout != tensor.COO && sparse != 2:
		b.Failf("layout %v requires two sparse dimensions, but the tensor has %d; convert with to_dense() first", f.layout, sparse)
	case hasBlocks(from.layout) && hasBlocks(f.layout) && from.block != f.block:
		b.Failf("blocks of sizes %v cannot be converted to blocks of sizes %v; convert with to_sparse_coo() or to_dense() first", from.block,
			f.block)
	case hasBlocks(from.layout) && f.layout != tensor.COO && !hasBlocks(f.layout):
		b.Failf("layout %v cannot be converted to layout %v; convert with to_sparse_coo() or to_dense() first", from.layout, f.layout)
	case matrices && !hasBlocks(from.layout) && hasBlocks(f.layout) && sparse > 2:
		b.Failf("batches of layout %v cannot be converted to layout %v; convert with to_dense() first", from.layout, f.layout)
	}
}
