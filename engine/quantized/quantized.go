// Package quantized is the backend of quantized tensors: integers that represent (integer - zero_point) * scale, with one scale for all elements or one
// for each channel (tensor.Quantizer). Operators that move or compare elements run on the integers. Arithmetic runs on the dequantized
// values, and its result is quantized again, or has a kernel for integers.
//
// The backend is generated from the rules in the schemas (gen_rules.go); rules.go implements the rules.
package quantized

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func init() {
	dispatch.Register(tensor.Quantized, &dispatch.Kind{Name: "quantized", Instead: "call dequantize() first", Backend: rules})
}

// scope calls the dispatcher for one composite operator: it owns the intermediate results, and after the first error its methods do nothing.
type scope struct{ *build.Builder }

func newScope(c dispatch.Context, op string) *scope { return &scope{build.New(c, op)} }

// isQuantized reports whether a tensor has a quantizer.
func isQuantized(t *tensor.Tensor) bool { return t != nil && t.Quantizer() != nil }

// ints returns the integers of a quantized tensor, and any other tensor unchanged.
func (s *scope) ints(t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) {
		return t
	}
	return s.Track(t.Ints(), nil)
}

// as returns the quantized tensor of the dtype d over integers.
func (s *scope) as(ints *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	return s.Track(ints.AsQuantized(s.Op, d, q))
}

var quantize, dequantize = kernel.Get("quantize"), kernel.Get("dequantize")

// parameters returns a factor of the dtype d and the zero point of each channel, as operands that broadcast to a tensor of n dimensions.
func (s *scope) parameters(q *tensor.Quantizer, dev device.Device, n int, d dtype.DType, factor func(i int) float64) (factors, zeros *tensor.Tensor) {
	sizes := broadcast(q, n)
	factors = s.list(sizes, d, dev, func(i int) dtype.Scalar { return dtype.FloatScalar(factor(i)) })
	zeros = s.list(sizes, dtype.Int32, dev, func(i int) dtype.Scalar { return dtype.IntScalar(q.Zeros[i]) })
	return factors, zeros
}

// broadcast returns the sizes in which the parameters of a quantizer broadcast to a tensor of n dimensions.
func broadcast(q *tensor.Quantizer, n int) []int64 {
	if !q.PerChannel() {
		return nil
	}
	sizes := slices.Repeat([]int64{1}, n)
	sizes[q.Axis] = int64(len(q.Scales))
	return sizes
}

// quantized returns x, of float32, as a tensor of the dtype d, laid out as x is.
func (s *scope) quantized(x *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	if x.DType() != dtype.Float32 {
		s.Failf("expected float32, but got %v; convert with float()", x.DType())
	}
	to := s.EmptyLikeWith(x, d.Stored(), tensor.NoLayout, device.None, shape.Preserve)
	made := s.Track(to.AsQuantized(s.Op, d, q)) // rejected before there is work
	inverses, zeros := s.parameters(q, to.Device(), to.Dim(), dtype.Float32, func(i int) float64 { return float64(1 / float32(q.Scales[i])) })
	lo, hi := d.StoredRange()
	var params backend.Params
	params.Set(0, dtype.Int32, dtype.IntScalar(lo))
	params.Set(1, dtype.Int32, dtype.IntScalar(hi))
	s.run(quantize, d.Stored(), &params, to, x, inverses, zeros)
	return made
}

// dense dequantizes a quantized tensor to float32, and returns any other tensor unchanged. A per-tensor scale is a float32; per-channel scales are
// not rounded.
func (s *scope) dense(t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) {
		return t
	}
	ints, q := s.ints(t), t.Quantizer()
	to := s.EmptyLikeWith(ints, dtype.Float32, tensor.NoLayout, device.None, shape.Preserve)
	scales, zeros := s.parameters(q, t.Device(), t.Dim(), dtype.Float64, func(i int) float64 {
		if q.PerChannel() {
			return q.Scales[i]
		}
		return float64(float32(q.Scales[i]))
	})
	s.run(dequantize, ints.DType(), nil, to, ints, scales, zeros)
	return to
}

// together returns an error if non-nil tensors are on different devices.
func (s *scope) together(list ...*tensor.Tensor) {
	for _, t := range list[1:] {
		if t != nil && t.Device() != list[0].Device() {
			s.Check(tensoriter.TwoDevices(s.Op, list[0].Device(), t.Device()))
		}
	}
}

func (s *scope) run(k *kernel.Kernel, compute dtype.DType, params *backend.Params, operands ...*tensor.Tensor) {
	w := backend.Elementwise{Kernel: k, Compute: compute, Params: params}
	copy(w.Operands[:], operands)
	s.Check(backend.On(operands[0]).Elementwise(s.Op, w))
}

// list returns a tensor of values that are made one by one.
func (s *scope) list(sizes []int64, d dtype.DType, dev device.Device, value func(i int) dtype.Scalar) *tensor.Tensor {
	t := s.Track(tensor.Empty(s.Op, sizes, d, dev))
	s.Check(backend.On(t).Write(s.Op, backend.Writing{To: t, Set: func(bytes []byte) {
		for i := range int(t.Numel()) {
			tensor.Put(unsafe.Pointer(&bytes[int64(i)*d.Size()]), d, value(i))
		}
	}}))
	return t
}
