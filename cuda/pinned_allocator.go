package cuda

import (
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

const pinnedGrain = 4096

// pinnedMemory is the allocator of pinned (page-locked) host memory, which devices copy asynchronously. A freed block is reused after the
// copies that use it.
var pinnedMemory pinnedAllocator

type pinnedAllocator struct {
	mu      sync.Mutex
	free    freeList
	held    map[cu.DevicePtr]*pinnedBlock
	waiting pendingBlocks // whose blocks have no stream
}

type pinnedBlock struct {
	size  int64
	users []*deviceStream
}

// withDeviceContext runs f with the context of the thread's current device.
func withDeviceContext(op string, f func() error) error {
	d, err := device.Resolve(op, device.Device{Type: device.CUDA, Index: -1})
	if err != nil {
		return err
	}
	return withCurrentStream(op, d, func(*deviceStream) error { return f() })
}

func (p *pinnedAllocator) Pin(op string, nbytes int64) (at unsafe.Pointer, err error) {
	if nbytes > 1<<60 {
		return nil, status.Memoryf("%s: cannot allocate %d bytes", op, nbytes)
	}
	if why := explainAbsence(); why != "" {
		return nil, status.Runtimef("%s: pinned memory requires an accelerator, but none is available: %s", op, why)
	}
	size := (nbytes + pinnedGrain - 1) / pinnedGrain * pinnedGrain
	err = withDeviceContext(op, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reclaimBlocks()
		got, ok := p.free.takeBlock(size)
		if !ok {
			found, err := driver.Pin(size)
			if driver.OutOfMemory(err) {
				p.releaseFreeBlocks()
				found, err = driver.Pin(size)
			}
			if driver.OutOfMemory(err) {
				return status.Memoryf("%s: CUDA out of memory. Tried to pin %s of host memory", op, formatBytes(size))
			}
			if err != nil {
				return makeDriverError(op, "cuMemHostAlloc", err)
			}
			got = block{cu.DevicePtr(found), size}
		}
		if p.held == nil {
			p.held = map[cu.DevicePtr]*pinnedBlock{}
		}
		p.held[got.at] = &pinnedBlock{size: got.size}
		at = storageAddress(got.at)
		return nil
	})
	return at, err
}

func (p *pinnedAllocator) Unpin(data unsafe.Pointer) {
	at := cu.DevicePtr(data)
	p.mu.Lock()
	b := p.held[at]
	delete(p.held, at)
	p.mu.Unlock()
	freed := block{at, b.size}
	events, waited := recordEvents(b.users)
	if !waited {
		return // a copy may still use the block: it is not reused
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(events) == 0 {
		p.free.putBlock(freed)
	} else {
		p.waiting = append(p.waiting, pendingBlock{block: freed, events: events})
	}
}

// recordUser records that an asynchronous copy in a stream uses a block.
func (p *pinnedAllocator) recordUser(data unsafe.Pointer, m *deviceStream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.held[cu.DevicePtr(data)]; b != nil {
		b.users = addUser(b.users, nil, m)
	}
}

func (p *pinnedAllocator) reclaimBlocks() {
	p.waiting.reclaimBlocks(func(w pendingBlock) { p.free.putBlock(w.block) })
}

// releaseFreeBlocks returns the free blocks to the driver.
func (p *pinnedAllocator) releaseFreeBlocks() {
	for len(p.free) > 0 {
		last := len(p.free) - 1
		if cu.MemFreeHost(storageAddress(p.free[last].at)) != nil {
			return
		}
		p.free = p.free[:last]
	}
}

func (p *pinnedAllocator) emptyCache() {
	p.mu.Lock()
	none := len(p.free)+len(p.waiting) == 0
	p.mu.Unlock()
	if none {
		return
	}
	_ = withDeviceContext("empty_cache", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reclaimBlocks()
		p.releaseFreeBlocks()
		return nil
	})
}
