package quantized

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// quantizeChecked quantizes x after checks of its dtype and layout.
func quantizeChecked(b *build.Builder, x *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) (*tensor.Tensor, error) {
	switch b.CheckStrided(x); {
	case isQuantized(x):
		b.Failf("the tensor is quantized already; call dequantize() first")
	case x.DType() != dtype.Float32:
		b.Failf("expected float32, but got %v; convert with float()", x.DType())
	default:
		b.Check(tensor.CheckQuantized(b.Op, d))
	}
	return b.Return(quantizeTo(b, x, d, q))
}

// QuantizePerTensor quantizes with one scale.
func QuantizePerTensor(c dispatch.Context, self *tensor.Tensor, scale float64, zero int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantize_per_tensor")
	defer b.Close(&err)
	return quantizeChecked(b, self, d, tensor.PerTensor(scale, zero))
}

// QuantizePerTensorTensorQparams is QuantizePerTensor with a scale and a zero point in tensors.
func QuantizePerTensorTensorQparams(c dispatch.Context, self, scale, zero *tensor.Tensor, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantize_per_tensor")
	defer b.Close(&err)
	scales, zeros := readFloats(b, "scale", scale), readInts(b, "zero_point", zero)
	if len(scales) != 1 || len(zeros) != 1 {
		b.Failf("scale and zero_point must have one element, but got %d and %d", len(scales), len(zeros))
	}
	return quantizeChecked(b, self, d, tensor.PerTensor(scales[0], zeros[0]))
}

// QuantizePerTensorTensors is QuantizePerTensor for each tensor of a list, with a scale and a zero point each.
func QuantizePerTensorTensors(c dispatch.Context, tensors []*tensor.Tensor, scales, zeros *tensor.Tensor,
	d dtype.DType) (_ []*tensor.Tensor, err error) {
	b := build.New(c, "quantize_per_tensor")
	defer b.Close(&err)
	each, zero := readFloats(b, "scales", scales), readInts(b, "zero_points", zeros)
	if len(each) != len(tensors) || len(zero) != len(tensors) {
		b.Failf("expected one scale and one zero point for each of the %d tensors, but got %d and %d", len(tensors), len(each), len(zero))
	}
	return owner.List(len(tensors), func(i int) (*tensor.Tensor, error) { return c.QuantizePerTensor(tensors[i], each[i], zero[i], d) })
}

// QuantizePerChannel quantizes with a scale for each index along an axis.
func QuantizePerChannel(c dispatch.Context, self, scales, zeros *tensor.Tensor, axis int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantize_per_channel")
	defer b.Close(&err)
	q := makeChannelQuantizer(b, self, scales, zeros, axis)
	return quantizeChecked(b, self, d, q)
}

// makeChannelQuantizer returns the quantizer of t along axis with scales and zero points from tensors.
func makeChannelQuantizer(b *build.Builder, t, scales, zeros *tensor.Tensor, axis int64) *tensor.Quantizer {
	at := checkChannelAxis(b, t, axis, scales, zeros)
	return &tensor.Quantizer{Scales: readFloats(b, "scales", scales), Zeros: readInts(b, "zero_points", zeros), Axis: at}
}

// checkChannelAxis returns the wrapped axis after checks of the dimensions of scales and zero points.
func checkChannelAxis(b *build.Builder, t *tensor.Tensor, axis int64, scales, zeros *tensor.Tensor) int {
	at, err := shape.WrapDim(b.Op, axis, t.Dim())
	b.Check(err)
	if t.Dim() == 0 {
		b.Failf("a 0-dim tensor has no channels")
	}
	for _, x := range []*tensor.Tensor{scales, zeros} {
		if x.Dim() != 1 {
			b.Failf("scales and zero_points must have one dimension, but got sizes %v", x.Sizes())
		}
	}
	return at
}

