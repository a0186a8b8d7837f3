package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
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

// dense returns the elements of a sparse tensor, 0 where it keeps none.
func (s *scope) dense(t *tensor.Tensor) *tensor.Tensor {
	if !isSparse(t) {
		return t
	}
	x := s.coordinatesOf(t)
	places := x.sizes[:x.sparse()]
	all := s.gather(shape.Product(places), s.keys(x.indices, places), x.values)
	return s.AsShape(all, slices.Clone(x.sizes)...)
}

// found returns the elements of a dense tensor that are not 0, or the entries of its first dimensions that are not all 0.
func (s *scope) found(t *tensor.Tensor, sparse int) coordinates {
	flat := s.AsShape(t, append([]int64{shape.Product(t.Sizes()[:sparse])}, t.Sizes()[sparse:]...)...)
	set := s.Ne(flat, s.IntNumber(0))
	for set.Dim() > 1 {
		set = s.Any(set, []int64{-1}, false)
	}
	key := s.AsShape(s.Nonzero(set), -1)
	return s.chosen(flat, key, t.Sizes(), sparse)
}

// chosen returns the entries of flat, with the sparse dimensions of sizes in place of its first dimension, at ascending positions.
func (s *scope) chosen(flat, key *tensor.Tensor, sizes []int64, sparse int) coordinates {
	x := coordinates{sizes: sizes, coalesced: true, values: s.take(flat, 0, key)}
	if sparse == 0 {
		x.indices = s.ZerosWith([]int64{0, key.Sizes()[0]}, int64s, tensor.NoLayout, key.Device())
		return x
	}
	x.indices = s.places(key, sizes[:sparse])
	return x
}

// as returns t, dense or sparse, in a form; indices of a compressed layout keep their dtype.
func (s *scope) as(t *tensor.Tensor, f form) *tensor.Tensor {
	made := s.made(t, f)
	if made == t || f.layout < tensor.CSR || t.Layout() < tensor.CSR {
		return made
	}
	return s.indexed(made, t.Parts().Indices[0].DType())
}

// indexed returns a tensor of a compressed layout whose indices have a dtype, where that holds them.
func (s *scope) indexed(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.Parts().Indices[0].DType() == d || d != int64s && max(entries(t), slices.Max(t.Sizes())) > math.MaxInt32 {
		return t
	}
	return s.onParts(t, func(i *tensor.Tensor) *tensor.Tensor { return s.CastTo(i, d) }, same)
}

func (s *scope) made(t *tensor.Tensor, f form) *tensor.Tensor {
	switch {
	case f.layout == tensor.Strided:
		return s.dense(t)
	case isSparse(t) && formOf(t) == f:
		return t
	}
	if t.Dim() < f.dense {
		s.Failf("a tensor with %d dense dimensions cannot have sizes %v", f.dense, t.Sizes())
		return nil
	}
	if f.layout != tensor.COO && t.Dim()-f.dense < 2 {
		s.Failf("%v tensors require at least 2 dimensions in addition to %d dense dimensions, but got sizes %v", f.layout, f.dense, t.Sizes())
		return nil
	}
	sparse := t.Dim() - f.dense
	switch {
	case !isSparse(t) && inBlocks(f.layout):
		return s.compressed(s.foundBlocks(t, f), t.Sizes(), f)
	case !isSparse(t):
		return s.from(s.found(t, sparse), f)
	case f.layout == tensor.COO:
		return s.tensor(s.withDense(s.coordinatesOf(t), f.dense))
	case inBlocks(f.layout) && formOf(t).dense == f.dense:
		return s.from(s.coordinatesOf(t), f)
	case inBlocks(f.layout):
		return s.as(s.dense(t), f)
	}
	return s.from(s.withDense(s.coordinatesOf(t), f.dense), f)
}

// withDense returns x with another number of dense dimensions: its entries are split or merged.
func (s *scope) withDense(x coordinates, dense int) coordinates {
	sparse := len(x.sizes) - dense
	switch {
	case x.sparse() == sparse:
		return x
	case x.sparse() < sparse:
		return s.splitEntries(x, sparse)
	}
	return s.joinEntries(x, sparse)
}

