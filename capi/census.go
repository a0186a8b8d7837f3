package main

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() { ops.Census = census }

// census counts what the live handles hold.
func census() map[dtype.DType]ops.Usage {
	type viewed struct {
		storage *storage.Storage
		dtype   dtype.DType
	}
	usage, seen := map[dtype.DType]ops.Usage{}, map[viewed]bool{}
	slots.Lock()
	defer slots.Unlock()
	for i := range slots.made {
		s := &slots.chunks[i/chunkSlots][i%chunkSlots]
		v := viewed{s.storage, dtype.None}
		if s.tensor != nil {
			v = viewed{s.tensor.Storage(), s.tensor.DType()}
		}
		if v.storage == nil {
			continue
		}
		u := usage[v.dtype]
		if s.tensor != nil {
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
