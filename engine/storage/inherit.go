package storage

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/inherit"
)

func init() { inherit.Value(&memory.limit) }

// parents stands in for the parent's small blocks in a forked child. The child does not reuse their memory.
var parents slab

// Inherit returns a storage over the memory of old, a storage in the heap of the parent's runtime. fork() copies this memory, or shares it
// if the storage is shared. The returned storage has a reference count of 0. Inherit returns nil if the memory is not accessible in this
// process. inherited maps other storages of the parent to their copies.
func Inherit(old *Storage, inherited func(*Storage) *Storage) *Storage {
	if t := old.device.Type; t != device.CPU && t != device.Meta {
		return nil
	}
	s := &Storage{data: old.data, nbytes: old.nbytes, block: old.block, version: old.version, device: old.device, readOnly: old.readOnly}
	s.fixed.Store(old.fixed.Load())
	if s.block.slab != nil {
		s.block.slab = &parents
	}
	switch b := old.backing.(type) {
	case nil:
		if s.block.Data != nil {
			memory.inUse.Add(s.block.Size)
			memory.blocks.Add(1)
		}
	case *External:
		owner := *b
		s.backing = &owner
		memory.blocks.Add(1)
	case *fileRegion:
		r := *b
		s.backing = &r
		memory.inUse.Add(r.counted)
		memory.blocks.Add(1)
		if r.shared {
			r.registerInherited(s)
		}
	case sliceBacking:
		whole := inherited(b.owner)
		if whole == nil {
			return nil
		}
		s.backing = sliceBacking{whole.Retain()}
	default:
		return nil
	}
	raisePeak()
	return s
}
