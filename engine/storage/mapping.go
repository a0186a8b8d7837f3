package storage

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// Mapping is a whole file in memory. Its pages are read when they are first used; writes to them stay in this process.
type Mapping struct {
	bytes []byte
	refs  atomic.Int64
}

// Map maps the first size bytes of f, with one reference to the result.
func Map(op string, f *os.File, size int64) (*Mapping, error) {
	m := &Mapping{}
	m.refs.Store(1)
	if size == 0 {
		return m, nil
	}
	var err error
	m.bytes, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, status.IOf("%s: %s cannot be mapped into memory: %v", op, f.Name(), err)
	}
	return m, nil
}

// Storage is one over nbytes of the mapping from offset on, which it keeps alive.
func (m *Mapping) Storage(offset, nbytes int64) *Storage {
	m.refs.Add(1)
	var data unsafe.Pointer
	if nbytes > 0 {
		data = unsafe.Pointer(&m.bytes[offset : offset+nbytes][0])
	}
	return FromExternal(data, nbytes, device.Host, &External{Free: m.Release}, false)
}

// Release drops a reference; the last one unmaps the file.
func (m *Mapping) Release() {
	if m.refs.Add(-1) == 0 && m.bytes != nil {
		_ = syscall.Munmap(m.bytes) // fails for addresses alone that are no mapping
	}
}
