package main

// #include "allocator.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/storage"
)

func init() {
	storage.SetCustom((*atomic.Uintptr)(unsafe.Pointer(&C.lt_allocator.current)), storage.Custom{
		Allocate: func(size, alignment int64) (data, owner unsafe.Pointer) {
			var by *C.lt_callback
			data = C.lt_allocate(C.int64_t(size), C.int64_t(alignment), &by)
			return data, unsafe.Pointer(by)
		},
		Free: func(owner, data unsafe.Pointer, size int64) {
			C.lt_deallocate((*C.lt_callback)(owner), data, C.int64_t(size))
		},
	})
}
