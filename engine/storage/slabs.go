package storage

// #include "alloc.h"
import "C"

import (
	"container/heap"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Blocks below largeLimit are allocated from shared mappings of blocks of one size class. A program that creates and frees tensors of many
// sizes then uses little more memory than its tensors, which malloc does not guarantee for aligned blocks. Size classes grow by an eighth,
// as in jemalloc (Evans, "A Scalable Concurrent malloc(3) Implementation", 2006). A class allocates from its oldest mapping with free
// blocks, so that younger ones become empty and are unmapped.

const (
	fineLimit  = 1024 // up to here a class for each multiple of alignment
	finest     = fineLimit / alignment
	perDoubled = 8
	slabBytes  = 1 << 16 // minimum size of a mapping
	pageBytes  = 1 << 12
	spareBytes = 1 << 24 // free blocks that always may keep their memory
)

var sizeClasses [finest + perDoubled*10]sizeClass // up to largeLimit

// sizeClass hands out blocks of one size.
type sizeClass struct {
	sync.Mutex
	open  slabHeap // mappings with free blocks, the oldest first
	made  int64
	slabs map[*slab]struct{}
}

// slab is a mapping that is divided into blocks.
type slab struct {
	class     *sizeClass
	base      unsafe.Pointer
	size      int64 // of a block
	count     int
	age       int64
	heapIndex int      // in the open heap of class, -1 while there is no free block
	free      []uint16 // numbers of free blocks, the one freed last at the end
	warm      []bool   // of each block: it was used since its memory was given back, if ever
}

// warmBytes counts the bytes of free blocks that may still have memory.
var warmBytes atomic.Int64

type slabHeap []*slab

func (h slabHeap) Len() int           { return len(h) }
func (h slabHeap) Less(i, j int) bool { return h[i].age < h[j].age }
func (h slabHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}
func (h *slabHeap) Push(x any) {
	s := x.(*slab)
	s.heapIndex = len(*h)
	*h = append(*h, s)
}
func (h *slabHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h, s.heapIndex = (*h)[:last], -1
	return s
}

// classOf returns the number of the smallest class with blocks of at least size bytes, and its block size.
func classOf(size int64) (number int, blockSize int64) {
	if size <= fineLimit {
		n := (size + alignment - 1) / alignment
		return int(n - 1), n * alignment
	}
	doubling := bits.Len64(uint64(size-1)) - 1 // size is in (1<<doubling, 2<<doubling]
	step := int64(1) << doubling / perDoubled
	n := (size - 1 - 1<<doubling) / step
	return finest + (doubling-bits.Len64(fineLimit)+1)*perDoubled + int(n), 1<<doubling + (n+1)*step
}

// takeSmall returns a block for size bytes, without data when there is no memory.
func takeSmall(size int64) Block {
	number, blockSize := classOf(size)
	c := &sizeClasses[number]
	c.Lock()
	defer c.Unlock()
	if len(c.open) == 0 && !c.addSlab(blockSize) {
		return Block{}
	}
	s := c.open[0]
	n := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if len(s.free) == 0 {
		heap.Pop(&c.open)
	}
	if s.warm[n] {
		warmBytes.Add(-s.size)
	}
	s.warm[n] = true
	return Block{Data: unsafe.Add(s.base, int64(n)*s.size), Size: size, slab: s}
}

// addSlab maps memory for more blocks. It returns false when there is none.
func (c *sizeClass) addSlab(blockSize int64) bool {
	count := max(slabBytes/blockSize, min(16, (4<<20)/blockSize))
	base := C.lt_map_slab(C.size_t(count * blockSize))
	if base == nil {
		return false
	}
	s := &slab{class: c, base: base, size: blockSize, count: int(count), age: c.made, warm: make([]bool, count), free: make([]uint16, count)}
	for i := range s.free {
		s.free[i] = uint16(int(count) - 1 - i)
	}
	c.made++
	heap.Push(&c.open, s)
	if c.slabs == nil {
		c.slabs = map[*slab]struct{}{}
	}
	c.slabs[s] = struct{}{}
	return true
}

// returnBlock returns a block to its mapping, and pages to the operating system if free blocks hold many bytes.
func (s *slab) returnBlock(data unsafe.Pointer) {
	if s == &parents {
		return
	}
	c := s.class
	c.Lock()
	s.free = append(s.free, uint16((uintptr(data)-uintptr(s.base))/uintptr(s.size)))
	if s.heapIndex < 0 {
		heap.Push(&c.open, s)
	}
	c.Unlock()
	if warm := warmBytes.Add(s.size); warm > warmLimit() && warm > trimming.at.Load() && trimming.TryLock() {
		defer trimming.Unlock()
		trimSmall()
		trimming.at.Store(warmBytes.Load() + spareBytes)
	}
}

// trimming holds the threshold of the next trim: free blocks must hold more than remained after the last trim, since blocks smaller than
// pages keep theirs.
var trimming struct {
	sync.Mutex
	at atomic.Int64
}

// warmLimit returns how many bytes free blocks may keep.
func warmLimit() int64 { return max(spareBytes, unusedLimit()-memory.cached.Load()) }

// trimSmall returns the memory of free blocks to the operating system: empty mappings, and the pages inside of blocks of the others.
func trimSmall() {
	for i := range sizeClasses {
		sizeClasses[i].trimSlabs()
	}
}

// trimSlabs is trimSmall for the blocks of one size.
func (c *sizeClass) trimSlabs() {
	c.Lock()
	defer c.Unlock()
	for s := range c.slabs {
		if len(s.free) == s.count {
			c.unmapSlab(s)
		} else {
			s.releasePages()
		}
	}
}

// unmapSlab unmaps an empty mapping.
func (c *sizeClass) unmapSlab(s *slab) {
	heap.Remove(&c.open, s.heapIndex)
	delete(c.slabs, s)
	for _, warm := range s.warm {
		if warm {
			warmBytes.Add(-s.size)
		}
	}
	C.lt_unmap_slab(s.base, C.size_t(int64(s.count)*s.size))
}

// releasePages returns the pages inside of free blocks to the operating system.
func (s *slab) releasePages() {
	if s.size < 2*pageBytes {
		return
	}
	for _, n := range s.free {
		if s.warm[n] {
			C.lt_cool(unsafe.Add(s.base, int64(n)*s.size), C.size_t(s.size))
			s.warm[n] = false
			warmBytes.Add(-s.size)
		}
	}
}
