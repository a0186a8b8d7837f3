package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// reshaped implements reshape operators: for COO tensors, with unchanged dense dimensions, and for matrices in CSR and CSC layout.
func reshaped(op string) func(dispatch.Context, *tensor.Tensor, []int64) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		sizes, err := shape.InferSize(op, size, shape.Product(self.Sizes()))
		if err != nil {
			return nil, err
		}
		return s.Return(s.resized(self, sizes))
	}
}

func (s *scope) resized(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	f := formOf(t)
	sparse := len(sizes) - f.dense
	switch {
	case slices.Equal(sizes, t.Sizes()):
		return t
	case f.layout != tensor.COO && (inBlocks(f.layout) || t.Dim() != 2 || len(sizes) != 2):
		s.Failf("a tensor of layout %v and sizes %v cannot be reshaped to %v; convert with to_sparse() or to_dense()", f.layout, t.Sizes(), sizes)
		return nil
	case sparse < 0 || !slices.Equal(sizes[sparse:], t.Sizes()[t.Dim()-f.dense:]):
		s.Failf("the dense dimensions, of sizes %v, must remain the last dimensions of the sizes %v; convert with to_dense()", t.Sizes()[t.Dim()-f.dense:], sizes)
		return nil
	}
	x := s.coordinatesOf(t)
	key := s.keys(x.indices, x.sizes[:x.sparse()])
	x.indices = s.placesOf(key, sizes[:sparse])
	x.sizes = sizes
	return s.from(x, f)
}

// placesOf returns the indices of keys for any number of dimensions, including 0.
func (s *scope) placesOf(key *tensor.Tensor, sizes []int64) *tensor.Tensor {
	if len(sizes) == 0 {
		return s.ZerosWith([]int64{0, key.Numel()}, int64s, tensor.NoLayout, key.Device())
	}
	return s.places(key, sizes)
}

// flatten joins neighbouring dimensions.
func flatten(c dispatch.Context, self *tensor.Tensor, start, end int64) (*tensor.Tensor, error) {
	const op = "flatten"
	i, err := shape.WrapDim(op, start, self.Dim())
	if err != nil {
		return nil, err
	}
	j, err := shape.WrapDim(op, end, self.Dim())
	if err != nil {
		return nil, err
	}
	if i > j {
		return nil, status.Runtimef("%s: start_dim %d comes after end_dim %d", op, start, end)
	}
	sizes := slices.Clone(self.Sizes())
	if self.Dim() == 0 {
		return reshaped(op)(c, self, []int64{1})
	}
	return reshaped(op)(c, self, slices.Replace(sizes, i, j+1, shape.Product(sizes[i:j+1])))
}

// unflatten splits a dimension.
func unflatten(c dispatch.Context, self *tensor.Tensor, dim int64, into []int64) (*tensor.Tensor, error) {
	const op = "unflatten"
	d, err := dimension(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("%s: cannot be applied to a 0-dim tensor", op)
	}
	made, err := shape.InferSize(op, into, self.Sizes()[d])
	if err != nil {
		return nil, err
	}
	return reshaped(op)(c, self, slices.Replace(slices.Clone(self.Sizes()), d, d+1, made...))
}

// squeezed drops those dimensions of size 1 that are in mask.
func (s *scope) squeezed(t *tensor.Tensor, mask []bool) *tensor.Tensor {
	sizes, p, sparse := []int64{}, t.Parts(), t.Dim()-denseDim(t)
	var rows, dense []int64 // the rows of indices that stay, and the dense dimensions that go
	for d, n := range t.Sizes() {
		drop := mask[d] && n == 1
		switch {
		case !drop && d < sparse:
			rows = append(rows, int64(d))
		case drop && d >= sparse:
			dense = append(dense, int64(d-sparse))
		}
		if !drop {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == t.Dim() {
		return t
	}
	values := p.Values
	without := func(part *tensor.Tensor, lead int64) *tensor.Tensor {
		for i := len(dense) - 1; i >= 0; i-- {
			part = s.SqueezeDim(part, dense[i]+lead)
		}
		return part
	}
	if t.Layout() == tensor.COO {
		indices := p.Indices[0]
		if len(rows) < sparse {
			kept := []*tensor.Tensor{s.Narrow(indices, 0, 0, 0)}
			for _, d := range rows {
				kept = append(kept, s.Narrow(indices, 0, d, 1))
			}
			indices = s.Cat(kept, 0)
		}
		return s.tensor(coordinates{indices, without(values, 1), sizes, p.Coalesced})
	}
	b := batches(t)
	if !slices.Contains(rows, int64(b)) || !slices.Contains(rows, int64(b)+1) {
		s.Failf("the matrix dimensions, of sizes %v, cannot be changed in layout %v; convert with to_sparse() or to_dense()", t.Sizes()[b:b+2], t.Layout())
		return nil
	}
	lead := int64(b + 1)
	if inBlocks(t.Layout()) {
		lead += 2
	}
	values = without(values, lead)
	parts := []*tensor.Tensor{p.Indices[0], p.Indices[1], values}
	for d := b - 1; d >= 0; d-- {
		if slices.Contains(rows, int64(d)) {
			continue
		}
		for i, part := range parts {
			parts[i] = s.SqueezeDim(part, int64(d))
		}
	}
	return s.assemble(t.Layout(), sizes, parts[0], parts[1], parts[2])
}

// squeeze drops dimensions of size 1: those named, or all.
func squeeze(c dispatch.Context, out, self *tensor.Tensor, dims []int64, all bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "squeeze")
	defer s.Close(&err)
	mask, err := shape.WrapDims(s.Op, dims, self.Dim(), all)
	if err != nil {
		return nil, err
	}
	return s.result(out, s.squeezed(self, mask))
}

// moved implements movedim.
func moved(c dispatch.Context, self *tensor.Tensor, source, destination []int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "movedim")
	defer s.Close(&err)
	order, err := shape.Moved(s.Op, self.Dim(), source, destination)
	if err != nil {
		return nil, err
	}
	dims := make([]int64, len(order))
	for i, d := range order {
		dims[i] = int64(d)
	}
	return s.Return(s.permuted(self, dims))
}

