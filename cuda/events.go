package cuda

import (
	"sync"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// event is an event of the application. The driver's event is created when it is first recorded, on the device of the stream.
type event struct {
	mu      sync.Mutex
	flags   cu.EventFlags
	timing  bool
	context *deviceContext
	at      cu.Event
}

// events are the application's events by number; no number is reused.
var events = struct {
	sync.Mutex
	byName map[device.Event]*event
	last   int64
}{byName: map[device.Event]*event{}}

func findEvent(op string, e device.Event) (*event, error) {
	events.Lock()
	defer events.Unlock()
	if found := events.byName[e]; found != nil {
		return found, nil
	}
	return nil, status.Valuef("%s: there is no event %d; it may have been freed", op, e)
}

func (asyncBackend) NewEvent(_ string, timing, blocking bool) (device.Event, error) {
	made := &event{timing: timing}
	if !timing {
		made.flags |= cu.DisableTiming
	}
	if blocking {
		made.flags |= cu.BlockingSyncEvent
	}
	events.Lock()
	defer events.Unlock()
	events.last++
	name := device.EventOf(device.CUDA, events.last)
	events.byName[name] = made
	return name, nil
}

func (asyncBackend) FreeEvent(op string, name device.Event) error {
	e, err := findEvent(op, name)
	if err != nil {
		return err
	}
	events.Lock()
	delete(events.byName, name)
	events.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.context == nil {
		return nil
	}
	destroyed := false
	destroy := func(*deviceStream) error {
		destroyed = true
		return makeDriverError(op, "cuEventDestroy", cu.DestroyEvent(&e.at))
	}
	err = e.context.runInStream(op, destroy)
	if !destroyed { // its number is no longer in use
		err = destroy(nil)
	}
	return err
}

// withContext runs f with the context of an event that was recorded, and does nothing otherwise.
func (e *event) withContext(op string, f func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.context == nil {
		return nil
	}
	return e.context.runInStream(op, func(*deviceStream) error { return f() })
}

func (asyncBackend) Record(op string, name device.Event, s device.Stream) error {
	e, err := findEvent(op, name)
	if err != nil {
		return err
	}
	return withStream(op, s, func(m *deviceStream) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.context != nil && e.context != m.deviceContext {
			return status.Runtimef("%s: Event device cuda:%d does not match recording stream's device cuda:%d.", op, e.context.index, m.index)
		}
		if e.context == nil {
			if e.at, err = cu.MakeEvent(e.flags); err != nil {
				return makeDriverError(op, "cuEventCreate", err)
			}
			e.context = m.deviceContext
		}
		return makeDriverError(op, "cuEventRecord", e.at.Record(m.stream))
	})
}

func (asyncBackend) EventDone(op string, name device.Event) (bool, error) {
	e, err := findEvent(op, name)
	if err != nil {
		return false, err
	}
	done := true
	err = e.withContext(op, func() error {
		done, err = checkQuery(op, "cuEventQuery", e.at.Query())
		return err
	})
	return done, err
}

func (asyncBackend) WaitForEvent(op string, name device.Event) error {
	e, err := findEvent(op, name)
	if err != nil {
		return err
	}
	return e.withContext(op, func() error { return e.context.finishWait(op, "cuEventSynchronize", e.at.Synchronize()) })
}

func (asyncBackend) WaitEvent(op string, s device.Stream, name device.Event) error {
	e, err := findEvent(op, name)
	if err != nil {
		return err
	}
	m, err := resolveStream(op, s)
	if err != nil {
		return err
	}
	return e.withContext(op, func() error { return m.waitForEvent(op, e.at) })
}

func (w asyncBackend) Elapsed(op string, from, to device.Event) (ms float64, err error) {
	first, err := findEvent(op, from)
	if err != nil {
		return 0, err
	}
	last, err := findEvent(op, to)
	switch {
	case err != nil:
		return 0, err
	case !first.timing || !last.timing:
		return 0, status.Valuef("%s: Both events must be created with argument 'enable_timing=True'.", op)
	}
	for _, name := range []device.Event{from, to} {
		done, err := w.EventDone(op, name)
		switch {
		case err != nil:
			return 0, err
		case !done:
			return 0, status.Runtimef("%s: Both events must be completed before calculating elapsed time.", op)
		}
	}
	last.mu.Lock()
	end, context := last.at, last.context
	last.mu.Unlock()
	err = first.withContext(op, func() error {
		if context != first.context {
			context = nil
			return nil
		}
		ms, err = first.at.Elapsed(end)
		return makeDriverError(op, "cuEventElapsedTime", err)
	})
	if err == nil && (first.context == nil || context == nil) {
		err = status.Valuef("%s: Both events must be recorded, on one device, before calculating elapsed time.", op)
	}
	return ms, err
}

func (asyncBackend) EventHandle(op string, name device.Event) (uintptr, error) {
	e, err := findEvent(op, name)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return driver.EventHandle(e.at), nil
}
