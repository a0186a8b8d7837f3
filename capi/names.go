package main

import (
	"unsafe"

	pointer "github.com/mattn/go-pointer"
)

// C must not keep Go pointers: Go objects that C keeps are referred to by the numbers of go-pointer, and this is the one place that creates
// such numbers. They are used for the generators behind handles, and for the contexts that C returns to Go later, such as those of
// callbacks. Tensors and storages, which are created and freed by the million and pinned by calls, are referred to by the number of their
// slot instead: a go-pointer costs a lock, a map entry and a malloc block.

// saveObject returns the pointer for v in C. It keeps v alive until it is released.
func saveObject(v any) unsafe.Pointer { return pointer.Save(v) }

// objectOf returns the object of a pointer from saveObject, or nil if it is of another type or was released.
func objectOf[T any](name unsafe.Pointer) T {
	v, _ := pointer.Restore(name).(T)
	return v
}

// releaseObject releases a pointer from saveObject.
func releaseObject(name unsafe.Pointer) { pointer.Unref(name) }
