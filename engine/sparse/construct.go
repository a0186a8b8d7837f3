package sparse

import (
	"math"
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

// SparseCooTensor creates a COO tensor of indices, a column for each entry, and values. Its size is the smallest that holds the indices unless it is
// given.
func SparseCooTensor(c dispatch.Context, indices, values *tensor.Tensor, size []int64, d dtype.DType, dev device.Device, coalesced ops.Bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse_coo_tensor")
	defer s.Close(&err)
	values = s.given(values, d, dev)
	indices = s.indices("indices", indices, values)
	if values.Dim() == 0 { // of one entry
		values = s.Unsqueeze(values, 0)
	}
	switch {
	case indices.Dim() != 2:
		s.Failf("indices must be sparse_dim x nnz, but got sizes %v", indices.Sizes())
	case indices.Sizes()[1] != values.Sizes()[0]:
		s.Failf("indices and values must have same nnz, but got nnz from indices: %d, nnz from values: %d", indices.Sizes()[1], values.Sizes()[0])
	}
	sparse := int(indices.Sizes()[0])
	low, high := s.bounds(indices)
	if size == nil {
		if low == nil && sparse > 0 && indices.Sizes()[1] > 0 {
			s.Failf("size must be given for indices on device %v, whose values are not known", indices.Device())
			return nil, nil
		}
		size = make([]int64, sparse)
		for i, last := range high {
			if last == math.MaxInt64 {
				s.Failf("index %d of dim %d is too large for a size", last, i)
				return nil, nil
			}
			size[i] = last + 1
		}
		size = append(size, values.Sizes()[1:]...)
	}
	switch {
	case len(size) != sparse+values.Dim()-1:
		s.Failf("number of dimensions must be sparse_dim (%d) + dense_dim (%d), but got %d: size %v", sparse, values.Dim()-1, len(size), size)
	case !slices.Equal(size[sparse:], values.Sizes()[1:]):
		s.Failf("values has incorrect size, expected %v, got %v", append([]int64{indices.Sizes()[1]}, size[sparse:]...), values.Sizes())
	}
	for i := range low {
		switch {
		case low[i] < 0:
			s.Failf("found negative index %d for dim %d", low[i], i)
		case high[i] >= size[i]:
			s.Failf("size is inconsistent with indices: for dim %d, size is %d but found index %d", i, size[i], high[i])
		}
	}
	x := coordinates{indices, values, size, values.Sizes()[0] < 2}
	if coalesced == ops.True {
		if x.coalesced = s.rising(s.keys(indices, size[:sparse])); !x.coalesced {
			s.Failf("is_coalesced is set, but the indices are not sorted in row-major order without duplicates; call coalesce() instead")
		}
	}
	return s.Return(s.tensor(x))
}

// given returns values in the requested dtype and on the requested device.
func (s *scope) given(values *tensor.Tensor, d dtype.DType, dev device.Device) *tensor.Tensor {
	if isSparse(values) {
		s.Failf("values must be a strided tensor, not one of layout %v", values.Layout())
		return nil
	}
	if d == dtype.None {
		d = values.DType()
	}
	if dev.IsNone() {
		dev = values.Device()
	}
	return s.ToOptionsWith(values, d, tensor.NoLayout, dev, false, false, shape.Preserve)
}

// indices returns the indices passed under a name, on the device of values: int32 or int64, for COO tensors any dtype that converts to int64. They
// are not recorded.
func (s *scope) indices(name string, given, values *tensor.Tensor) *tensor.Tensor {
	switch {
	case isSparse(given):
		s.Failf("%s must be a strided tensor, not one of layout %v", name, given.Layout())
	case given.DType().IsComplex() || given.DType() == dtype.Bool:
		s.Failf("%s must be integers, but got %v", name, given.DType())
	case name != "indices" && given.DType() != dtype.Int32 && given.DType() != int64s:
		s.Failf("%s must be int32 or int64, but got %v", name, given.DType())
	case given.Device() != values.Device():
		s.Failf("device of %s (%v) must match device of values (%v)", name, given.Device(), values.Device())
	}
	if name == "indices" {
		given = s.CastTo(given, int64s)
	}
	return s.Detach(given)
}

// bounds returns the smallest and the largest index of each row, or nil without entries or data.
func (s *scope) bounds(indices *tensor.Tensor) (low, high []int64) {
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
		row := s.Select(indices, 0, i)
		first, _ := s.integer(s.Amin(row, nil, false))
		last, _ := s.integer(s.Amax(row, nil, false))
		low, high = append(low, first), append(high, last)
	}
	return low, high
}

// names of the indices of a compressed layout.
func names(l tensor.Layout) (compressed, plain string) {
	if byRows(l) {
		return "crow_indices", "col_indices"
	}
	return "ccol_indices", "row_indices"
}

