package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// form is how a sparse tensor keeps its entries.
type form struct {
	layout tensor.Layout
	block  [2]int64 // of BSR and BSC; 1 and 1 of others
	dense  int      // the number of dimensions that each entry has
}

func byRows(l tensor.Layout) bool   { return l == tensor.CSR || l == tensor.BSR }
func inBlocks(l tensor.Layout) bool { return l == tensor.BSR || l == tensor.BSC }

// batches returns the number of batch dimensions of a compressed layout.
func batches(t *tensor.Tensor) int { return t.Parts().Indices[0].Dim() - 1 }

// denseDim returns the number of dimensions of each entry.
func denseDim(t *tensor.Tensor) int {
	p := t.Parts()
	switch {
	case p == nil:
		return t.Dim()
	case t.Layout() == tensor.COO:
		return p.Values.Dim() - 1
	}
	return t.Dim() - batches(t) - 2
}

// entries returns how many entries are kept, in each batch.
func entries(t *tensor.Tensor) int64 {
	p := t.Parts()
	last := p.Indices[len(p.Indices)-1].Sizes()
	return last[len(last)-1]
}

func formOf(t *tensor.Tensor) form {
	f := form{layout: t.Layout(), block: [2]int64{1, 1}, dense: denseDim(t)}
	if inBlocks(f.layout) {
		b := batches(t)
		copy(f.block[:], t.Parts().Values.Sizes()[b+1:b+3])
	}
	return f
}

// coordinates are a sparse tensor's entries with the place of each.
type coordinates struct {
	indices   *tensor.Tensor // a row for each sparse dimension, a column for each entry
	values    *tensor.Tensor // a row for each entry
	sizes     []int64        // of the tensor
	coalesced bool
}

// sparse returns the number of sparse dimensions.
func (x coordinates) sparse() int {
	if x.indices == nil {
		return 0
	}
	return int(x.indices.Sizes()[0])
}

func (x coordinates) count() int64 { return x.indices.Sizes()[1] }

// tensor returns the COO tensor of the coordinates.
func (s *scope) tensor(x coordinates) *tensor.Tensor {
	return s.Track(tensor.Assemble(s.Op, tensor.COO, x.sizes, tensor.Parts{Indices: []*tensor.Tensor{x.indices}, Values: x.values, Coalesced: x.coalesced}))
}

// assemble returns a tensor of a compressed layout.
func (s *scope) assemble(l tensor.Layout, sizes []int64, compressed, plain, values *tensor.Tensor) *tensor.Tensor {
	return s.Track(tensor.Assemble(s.Op, l, sizes, tensor.Parts{Indices: []*tensor.Tensor{compressed, plain}, Values: values}))
}

// countable returns an error for sizes with more positions than int64 can number.
func (s *scope) countable(sizes []int64) {
	if places, err := shape.Numel(s.Op, nonzero(sizes)); err != nil || places > 1<<62 {
		s.Failf("the sizes %v of the sparse dimensions have more elements than a 64-bit integer can represent", sizes)
	}
}

// keys returns the positions of entries as row-major indices into the sparse dimensions.
func (s *scope) keys(indices *tensor.Tensor, sizes []int64) *tensor.Tensor {
	s.countable(sizes)
	indices = s.inside(indices, sizes)
	if len(sizes) == 0 {
		return s.SumWith(indices, []int64{0}, false, indices.DType())
	}
	key := s.Select(indices, 0, 0)
	for d := 1; d < len(sizes); d++ {
		key = s.Add(s.times(key, sizes[d]), s.Select(indices, 0, int64(d)))
	}
	return key
}

// inside returns indices as int64, which a program may have changed since they were checked.
func (s *scope) inside(indices *tensor.Tensor, sizes []int64) *tensor.Tensor {
	indices = s.wide(indices)
	low, high := s.bounds(indices)
	for d := range low {
		if low[d] < 0 || high[d] >= sizes[d] {
			s.Failf("the indices of dimension %d go from %d to %d, beyond its size %d: they were changed after the tensor was created", d, low[d], high[d], sizes[d])
		}
	}
	return indices
}

