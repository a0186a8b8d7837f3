package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// dimension is dim, counted from either end, of n dimensions, of which there must be one.
func dimension(op string, dim int64, n int) (int, error) {
	d, err := shape.WrapDim(op, dim, n)
	if err == nil && n == 0 {
		err = status.Indexf("%s: cannot be applied to a 0-dim tensor", op)
	}
	return d, err
}

// transpose swaps two sparse dimensions. Rows and columns of compressed layouts swap with the layout.
func transpose(c dispatch.Context, out, self *tensor.Tensor, dim0, dim1 int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "transpose")
	defer s.Close(&err)
	i, err := shape.WrapDim(s.Op, dim0, self.Dim())
	if err != nil {
		return nil, err
	}
	j, err := shape.WrapDim(s.Op, dim1, self.Dim())
	if err != nil {
		return nil, err
	}
	sparse := self.Dim() - denseDim(self)
	switch {
	case sparse == self.Dim():
	case self.Layout() != tensor.COO:
		s.Failf("transposing a tensor of layout %v with %d dense dimensions is not supported; convert with to_dense() or to_sparse_coo()", self.Layout(), self.Dim()-sparse)
		return nil, nil
	case i != j && max(i, j) >= sparse:
		s.Failf("dimensions %d and %d must both be sparse, which the first %d are; convert with to_dense(), or use permute() to reorder dense dimensions", dim0, dim1, sparse)
		return nil, nil
	}
	order := make([]int64, self.Dim())
	for d := range order {
		order[d] = int64(d)
	}
	if len(order) > 0 {
		order[i], order[j] = order[j], order[i]
	}
	return s.result(out, s.permuted(self, order))
}

// permute permutes the dimensions; the sparse ones must be first.
func permute(c dispatch.Context, self *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "permute")
	defer s.Close(&err)
	if len(dims) != self.Dim() {
		s.Failf("permutation %v must have %d dimensions, as the tensor has", dims, self.Dim())
		return nil, nil
	}
	if _, err := shape.WrapDims(s.Op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	order := slices.Clone(dims)
	for i, d := range order {
		if d < 0 {
			order[i] += int64(self.Dim())
		}
	}
	return s.Return(s.permuted(self, order))
}

// turnedLayout is the layout that the transpose of a matrix has.
var turnedLayout = map[tensor.Layout]tensor.Layout{tensor.CSR: tensor.CSC, tensor.CSC: tensor.CSR, tensor.BSR: tensor.BSC, tensor.BSC: tensor.BSR}

func (s *scope) permuted(t *tensor.Tensor, order []int64) *tensor.Tensor {
	sparse := t.Dim() - denseDim(t)
	sizes := make([]int64, len(order))
	for i, d := range order {
		if sizes[i] = t.Sizes()[d]; (int(d) < sparse) != (i < sparse) {
			s.Failf("dimension %d cannot move to position %d: the sparse dimensions, the first %d, must precede the dense ones; convert with to_dense()", d, i, sparse)
			return nil
		}
	}
	p := t.Parts()
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
		return s.ReorderDims(p.Values, dims...)
	}
	if t.Layout() == tensor.COO {
		rows := make([]*tensor.Tensor, sparse)
		for i := range rows {
			rows[i] = s.Select(p.Indices[0], 0, order[i])
		}
		indices := p.Indices[0]
		if !slices.IsSorted(order[:sparse]) {
			indices = s.Stack(rows, 0)
		}
		return s.tensor(coordinates{indices, values(1), sizes, indices == p.Indices[0] && p.Coalesced || entries(t) < 2})
	}
	b := batches(t)
	lead := b + 1
	if inBlocks(t.Layout()) {
		lead += 2
	}
	l, made := t.Layout(), values(lead)
	for i, d := range order[:b] {
		if int(d) >= b {
			s.Failf("dimension %d cannot move to position %d: the batch dimensions of layout %v, the first %d, must precede the sparse ones; convert with to_sparse() or to_dense()", d, i, l, b)
			return nil
		}
	}
	if order[b] != int64(b) {
		if l = turnedLayout[l]; inBlocks(l) {
			made = s.Transpose(made, int64(b)+1, int64(b)+2)
		}
	}
	parts := [3]*tensor.Tensor{p.Indices[0], p.Indices[1], made}
	if !slices.IsSorted(order[:b]) {
		for i, part := range parts {
			dims := slices.Clone(order[:b])
			for d := b; d < part.Dim(); d++ {
				dims = append(dims, int64(d))
			}
			parts[i] = s.ReorderDims(part, dims...)
		}
	}
	return s.assemble(l, sizes, parts[0], parts[1], parts[2])
}

