package main

import (
	"unsafe"

	pointer "github.com/mattn/go-pointer"
)

// C must not keep Go pointers: Go objects that it keeps go by names of go-pointer's, and this is the one place that gives such
// names. So it is for the generators behind handles, and for whatever C is to hand back to Go later, such as the context of a
// callback. Tensors and storages, which are made and freed by the million and which calls pin, are found by the number of their
// slot instead: a name costs a lock, an entry of a map and a block of malloc's.

// name is what C calls v by. It keeps v alive until it is forgotten.
func name(v any) unsafe.Pointer { return pointer.Save(v) }

// named is the object of a name; nothing when it is of another type, or the name was forgotten.
func named[T any](name unsafe.Pointer) T {
	v, _ := pointer.Restore(name).(T)
	return v
}

// forget returns a name up.
func forget(name unsafe.Pointer) { pointer.Unref(name) }