// QuantizePerTensorDynamic quantizes with the scale and zero point that cover the range of the elements.
func QuantizePerTensorDynamic(c dispatch.Context, self *tensor.Tensor, d dtype.DType, reduce bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "quantize_per_tensor_dynamic")
	defer b.Close(&err)
	lo, hi := d.StoredRange()
	if d != dtype.QUint8 && d != dtype.QInt8 {
		b.Check(tensor.CheckQuantized(b.Op, d))
		b.Failf("not implemented for dtype %v; use quint8 or qint8", d)
	}
	if reduce {
		lo, hi = floorHalf(lo), floorHalf(hi)
	}
	scale, zero := chooseQparams(b, self, lo, hi)
	return quantizeChecked(b, self, d, tensor.PerTensor(scale, zero))
}

// floorHalf returns the bound of a range of one bit less.
func floorHalf(v int64) int64 { return v >> 1 }

// ChooseQparamsPerTensor returns the scale and zero point of quint8 that cover the range of the elements.
func ChooseQparamsPerTensor(c dispatch.Context, self *tensor.Tensor, reduce bool) (_ float64, _ int64, err error) {
	b := build.New(c, "choose_qparams_per_tensor")
	defer b.Close(&err)
	hi := int64(math.MaxUint8)
	if reduce {
		hi = floorHalf(hi)
	}
	scale, zero := chooseQparams(b, self, 0, hi)
	return scale, zero, nil
}

// leastScale replaces smaller scales.
const leastScale = 6.1e-5

// chooseQparams returns the scale and the zero point that map the range of x, including 0, to the integers from lo to hi.
func chooseQparams(b *build.Builder, x *tensor.Tensor, lo, hi int64) (scale float64, zero int64) {
	if x.DType() != dtype.Float32 {
		b.Failf("expected float32, but got %v; convert with float()", x.DType())
	}
	if x.Numel() == 0 {
		b.Failf("the range of an empty tensor is undefined")
	}
	least, most, err := b.C.Aminmax(nil, nil, x, ops.NoInt, false)
	b.Track(least, err)
	b.Track(most, nil)
	from, to := min(float32(readFloat(b, least)), 0), max(float32(readFloat(b, most)), 0)
	if from != from || to != to || math.IsInf(float64(from), 0) || math.IsInf(float64(to), 0) {
		b.Failf("the numbers must be finite, but they are from %v to %v", from, to)
	}
	scale = (float64(to) - float64(from)) / float64(hi-lo)
	if float32(scale) == 0 || math.IsInf(float64(1/float32(scale)), 0) {
		scale = 0.1
	}
	if scale < leastScale {
		scale = float64(float32(leastScale))
		switch {
		case from == 0:
			to = float32(scale * float64(hi-lo))
		case to == 0:
			from = -float32(scale * float64(hi-lo))
		default:
			wider := float32(leastScale) / float32((float64(to)-float64(from))/float64(hi-lo))
			from, to = from*wider, to*wider
		}
	}
	// The end whose zero point is less wrong decides.
	fromLeast, fromMost := float64(lo)-float64(from)/scale, float64(hi)-float64(to)/scale
	errorLeast := math.Abs(float64(lo)) - math.Abs(float64(from)/scale)
	errorMost := math.Abs(float64(hi)) - math.Abs(float64(to)/scale)
	at := fromMost
	if errorLeast < errorMost {
		at = fromLeast
	}
	switch {
	case at < float64(lo):
		zero = lo
	case at > float64(hi):
		zero = hi
	default:
		zero = int64(math.RoundToEven(at))
	}
	return scale, zero
}

// Dequantize returns the dequantized values, and the elements of any other tensor in float32.
func Dequantize(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "dequantize")
	defer b.Close(&err)
	b.CheckStrided(self)
	return b.Return(b.CastTo(asDequantized(b, self), dtype.Float32))
}

// DequantizeTensors is Dequantize for each tensor of a list.
func DequantizeTensors(c dispatch.Context, tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return owner.List(len(tensors), func(i int) (*tensor.Tensor, error) { return c.Dequantize(tensors[i]) })
}

// MakePerTensorQuantizedTensor returns a copy of integers that represent numbers with one scale.
func MakePerTensorQuantizedTensor(c dispatch.Context, self *tensor.Tensor, scale float64, zero int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "_make_per_tensor_quantized_tensor")
	defer b.Close(&err)
	return quantizeInts(b, self, tensor.PerTensor(scale, zero))
}

