package program

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// DType is the type of a tensor's elements: tensor_dtype of tensor.h.
type DType int32

// String returns the name of the dtype, such as float32.
func (d DType) String() string { return C.GoString(C.tensor_dtype_name(C.tensor_dtype(d))) }

// Element is a type of elements.
type Element interface {
	bool | uint8 | int8 | int16 | int32 | int64 | float32 | float64 | complex64 | complex128 | uint16 | uint32 | uint64
}

// dtypeOf returns the dtype of a type of elements.
func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return BoolType
	case uint8:
		return Uint8
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	}
	return Uint64
}

// Tensor is an input or a result of a program. Its elements are memory of the library, which Close frees.
type Tensor struct {
	handle *C.tensor_t
}

func newTensor(handle *C.tensor_t) *Tensor {
	t := &Tensor{handle}
	runtime.SetFinalizer(t, (*Tensor).Close)
	return t
}

// NewTensor returns a tensor with a copy of elements in row-major order. Without sizes it is a scalar, of one element.
func NewTensor[T Element](elements []T, sizes ...int64) (*Tensor, error) {
	var bytes []byte
	if len(elements) > 0 {
		bytes = unsafe.Slice((*byte)(unsafe.Pointer(&elements[0])), len(elements)*int(unsafe.Sizeof(elements[0])))
	}
	return NewTensorOf(dtypeOf[T](), bytes, sizes...)
}

// NewTensorOf returns a tensor with a copy of the bytes of elements.
func NewTensorOf(dtype DType, bytes []byte, sizes ...int64) (*Tensor, error) {
	if err := start(); err != nil {
		return nil, err
	}
	size := int64(C.tensor_dtype_size(C.tensor_dtype(dtype)))
	if size <= 0 {
		return nil, &Error{C.TENSOR_ERROR_VALUE, fmt.Sprintf("NewTensor: there is no dtype %d; a DType is one of the constants of this package",
			int32(dtype))}
	}
	needed := size
	for _, n := range sizes {
		if n < 0 || n > 0 && needed > math.MaxInt64/n {
			return nil, &Error{C.TENSOR_ERROR_VALUE, fmt.Sprintf("NewTensor: the sizes %v are invalid", sizes)}
		}
		needed *= n
	}
	if int64(len(bytes)) != needed {
		return nil, &Error{C.TENSOR_ERROR_VALUE, fmt.Sprintf("NewTensor: %d bytes are no %v tensor of sizes %v, which has %d bytes", len(bytes),
			dtype, sizes, needed)}
	}
	var data unsafe.Pointer
	if len(bytes) > 0 {
		data = unsafe.Pointer(&bytes[0])
	}
	var first *C.int64_t
	if len(sizes) > 0 {
		first = (*C.int64_t)(unsafe.Pointer(&sizes[0]))
	}
	var handle *C.tensor_t
	if err := check(C.tensor_of(data, first, C.int64_t(len(sizes)), C.tensor_dtype(dtype), &handle)); err != nil {
		return nil, err
	}
	return newTensor(handle), nil
}

// DType returns the type of the elements, NoDType for a closed tensor.
func (t *Tensor) DType() DType {
	defer runtime.KeepAlive(t)
	if t.handle == nil {
		return NoDType
	}
	return DType(C.tensor_get_dtype(t.handle))
}

// Sizes returns the size of each dimension.
func (t *Tensor) Sizes() []int64 {
	defer runtime.KeepAlive(t)
	if t.handle == nil {
		return nil
	}
	sizes := make([]int64, C.tensor_dim(t.handle))
	for i, n := range unsafe.Slice(C.tensor_sizes(t.handle), len(sizes)) {
		sizes[i] = int64(n)
	}
	return sizes
}

// Bytes returns a copy of the elements in row-major order.
func (t *Tensor) Bytes() ([]byte, error) {
	defer runtime.KeepAlive(t)
	if t.handle == nil {
		return nil, &Error{C.TENSOR_ERROR_HANDLE, "Bytes: the tensor is closed"}
	}
	var whole *C.tensor_t
	var data unsafe.Pointer
	err := check(C.elements_of(t.handle, &whole, &data))
	if whole != nil {
		defer C.tensor_free(whole)
	}
	if err != nil {
		return nil, err
	}
	count := int64(C.tensor_numel(whole)) * int64(C.tensor_dtype_size(C.tensor_get_dtype(whole)))
	return append(make([]byte, 0, count), unsafe.Slice((*byte)(data), count)...), nil
}

// Elements returns a copy of the elements of a tensor in row-major order. T must be the type of its dtype.
func Elements[T Element](t *Tensor) ([]T, error) {
	if t.handle == nil {
		return nil, &Error{C.TENSOR_ERROR_HANDLE, "Elements: the tensor is closed"}
	}
	if found := t.DType(); found != dtypeOf[T]() {
		return nil, &Error{C.TENSOR_ERROR_TYPE, fmt.Sprintf("Elements: the tensor has dtype %v, not %v", found, dtypeOf[T]())}
	}
	bytes, err := t.Bytes()
	if err != nil || len(bytes) == 0 {
		return nil, err
	}
	var zero T
	elements := make([]T, len(bytes)/int(unsafe.Sizeof(zero)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&elements[0])), len(bytes)), bytes)
	return elements, nil
}

// RequireGrad sets whether runs of a program that is loaded WithGradients compute the gradient of this tensor.
func (t *Tensor) RequireGrad(required bool) error {
	defer runtime.KeepAlive(t)
	return check(C.require_gradient(t.handle, C.bool(required)))
}

// Backward computes the gradients of t with respect to the tensors that require grad, and adds them to their gradients. `gradient`, of the
// shape of t, is the gradient with respect to t; nil means 1, for a tensor of one element. The package has no call that clears gradients or
// writes to parameters: to train, use Python, C or Node.
func (t *Tensor) Backward(gradient *Tensor) error {
	defer runtime.KeepAlive(t)
	defer runtime.KeepAlive(gradient)
	if gradient == nil {
		return check(C.backward_of(t.handle, nil))
	}
	return check(C.backward_of(t.handle, gradient.handle))
}

// Grad returns the gradient of the tensor, sharing its memory; nil without one.
func (t *Tensor) Grad() (*Tensor, error) {
	defer runtime.KeepAlive(t)
	var handle *C.tensor_t
	if err := check(C.gradient_of(t.handle, &handle)); err != nil || handle == nil {
		return nil, err
	}
	return newTensor(handle), nil
}

// Close frees the tensor. Later calls do nothing. A tensor must not be closed while another goroutine uses it.
func (t *Tensor) Close() error {
	if t.handle != nil {
		C.tensor_free(t.handle)
		t.handle = nil
		runtime.SetFinalizer(t, nil)
	}
	return nil
}
