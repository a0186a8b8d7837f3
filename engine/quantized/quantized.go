// Package quantized is the backend of quantized tensors: integers that represent (integer - zero_point) * scale, with one scale for all
// elements or one for each channel (tensor.Quantizer). Operators that move or compare elements run on the integers. Arithmetic runs on the
// dequantized values, and its result is quantized again, or has a kernel for integers.
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
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func init() {
	dispatch.Register(tensor.Quantized, &dispatch.TensorKind{Name: "quantized", Instead: "call dequantize() first", Backend: rules})
}

// isQuantized reports whether a tensor has a quantizer.
func isQuantized(t *tensor.Tensor) bool { return t != nil && t.Quantizer() != nil }

// intsOf returns the integers of a quantized tensor, and any other tensor unchanged.
func intsOf(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) {
		return t
	}
	return b.Track(t.Ints(), nil)
}

// asQuantized returns the quantized tensor of the dtype d over integers.
func asQuantized(b *build.Builder, ints *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	return b.Track(ints.AsQuantized(b.Op, d, q))
}

// makeParameters returns a factor of dtype d and the zero point of each channel, as operands that broadcast to a tensor of n dimensions.
func makeParameters(b *build.Builder, q *tensor.Quantizer, dev device.Device, n int, d dtype.DType,
	factor func(i int) float64) (factors, zeros *tensor.Tensor) {
	sizes := broadcastSizes(q, n)
	factors = makeTensor(b, sizes, d, dev, func(i int) dtype.Scalar { return dtype.FloatScalar(factor(i)) })
	zeros = makeTensor(b, sizes, dtype.Int32, dev, func(i int) dtype.Scalar { return dtype.IntScalar(q.Zeros[i]) })
	return factors, zeros
}

// broadcastSizes returns the sizes in which the parameters of a quantizer broadcast to a tensor of n dimensions.
func broadcastSizes(q *tensor.Quantizer, n int) []int64 {
	if !q.PerChannel() {
		return nil
	}
	sizes := slices.Repeat([]int64{1}, n)
	sizes[q.Axis] = int64(len(q.Scales))
	return sizes
}

// quantizeTo quantizes the float32 tensor x to dtype d, with the strides of x.
func quantizeTo(b *build.Builder, x *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	if x.DType() != dtype.Float32 {
		b.Failf("expected float32, but got %v; convert with float()", x.DType())
	}
	to := b.EmptyLikeWith(x, d.Stored(), tensor.NoLayout, device.None, shape.Preserve)
	result := b.Track(to.AsQuantized(b.Op, d, q)) // rejected before there is work
	inverses, zeros := makeParameters(b, q, to.Device(), to.Dim(), dtype.Float32, func(i int) float64 {
		return float64(1 / float32(q.Scales[i]))
	})
	lo, hi := d.StoredRange()
	var params backend.Params
	params.Set(0, dtype.Int32, dtype.IntScalar(lo))
	params.Set(1, dtype.Int32, dtype.IntScalar(hi))
	runKernel(b, kernelapi.Quantize, d.Stored(), &params, to, x, inverses, zeros)
	return result
}

// asDequantized dequantizes a quantized tensor to float32, and returns any other tensor unchanged. A per-tensor scale is a float32;
// per-channel scales are not rounded.
func asDequantized(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) {
		return t
	}
	ints, q := intsOf(b, t), t.Quantizer()
	to := b.EmptyLikeWith(ints, dtype.Float32, tensor.NoLayout, device.None, shape.Preserve)
	scales, zeros := makeParameters(b, q, t.Device(), t.Dim(), dtype.Float64, func(i int) float64 {
		if q.PerChannel() {
			return q.Scales[i]
		}
		return float64(float32(q.Scales[i]))
	})
	runKernel(b, kernelapi.Dequantize, ints.DType(), nil, to, ints, scales, zeros)
	return to
}

// checkSameDevice ends the function with an error if non-nil tensors are on different devices.
func checkSameDevice(b *build.Builder, list ...*tensor.Tensor) {
	for _, t := range list[1:] {
		if t != nil && t.Device() != list[0].Device() {
			b.Check(tensoriter.TwoDevices(b.Op, list[0].Device(), t.Device()))
		}
	}
}

// runKernel runs an elementwise kernel; the first operand is the output.
func runKernel(b *build.Builder, k kernelapi.Kernel, compute dtype.DType, params *backend.Params, operands ...*tensor.Tensor) {
	w := backend.Elementwise{Kernel: k, Compute: compute, Params: params}
	copy(w.Operands[:], operands)
	b.Check(backend.On(operands[0]).Elementwise(b.Op, w))
}

// makeTensor returns a tensor with element i set to value(i).
func makeTensor(b *build.Builder, sizes []int64, d dtype.DType, dev device.Device, value func(i int) dtype.Scalar) *tensor.Tensor {
	t := b.Track(tensor.Empty(b.Op, sizes, d, dev))
	b.Check(backend.On(t).Write(b.Op, backend.Writing{To: t, Set: func(bytes []byte) {
		for i := range int(t.Numel()) {
			tensor.Put(unsafe.Pointer(&bytes[int64(i)*d.Size()]), d, value(i))
		}
	}}))
	return t
}
