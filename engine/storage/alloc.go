package storage

// #include "alloc.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/status"
)

const (
	alignment  = 64
	largeLimit = 1 << 20 // blocks from this size on are mapped, and recycled whole
	cacheLimit = 1 << 29 // bytes of large blocks kept for reuse
	slack      = 4       // a cached block serves requests of down to 1/slack less than its size
)

var memory struct {
	inUse, peak, limit, blocks, cached atomic.Int64
	failing                            atomic.Int64 // allocations until one is made to fail; 0 for none

	mu     sync.Mutex
	large  []block
	parked []Parking
}

// Parking keeps freed storages whole, for reuse.
type Parking interface {
	Held() (storages, bytes int64)
	Empty()
}

type block struct {
	data unsafe.Pointer
	size int64
}

// rounded is the size of the block that serves a request: whole cache lines for small ones, as asked for large ones.
func rounded(size int64) int64 { return (size + alignment - 1) &^ (alignment - 1) }

func account(op string, size int64) error {
	if failing() {
		return status.Memoryf("%s: allocating %d bytes was made to fail", op, size)
	}
	now := memory.inUse.Add(size)
	if limit := memory.limit.Load(); limit > 0 && now > limit {
		memory.inUse.Add(-size)
		return exceeded(op, size, limit, now-size)
	}
	for peak := memory.peak.Load(); now > peak && !memory.peak.CompareAndSwap(peak, now); peak = memory.peak.Load() {
	}
	return nil
}

// allocate returns a block of at least size bytes (size > 0) and its true size.
func allocate(op string, size int64, zero bool) (unsafe.Pointer, int64, error) {
	if size > 1<<62 {
		return nil, 0, status.Memoryf("%s: cannot allocate %d bytes", op, size)
	}
	size = rounded(size)
	if err := account(op, size); err != nil {
		return nil, 0, err
	}
	p, got := recycled(size)
	zeroed := false
	if p == nil {
		var err error
		if p, zeroed, err = system(op, size); err != nil {
			return nil, 0, err
		}
		got = size
	}
	memory.inUse.Add(got - size)
	memory.blocks.Add(1)
	if zero && !zeroed {
		C.lt_zero(p, C.size_t(size))
	}
	return p, got, nil
}

// system asks the operating system for a block, after giving it the cache when it has none.
func system(op string, size int64) (unsafe.Pointer, bool, error) {
	var zeroed C.int
	if limit := memory.limit.Load(); limit > 0 && memory.inUse.Load()+memory.cached.Load() > limit {
		EmptyCache()
	}
	p := C.lt_alloc(C.size_t(size), &zeroed)
	if p == nil {
		EmptyCache()
		p = C.lt_alloc(C.size_t(size), &zeroed)
	}
	if p == nil {
		memory.inUse.Add(-size)
		return nil, false, status.Memoryf("%s: not enough memory to allocate %d bytes", op, size)
	}
	return p, zeroed != 0, nil
}

// recycled takes a large block that was freed before, of those that fit best the last one, which a processor's caches may
// still hold.
func recycled(size int64) (p unsafe.Pointer, got int64) {
	if size < largeLimit {
		return nil, 0
	}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	best := -1
	for i, b := range memory.large {
		if b.size >= size && b.size-size <= size/slack && (best < 0 || b.size <= memory.large[best].size) {
			best = i
		}
	}
	if best < 0 {
		return nil, 0
	}
	b := memory.large[best]
	memory.large = append(memory.large[:best], memory.large[best+1:]...)
	memory.cached.Add(-b.size)
	return b.data, b.size
}

// release gives a block back, to the cache while there is room.
func release(p unsafe.Pointer, size int64) {
	memory.inUse.Add(-size)
	memory.blocks.Add(-1)
	if size >= largeLimit && size <= cacheLimit {
		memory.mu.Lock()
		memory.large = append(memory.large, block{p, size})
		memory.cached.Add(size)
		p, size = evict()
		memory.mu.Unlock()
	}
	if p != nil {
		C.lt_release(p, C.size_t(size))
	}
}

// evict takes the oldest large block out of a cache that holds too much, and frees all but the last such block itself.
func evict() (p unsafe.Pointer, size int64) {
	var held int64
	for _, b := range memory.large {
		held += b.size
	}
	for held > cacheLimit {
		if p != nil {
			C.lt_release(p, C.size_t(size))
		}
		p, size = memory.large[0].data, memory.large[0].size
		memory.large = memory.large[1:]
		held -= size
		memory.cached.Add(-size)
	}
	return p, size
}

// EmptyCache returns all cached blocks to the system.
func EmptyCache() {
	for _, p := range memory.parked {
		p.Empty()
	}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	for _, b := range memory.large {
		C.lt_release(b.data, C.size_t(b.size))
		memory.cached.Add(-b.size)
	}
	memory.large = nil
}

// AddParking tells of a place that keeps freed storages. Call it from init.
func AddParking(p Parking) { memory.parked = append(memory.parked, p) }
