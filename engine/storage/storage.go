// Package storage owns the bytes of tensors: outside the Go heap, 64-byte aligned, reference-counted, freed the moment the
// last reference goes.
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
	capacity int64 // bytes of the block behind data; 0 when the bytes are another owner's
	refs     atomic.Int64
	device   device.Device
	readOnly bool
	owner    *External
}

// External is the owner of bytes that libtensor did not allocate. Deleter is a C function void (*)(void *) that is called
// with Context exactly once, when the last reference goes, from whichever thread that happens on.
type External struct {
	Deleter, Context unsafe.Pointer
}

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
	s.nbytes, s.device = nbytes, d
	s.refs.Store(1)
	if nbytes == 0 || d.Type == device.Meta {
		return nil
	}
	var err error
	s.data, s.capacity, err = allocate(op, nbytes, zero)
	return err
}

// FromExternal wraps nbytes at data, which owner keeps alive.
func FromExternal(data unsafe.Pointer, nbytes int64, d device.Device, owner *External, readOnly bool) *Storage {
	s := &Storage{data: data, nbytes: nbytes, device: d, owner: owner, readOnly: readOnly}
	s.refs.Store(1)
	return s
}

// Data is the first byte; nil for empty and meta storages.
func (s *Storage) Data() unsafe.Pointer { return s.data }

// Bytes is the whole storage as a slice, valid while a reference is held.
func (s *Storage) Bytes() []byte {
	if s.data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(s.data), s.nbytes)
}

// Nbytes is the size in bytes.
func (s *Storage) Nbytes() int64 { return s.nbytes }

// Device tells where the bytes live.
func (s *Storage) Device() device.Device { return s.device }

// ReadOnly tells whether the bytes must not be written.
func (s *Storage) ReadOnly() bool { return s.readOnly }

// Owned tells whether the bytes are libtensor's own, so that the storage can be resized.
func (s *Storage) Owned() bool { return s.owner == nil }

// Refs is the number of references.
func (s *Storage) Refs() int64 { return s.refs.Load() }

// Retain adds a reference.
func (s *Storage) Retain() *Storage {
	s.refs.Add(1)
	return s
}

// Release drops a reference; the last one frees the bytes.
func (s *Storage) Release() {
	if s.refs.Add(-1) != 0 {
		return
	}
	data, owner := s.data, s.owner
	s.data, s.owner = nil, nil
	if owner != nil {
		if owner.Deleter != nil {
			C.lt_call_deleter(owner.Deleter, owner.Context)
		}
		return
	}
	if data != nil {
		release(data, s.capacity)
	}
}

// Resize changes the size, keeping the bytes that fit; new bytes are arbitrary.
func (s *Storage) Resize(op string, nbytes int64) error {
	switch {
	case nbytes < 0:
		return status.Runtimef("%s: a storage cannot have %d bytes", op, nbytes)
	case !s.Owned():
		return status.Runtimef("%s: trying to resize a storage of %d bytes that another library owns", op, s.nbytes)
	case s.device.Type == device.Meta || nbytes <= s.capacity && nbytes > 0:
		s.nbytes = nbytes
		return nil
	}
	var data unsafe.Pointer
	var capacity int64
	if nbytes > 0 {
		var err error
		if data, capacity, err = allocate(op, nbytes, false); err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(data), nbytes), s.Bytes())
	}
	if s.data != nil {
		release(s.data, s.capacity)
	}
	s.data, s.capacity, s.nbytes = data, capacity, nbytes
	return nil
}