// splitEntries has an entry for each element along the first dense dimensions.
func (s *scope) splitEntries(x coordinates, sparse int) coordinates {
	inner := x.sizes[x.sparse():sparse]
	n := shape.Product(inner)
	each := s.arange(x.count()*n, x.values.Device())
	of := s.quotient(each, max(n, 1))
	within := s.places(s.Sub(each, s.times(of, n)), inner)
	return coordinates{
		s.Cat([]*tensor.Tensor{s.take(s.wide(x.indices), 1, of), within}, 0),
		s.AsShape(x.values, append([]int64{x.count() * n}, x.sizes[sparse:]...)...),
		x.sizes, x.coalesced,
	}
}

// joinEntries has an entry for each place in the first dimensions.
func (s *scope) joinEntries(x coordinates, sparse int) coordinates {
	x = s.coalesced(x)
	inner := x.sizes[sparse:x.sparse()]
	n := shape.Product(inner)
	rest := s.keys(s.Narrow(x.indices, 0, int64(sparse), int64(x.sparse()-sparse)), inner)
	once, inverse, _ := s.unique(s.keys(s.Narrow(x.indices, 0, 0, int64(sparse)), x.sizes[:sparse]))
	count := once.Numel()
	values := s.gather(count*n, s.Add(s.times(inverse, n), rest), x.values)
	return coordinates{s.placesOf(once, x.sizes[:sparse]), s.AsShape(values, append([]int64{count}, x.sizes[sparse:]...)...), x.sizes, true}
}

// from returns the tensor of a form that has the entries of x.
func (s *scope) from(x coordinates, f form) *tensor.Tensor {
	switch {
	case f.layout == tensor.COO:
		return s.tensor(x)
	case inBlocks(f.layout):
		return s.compressed(s.gatherBlocks(x, f), x.sizes, f)
	}
	return s.compressed(x, x.sizes, f)
}

// checkBlock returns an error for blocks that do not divide the matrices.
func (s *scope) checkBlock(sizes []int64, f form) {
	at := len(sizes) - f.dense - 2
	rows, columns := sizes[at], sizes[at+1]
	if f.block[0] < 1 || f.block[1] < 1 || rows%f.block[0] != 0 || columns%f.block[1] != 0 {
		s.Failf("matrices of sizes (%d, %d) cannot be divided into blocks of sizes (%d, %d)", rows, columns, f.block[0], f.block[1])
	}
}

// foundBlocks returns the blocks of a dense tensor that are not all 0.
func (s *scope) foundBlocks(t *tensor.Tensor, f form) coordinates {
	s.checkBlock(t.Sizes(), f)
	at := t.Dim() - f.dense - 2
	rows, columns := t.Sizes()[at], t.Sizes()[at+1]
	sizes := slices.Concat(t.Sizes()[:at], []int64{rows / f.block[0], f.block[0], columns / f.block[1], f.block[1]}, t.Sizes()[at+2:])
	order := make([]int64, len(sizes))
	for i := range order {
		order[i] = int64(i)
	}
	order[at+1], order[at+2] = order[at+2], order[at+1]
	return s.found(s.ReorderDims(s.AsShape(t, sizes...), order...), at+2)
}

// gatherBlocks returns the blocks that contain entries.
func (s *scope) gatherBlocks(x coordinates, f form) coordinates {
	s.checkBlock(x.sizes, f)
	at, h, w := len(x.sizes)-f.dense-2, f.block[0], f.block[1]
	rows, inside := make([]*tensor.Tensor, at+2), make([]*tensor.Tensor, 2)
	indices := s.wide(x.indices)
	for d := range rows {
		rows[d] = s.Select(indices, 0, int64(d))
		if d >= at {
			inside[d-at] = s.remainder(rows[d], f.block[d-at])
			rows[d] = s.quotient(rows[d], f.block[d-at])
		}
	}
	sizes := slices.Clone(x.sizes[:at+2])
	sizes[at], sizes[at+1] = sizes[at]/h, sizes[at+1]/w
	key := s.keys(s.Stack(rows, 0), sizes)
	offset := s.Add(s.times(inside[0], w), inside[1])
	inOrder, from := s.sorted(key)
	once, inverse, _ := s.unique(inOrder)
	n := once.Sizes()[0]
	where := s.Add(s.times(inverse, h*w), s.take(offset, 0, from))
	values := s.gather(n*h*w, where, s.take(x.values, 0, from))
	return coordinates{s.places(once, sizes), s.AsShape(values, append([]int64{n, h, w}, x.values.Sizes()[1:]...)...), append(sizes, x.sizes[at+2:]...), true}
}