// MakePerChannelQuantizedTensor returns a copy of integers with a scale for each index along an axis.
func MakePerChannelQuantizedTensor(c dispatch.Context, self, scales, zeros *tensor.Tensor, axis int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "_make_per_channel_quantized_tensor")
	defer b.Close(&err)
	return quantizeInts(b, self, makeChannelQuantizer(b, self, scales, zeros, axis))
}

// quantizeInts returns a quantized copy of integers.
func quantizeInts(b *build.Builder, ints *tensor.Tensor, q *tensor.Quantizer) (*tensor.Tensor, error) {
	var d dtype.DType
	switch b.CheckStrided(ints); ints.DType() {
	case dtype.Uint8:
		d = dtype.QUint8
	case dtype.Int8:
		d = dtype.QInt8
	case dtype.Int32:
		d = dtype.QInt32
	default:
		b.Failf("expected uint8, int8 or int32, but got %v", ints.DType())
	}
	copied := b.CloneWith(ints, shape.Preserve)
	return b.Return(asQuantized(b, copied, d, q))
}

// EmptyAffineQuantized returns a tensor of uninitialized integers with one scale.
func EmptyAffineQuantized(c dispatch.Context, size []int64, d dtype.DType, l tensor.Layout, dev device.Device, scale float64,
	zero int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "_empty_affine_quantized")
	defer b.Close(&err)
	return makeEmpty(b, size, d, l, dev, func(*tensor.Tensor) *tensor.Quantizer { return tensor.PerTensor(scale, zero) })
}

// EmptyPerChannelAffineQuantized returns a tensor of uninitialized integers with a scale for each index along an axis.
func EmptyPerChannelAffineQuantized(c dispatch.Context, size []int64, scales, zeros *tensor.Tensor, axis int64, d dtype.DType,
	l tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
	b := build.New(c, "_empty_per_channel_affine_quantized")
	defer b.Close(&err)
	return makeEmpty(b, size, d, l, dev, func(t *tensor.Tensor) *tensor.Quantizer { return makeChannelQuantizer(b, t, scales, zeros, axis) })
}

// makeEmpty returns a quantized tensor with uninitialized integers.
func makeEmpty(b *build.Builder, size []int64, d dtype.DType, l tensor.Layout, dev device.Device,
	of func(*tensor.Tensor) *tensor.Quantizer) (*tensor.Tensor, error) {
	b.Check(tensor.CheckQuantized(b.Op, d))
	if l != tensor.NoLayout && l != tensor.Strided {
		b.Failf("quantized tensors must have layout strided, but got %v", l)
	}
	ints := b.EmptyWith(size, d.Stored(), l, dev, shape.Contiguous)
	return b.Return(asQuantized(b, ints, d, of(ints)))
}

// readFloats returns the elements of a tensor of scales.
func readFloats(b *build.Builder, name string, t *tensor.Tensor) []float64 {
	if !t.DType().IsFloatingPoint() {
		b.Failf("%s must be floats, but got %v", name, t.DType())
	}
	return readElements(b, t, dtype.Float64, dtype.Scalar.Float)
}

// readInts returns the elements of a tensor of zero points.
func readInts(b *build.Builder, name string, t *tensor.Tensor) []int64 {
	if !t.DType().IsIntegral() {
		b.Failf("%s must be integers, but got %v", name, t.DType())
	}
	return readElements(b, t, dtype.Int64, func(v dtype.Scalar) int64 { return v.I })
}

// readElements returns the elements of t, cast to d, as Go values.
func readElements[T any](b *build.Builder, t *tensor.Tensor, d dtype.DType, value func(dtype.Scalar) T) []T {
	b.CheckStrided(t)
	t = b.RowMajor(b.CastTo(t, d), d)
	at, err := backend.Elements(b.Op, t)
	b.Check(err)
	list := make([]T, t.Numel())
	for i := range list {
		list[i] = value(at(int64(i)))
	}
	return list
}
