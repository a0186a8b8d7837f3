package storage

// #include <stdlib.h>
// #include "region.h"
import "C"

import (
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// fileRegion is the mapped file or shared memory that holds a storage's bytes.
type fileRegion struct {
	fd       C.int // -1 for private mappings, which need none
	length   int64
	filename string // "" for memory without a name
	shared   bool   // changes reach the file and the other processes
	counted  int64  // bytes that count as in use
	key      [2]uint64
}

// sharedStorages finds the open storages of shared memory in this process, so that memory that is received twice, or returned, is one
// storage.
var sharedStorages struct {
	sync.Mutex
	open map[[2]uint64]*Storage
}

// regionError returns the error of the last system call on a region, or nil.
func regionError(m *C.lt_region) error {
	if m.error == 0 {
		return nil
	}
	return syscall.Errno(m.error)
}

// FromFile maps the first nbytes of a file. With share, changes are written to the file, which is created or extended if it is too short;
// otherwise they affect only this storage.
func FromFile(op, filename string, share bool, nbytes int64) (s *Storage, err error) {
	if nbytes < 0 {
		return nil, status.Runtimef("%s: cannot map %d bytes of file <%s>", op, nbytes, filename)
	}
	path := C.CString(filename)
	defer C.free(unsafe.Pointer(path))
	var m C.lt_region
	C.lt_open(&m, path, boolToInt(share))
	defer func() {
		if err != nil {
			C.lt_remove_created(&m, path)
		}
		C.lt_close(m.fd)
	}()
	if err := regionError(&m); err != nil {
		return nil, status.Runtimef("%s: unable to open file <%s>: %v", op, filename, err)
	}
	if nbytes > int64(m.length) {
		if !share {
			return nil, status.Runtimef("%s: file <%s> has %d bytes, fewer than the %d to map; shared=True extends it", op, filename, m.length,
				nbytes)
		}
		if C.lt_extend(&m, C.int64_t(nbytes)); m.error != 0 {
			return nil, status.IOf("%s: unable to extend file <%s> to %d bytes: %v", op, filename, nbytes, regionError(&m))
		}
	}
	if !share {
		filename = ""
	}
	return mapRegion(op, &m, filename, nbytes, share)
}

// FromOpenFile maps the first nbytes of f. Changes stay in this storage, and f may be closed.
func FromOpenFile(op string, f *os.File, nbytes int64) (*Storage, error) {
	m := C.lt_region{fd: C.int(f.Fd())}
	return mapRegion(op, &m, "", nbytes, false)
}

// FromDescriptor maps nbytes of the shared memory that fd describes, whose size must be sealed: bytes that another process takes
// away end this one when it reads them. The descriptor stays the caller's.
func FromDescriptor(op string, fd, nbytes int64) (*Storage, error) {
	if fd < 0 || fd > math.MaxInt32 {
		return nil, status.Valuef("%s: %d is not a valid file descriptor", op, fd)
	}
	var m C.lt_region
	C.lt_open_again(&m, C.int(fd))
	defer func() { C.lt_close(m.fd) }()
	if err := regionError(&m); err != nil {
		return nil, status.Valuef("%s: descriptor %d does not refer to shared memory: %v", op, fd, err)
	}
	if C.lt_sealed(m.fd) == 0 {
		return nil, status.Valuef("%s: descriptor %d refers to memory whose size is not sealed; pass a descriptor that storage_descriptor returned",
			op, fd)
	}
	if nbytes < 0 || nbytes > int64(m.length) {
		return nil, status.Valuef("%s: descriptor %d refers to %d bytes, but %d are requested", op, fd, m.length, nbytes)
	}
	return mapRegion(op, &m, "", nbytes, true)
}

// mapRegion creates the storage of an open descriptor, or finds the one that this process has of the same memory. A shared one keeps the
// descriptor.
func mapRegion(op string, m *C.lt_region, filename string, nbytes int64, share bool) (*Storage, error) {
	key := [2]uint64{uint64(m.device), uint64(m.id)}
	if share {
		sharedStorages.Lock()
		defer sharedStorages.Unlock()
		if s := sharedStorages.open[key]; s != nil && s.nbytes == nbytes && s.retainIfUsed() {
			return s, nil
		}
	}
	if nbytes > 0 {
		if C.lt_map(m, C.int64_t(nbytes), boolToInt(share)); m.error != 0 {
			return nil, mapError(op, nbytes, regionError(m))
		}
		// A file that was cut shorter meanwhile would end the process that reads it.
		if C.lt_look(m); m.error != 0 || int64(m.length) < nbytes {
			C.lt_unmap(m.data, C.int64_t(nbytes))
			return nil, status.Runtimef("%s: the file has %d bytes, fewer than the %d to map", op, m.length, nbytes)
		}
	}
	s := &Storage{data: m.data, nbytes: nbytes, device: device.Host, refs: 1}
	behind := &fileRegion{fd: -1, length: nbytes, filename: filename, shared: share, key: key}
	s.backing = behind
	memory.blocks.Add(1)
	if share {
		behind.fd, m.fd = m.fd, -1
		behind.register(s)
	}
	return s, nil
}

// mapError returns the error of a mapping that failed.
func mapError(op string, nbytes int64, err error) error {
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) {
		return status.Memoryf("%s: unable to map %d bytes: %v", op, nbytes, err)
	}
	return status.Runtimef("%s: unable to map %d bytes: %v", op, nbytes, err)
}