// SparseCompressedTensor makes a tensor of a compressed layout of its compressed indices, its plain indices and its values. Its
// size is the smallest that holds the indices unless it is given.
func SparseCompressedTensor(c dispatch.Context, compressed, plain, values *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sparse_compressed_tensor")
	defer s.Close(&err)
	if l < tensor.CSR {
		s.Failf("layout must be sparse_csr, sparse_csc, sparse_bsr or sparse_bsc, but got %v", l)
		return nil, nil
	}
	s.Op = l.String() + "_tensor"
	first, second := names(l)
	values = s.given(values, d, dev)
	compressed, plain = s.indices(first, compressed, values), s.indices(second, plain, values)
	block := 0
	if inBlocks(l) {
		block = 2
	}
	b := compressed.Dim() - 1
	if inBlocks(l) && b >= 0 && values.Dim() == b+1 && values.Numel() == 0 {
		values = s.noBlocks(values, compressed, size, l)
	}
	switch {
	case compressed.DType() != plain.DType():
		s.Failf("%s and %s must have the same dtype, but got %v and %v", first, second, compressed.DType(), plain.DType())
	case b < 0:
		s.Failf("%s must have at least 1 dimension, but got none", first)
	case plain.Dim() != b+1:
		s.Failf("%s and %s must have the same number of dimensions, but got sizes %v and %v", first, second, compressed.Sizes(), plain.Sizes())
	case values.Dim() < b+1+block:
		s.Failf("values must have at least %d dimensions (batch, entries, blocks), but got sizes %v", b+1+block, values.Sizes())
	case !slices.Equal(compressed.Sizes()[:b], plain.Sizes()[:b]) || !slices.Equal(compressed.Sizes()[:b], values.Sizes()[:b]):
		s.Failf("the batch sizes of %s, %s and values must be the same, but got %v, %v and %v", first, second, compressed.Sizes()[:b], plain.Sizes()[:b], values.Sizes()[:b])
	case compressed.Sizes()[b] < 1:
		s.Failf("%s must have at least 1 entry in its last dimension, but got sizes %v", first, compressed.Sizes())
	case plain.Sizes()[b] != values.Sizes()[b]:
		s.Failf("%s and values must have the same number of entries, but got %d and %d", second, plain.Sizes()[b], values.Sizes()[b])
	}
	f := form{l, [2]int64{1, 1}, values.Dim() - b - 1 - block}
	copy(f.block[:], values.Sizes()[b+1:b+1+block])
	n := compressed.Sizes()[b] - 1
	if size == nil {
		size = s.smallest(compressed, plain, values, f, n)
	}
	s.checkSizes(compressed, values, size, f, n)
	s.checkIndices(compressed, plain, size, f)
	return s.Return(s.assemble(l, size, compressed, plain, values))
}

// noBlocks reshapes empty values, such as the list [], to zero blocks that divide a matrix of the given size along its rows or columns.
func (s *scope) noBlocks(values, compressed *tensor.Tensor, size []int64, l tensor.Layout) *tensor.Tensor {
	b := compressed.Dim() - 1
	block := [2]int64{1, 1}
	if n := compressed.Sizes()[b] - 1; len(size) == b+2 {
		major, minor := 0, 1
		if !byRows(l) {
			major, minor = minor, major
		}
		block[major], block[minor] = max(size[b+major]/max(n, 1), 1), max(size[b+minor], 1)
	}
	return s.AsShape(values, append(slices.Clone(values.Sizes()), block[:]...)...)
}

// smallest returns the smallest size that holds plain indices.
func (s *scope) smallest(compressed, plain, values *tensor.Tensor, f form, n int64) []int64 {
	b := compressed.Dim() - 1
	m := int64(0)
	if plain.Numel() > 0 {
		if !backend.Known(plain) {
			s.Failf("size must be given for indices on device %v, whose values are not known", plain.Device())
			return nil
		}
		last, _ := s.integer(s.Amax(plain, nil, false))
		m = last + 1
	}
	if !byRows(f.layout) {
		n, m = m, n
	}
	m, n = max(m, 0), max(n, 0)
	if n > 1<<31 || m > 1<<31 {
		s.Failf("size must be passed: the indices require a matrix of sizes (%d, %d)", n, m)
		return nil
	}
	return slices.Concat(compressed.Sizes()[:b], []int64{n * f.block[0], m * f.block[1]}, values.Sizes()[values.Dim()-f.dense:])
}

