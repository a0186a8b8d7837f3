package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/tensor"
)

// at returns the address of element i of a contiguous tensor.
func at(t *tensor.Tensor, i int64) uintptr { return uintptr(t.Data()) + uintptr(i*t.DType().Size()) }

// bytesOf returns the memory of a contiguous tensor.
func bytesOf(t *tensor.Tensor) []byte {
	if t.Numel() == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(t.Data()), t.Numel()*t.DType().Size())
}

// elementsOf returns the elements of a contiguous tensor.
func elementsOf[T any](t *tensor.Tensor) []T {
	if t.Numel() == 0 {
		return nil
	}
	return unsafe.Slice((*T)(t.Data()), t.Numel())
}
