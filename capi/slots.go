package main

// #include "handle.h"
// #include "program.h"
// #include <stdlib.h>
import "C"

import (
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/autograd"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// quarantine is how many freed slots wait before one is used again, so that a stale handle is caught long after.
const quarantine = 512

// slot is the Go side of a handle's C struct.
type slot struct {
	c       *C.lt_slot
	tensor  *tensor.Tensor
	storage *storage.Storage
	drawn   *random.Generator
	dims    *C.int64_t // sizes and strides that exceed the C struct; kept for reuse
}

// chunkSlots are made at a time, and never freed.
const chunkSlots = 1024

type chunk [chunkSlots]slot

// The longest list that an operator makes can have handles.
var _ [C.LT_MAX_SLOTS]struct{} = [ops.MaxTensors]struct{}{}

// slots is the table of all handles. Threads hold some free slots and return many together, so that few calls take the lock.
var slots table

type table struct {
	sync.Mutex
	chunks      [C.LT_MAX_SLOTS / chunkSlots]*chunk
	made, free  int64
	first, last *C.lt_slot // batches of free slots, the one that was given back longest ago first
}

// batch is how many free slots a thread takes, and returns, at a time.
const batch = 32

// slotFor returns the Go side of a slot that C has resolved.
func slotFor(c *C.lt_slot) *slot { return &slots.chunks[c.number/chunkSlots][c.number%chunkSlots] }

// slotOf finds the slot of a handle that C has checked.
func slotOf(handle unsafe.Pointer) *slot {
	return slotFor((*C.lt_slot)(unsafe.Pointer(uintptr(handle) &^ (C.LT_SLOT_BYTES - 1))))
}

// handleOf returns the handle of a slot in its present generation, as lt_find in table.c reads it.
func handleOf(c *C.lt_slot) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(c), c.generation%C.LT_TAGS*8)
}

// takeSlot returns a slot from the thread's free ones, filled for a handle of t.
func takeSlot(thread *C.lt_thread, t *tensor.Tensor) (*slot, error) {
	if thread.ready == nil {
		if err := refillThread(thread); err != nil {
			return nil, err
		}
	}
	c := thread.ready
	thread.ready = c.next
	thread.taken++
	s := slotFor(c)
	s.tensor = t
	return s, nil
}

// refillThread moves a batch of free slots to a thread. It creates more when too few are out of quarantine.
func refillThread(thread *C.lt_thread) error {
	slots.Lock()
	defer slots.Unlock()
	if slots.free < quarantine+batch {
		if err := addChunk(); err != nil && slots.free == 0 {
			return err
		}
	}
	thread.ready = slots.first
	slots.first = slots.first.batch
	slots.free -= batch
	return nil
}

// returnSlot returns an emptied slot to the free ones.
func returnSlot(thread *C.lt_thread, c *C.lt_slot) {
	c.next = thread.spent
	thread.spent = c
	thread.taken--
	if thread.spent_count++; thread.spent_count == batch {
		slots.Lock()
		addBatch(c)
		slots.Unlock()
		thread.spent, thread.spent_count = nil, 0
	}
}

// addBatch adds a batch to the free slots.
func addBatch(c *C.lt_slot) {
	if slots.first == nil {
		slots.first = c
	} else {
		slots.last.batch = c
	}
	slots.last = c
	c.batch = nil
	slots.free += batch
}

// addChunk creates further slots.
func addChunk() error {
	if slots.made+chunkSlots > C.LT_MAX_SLOTS {
		return status.Memoryf("no more handles: %d are in use, which is the maximum", slots.made)
	}
	first, err := C.lt_grow(chunkSlots)
	if first == nil {
		return status.Memoryf("no more handles: %d are in use, and allocating more failed: %v", slots.made, err)
	}
	made := new(chunk)
	slots.chunks[slots.made/chunkSlots] = made
	var next *C.lt_slot
	for i := range made {
		c := (*C.lt_slot)(unsafe.Add(unsafe.Pointer(first), i*C.LT_SLOT_BYTES))
		c.number = C.uint32_t(slots.made + int64(i))
		made[i].c = c
		c.next, next = next, c
		if (i+1)%batch == 0 {
			addBatch(c)
			next = nil
		}
	}
	slots.made += chunkSlots // last: a child that is forked before has none of these slots
	return nil
}

// emptySlots releases the objects of a list of freed slots, except those that a running call uses, which are released at its end.
func emptySlots(thread *C.lt_thread, c *C.lt_slot) {
	for c != nil {
		next := c.next
		if isPinned(c) {
			C.lt_postpone(c)
		} else {
			releaseSlot(thread, slotFor(c))
		}
		c = next
	}
}

// releaseSlot releases the object of a slot.
func releaseSlot(thread *C.lt_thread, s *slot) {
	t, st := s.tensor, s.storage
	var n tensor.Node
	var program unsafe.Pointer
	if s.c.kind == C.LT_PROGRAM {
		program, s.c.name = s.c.name, nil
	}
	if s.c.name != nil {
		n = objectOf[tensor.Node](s.c.name)
		releaseObject(s.c.name)
		s.c.name = nil
	}
	s.c.generation++
	setState(s, C.LT_EMPTY)
	s.tensor, s.storage, s.drawn = nil, nil, nil
	returnSlot(thread, s.c)
	if t != nil {
		t.Recycle()
	}
	if st != nil {
		st.Release()
	}
	if n != nil {
		n.Release()
	}
	if program != nil {
		C.lt_delete_program(program)
	}
}

