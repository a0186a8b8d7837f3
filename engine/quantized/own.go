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
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Operators with a hand-written form: the generator uses a function with such a name instead of writing one.

// quantizedCopy copies src, quantized like self.
func quantizedCopy(c dispatch.Context, self, src *tensor.Tensor, busy bool) (err error) {
	b := build.New(c, "copy_")
	defer b.Close(&err)
	switch {
	case !isQuantized(self):
		b.Failf("a quantized tensor can only be copied to a quantized tensor, but got a tensor of dtype %v; call dequantize() first",
			self.DType())
	case isQuantized(src) && src.DType() == self.DType() && src.Quantizer().Equal(self.Quantizer()) && slices.Equal(src.Sizes(), self.Sizes()):
		return c.Copy(intsOf(b, self), intsOf(b, src), busy)
	}
	x := asFloat32(b, src)
	if !slices.Equal(x.Sizes(), self.Sizes()) {
		sizes := self.Sizes()
		x = b.Expand(x, sizes...)
	}
	converted := quantizeTo(b, x, self.DType(), self.Quantizer())
	b.Copy(intsOf(b, self), intsOf(b, converted), busy)
	return nil
}

// quantizedToOptions moves or copies a tensor; it does not change its dtype.
func quantizedToOptions(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, busy, forced bool,
	f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	b := build.New(c, "to")
	defer b.Close(&err)
	if d != dtype.None && d != self.DType() {
		b.Failf("to() does not convert %v to %v; use dequantize() for values, or int_repr() for the stored integers", self.DType(), d)
	}
	ints := intsOf(b, self)
	moved := b.ToOptionsWith(ints, dtype.None, l, dev, busy, forced, f)
	return b.Return(asQuantized(b, moved, self.DType(), self.Quantizer()))
}

// quantizedEqual reports whether dtypes, sizes, quantizers and elements are equal.
func quantizedEqual(c dispatch.Context, self, other *tensor.Tensor) (_ bool, err error) {
	b := build.New(c, "equal")
	defer b.Close(&err)
	if !isQuantized(self) || !isQuantized(other) {
		b.Failf("a quantized tensor can only be compared with another one, but got %v and %v; call dequantize() first", self.DType(),
			other.DType())
	}
	if self.DType() != other.DType() || !self.Quantizer().Equal(other.Quantizer()) {
		return false, nil
	}
	return c.Equal(intsOf(b, self), intsOf(b, other))
}

// quantizedEmptyLike returns a tensor of uninitialized integers with the same quantizer.
func quantizedEmptyLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	b := build.New(c, "empty_like")
	defer b.Close(&err)
	if d != dtype.None && d != self.DType() {
		b.Failf("a tensor like one of dtype %v cannot have dtype %v; use dequantize()", self.DType(), d)
	}
	ints := intsOf(b, self)
	result := b.EmptyLikeWith(ints, dtype.None, l, dev, f)
	return b.Return(asQuantized(b, result, self.DType(), self.Quantizer()))
}

// quantizedZero writes the integer of 0.
func quantizedZero(c dispatch.Context, self *tensor.Tensor) (err error) {
	b := build.New(c, "zero_")
	defer b.Close(&err)
	zero := b.Number(dtype.IntScalar(0))
	b.Copy(self, zero, false)
	return nil
}

// quantizedResize resizes a tensor that is quantized per tensor.
func quantizedResize(c dispatch.Context, self *tensor.Tensor, size []int64, f shape.MemoryFormat) (err error) {
	b := build.New(c, "resize_")
	defer b.Close(&err)
	if !slices.Equal(self.Sizes(), size) {
		checkNotPerChannel(b, self)
	}
	return c.Excluding(tensor.Quantized).Resize(self, size, f)
}

