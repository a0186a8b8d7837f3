package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The largest and the smallest elements along dimensions. Entries are identified by the number of their row; a row with fewer entries than elements
// also has zeros.

// axes describes the dimensions of coordinates in a reduction.
type axes struct {
	kept  []int64 // the sparse dimensions that stay
	inner []int64 // the dimensions of the values that go
	sizes []int64 // of the result
	gone  int64   // the number of positions along the reduced sparse dimensions
}

func axesOf(x coordinates, mask []bool) axes {
	a := axes{sizes: []int64{}, gone: 1}
	for i, n := range x.sizes {
		sparse := i < x.sparse()
		switch {
		case !mask[i] && sparse:
			a.kept = append(a.kept, int64(i))
		case mask[i] && sparse:
			a.gone *= n
		case mask[i]:
			a.inner = append(a.inner, int64(i-x.sparse()+1))
		}
		if !mask[i] {
			a.sizes = append(a.sizes, n)
		}
	}
	return a
}

// rowsAt are some rows of indices.
func (s *scope) rowsAt(indices *tensor.Tensor, which []int64) *tensor.Tensor {
	list := make([]*tensor.Tensor, len(which))
	for i, at := range which {
		list[i] = s.Select(indices, 0, at)
	}
	return s.Stack(list, 0)
}

// withDims returns the result of a reduction of t with dimensions of size 1 in the place of those in mask.
func (s *scope) withDims(made, t *tensor.Tensor, mask []bool) *tensor.Tensor {
	for i := range mask {
		was, at := made, int64(i)
		switch {
		case !mask[i]:
		case isSparse(was):
			made = s.Track(unsqueeze(s.C, nil, was, at))
		default:
			made = s.Unsqueeze(was, at)
		}
	}
	if f := formOf(t); f.layout != tensor.COO && !inBlocks(f.layout) {
		made = s.as(made, f)
	}
	return made
}

// numbered returns the different entries of a vector, in order, which of these each entry is, and how often each is there.
func (s *scope) numbered(key *tensor.Tensor) (once, of, counts *tensor.Tensor) {
	inOrder, from := s.sorted(key)
	once, inverse, counts := s.unique(inOrder)
	back := s.Argsort(from, 0, false)
	return once, s.take(inverse, 0, back), counts
}

// most returns the largest or the smallest of the entries of source (how is amax or amin) in each of n lines; of holds the line of each entry.
func (s *scope) most(n int64, of, source *tensor.Tensor, how string) *tensor.Tensor {
	to := s.nothing(source, append([]int64{n}, source.Sizes()[1:]...)...)
	return s.IndexReduceWith(to, 0, of, source, how, false)
}

// nothing returns the initial values of IndexReduce: NaN for floats, which equals no result, so that no gradient flows to it.
func (s *scope) nothing(like *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	start := dtype.IntScalar(0)
	if like.DType().IsFloatingPoint() {
		start = dtype.FloatScalar(math.NaN())
	}
	return s.NewFull(like, sizes, start)
}

// along returns the largest or the smallest element (how is amax or amin) along the dimensions in mask: strided if no sparse dimension remains.
func (s *scope) along(x coordinates, mask []bool, how string) *tensor.Tensor {
	x = s.coalesced(x)
	a := axesOf(x, mask)
	if len(a.inner) > 0 {
		if how == "amin" {
			x.values = s.Amin(x.values, a.inner, false)
		} else {
			x.values = s.Amax(x.values, a.inner, false)
		}
	}
	if len(a.kept) == x.sparse() && len(a.kept) > 0 {
		return s.tensor(coordinates{x.indices, x.values, a.sizes, true})
	}
	indices, places := s.inside(x.indices, x.sizes), a.sizes[:len(a.kept)]
	if x.count() == 0 {
		if len(a.kept) == 0 {
			return s.zeros(x.values, a.sizes...)
		}
		return s.tensor(coordinates{s.rowsAt(indices, a.kept), x.values, a.sizes, true})
	}
	key := s.zeros(indices, x.count())
	if len(a.kept) > 0 {
		key = s.keys(s.rowsAt(indices, a.kept), places)
	}
	once, of, counts := s.numbered(key)
	made := s.most(once.Numel(), of, x.values, how)
	column := append([]int64{once.Numel()}, slices.Repeat([]int64{1}, x.values.Dim()-1)...)
	short := s.AsShape(s.Lt(counts, s.IntNumber(a.gone)), column...)
	zero, found := s.zeros(x.values), made
	extreme := s.Maximum
	if how == "amin" {
		extreme = s.Minimum
	}
	withZero := extreme(made, zero)
	made = s.Where(short, withZero, made)
	if x.values.History() != nil {
		made = s.shared(made, found, x.values, of, s.AsShape(s.Sub(s.IntNumber(a.gone), counts), column...))
	}
	if len(a.kept) == 0 {
		return s.AsShape(made, a.sizes...)
	}
	return s.tensor(coordinates{s.places(once, places), made, a.sizes, true})
}

// shared returns made, the gradient for lines with the extremes most: for an extreme of 0 it is shared with the elements that have no entry.
func (s *scope) shared(made, most, values, of, without *tensor.Tensor) *tensor.Tensor {
	zeros := s.CastTo(s.Eq(values, s.IntNumber(0)), values.DType())
	kept := s.gather(most.Sizes()[0], of, zeros)
	all := s.Maximum(s.Add(kept, without), s.IntNumber(1))
	part := s.Div(kept, all)
	is0, zeros := s.Eq(most, s.IntNumber(0)), s.Mul(most, part)
	return s.Where(is0, zeros, made)
}

