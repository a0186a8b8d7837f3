package main

// #include "handle.h"
// #include "program.h"
// #include "restart.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/tensor"
)

// In a forked child the handles' slots, which are in C memory, still refer to objects in the heap of the parent's runtime. init copies
// these objects into the child's heap before the first call, so that the parent's handles are valid in the child.
func init() {
	inherit.Read(&slots, inheritSlots)
	for _, v := range inherit.Variables() {
		if parents := C.lt_carry(C.uintptr_t(uintptr(v.Address)), C.size_t(v.Size)); parents != nil {
			v.Take(parents)
			C.lt_free_carried(parents)
		}
	}
}

// inheritSlots fills the slot table from the parent's: it copies the objects of live handles, and returns all other slots to the free list.
func inheritSlots(parents *table) {
	heirs, thread := tensor.NewHeirs(), *(**C.lt_thread)(unsafe.Pointer(&C.lt_threads))
	var free *C.lt_slot
	var length int64
	// Another thread of the parent may have been in addChunk when the process forked.
	slots.made = parents.made
	C.lt_shrink(C.int64_t(slots.made))
	for i := range slots.made / chunkSlots {
		slots.chunks[i] = new(chunk)
		for j := range slots.chunks[i] {
			s, old := &slots.chunks[i][j], &parents.chunks[i][j]
			s.c, s.dims = old.c, old.dims
			if s.c.state == C.LT_LIVE {
				s.copyFrom(heirs, old)
				thread.taken++
				continue
			}
			if s.c.state == C.LT_DEAD {
				s.c.generation++
				setState(s, C.LT_EMPTY)
			}
			s.c.name, s.c.next, free = nil, free, s.c
			if length++; length%batch == 0 {
				addBatch(free)
				free = nil
			}
		}
	}
}

// copyFrom copies the tensor, storage or generator of old, a slot of the parent. Autograd nodes are not copied; using their handles is an
// error.
func (s *slot) copyFrom(heirs *tensor.Heirs, old *slot) {
	program := s.c.name
	s.c.name = nil
	switch s.c.kind {
	case C.LT_TENSOR:
		s.tensor = heirs.Tensor(old.tensor)
		s.c.memory = C.uint64_t(uintptr(unsafe.Pointer(memoryOf(s.tensor))))
	case C.LT_STORAGE:
		if s.storage = heirs.Storage(old.storage); s.storage != nil {
			s.storage.Retain()
		}
	case C.LT_PROGRAM:
		s.c.name = program
		C.lt_inherit_program(program)
	case C.LT_GENERATOR:
		s.drawn = random.Inherit(old.drawn)
	}
}
