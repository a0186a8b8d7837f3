package quantized

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Operators with a hand-written form: the generator uses a function with such a name instead of writing one.

// quantizedCopy writes numbers, quantized as self is.
func quantizedCopy(c dispatch.Context, self, src *tensor.Tensor, busy bool) (err error) {
	s := newScope(c, "copy_")
	defer s.Close(&err)
	switch {
	case !isQuantized(self):
		s.Failf("a quantized tensor can only be copied to a quantized tensor, but got a tensor of dtype %v; call dequantize() first", self.DType())
		return nil
	case isQuantized(src) && src.DType() == self.DType() && src.Quantizer().Equal(self.Quantizer()) && slices.Equal(src.Sizes(), self.Sizes()):
		return c.Copy(s.ints(self), s.ints(src), busy)
	}
	x := s.reals(src)
	if !slices.Equal(x.Sizes(), self.Sizes()) {
		sizes := self.Sizes()
		x = s.Expand(x, sizes...)
	}
	made := s.quantized(x, self.DType(), self.Quantizer())
	s.Copy(s.ints(self), s.ints(made), busy)
	return nil
}

// quantizedToOptions returns the tensor itself, or a copy, where neither its dtype nor its layout is to be another one.
func quantizedToOptions(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, busy, forced bool, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(c, "to")
	defer s.Close(&err)
	if d != dtype.None && d != self.DType() {
		s.Failf("to() does not convert %v to %v; use dequantize() for values, or int_repr() for the stored integers", self.DType(), d)
		return nil, nil
	}
	ints := s.ints(self)
	moved := s.ToOptionsWith(ints, dtype.None, l, dev, busy, forced, f)
	return s.Return(s.as(moved, self.DType(), self.Quantizer()))
}

// quantizedEqual reports whether dtypes, sizes, quantizers and numbers are the same.
func quantizedEqual(c dispatch.Context, self, other *tensor.Tensor) (_ bool, err error) {
	s := newScope(c, "equal")
	defer s.Close(&err)
	if !isQuantized(self) || !isQuantized(other) {
		s.Failf("a quantized tensor can only be compared with another one, but got %v and %v; call dequantize() first", self.DType(), other.DType())
		return false, nil
	}
	if self.DType() != other.DType() || !self.Quantizer().Equal(other.Quantizer()) {
		return false, nil
	}
	return c.Equal(s.ints(self), s.ints(other))
}

// quantizedEmptyLike returns a tensor of arbitrary integers with the same quantizer.
func quantizedEmptyLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(c, "empty_like")
	defer s.Close(&err)
	if d != dtype.None && d != self.DType() {
		s.Failf("a tensor like one of dtype %v cannot have dtype %v; use dequantize()", self.DType(), d)
		return nil, nil
	}
	ints := s.ints(self)
	made := s.EmptyLikeWith(ints, dtype.None, l, dev, f)
	return s.Return(s.as(made, self.DType(), self.Quantizer()))
}

// quantizedZero writes the integer of 0.
func quantizedZero(c dispatch.Context, self *tensor.Tensor) (err error) {
	s := newScope(c, "zero_")
	defer s.Close(&err)
	zero := s.Number(dtype.IntScalar(0))
	s.Copy(self, zero, false)
	return nil
}

// quantizedResize returns a tensor with one scale other sizes.
func quantizedResize(c dispatch.Context, self *tensor.Tensor, size []int64, f shape.MemoryFormat) (err error) {
	s := newScope(c, "resize_")
	defer s.Close(&err)
	if !slices.Equal(self.Sizes(), size) {
		s.ordered(self)
	}
	return c.Excluding(tensor.Quantized).Resize(self, size, f)
}

// quantizedAsStrided is any geometry over the integers, in which channels would be anywhere.
func quantizedAsStrided(c dispatch.Context, out, self *tensor.Tensor, size, stride []int64, offset ops.Int) (_ *tensor.Tensor, err error) {
	s := newScope(c, "as_strided")
	defer s.Close(&err)
	if isQuantized(self) {
		s.ordered(self)
	}
	return one(view(c, s.Op, out, []*tensor.Tensor{self}, func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return single(c.AsStrided(nil, t[0], size, stride, offset))
	}))
}

// quantizedAsStridedScatter puts numbers in any geometry over the integers, in which channels would be anywhere.
func quantizedAsStridedScatter(c dispatch.Context, self, src *tensor.Tensor, size, stride []int64, offset ops.Int) (_ *tensor.Tensor, err error) {
	s := newScope(c, "as_strided_scatter")
	defer s.Close(&err)
	s.ordered(s.leading([]*tensor.Tensor{self, src}))
	return one(place(c, s.Op, nil, []*tensor.Tensor{self, src}, func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return single(c.AsStridedScatter(t[0], t[1], size, stride, offset))
	}))
}

// quantizedRelu has the integer of 0 where an integer is less.
func quantizedRelu(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "relu")
	defer s.Close(&err)
	s.leading([]*tensor.Tensor{self})
	ints, q := s.ints(self), self.Quantizer()
	zeros := s.list(broadcast(q, self.Dim()), ints.DType(), ints.Device(), func(i int) dtype.Scalar { return dtype.IntScalar(q.Zeros[i]) })
	made := s.as(s.Maximum(ints, zeros), self.DType(), q)
	return one(s.give(out, []*tensor.Tensor{made}))
}

// quantizedIndexSetScalar writes one number.
func quantizedIndexSetScalar(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value dtype.Scalar) (err error) {
	s := newScope(c, "index_put_")
	defer s.Close(&err)
	number := s.Number(value)
	s.IndexSet(self, items, number)
	return nil
}

