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

// The driver's handles of the legacy default stream of the current context, which other libraries use unless they name a stream.
const (
	defaultHandle = 0
	legacyHandle  = 1
)

// streamTable are the streams of a device, by number. None is ever destroyed, since a caller may keep its number.
type streamTable struct {
	mu         sync.Mutex
	all        []*deviceStream
	byPriority map[int]*streamRotation
}

// streamRotation is a list of streams that NewStream returns in rotation.
type streamRotation struct {
	made []*deviceStream
	next int
}

// registerStream assigns a number to a stream. The lock of the streams is held, or the context is not yet shared.
func (c *deviceContext) registerStream(s cu.Stream) *deviceStream {
	m := &deviceStream{deviceContext: c, number: len(c.streams.all), stream: s}
	c.streams.all = append(c.streams.all, m)
	return m
}

// createStream creates a stream. The current context is this device's.
func (c *deviceContext) createStream(op string, priority int) (*deviceStream, error) {
	s, err := cu.MakeStreamWithPriority(priority, cu.NonBlocking)
	if err != nil {
		return nil, makeDriverError(op, "cuStreamCreateWithPriority", err)
	}
	return c.registerStream(s), nil
}

// findStream returns a stream by its number.
func (c *deviceContext) findStream(number int) *deviceStream {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	return c.streams.all[number]
}

// defaultStream returns the default stream, to which blocks return that pool.held does not assign to another one.
func (c *deviceContext) defaultStream() *deviceStream { return c.findStream(0) }

// resolveStream returns the stream with the application's number, or an error if there is none.
func resolveStream(op string, s device.Stream) (*deviceStream, error) {
	c, err := openContext(op, s.Device())
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

func (m *deviceStream) getDevice() device.Device {
	return device.Device{Type: device.CUDA, Index: int16(m.index)}
}

func (m *deviceStream) getNumber() device.Stream { return device.StreamOf(m.getDevice(), m.number) }

// withStream calls f with the stream of the application's number, in its context.
func withStream(op string, s device.Stream, f func(m *deviceStream) error) error {
	m, err := resolveStream(op, s)
	if err != nil {
		return err
	}
	return m.runInStream(op, func(*deviceStream) error { return f(m) })
}

// asyncBackend implements device.Asynchronous.
type asyncBackend struct{}

func (asyncBackend) SetCurrent(op string, d device.Device) error {
	if _, err := openContext(op, d); err != nil {
		return err
	}
	driver.SetCurrentDevice(int(d.Index))
	return nil
}

func (asyncBackend) NewStream(op string, d device.Device, priority int64) (made device.Stream, err error) {
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		least, greatest, err := cu.StreamPriorityRange()
		if err != nil {
			return makeDriverError(op, "cuCtxGetStreamPriorityRange", err)
		}
		p := int(max(int64(greatest), min(priority, int64(least))))
		all := &m.streams
		all.mu.Lock()
		defer all.mu.Unlock()
		if all.byPriority == nil {
			all.byPriority = map[int]*streamRotation{}
		}
		t := all.byPriority[p]
		if t == nil {
			t = &streamRotation{}
			all.byPriority[p] = t
		}
		at := t.next % streamsOfPriority
		if at == len(t.made) {
			added, err := m.createStream(op, p)
			if err != nil {
				return err
			}
			t.made = append(t.made, added)
			hasSeveralStreams.Store(true)
		}
		t.next++
		made = t.made[at].getNumber()
		return nil
	})
	return made, err
}

func (asyncBackend) External(op string, d device.Device, handle uintptr) (found device.Stream, err error) {
	if handle == legacyHandle {
		handle = defaultHandle
	}
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		all := &m.streams
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, known := range all.all {
			if driver.StreamHandle(known.stream) == handle {
				found = known.getNumber()
				return nil
			}
		}
		if len(all.all) > 1<<16-1 {
			return status.Runtimef("%s: %v has %d streams already", op, d, len(all.all))
		}
		found = m.registerStream(driver.StreamOf(handle)).getNumber()
		hasSeveralStreams.Store(true)
		return nil
	})
	return found, err
}

func (asyncBackend) Priorities(op string, d device.Device) (least, greatest int64, err error) {
	err = withCurrentStream(op, d, func(*deviceStream) error {
		l, g, err := cu.StreamPriorityRange()
		least, greatest = int64(l), int64(g)
		return makeDriverError(op, "cuCtxGetStreamPriorityRange", err)
	})
	return least, greatest, err
}

func (asyncBackend) CurrentStream(d device.Device) device.Stream {
	return device.StreamOf(d, driver.CurrentStream(int(d.Index)))
}

func (asyncBackend) SetCurrentStream(op string, s device.Stream) error {
	if s.Number() != 0 { // every device has that one
		if _, err := resolveStream(op, s); err != nil {
			return err
		}
	}
	driver.SetCurrentStream(int(s.Device().Index), s.Number())
	return nil
}

func (asyncBackend) Handle(op string, s device.Stream) (uintptr, error) {
	m, err := resolveStream(op, s)
	if err != nil {
		return 0, err
	}
	return driver.StreamHandle(m.stream), nil
}

func (asyncBackend) Done(op string, s device.Stream) (done bool, err error) {
	err = withStream(op, s, func(m *deviceStream) error {
		done, err = checkQuery(op, "cuStreamQuery", m.stream.Query())
		return err
	})
	return done, err
}

// checkQuery returns whether the work of a query has completed, or the error of the query.
func checkQuery(op, call string, err error) (bool, error) {
	if driver.Waits(err) {
		return false, nil
	}
	return err == nil, makeDriverError(op, call, err)
}

func (asyncBackend) Wait(op string, s device.Stream) error {
	return withStream(op, s, func(m *deviceStream) error { return m.synchronizeStream(op) })
}

func (asyncBackend) WaitStream(op string, s, other device.Stream) error {
	m, err := resolveStream(op, s)
	if err != nil {
		return err
	}
	return withStream(op, other, func(o *deviceStream) error { return m.waitForStream(op, o) })
}

// waitForStream makes later work of m wait for the present work of other. The context is other's.
func (m *deviceStream) waitForStream(op string, other *deviceStream) error {
	if m == other {
		return nil
	}
	event, err := other.recordEvent(op)
	if err != nil {
		return err
	}
	err = m.waitForEvent(op, event)
	if destroyed := makeDriverError(op, "cuEventDestroy", cu.DestroyEvent(&event)); err == nil {
		err = destroyed
	}
	return err
}

// waitForEvent makes later work of the stream wait for an event of any device.
func (m *deviceStream) waitForEvent(op string, event cu.Event) error {
	return m.runInStream(op, func(*deviceStream) error { return makeDriverError(op, "cuStreamWaitEvent", m.stream.Wait(event, 0)) })
}

// recordEvent records a new event after the submitted work of the stream. The context is the stream's.
func (m *deviceStream) recordEvent(op string) (cu.Event, error) {
	event, err := cu.MakeEvent(cu.DisableTiming)
	if err != nil {
		return event, makeDriverError(op, "cuEventCreate", err)
	}
	if err = event.Record(m.stream); err != nil {
		_ = cu.DestroyEvent(&event)
	}
	return event, makeDriverError(op, "cuEventRecord", err)
}

// synchronizeAll waits for all work of a device, including that of other threads.
func synchronizeAll(op string, d device.Device) error {
	return withCurrentStream(op, d, func(m *deviceStream) error {
		return m.finishWait(op, "cuCtxSynchronize", cu.Synchronize())
	})
}
