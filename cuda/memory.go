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
	grain      = 512     // blocks are multiples of this
	large      = 1 << 20 // and from this size on of
	largeGrain = 1 << 21
)

// pool manages a device's memory blocks. Free blocks belong to the stream that used them: work on a reused block is enqueued after the
// remaining work of its last user.
type pool struct {
	mu      sync.Mutex
	account device.Memory
	held    map[cu.DevicePtr]*holding // storages of other streams than the default one, and those that several have used
	waiting queue
}

// holding describes a block that is in use by a storage: the stream that it returns to, and the other streams that have used it.
type holding struct {
	home  *machine
	users []*machine
}

// memory is the allocator of storages on CUDA devices.
type memory struct{}

// address converts a device address to the type of addresses in storages. The host never dereferences it.
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
		if m.number != 0 {
			m.pool.hold(got.at, m, nil)
		}
		b = storage.Block{Data: address(got.at), Size: got.size}
		return nil
	})
	return b, err
}

// hold records the stream that a block returns to, and another user.
func (p *pool) hold(at cu.DevicePtr, home, user *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[at]
	if h == nil {
		if p.held == nil {
			p.held = map[cu.DevicePtr]*holding{}
		}
		h = &holding{home: home}
		p.held[at] = h
	}
	h.users = withUser(h.users, h.home, user)
}

// Free returns a block to the stream that it was allocated in. If other streams have used it, the block is reused after the work that they
// have been given so far.
func (memory) Free(d device.Device, b storage.Block) {
	c, err := open("free", d)
	if err != nil {
		return
	}
	p, freed := &c.pool, block{cu.DevicePtr(b.Data), b.Size}
	p.mu.Lock()
	h := p.held[freed.at]
	delete(p.held, freed.at)
	p.mu.Unlock()
	if h == nil {
		c.stream0().give(freed)
		return
	}
	w := waiting{freed, h.home, marks(h.users)}
	if len(w.events) == 0 {
		h.home.give(freed)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, w)
	p.left(freed)
}

// Copy has no way to return an error: a serious error of the driver is returned again by every later call.
func (memory) Copy(d device.Device, to, from unsafe.Pointer, nbytes int64) {
	_ = on("copy", d, func(m *machine) error {
		for _, at := range []unsafe.Pointer{to, from} {
			m.pool.hold(cu.DevicePtr(at), m.stream0(), m)
		}
		return cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), nbytes, m.stream)
	})
}

// allocate returns a free block of the stream that is at most a quarter larger, or a new one from the driver. If the driver has no memory,
// it releases the free blocks first.
func (m *machine) allocate(op string, size int64) (block, error) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reclaim()
	got, ok := m.free.take(size)
	if !ok {
		at, err := m.obtain(op, size)
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

// obtain allocates memory from the driver. The lock of the pool is held.
func (m *machine) obtain(op string, size int64) (at cu.DevicePtr, err error) {
	a := &m.pool.account
	full := a.Limit > 0 && a.Reserved+size > a.Limit
	if !full {
		at, err = cu.MemAlloc(size)
	}
	if full || driver.OutOfMemory(err) {
		if err := m.empty(op); err != nil {
			return at, err
		}
		if a.Limit > 0 && a.Reserved+size > a.Limit {
			a.Refusals++
			return at, m.exhausted(op, size)
		}
		if at, err = cu.MemAlloc(size); driver.OutOfMemory(err) {
			a.Refusals++
			return at, m.exhausted(op, size)
		}
		a.Retries++
	}
	if err != nil {
		return at, failed(op, "cuMemAlloc", err)
	}
	a.Reserved += size
	a.ReservedPeak = max(a.ReservedPeak, a.Reserved)
	return at, nil
}

// give returns a block to the pool.
func (m *machine) give(b block) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	m.free.put(b)
	p.left(b)
}

// left counts a block that is no storage's any more. The lock of the pool is held.
func (p *pool) left(b block) {
	p.account.InUse -= b.size
	p.account.Blocks--
}

// reclaim returns blocks to their streams that the other users are done with. The lock of the pool is held.
func (p *pool) reclaim() {
	p.waiting.reclaim(func(w waiting) { w.home.free.put(w.block) })
}

// empty returns the free blocks of all streams to the driver, after waiting for those that are still used. The lock of the pool is held.
func (c *card) empty(op string) error {
	p := &c.pool
	for _, w := range p.waiting {
		for _, e := range w.events {
			if err := e.Synchronize(); err != nil {
				return failed(op, "cuEventSynchronize", err)
			}
		}
	}
	p.reclaim()
	c.streams.mu.Lock()
	all := c.streams.all
	c.streams.mu.Unlock()
	for _, m := range all {
		for len(m.free) > 0 {
			last := len(m.free) - 1
			if err := cu.MemFree(m.free[last].at); err != nil {
				return failed(op, "cuMemFree", err)
			}
			p.account.Reserved -= m.free[last].size
			m.free = m.free[:last]
		}
	}
	return nil
}

// caches are the free blocks of all devices, for storage.EmptyCache. The CPU's statistics do not include them.
type caches struct{}

func (caches) Held() (storages, bytes int64) { return 0, 0 }

func (caches) Empty() {
	cards.Lock()
	all := slices.Collect(maps.Values(cards.byIndex))
	cards.Unlock()
	for _, c := range all {
		_ = c.run("empty_cache", func(m *machine) error {
			m.pool.mu.Lock()
			defer m.pool.mu.Unlock()
			return m.empty("empty_cache")
		})
	}
	pins.empty()
}

// account returns that of a device's memory.
func account(op string, d device.Device) (a device.Memory, err error) {
	err = on(op, d, func(m *machine) error {
		free, total, err := cu.MemInfo()
		p := &m.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		a = p.account
		a.Free, a.Total = free, total
		return failed(op, "cuMemGetInfo", err)
	})
	return a, err
}

func (work) ResetPeak(op string, d device.Device) error {
	c, err := open(op, d)
	if err != nil {
		return err
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	a := &c.pool.account
	a.Peak, a.ReservedPeak = a.InUse, a.Reserved
	return nil
}

func (work) SetLimit(op string, d device.Device, bytes int64) error {
	c, err := open(op, d)
	if err != nil {
		return err
	}
	if bytes < 0 {
		return status.Valuef("%s: %d bytes; expected 0 for no limit, or more", op, bytes)
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.pool.account.Limit = bytes
	return nil
}

// exhausted returns the error of a device without memory. The lock of the pool is held.
func (m *machine) exhausted(op string, size int64) error {
	free, total, err := cu.MemInfo()
	if err != nil {
		return failed(op, "cuMemGetInfo", err)
	}
	a, limit := &m.pool.account, ""
	if a.Limit > 0 {
		limit = fmt.Sprintf("; the limit is %s, of which %s are taken", readable(a.Limit), readable(a.Reserved))
	}
	return status.Memoryf("%s: CUDA out of memory. Tried to allocate %s. Device cuda:%d has %s in all, of which %s are free; tensors hold %s, and no block is cached for reuse%s",
		op, readable(size), m.index, readable(total), readable(free), readable(a.InUse), limit)
}

// readable returns a number of bytes in the unit that suits it.
func readable(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.2f KiB", float64(n)/(1<<10))
	}
	if n < 1<<30 {
		return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
}