// quantizedIndexPut writes numbers, and adds none.
func quantizedIndexPut(c dispatch.Context, out, self *tensor.Tensor, indices []*tensor.Tensor, values *tensor.Tensor, accumulate bool) (*tensor.Tensor, error) {
	if accumulate {
		return nil, accumulates("index_put")
	}
	return one(place(c, "index_put", out, []*tensor.Tensor{self, values}, func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return single(c.IndexPut(out, t[0], indices, t[1], false))
	}))
}

// quantizedPut writes numbers, and adds none.
func quantizedPut(c dispatch.Context, out, self, index, source *tensor.Tensor, accumulate bool) (*tensor.Tensor, error) {
	if accumulate {
		return nil, accumulates("put")
	}
	return one(place(c, "put", out, []*tensor.Tensor{self, index, source}, func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return single(c.Put(out, t[0], t[1], t[2], false))
	}))
}

func accumulates(op string) error {
	return status.NotImplementedf("%s: accumulate is not implemented for quantized tensors; call dequantize() first", op)
}

// quantizedIndexSet writes values to the indexed elements, which are a view or positions.
func quantizedIndexSet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value *tensor.Tensor) error {
	return none(place(c, "index_put_", self, []*tensor.Tensor{self, value}, func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return nothing(c.IndexSet(t[0], items, t[1]))
	}))
}

// shown keeps a form of t that the host can read, where its elements are known.
func (s *scope) shown(t *tensor.Tensor) *tensor.Tensor {
	if t.Device().Type == device.CPU || !backend.Known(t) {
		return t
	}
	return s.ToOptionsWith(t, dtype.None, tensor.NoLayout, device.Host, false, false, shape.Preserve)
}

// quantizedToString prints the numbers, and how they are quantized.
func quantizedToString(c dispatch.Context, self *tensor.Tensor, precision, threshold, edgeItems, lineWidth int64, sci ops.Bool) (_ string, err error) {
	o, err := ops.PrintOptions(precision, threshold, edgeItems, lineWidth, sci)
	if err != nil {
		return "", err
	}
	s := newScope(c, "to_string")
	defer s.Close(&err)
	x := s.dense(s.shown(self))
	a := ops.Attributes(self)
	q := self.Quantizer()
	quantizer := []string{"quantization_scheme=torch." + q.Scheme()}
	if !q.PerChannel() {
		quantizer = append(quantizer, "scale="+format.Number(dtype.FloatScalar(q.Scales[0])), "zero_point="+format.Number(dtype.IntScalar(q.Zeros[0])))
		return format.Quantized(x, self.DType(), quantizer, a, o), nil
	}
	for _, part := range []struct {
		name string
		of   func(*tensor.Tensor) (*tensor.Tensor, error)
	}{{"scale=", c.QPerChannelScales}, {"zero_point=", c.QPerChannelZeroPoints}} {
		t := s.Track(part.of(self))
		quantizer = append(quantizer, part.name+format.Tensor(build.CallWithScope(s.Builder, func(s *owner.Scope) *tensor.Tensor { return ops.Shown(s, t) }), format.Attributes{Meta: !backend.Known(t)}, o))
	}
	quantizer = append(quantizer, "axis="+format.Number(dtype.IntScalar(int64(q.Axis))))
	return format.Quantized(x, self.DType(), quantizer, a, o), nil
}

// quantizedItem returns the number of the only element.
func quantizedItem(c dispatch.Context, self *tensor.Tensor) (_ dtype.Scalar, err error) {
	s := newScope(c, "item")
	defer s.Close(&err)
	x := s.dense(s.shown(self))
	return c.Item(x)
}

// quantizedMean returns the mean of the integers, rounded once, halves to even. Without elements it is NaN, as other numbers are quantized.
func quantizedMean(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	f := func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return single(c.Mean(nil, t[0], dim, keepdim, d))
	}
	if !isQuantized(self) || self.Quantizer().PerChannel() || self.Numel() == 0 || d != dtype.None && d != self.DType() {
		return one(numbers(c, "mean", out, []*tensor.Tensor{self}, f))
	}
	s := newScope(c, "mean")
	defer s.Close(&err)
	ints := s.CastTo(s.ints(self), dtype.Float64)
	mean := s.Mean(ints, dim, keepdim)
	whole := s.Round(mean)
	return one(s.give(out, []*tensor.Tensor{s.as(s.CastTo(whole, self.DType().Stored()), self.DType(), self.Quantizer())}))
}

// quantizedTanh is in (-1, 1), over which the integers are spread.
func quantizedTanh(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return spread(c, "tanh", out, self, c.Tanh, 2, -1)
}

// quantizedSigmoid is in (0, 1).
func quantizedSigmoid(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return spread(c, "sigmoid", out, self, c.Sigmoid, 1, 0)
}

// spread returns a function of the numbers with results of a known width, from the least on, which all integers are for. Those of 32 bits begin with
// 0.
func spread(c dispatch.Context, op string, out, self *tensor.Tensor, f func(out, self *tensor.Tensor) (*tensor.Tensor, error), width, least float64) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	if !isQuantized(self) {
		return nil, dispatch.Unsupported(op, tensor.Quantized)
	}
	lo, hi := self.DType().StoredRange()
	scale := width / float64(hi-lo+1)
	zero := lo - int64(least/scale)
	if self.DType() == dtype.QInt32 {
		zero = 0
	}
	y := s.Track(f(nil, s.dense(self)))
	return one(s.give(out, []*tensor.Tensor{s.quantized(y, self.DType(), tensor.PerTensor(scale, zero))}))
}
