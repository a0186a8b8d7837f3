package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// whole returns the entries of a tensor, each place once, for an operator that reduces all elements.
func (s *scope) whole(t *tensor.Tensor, dim []int64, keepdim bool) (values *tensor.Tensor, complete bool) {
	if len(dim) != 0 && len(dim) != t.Dim() || keepdim {
		s.Failf("only the reduction of all elements is supported for sparse tensors, but got dim %v and keepdim %v; convert with to_dense()", dim, keepdim)
	}
	_, err := shape.WrapDims(s.Op, dim, t.Dim(), true)
	s.Check(err)
	x := s.coalesced(s.coordinatesOf(t))
	return x.values, x.values.Numel() == shape.Product(t.Sizes())
}

// reduced is an operator that reduces all elements, those of which there is no entry as one zero.
func reduced(op string, does func(c dispatch.Context, out, values *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		values, complete := s.whole(self, dim, keepdim)
		values = s.AsShape(values, -1)
		if !complete {
			values = s.Cat([]*tensor.Tensor{values, s.zeros(values, 1)}, 0)
		}
		return s.ReturnNew(does(c, out, values))
	}
}

// ofAll is reduced without dimensions.
func ofAll(op string, does func(c dispatch.Context, out, values *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	all := reduced(op, does)
	return func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		return all(c, out, self, nil, false)
	}
}

// countNonzero counts the entries that are not 0, of all elements or along dimensions.
func countNonzero(c dispatch.Context, self *tensor.Tensor, dim []int64) (_ *tensor.Tensor, err error) {
	s := newScope(c, "count_nonzero")
	defer s.Close(&err)
	x := s.coalesced(s.coordinatesOf(self))
	x.values = s.Ne(x.values, s.IntNumber(0))
	return s.result(nil, s.sumOver(s.tensor(x), dim, false, dtype.None))
}

// keepsZero is an operator by numbers that works on the entries alone, where it makes 0 of 0.
func keepsZero(op string, does func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if isSparse(self) {
			sample := s.zeros(self.Parts().Values, 1)
			made := s.Track(does(c, nil, sample))
			if !s.all(s.Eq(made, s.IntNumber(0))) {
				s.Failf("the function does not map 0 to 0, so the result would be dense; convert with to_dense()")
			}
		}
		return onElements(op, does)(c, out, self)
	}
}

// clamp holds the entries within limits that 0 is within.
func clamp(c dispatch.Context, out, self *tensor.Tensor, low, high dtype.Scalar) (*tensor.Tensor, error) {
	return keepsZero("clamp", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Clamp(out, v, low, high)
	})(c, out, self)
}

// round rounds the entries.
func round(c dispatch.Context, out, self *tensor.Tensor, decimals int64) (*tensor.Tensor, error) {
	return unaryOn("round", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Round(out, v, decimals)
	})(c, out, self)
}

// nanToNum replaces entries that are no numbers.
func nanToNum(c dispatch.Context, out, self *tensor.Tensor, nan, posinf, neginf *float64) (*tensor.Tensor, error) {
	return unaryOn("nan_to_num", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.NanToNum(out, v, nan, posinf, neginf)
	})(c, out, self)
}

// fullLike has one value where a tensor has entries.
func fullLike(c dispatch.Context, self *tensor.Tensor, value dtype.Scalar, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return filledLike("full_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.FullLike(v, value, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

// emptyLike returns a tensor without entries in the layout COO, and in others one with the same indices and uninitialized values.
func emptyLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	if self.Layout() == tensor.COO {
		return zerosLike(c, self, d, l, dev, f)
	}
	return filledLike("empty_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.EmptyLike(v, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

// fill returns all entries of a compressed tensor one value.
func fill(c dispatch.Context, out, self, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "fill")
	defer s.Close(&err)
	if !isSparse(self) || !isNumber(value) {
		s.Failf("expected a scalar or a 0-dim strided tensor to fill a sparse tensor, but got a value of layout %v and sizes %v for self of layout %v", value.Layout(), value.Sizes(), self.Layout())
		return nil, nil
	}
	return s.linear(out, self, self.DType(), func(to, v *tensor.Tensor) (*tensor.Tensor, error) { return c.Fill(to, v, value) })
}

// denseOf is an operator that makes a strided tensor of any elements, as a tensor's layout is not to be.
func denseOf(op string, does func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, dev device.Device) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, []int64, dtype.DType, tensor.Layout, device.Device) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if l != tensor.Strided {
			s.Failf("a result that is not 0 everywhere cannot have layout %v; use layout=strided", self.Layout())
		}
		d, dev = likeOf(self, d, dev)
		plain := s.outline(self)
		return s.ReturnNew(does(c, plain, size, d, dev))
	}
}

// newOf is an operator that makes a tensor without entries in the layout of another.
func newOf(op string) func(dispatch.Context, *tensor.Tensor, []int64, dtype.DType, tensor.Layout, device.Device) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
		if d, dev = likeOf(self, d, dev); l == tensor.NoLayout {
			l = self.Layout()
		}
		s := newScope(c, op)
		defer s.Close(&err)
		return s.ReturnNew(c.Zeros(nil, slices.Clone(size), d, l, dev))
	}
}

// isSetTo reports whether two tensors have the same sizes and parts.
func isSetTo(c dispatch.Context, self, other *tensor.Tensor) (bool, error) {
	if !isSparse(self) || !isSparse(other) || self.Layout() != other.Layout() || !slices.Equal(self.Sizes(), other.Sizes()) {
		return false, nil
	}
	p, q := self.Parts(), other.Parts()
	same, err := c.IsSetTo(p.Values, q.Values)
	for i := range p.Indices {
		if same && err == nil {
			same, err = c.IsSetTo(p.Indices[i], q.Indices[i])
		}
	}
	return same, err
}

// vectorNorm returns that of all elements.
func vectorNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	return reduced("linalg.vector_norm", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.LinalgVectorNorm(out, v, ord, nil, false, d)
	})(c, out, self, dim, keepdim)
}
