package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// pieces splits a dimension into parts of the given lengths.
func pieces(c dispatch.Context, op string, self *tensor.Tensor, dim int, lengths []int64) ([]*tensor.Tensor, error) {
	start := int64(0)
	return owner.List(len(lengths), func(i int) (*tensor.Tensor, error) {
		t, err := narrow(c, self, int64(dim), start, lengths[i])
		start += lengths[i]
		return t, status.In(op, err)
	})
}

// even splits dimension d into parts of step positions; the last may be smaller.
func even(c dispatch.Context, op string, self *tensor.Tensor, d int, step int64) (_ []*tensor.Tensor, err error) {
	n := self.Sizes()[d]
	lengths := []int64{}
	for at := int64(0); at < n || at == 0; at += step {
		lengths = append(lengths, min(step, n-at))
	}
	if !placed(self, d) {
		return pieces(c, op, self, d, lengths)
	}
	s := newScope(c, op)
	defer s.Close(&err)
	x, f := s.coordinatesOf(self), formOf(self)
	indices, values := s.apart(x.indices, x, d, step, len(lengths))
	return owner.List(len(lengths), func(i int) (_ *tensor.Tensor, err error) {
		p := newScope(c, op)
		defer p.Close(&err)
		sizes := slices.Clone(self.Sizes())
		sizes[d] = lengths[i]
		part := coordinates{p.clone(p.shifted(indices[i], d, -int64(i)*step)), p.clone(values[i]), sizes, x.coalesced}
		return p.Return(p.from(part, f))
	})
}

// placed reports whether entries have indices for a dimension, which dense and batch dimensions, and meta tensors, do not have.
func placed(t *tensor.Tensor, d int) bool {
	return d < t.Dim()-denseDim(t) && (t.Layout() == tensor.COO || batches(t) == 0) && backend.Known(t.Parts().Indices[0])
}

// apart returns the columns of indices and the values of each of n parts of dimension d, which have each `step` positions. They are sorted by parts
// first, so that each entry is looked at once, and not once for each part; the entries of a part keep their order.
func (s *scope) apart(indices *tensor.Tensor, x coordinates, d int, step int64, n int) (columns, values []*tensor.Tensor) {
	inOrder, order := s.sorted(s.quotient(s.Select(x.indices, 0, int64(d)), step))
	parts := s.arange(int64(n), indices.Device())
	ends := s.SearchsortedWith(inOrder, parts, false, true, "", nil)
	lengths, err := backend.Ints(s.Op, ends)
	s.Check(err)
	lengths = slices.Clone(lengths)
	for i := len(lengths) - 1; i > 0; i-- {
		lengths[i] -= lengths[i-1]
	}
	return s.divided(s.take(indices, 1, order), 1, lengths), s.divided(s.take(x.values, 0, order), 0, lengths)
}

// divided views parts of dim of the given lengths.
func (s *scope) divided(t *tensor.Tensor, dim int64, lengths []int64) []*tensor.Tensor {
	list, err := s.C.SplitWithSizes(t, lengths, dim)
	s.Check(err)
	for _, x := range list {
		s.Track(x, nil)
	}
	return list
}

func split(c dispatch.Context, self *tensor.Tensor, size, dim int64) ([]*tensor.Tensor, error) {
	d, err := dimension("split", dim, self.Dim())
	switch {
	case err != nil:
		return nil, err
	case self.Dim() == 0:
		return nil, status.Runtimef("split: expects at least a 1-dimensional tensor")
	case size < 1:
		return nil, status.Runtimef("split: split_size must be positive, but got %d", size)
	}
	return even(c, "split", self, d, size)
}

func splitWithSizes(c dispatch.Context, self *tensor.Tensor, sizes []int64, dim int64) ([]*tensor.Tensor, error) {
	d, err := dimension("split", dim, self.Dim())
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
	return pieces(c, "split", self, d, sizes)
}

func chunk(c dispatch.Context, self *tensor.Tensor, chunks, dim int64) ([]*tensor.Tensor, error) {
	d, err := dimension("chunk", dim, self.Dim())
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
		return pieces(c, "chunk", self, d, make([]int64, chunks))
	}
	return even(c, "chunk", self, d, (n-1)/chunks+1)
}

// unbind returns all positions of a dimension.
func unbind(c dispatch.Context, self *tensor.Tensor, dim int64) (_ []*tensor.Tensor, err error) {
	d, err := dimension("unbind", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("unbind: dimension specified as %d but tensor has no dimensions", dim)
	}
	n := int(self.Sizes()[d])
	if !placed(self, d) || n == 0 {
		return owner.List(n, func(i int) (*tensor.Tensor, error) {
			t, err := selected(c, self, int64(d), int64(i))
			return t, status.In("unbind", err)
		})
	}
	s := newScope(c, "unbind")
	defer s.Close(&err)
	x, sizes := s.coordinatesOf(self), slices.Delete(slices.Clone(self.Sizes()), d, d+1)
	vector := x.sparse() == 1
	rows := x.indices
	if !vector {
		rows = s.without(rows, d)
	}
	indices, values := s.apart(rows, x, d, 1, n)
	return owner.List(n, func(i int) (_ *tensor.Tensor, err error) {
		p := newScope(c, "unbind")
		defer p.Close(&err)
		switch {
		case vector: // no sparse dimension is left
			return p.Return(p.CastTo(p.Sum(values[i], []int64{0}, false), self.DType()))
		}
		return p.Return(p.tensor(coordinates{p.clone(indices[i]), p.clone(values[i]), sizes, x.coalesced}))
	})
}