// turnMatrix returns t().
func turnMatrix(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	switch {
	case self.Dim() > 2:
		return nil, status.Runtimef("t: expects a tensor with <= 2 sparse and 0 dense dimensions, but self is %dD", self.Dim())
	case self.Dim() < 2:
		s := newScope(c, "t")
		defer s.Close(&err)
		return s.result(out, s.Track(self.Alias(), nil))
	}
	return transpose(c, out, self, 0, 1)
}

// unsqueeze inserts a dimension of size 1: a sparse one before the dense ones, a batch of compressed layouts.
func unsqueeze(c dispatch.Context, out, self *tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "unsqueeze")
	defer s.Close(&err)
	d, err := shape.WrapDim(s.Op, dim, self.Dim()+1)
	if err != nil {
		return nil, err
	}
	sizes := slices.Insert(slices.Clone(self.Sizes()), d, 1)
	p, sparse := self.Parts(), self.Dim()-denseDim(self)
	if self.Layout() != tensor.COO {
		if d > batches(self) {
			s.Failf("layout %v supports new dimensions only among the batch dimensions, the first %d, not at %d; convert with to_sparse() or to_dense()", self.Layout(), batches(self), d)
			return nil, nil
		}
		at := int64(d)
		return s.result(out, s.assemble(self.Layout(), sizes, s.Unsqueeze(p.Indices[0], at), s.Unsqueeze(p.Indices[1], at), s.Unsqueeze(p.Values, at)))
	}
	if d > sparse {
		return s.result(out, s.tensor(coordinates{p.Indices[0], s.Unsqueeze(p.Values, int64(d-sparse+1)), sizes, p.Coalesced}))
	}
	n := entries(self)
	indices := s.Cat([]*tensor.Tensor{s.Narrow(p.Indices[0], 0, 0, int64(d)), s.zeros(p.Indices[0], 1, n), s.Narrow(p.Indices[0], 0, int64(d), int64(sparse-d))}, 0)
	return s.result(out, s.tensor(coordinates{indices, p.Values, sizes, p.Coalesced}))
}

