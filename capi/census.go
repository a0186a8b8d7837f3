package main

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() { ops.Census = countMemory }

// countMemory adds up the memory of the live handles by dtype.
func countMemory() map[dtype.DType]ops.Usage {
	type viewed struct {
		storage *storage.Storage
		dtype   dtype.DType
	}
	usage, seen := map[dtype.DType]ops.Usage{}, map[viewed]bool{}
	slots.Lock()
	defer slots.Unlock()
	for i := range slots.made {
		s := &slots.chunks[i/chunkSlots][i%chunkSlots]
		t := s.tensor // another thread may take or empty the slot meanwhile
		v := viewed{s.storage, dtype.None}
		if t != nil {
			v = viewed{t.Storage(), t.DType()}
		}
		if v.storage == nil {
			continue
		}
		u := usage[v.dtype]
		if t != nil {
			u.Tensors++
		}
		if !seen[v] {
			seen[v] = true
			u.Storages++
			u.Bytes += v.storage.Nbytes()
		}
		usage[v.dtype] = u
	}
	return usage
}
