// Package storage manages the memory of tensors: outside of the Go heap, 64-byte aligned, reference-counted, and freed with the
// last reference.
package storage

// #include "alloc.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// Storage is a block of untyped bytes that any number of tensors, of any dtype, view.
type Storage struct {
	data     unsafe.Pointer
	nbytes   int64
	block    Block // behind data; none when the bytes are another owner's
	refs     int64
	version  int64 // how often operators have written
	device   device.Device
	readOnly bool
	fixed    atomic.Bool  // the address of the bytes was exported: they must not move
	moving   atomic.Int32 // started moves of the bytes, at most one of which succeeds: no call may begin to use them
	uses     atomic.Int32 // of the bytes, in addition to those by the arguments of calls
	backing  backing
}

// backing owns bytes that were not allocated by this package; it is nil for blocks of the package.
type backing interface {
	release(s *Storage, data unsafe.Pointer)
}

// External is the owner of bytes that libtensor did not allocate. Deleter is a C function void (*)(void *) that is called with Context
// exactly once, when the last reference is released, on the thread that releases it.
type External struct {
	Deleter, Context uintptr
}

func (e *External) release(*Storage, unsafe.Pointer) {
	memory.blocks.Add(-1)
	if e.Deleter != 0 {
		C.lt_call_deleter(C.uintptr_t(e.Deleter), C.uintptr_t(e.Context))
	}
}

// sliceBacking is a slice's reference to the storage that owns its bytes.
type sliceBacking struct{ owner *Storage }

func (p sliceBacking) release(*Storage, unsafe.Pointer) { p.owner.Release() }

// New makes a storage of nbytes on d with one reference. Bytes are zero when zero is set, otherwise arbitrary.
func New(op string, nbytes int64, d device.Device, zero bool) (*Storage, error) {
	s := new(Storage)
	return s, s.Init(op, nbytes, d, zero)
}

// Init is New in memory that the caller has.
func (s *Storage) Init(op string, nbytes int64, d device.Device, zero bool) error {
	if nbytes < 0 {
		return status.Runtimef("%s: a storage cannot have %d bytes", op, nbytes)
	}
	a, err := allocatorOf(op, d)
	if err != nil {
		return err
	}
	s.nbytes, s.block, s.device, s.readOnly = nbytes, Block{}, d, false
	s.fixed.Store(false)
	s.refs, s.version = 1, 0
	if nbytes == 0 {
		return nil
	}
	s.block, err = a.Allocate(op, d, nbytes, zero)
	s.data = s.block.Data
	return err
}

// ParkLimit is the largest block that Park keeps.
const ParkLimit = 4096

// ParkClass numbers the block sizes up to ParkLimit: a block of one class serves every request of that class.
func ParkClass(nbytes int64) int64 { return (nbytes + alignment - 1) / alignment }

// ParkClasses is the number of classes.
const ParkClasses = ParkLimit/alignment + 1

// Park keeps the small block of a storage whose sole reference is being given up, for Unpark to use again. It does nothing
// and returns false for other storages, which are to be released. Parked blocks count neither as in use nor as cached.
func (s *Storage) Park() bool {
	if s.block.slab == nil || isCustom() || s.backing != nil || s.fixed.Load() || s.block.Size > ParkLimit || atomic.LoadInt64(&s.refs) != 1 {
		return false
	}
	memory.inUse.Add(-s.block.Size)
	s.refs = 0
	return true
}

// Unpark reinitializes a parked storage, like Init: nbytes must be of the size class of its block.
func (s *Storage) Unpark(op string, nbytes int64, zero bool) error {
	if err := countInUse(op, s.block.Size); err != nil {
		return err
	}
	raisePeak()
	s.nbytes, s.refs, s.version = nbytes, 1, 0
	if zero {
		clear(s.Bytes())
	}
	return nil
}

// Discard frees a parked storage's block.
func (s *Storage) Discard() {
	memory.inUse.Add(s.block.Size)
	s.block.release()
	s.data, s.block = nil, Block{}
}

// BumpVersion increments the version after a write by an operator. Writes through exported addresses are not counted.
func (s *Storage) BumpVersion() { atomic.AddInt64(&s.version, 1) }