// transposeLast is mT.
func transposeLast(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("mT: only supported on matrices or batches of matrices, got a %dD tensor", self.Dim())
	}
	return transpose(c, nil, self, -2, -1)
}

// adjointMatrix is adjoint of a matrix; a tensor without dimensions is its own.
func adjointMatrix(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		return c.Conj(self)
	case 2:
		return adjoint(c, self)
	}
	return nil, status.Runtimef("H: only supported on matrices (2-D tensors), got %d-D tensor; mH takes batches of matrices", self.Dim())
}

// adjoint is mH.
func adjoint(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "adjoint")
	defer s.Close(&err)
	turned := s.Track(transposeLast(c, self))
	return s.ReturnNew(c.Conj(turned))
}

// transposeAll is T.
func transposeAll(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	dims := make([]int64, self.Dim())
	for d := range dims {
		dims[d] = int64(self.Dim() - 1 - d)
	}
	return permute(c, self, dims)
}

// expand repeats dimensions of size 1, and adds leading ones, which are sparse.
func expand(c dispatch.Context, self *tensor.Tensor, size []int64, _ bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "expand")
	defer s.Close(&err)
	sizes, lead := slices.Clone(size), len(size)-self.Dim()
	for d := range sizes {
		if sizes[d] == -1 && d >= lead && lead >= 0 {
			sizes[d] = self.Sizes()[d-lead]
		}
	}
	if slices.ContainsFunc(sizes, func(n int64) bool { return n < 0 }) || !shape.ExpandsTo(self.Sizes(), sizes) {
		s.Failf("a tensor of sizes %v cannot be expanded to %v", self.Sizes(), size)
	}
	return s.Return(s.broadcast(self, sizes))
}

// broadcast returns t with sizes that its own expand to, in the same layout.
func (s *scope) broadcast(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	if slices.Equal(t.Sizes(), sizes) {
		return t
	}
	x, f, lead := s.coordinatesOf(t), formOf(t), len(sizes)-t.Dim()
	sparse := lead + x.sparse()
	repeated := func(d int) bool { return d < lead || x.sizes[d-lead] != sizes[d] }
	var along []int64
	for d := range sparse {
		if repeated(d) {
			along = append(along, sizes[d])
		}
	}
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if len(along) > 0 {
		n, indices := shape.Product(along), s.wide(x.indices)
		each := s.arange(x.count()*n, x.values.Device())
		of := s.quotient(each, max(n, 1))
		within, rows := s.places(s.Sub(each, s.times(of, n)), along), make([]*tensor.Tensor, sparse)
		k := int64(0)
		for d := range rows {
			if repeated(d) {
				rows[d] = s.Select(within, 0, k)
				k++
			} else {
				rows[d] = s.take(s.Select(indices, 0, int64(d-lead)), 0, of)
			}
		}
		y.indices, y.values, y.coalesced = s.Stack(rows, 0), s.take(x.values, 0, of), false
	}
	wanted := append([]int64{y.values.Sizes()[0]}, sizes[sparse:]...)
	y.values = s.Expand(y.values, wanted...)
	if x.coalesced {
		y = s.coalesced(y)
	}
	return s.from(y, f)
}

// flip turns dimensions round.
func flip(c dispatch.Context, self *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "flip")
	defer s.Close(&err)
	mask, err := shape.WrapDims(s.Op, dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	x := s.coordinatesOf(self)
	y := coordinates{x.indices, x.values, x.sizes, x.coalesced}
	var rows []*tensor.Tensor
	var dense []int64
	for d, turned := range mask {
		switch {
		case d >= x.sparse() && turned:
			dense = append(dense, int64(d-x.sparse()+1))
		case d < x.sparse() && turned:
			rows = append(rows, s.Sub(s.IntNumber(x.sizes[d]-1), s.Select(x.indices, 0, int64(d))))
		case d < x.sparse():
			rows = append(rows, s.Select(x.indices, 0, int64(d)))
		}
	}
	if slices.Contains(mask[:x.sparse()], true) {
		y.indices, y.coalesced = s.Stack(rows, 0), false
	}
	if len(dense) > 0 {
		y.values = s.Flip(x.values, dense...)
	}
	if x.coalesced {
		y = s.coalesced(y)
	}
	return s.Return(s.from(y, formOf(self)))
}

// roll joins the parts of dimensions in another order.
func roll(c dispatch.Context, self *tensor.Tensor, shifts, dims []int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "roll")
	defer s.Close(&err)
	by, flat, err := ops.RollShifts(self, shifts, dims)
	if err != nil {
		return nil, err
	}
	t := s.clone(self)
	if flat {
		t = s.Reshape(self, self.Numel())
	}
	for d, first := range by {
		if first == 0 {
			continue
		}
		whole, rest := t, t.Sizes()[d]-first
		end := s.Track(narrow(c, whole, int64(d), rest, first))
		begin := s.Track(narrow(c, whole, int64(d), 0, rest))
		t = s.Cat([]*tensor.Tensor{end, begin}, int64(d))
	}
	if flat {
		t = s.Reshape(t, self.Sizes()...)
	}
	return s.Return(t)
}