// extreme is amax or amin, or any or all, which they are of numbers that are 1 where an element is not 0.
func extreme(op, how string, does func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if !isSparse(self) {
			return nil, mixed(op, out)
		}
		mask, err := shape.WrapDims(op, dim, self.Dim(), how == op || dim == nil) // any and all along no dimensions leave all
		if err != nil {
			return nil, err
		}
		if shape.Product(self.Sizes()) == 0 { // which the operator may reject
			x := s.dense(self)
			made := s.Track(does(c, nil, x, dim, keepdim))
			if made.Dim() > 0 && slices.Contains(mask[:self.Dim()-denseDim(self)], false) {
				made = s.as(made, form{layout: tensor.COO, block: [2]int64{1, 1}})
			}
			return s.result(out, made)
		}
		sample := s.zeros(self.Parts().Values, 1) // determines the dtype, which the operator may not support
		sample = s.Track(does(c, nil, sample, nil, false))
		x := s.coalesced(s.coordinatesOf(self))
		if how != op {
			x.values = s.CastTo(s.Ne(x.values, s.IntNumber(0)), dtype.Uint8)
		} else if x.values.DType() == dtype.Bool {
			x.values = s.CastTo(x.values, dtype.Uint8)
		}
		made := s.along(x, mask, how)
		if keepdim {
			made = s.withDims(made, self, mask)
		}
		if made.DType() != sample.DType() {
			made = s.ToOptionsWith(made, sample.DType(), tensor.NoLayout, device.None, false, false, shape.Preserve)
		}
		return s.result(out, made)
	}
}

// position implements argmax and argmin, along a dimension or over all elements. The result is strided.
func position(op, how string, does func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, ops.Int, bool) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, ops.Int, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim ops.Int, keepdim bool) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if !isSparse(self) {
			return nil, mixed(op, out)
		}
		d, err := shape.WrapDim(op, int64(dim.Or(0)), self.Dim())
		if err != nil {
			return nil, err
		}
		if shape.Product(self.Sizes()) == 0 || self.Dim() == 0 {
			x := s.dense(self)
			return s.ReturnNew(does(c, out, x, dim, keepdim))
		}
		sample := s.zeros(self.Parts().Values, 1)
		s.Track(does(c, nil, sample, ops.NoInt, false)) // rejects dtypes
		x := s.coalesced(s.withDense(s.coordinatesOf(self), 0))
		indices := s.inside(x.indices, x.sizes)
		kept := slices.Delete(slices.Clone(x.sizes), d, d+1)
		at, key := s.Select(indices, 0, int64(d)), s.zeros(indices, x.count())
		length := x.sizes[d]
		switch {
		case dim.IsNone():
			kept, length, at = []int64{}, shape.Product(x.sizes), s.keys(indices, x.sizes)
		case len(kept) > 0:
			key = s.keys(s.without(indices, d), kept)
		}
		once, places := s.firsts(key, at, x.values, length, how)
		made := s.zeros(at, shape.Product(kept))
		made = s.IndexCopy(made, 0, once, places)
		if keepdim && !dim.IsNone() {
			kept = slices.Insert(kept, d, 1)
		} else if keepdim {
			kept = slices.Repeat([]int64{1}, self.Dim())
		}
		return s.result(out, s.AsShape(made, kept...))
	}
}

// firsts returns the numbers of lines of a length that have entries, and in each the first place of its largest or least element: that of an entry,
// or the first one without.
func (s *scope) firsts(key, at, values *tensor.Tensor, length int64, how string) (once, places *tensor.Tensor) {
	if values.DType() == dtype.Bool {
		values = s.CastTo(values, dtype.Uint8)
	}
	once, of, counts := s.numbered(key)
	n := once.Numel()
	most := s.most(n, of, values, how)
	best := s.take(most, 0, of)
	isBest := s.Eq(values, best)
	if values.DType().IsFloatingPoint() {
		isBest = s.LogicalOr(isBest, s.Isnan(values))
	}
	chosen := s.AsShape(s.Nonzero(isBest), -1)
	entry := s.most(n, s.take(of, 0, chosen), s.take(at, 0, chosen), "amin")
	// The entries before the first gap of a line are those whose rank in it equals their position.
	inOrder, from := s.sorted(s.Add(s.times(of, length), at))
	line := s.take(of, 0, from)
	ends := s.CumsumWith(counts, 0, int64s)
	start := s.take(s.Sub(ends, counts), 0, line)
	before := s.Sub(s.arange(inOrder.Numel(), key.Device()), start)
	gap := s.gather(n, line, s.CastTo(s.Eq(s.take(at, 0, from), before), int64s))
	less := s.Lt
	if how == "amin" {
		less = s.Gt
	}
	zero := s.IntNumber(0)
	short := s.Lt(counts, s.IntNumber(length))
	at0 := s.LogicalAnd(short, less(most, zero))
	beside := s.LogicalAnd(short, s.Eq(most, zero))
	where := func(is, a, b *tensor.Tensor) *tensor.Tensor {
		return s.Where(is, a, b)
	}
	return once, where(at0, gap, where(beside, s.Minimum(gap, entry), entry))
}