// Version returns how often operators have written to the storage.
func (s *Storage) Version() int64 { return atomic.LoadInt64(&s.version) }

// Capacity returns the size of the block behind the bytes.
func (s *Storage) Capacity() int64 { return s.block.Size }

// Class returns the class of the storage's block.
func (s *Storage) Class() int64 { return ParkClass(s.block.Size) }

// FromExternal wraps nbytes at data, which owner keeps alive.
func FromExternal(data unsafe.Pointer, nbytes int64, d device.Device, owner *External, readOnly bool) *Storage {
	s := new(Storage)
	s.InitExternal(data, nbytes, d, owner, readOnly)
	return s
}

// InitExternal is FromExternal in memory that the caller has.
func (s *Storage) InitExternal(data unsafe.Pointer, nbytes int64, d device.Device, owner *External, readOnly bool) {
	memory.blocks.Add(1)
	s.fixed.Store(false)
	s.data, s.nbytes, s.device, s.refs, s.backing, s.readOnly = data, nbytes, d, 1, owner, readOnly
	s.version = 0
}

// Slice returns a storage of the bytes from start to stop, which it shares. Neither can be resized from then on.
func (s *Storage) Slice(op string, start, stop int64) (*Storage, error) {
	if start < 0 || stop < start || stop > s.nbytes {
		return nil, status.Indexf("%s: bytes %d to %d are out of range for a storage of size %d", op, start, stop, s.nbytes)
	}
	s.Fix()
	made := &Storage{nbytes: stop - start, device: s.device, refs: 1, backing: sliceBacking{s.Retain()}, readOnly: s.readOnly}
	if s.data != nil {
		made.data = unsafe.Add(s.data, start)
	}
	return made, nil
}

// Data returns the first byte; nil for empty and meta storages.
func (s *Storage) Data() unsafe.Pointer { return s.data }

// Bytes returns the whole storage as a slice, valid while a reference is held.
func (s *Storage) Bytes() []byte {
	if s.data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(s.data), s.nbytes)
}

// Nbytes returns the size in bytes.
func (s *Storage) Nbytes() int64 { return s.nbytes }

// Device reports where the bytes live.
func (s *Storage) Device() device.Device { return s.device }

// ReadOnly reports whether the bytes must not be written.
func (s *Storage) ReadOnly() bool { return s.readOnly }

// Owned reports whether the bytes are a block of libtensor's own.
func (s *Storage) Owned() bool { return s.backing == nil }

// slicesMemory reports whether the storage is a slice of one that is not a private mapping of a file. Loaders slice such mappings, in which
// no two storages share bytes.
func (s *Storage) slicesMemory() bool {
	b, ok := s.backing.(sliceBacking)
	if !ok {
		return false
	}
	_, mapped := b.owner.backing.(*fileRegion)
	return !mapped
}

// Resizable reports whether Resize can change the size.
func (s *Storage) Resizable() bool { return s.Owned() && !s.fixed.Load() }

// Refs returns the number of references.
func (s *Storage) Refs() int64 { return atomic.LoadInt64(&s.refs) }

// Retain adds a reference.
func (s *Storage) Retain() *Storage {
	atomic.AddInt64(&s.refs, 1)
	return s
}

// Release drops a reference; the last one frees the bytes. It reports whether it was the last.
func (s *Storage) Release() bool {
	// A sole owner cannot race, except if memory is found through its mapping.
	if s.backing == nil && atomic.LoadInt64(&s.refs) == 1 {
		s.refs = 0
	} else if atomic.AddInt64(&s.refs, -1) != 0 {
		return false
	}
	s.freeBytes()
	return true
}

// freeBytes returns the bytes to their allocator or owner.
func (s *Storage) freeBytes() {
	data, backing := s.data, s.backing
	s.data, s.backing = nil, nil
	if backing != nil {
		backing.release(s, data)
	} else if data != nil {
		allocators[s.device.Type].Free(s.device, s.block)
		s.block = Block{}
	}
}

// Fix pins the storage's bytes to their address until it is freed: it can no longer be resized.
func (s *Storage) Fix() { s.fixed.Store(true) }

// UsedElsewhere reports whether a call on another thread uses a storage. The layer that accepts calls sets it.
var UsedElsewhere = func(*Storage) bool { return false }