// compressed returns the tensor of a compressed form and the given sizes that has the entries, or blocks, of x.
func (s *scope) compressed(x coordinates, sizes []int64, f form) *tensor.Tensor {
	b := len(sizes) - f.dense - 2
	major, minor := b, b+1
	if !byRows(f.layout) {
		major, minor = minor, major
	}
	n := sizes[major] / f.block[major-b]
	m := sizes[minor] / f.block[minor-b]
	count := shape.Product(sizes[:b])
	if b > 0 || major > minor || !x.coalesced {
		indices := x.indices
		if major > minor {
			rows := []*tensor.Tensor{}
			for d := range b {
				rows = append(rows, s.Select(indices, 0, int64(d)))
			}
			indices = s.Stack(append(rows, s.Select(indices, 0, int64(major)), s.Select(indices, 0, int64(minor))), 0)
		}
		x = s.coalesced(coordinates{indices, x.values, slices.Concat(sizes[:b], []int64{n, m}, x.values.Sizes()[1:]), x.coalesced && major < minor})
	}
	line, nnz := s.Select(s.wide(x.indices), 0, 0), x.count()
	if b > 0 { // batch and row of each entry
		line = s.keys(s.Narrow(x.indices, 0, 0, int64(b)+1), append(slices.Clone(sizes[:b]), n))
	}
	compressed := s.lines(line, count*n)
	if b > 0 {
		compressed = s.ofBatches(compressed, count, n)
		if count > 0 {
			nnz /= count
		}
		if !s.all(s.Eq(s.Narrow(compressed, 1, n, 1), s.IntNumber(nnz))) {
			s.Failf("expected the same number of specified elements per batch of sizes %v", sizes[:b])
		}
	}
	batch := slices.Clone(sizes[:b])
	return s.assemble(f.layout, sizes,
		s.AsShape(compressed, append(batch, n+1)...),
		s.AsShape(s.AsContiguous(s.Select(x.indices, 0, int64(b)+1)), append(batch, nnz)...),
		s.AsShape(x.values, slices.Concat(batch, []int64{nnz}, x.values.Sizes()[1:])...))
}

// lines reports where the entries of each of n lines begin, and how many there are: line has that of each entry, in order.
func (s *scope) lines(line *tensor.Tensor, n int64) *tensor.Tensor {
	to := s.Track(tensor.Empty(s.Op, []int64{n + 1}, int64s, line.Device()))
	s.Check(backend.On(to).Lines(s.Op, backend.Lines{To: to, From: line}))
	return to
}

// ofBatches returns the compressed indices of count matrices of n lines each, from those of all lines.
func (s *scope) ofBatches(compressed *tensor.Tensor, count, n int64) *tensor.Tensor {
	if n == 0 || count == 0 {
		return s.zeros(compressed, count, n+1)
	}
	each := s.Unfold(compressed, 0, n+1, n)
	return s.Sub(each, s.Narrow(each, 1, 0, 1))
}

// ToDense has all elements of self, in dtype d unless there is none.
func ToDense(c dispatch.Context, self *tensor.Tensor, d dtype.DType, _ ops.Bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "to_dense")
	defer s.Close(&err)
	return s.Return(s.CastTo(s.dense(self), d))
}

// ToSparseDim returns self in the layout COO with sparseDim sparse dimensions.
func ToSparseDim(c dispatch.Context, self *tensor.Tensor, sparseDim int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "to_sparse")
	defer s.Close(&err)
	switch {
	case sparseDim < 0 || sparseDim > int64(self.Dim()) || sparseDim == 0 && self.Dim() > 0:
		s.Failf("sparse_dim %d must be in the range 1 to %d of dimensions of the tensor", sparseDim, self.Dim())
	case self.Layout() == tensor.COO && int(sparseDim) != self.Dim()-denseDim(self):
		s.Failf("sparse_dim %d must be the tensor's number of sparse dimensions, %d; convert with to_dense() first", sparseDim, self.Dim()-denseDim(self))
	case isSparse(self) && self.Layout() != tensor.COO && sparseDim != 2:
		s.Failf("sparse_dim must be 2 for a tensor of layout %v, but got %d; convert with to_dense() first", self.Layout(), sparseDim)
	}
	if isSparse(self) {
		return s.Return(s.as(self, form{tensor.COO, [2]int64{1, 1}, denseDim(self)}))
	}
	return s.Return(s.as(self, form{tensor.COO, [2]int64{1, 1}, self.Dim() - int(sparseDim)}))
}

