package main

// #include "handle.h"
// static lt_thread *lt_calling(void) { return lt_me; }
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// threads are C's records of the objects that running calls use.
var threads struct {
	first   *unsafe.Pointer
	several *atomic.Int32
}

func init() {
	threads.first = (*unsafe.Pointer)(unsafe.Pointer(&C.lt_threads))
	threads.several = (*atomic.Int32)(unsafe.Pointer(&C.lt_several))
	storage.UsedElsewhere = func(s *storage.Storage) bool {
		return isUsedElsewhere(func(x *slot) bool {
			t := x.tensor // a slot that its pin does not keep may be taken or emptied meanwhile
			return x.storage == s || t != nil && t.Storage() == s
		})
	}
	tensor.UsedElsewhere = func(t *tensor.Tensor) bool {
		return isUsedElsewhere(func(x *slot) bool { return x.tensor == t })
	}
	tensor.UsedByOthers = func(t *tensor.Tensor) bool {
		matches := func(x *slot) bool { return x.tensor.Contains(t) }
		return isUsedAround(matches) || isUsedElsewhere(matches)
	}
}

// pinnedSlots returns the slots that the calls of one thread use.
func pinnedSlots(t *C.lt_thread) []unsafe.Pointer {
	n := atomic.LoadInt64((*int64)(unsafe.Pointer(&t.used))) // before the array, which then holds at least as many
	return unsafe.Slice((*unsafe.Pointer)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&t.pins)))), n)
}

// isPinned reports whether a running call uses a slot.
func isPinned(c *C.lt_slot) bool {
	for t := (*C.lt_thread)(atomic.LoadPointer(threads.first)); t != nil; t = t.next {
		for _, p := range pinnedSlots(t) {
			if p == unsafe.Pointer(c) {
				return true
			}
		}
	}
	return false
}

// isUsedElsewhere reports whether a call of another thread uses a slot that matches.
func isUsedElsewhere(matches func(*slot) bool) bool {
	if threads.several.Load() == 0 {
		return false
	}
	me := C.lt_calling()
	slots.Lock()
	defer slots.Unlock()
	for t := (*C.lt_thread)(atomic.LoadPointer(threads.first)); t != nil; t = t.next {
		if t == me {
			continue
		}
		p := pinnedSlots(t)
		for i := range p {
			if c := (*C.lt_slot)(atomic.LoadPointer(&p[i])); c != nil && matches(slotFor(c)) {
				return true
			}
		}
	}
	return false
}

// isUsedAround reports whether a call that runs the present one in a hook uses a slot that matches.
func isUsedAround(matches func(*slot) bool) bool {
	me := C.lt_calling()
	for _, p := range pinnedSlots(me)[:me.around] {
		if matches(slotFor((*C.lt_slot)(p))) {
			return true
		}
	}
	return false
}
