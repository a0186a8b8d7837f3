package cuda

import (
	"fmt"
	"maps"
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
	// Block sizes in bytes are multiples of blockGrain, or of largeGrain from largeBlock on.
	blockGrain = 512
	largeBlock = 1 << 20
	largeGrain = 1 << 21
)

// memoryPool manages a device's memory blocks. Free blocks belong to the stream that used them: work on a reused block is enqueued after
// the remaining work of its last user.
type memoryPool struct {
	mu      sync.Mutex
	account device.Memory
	held    map[cu.DevicePtr]*heldBlock // storages of other streams than the default one, and those that several have used
	waiting pendingBlocks
}

// heldBlock describes a block that is in use by a storage: the stream that it returns to, and the other streams that have used it.
type heldBlock struct {
	home  *deviceStream
	users []*deviceStream
}

// storageAllocator is the allocator of storages on CUDA devices.
type storageAllocator struct{}

// storageAddress converts a device address to the type of addresses in storages. The host never dereferences it.
func storageAddress(at cu.DevicePtr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func blockSize(nbytes int64) int64 {
	unit := int64(blockGrain)
	if nbytes >= largeBlock {
		unit = largeGrain
	}
	return (nbytes + unit - 1) / unit * unit
}

func (storageAllocator) Allocate(op string, d device.Device, nbytes int64, zero bool) (b storage.Block, err error) {
	if nbytes > 1<<60 {
		return b, status.Memoryf("%s: cannot allocate %d bytes", op, nbytes)
	}
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		got, err := m.allocateBlock(op, blockSize(nbytes))
		if err != nil {
			return err
		}
		if zero {
			if err := cu.MemsetD8Async(got.at, 0, nbytes, m.stream); err != nil {
				m.freeBlock(got)
				return makeDriverError(op, "cuMemsetD8Async", err)
			}
		}
		if m.number != 0 {
			m.pool.recordUser(got.at, m, nil)
		}
		b = storage.Block{Data: storageAddress(got.at), Size: got.size}
		return nil
	})
	return b, err
}

// recordUser records the stream that a block returns to, and another user.
func (p *memoryPool) recordUser(at cu.DevicePtr, home, user *deviceStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[at]
	if h == nil {
		if p.held == nil {
			p.held = map[cu.DevicePtr]*heldBlock{}
		}
		h = &heldBlock{home: home}
		p.held[at] = h
	}
	h.users = addUser(h.users, h.home, user)
}

// Free returns a block to the stream that it was allocated in. If other streams have used it, the block is reused after the work that they
// have been given so far.
func (storageAllocator) Free(d device.Device, b storage.Block) {
	c, err := openContext("free", d)
	if err != nil {
		return
	}
	p, freed := &c.pool, block{cu.DevicePtr(b.Data), b.Size}
	p.mu.Lock()
	h := p.held[freed.at]
	delete(p.held, freed.at)
	p.mu.Unlock()
	if h == nil {
		c.defaultStream().freeBlock(freed)
		return
	}
	events, _ := recordEvents(h.users)
	w := pendingBlock{freed, h.home, events}
	if len(w.events) == 0 {
		h.home.freeBlock(freed)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, w)
	p.countFreed(freed)
}

// Copy has no way to return an error: a serious error of the driver is returned again by every later call.
func (storageAllocator) Copy(d device.Device, to, from unsafe.Pointer, nbytes int64) {
	_ = withCurrentStream("copy", d, func(m *deviceStream) error {
		for _, at := range []unsafe.Pointer{to, from} {
			m.pool.recordUser(cu.DevicePtr(at), m.defaultStream(), m)
		}
		return cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), nbytes, m.stream)
	})
}

// allocateBlock returns a free block of the stream that is at most a quarter larger, or a new one from the driver. If the driver has no
// memory, it releases the free blocks first.
func (m *deviceStream) allocateBlock(op string, size int64) (block, error) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reclaimBlocks()
	got, ok := m.free.takeBlock(size)
	if !ok {
		at, err := m.allocateFromDriver(op, size)
		if err != nil {
			return got, err
		}
		got = block{at, size}
	}
	a := &p.account
	a.Blocks++
	a.InUse += got.size
	a.Peak = max(a.Peak, a.InUse)
	return got, nil
}

