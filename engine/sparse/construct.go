package sparse

import (
	"math"
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

// SparseCooTensor creates a COO tensor of indices, a column for each entry, and values. Its size is the smallest that holds the indices
// unless it is given.
func SparseCooTensor(c dispatch.Context, indices, values *tensor.Tensor, size []int64, d dtype.DType, dev device.Device,
	coalesced ops.Bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse_coo_tensor")
	defer b.Close(&err)
	values = convertValues(b, values, d, dev)
	indices = convertIndices(b, "indices", indices, values)
	if values.Dim() == 0 { // of one entry
		values = b.Unsqueeze(values, 0)
	}
	switch {
	case indices.Dim() != 2:
		b.Failf("indices must be sparse_dim x nnz, but got sizes %v", indices.Sizes())
	case indices.Sizes()[1] != values.Sizes()[0]:
		b.Failf("indices and values must have same nnz, but got nnz from indices: %d, nnz from values: %d", indices.Sizes()[1], values.Sizes()[0])
	}
	sparse := int(indices.Sizes()[0])
	low, high := findIndexBounds(b, indices)
	if size == nil {
		if low == nil && sparse > 0 && indices.Sizes()[1] > 0 {
			b.Failf("size must be given for indices on device %v, whose values are not known", indices.Device())
		}
		size = make([]int64, sparse)
		for i, last := range high {
			if last == math.MaxInt64 {
				b.Failf("index %d of dim %d is too large for a size", last, i)
			}
			size[i] = last + 1
		}
		size = append(size, values.Sizes()[1:]...)
	}
	switch {
	case len(size) != sparse+values.Dim()-1:
		b.Failf("number of dimensions must be sparse_dim (%d) + dense_dim (%d), but got %d: size %v", sparse, values.Dim()-1, len(size), size)
	case !slices.Equal(size[sparse:], values.Sizes()[1:]):
		b.Failf("values has incorrect size, expected %v, got %v", append([]int64{indices.Sizes()[1]}, size[sparse:]...), values.Sizes())
	}
	for i := range low {
		switch {
		case low[i] < 0:
			b.Failf("found negative index %d for dim %d", low[i], i)
		case high[i] >= size[i]:
			b.Failf("size is inconsistent with indices: for dim %d, size is %d but found index %d", i, size[i], high[i])
		}
	}
	x := coordinates{indices, values, size, values.Sizes()[0] < 2}
	if coalesced == ops.True {
		if x.coalesced = isStrictlyIncreasing(b, flattenIndices(b, indices, size[:sparse])); !x.coalesced {
			b.Failf("is_coalesced is set, but the indices are not sorted in row-major order without duplicates; call coalesce() instead")
		}
	}
	return b.Return(assembleCoo(b, x))
}

// convertValues returns values in the requested dtype and on the requested device.
func convertValues(b *build.Builder, values *tensor.Tensor, d dtype.DType, dev device.Device) *tensor.Tensor {
	if isSparse(values) {
		b.Failf("values must be a strided tensor, not one of layout %v", values.Layout())
	}
	if d == dtype.None {
		d = values.DType()
	}
	if dev.IsNone() {
		dev = values.Device()
	}
	return b.ToOptionsWith(values, d, tensor.NoLayout, dev, false, false, shape.Preserve)
}

// convertIndices returns the indices passed under a name, on the device of values: int32 or int64, for COO tensors any dtype that converts
// to int64. They are detached.
func convertIndices(b *build.Builder, name string, given, values *tensor.Tensor) *tensor.Tensor {
	switch {
	case isSparse(given):
		b.Failf("%s must be a strided tensor, not one of layout %v", name, given.Layout())
	case given.DType().IsComplex() || given.DType() == dtype.Bool:
		b.Failf("%s must be integers, but got %v", name, given.DType())
	case name != "indices" && given.DType() != dtype.Int32 && given.DType() != int64s:
		b.Failf("%s must be int32 or int64, but got %v", name, given.DType())
	case given.Device() != values.Device():
		b.Failf("device of %s (%v) must match device of values (%v)", name, given.Device(), values.Device())
	}
	if name == "indices" {
		given = b.CastTo(given, int64s)
	}
	return b.Detach(given)
}

// findIndexBounds returns the smallest and the largest index of each row, or nil without entries or data.
func findIndexBounds(b *build.Builder, indices *tensor.Tensor) (low, high []int64) {
	n, count := indices.Sizes()[0], indices.Sizes()[1]
	if count == 0 {
		if backend.Known(indices) {
			high = slices.Repeat([]int64{-1}, int(n))
		}
		return nil, high
	}
	if !backend.Known(indices) {
		return nil, nil
	}
	for i := range n {
		row := b.Select(indices, 0, i)
		first, _ := readInt(b, b.Amin(row, nil, false))
		last, _ := readInt(b, b.Amax(row, nil, false))
		low, high = append(low, first), append(high, last)
	}
	return low, high
}

// indexNames returns the names of the indices of a compressed layout.
func indexNames(l tensor.Layout) (compressed, plain string) {
	if isCompressedByRow(l) {
		return "crow_indices", "col_indices"
	}
	return "ccol_indices", "row_indices"
}

// SparseCompressedTensor makes a tensor of a compressed layout of its compressed indices, its plain indices and its values. Its
// size is the smallest that holds the indices unless it is given.
func SparseCompressedTensor(c dispatch.Context, compressed, plain, values *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
	dev device.Device) (_ *tensor.Tensor, err error) {
	b := build.New(c, "sparse_compressed_tensor")
	defer b.Close(&err)
	if l < tensor.CSR {
		b.Failf("layout must be sparse_csr, sparse_csc, sparse_bsr or sparse_bsc, but got %v", l)
	}
	b.Op = l.String() + "_tensor"
	first, second := indexNames(l)
	values = convertValues(b, values, d, dev)
	compressed, plain = convertIndices(b, first, compressed, values), convertIndices(b, second, plain, values)
	block := 0
	if hasBlocks(l) {
		block = 2
	}
	batch := compressed.Dim() - 1
	if hasBlocks(l) && batch >= 0 && values.Dim() == batch+1 && values.Numel() == 0 {
		values = reshapeEmptyBlocks(b, values, compressed, size, l)
	}
	switch {
	case compressed.DType() != plain.DType():
		b.Failf("%s and %s must have the same dtype, but got %v and %v", first, second, compressed.DType(), plain.DType())
	case batch < 0:
		b.Failf("%s must have at least 1 dimension, but got none", first)
	case plain.Dim() != batch+1:
		b.Failf("%s and %s must have the same number of dimensions, but got sizes %v and %v", first, second, compressed.Sizes(), plain.Sizes())
	case values.Dim() < batch+1+block:
		b.Failf("values must have at least %d dimensions (batch, entries, blocks), but got sizes %v", batch+1+block, values.Sizes())
	case !slices.Equal(compressed.Sizes()[:batch], plain.Sizes()[:batch]) || !slices.Equal(compressed.Sizes()[:batch], values.Sizes()[:batch]):
		b.Failf("the batch sizes of %s, %s and values must be the same, but got %v, %v and %v", first, second, compressed.Sizes()[:batch],
			plain.Sizes()[:batch], values.Sizes()[:batch])
	case compressed.Sizes()[batch] < 1:
		b.Failf("%s must have at least 1 entry in its last dimension, but got sizes %v", first, compressed.Sizes())
	case plain.Sizes()[batch] != values.Sizes()[batch]:
		b.Failf("%s and values must have the same number of entries, but got %d and %d", second, plain.Sizes()[batch], values.Sizes()[batch])
	}
	f := form{l, [2]int64{1, 1}, values.Dim() - batch - 1 - block}
	copy(f.block[:], values.Sizes()[batch+1:batch+1+block])
	n := compressed.Sizes()[batch] - 1
	if size == nil {
		size = inferSize(b, compressed, plain, values, f, n)
	}
	checkSizes(b, compressed, values, size, f, n)
	checkIndices(b, compressed, plain, size, f)
	return b.Return(assembleCompressed(b, l, size, compressed, plain, values))
}

// reshapeEmptyBlocks reshapes empty values, such as the list [], to zero blocks that divide a matrix of the given size along its rows or
// columns.
func reshapeEmptyBlocks(b *build.Builder, values, compressed *tensor.Tensor, size []int64, l tensor.Layout) *tensor.Tensor {
	batch := compressed.Dim() - 1
	block := [2]int64{1, 1}
	if n := compressed.Sizes()[batch] - 1; len(size) == batch+2 {
		major, minor := 0, 1
		if !isCompressedByRow(l) {
			major, minor = minor, major
		}
		block[major], block[minor] = max(size[batch+major]/max(n, 1), 1), max(size[batch+minor], 1)
	}
	return b.AsShape(values, append(slices.Clone(values.Sizes()), block[:]...)...)
}

// inferSize returns the smallest size that holds plain indices.
func inferSize(b *build.Builder, compressed, plain, values *tensor.Tensor, f form, n int64) []int64 {
	batch := compressed.Dim() - 1
	m := int64(0)
	if plain.Numel() > 0 {
		if !backend.Known(plain) {
			b.Failf("size must be given for indices on device %v, whose values are not known", plain.Device())
		}
		last, _ := readInt(b, b.Amax(plain, nil, false))
		m = last + 1
	}
	if !isCompressedByRow(f.layout) {
		n, m = m, n
	}
	m, n = max(m, 0), max(n, 0)
	if n > 1<<31 || m > 1<<31 {
		b.Failf("size must be passed: the indices require a matrix of sizes (%d, %d)", n, m)
	}
	return slices.Concat(compressed.Sizes()[:batch], []int64{n * f.block[0], m * f.block[1]}, values.Sizes()[values.Dim()-f.dense:])
}

// checkSizes ends the function with an error for a size that does not match the parts.
func checkSizes(b *build.Builder, compressed, values *tensor.Tensor, size []int64, f form, n int64) {
	batch := compressed.Dim() - 1
	dense := values.Sizes()[values.Dim()-f.dense:]
	name, _ := indexNames(f.layout)
	switch {
	case len(size) != batch+2+f.dense:
		b.Failf("size must have %d batch, 2 sparse and %d dense dimensions, as the parts have, but got %v", batch, f.dense, size)
	case !slices.Equal(size[:batch], compressed.Sizes()[:batch]):
		b.Failf("the batch sizes of the parts are %v, but size is %v", compressed.Sizes()[:batch], size)
	case !slices.Equal(size[batch+2:], dense):
		b.Failf("the dense sizes of values are %v, but size is %v", dense, size)
	case size[batch] < 0 || size[batch+1] < 0:
		b.Failf("sizes must not be negative, got %v", size)
	default:
		checkBlockSize(b, size, f)
	}
	major := batch
	if !isCompressedByRow(f.layout) {
		major = batch + 1
	}
	if want := size[major] / f.block[major-batch]; want != n {
		b.Failf("%s must have %d elements, one more than the number of compressed rows or columns for size %v, but got %d", name, uint64(want)+1,
			size, n+1)
	}
}

// checkIndices ends the function with an error for indices that do not fit a size. All reads of entries rely on it.
func checkIndices(b *build.Builder, compressed, plain *tensor.Tensor, size []int64, f form) {
	if !backend.Known(plain) || !backend.Known(compressed) {
		return
	}
	first, second := indexNames(f.layout)
	batch := compressed.Dim() - 1
	n, nnz := compressed.Sizes()[batch]-1, plain.Sizes()[batch]
	minor := batch + 1
	if !isCompressedByRow(f.layout) {
		minor = batch
	}
	m := size[minor] / f.block[minor-batch]
	compressed, plain = asInt64(b, compressed), asInt64(b, plain)
	last := int64(batch)
	least := func(t *tensor.Tensor) int64 {
		v, _ := readInt(b, b.Amin(t, nil, false))
		return v
	}
	most := func(t *tensor.Tensor) int64 {
		v, _ := readInt(b, b.Amax(t, nil, false))
		return v
	}
	if compressed.Numel() == 0 {
		return
	}
	start, end := b.Narrow(compressed, last, 0, 1), b.Narrow(compressed, last, n, 1)
	if lo, hi := least(start), most(start); lo != 0 || hi != 0 {
		if lo == 0 {
			lo = hi
		}
		b.Failf("%s must begin with 0, but got %d", first, lo)
	}
	if lo, hi := least(end), most(end); lo != nnz || hi != nnz {
		if lo == nnz {
			lo = hi
		}
		b.Failf("%s must end with the number of entries, %d, but got %d", first, nnz, lo)
	}
	counts := countPerLine(b, compressed)
	if n > 0 {
		if lo := least(counts); lo < 0 {
			b.Failf("%s must not decrease, but an element is %d less than the previous one", first, -lo)
		}
		if hi := most(counts); hi > m {
			b.Failf("%s has a difference of %d, but a row or column has at most %d entries", first, hi, m)
		}
	}
	if plain.Numel() == 0 {
		return
	}
	if lo := least(plain); lo < 0 {
		b.Failf("%s must not be negative, but got %d", second, lo)
	}
	if hi := most(plain); hi >= m {
		b.Failf("%s must be less than %d, but got %d", second, m, hi)
	}
	line := repeatByCount(b, counts)
	if !isStrictlyIncreasing(b, b.Add(mulInt(b, line, m), b.AsShape(plain, plain.Numel()))) {
		b.Failf("%s must be strictly increasing within each row or column", second)
	}
}

// makeEmpty returns a tensor of a sparse layout without entries.
func makeEmpty(b *build.Builder, l tensor.Layout, sizes []int64, d dtype.DType, dev device.Device, sparse int) *tensor.Tensor {
	zeros := func(d dtype.DType, sizes ...int64) *tensor.Tensor {
		return b.ZerosWith(sizes, d, tensor.NoLayout, dev)
	}
	if l == tensor.COO {
		return assembleCoo(b, coordinates{zeros(int64s, int64(sparse), 0), zeros(d, append([]int64{0}, sizes[sparse:]...)...), sizes, true})
	}
	if len(sizes) < 2 || hasBlocks(l) {
		b.Failf("an empty tensor of layout %v and size %v cannot be created; use to_sparse() on a dense tensor", l, sizes)
	}
	batch := len(sizes) - 2
	major := sizes[batch]
	if !isCompressedByRow(l) {
		major = sizes[batch+1]
	}
	batchSizes := slices.Clone(sizes[:batch])
	return assembleCompressed(b, l, sizes, zeros(int64s, append(slices.Clone(batchSizes), major+1)...),
		zeros(int64s, append(slices.Clone(batchSizes), 0)...), zeros(d, append(slices.Clone(batchSizes), 0)...))
}

// checkComponents returns an error for a tensor that was assembled of parts that do not fit.
func checkComponents(op string, t *tensor.Tensor) error {
	var created *tensor.Tensor
	var err error
	p := t.Components()
	if t.Layout() == tensor.COO {
		flag := ops.NoBool
		if p.Coalesced {
			flag = ops.True
		}
		created, err = SparseCooTensor(dispatch.Context{}, p.Indices[0], p.Values, t.Sizes(), dtype.None, device.None, flag)
	} else {
		created, err = SparseCompressedTensor(dispatch.Context{}, p.Indices[0], p.Indices[1], p.Values, t.Sizes(), dtype.None, t.Layout(),
			device.None)
	}
	if err != nil {
		return status.In(op, err)
	}
	created.Release()
	return nil
}
