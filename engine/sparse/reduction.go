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
func total(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	s := newScope(c, "sum")
	defer s.Close()
	return s.result(out, s.sumOver(self, dim, keepdim, d))
}

func (s *scope) sumOver(t *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	if d == dtype.None && t.DType().Category() < dtype.Floating {
		d = t.DType().Summed()
	}
	mask, err := shape.WrapDims(s.Op, dim, t.Dim(), true)
	if s.Fail(err); s.Err != nil {
		return nil
	}
	t = s.convertible(t, d)
	if len(dim) == 0 && !keepdim && s.Err == nil {
		return s.Step(func() (*tensor.Tensor, error) { return s.C.Sum(nil, t.Parts().Values, nil, false, d) })
	}
	x := s.coordinatesOf(t)
	x.values = s.Cast(x.values, d)
	if s.Err != nil {
		return nil
	}
	a := axesOf(x, mask)
	if len(a.inner) > 0 {
		x.values = s.Sum(x.values, a.inner...)
	}
	var made *tensor.Tensor
	switch {
	case len(a.kept) == x.sparse():
		made = s.tensor(coordinates{x.indices, x.values, a.sizes, x.coalesced})
	case len(a.kept) == 0:
		made = s.Sum(x.values, 0)
	default:
		made = s.tensor(s.coalesced(coordinates{s.rowsAt(x.indices, a.kept), x.values, a.sizes, false}))
	}
	if keepdim {
		made = s.withDims(made, t, mask)
	}
	return made
}

// mean returns the sum over the number of elements.
func mean(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	s := newScope(c, "mean")
	defer s.Close()
	if d == dtype.None {
		d = self.DType()
	}
	if d.Category() < dtype.Floating {
		s.Failf("could not infer output dtype: input dtype must be either a floating point or complex dtype. Got: %v", d)
		return nil, s.Err
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
		return s.Last(func() (*tensor.Tensor, error) { return c.Mean(out, x, dim, keepdim, d) })
	}
	t := s.sumOver(self, dim, keepdim, d)
	n := s.Int(count)
	return s.result(out, s.Step(func() (*tensor.Tensor, error) { return c.Div(nil, t, n, "") }))
}

// norm returns that of all elements, which zeros do not change.
func norm(c dispatch.Context, out, self *tensor.Tensor, p dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	s := newScope(c, "norm")
	defer s.Close()
	if p.Kind != dtype.KindNone && p.Float() <= 0 || len(dim) != 0 && len(dim) != self.Dim() || keepdim {
		x := s.dense(self)
		return s.Last(func() (*tensor.Tensor, error) { return c.Norm(out, x, p, dim, keepdim, d) })
	}
	x := s.coalesced(s.coordinatesOf(self))
	if s.Err != nil {
		return nil, s.Err
	}
	return s.Last(func() (*tensor.Tensor, error) { return c.Norm(out, x.values, p, nil, false, d) })
}

// groups are numbers for the entries that differ along dimension d alone, and how many there are.
func (s *scope) groups(x coordinates, d int) (of *tensor.Tensor, count int64) {
	if s.Err != nil {
		return nil, 0
	}
	rest := s.without(s.wide(x.indices), d)
	sizes := slices.Delete(slices.Clone(x.sizes[:x.sparse()]), d, d+1)
	key := s.keys(rest, sizes)
	_, of, counts := s.numbered(key)
	if s.Err != nil {
		return nil, 0
	}
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

func softmax(c dispatch.Context, op string, self *tensor.Tensor, dim int64, as dtype.DType, dense func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, int64, dtype.DType) (*tensor.Tensor, error), log bool) (*tensor.Tensor, error) {
	s := newScope(c, op)
	defer s.Close()
	if !isSparse(self) {
		s.Failf("expected a sparse tensor, but got layout %v", self.Layout())
		return nil, s.Err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	x := s.coalesced(s.coordinatesOf(self))
	x.values = s.Cast(x.values, as)
	if s.Err != nil {
		return nil, s.Err
	}
	f := formOf(self)
	if d >= x.sparse() {
		v := x.values
		x.values = s.Step(func() (*tensor.Tensor, error) { return dense(c, nil, v, int64(d-x.sparse()+1), dtype.None) })
		return s.Return(s.from(x, f))
	}
	if x.values.DType().Category() != dtype.Floating {
		s.Failf("expected a floating-point dtype, but the tensor has dtype %v", x.values.DType())
		return nil, s.Err
	}
	of, n := s.groups(x, d)
	if s.Err != nil {
		return nil, s.Err
	}
	plain := s.Step(func() (*tensor.Tensor, error) { return c.Detach(x.values) }) // the largest cancels out
	low := s.zeros(plain, append([]int64{n}, x.values.Sizes()[1:]...)...)
	top := s.Step(func() (*tensor.Tensor, error) { return c.IndexReduce(nil, low, 0, of, plain, "amax", false) })
	shifted := s.Sub(x.values, s.take(top, 0, of))
	powers := s.Unary(c.Exp, shifted)
	sums := s.gather(n, of, powers)
	if log {
		x.values = s.Sub(shifted, s.take(s.Unary(c.Log, sums), 0, of))
	} else {
		total := s.take(sums, 0, of)
		x.values = s.Step(func() (*tensor.Tensor, error) { return c.Div(nil, powers, total, "") })
	}
	return s.Return(s.from(x, f))
}
