// Package quantized has tensors of integers that stand for numbers: (integer - zero point) * scale, with one scale for all elements or one for
// each channel (tensor.Quantizer). What only moves elements, or asks for their order, runs on the integers; what computes runs on the
// numbers, whose result is quantized again, or has a form of its own that computes with integers.
//
// The backend is generated from the rules of the entries (gen_rules.go); rules.go has the functions that rules are.
package quantized

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	aten.Register(tensor.Quantized, &aten.Kind{Name: "quantized", Instead: "dequantize() converts", Backend: rules})
}

// scope is the façade for one composition: it owns what the steps make, and after the first error they do nothing.
type scope struct {
	owner.Scope
	c aten.Ctx
}

func within(c aten.Ctx, op string) *scope { return &scope{owner.Scope{Op: op}, c} }

// failf is the first error of the operator.
func (s *scope) failf(format string, a ...any) {
	if s.Err == nil {
		s.Err = status.Runtimef(s.Op+": "+format, a...)
	}
}

// isQuantized tells whether a tensor has a quantizer.
func isQuantized(t *tensor.Tensor) bool { return t != nil && t.Quantizer() != nil }

// strided refuses sparse tensors.
func (s *scope) strided(list ...*tensor.Tensor) {
	for _, t := range list {
		if s.Err == nil && t != nil && t.Keys()&tensor.Sparse != 0 {
			s.Fail(aten.Refused(s.Op, (t.Keys() & tensor.Sparse).First()))
		}
	}
}

// ints is the tensor of integers of a quantized tensor, and any other as it is.
func (s *scope) ints(t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) {
		return t
	}
	return s.Keep(t.Ints(), nil)
}

// as is the quantized tensor of the dtype d over integers.
func (s *scope) as(ints *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return ints.AsQuantized(s.Op, d, q) })
}

var quantize, dequantize = kernel.Get("quantize"), kernel.Get("dequantize")

// works is the dtype in which the kernels work: the numbers are float32, but integers of 32 bits want doubles.
func works(d dtype.DType) dtype.DType {
	if d == dtype.QInt32 {
		return dtype.Float64
	}
	return dtype.Float32
}

// parameters are a factor and the zero point of each channel, as operands that broadcast to a tensor of n dimensions.
func (s *scope) parameters(q *tensor.Quantizer, dev device.Device, n int, factor func(i int) float32) (factors, zeros *tensor.Tensor) {
	sizes := broadcast(q, n)
	factors = s.list(sizes, dtype.Float32, dev, func(i int) dtype.Scalar { return dtype.FloatScalar(float64(factor(i))) })
	zeros = s.list(sizes, dtype.Int32, dev, func(i int) dtype.Scalar { return dtype.IntScalar(q.Zeros[i]) })
	return factors, zeros
}

// broadcast are the sizes in which the parameters of a quantizer broadcast to a tensor of n dimensions.
func broadcast(q *tensor.Quantizer, n int) []int64 {
	if !q.PerChannel() {
		return nil
	}
	sizes := slices.Repeat([]int64{1}, n)
	sizes[q.Axis] = int64(len(q.Scales))
	return sizes
}

// quantized is x, of float32, as a tensor of the dtype d, laid out as x is.
func (s *scope) quantized(x *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	return s.rounded(x, d, q, func(i int) float32 { return 1 / float32(q.Scales[i]) })
}

// rounded is quantized with the factors that x is multiplied by.
func (s *scope) rounded(x *tensor.Tensor, d dtype.DType, q *tensor.Quantizer, factor func(i int) float32) *tensor.Tensor {
	if s.Err == nil && x.DType() != dtype.Float32 {
		s.failf("numbers of dtype float32 are quantized, but got %v; float() converts", x.DType())
	}
	to := s.Step(func() (*tensor.Tensor, error) {
		return s.c.EmptyLike(x, d.Stored(), tensor.NoLayout, device.None, shape.Preserve)
	})
	made := s.Step(func() (*tensor.Tensor, error) { return to.AsQuantized(s.Op, d, q) }) // refused before there is work
	if s.Err != nil {
		return nil
	}
	factors, zeros := s.parameters(q, to.Device(), to.Dim(), factor)
	lo, hi := d.IntegerRange()
	var params launch.Params
	params.Set(0, dtype.Int32, dtype.IntScalar(lo))
	params.Set(1, dtype.Int32, dtype.IntScalar(hi))
	s.run(quantize, works(d), &params, to, x, factors, zeros)
	return made
}

// dense is the numbers of a quantized tensor, in float32, and any other tensor as it is.
func (s *scope) dense(t *tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t) || s.Err != nil {
		return t
	}
	return s.scaled(t, t.Quantizer())
}

// scaled is the numbers that the integers of a quantized tensor stand for by q.
func (s *scope) scaled(t *tensor.Tensor, q *tensor.Quantizer) *tensor.Tensor {
	ints := s.ints(t)
	to := s.Step(func() (*tensor.Tensor, error) {
		return s.c.EmptyLike(ints, dtype.Float32, tensor.NoLayout, device.None, shape.Preserve)
	})
	if s.Err != nil {
		return nil
	}
	scales, zeros := s.parameters(q, t.Device(), t.Dim(), func(i int) float32 { return float32(q.Scales[i]) })
	s.run(dequantize, works(t.DType()), nil, to, ints, scales, zeros)
	return to
}

func (s *scope) run(k *kernel.Kernel, compute dtype.DType, params *launch.Params, operands ...*tensor.Tensor) {
	s.Do(func() error {
		w := launch.Elementwise{Kernel: k, Compute: compute, Params: params}
		copy(w.Operands[:], operands)
		return launch.On(operands[0]).Elementwise(s.Op, w)
	})
}

// list is a tensor of values that are made one by one.
func (s *scope) list(sizes []int64, d dtype.DType, dev device.Device, value func(i int) dtype.Scalar) *tensor.Tensor {
	t := s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(s.Op, sizes, d, dev) })
	s.Do(func() error {
		return launch.On(t).Write(s.Op, launch.Writing{To: t, Set: func(bytes []byte) {
			for i := range int(t.Numel()) {
				tensor.Put(unsafe.Pointer(&bytes[int64(i)*d.Size()]), d, value(i))
			}
		}})
	})
	return t
}