func nonzero(sizes []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return n == 0 })
}

// places returns the indices of keys: the reverse of keys.
func (s *scope) places(key *tensor.Tensor, sizes []int64) *tensor.Tensor {
	rows := make([]*tensor.Tensor, len(sizes))
	for d := len(sizes) - 1; d >= 0; d-- {
		if d == 0 {
			rows[d] = key
			break
		}
		n := max(sizes[d], 1)
		rows[d] = s.remainder(key, n)
		key = s.quotient(key, n)
	}
	return s.Stack(rows, 0)
}

// coalesced returns x in row-major order, entries of the same place added up.
func (s *scope) coalesced(x coordinates) coordinates {
	if x.coalesced {
		return x
	}
	return s.grouped(x.values, x.sizes, x.sparse(), x.indices)
}

// joinedFirst reports whether entries of one place, in the dtype from, may have another sum once they are converted: integers wrap around, and bools
// do not count.
func joinedFirst(from, to dtype.DType) bool {
	return to != dtype.None && to != from && min(from.Category(), to.Category()) < dtype.Floating
}

// converted returns x with values of a dtype.
func (s *scope) converted(x coordinates, d dtype.DType) coordinates {
	if joinedFirst(x.values.DType(), d) {
		x = s.coalesced(x)
	}
	x.values = s.CastTo(x.values, d)
	return x
}

// convertible returns a tensor whose entries can be converted to a dtype one by one.
func (s *scope) convertible(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.Layout() != tensor.COO || t.Parts().Coalesced || !joinedFirst(t.DType(), d) {
		return t
	}
	return s.tensor(s.coalesced(s.coordinatesOf(t)))
}

// grouped coalesces entries with the given values and lists of indices.
func (s *scope) grouped(values *tensor.Tensor, sizes []int64, sparse int, lists ...*tensor.Tensor) coordinates {
	y := coordinates{indices: lists[0], values: values, sizes: sizes, coalesced: true}
	s.countable(sizes[:sparse])
	for i := range lists {
		lists[i] = s.wide(lists[i])
	}
	if !backend.Known(values) { // as if all positions were distinct
		if len(lists) > 1 {
			y.indices = s.Cat(lists, 1)
		}
		return y
	}
	w, err := backend.On(values).Group(s.Op, backend.Grouping{Lists: lists, Sizes: sizes[:sparse]})
	s.Check(err)
	if w.Places == nil {
		return y
	}
	y.indices = s.Track(w.Places, nil)
	y.values = s.summed(values, s.Track(w.Order, nil), s.Track(w.Starts, nil))
	return y
}

// summed adds up the rows of values that order names, from one of starts to the next: those of 16-bit floats in float32.
func (s *scope) summed(values, order, starts *tensor.Tensor) *tensor.Tensor {
	rows := values
	if values.Dim() > 2 {
		rows = s.AsShape(values, values.Sizes()[0], shape.Product(values.Sizes()[1:]))
	}
	made := s.CsrSpmm(starts, order, nil, rows)
	if values.Dim() > 2 {
		made = s.AsShape(made, append([]int64{made.Sizes()[0]}, values.Sizes()[1:]...)...)
	}
	return made
}

// unique returns the entries of a vector in order, each once, where each is among these, and how often.
func (s *scope) unique(t *tensor.Tensor) (once, inverse, counts *tensor.Tensor) {
	once, inverse, counts, err := s.C.UniqueConsecutive(t, true, true, noDim)
	return s.Track(once, err), s.Track(inverse, nil), s.Track(counts, nil)
}

// rising reports whether each entry of a vector is larger than the one before.
func (s *scope) rising(t *tensor.Tensor) bool {
	if t.Sizes()[0] < 2 {
		return true
	}
	n := t.Sizes()[0]
	return s.all(s.Lt(s.Narrow(t, 0, 0, n-1), s.Narrow(t, 0, 1, n-1)))
}

