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
	smallLimit = 4096    // blocks up to this size are recycled by size class, without entering C
	smallKept  = 256     // blocks kept of each size class
	largeLimit = 1 << 20 // blocks from this size on are mapped, and recycled whole
	cacheLimit = 1 << 29 // bytes of large blocks kept for reuse
	slack      = 4       // a cached block serves requests of down to 1/slack less than its size
	classes    = smallLimit / alignment
)

var memory struct {
	inUse, peak, cached, blocks, limit atomic.Int64

	small [classes + 1]struct {
		sync.Mutex
		free []unsafe.Pointer
	}
	largeMu sync.Mutex
	large   []block
}

type block struct {
	data unsafe.Pointer
	size int64
}

// Stats is a moment's account of the bytes that storages hold.
type Stats struct {
	InUse  int64 // bytes of live storages
	Peak   int64 // highest InUse since the start or ResetPeak
	Cached int64 // bytes kept for reuse
	Blocks int64 // live storages with bytes of their own
}

// MemoryStats reads the account.
func MemoryStats() Stats {
	return Stats{memory.inUse.Load(), memory.peak.Load(), memory.cached.Load(), memory.blocks.Load()}
}

// ResetPeak sets Peak to InUse.
func ResetPeak() { memory.peak.Store(memory.inUse.Load()) }

// SetLimit bounds InUse: allocations beyond it fail with a Memory error. 0 takes the bound away.
func SetLimit(bytes int64) { memory.limit.Store(bytes) }

// rounded is the size of the block that serves a request: whole cache lines for small ones, as asked for large ones.
func rounded(size int64) int64 { return (size + alignment - 1) &^ (alignment - 1) }

func account(op string, size int64) error {
	now := memory.inUse.Add(size)
	if limit := memory.limit.Load(); limit > 0 && now > limit {
		memory.inUse.Add(-size)
		return status.Memoryf("%s: allocating %d bytes would exceed the memory limit of %d bytes (%d in use)", op, size, limit, now-size)
	}
	for peak := memory.peak.Load(); now > peak && !memory.peak.CompareAndSwap(peak, now); peak = memory.peak.Load() {
	}
	memory.blocks.Add(1)
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
	p, got, zeroed := recycled(size)
	if p == nil {
		var z C.int
		p = C.lt_alloc(C.size_t(size), &z)
		got, zeroed = size, z != 0
		if p == nil {
			EmptyCache()
			p = C.lt_alloc(C.size_t(size), &z)
			zeroed = z != 0
		}
	}
	if p == nil {
		unaccount(size)
		return nil, 0, status.Memoryf("%s: not enough memory to allocate %d bytes", op, size)
	}
	if got != size {
		memory.inUse.Add(got - size)
	}
	if zero && !zeroed {
		if size <= smallLimit {
			clear(unsafe.Slice((*byte)(p), size))
		} else {
			C.lt_zero(p, C.size_t(size))
		}
	}
	return p, got, nil
}

func unaccount(size int64) {
	memory.inUse.Add(-size)
	memory.blocks.Add(-1)
}

// recycled takes a block that was freed before.
func recycled(size int64) (p unsafe.Pointer, got int64, zeroed bool) {
	if size <= smallLimit {
		c := &memory.small[size/alignment]
		c.Lock()
		if n := len(c.free); n > 0 {
			p = c.free[n-1]
			c.free = c.free[:n-1]
			memory.cached.Add(-size)
		}
		c.Unlock()
		return p, size, false
	}
	if size < largeLimit {
		return nil, 0, false
	}
	memory.largeMu.Lock()
	defer memory.largeMu.Unlock()
	best := -1
	for i, b := range memory.large {
		if b.size >= size && b.size-size <= size/slack && (best < 0 || b.size < memory.large[best].size) {
			best = i
		}
	}
	if best < 0 {
		return nil, 0, false
	}
	b := memory.large[best]
	memory.large = append(memory.large[:best], memory.large[best+1:]...)
	memory.cached.Add(-b.size)
	return b.data, b.size, false
}

// release gives a block back, to the cache while there is room.
func release(p unsafe.Pointer, size int64) {
	unaccount(size)
	if size <= smallLimit {
		c := &memory.small[size/alignment]
		c.Lock()
		if len(c.free) < smallKept {
			c.free = append(c.free, p)
			memory.cached.Add(size)
			p = nil
		}
		c.Unlock()
	} else if size >= largeLimit && size <= cacheLimit {
		memory.largeMu.Lock()
		memory.large = append(memory.large, block{p, size})
		memory.cached.Add(size)
		p, size = evict()
		memory.largeMu.Unlock()
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
	for i := range memory.small {
		c := &memory.small[i]
		c.Lock()
		for _, p := range c.free {
			C.lt_release(p, C.size_t(i*alignment))
		}
		memory.cached.Add(-int64(len(c.free) * i * alignment))
		c.free = nil
		c.Unlock()
	}
	memory.largeMu.Lock()
	defer memory.largeMu.Unlock()
	for _, b := range memory.large {
		C.lt_release(b.data, C.size_t(b.size))
		memory.cached.Add(-b.size)
	}
	memory.large = nil
}