// Moving reports whether the bytes are being moved.
func (s *Storage) Moving() bool { return s.moving.Load() != 0 }

// Use keeps the bytes at their address until Done. It returns false, without effect, while they are being moved. Calls need it for storages
// that are not among their arguments.
func (s *Storage) Use() bool {
	s.uses.Add(1)
	if s.Moving() {
		s.Done()
		return false
	}
	return true
}

// Done ends a use.
func (s *Storage) Done() { s.uses.Add(-1) }

// moveBytes runs change, which moves the bytes to another address. It returns an error if a call on another thread uses them, or if a call
// that ended in the meantime exported them.
func (s *Storage) moveBytes(op string, change func() error) error {
	s.moving.Add(1)
	defer s.moving.Add(-1)
	if s.uses.Load() != 0 || UsedElsewhere(s) {
		return status.Runtimef("%s: the storage of %d bytes is in use by a call on another thread and cannot move; wait until that call returns",
			op, s.nbytes)
	}
	if s.fixed.Load() {
		return status.Runtimef("%s: the storage of %d bytes cannot move: %s", op, s.nbytes, s.unresizableReason())
	}
	return change()
}

// CheckResize returns an error for a size that the storage cannot be given.
func (s *Storage) CheckResize(op string, nbytes int64) error {
	switch {
	case nbytes < 0:
		return status.Runtimef("%s: a storage cannot have %d bytes", op, nbytes)
	case nbytes != s.nbytes && !s.Resizable():
		return status.Runtimef("%s: trying to resize a storage of %d bytes to %d bytes, but it is not resizable: %s", op, s.nbytes, nbytes,
			s.unresizableReason())
	}
	return nil
}

// Resize changes the size, keeping the bytes that fit; new bytes are arbitrary.
func (s *Storage) Resize(op string, nbytes int64) error {
	if err := s.CheckResize(op, nbytes); err != nil {
		return err
	}
	switch {
	case nbytes == s.nbytes:
		return nil
	case s.device.Type == device.Meta || nbytes <= s.block.Size && nbytes > 0:
		s.nbytes = nbytes
		return nil
	}
	return s.moveBytes(op, func() error {
		if nbytes == 0 {
			s.replaceBlock(Block{}, 0)
			return nil
		}
		b, err := allocators[s.device.Type].Allocate(op, s.device, nbytes, false)
		if err == nil {
			s.replaceBlock(b, nbytes)
		}
		return err
	})
}

// replaceBlock replaces the block of the bytes. It copies the bytes that fit.
func (s *Storage) replaceBlock(b Block, nbytes int64) {
	a := allocators[s.device.Type]
	if s.data != nil {
		if n := min(nbytes, s.nbytes); n > 0 {
			a.Copy(s.device, b.Data, s.data, n)
		}
		a.Free(s.device, s.block)
	}
	s.data, s.block, s.nbytes = b.Data, b, nbytes
}

// Revert undoes a Resize: it restores the former size and capacity, whatever the memory limit. Blocks of devices keep their larger
// capacity, unless there was none before.
func (s *Storage) Revert(nbytes, capacity int64) {
	if s.nbytes == nbytes && s.block.Size == capacity {
		return
	}
	s.nbytes = min(s.nbytes, nbytes)
	if s.block.Size == capacity || capacity > 0 && s.device.Type != device.CPU {
		return
	}
	_ = s.moveBytes("revert", func() error {
		if capacity == 0 {
			s.replaceBlock(Block{}, 0)
			return nil
		}
		memory.inUse.Add(capacity)
		b, _, err := newBlockOrEvict("revert", capacity)
		if err == nil {
			memory.blocks.Add(1)
			s.replaceBlock(b, s.nbytes)
		}
		return err
	})
}

// unresizableReason describes for errors why the storage cannot be resized.
func (s *Storage) unresizableReason() string {
	switch b := s.backing.(type) {
	case nil:
		return "an array of the host language or a slice shares its memory"
	case *fileRegion:
		if b.filename != "" {
			return "it is mapped from file <" + b.filename + ">"
		}
		return "it is mapped memory"
	case sliceBacking:
		return "it is a slice of another storage"
	case pinnedBacking:
		return "it is pinned memory"
	}
	return "another library owns its memory"
}