// allocateFromDriver allocates memory from the driver. The lock of the pool is held.
func (m *deviceStream) allocateFromDriver(op string, size int64) (at cu.DevicePtr, err error) {
	a := &m.pool.account
	full := a.Limit > 0 && a.Reserved+size > a.Limit
	if !full {
		at, err = cu.MemAlloc(size)
	}
	if full || driver.OutOfMemory(err) {
		if err := m.releaseFreeBlocks(op); err != nil {
			return at, err
		}
		if a.Limit > 0 && a.Reserved+size > a.Limit {
			a.Failures++
			return at, m.makeMemoryError(op, size)
		}
		if at, err = cu.MemAlloc(size); driver.OutOfMemory(err) {
			a.Failures++
			return at, m.makeMemoryError(op, size)
		}
		a.Retries++
	}
	if err != nil {
		return at, makeDriverError(op, "cuMemAlloc", err)
	}
	a.Reserved += size
	a.ReservedPeak = max(a.ReservedPeak, a.Reserved)
	return at, nil
}

// freeBlock returns a block to the pool.
func (m *deviceStream) freeBlock(b block) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	m.free.putBlock(b)
	p.countFreed(b)
}

// countFreed counts a block that is no storage's any more. The lock of the pool is held.
func (p *memoryPool) countFreed(b block) {
	p.account.InUse -= b.size
	p.account.Blocks--
}

// reclaimBlocks returns blocks to their streams that the other users are done with. The lock of the pool is held.
func (p *memoryPool) reclaimBlocks() {
	p.waiting.reclaimBlocks(func(w pendingBlock) { w.home.free.putBlock(w.block) })
}

// emptyPool returns the pool's free blocks to the driver.
func (c *deviceContext) emptyPool(op string) error {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.releaseFreeBlocks(op)
}

// releaseFreeBlocks returns the free blocks of all streams to the driver, after waiting for those that are still used. The lock of the pool
// is held.
func (c *deviceContext) releaseFreeBlocks(op string) error {
	p := &c.pool
	for _, w := range p.waiting {
		for _, e := range w.events {
			if err := e.Synchronize(); err != nil {
				return makeDriverError(op, "cuEventSynchronize", err)
			}
		}
	}
	p.reclaimBlocks()
	c.streams.mu.Lock()
	all := c.streams.all
	c.streams.mu.Unlock()
	for _, m := range all {
		for len(m.free) > 0 {
			last := len(m.free) - 1
			if err := cu.MemFree(m.free[last].at); err != nil {
				return makeDriverError(op, "cuMemFree", err)
			}
			p.account.Reserved -= m.free[last].size
			m.free = m.free[:last]
		}
	}
	return nil
}

// blockCaches are the free blocks of all devices, for storage.EmptyCache. The CPU's statistics do not include them.
type blockCaches struct{}

func (blockCaches) Held() (storages, bytes int64) { return 0, 0 }

func (blockCaches) Empty() {
	deviceContexts.Lock()
	all := slices.Collect(maps.Values(deviceContexts.byIndex))
	deviceContexts.Unlock()
	for _, c := range all {
		_ = c.runInStream("empty_cache", func(m *deviceStream) error {
			return m.emptyPool("empty_cache")
		})
	}
	pinnedMemory.emptyCache()
}

// readMemoryStats returns the memory statistics of a device.
func readMemoryStats(op string, d device.Device) (a device.Memory, err error) {
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		free, total, err := cu.MemInfo()
		p := &m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		a = p.account
		a.Free, a.Total = free, total
		return makeDriverError(op, "cuMemGetInfo", err)
	})
	return a, err
}

func (asyncBackend) ResetPeak(op string, d device.Device) error {
	c, err := openContext(op, d)
	if err != nil {
		return err
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	a := &c.pool.account
	a.Peak, a.ReservedPeak = a.InUse, a.Reserved
	return nil
}

func (asyncBackend) SetLimit(op string, d device.Device, bytes int64) error {
	c, err := openContext(op, d)
	if err != nil {
		return err
	}
	if bytes < 0 {
		return status.Valuef("%s: argument 'bytes' is %d; it must be at least 0 (0 removes the limit)", op, bytes)
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.pool.account.Limit = bytes
	return nil
}

// makeMemoryError returns the error of a device without memory. The lock of the pool is held.
func (m *deviceStream) makeMemoryError(op string, size int64) error {
	free, total, err := cu.MemInfo()
	if err != nil {
		return makeDriverError(op, "cuMemGetInfo", err)
	}
	a, limit := &m.pool.account, ""
	if a.Limit > 0 {
		limit = fmt.Sprintf("; the limit is %s, of which %s are taken", formatBytes(a.Limit), formatBytes(a.Reserved))
	}
	return status.Memoryf("%s: CUDA out of memory. Tried to allocate %s. Device cuda:%d has %s in all, of which %s are free; tensors hold %s, and no block is cached for reuse%s",
		op, formatBytes(size), m.index, formatBytes(total), formatBytes(free), formatBytes(a.InUse), limit)
}

// formatBytes returns a number of bytes in the unit that suits it.
func formatBytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	}
	if n < 1<<30 {
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