// quantizedAsStrided rejects per-channel tensors, because a geometry need not have a dimension of channels.
func quantizedAsStrided(c dispatch.Context, out, self *tensor.Tensor, size, stride []int64, offset ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, "as_strided")
	defer b.Close(&err)
	if isQuantized(self) {
		checkNotPerChannel(b, self)
	}
	return unwrapOne(applyViewRule(c, b.Op, out, []*tensor.Tensor{self}, func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return wrapOne(c.AsStrided(nil, t[0], size, stride, offset))
	}))
}

// quantizedAsStridedScatter rejects per-channel tensors, as quantizedAsStrided does.
func quantizedAsStridedScatter(c dispatch.Context, self, src *tensor.Tensor, size, stride []int64,
	offset ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, "as_strided_scatter")
	defer b.Close(&err)
	checkNotPerChannel(b, checkLeading(b, []*tensor.Tensor{self, src}))
	return unwrapOne(applyPlaceRule(c, b.Op, nil, []*tensor.Tensor{self, src},
		func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return wrapOne(c.AsStridedScatter(t[0], t[1], size, stride, offset))
		}))
}

// quantizedRelu returns the maximum of the integers and the zero points.
func quantizedRelu(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "relu")
	defer b.Close(&err)
	checkLeading(b, []*tensor.Tensor{self})
	ints, q := intsOf(b, self), self.Quantizer()
	zeros := makeTensor(b, broadcastSizes(q, self.Dim()), ints.DType(), ints.Device(), func(i int) dtype.Scalar {
		return dtype.IntScalar(q.Zeros[i])
	})
	result := asQuantized(b, b.Maximum(ints, zeros), self.DType(), q)
	return unwrapOne(writeResults(b, out, []*tensor.Tensor{result}))
}

// quantizedIndexSetScalar writes a scalar to the indexed elements.
func quantizedIndexSetScalar(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value dtype.Scalar) (err error) {
	b := build.New(c, "index_put_")
	defer b.Close(&err)
	number := b.Number(value)
	b.IndexSet(self, items, number)
	return nil
}

// quantizedIndexPut rejects accumulate.
func quantizedIndexPut(c dispatch.Context, out, self *tensor.Tensor, indices []*tensor.Tensor, values *tensor.Tensor,
	accumulate bool) (*tensor.Tensor, error) {
	if accumulate {
		return nil, accumulateError("index_put")
	}
	return unwrapOne(applyPlaceRule(c, "index_put", out, []*tensor.Tensor{self, values},
		func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return wrapOne(c.IndexPut(out, t[0], indices, t[1], false))
		}))
}

// quantizedPut rejects accumulate.
func quantizedPut(c dispatch.Context, out, self, index, source *tensor.Tensor, accumulate bool) (*tensor.Tensor, error) {
	if accumulate {
		return nil, accumulateError("put")
	}
	return unwrapOne(applyPlaceRule(c, "put", out, []*tensor.Tensor{self, index, source},
		func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return wrapOne(c.Put(out, t[0], t[1], t[2], false))
		}))
}

// accumulateError returns the error of an operator with accumulate set.
func accumulateError(op string) error {
	return status.NotImplementedf("%s: accumulate is not implemented for quantized tensors; call dequantize() first", op)
}

// quantizedIndexSet writes values to the indexed elements.
func quantizedIndexSet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value *tensor.Tensor) error {
	return unwrapNone(applyPlaceRule(c, "index_put_", self, []*tensor.Tensor{self, value},
		func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return wrapNone(c.IndexSet(t[0], items, t[1]))
		}))
}

// copyToHost returns t, or a copy on the CPU if its elements are in the memory of another device.
func copyToHost(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	if t.Device().Type == device.CPU || !backend.Known(t) {
		return t
	}
	return b.ToOptionsWith(t, dtype.None, tensor.NoLayout, device.Host, false, false, shape.Preserve)
}

