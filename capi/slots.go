package main

// #include "handle.h"
// #include <stdlib.h>
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	pointer "github.com/mattn/go-pointer"
)

// quarantine is how many freed slots wait before one is used again, so that a stale handle is caught long after.
const quarantine = 512

// slot is the Go side of a handle's C struct. It keeps its go-pointer key for life: a handle's making and freeing touch
// neither go-pointer's map nor its allocator.
type slot struct {
	c         *C.lt_slot
	tensor    *tensor.Tensor
	storage   *storage.Storage
	generator *random.Generator
	next      *slot // in the list of free slots
}

var slots struct {
	sync.Mutex
	count       int64 // slots made so far
	free        int64
	first, last *slot // free slots, the one that was freed longest ago first
	freed       *unsafe.Pointer
	live        *int64
}

func init() {
	slots.freed = (*unsafe.Pointer)(unsafe.Pointer(C.lt_freed()))
	slots.live = (*int64)(unsafe.Pointer(C.lt_live()))
}

// of finds the Go side of a resolved slot.
func of(c *C.lt_slot) *slot { return pointer.Restore(c.key).(*slot) }

// slotOf finds the slot of a handle that C has checked.
func slotOf(handle unsafe.Pointer) *slot {
	return of((*C.lt_slot)(unsafe.Pointer(uintptr(handle) &^ (C.LT_SLOT_BYTES - 1))))
}

// take gives a free slot, making more when too few are out of quarantine.
func take() (*slot, error) {
	slots.Lock()
	defer slots.Unlock()
	if slots.free <= quarantine {
		if err := grow(); err != nil && slots.free == 0 {
			return nil, err
		}
	}
	s := slots.first
	slots.first = s.next
	slots.free--
	s.next = nil
	return s, nil
}

func put(s *slot) {
	if slots.first == nil {
		slots.first = s
	} else {
		slots.last.next = s
	}
	slots.last = s
	slots.free++
}

func grow() error {
	const more = 1024
	if C.lt_grow(more) < 0 {
		return status.Memoryf("no more handles: %d are in use", slots.count)
	}
	base := unsafe.Pointer(C.lt_region())
	for i := range int64(more) {
		c := (*C.lt_slot)(unsafe.Add(base, (slots.count+i)*C.LT_SLOT_BYTES))
		s := &slot{c: c}
		c.key = pointer.Save(s)
		put(s)
	}
	slots.count += more
	return nil
}

// drain releases what handles freed in C held.
func drain() {
	if atomic.LoadPointer(slots.freed) == nil {
		return
	}
	c := (*C.lt_slot)(atomic.SwapPointer(slots.freed, nil))
	for c != nil {
		next := c.next
		release(of(c))
		c = next
	}
}

func release(s *slot) {
	if s.c.dim > C.LT_INLINE_DIMS {
		C.free(unsafe.Pointer(s.c.sizes))
	}
	s.c.dim = 0
	if s.tensor != nil {
		s.tensor.Release()
	}
	if s.storage != nil {
		s.storage.Release()
	}
	s.tensor, s.storage, s.generator = nil, nil, nil
	s.c.generation++
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&s.c.state)), C.LT_EMPTY)
	slots.Lock()
	put(s)
	slots.Unlock()
}

// immediateBytes is the storage size from which freeing a handle frees the memory at once, not at the next call.
const immediateBytes = 1 << 16

func publish(s *slot, kind C.uint8_t, immediate bool) *C.lt_slot {
	s.c.kind = kind
	s.c.immediate = 0
	if immediate {
		s.c.immediate = 1
	}
	atomic.AddInt64(slots.live, 1)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&s.c.state)), C.LT_LIVE)
	return s.c
}

func large(s *storage.Storage) bool { return s.Nbytes() >= immediateBytes || !s.Owned() }

// newTensor makes a handle that owns t.
func newTensor(t *tensor.Tensor) (*C.lt_slot, error) {
	s, err := take()
	if err != nil {
		t.Release()
		return nil, err
	}
	s.tensor = t
	describe(s)
	return publish(s, C.LT_TENSOR, large(t.Storage())), nil
}

func newStorage(st *storage.Storage) (*C.lt_slot, error) {
	s, err := take()
	if err != nil {
		st.Release()
		return nil, err
	}
	s.storage = st
	return publish(s, C.LT_STORAGE, large(st)), nil
}

func newGenerator(g *random.Generator) (*C.lt_slot, error) {
	s, err := take()
	if err != nil {
		return nil, err
	}
	s.generator = g
	return publish(s, C.LT_GENERATOR, false), nil
}

// describe copies a tensor's metadata to where C getters read it.
func describe(s *slot) {
	t, c := s.tensor, s.c
	n := t.Dim()
	if n > C.LT_INLINE_DIMS || c.dim > C.LT_INLINE_DIMS {
		if c.dim > C.LT_INLINE_DIMS {
			C.free(unsafe.Pointer(c.sizes))
		}
		c.sizes = nil
		if n > C.LT_INLINE_DIMS {
			c.sizes = (*C.int64_t)(C.malloc(C.size_t(16 * n)))
		}
	}
	if n <= C.LT_INLINE_DIMS {
		c.sizes = &c.inline_dims[0]
	}
	c.strides = (*C.int64_t)(unsafe.Add(unsafe.Pointer(c.sizes), 8*n))
	copy(unsafe.Slice((*int64)(c.sizes), n), t.Sizes())
	copy(unsafe.Slice((*int64)(c.strides), n), t.Strides())
	c.dim = C.int32_t(n)
	c.numel, c.offset = C.int64_t(t.Numel()), C.int64_t(t.Offset())
	c.dtype, c.layout = C.int8_t(t.DType()), C.int8_t(t.Layout())
	c.device_type, c.device_index = C.int8_t(t.Device().Type), C.int16_t(t.Device().Index)
}
