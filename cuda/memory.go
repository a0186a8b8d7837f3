package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

const (
	grain      = 512     // blocks are multiples of this
	large      = 1 << 20 // and from this size on of
	largeGrain = 1 << 21
)

// pool keeps the blocks of a device that nobody uses. All work is in one stream: what is written to a block that is used again comes after
// what its last user left to do.
type pool struct {
	mu                    sync.Mutex
	free                  []block // by size
	inUse, peak, reserved int64
}

type block struct {
	at   cu.DevicePtr
	size int64
}

func bySize(b block, size int64) int { return cmp.Compare(b.size, size) }

// memory is the allocator of storages on CUDA devices.
type memory struct{}

// address is a place on a device as storages hold it. The host never follows it.
func address(at cu.DevicePtr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func blockSize(nbytes int64) int64 {
	unit := int64(grain)
	if nbytes >= large {
		unit = largeGrain
	}
	return (nbytes + unit - 1) / unit * unit
}

func (memory) Allocate(op string, d device.Device, nbytes int64, zero bool) (b storage.Block, err error) {
	if nbytes > 1<<60 {
		return b, status.Memoryf("%s: cannot allocate %d bytes", op, nbytes)
	}
	err = on(op, d, func(m *machine) error {
		got, err := m.allocate(op, blockSize(nbytes))
		if err != nil {
			return err
		}
		if zero {
			if err := cu.MemsetD8Async(got.at, 0, nbytes, m.stream); err != nil {
				m.give(got)
				return failed(op, "cuMemsetD8Async", err)
			}
		}
		b = storage.Block{Data: address(got.at), Size: got.size}
		return nil
	})
	return b, err
}

func (memory) Free(d device.Device, b storage.Block) {
	if m, err := open("free", d); err == nil {
		m.give(block{cu.DevicePtr(b.Data), b.Size})
	}
}

// Copy has no way to tell of an error: one of the driver that matters comes back from every call after it.
func (memory) Copy(d device.Device, to, from unsafe.Pointer, nbytes int64) {
	_ = on("copy", d, func(m *machine) error {
		return cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), nbytes, m.stream)
	})
}

// allocate takes a free block that is at most a quarter larger, or one from the driver, after giving it the free ones back where it has
// no memory left.
func (m *machine) allocate(op string, size int64) (block, error) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := slices.BinarySearchFunc(p.free, size, bySize)
	var got block
	if at < len(p.free) && p.free[at].size-size <= size/4 {
		got = p.free[at]
		p.free = slices.Delete(p.free, at, at+1)
	} else {
		place, err := cu.MemAlloc(size)
		if driver.OutOfMemory(err) && m.empty(op) == nil {
			place, err = cu.MemAlloc(size)
		}
		if driver.OutOfMemory(err) {
			return got, m.exhausted(op, size)
		}
		if err != nil {
			return got, failed(op, "cuMemAlloc", err)
		}
		got = block{place, size}
		p.reserved += size
	}
	p.inUse += got.size
	p.peak = max(p.peak, p.inUse)
	return got, nil
}

// give takes a block back.
func (m *machine) give(b block) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := slices.BinarySearchFunc(p.free, b.size, bySize)
	p.free = slices.Insert(p.free, at, b)
	p.inUse -= b.size
}

// empty gives the free blocks to the driver. The lock of the pool is held.
func (m *machine) empty(op string) error {
	p := &m.pool
	for i, b := range p.free {
		if err := cu.MemFree(b.at); err != nil {
			p.free = p.free[i:]
			return failed(op, "cuMemFree", err)
		}
		p.reserved -= b.size
	}
	p.free = nil
	return nil
}

// caches are the free blocks of all devices, for storage.EmptyCache. The CPU's account has none of them.
type caches struct{}

func (caches) Held() (storages, bytes int64) { return 0, 0 }

func (caches) Empty() {
	machines.Lock()
	defer machines.Unlock()
	for _, m := range machines.byIndex {
		_ = m.run("empty_cache", func(m *machine) error {
			m.pool.mu.Lock()
			defer m.pool.mu.Unlock()
			return m.empty("empty_cache")
		})
	}
}

// account is that of a device's memory.
func account(op string, d device.Device) (a device.Memory, err error) {
	err = on(op, d, func(m *machine) error {
		free, total, err := cu.MemInfo()
		p := &m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		a = device.Memory{InUse: p.inUse, Peak: p.peak, Reserved: p.reserved, Free: free, Total: total}
		return failed(op, "cuMemGetInfo", err)
	})
	return a, err
}

// exhausted is the error of a device without memory.
func (m *machine) exhausted(op string, size int64) error {
	free, total, err := cu.MemInfo()
	if err != nil {
		return failed(op, "cuMemGetInfo", err)
	}
	return status.Memoryf("%s: CUDA out of memory. Tried to allocate %s. Device cuda:%d has %s in all, of which %s are free; tensors hold %s, and no block is kept for reuse",
		op, readable(size), m.index, readable(total), readable(free), readable(m.pool.inUse))
}

// readable is a number of bytes in the unit that suits it.
func readable(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	}
	if n < 1<<30 {
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
