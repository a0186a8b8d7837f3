package host

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	decodeFloat8    = kernel.Get("float8_decode")
	translateFloat8 = kernel.Get("float8_translate")
	encodeFloat8    = kernel.Get("float8_encode")
)

// convertFloat8 is copyTo between two dtypes of which at least one is an eight-bit float: kernels read and write it as uint8.
func convertFloat8(op string, w launch.Copying) error {
	s := owner.Scope{Op: op}
	defer s.Close()
	to, from := w.To.DType(), w.From.DType()
	e := launch.Elementwise{Compute: dtype.Uint8, Params: new(launch.Params)}
	e.Operands[0], e.Operands[1] = codes(&s, w.To), codes(&s, w.From)
	switch {
	case !from.IsFloat8():
		e.Kernel = encodeFloat8
		*(*dtype.Float8Format)(unsafe.Pointer(e.Params)) = to.Float8()
	case !to.IsFloat8():
		e.Kernel = decodeFloat8
		*(*uintptr)(unsafe.Pointer(e.Params)) = uintptr(from.Float8Numbers())
	default:
		e.Kernel = translateFloat8
		*(*uintptr)(unsafe.Pointer(e.Params)) = uintptr(from.Float8Codes(to))
	}
	s.Do(func() error { return elementwise(op, e) })
	return s.Err
}

// codes views an eight-bit float as uint8, and is any other tensor itself.
func codes(s *owner.Scope, t *tensor.Tensor) *tensor.Tensor {
	if !t.DType().IsFloat8() {
		return t
	}
	return s.Keep(t.ViewAs(s.Op, dtype.Uint8, t.Sizes(), t.Strides(), t.Offset()))
}

// needsFloat8 reports whether a kernel that computes an operand in dtype d reads or writes it as an eight-bit float, which kernels do not
// convert.
func needsFloat8(t *tensor.Tensor, d dtype.DType) bool {
	return t != nil && t.DType().IsFloat8() && t.DType() != d
}

// decoded replaces an input that needsFloat8 by a copy of dtype d.
func decoded(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if !needsFloat8(t, d) {
		return t
	}
	made := encoded(s, t, d)
	s.Do(func() error { return copyTo(s.Op, launch.Copying{To: made, From: t}) })
	return made
}

// encoded is what stands in for an output that needsFloat8; store copies it there.
func encoded(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if !needsFloat8(t, d) {
		return t
	}
	return s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(s.Op, t.Sizes(), d, device.Host) })
}

func store(s *owner.Scope, t, made *tensor.Tensor) {
	if made != t {
		s.Do(func() error { return copyTo(s.Op, launch.Copying{To: t, From: made}) })
	}
}

// withoutFloat8 runs a kernel over copies of the operands that need it.
func withoutFloat8(op string, w launch.Elementwise, run func(string, launch.Elementwise) error) error {
	s := owner.Scope{Op: op}
	defer s.Close()
	operands := w.Operands
	for i, t := range operands[:len(w.Kernel.Operands)] {
		copied := decoded
		if i < w.Kernel.Outputs {
			copied = encoded
		}
		w.Operands[i] = copied(&s, t, iter.OperandDType(w.Kernel.Operands[i], w.Compute))
	}
	s.Do(func() error { return run(op, w) })
	for i := range w.Kernel.Outputs {
		store(&s, operands[i], w.Operands[i])
	}
	return s.Err
}

// reduceWithoutFloat8 is withoutFloat8 for a reduction.
func reduceWithoutFloat8(op string, w launch.Reduction) error {
	s := owner.Scope{Op: op}
	defer s.Close()
	w.In = decoded(&s, w.In, w.Compute)
	out := w.Out
	for i, t := range out {
		w.Out[i] = encoded(&s, t, dtype.Float32)
	}
	s.Do(func() error { return reduce(op, w) })
	for i, t := range out {
		store(&s, t, w.Out[i])
	}
	return s.Err
}