// coordinatesOf returns those of any sparse tensor. Those of compressed layouts are coalesced.
func (s *scope) coordinatesOf(t *tensor.Tensor) coordinates {
	p := t.Parts()
	if t.Layout() == tensor.COO {
		return coordinates{p.Indices[0], p.Values, t.Sizes(), p.Coalesced}
	}
	b, f := batches(t), formOf(t)
	index, values := s.expanded(t)
	if inBlocks(f.layout) {
		index, values = s.spread(index, values, f, b)
	}
	return s.coalesced(coordinates{index, values, t.Sizes(), f.layout == tensor.CSR})
}

// counts returns how many entries each row, or column, of compressed indices has.
func (s *scope) counts(compressed *tensor.Tensor) *tensor.Tensor {
	last := int64(compressed.Dim() - 1)
	n := compressed.Sizes()[last] - 1
	return s.Sub(s.Narrow(compressed, last, 1, n), s.Narrow(compressed, last, 0, n))
}

// repeated returns each number i as many times as counts has at the flat place i.
func (s *scope) repeated(counts *tensor.Tensor) *tensor.Tensor {
	flat := s.AsShape(counts, -1)
	return s.RepeatInterleaveWith(flat, noDim)
}

// expanded returns the indices of a compressed tensor's entries, or blocks, and their values, all batches after each other.
func (s *scope) expanded(t *tensor.Tensor) (indices, values *tensor.Tensor) {
	p, b := t.Parts(), batches(t)
	plain := s.wide(p.Indices[1])
	rows := []*tensor.Tensor{s.lineOf(p.Indices[0], plain), s.AsShape(plain, plain.Numel())}
	if !byRows(t.Layout()) {
		slices.Reverse(rows)
	}
	indices = s.Stack(rows, 0)
	if b > 0 {
		each := s.quotient(s.arange(plain.Numel(), plain.Device()), max(entries(t), 1))
		indices = s.Cat([]*tensor.Tensor{s.places(each, t.Sizes()[:b]), indices}, 0)
	}
	return indices, s.AsShape(p.Values, append([]int64{plain.Numel()}, p.Values.Sizes()[b+1:]...)...)
}

// lineOf returns the row, or column, of each of the plain indices.
func (s *scope) lineOf(compressed, plain *tensor.Tensor) *tensor.Tensor {
	n, nnz := compressed.Sizes()[compressed.Dim()-1], plain.Sizes()[plain.Dim()-1]
	from := s.AsContiguous(s.AsShape(s.wide(compressed), shape.Product(compressed.Sizes()[:compressed.Dim()-1]), n))
	to := s.Track(tensor.Empty(s.Op, []int64{from.Sizes()[0], nnz}, int64s, plain.Device()))
	s.Check(backend.On(to).Expand(s.Op, backend.Expansion{To: to, From: from}))
	return s.AsShape(to, plain.Numel())
}

// wide returns a vector of indices as int64.
func (s *scope) wide(t *tensor.Tensor) *tensor.Tensor { return s.CastTo(t, int64s) }

// spread returns the elements of blocks, each with its own place.
func (s *scope) spread(indices, values *tensor.Tensor, f form, b int) (each, elements *tensor.Tensor) {
	n, h, w := indices.Sizes()[1], f.block[0], f.block[1]
	inside := s.arange(h*w, indices.Device())
	offsets := []*tensor.Tensor{s.quotient(inside, max(w, 1)), s.remainder(inside, max(w, 1))}
	rows := make([]*tensor.Tensor, b+2)
	for d := range rows {
		row := s.Unsqueeze(s.Select(indices, 0, int64(d)), 1)
		if d < b {
			row = s.Expand(row, n, h*w)
		} else {
			row = s.Add(s.times(row, f.block[d-b]), offsets[d-b])
		}
		rows[d] = s.AsShape(row, n*h*w)
	}
	return s.Stack(rows, 0), s.AsShape(values, append([]int64{n * h * w}, values.Sizes()[3:]...)...)
}
