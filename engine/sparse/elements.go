package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// collectEntries returns the coalesced values for a reduction of all elements, and whether every element has an entry.
func collectEntries(b *build.Builder, t *tensor.Tensor, dim []int64, keepdim bool) (values *tensor.Tensor, complete bool) {
	if len(dim) != 0 && len(dim) != t.Dim() || keepdim {
		b.Failf("only the reduction of all elements is supported for sparse tensors, but got dim %v and keepdim %v; convert with to_dense()", dim,
			keepdim)
	}
	_, err := shape.WrapDims(b.Op, dim, t.Dim(), true)
	b.Check(err)
	x := coalesceCoordinates(b, coordinatesOf(b, t))
	return x.values, x.values.Numel() == shape.Product(t.Sizes())
}

// makeReduction returns the kernel of a reduction of all elements, in which the elements without an entry count as one zero.
func makeReduction(
	op string, apply func(c dispatch.Context, out, values *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, []int64, bool) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		values, complete := collectEntries(b, self, dim, keepdim)
		values = b.AsShape(values, -1)
		if !complete {
			values = b.Cat([]*tensor.Tensor{values, makeZeros(b, values, 1)}, 0)
		}
		return b.ReturnNew(apply(c, out, values))
	}
}

// makeFullReduction is makeReduction for operators without dim and keepdim.
func makeFullReduction(
	op string, apply func(c dispatch.Context, out, values *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	all := makeReduction(op, apply)
	return func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		return all(c, out, self, nil, false)
	}
}

// countNonzero counts the entries that are not 0, of all elements or along dimensions.
func countNonzero(c dispatch.Context, self *tensor.Tensor, dim []int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "count_nonzero")
	defer b.Close(&err)
	x := coalesceCoordinates(b, coordinatesOf(b, self))
	x.values = b.Ne(x.values, b.IntNumber(0))
	return writeResult(b, nil, sumDims(b, assembleCoo(b, x), dim, false, dtype.None))
}

// makeZeroPreserving is makeEntrywise with a check that the operator maps 0 to 0 with the given arguments.
func makeZeroPreserving(
	op string, apply func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if isSparse(self) {
			sample := makeZeros(b, self.Components().Values, 1)
			image := b.Track(apply(c, nil, sample))
			if !isAllTrue(b, b.Eq(image, b.IntNumber(0))) {
				b.Failf("the function does not map 0 to 0, so the result would be dense; convert with to_dense()")
			}
		}
		return makeEntrywise(op, apply)(c, out, self)
	}
}

// clamp clamps the entries to a range that must contain 0.
func clamp(c dispatch.Context, out, self *tensor.Tensor, low, high dtype.Scalar) (*tensor.Tensor, error) {
	return makeZeroPreserving("clamp", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Clamp(out, v, low, high)
	})(c, out, self)
}

// round rounds the entries.
func round(c dispatch.Context, out, self *tensor.Tensor, decimals int64) (*tensor.Tensor, error) {
	return makeUnary("round", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Round(out, v, decimals)
	})(c, out, self)
}

// nanToNum replaces NaN and infinite entries.
func nanToNum(c dispatch.Context, out, self *tensor.Tensor, nan, posinf, neginf *float64) (*tensor.Tensor, error) {
	return makeUnary("nan_to_num", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.NanToNum(out, v, nan, posinf, neginf)
	})(c, out, self)
}

// fullLike returns a tensor with the indices of self and one value for all entries.
func fullLike(c dispatch.Context, self *tensor.Tensor, value dtype.Scalar, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return makeFilledLike("full_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
		f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.FullLike(v, value, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

// emptyLike returns a tensor without entries in the layout COO, and in others one with the same indices and uninitialized values.
func emptyLike(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	if self.Layout() == tensor.COO {
		return zerosLike(c, self, d, l, dev, f)
	}
	return makeFilledLike("empty_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
		f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.EmptyLike(v, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

// fill sets all entries of a compressed tensor to one value.
func fill(c dispatch.Context, out, self, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "fill")
	defer b.Close(&err)
	if !isSparse(self) || !isScalar(value) {
		b.Failf("expected a scalar or a 0-dim strided tensor to fill a sparse tensor, but got a value of layout %v and sizes %v for self of layout %v",
			value.Layout(), value.Sizes(), self.Layout())
	}
	return applyToValues(b, out, self, self.DType(), func(to, v *tensor.Tensor) (*tensor.Tensor, error) { return c.Fill(to, v, value) })
}

// makeStridedFactory returns the kernel of a new_* operator whose result must be strided, because its elements are not 0.
func makeStridedFactory(op string, apply func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType,
	dev device.Device) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, []int64, dtype.DType, tensor.Layout,
	device.Device) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
		dev device.Device) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if l != tensor.Strided {
			b.Failf("a result that is not 0 everywhere cannot have layout %v; use layout=strided", self.Layout())
		}
		d, dev = resolveOptions(self, d, dev)
		plain := makeMetaLike(b, self)
		return b.ReturnNew(apply(c, plain, size, d, dev))
	}
}

// makeEmptyFactory returns the kernel of a new_* operator that creates a tensor without entries in the layout of self.
func makeEmptyFactory(
	op string,
) func(dispatch.Context, *tensor.Tensor, []int64, dtype.DType, tensor.Layout, device.Device) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
		dev device.Device) (_ *tensor.Tensor, err error) {
		if d, dev = resolveOptions(self, d, dev); l == tensor.NoLayout {
			l = self.Layout()
		}
		b := build.New(c, op)
		defer b.Close(&err)
		return b.ReturnNew(c.Zeros(nil, slices.Clone(size), d, l, dev))
	}
}

// isSetTo reports whether two tensors have the same sizes and parts.
func isSetTo(c dispatch.Context, self, other *tensor.Tensor) (bool, error) {
	if !isSparse(self) || !isSparse(other) || self.Layout() != other.Layout() || !slices.Equal(self.Sizes(), other.Sizes()) {
		return false, nil
	}
	p, q := self.Components(), other.Components()
	same, err := c.IsSetTo(p.Values, q.Values)
	for i := range p.Indices {
		if same && err == nil {
			same, err = c.IsSetTo(p.Indices[i], q.Indices[i])
		}
	}
	return same, err
}

// vectorNorm returns the norm of all elements.
func vectorNorm(c dispatch.Context, out, self *tensor.Tensor, ord dtype.Scalar, dim []int64, keepdim bool,
	d dtype.DType) (*tensor.Tensor, error) {
	return makeReduction("linalg.vector_norm", func(c dispatch.Context, out, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.LinalgVectorNorm(out, v, ord, nil, false, d)
	})(c, out, self, dim, keepdim)
}