// quantizedToString formats the dequantized values and the quantizer.
func quantizedToString(c dispatch.Context, self *tensor.Tensor, precision, threshold, edgeItems, lineWidth int64,
	sci ops.Bool) (_ string, err error) {
	o, err := ops.PrintOptions(precision, threshold, edgeItems, lineWidth, sci)
	if err != nil {
		return "", err
	}
	b := build.New(c, "to_string")
	defer b.Close(&err)
	x := asDequantized(b, copyToHost(b, self))
	a := ops.Attributes(self)
	q := self.Quantizer()
	quantizer := []string{"quantization_scheme=torch." + q.Scheme()}
	if !q.PerChannel() {
		quantizer = append(quantizer, "scale="+format.Number(dtype.FloatScalar(q.Scales[0])),
			"zero_point="+format.Number(dtype.IntScalar(q.Zeros[0])))
		return format.Quantized(x, self.DType(), quantizer, a, o), nil
	}
	for _, part := range []struct {
		name string
		of   func(*tensor.Tensor) (*tensor.Tensor, error)
	}{{"scale=", c.QPerChannelScales}, {"zero_point=", c.QPerChannelZeroPoints}} {
		t := b.Track(part.of(self))
		quantizer = append(quantizer, part.name+format.Tensor(ops.Shown(&b.Scope, t), format.Attributes{Meta: !backend.Known(t)}, o))
	}
	quantizer = append(quantizer, "axis="+format.Number(dtype.IntScalar(int64(q.Axis))))
	return format.Quantized(x, self.DType(), quantizer, a, o), nil
}

// quantizedItem returns the dequantized value of the only element.
func quantizedItem(c dispatch.Context, self *tensor.Tensor) (_ dtype.Scalar, err error) {
	b := build.New(c, "item")
	defer b.Close(&err)
	x := asDequantized(b, copyToHost(b, self))
	return c.Item(x)
}

// quantizedMean returns the mean of the integers, rounded once, halves to even. Without elements it is NaN, as other numbers are quantized.
func quantizedMean(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (_ *tensor.Tensor, err error) {
	f := func(_ *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return wrapOne(c.Mean(nil, t[0], dim, keepdim, d))
	}
	if !isQuantized(self) || self.Quantizer().PerChannel() || self.Numel() == 0 || d != dtype.None && d != self.DType() {
		return unwrapOne(applyNumbersRule(c, "mean", out, []*tensor.Tensor{self}, f))
	}
	b := build.New(c, "mean")
	defer b.Close(&err)
	ints := b.CastTo(intsOf(b, self), dtype.Float64)
	mean := b.Mean(ints, dim, keepdim)
	whole := b.Round(mean)
	return unwrapOne(writeResults(b, out, []*tensor.Tensor{asQuantized(b, b.CastTo(whole, self.DType().Stored()), self.DType(),
		self.Quantizer())}))
}

// quantizedTanh returns tanh with a quantizer that maps its range (-1, 1) to all integers.
func quantizedTanh(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return applyWithRange(c, "tanh", out, self, c.Tanh, 2, -1)
}

// quantizedSigmoid returns sigmoid with a quantizer that maps its range (0, 1) to all integers.
func quantizedSigmoid(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return applyWithRange(c, "sigmoid", out, self, c.Sigmoid, 1, 0)
}

// applyWithRange applies f, whose results are in a range of the given width from least on, with a quantizer that maps the range to all
// integers. The zero point of 32-bit integers is 0.
func applyWithRange(c dispatch.Context, op string, out, self *tensor.Tensor, f func(out, self *tensor.Tensor) (*tensor.Tensor, error),
	width, least float64) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if !isQuantized(self) {
		return nil, dispatch.Unsupported(op, tensor.Quantized)
	}
	lo, hi := self.DType().StoredRange()
	scale := width / float64(hi-lo+1)
	zero := lo - int64(least/scale)
	if self.DType() == dtype.QInt32 {
		zero = 0
	}
	y := b.Track(f(nil, asDequantized(b, self)))
	return unwrapOne(writeResults(b, out, []*tensor.Tensor{quantizeTo(b, y, self.DType(), tensor.PerTensor(scale, zero))}))
}