// checkSizes holds a size to the parts.
func (s *scope) checkSizes(compressed, values *tensor.Tensor, size []int64, f form, n int64) {
	b := compressed.Dim() - 1
	dense := values.Sizes()[values.Dim()-f.dense:]
	name, _ := names(f.layout)
	switch {
	case len(size) != b+2+f.dense:
		s.Failf("size must have %d batch, 2 sparse and %d dense dimensions, as the parts have, but got %v", b, f.dense, size)
	case !slices.Equal(size[:b], compressed.Sizes()[:b]):
		s.Failf("the batch sizes of the parts are %v, but size is %v", compressed.Sizes()[:b], size)
	case !slices.Equal(size[b+2:], dense):
		s.Failf("the dense sizes of values are %v, but size is %v", dense, size)
	case size[b] < 0 || size[b+1] < 0:
		s.Failf("sizes must not be negative, got %v", size)
	default:
		s.checkBlock(size, f)
	}
	major := b
	if !byRows(f.layout) {
		major = b + 1
	}
	if want := size[major] / f.block[major-b]; want != n {
		s.Failf("%s must have %d elements, one more than the number of compressed rows or columns for size %v, but got %d", name, uint64(want)+1, size, n+1)
	}
}

// checkIndices holds indices to a size: every read of entries relies on it.
func (s *scope) checkIndices(compressed, plain *tensor.Tensor, size []int64, f form) {
	if !backend.Known(plain) || !backend.Known(compressed) {
		return
	}
	first, second := names(f.layout)
	b := compressed.Dim() - 1
	n, nnz := compressed.Sizes()[b]-1, plain.Sizes()[b]
	minor := b + 1
	if !byRows(f.layout) {
		minor = b
	}
	m := size[minor] / f.block[minor-b]
	compressed, plain = s.wide(compressed), s.wide(plain)
	last := int64(b)
	least := func(t *tensor.Tensor) int64 {
		v, _ := s.integer(s.Amin(t, nil, false))
		return v
	}
	most := func(t *tensor.Tensor) int64 {
		v, _ := s.integer(s.Amax(t, nil, false))
		return v
	}
	if compressed.Numel() == 0 {
		return
	}
	start, end := s.Narrow(compressed, last, 0, 1), s.Narrow(compressed, last, n, 1)
	if lo, hi := least(start), most(start); lo != 0 || hi != 0 {
		if lo == 0 {
			lo = hi
		}
		s.Failf("%s must begin with 0, but got %d", first, lo)
	}
	if lo, hi := least(end), most(end); lo != nnz || hi != nnz {
		if lo == nnz {
			lo = hi
		}
		s.Failf("%s must end with the number of entries, %d, but got %d", first, nnz, lo)
	}
	counts := s.counts(compressed)
	if n > 0 {
		if lo := least(counts); lo < 0 {
			s.Failf("%s must not decrease, but an element is %d less than the previous one", first, -lo)
		}
		if hi := most(counts); hi > m {
			s.Failf("%s has a difference of %d, but a row or column has at most %d entries", first, hi, m)
		}
	}
	if plain.Numel() == 0 {
		return
	}
	if lo := least(plain); lo < 0 {
		s.Failf("%s must not be negative, but got %d", second, lo)
	}
	if hi := most(plain); hi >= m {
		s.Failf("%s must be less than %d, but got %d", second, m, hi)
	}
	line := s.repeated(counts)
	if !s.rising(s.Add(s.times(line, m), s.AsShape(plain, plain.Numel()))) {
		s.Failf("%s must be strictly increasing within each row or column", second)
	}
}

// empty returns a tensor of a sparse layout without entries.
func (s *scope) empty(l tensor.Layout, sizes []int64, d dtype.DType, dev device.Device, sparse int) *tensor.Tensor {
	make := func(d dtype.DType, sizes ...int64) *tensor.Tensor {
		return s.ZerosWith(sizes, d, tensor.NoLayout, dev)
	}
	if l == tensor.COO {
		return s.tensor(coordinates{make(int64s, int64(sparse), 0), make(d, append([]int64{0}, sizes[sparse:]...)...), sizes, true})
	}
	if len(sizes) < 2 || inBlocks(l) {
		s.Failf("an empty tensor of layout %v and size %v cannot be created; use to_sparse() on a dense tensor", l, sizes)
		return nil
	}
	b := len(sizes) - 2
	major := sizes[b]
	if !byRows(l) {
		major = sizes[b+1]
	}
	batch := slices.Clone(sizes[:b])
	return s.assemble(l, sizes, make(int64s, append(slices.Clone(batch), major+1)...), make(int64s, append(slices.Clone(batch), 0)...), make(d, append(slices.Clone(batch), 0)...))
}

// check returns an error for a tensor that was assembled of parts that do not fit.
func check(op string, t *tensor.Tensor) error {
	var made *tensor.Tensor
	var err error
	p := t.Parts()
	if t.Layout() == tensor.COO {
		flag := ops.NoBool
		if p.Coalesced {
			flag = ops.True
		}
		made, err = SparseCooTensor(dispatch.Context{}, p.Indices[0], p.Values, t.Sizes(), dtype.None, device.None, flag)
	} else {
		made, err = SparseCompressedTensor(dispatch.Context{}, p.Indices[0], p.Indices[1], p.Values, t.Sizes(), dtype.None, t.Layout(), device.None)
	}
	if err != nil {
		return status.In(op, err)
	}
	made.Release()
	return nil
}
