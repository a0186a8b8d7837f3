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

// shelf is a list of free blocks, sorted by size.
type shelf []block

func bySize(b block, size int64) int { return cmp.Compare(b.size, size) }

// take returns a free block that is at most a quarter larger than requested.
func (s *shelf) take(size int64) (got block, ok bool) {
	at, _ := slices.BinarySearchFunc(*s, size, bySize)
	if at == len(*s) || (*s)[at].size-size > size/4 {
		return got, false
	}
	got = (*s)[at]
	*s = slices.Delete(*s, at, at+1)
	return got, true
}

func (s *shelf) put(b block) {
	at, _ := slices.BinarySearchFunc(*s, b.size, bySize)
	*s = slices.Insert(*s, at, b)
}

// waiting is a freed block that other streams have used. It returns to its home stream, if it has one, after their events.
type waiting struct {
	block  block
	home   *machine
	events []cu.Event
}

type queue []waiting

// reclaim removes the blocks whose events have completed, and passes them to free.
func (q *queue) reclaim(free func(w waiting)) {
	kept := (*q)[:0]
	for _, w := range *q {
		if w.events = pending(w.events); len(w.events) > 0 {
			kept = append(kept, w)
			continue
		}
		free(w)
	}
	clear((*q)[len(kept):])
	*q = kept
}

// withUser returns the streams that use a block, other than its own, with one added.
func withUser(users []*machine, home, user *machine) []*machine {
	if user == nil || user == home || slices.Contains(users, user) {
		return users
	}
	return append(users, user)
}

// marks records an event in each stream, after the submitted work. If an event cannot be recorded, it waits for the stream.
func marks(users []*machine) (events []cu.Event) {
	for _, u := range users {
		_ = u.run("free", func(*machine) error {
			if event, err := u.mark("free"); err == nil {
				events = append(events, event)
			} else {
				_ = u.stream.Synchronize()
			}
			return nil
		})
	}
	return events
}

// pending returns the events that have not completed, and destroys the others. If the query of an event fails, it waits for the event: this
// fails if the device is lost, when nothing uses its memory any more.
func pending(events []cu.Event) []cu.Event {
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
