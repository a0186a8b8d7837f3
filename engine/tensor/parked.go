package tensor

import (
	"sync"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/storage"
)

// parkedKept is the number of freed small tensors of each size that wait for reuse.
const parkedKept = 256

// parked recycles small tensors whole, with their storage and its block: a program of small tensors then neither allocates
// nor collects.
var parked [storage.ParkClasses]struct {
	sync.Mutex
	free []*fresh
}

// parkedViews are freed tensors that shared another's storage, up to parkedKept of them.
var parkedViews struct {
	sync.Mutex
	free []*Tensor
}

// parkedGuests are freed tensors of other owners' memory whose storages nobody else has, up to parkedKept of them.
var parkedGuests struct {
	sync.Mutex
	free []*guest
}

func init() { storage.AddParking(parking{}) }

type parking struct{}

// Recycle releases a tensor that nobody else refers to.
func (t *Tensor) Recycle() {
	f := t.whole
	if f == nil {
		own := t.guest != nil && t.storage == &t.guest.own
		if last := t.release(); last && own {
			parkGuest(t.guest)
		} else {
			parkView(t)
		}
		return
	}
	if t.storage != &f.own || !f.own.Park() {
		t.Release()
		return
	}
	t.storage, t.offset, t.layout, t.number = nil, 0, Strided, false
	list := &parked[f.own.Class()]
	list.Lock()
	kept := len(list.free) < parkedKept
	if kept {
		list.free = append(list.free, f)
	}
	list.Unlock()
	if !kept {
		f.own.Discard()
	}
}

// takeParked finds a freed tensor whose block fits a contiguous tensor of nbytes on the CPU; nil when there is none.
func takeParked(nbytes int64, dev device.Device, strides []int64) (f *fresh) {
	if strides != nil || nbytes == 0 || nbytes > storage.ParkLimit || dev != device.Host {
		return nil
	}
	list := &parked[storage.ParkClass(nbytes)]
	list.Lock()
	if n := len(list.free); n > 0 {
		f = list.free[n-1]
		list.free = list.free[:n-1]
	}
	list.Unlock()
	return f
}

// Held counts what is parked.
func (parking) Held() (storages, bytes int64) {
	for i := range parked {
		list := &parked[i]
		list.Lock()
		for _, f := range list.free {
			storages++
			bytes += f.own.Capacity()
		}
		list.Unlock()
	}
	return storages, bytes
}

// Empty frees what is parked.
func (parking) Empty() {
	for i := range parked {
		list := &parked[i]
		list.Lock()
		for _, f := range list.free {
			f.own.Discard()
		}
		list.free = nil
		list.Unlock()
	}
}

func parkView(t *Tensor) {
	t.layout, t.number, t.guest = Strided, false, nil
	parkedViews.Lock()
	if len(parkedViews.free) < parkedKept {
		parkedViews.free = append(parkedViews.free, t)
	}
	parkedViews.Unlock()
}

// takeView gives a tensor without storage and dimensions.
func takeView() *Tensor {
	parkedViews.Lock()
	defer parkedViews.Unlock()
	n := len(parkedViews.free)
	if n == 0 {
		return new(Tensor)
	}
	t := parkedViews.free[n-1]
	parkedViews.free = parkedViews.free[:n-1]
	return t
}

func parkGuest(g *guest) {
	g.layout, g.number, g.offset, g.owner = Strided, false, 0, storage.External{}
	parkedGuests.Lock()
	if len(parkedGuests.free) < parkedKept {
		parkedGuests.free = append(parkedGuests.free, g)
	}
	parkedGuests.Unlock()
}

func takeGuest() *guest {
	parkedGuests.Lock()
	defer parkedGuests.Unlock()
	n := len(parkedGuests.free)
	if n == 0 {
		return new(guest)
	}
	g := parkedGuests.free[n-1]
	parkedGuests.free = parkedGuests.free[:n-1]
	return g
}
