package quantized

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkQuantizer returns the quantizer of t, and an error unless it is per channel or per tensor, as channels says.
func checkQuantizer(op string, t *tensor.Tensor, channels bool) (*tensor.Quantizer, error) {
	q := t.Quantizer()
	switch {
	case q == nil:
		return nil, status.Runtimef("%s: expected a quantized tensor, but got one of dtype %v", op, t.DType())
	case q.PerChannel() && !channels:
		return nil, status.Runtimef("%s: the tensor is quantized per channel; q_per_channel_scales(), q_per_channel_zero_points() and q_per_channel_axis() return its parameters",
			op)
	case !q.PerChannel() && channels:
		return nil, status.Runtimef("%s: the tensor is quantized per tensor; q_scale() and q_zero_point() return its parameters", op)
	}
	return q, nil
}

// QScale returns the scale of a tensor that has one.
func QScale(_ dispatch.Context, self *tensor.Tensor) (float64, error) {
	q, err := checkQuantizer("q_scale", self, false)
	if err != nil {
		return 0, err
	}
	return q.Scales[0], nil
}

// QZeroPoint returns the zero point of a tensor that has one.
func QZeroPoint(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	q, err := checkQuantizer("q_zero_point", self, false)
	if err != nil {
		return 0, err
	}
	return q.Zeros[0], nil
}

// QPerChannelScales returns the scales of the channels.
func QPerChannelScales(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "q_per_channel_scales")
	defer b.Close(&err)
	q, err := checkQuantizer(b.Op, self, true)
	if err != nil {
		return nil, err
	}
	return b.Return(makeTensor(b, []int64{int64(len(q.Scales))}, dtype.Float64, self.Device(), func(i int) dtype.Scalar {
		return dtype.FloatScalar(q.Scales[i])
	}))
}

// QPerChannelZeroPoints returns the zero points of the channels.
func QPerChannelZeroPoints(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "q_per_channel_zero_points")
	defer b.Close(&err)
	q, err := checkQuantizer(b.Op, self, true)
	if err != nil {
		return nil, err
	}
	return b.Return(makeTensor(b, []int64{int64(len(q.Zeros))}, dtype.Int64, self.Device(), func(i int) dtype.Scalar {
		return dtype.IntScalar(q.Zeros[i])
	}))
}

// QPerChannelAxis returns the dimension of the channels.
func QPerChannelAxis(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	q, err := checkQuantizer("q_per_channel_axis", self, true)
	if err != nil {
		return 0, err
	}
	return int64(q.Axis), nil
}

// Qscheme returns the name of the kind of quantizer.
func Qscheme(_ dispatch.Context, self *tensor.Tensor) (string, error) {
	q := self.Quantizer()
	if q == nil {
		return "", status.Runtimef("qscheme: expected a quantized tensor, but got one of dtype %v", self.DType())
	}
	return q.Scheme(), nil
}

// IsQuantized reports whether the tensor has a quantizer.
func IsQuantized(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	return isQuantized(self), nil
}

// IntRepr returns a copy of the integers.
func IntRepr(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if !isQuantized(self) {
		return nil, status.Runtimef("int_repr: expected a quantized tensor, but got one of dtype %v", self.DType())
	}
	b := build.New(c, "int_repr")
	defer b.Close(&err)
	ints := intsOf(b, self)
	return b.Return(b.CloneWith(ints, shape.Preserve))
}

// readFloat returns the only element of t.
func readFloat(b *build.Builder, t *tensor.Tensor) float64 {
	v, err := b.C.Item(t)
	b.Check(err)
	return v.Float()
}
