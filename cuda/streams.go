package cuda

import (
	"sync"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// streamsOfPriority is the largest number of streams that are created; further requests reuse these in turn.
const streamsOfPriority = 32

// streams are the streams of a device, by number. None is ever destroyed, since a caller may keep its number.
type streams struct {
	mu         sync.Mutex
	all        []*machine
	byPriority map[int]*turn
}

// turn is a list of streams that NewStream returns in rotation.
type turn struct {
	made []*machine
	next int
}

// add assigns a number to a stream. The lock of the streams is held, or the card is not yet shared.
func (c *card) add(s cu.Stream) *machine {
	m := &machine{card: c, number: len(c.streams.all), stream: s}
	c.streams.all = append(c.streams.all, m)
	return m
}

// addStream creates a stream. The context is the card's.
func (c *card) addStream(op string, priority int) (*machine, error) {
	s, err := cu.MakeStreamWithPriority(priority, cu.NonBlocking)
	if err != nil {
		return nil, failed(op, "cuStreamCreateWithPriority", err)
	}
	return c.add(s), nil
}

// stream returns a stream by its number.
func (c *card) stream(number int) *machine {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	return c.streams.all[number]
}

// stream0 returns the default stream, to which blocks return that pool.held does not assign to another one.
func (c *card) stream0() *machine { return c.stream(0) }

// named returns the stream with the application's number, or an error if there is none.
func named(op string, s device.Stream) (*machine, error) {
	c, err := open(op, s.Device())
	if err != nil {
		return nil, err
	}
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	if s.Number() >= len(c.streams.all) {
		return nil, status.Valuef("%s: there is no stream %d of %v, which has %d", op, s.Number(), s.Device(), len(c.streams.all))
	}
	return c.streams.all[s.Number()], nil
}

func (m *machine) device() device.Device {
	return device.Device{Type: device.CUDA, Index: int16(m.index)}
}

func (m *machine) name() device.Stream { return device.StreamOf(m.device(), m.number) }

// inStream calls f with the stream of the application's number, in its context.
func inStream(op string, s device.Stream, f func(m *machine) error) error {
	m, err := named(op, s)
	if err != nil {
		return err
	}
	return m.run(op, func(*machine) error { return f(m) })
}

// work implements device.Asynchronous.
type work struct{}

func (work) SetCurrent(op string, d device.Device) error {
	if _, err := open(op, d); err != nil {
		return err
	}
	driver.SetCurrentDevice(int(d.Index))
	return nil
}

func (work) NewStream(op string, d device.Device, priority int64) (made device.Stream, err error) {
	err = on(op, d, func(m *machine) error {
		least, greatest, err := cu.StreamPriorityRange()
		if err != nil {
			return failed(op, "cuCtxGetStreamPriorityRange", err)
		}
		p := int(max(int64(greatest), min(priority, int64(least))))
		all := &m.streams
		all.mu.Lock()
		defer all.mu.Unlock()
		if all.byPriority == nil {
			all.byPriority = map[int]*turn{}
		}
		t := all.byPriority[p]
		if t == nil {
			t = &turn{}
			all.byPriority[p] = t
		}
		at := t.next % streamsOfPriority
		if at == len(t.made) {
			added, err := m.addStream(op, p)
			if err != nil {
				return err
			}
			t.made = append(t.made, added)
			several.Store(true)
		}
		t.next++
		made = t.made[at].name()
		return nil
	})
	return made, err
}

func (work) External(op string, d device.Device, handle uintptr) (found device.Stream, err error) {
	err = on(op, d, func(m *machine) error {
		all := &m.streams
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, known := range all.all {
			if driver.StreamHandle(known.stream) == handle {
				found = known.name()
				return nil
			}
		}
		if len(all.all) > 1<<16-1 {
			return status.Runtimef("%s: %v has %d streams already", op, d, len(all.all))
		}
		found = m.add(driver.StreamOf(handle)).name()
		several.Store(true)
		return nil
	})
	return found, err
}

func (work) Priorities(op string, d device.Device) (least, greatest int64, err error) {
	err = on(op, d, func(*machine) error {
		l, g, err := cu.StreamPriorityRange()
		least, greatest = int64(l), int64(g)
		return failed(op, "cuCtxGetStreamPriorityRange", err)
	})
	return least, greatest, err
}

func (work) CurrentStream(d device.Device) device.Stream {
	return device.StreamOf(d, driver.CurrentStream(int(d.Index)))
}

func (work) SetCurrentStream(op string, s device.Stream) error {
	if s.Number() != 0 { // every device has that one
		if _, err := named(op, s); err != nil {
			return err
		}
	}
	driver.SetCurrentStream(int(s.Device().Index), s.Number())
	return nil
}

func (work) Handle(op string, s device.Stream) (uintptr, error) {
	m, err := named(op, s)
	if err != nil {
		return 0, err
	}
	return driver.StreamHandle(m.stream), nil
}

func (work) Done(op string, s device.Stream) (done bool, err error) {
	err = inStream(op, s, func(m *machine) error {
		done, err = answered(op, "cuStreamQuery", m.stream.Query())
		return err
	})
	return done, err
}

// answered returns whether the work of a query has completed, or the error of the query.
func answered(op, call string, err error) (bool, error) {
	if driver.Waits(err) {
		return false, nil
	}
	return err == nil, failed(op, call, err)
}

func (work) Wait(op string, s device.Stream) error {
	return inStream(op, s, func(m *machine) error { return m.synchronize(op) })
}

func (work) WaitStream(op string, s, other device.Stream) error {
	m, err := named(op, s)
	if err != nil {
		return err
	}
	return inStream(op, other, func(o *machine) error { return m.waitFor(op, o) })
}

// waitFor makes later work of m wait for the present work of other. The context is other's.
func (m *machine) waitFor(op string, other *machine) error {
	if m == other {
		return nil
	}
	event, err := other.mark(op)
	if err != nil {
		return err
	}
	err = failed(op, "cuStreamWaitEvent", m.stream.Wait(event, 0))
	if destroyed := failed(op, "cuEventDestroy", cu.DestroyEvent(&event)); err == nil {
		err = destroyed
	}
	return err
}

// mark records a new event after the submitted work of the stream. The context is the stream's.
func (m *machine) mark(op string) (cu.Event, error) {
	event, err := cu.MakeEvent(cu.DisableTiming)
	if err != nil {
		return event, failed(op, "cuEventCreate", err)
	}
	if err = event.Record(m.stream); err != nil {
		_ = cu.DestroyEvent(&event)
	}
	return event, failed(op, "cuEventRecord", err)
}

// synchronizeAll waits for all work of a device, including that of other threads.
func synchronizeAll(op string, d device.Device) error {
	return on(op, d, func(*machine) error { return failed(op, "cuCtxSynchronize", cu.Synchronize()) })
}