// loadGenerator returns the generator of a generator's handle.
func (s *slot) loadGenerator() *random.Generator { return s.drawn }

// loadNode returns the autograd node of a node's handle.
func (s *slot) loadNode() tensor.Node {
	n := objectOf[tensor.Node](s.c.name)
	if n == nil { // a forked child has no graphs of its parent
		panic(status.Forkedf("node: the node was created before fork(), and a forked child does not inherit autograd graphs; call backward() in the process that created the graph"))
	}
	return n
}

// setState needs no barrier: a handle reaches another thread only through the caller's own synchronization.
func setState(s *slot, state uint32) { *(*uint32)(unsafe.Pointer(&s.c.state)) = state }

// immediateBytes is the storage size from which freeing a handle frees the memory at once, not at the next call. The same holds for memory
// of the application, and for tensors with autograd metadata, which may own a whole graph.
const immediateBytes = 1 << 16

// publishHandle creates the handle of a slot; with immediate, freeing it releases the object at once.
func publishHandle(s *slot, kind C.uint8_t, immediate bool) *C.lt_slot {
	s.c.kind = kind
	s.setImmediate(immediate)
	setState(s, C.LT_LIVE)
	return s.c
}

// setImmediate determines whether freeing the handle releases the object at once.
func (s *slot) setImmediate(immediate bool) {
	s.c.immediate = 0
	if immediate {
		s.c.immediate = 1
	}
}

// freesEagerly reports whether a handle of t is to free it at once.
func freesEagerly(t *tensor.Tensor) bool { return t.AutogradMeta() != nil || isLarge(t.Storage()) }

// isLarge reports whether freeing a handle of a storage frees the memory at once.
func isLarge(s *storage.Storage) bool {
	return s.Nbytes() >= immediateBytes || !s.Owned() || s.IsCustom()
}

// newTensor creates a handle that owns t.
func newTensor(thread *C.lt_thread, t *tensor.Tensor) (*C.lt_slot, error) {
	s, err := takeSlot(thread, t)
	if err != nil {
		t.Release()
		return nil, err
	}
	if thread.modes.inference != 0 {
		autograd.Infer(t)
	}
	if t.AutogradMeta() != nil {
		autograd.Hand(t)
	}
	copyMetadata(s)
	return publishHandle(s, C.LT_TENSOR, freesEagerly(t)), nil
}

func newStorage(thread *C.lt_thread, st *storage.Storage) (*C.lt_slot, error) {
	s, err := takeSlot(thread, nil)
	if err != nil {
		st.Release()
		return nil, err
	}
	s.storage = st
	return publishHandle(s, C.LT_STORAGE, isLarge(st)), nil
}

func newGenerator(thread *C.lt_thread, g *random.Generator) (*C.lt_slot, error) {
	s, err := takeSlot(thread, nil)
	if err != nil {
		return nil, err
	}
	s.drawn = g
	return publishHandle(s, C.LT_GENERATOR, false), nil
}

// newNode returns a handle that owns a reference to n. Freeing it releases the graph at once.
func newNode(thread *C.lt_thread, n tensor.Node) (*C.lt_slot, error) {
	s, err := takeSlot(thread, nil)
	if err != nil {
		n.Release()
		return nil, err
	}
	s.c.name = saveObject(n)
	return publishHandle(s, C.LT_NODE, true), nil
}

// dimsMemory returns memory for the sizes and strides of n dimensions. It grows; the former memory is kept, since other threads may be
// reading it.
func (s *slot) dimsMemory(n int) *C.int64_t {
	slots.Lock()
	defer slots.Unlock()
	if int(s.c.room) < n {
		s.c.room = C.int32_t(2 * n)
		s.dims = (*C.int64_t)(C.malloc(C.size_t(8 * 2 * s.c.room)))
	}
	return s.dims
}

// memoryOf returns the storage with a tensor's elements: for a sparse tensor, that of its values.
func memoryOf(t *tensor.Tensor) *storage.Storage { return t.Behind().Storage() }

// copyMetadata copies a tensor's metadata to where C getters read it.
func copyMetadata(s *slot) {
	t, c := s.tensor, s.c
	n := t.Dim()
	if n <= C.LT_INLINE_DIMS {
		c.sizes = &c.inline_dims[0]
	} else {
		c.sizes = s.dimsMemory(n)
	}
	c.strides = (*C.int64_t)(unsafe.Add(unsafe.Pointer(c.sizes), 8*n))
	to, strides := unsafe.Slice((*int64)(c.sizes), 2*n), t.Strides()
	for i, size := range t.Sizes() { // a call of copy takes longer than few dimensions
		to[i], to[n+i] = size, strides[i]
	}
	c.dim = C.int32_t(n)
	c.numel, c.offset = C.int64_t(t.Numel()), C.int64_t(t.Offset())
	c.memory = C.uint64_t(uintptr(unsafe.Pointer(memoryOf(t))))
	c.dtype, c.layout = C.int8_t(t.DType()), C.int8_t(t.Layout())
	c.device_type, c.device_index = C.int8_t(t.Device().Type), C.int16_t(t.Device().Index)
	c.lazy = C.uint8_t(t.Behind().Lazy() / tensor.Conjugate)
}
