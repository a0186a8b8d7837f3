package main

// #include "handle.h"
// #include "restart.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/tensor"
)

// In a forked child the slots, which are C's, still name the parent's objects. These are made anew from the parent's heap before the first
// call runs, so that the child's handles are those of the parent.
func init() {
	inherit.Read(&slots, inheritSlots)
	for _, v := range inherit.Variables() {
		if parents := C.lt_carry(C.uintptr_t(uintptr(v.Address)), C.size_t(v.Size)); parents != nil {
			v.Take(parents)
			C.lt_free_carried(parents)
		}
	}
}

// inheritSlots takes over the handles of the parent's table.
func inheritSlots(parents *table) {
	heirs, thread := tensor.NewHeirs(), *(**C.lt_thread)(unsafe.Pointer(&C.lt_threads))
	var free *C.lt_slot
	var length int64
	slots.made = int64(C.lt_made_slots())
	for i := range slots.made / chunkSlots {
		slots.chunks[i] = new(chunk)
		for j := range slots.chunks[i] {
			s, old := &slots.chunks[i][j], &parents.chunks[i][j]
			s.c, s.dims = old.c, old.dims
			if s.c.state == C.LT_LIVE {
				s.inherit(heirs, old)
				thread.taken++
				continue
			}
			if s.c.state == C.LT_DEAD {
				s.c.generation++
				setState(s, C.LT_EMPTY)
			}
			s.c.name, s.c.next, free = nil, free, s.c
			if length++; length%batch == 0 {
				join(free)
				free = nil
			}
		}
	}
}

// inherit makes what the handle of old stood for in the parent. Nodes stay there.
func (s *slot) inherit(heirs *tensor.Heirs, old *slot) {
	s.c.name = nil
	switch s.c.kind {
	case C.LT_TENSOR:
		s.tensor = heirs.Tensor(old.tensor)
		s.c.memory = C.uint64_t(uintptr(unsafe.Pointer(memoryOf(s.tensor))))
	case C.LT_STORAGE:
		if s.storage = heirs.Storage(old.storage); s.storage != nil {
			s.storage.Retain()
		}
	case C.LT_GENERATOR:
		s.drawn = random.Inherit(old.drawn)
	}
}