// onBatches returns a compressed tensor of other sizes whose parts each makes of those of t: an operator along a batch dimension.
func (s *scope) onBatches(t *tensor.Tensor, sizes []int64, each func(part *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p := t.Parts()
	return s.assemble(t.Layout(), sizes, each(p.Indices[0]), each(p.Indices[1]), each(p.Values))
}

// alongBatch reports whether a dimension is one of the batch dimensions of a compressed layout.
func alongBatch(t *tensor.Tensor, d int) bool { return t.Layout() != tensor.COO && d < batches(t) }

// selected implements select. The result is strided if no sparse dimension remains. A selection along a batch dimension shares its parts.
func selected(c dispatch.Context, self *tensor.Tensor, dim, index int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "select")
	defer s.Close(&err)
	if self.Dim() == 0 {
		return nil, status.Indexf("select: cannot be applied to a 0-dim tensor")
	}
	d, err := dimension(s.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	at, ok := shape.WrapIndex(index, self.Sizes()[d])
	if !ok {
		return nil, status.Indexf("select: index %d is out of bounds for dimension %d with size %d", index, d, self.Sizes()[d])
	}
	sizes := slices.Delete(slices.Clone(self.Sizes()), d, d+1)
	if alongBatch(self, d) {
		return s.Return(s.onBatches(self, sizes, func(part *tensor.Tensor) *tensor.Tensor { return s.Select(part, int64(d), at) }))
	}
	if b := batches(self); self.Layout() != tensor.COO {
		switch {
		case d >= self.Dim()-denseDim(self):
			p := self.Parts()
			values := s.Select(p.Values, int64(d-self.Dim()+p.Values.Dim()), at)
			return s.Return(s.assemble(self.Layout(), sizes, p.Indices[0], p.Indices[1], values))
		case b > 0:
			s.Failf("selecting rows or columns of a batch (dimension %d) is not supported; index the batch dimensions first, or convert with to_sparse_coo() or to_dense()", d)
			return nil, nil
		}
	}
	if l := self.Layout(); (l == tensor.CSR && d == 0 || l == tensor.CSC && d == 1) && backend.Known(self.Parts().Indices[0]) {
		return s.Return(s.tensor(s.line(self, at, sizes)))
	}
	x := s.coordinatesOf(self)
	if d >= x.sparse() {
		return s.Return(s.tensor(coordinates{x.indices, s.Select(x.values, int64(d-x.sparse()+1), at), sizes, x.coalesced}))
	}
	of := s.AsShape(s.Nonzero(s.Eq(s.Select(x.indices, 0, int64(d)), s.IntNumber(at))), -1)
	values := s.take(x.values, 0, of)
	if x.sparse() == 1 {
		return s.Return(s.CastTo(s.Sum(values, []int64{0}, false), self.DType()))
	}
	return s.Return(s.tensor(coordinates{s.take(s.without(x.indices, d), 1, of), values, sizes, x.coalesced}))
}

// line returns the entries of a row of a CSR matrix, or of a column in CSC, which are adjacent.
func (s *scope) line(t *tensor.Tensor, i int64, sizes []int64) coordinates {
	p, n := t.Parts(), entries(t)
	start, _ := s.integer(s.Select(p.Indices[0], 0, i))
	end, _ := s.integer(s.Select(p.Indices[0], 0, i+1))
	if start < 0 || end < start || end > n {
		s.Failf("the compressed indices of line %d, %d to %d, exceed the %d entries: they were changed after the tensor was created", i, start, end, n)
	}
	indices := s.Unsqueeze(s.wide(s.Narrow(p.Indices[1], 0, start, end-start)), 0)
	return coordinates{s.clone(indices), s.clone(s.Narrow(p.Values, 0, start, end-start)), sizes, true}
}

// without returns indices without row d.
func (s *scope) without(indices *tensor.Tensor, d int) *tensor.Tensor {
	n := indices.Sizes()[0]
	return s.Cat([]*tensor.Tensor{s.Narrow(indices, 0, 0, int64(d)), s.Narrow(indices, 0, int64(d)+1, n-int64(d)-1)}, 0)
}

// narrow is length positions of a dimension.
func narrow(c dispatch.Context, self *tensor.Tensor, dim, start, length int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "narrow")
	defer s.Close(&err)
	d, err := dimension(s.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if start, err = view.Start(s.Op, self.Sizes()[d], start, length); err != nil {
		return nil, err
	}
	sizes := slices.Clone(self.Sizes())
	sizes[d] = length
	if alongBatch(self, d) {
		return s.Return(s.onBatches(self, sizes, func(part *tensor.Tensor) *tensor.Tensor { return s.Narrow(part, int64(d), start, length) }))
	}
	x := s.coordinatesOf(self)
	f := formOf(self)
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if d >= x.sparse() {
		y.values = s.Narrow(x.values, int64(d-x.sparse()+1), start, length)
	} else {
		row := s.Select(x.indices, 0, int64(d))
		within := s.LogicalAnd(s.Ge(row, s.IntNumber(start)), s.Lt(row, s.IntNumber(start+length)))
		of := s.AsShape(s.Nonzero(within), -1)
		y.indices, y.values = s.shifted(s.take(x.indices, 1, of), d, -start), s.take(x.values, 0, of)
	}
	return s.Return(s.from(y, f))
}

// slice returns the positions of a dimension from start to end.
func slice(c dispatch.Context, self *tensor.Tensor, dim int64, start, end ops.Int, step int64) (*tensor.Tensor, error) {
	d, err := dimension("slice", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if step != 1 {
		return nil, status.Runtimef("slice: a step of %d is not supported for sparse tensors; use index_select(), or convert with to_dense()", step)
	}
	from, length := bounded(start.Or(0), end.Or(self.Sizes()[d]), self.Sizes()[d])
	part, err := narrow(c, self, int64(d), from, length)
	return part, status.In("slice", err)
}

// bounded returns a slice within a dimension.
func bounded(start, stop, size int64) (from, length int64) {
	clip := func(v int64) int64 {
		if v < 0 {
			v += size
		}
		return max(0, min(v, size))
	}
	from = clip(start)
	return from, max(0, clip(stop)-from)
}

// shifted returns indices with by added to row d.
func (s *scope) shifted(indices *tensor.Tensor, d int, by int64) *tensor.Tensor {
	if by == 0 {
		return indices
	}
	n := indices.Sizes()[0]
	return s.Cat([]*tensor.Tensor{s.Narrow(indices, 0, 0, int64(d)), s.Add(s.Narrow(indices, 0, int64(d), 1), s.IntNumber(by)), s.Narrow(indices, 0, int64(d)+1, n-int64(d)-1)}, 0)
}

// indexSelect returns the positions of a dimension that index names, in its order.
func indexSelect(c dispatch.Context, out, self *tensor.Tensor, dim int64, index *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "index_select")
	defer s.Close(&err)
	switch {
	case !isSparse(self) || isSparse(index):
		s.Failf("expected a sparse tensor and a strided index, but got layouts %v and %v", self.Layout(), index.Layout())
	case index.Dim() > 1 || !index.DType().IsIntegral():
		s.Failf("index must be a vector of integers, but got sizes %v of %v", index.Sizes(), index.DType())
	}
	d, err := dimension(s.Op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	at := s.wide(s.AsShape(index, index.Numel()))
	n := self.Sizes()[d]
	if at.Numel() > 0 {
		low, high := s.bounds(s.Unsqueeze(at, 0))
		if len(low) > 0 && (low[0] < -n || high[0] >= n) {
			return nil, status.Indexf("index_select: index %d is out of bounds for dimension %d with size %d", map[bool]int64{true: low[0], false: high[0]}[low[0] < -n], d, n)
		}
		if len(low) > 0 && low[0] < 0 {
			at = s.remainder(at, n)
		}
	}
	sizes := slices.Clone(self.Sizes())
	sizes[d] = at.Numel()
	if alongBatch(self, d) {
		return s.result(out, s.onBatches(self, sizes, func(part *tensor.Tensor) *tensor.Tensor { return s.take(part, int64(d), at) }))
	}
	x := s.coordinatesOf(self)
	f := formOf(self)
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if d >= x.sparse() {
		y.values = s.take(x.values, int64(d-x.sparse()+1), at)
	} else {
		inOrder, from := s.sorted(s.Select(x.indices, 0, int64(d)))
		place, entry := s.matches(at, inOrder)
		entry = s.take(from, 0, entry)
		rest := s.take(x.indices, 1, entry)
		y.indices = s.Cat([]*tensor.Tensor{s.Narrow(rest, 0, 0, int64(d)), s.Unsqueeze(place, 0), s.Narrow(rest, 0, int64(d)+1, int64(x.sparse()-d-1))}, 0)
		y.values, y.coalesced = s.take(x.values, 0, entry), false
		if x.coalesced {
			y = s.coalesced(y)
		}
	}
	return s.result(out, s.from(y, f))
}

// cat joins tensors along a dimension, in the form of the first.
func cat(c dispatch.Context, out *tensor.Tensor, list []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "cat")
	defer s.Close(&err)
	if len(list) == 0 {
		return nil, status.Valuef("%s: expected a non-empty list of Tensors", s.Op)
	}
	first := list[0]
	for i, t := range list {
		switch {
		case !isSparse(t):
			s.Failf("expected sparse tensors, but tensor %d has layout %v; convert with to_dense()", i, t.Layout())
		case t.Dim() != first.Dim():
			s.Failf("tensors must have same number of dimensions: got %d and %d", first.Dim(), t.Dim())
		}
	}
	d, err := dimension(s.Op, dim, first.Dim())
	if err != nil {
		return nil, err
	}
	f := formOf(first)
	sparse := first.Dim() - f.dense
	made := coordinates{sizes: slices.Clone(first.Sizes())}
	made.sizes[d] = 0
	as := first.DType()
	for i, t := range list {
		for at, n := range t.Sizes() {
			if at != d && n != first.Sizes()[at] {
				s.Failf("sizes of tensors must match except in dimension %d, but tensor %d has sizes %v and the first one %v", d, i, t.Sizes(), first.Sizes())
				return nil, nil
			}
		}
		if made.sizes[d] > math.MaxInt64-t.Sizes()[d] {
			s.Failf("the sizes of dimension %d add up to more than a 64-bit integer can represent", d)
			return nil, nil
		}
		made.sizes[d] += t.Sizes()[d]
		as = dtype.Promote(as, t.DType())
	}
	var indices, values []*tensor.Tensor
	start := int64(0)
	for _, t := range list {
		x := s.converted(s.withDense(s.coordinatesOf(t), f.dense), as)
		at := s.wide(x.indices)
		if d < sparse {
			at = s.shifted(at, d, start)
		} else { // the other tensors have zeros there
			before, after := slices.Clone(x.values.Sizes()), slices.Clone(x.values.Sizes())
			before[d-sparse+1], after[d-sparse+1] = start, made.sizes[d]-start-t.Sizes()[d]
			x.values = s.Cat([]*tensor.Tensor{s.zeros(x.values, before...), x.values, s.zeros(x.values, after...)}, int64(d-sparse+1))
		}
		indices, values = append(indices, at), append(values, x.values)
		start += t.Sizes()[d]
	}
	made.indices, made.values = s.Cat(indices, 1), s.Cat(values, 0)
	return s.result(out, s.from(made, f))
}

// stack joins tensors of the same sizes along a new dimension.
func stack(c dispatch.Context, out *tensor.Tensor, list []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "stack")
	defer s.Close(&err)
	if len(list) == 0 {
		return nil, status.Runtimef("%s: expects a non-empty list of tensors", s.Op)
	}
	d, err := shape.WrapDim(s.Op, dim, list[0].Dim()+1)
	if err != nil {
		return nil, err
	}
	spread := make([]*tensor.Tensor, len(list))
	for i, t := range list {
		switch {
		case !isSparse(t):
			s.Failf("expected sparse tensors, but tensor %d has layout %v; convert with to_dense()", i, t.Layout())
			return nil, nil
		case !slices.Equal(t.Sizes(), list[0].Sizes()):
			s.Failf("expected sparse tensors of the same sizes, but tensor %d has sizes %v, and the first one %v", i, t.Sizes(), list[0].Sizes())
			return nil, nil
		}
		if list[0].Layout() != tensor.COO && d > batches(list[0]) {
			t = s.as(t, form{tensor.COO, [2]int64{1, 1}, denseDim(t)})
		}
		spread[i] = s.Track(unsqueeze(c, nil, t, int64(d)))
	}
	return s.ReturnNew(cat(c, out, spread, int64(d)))
}

// matches returns the pairs of equal entries of two vectors, of which the second is in order: for each entry of the first, in turn.
func (s *scope) matches(a, b *tensor.Tensor) (in, of *tensor.Tensor) {
	bound := func(right bool) *tensor.Tensor {
		return s.SearchsortedWith(b, a, false, right, "", nil)
	}
	first := bound(false)
	counts := s.Sub(bound(true), first)
	ends := s.CumsumWith(counts, 0, int64s)
	in = s.repeated(counts)
	shift := s.Sub(first, s.Sub(ends, counts)) // from the position among the pairs to that in b
	return in, s.Add(s.arange(in.Numel(), a.Device()), s.take(shift, 0, in))
}