// register makes a storage the one that mapRegion finds. The lock is held.
func (r *fileRegion) register(s *Storage) {
	if sharedStorages.open == nil {
		sharedStorages.open = map[[2]uint64]*Storage{}
	}
	sharedStorages.open[r.key] = s
}

// registerInherited is register for callers that do not hold the lock.
func (r *fileRegion) registerInherited(s *Storage) {
	sharedStorages.Lock()
	defer sharedStorages.Unlock()
	r.register(s)
}

// retainIfUsed takes a reference unless the last one is gone.
func (s *Storage) retainIfUsed() bool {
	for {
		refs := atomic.LoadInt64(&s.refs)
		if refs == 0 {
			return false
		}
		if atomic.CompareAndSwapInt64(&s.refs, refs, refs+1) {
			return true
		}
	}
}

// Share moves the bytes into memory that other processes can map. It does nothing when they are there already. A slice of a mapped file
// no longer shares the mapping.
func (s *Storage) Share(op string) error {
	switch {
	case s.Shared():
		return nil
	case s.device.Type != device.CPU:
		return status.Runtimef("%s: a storage on device %v cannot be shared; only storages on the cpu can be", op, s.device)
	case s.fixed.Load():
		return status.Runtimef("%s: the storage cannot be moved to shared memory: an array of the host language shares its memory; share the storage before exporting it, or share a clone()",
			op)
	case s.slicesMemory():
		return status.Runtimef("%s: the storage cannot be moved to shared memory: it is a slice of another storage, which shares its memory; share that storage, or a clone()",
			op)
	}
	return s.moveBytes(op, func() error { return s.moveToShared(op) })
}

// moveToShared copies the bytes to new shared memory and frees the former ones.
func (s *Storage) moveToShared(op string) error {
	if err := countInUse(op, s.nbytes); err != nil {
		return err
	}
	var m C.lt_region
	C.lt_open_anonymous(&m, C.int64_t(s.nbytes))
	if m.error == 0 && s.nbytes > 0 {
		C.lt_map(&m, C.int64_t(s.nbytes), 1)
	}
	if err := regionError(&m); err != nil {
		C.lt_close(m.fd)
		memory.inUse.Add(-s.nbytes)
		return status.Memoryf("%s: unable to create %d bytes of shared memory: %v", op, s.nbytes, err)
	}
	if s.nbytes > 0 {
		copy(unsafe.Slice((*byte)(m.data), s.nbytes), s.Bytes())
	}
	raisePeak()
	s.freeBytes()
	s.data, s.readOnly = m.data, false
	behind := &fileRegion{fd: m.fd, length: s.nbytes, shared: true, counted: s.nbytes, key: [2]uint64{uint64(m.device), uint64(m.id)}}
	s.backing = behind
	memory.blocks.Add(1)
	sharedStorages.Lock()
	defer sharedStorages.Unlock()
	behind.register(s)
	return nil
}

// Shared reports whether the bytes are in memory that other processes can map, also as part of a larger storage.
func (s *Storage) Shared() bool {
	switch b := s.backing.(type) {
	case *fileRegion:
		return b.shared
	case sliceBacking:
		return b.owner.Shared()
	}
	return false
}

// Descriptor returns the file descriptor of shared memory, for another process to map; the storage owns it.
func (s *Storage) Descriptor(op string) (int64, error) {
	switch m, ok := s.backing.(*fileRegion); {
	case ok && m.shared:
		return int64(m.fd), nil
	case s.Shared():
		return 0, status.Runtimef("%s: the storage is a slice of a storage in shared memory and has no descriptor; clone() it", op)
	}
	return 0, status.Runtimef("%s: the storage is not in shared memory; call share_memory_() first", op)
}

// Filename returns the file that changes are written to, or "".
func (s *Storage) Filename() string {
	if m, ok := s.backing.(*fileRegion); ok {
		return m.filename
	}
	return ""
}

// release unmaps the memory and closes its descriptor.
func (r *fileRegion) release(s *Storage, data unsafe.Pointer) {
	if r.shared {
		sharedStorages.Lock()
		if sharedStorages.open[r.key] == s {
			delete(sharedStorages.open, r.key)
		}
		sharedStorages.Unlock()
	}
	C.lt_unmap(data, C.int64_t(r.length))
	C.lt_close(r.fd)
	memory.inUse.Add(-r.counted)
	memory.blocks.Add(-1)
}

func boolToInt(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
