package storage

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// Pinning allocates page-locked host memory, which a device reads and writes by itself.
type Pinning interface {
	Pin(op string, nbytes int64) (unsafe.Pointer, error)
	Unpin(data unsafe.Pointer)
}

// pinAllocator is the Pinning of the backend that has one.
var pinAllocator Pinning

// RegisterPinning sets who pins memory. Call it from init.
func RegisterPinning(p Pinning) { pinAllocator = p }

// pinnedBacking is the backing of a storage in pinned memory.
type pinnedBacking struct{}

func (pinnedBacking) release(_ *Storage, data unsafe.Pointer) {
	memory.blocks.Add(-1)
	if data != nil {
		pinAllocator.Unpin(data)
	}
}

// NewPinned makes a storage of the host in pinned memory, with arbitrary bytes and one reference. It cannot be resized.
func NewPinned(op string, nbytes int64) (*Storage, error) {
	if pinAllocator == nil {
		return nil, status.Runtimef("%s: this build has no backend that supports pinned memory", op)
	}
	s := &Storage{nbytes: nbytes, refs: 1, device: device.Host, backing: pinnedBacking{}}
	if nbytes > 0 {
		var err error
		if s.data, err = pinAllocator.Pin(op, nbytes); err != nil {
			return nil, err
		}
	}
	memory.blocks.Add(1)
	return s, nil
}

// Whole returns the storage that s is a slice of, or s itself.
func (s *Storage) Whole() *Storage {
	for {
		p, ok := s.backing.(sliceBacking)
		if !ok {
			return s
		}
		s = p.owner
	}
}

// Pinned reports whether the bytes are in pinned memory.
func (s *Storage) Pinned() bool {
	_, ok := s.Whole().backing.(pinnedBacking)
	return ok
}
