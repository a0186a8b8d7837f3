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

// pins is the allocator of pinned (page-locked) host memory, which devices copy asynchronously. A freed block is reused after the copies
// that use it.
var pins pinned

type pinned struct {
	mu      sync.Mutex
	free    shelf
	held    map[cu.DevicePtr]*pinnedBlock
	waiting queue // whose blocks have no stream
}

type pinnedBlock struct {
	size  int64
	users []*machine
}

// current runs f with the context of the thread's current device.
func current(op string, f func() error) error {
	d, err := device.Resolve(op, device.Device{Type: device.CUDA, Index: -1})
	if err != nil {
		return err
	}
	return on(op, d, func(*machine) error { return f() })
}

func (p *pinned) Pin(op string, nbytes int64) (at unsafe.Pointer, err error) {
	if nbytes > 1<<60 {
		return nil, status.Memoryf("%s: cannot allocate %d bytes", op, nbytes)
	}
	if why := absence(); why != "" {
		return nil, status.Runtimef("%s: pinned memory requires an accelerator, but none is available: %s", op, why)
	}
	size := (nbytes + pinnedGrain - 1) / pinnedGrain * pinnedGrain
	err = current(op, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reclaim()
		got, ok := p.free.take(size)
		if !ok {
			found, err := driver.Pin(size)
			if driver.OutOfMemory(err) {
				p.release()
				found, err = driver.Pin(size)
			}
			if driver.OutOfMemory(err) {
				return status.Memoryf("%s: CUDA out of memory. Tried to pin %s of host memory", op, readable(size))
			}
			if err != nil {
				return failed(op, "cuMemHostAlloc", err)
			}
			got = block{cu.DevicePtr(found), size}
		}
		if p.held == nil {
			p.held = map[cu.DevicePtr]*pinnedBlock{}
		}
		p.held[got.at] = &pinnedBlock{size: got.size}
		at = address(got.at)
		return nil
	})
	return at, err
}

func (p *pinned) Unpin(data unsafe.Pointer) {
	at := cu.DevicePtr(data)
	p.mu.Lock()
	b := p.held[at]
	delete(p.held, at)
	p.mu.Unlock()
	freed := block{at, b.size}
	events := marks(b.users)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(events) == 0 {
		p.free.put(freed)
	} else {
		p.waiting = append(p.waiting, waiting{block: freed, events: events})
	}
}

// usedBy records that an asynchronous copy in a stream uses a block.
func (p *pinned) usedBy(data unsafe.Pointer, m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.held[cu.DevicePtr(data)]; b != nil {
		b.users = withUser(b.users, nil, m)
	}
}

func (p *pinned) reclaim() {
	p.waiting.reclaim(func(w waiting) { p.free.put(w.block) })
}

// release returns the free blocks to the driver.
func (p *pinned) release() {
	for len(p.free) > 0 {
		last := len(p.free) - 1
		if cu.MemFreeHost(address(p.free[last].at)) != nil {
			return
		}
		p.free = p.free[:last]
	}
}

func (p *pinned) empty() {
	p.mu.Lock()
	none := len(p.free)+len(p.waiting) == 0
	p.mu.Unlock()
	if none {
		return
	}
	_ = current("empty_cache", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reclaim()
		p.release()
		return nil
	})
}
