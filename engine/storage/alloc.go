package storage

// #include "alloc.h"
import "C"

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/status"
)

const (
	alignment  = 64
	largeLimit = 1 << 20 // blocks from this size on are mapped, and recycled whole
	cacheLimit = 1 << 29 // bytes of large blocks kept for reuse, at most
	cacheLeast = 1 << 25 // and whatever is in use
	slack      = 4       // a cached block serves requests of down to 1/slack less than its size
)

// memory holds the counters, the limit and the cached blocks of the process.
var memory struct {
	inUse, peak, limit, blocks, cached atomic.Int64
	failing                            atomic.Int64 // allocations until one is made to fail; 0 for none

	mu     sync.Mutex
	large  []Block
	parked []Parking
}

// Parking keeps freed storages whole, for reuse.
type Parking interface {
	Held() (storages, bytes int64)
	Empty()
}

// sanitized is true under an address sanitizer, which knows the bounds of malloc's blocks and reports uses after free. Each block is then
// allocated by malloc with its exact size, and none is reused.
var sanitized = C.lt_sanitized() != 0

// roundToBlock returns the size of the block that serves a request: whole cache lines.
func roundToBlock(size int64) int64 {
	if sanitized {
		return size
	}
	return (size + alignment - 1) &^ (alignment - 1)
}

// countInUse adds size to the bytes in use. It returns an error if they would exceed the memory limit.
func countInUse(op string, size int64) error {
	if isMadeToFail() {
		return status.Memoryf("%s: allocating %d bytes was made to fail", op, size)
	}
	now := memory.inUse.Add(size)
	if limit := memory.limit.Load(); limit > 0 && now > limit {
		memory.inUse.Add(-size)
		return limitError(op, size, limit, now-size)
	}
	return nil
}

// raisePeak raises the peak to the bytes in use, after an allocation that succeeded.
func raisePeak() {
	now := memory.inUse.Load()
	for peak := memory.peak.Load(); now > peak && !memory.peak.CompareAndSwap(peak, now); peak = memory.peak.Load() {
	}
}

// allocateBlock returns a block of at least size bytes (size > 0).
func allocateBlock(op string, size int64, zero bool) (Block, error) {
	if size > 1<<62 {
		return Block{}, status.Memoryf("%s: cannot allocate %d bytes", op, size)
	}
	size = roundToBlock(size)
	if err := countInUse(op, size); err != nil {
		return Block{}, err
	}
	b, found := takeCached(size)
	zeroed := false
	if !found {
		var err error
		if b, zeroed, err = newBlockOrEvict(op, size); err != nil {
			return Block{}, err
		}
	}
	memory.inUse.Add(b.Size - size)
	memory.blocks.Add(1)
	raisePeak()
	if zero && !zeroed {
		C.lt_zero(b.Data, C.size_t(size))
	}
	return b, nil
}

// newBlock returns a block that is not reused from a large freed one, and reports whether it is zero.
func newBlock(size int64) (b Block, zeroed bool) {
	b, found := obtainCustom(size)
	switch {
	case found:
		return b, false
	case sanitized:
		return Block{Data: C.lt_alloc(C.size_t(size)), Size: size}, false
	case size >= largeLimit:
		shrinkCache(max(cacheLeast, unusedLimit()))
		return Block{Data: C.lt_map_large(C.size_t(size)), Size: size}, true
	}
	return takeSmall(size), false
}

// newBlockOrEvict is newBlock, but empties the cache and retries if the operating system has no memory.
func newBlockOrEvict(op string, size int64) (Block, bool, error) {
	if limit := memory.limit.Load(); limit > 0 && memory.inUse.Load()+memory.cached.Load() > limit {
		EmptyCache()
	}
	b, zeroed := newBlock(size)
	if b.Data == nil {
		EmptyCache()
		b, zeroed = newBlock(size)
	}
	if b.Data == nil {
		memory.inUse.Add(-size)
		if isCustom() {
			return Block{}, false, status.Memoryf("%s: the application's allocator returned no memory for %d bytes that is aligned to %d bytes", op,
				size, alignment)
		}
		return Block{}, false, status.Memoryf("%s: not enough memory to allocate %d bytes", op, size)
	}
	return b, zeroed, nil
}

// takeCached returns a cached large block: of those that fit best the one freed last, which the CPU's caches may still hold.
func takeCached(size int64) (b Block, found bool) {
	if size < largeLimit || isCustom() {
		return Block{}, false
	}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	best := -1
	for i, b := range memory.large {
		if b.Size >= size && b.Size-size <= size/slack && (best < 0 || b.Size <= memory.large[best].Size) {
			best = i
		}
	}
	if best < 0 {
		return Block{}, false
	}
	b = memory.large[best]
	memory.large = append(memory.large[:best], memory.large[best+1:]...)
	memory.cached.Add(-b.Size)
	return b, true
}

// release frees a block. A large one is put into the cache while there is room.
func (b Block) release() {
	memory.inUse.Add(-b.Size)
	memory.blocks.Add(-1)
	switch {
	case b.owner != nil:
		custom.Free(b.owner, b.Data, b.Size)
	case sanitized:
		C.lt_free(b.Data)
	case b.slab != nil:
		b.slab.returnBlock(b.Data)
	default:
		cacheBlock(b)
	}
}

// cacheBlock keeps a large block for reuse. It frees older ones if there are too many.
func cacheBlock(b Block) {
	memory.mu.Lock()
	defer memory.mu.Unlock()
	memory.large = append(memory.large, b)
	memory.cached.Add(b.Size)
	evictLocked(min(cacheLimit, max(cacheLeast, unusedLimit())))
}

// shrinkCache frees the oldest cached large blocks until at most limit bytes are cached.
func shrinkCache(limit int64) {
	memory.mu.Lock()
	defer memory.mu.Unlock()
	evictLocked(limit)
}

// TrimVariable is the environment variable with which glibc's malloc is told how many free bytes to keep from the system. Dask sets it for
// its workers, whose memory it watches from outside.
const TrimVariable = "MALLOC_TRIM_THRESHOLD_"

// trimThreshold bounds unusedLimit.
var trimThreshold = parseTrimThreshold(os.Getenv(TrimVariable))

func parseTrimThreshold(text string) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64); err == nil && n >= 0 {
		return n
	}
	return math.MaxInt64
}

// unusedLimit returns how many unused bytes may be kept: used and unused bytes are at most a quarter above the peak of used ones.
func unusedLimit() int64 {
	peak := memory.peak.Load()
	return min(trimThreshold, peak+peak/4-memory.inUse.Load())
}

// evictLocked is shrinkCache for callers that hold the lock.
func evictLocked(limit int64) {
	for memory.cached.Load() > limit {
		b := memory.large[0]
		memory.large = memory.large[1:]
		memory.cached.Add(-b.Size)
		C.lt_unmap_large(b.Data, C.size_t(b.Size))
	}
}

// EmptyCache returns the memory of unused blocks to the system.
func EmptyCache() {
	for _, p := range memory.parked {
		p.Empty()
	}
	shrinkCache(0)
	trimSmall()
}

// AddParking registers a pool of freed storages. Call it from init.
func AddParking(p Parking) { memory.parked = append(memory.parked, p) }
