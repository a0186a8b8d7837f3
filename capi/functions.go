package main

// #include "handle.h"
// #include "functions.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/autograd"
	"github.com/libtensor/libtensor/engine/dispatch"
)

// lt_gradient_kind returns the autograd state of the tensor of a pinned slot.
//
//export lt_gradient_kind
func lt_gradient_kind(c *C.lt_slot) C.uint8_t {
	switch t := slotFor(c).tensor; {
	case autograd.IsUntrackedView(t):
		return C.LT_UNTRACKED_VIEW
	case autograd.IsStale(t):
		return C.LT_STALE_VIEW
	case autograd.Wanted(t):
		return C.LT_GRADIENT
	}
	return C.LT_NO_GRADIENT
}

// lt_sole_context returns the context of the call that made the tensor of a pinned slot, where nothing else keeps that.
//
//export lt_sole_context
func lt_sole_context(c *C.lt_slot, deleter C.uintptr_t) C.uintptr_t {
	return C.uintptr_t(autograd.SoleContext(slotFor(c).tensor, uintptr(deleter)))
}

// lt_transform_around returns the number of the transform around one that the thread is in, 0 for none.
//
//export lt_transform_around
func lt_transform_around(thread *C.lt_thread, level C.int64_t) C.uint32_t {
	return C.uint32_t(dispatch.With((*dispatch.Modes)(unsafe.Pointer(&thread.modes))).TransformAround(int64(level)))
}
