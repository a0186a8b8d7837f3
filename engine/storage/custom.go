package storage

import (
	"sync/atomic"
	"unsafe"
)

// Custom is an allocator of the application, in place of the mappings of this package.
type Custom struct {
	// Allocate returns size bytes at a multiple of alignment, and their owner, which Free needs. The data is nil if there is no memory; the
	// owner is nil if the allocator was removed in the meantime.
	Allocate func(size, alignment int64) (data, owner unsafe.Pointer)
	Free     func(owner, data unsafe.Pointer, size int64)
}

var (
	custom    Custom
	customSet = new(atomic.Uintptr)
)

// SetCustom makes CPU storages use c while set, the address of an allocator, is not 0. Call it from init.
func SetCustom(set *atomic.Uintptr, c Custom) { customSet, custom = set, c }

// isCustom reports whether new blocks are the application's.
func isCustom() bool { return customSet.Load() != 0 }

// obtainCustom returns a block of the application's allocator. found is false if there is none.
func obtainCustom(size int64) (b Block, found bool) {
	if !isCustom() {
		return Block{}, false
	}
	data, owner := custom.Allocate(size, alignment)
	if data != nil {
		return Block{Data: data, Size: size, owner: owner}, true
	}
	return Block{}, isCustom()
}

// IsCustom reports whether the bytes are a block of the application's allocator.
func (s *Storage) IsCustom() bool { return s.block.owner != nil }
