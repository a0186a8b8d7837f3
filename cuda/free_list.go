package cuda

import (
	"cmp"
	"slices"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
)

type block struct {
	at   cu.DevicePtr
	size int64
}

// freeList is a list of free blocks, sorted by size.
type freeList []block

func compareBlockSize(b block, size int64) int { return cmp.Compare(b.size, size) }

// takeBlock returns a free block that is at most a quarter larger than requested.
func (s *freeList) takeBlock(size int64) (got block, ok bool) {
	at, _ := slices.BinarySearchFunc(*s, size, compareBlockSize)
	if at == len(*s) || (*s)[at].size-size > size/4 {
		return got, false
	}
	got = (*s)[at]
	*s = slices.Delete(*s, at, at+1)
	return got, true
}

func (s *freeList) putBlock(b block) {
	at, _ := slices.BinarySearchFunc(*s, b.size, compareBlockSize)
	*s = slices.Insert(*s, at, b)
}

// pendingBlock is a freed block that other streams have used. It returns to its home stream, if it has one, after their events.
type pendingBlock struct {
	block  block
	home   *deviceStream
	events []cu.Event
}

type pendingBlocks []pendingBlock

// reclaimBlocks removes the blocks whose events have completed, and passes them to free.
func (q *pendingBlocks) reclaimBlocks(free func(w pendingBlock)) {
	kept := (*q)[:0]
	for _, w := range *q {
		if w.events = dropCompletedEvents(w.events); len(w.events) > 0 {
			kept = append(kept, w)
			continue
		}
		free(w)
	}
	clear((*q)[len(kept):])
	*q = kept
}

// addUser returns the streams that use a block, other than its own, with one added.
func addUser(users []*deviceStream, home, user *deviceStream) []*deviceStream {
	if user == nil || user == home || slices.Contains(users, user) {
		return users
	}
	return append(users, user)
}

// recordEvents records an event in each stream, after the submitted work. If an event cannot be recorded, it waits for the stream; waited
// is false if that fails too, so that the work may still be pending.
func recordEvents(users []*deviceStream) (events []cu.Event, waited bool) {
	waited = true
	for _, u := range users {
		err := u.runInStream("free", func(*deviceStream) error {
			event, err := u.recordEvent("free")
			if err == nil {
				events = append(events, event)
			}
			return err
		})
		if err != nil && u.runInStream("free", func(*deviceStream) error { return u.stream.Synchronize() }) != nil {
			waited = false
		}
	}
	return events, waited
}

// dropCompletedEvents returns the events that have not completed, and destroys the others. If the query of an event fails, it waits for the
// event: this fails if the device is lost, when nothing uses its memory any more.
func dropCompletedEvents(events []cu.Event) []cu.Event {
	return slices.DeleteFunc(events, func(e cu.Event) bool {
		switch err := e.Query(); {
		case driver.Waits(err):
			return false
		case err != nil:
			_ = e.Synchronize()
		}
		_ = cu.DestroyEvent(&e)
		return true
	})
}
