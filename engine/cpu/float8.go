package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	decodeFloat8    = kernelapi.Float8Decode
	translateFloat8 = kernelapi.Float8Translate
	encodeFloat8    = kernelapi.Float8Encode
)

// convertFloat8 is copyTo between two dtypes of which at least one is an eight-bit float: kernels read and write it as uint8.
func convertFloat8(op string, w backend.Copying) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	to, from := w.To.DType(), w.From.DType()
	e := backend.Elementwise{Compute: dtype.Uint8, Params: new(backend.Params)}
	e.Operands[0], e.Operands[1] = viewCodes(&s, w.To), viewCodes(&s, w.From)
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
	s.Check(runElementwise(op, e))
	return nil
}

// viewCodes views an eight-bit float as uint8, and is any other tensor itself.
func viewCodes(s *owner.Scope, t *tensor.Tensor) *tensor.Tensor {
	if !t.DType().IsFloat8() {
		return t
	}
	return s.Track(t.ViewAs(s.Op, dtype.Uint8, t.Sizes(), t.Strides(), t.Offset()))
}
