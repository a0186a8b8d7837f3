package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// total adds up all elements, or those along dimensions: strided where no sparse dimension is left, else in the layout COO, or
// with keepdim in the tensor's own.
func total(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "sum")
	defer s.Close(&err)
	return s.result(out, s.sumOver(self, dim, keepdim, d))
}

func (s *scope) sumOver(t *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	if d == dtype.None && t.DType().Category() < dtype.Floating {
		d = t.DType().Summed()
	}
	mask, err := shape.WrapDims(s.Op, dim, t.Dim(), true)
	s.Check(err)
	t = s.convertible(t, d)
	if len(dim) == 0 && !keepdim {
		return s.SumWith(t.Parts().Values, nil, false, d)
	}
	x := s.coordinatesOf(t)
	x.values = s.CastTo(x.values, d)
	a := axesOf(x, mask)
	if len(a.inner) > 0 {
		x.values = s.Sum(x.values, a.inner, false)
	}
	var made *tensor.Tensor
	switch {
	case len(a.kept) == x.sparse():
		made = s.tensor(coordinates{x.indices, x.values, a.sizes, x.coalesced})
	case len(a.kept) == 0:
		made = s.Sum(x.values, []int64{0}, false)
	default:
		made = s.tensor(s.coalesced(coordinates{s.rowsAt(x.indices, a.kept), x.values, a.sizes, false}))
	}
	if keepdim {
		made = s.withDims(made, t, mask)
	}
	return made
}

// mean returns the sum over the number of elements.
func mean(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "mean")
	defer s.Close(&err)
	if d == dtype.None {
		d = self.DType()
	}
	if d.Category() < dtype.Floating {
		s.Failf("could not infer output dtype: input dtype must be either a floating point or complex dtype. Got: %v", d)
		return nil, nil
	}
	mask, err := shape.WrapDims(s.Op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	count := int64(1)
	for i, n := range self.Sizes() {
		if mask[i] || len(dim) == 0 {
			count *= n
		}
	}
	if count == 0 { // all of it is NaN
		x := s.dense(self)
		return s.ReturnNew(c.Mean(out, x, dim, keepdim, d))
	}
	t := s.sumOver(self, dim, keepdim, d)
	n := s.IntNumber(count)
	return s.result(out, s.Div(t, n))
}

// norm returns that of all elements, which zeros do not change.
func norm(c dispatch.Context, out, self *tensor.Tensor, p dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(c, "norm")
	defer s.Close(&err)
	if p.Kind != dtype.KindNone && p.Float() <= 0 || len(dim) != 0 && len(dim) != self.Dim() || keepdim {
		x := s.dense(self)
		return s.ReturnNew(c.Norm(out, x, p, dim, keepdim, d))
	}
	x := s.coalesced(s.coordinatesOf(self))
	return s.ReturnNew(c.Norm(out, x.values, p, nil, false, d))
}

// groups are numbers for the entries that differ along dimension d alone, and how many there are.
func (s *scope) groups(x coordinates, d int) (of *tensor.Tensor, count int64) {
	rest := s.without(s.wide(x.indices), d)
	sizes := slices.Delete(slices.Clone(x.sizes[:x.sparse()]), d, d+1)
	key := s.keys(rest, sizes)
	_, of, counts := s.numbered(key)
	return of, counts.Numel()
}

// SparseSoftmax returns the softmax of the entries along a dimension: elements that are not kept count as minus infinity.
func SparseSoftmax(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return softmax(c, "sparse.softmax", self, dim, d, dispatch.Context.Softmax, false)
}

// SparseLogSoftmax returns the logarithm of SparseSoftmax.
func SparseLogSoftmax(c dispatch.Context, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return softmax(c, "sparse.log_softmax", self, dim, d, dispatch.Context.LogSoftmax, true)
}

func softmax(c dispatch.Context, op string, self *tensor.Tensor, dim int64, as dtype.DType, dense func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, int64, dtype.DType) (*tensor.Tensor, error), log bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	if !isSparse(self) {
		s.Failf("expected a sparse tensor, but got layout %v", self.Layout())
		return nil, nil
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	x := s.coalesced(s.coordinatesOf(self))
	x.values = s.CastTo(x.values, as)
	f := formOf(self)
	if d >= x.sparse() {
		v := x.values
		x.values = s.Track(dense(c, nil, v, int64(d-x.sparse()+1), dtype.None))
		return s.Return(s.from(x, f))
	}
	if x.values.DType().Category() != dtype.Floating {
		s.Failf("expected a floating-point dtype, but the tensor has dtype %v", x.values.DType())
		return nil, nil
	}
	of, n := s.groups(x, d)
	plain := s.Detach(x.values) // the largest cancels out
	low := s.zeros(plain, append([]int64{n}, x.values.Sizes()[1:]...)...)
	top := s.IndexReduceWith(low, 0, of, plain, "amax", false)
	shifted := s.Sub(x.values, s.take(top, 0, of))
	powers := s.Exp(shifted)
	sums := s.gather(n, of, powers)
	if log {
		x.values = s.Sub(shifted, s.take(s.Log(sums), 0, of))
	} else {
		total := s.take(sums, 0, of)
		x.values = s.Div(powers, total)
	}
	return s.Return(s.from(x, f))
}
