package storage

import (
	"strings"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// Allocator returns the storages on one type of device their bytes.
type Allocator interface {
	// Allocate returns a block of at least nbytes, more than 0, for op. The block is zero if zero is set, otherwise uninitialized.
	Allocate(op string, d device.Device, nbytes int64, zero bool) (Block, error)
	// Free takes a block back that Allocate gave.
	Free(d device.Device, b Block)
	// Copy copies nbytes between two blocks.
	Copy(d device.Device, to, from unsafe.Pointer, nbytes int64)
}

// Block is memory that an allocator gave: Size bytes at Data, or neither where a device has no bytes.
type Block struct {
	Data  unsafe.Pointer
	Size  int64
	slab  *slab          // that a small block of the host's was cut from
	owner unsafe.Pointer // of a block of the application's allocator
}

var allocators = [device.TypeCount]Allocator{device.CPU: hostAllocator{}, device.Meta: metaAllocator{}}

// Register makes a the allocator of a type of device. Call it from init.
func Register(t device.Type, a Allocator) { allocators[t] = a }

func allocatorOf(op string, d device.Device) (Allocator, error) {
	if t := int(d.Type); t >= 0 && t < len(allocators) && allocators[t] != nil {
		return allocators[t], nil
	}
	var have []string
	for t, a := range allocators {
		if a != nil {
			have = append(have, device.Type(t).String())
		}
	}
	last := len(have) - 1
	return nil, status.Runtimef("%s: device type %v is not supported; this build supports %s and %s", op, d.Type,
		strings.Join(have[:last], ", "), have[last])
}

// hostAllocator is the allocator of the process's memory.
type hostAllocator struct{}

func (hostAllocator) Allocate(op string, _ device.Device, nbytes int64, zero bool) (Block, error) {
	return allocateBlock(op, nbytes, zero)
}

func (hostAllocator) Free(_ device.Device, b Block) { b.release() }

func (hostAllocator) Copy(_ device.Device, to, from unsafe.Pointer, nbytes int64) {
	copy(unsafe.Slice((*byte)(to), nbytes), unsafe.Slice((*byte)(from), nbytes))
}

// metaAllocator is the allocator of meta storages, which have a size and no bytes.
type metaAllocator struct{}

func (metaAllocator) Allocate(string, device.Device, int64, bool) (Block, error) { return Block{}, nil }
func (metaAllocator) Free(device.Device, Block)                                  {}
func (metaAllocator) Copy(_ device.Device, _, _ unsafe.Pointer, _ int64)         {}
