package tensor

import (
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/storage"
)

// parkedKept is the number of freed small tensors of each size that wait for reuse.
const parkedKept = 256

// pool keeps freed objects for reuse: the front one, which a program that alternately creates and frees tensors reaches without the lock,
// and up to parkedKept others.
type pool[T any] struct {
	front atomic.Pointer[T]
	sync.Mutex
	free []*T
}

// put keeps x, or returns false when the pool is full.
func (p *pool[T]) put(x *T) bool {
	if p.front.CompareAndSwap(nil, x) {
		return true
	}
	p.Lock()
	room := len(p.free) < parkedKept
	if room {
		p.free = append(p.free, x)
	}
	p.Unlock()
	return room
}

// take returns the front object or the one that was added last, or nil.
func (p *pool[T]) take() (x *T) {
	if p.front.Load() != nil {
		if x = p.front.Swap(nil); x != nil {
			return x
		}
	}
	p.Lock()
	if n := len(p.free); n > 0 {
		x = p.free[n-1]
		p.free = p.free[:n-1]
	}
	p.Unlock()
	return x
}

// lockAll locks the pool and returns its objects, all of which are in free then. The caller unlocks the pool.
func (p *pool[T]) lockAll() []*T {
	p.Lock()
	if x := p.front.Swap(nil); x != nil {
		p.free = append(p.free, x)
	}
	return p.free
}

// parked recycles small tensors with their storage and its block: programs with small tensors then neither allocate nor collect.
// parkedViews are tensors that shared another's storage, parkedExternals tensors over external memory with an unshared storage, and
// parkedWrappings wrapped tensors.
var (
	parked          [storage.ParkClasses]pool[allocation]
	parkedViews     pool[Tensor]
	parkedExternals pool[external]
	parkedWrappings pool[wrappedAllocation]
)

func init() { storage.AddParking(parking{}) }

type parking struct{}

// Recycle releases a tensor without other references.
func (t *Tensor) Recycle() {
	f := t.allocation
	if f == nil {
		own := t.external != nil && t.storage == &t.external.own
		if last := t.release(); last && own {
			parkExternal(t.external)
		} else {
			parkView(t)
		}
		return
	}
	if t.kind.keys != 0 {
		t.releaseMetadata()
	}
	if t.storage != &f.own || !f.own.Park() {
		if own := t.storage == &f.own; t.release() && own && f.wraps != nil {
			f.wraps.park()
		}
		return
	}
	t.storage, t.offset, t.kind = nil, 0, metadata{}
	if !parked[f.own.Class()].put(f) {
		f.own.Discard()
	}
}

// takeParked returns a freed tensor whose block fits a contiguous tensor of nbytes on the CPU, or nil if there is none.
func takeParked(nbytes int64, dev device.Device, strides []int64) *allocation {
	if strides != nil || nbytes == 0 || nbytes > storage.ParkLimit || dev != device.Host {
		return nil
	}
	return parked[storage.ParkClass(nbytes)].take()
}

// Held returns the number and size of pooled storages.
func (parking) Held() (storages, bytes int64) {
	for i := range parked {
		list := &parked[i]
		for _, f := range list.lockAll() {
			storages++
			bytes += f.own.Capacity()
		}
		list.Unlock()
	}
	return storages, bytes
}

// Empty frees the pooled storages.
func (parking) Empty() {
	for i := range parked {
		list := &parked[i]
		for _, f := range list.lockAll() {
			f.own.Discard()
		}
		list.free = nil
		list.Unlock()
	}
}

func parkView(t *Tensor) {
	t.kind, t.external = metadata{}, nil
	parkedViews.put(t)
}

// takeView returns a tensor without storage and dimensions.
func takeView() *Tensor {
	if t := parkedViews.take(); t != nil {
		return t
	}
	return new(Tensor)
}

func parkExternal(g *external) {
	g.kind, g.offset, g.owner = metadata{}, 0, storage.External{}
	parkedExternals.put(g)
}

func takeExternal() *external {
	if g := parkedExternals.take(); g != nil {
		return g
	}
	return new(external)
}
