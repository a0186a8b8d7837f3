package dispatch

import (
	"sync"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// casts are conversions of float32 leaves that require grad, of all threads: a parameter that several operators read is converted once. A
// conversion is reused until the elements of the leaf change.
var casts = castCache{entries: map[castKey]castEntry{}}

type castKey struct {
	of       tensor.AutogradMeta // of the leaf, which its aliases share
	to       dtype.DType
	recorded bool // gradients flow through the conversion
}

type castEntry struct {
	storage *storage.Storage
	version int64
	made    *tensor.Tensor
}

type castCache struct {
	lock    sync.Mutex
	entries map[castKey]castEntry
}

// isCacheable returns whether conversions of t to a dtype are kept.
func isCacheable(c Context, t *tensor.Tensor, to dtype.DType, row int) bool {
	m := &c.modes.Autocast
	if m.Uncached || m.Nesting == 0 || to != m.dtypeOf(row) || t.DType() != dtype.Float32 || c.Inferring() {
		return false
	}
	if t.Keys() != tensor.Gradient || t.Viewing() {
		return false
	}
	node, wanted := t.AutogradMeta().Describe()
	return wanted && node == ""
}

// castCached converts t to a dtype, or returns another reference to an earlier conversion.
func castCached(c Context, t *tensor.Tensor, to dtype.DType, row int) (*tensor.Tensor, error) {
	if !isCacheable(c, t, to, row) {
		return castTo(c, t, to)
	}
	key := castKey{t.AutogradMeta(), to, c.Recording()}
	if made := casts.get(key, t); made != nil {
		return made, nil
	}
	made, err := castTo(c, t, to)
	if err != nil || parallel.IsCancelled() { // the elements are unspecified
		return made, err
	}
	casts.put(key, castEntry{t.Storage(), t.Version(), made.Alias()})
	return made, nil
}

// get returns another reference to the cached conversion of t. It returns nil if there is none, or if t was written to since.
func (x *castCache) get(key castKey, t *tensor.Tensor) *tensor.Tensor {
	x.lock.Lock()
	defer x.lock.Unlock()
	if e, found := x.entries[key]; found && e.storage == t.Storage() && e.version == t.Version() {
		return e.made.Alias()
	}
	return nil
}

// put keeps an entry, whose reference it takes over, in the place of another.
func (x *castCache) put(key castKey, e castEntry) {
	if before, found := x.swap(key, e); found {
		before.made.Release()
	}
}

// swap returns the entry in whose place it puts another.
func (x *castCache) swap(key castKey, e castEntry) (before castEntry, found bool) {
	x.lock.Lock()
	defer x.lock.Unlock()
	if before, found = x.entries[key]; !found {
		key.of.Retain()
	}
	x.entries[key] = e
	return before, found
}

func (x *castCache) clear() {
	for key, e := range x.removeAll() {
		e.made.Release()
		key.of.Release()
	}
}

// removeAll empties the cache and returns the former entries.
func (x *castCache) removeAll() map[castKey]castEntry {
	x.lock.Lock()
	defer x.lock.Unlock()
	entries := x.entries
	x.entries = map[castKey]castEntry{}
	return entries
}
