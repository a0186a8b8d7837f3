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

// pinning is that of the backend that has one.
var pinning Pinning

// RegisterPinning sets who pins memory. Call it from init.
func RegisterPinning(p Pinning) { pinning = p }

// pinned is the backing of a storage in pinned memory.
type pinned struct{}

func (pinned) release(_ *Storage, data unsafe.Pointer) {
	memory.blocks.Add(-1)
	if data != nil {
		pinning.Unpin(data)
	}
}

// NewPinned makes a storage of the host in pinned memory, with arbitrary bytes and one reference. It cannot be resized.
func NewPinned(op string, nbytes int64) (*Storage, error) {
	if pinning == nil {
		return nil, status.Runtimef("%s: this build has no backend that supports pinned memory", op)
	}
	s := &Storage{nbytes: nbytes, refs: 1, device: device.Host, backing: pinned{}}
	if nbytes > 0 {
		var err error
		if s.data, err = pinning.Pin(op, nbytes); err != nil {
			return nil, err
		}
	}
	memory.blocks.Add(1)
	return s, nil
}

// Whole returns the storage that s is a slice of, or s itself.
func (s *Storage) Whole() *Storage {
	for {
		p, ok := s.backing.(part)
		if !ok {
			return s
		}
		s = p.whole
	}
}

// Pinned reports whether the bytes are in pinned memory.
func (s *Storage) Pinned() bool {
	_, ok := s.Whole().backing.(pinned)
	return ok
}