// ToSparse returns self in a sparse layout, COO by default.
func ToSparse(c dispatch.Context, self *tensor.Tensor, layout tensor.Layout, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	if layout == tensor.NoLayout {
		layout = tensor.COO
	}
	return converted(c, "to_sparse", self, layout, blockSize, dense)
}

// ToSparseCoo returns self in the layout COO.
func ToSparseCoo(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return converted(c, "to_sparse_coo", self, tensor.COO, nil, dense)
}

// ToSparseCsr returns self in the layout CSR.
func ToSparseCsr(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return converted(c, "to_sparse_csr", self, tensor.CSR, nil, dense)
}

// ToSparseCsc returns self in the layout CSC.
func ToSparseCsc(c dispatch.Context, self *tensor.Tensor, dense ops.Int) (*tensor.Tensor, error) {
	return converted(c, "to_sparse_csc", self, tensor.CSC, nil, dense)
}

// ToSparseBsr returns self in the layout BSR.
func ToSparseBsr(c dispatch.Context, self *tensor.Tensor, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	return converted(c, "to_sparse_bsr", self, tensor.BSR, blockSize, dense)
}

// ToSparseBsc returns self in the layout BSC.
func ToSparseBsc(c dispatch.Context, self *tensor.Tensor, blockSize []int64, dense ops.Int) (*tensor.Tensor, error) {
	return converted(c, "to_sparse_bsc", self, tensor.BSC, blockSize, dense)
}

func converted(c dispatch.Context, op string, self *tensor.Tensor, l tensor.Layout, blockSize []int64, dense ops.Int) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
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
		return s.Return(s.dense(self))
	case f.dense < 0 || f.dense > self.Dim():
		s.Failf("dense_dim %d must be in the range 0 to %d of dimensions of the tensor", f.dense, self.Dim())
	case inBlocks(l) && len(blockSize) == 0 && isSparse(self) && inBlocks(self.Layout()):
		f.block = formOf(self).block
	case inBlocks(l) && len(blockSize) != 2:
		s.Failf("blocksize must have two sizes for layout %v, but got %v", l, blockSize)
	case !inBlocks(l) && len(blockSize) != 0:
		s.Failf("blocksize is only supported for the layouts sparse_bsr and sparse_bsc, not %v", l)
	case inBlocks(l):
		f.block = [2]int64(blockSize)
	}
	s.checkConversion(self, f)
	return s.Return(s.as(self, f))
}

// checkConversion returns an error for those conversions that PyTorch rejects.
func (s *scope) checkConversion(t *tensor.Tensor, f form) {
	if !isSparse(t) {
		if b := t.Dim() - f.dense - 2; f.layout != tensor.COO && b > 0 && shape.Product(t.Sizes()[:b]) == 0 {
			s.Failf("the batch of sizes %v is empty, so the number of entries of layout %v is unknown; use to_sparse_coo()", t.Sizes(), f.layout)
		}
		return
	}
	from := formOf(t)
	sparse := t.Dim() - from.dense
	matrices := from.layout != tensor.COO
	switch {
	case f.dense != from.dense:
		s.Failf("dense_dim %d must be the tensor's number of dense dimensions, %d; convert with to_dense() first", f.dense, from.dense)
	case !matrices && f.layout != tensor.COO && sparse != 2:
		s.Failf("layout %v requires two sparse dimensions, but the tensor has %d; convert with to_dense() first", f.layout, sparse)
	case inBlocks(from.layout) && inBlocks(f.layout) && from.block != f.block:
		s.Failf("blocks of sizes %v cannot be converted to blocks of sizes %v; convert with to_sparse_coo() or to_dense() first", from.block, f.block)
	case inBlocks(from.layout) && f.layout != tensor.COO && !inBlocks(f.layout):
		s.Failf("layout %v cannot be converted to layout %v; convert with to_sparse_coo() or to_dense() first", from.layout, f.layout)
	case matrices && !inBlocks(from.layout) && inBlocks(f.layout) && sparse > 2:
		s.Failf("batches of layout %v cannot be converted to layout %v; convert with to_dense() first", from.layout, f.layout)
	}
}
