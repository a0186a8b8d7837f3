package backend

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// viewAs returns bytes as a slice of elements.
func viewAs[T any](bytes []byte) []T {
	var element T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(unsafe.Sizeof(element)))
}

// readBytes returns the bytes of a tensor that has elements.
func readBytes(op string, t *tensor.Tensor) (_ []byte, err error) {
	if t.Components() != nil {
		return nil, status.Runtimef("%s: an argument whose values are read must be strided, but has layout %v; convert with to_dense()", op,
			t.Layout())
	}
	if t.Wrapped() != nil {
		return nil, status.Runtimef("%s: an argument whose values are read must not be batched", op)
	}
	if t.Lazy() == 0 {
		return On(t).Read(op, t)
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	computed := Computed(&s, t)
	bytes, err := On(computed).Read(op, computed)
	return slices.Clone(bytes), err // which outlive the copy
}

// Item returns the value of a tensor of one element.
func Item(op string, t *tensor.Tensor) (dtype.Scalar, error) {
	if t.IsWrappedNumber() {
		return t.Item(), nil
	}
	bytes, err := readBytes(op, t)
	if err != nil {
		return dtype.Scalar{}, err
	}
	return tensor.Get(unsafe.Pointer(unsafe.SliceData(bytes)), t.DType()), nil
}

// Elements returns the value of every element of a contiguous tensor by its number. The tensor outlives the function.
func Elements(op string, t *tensor.Tensor) (func(i int64) dtype.Scalar, error) {
	bytes, err := readBytes(op, t)
	if err != nil {
		return nil, err
	}
	d, data := t.DType(), unsafe.Pointer(unsafe.SliceData(bytes))
	return func(i int64) dtype.Scalar { return tensor.Get(unsafe.Add(data, i*d.Size()), d) }, nil
}

// Ints returns the elements of a contiguous int64 tensor, not to be written.
func Ints(op string, t *tensor.Tensor) ([]int64, error) {
	bytes, err := readBytes(op, t)
	return viewAs[int64](bytes), err
}

// Int32s is Ints for an int32 tensor.
func Int32s(op string, t *tensor.Tensor) ([]int32, error) {
	bytes, err := readBytes(op, t)
	return viewAs[int32](bytes), err
}

// Floats is Ints for a float64 tensor.
func Floats(op string, t *tensor.Tensor) ([]float64, error) {
	bytes, err := readBytes(op, t)
	return viewAs[float64](bytes), err
}

// WriteInts hands the elements of a contiguous int64 tensor to a function that sets them all.
func WriteInts(op string, t *tensor.Tensor, set func([]int64)) error {
	return On(t).Write(op, Writing{To: t, Set: func(bytes []byte) { set(viewAs[int64](bytes)) }})
}

// WriteFloats is WriteInts for a float64 tensor.
func WriteFloats(op string, t *tensor.Tensor, set func([]float64)) error {
	return On(t).Write(op, Writing{To: t, Set: func(bytes []byte) { set(viewAs[float64](bytes)) }})
}

// RowMajor returns t in row-major order and in dtype d: t itself if it is so already, and otherwise a copy. Composite operators pass
// tensors of any layout.
func RowMajor(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.Layout() != tensor.Strided {
		s.Check(status.NotImplementedf("%s is not implemented for %v tensors; convert with to_dense()", s.Op, t.Layout()))
	}
	t = Computed(s, t)
	if t.DType() == d && t.IsContiguous() {
		return t
	}
	return RowMajorCopy(s, t, d)
}

// Computed returns t with lazy conjugation or negation resolved, as a row-major copy; it returns any other tensor unchanged.
func Computed(s *owner.Scope, t *tensor.Tensor) *tensor.Tensor {
	from := t
	for _, by := range []struct {
		key    tensor.DispatchKeys
		kernel kernelapi.Kernel
	}{{tensor.Conjugate, kernelapi.ConjPhysical}, {tensor.Negative, kernelapi.Neg}} {
		if t.Lazy()&by.key == 0 {
			continue
		}
		made := s.Track(tensor.Empty(s.Op, t.Sizes(), t.DType(), t.Device()))
		w := Elementwise{Kernel: by.kernel, Compute: by.kernel.Compute(t.DType())}
		w.Operands[0], w.Operands[1] = made, from
		s.Check(On(t).Elementwise(s.Op, w))
		from = made
	}
	return from
}

// RowMajorCopy keeps a copy of t in dtype d and row-major order.
func RowMajorCopy(s *owner.Scope, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	out := s.Track(tensor.Empty(s.Op, t.Sizes(), d, t.Device()))
	s.Check(Copy(s.Op, out, t))
	return out
}
