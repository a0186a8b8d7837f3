package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// withStream calls ask with the asynchronous interface of a stream's device.
func withStream(op string, stream int64, ask func(w device.Asynchronous, s device.Stream) error) error {
	w, err := device.StreamWork(op, device.Stream(stream))
	if err != nil {
		return err
	}
	return ask(w, device.Stream(stream))
}

// withEvent calls ask with the asynchronous interface of an event's device type.
func withEvent(op string, event int64, ask func(w device.Asynchronous, e device.Event) error) error {
	w, err := device.EventWork(op, device.Event(event))
	if err != nil {
		return err
	}
	return ask(w, device.Event(event))
}

// StreamNew returns a stream of a device.
func StreamNew(d device.Device, priority int64) (int64, error) {
	const op = "stream_new"
	s, err := withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (device.Stream, error) {
		return w.NewStream(op, d, priority)
	})
	return int64(s), err
}

// StreamPriorities returns the range of priorities.
func StreamPriorities(d device.Device) (least, greatest int64, err error) {
	const op = "stream_priorities"
	w, d, err := device.WorkOf(op, d)
	if err != nil {
		return 0, 0, err
	}
	return w.Priorities(op, d)
}

// StreamExternal returns the stream behind a handle of the driver's.
func StreamExternal(d device.Device, handle int64) (int64, error) {
	const op = "stream_external"
	s, err := withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (device.Stream, error) {
		return w.External(op, d, uintptr(handle))
	})
	return int64(s), err
}

// StreamCurrent returns the thread's stream of a device.
func StreamCurrent(d device.Device) (int64, error) {
	const op = "stream_current"
	s, err := withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (device.Stream, error) { return w.CurrentStream(d), nil })
	return int64(s), err
}

// StreamDefault returns the default stream of a device.
func StreamDefault(d device.Device) (int64, error) {
	const op = "stream_default"
	s, err := withDeviceResult(op, d, func(_ device.Asynchronous, d device.Device) (device.Stream, error) {
		return device.StreamOf(d, 0), nil
	})
	return int64(s), err
}

// StreamSetCurrent changes the thread's stream of a device.
func StreamSetCurrent(stream int64) error {
	const op = "stream_set_current"
	return withStream(op, stream, func(w device.Asynchronous, s device.Stream) error { return w.SetCurrentStream(op, s) })
}

// StreamDevice returns the device of a stream.
func StreamDevice(stream int64) (d device.Device, err error) {
	const op = "stream_device"
	err = withStream(op, stream, func(w device.Asynchronous, s device.Stream) error {
		_, err := w.Handle(op, s)
		d = s.Device()
		return err
	})
	return d, err
}

// StreamHandle returns the driver's handle of a stream.
func StreamHandle(stream int64) (handle int64, err error) {
	const op = "stream_handle"
	err = withStream(op, stream, func(w device.Asynchronous, s device.Stream) error {
		h, err := w.Handle(op, s)
		handle = int64(h)
		return err
	})
	return handle, err
}

// StreamQuery reports whether all work on a stream has finished.
func StreamQuery(stream int64) (done bool, err error) {
	const op = "stream_query"
	err = withStream(op, stream, func(w device.Asynchronous, s device.Stream) (err error) {
		done, err = w.Done(op, s)
		return err
	})
	return done, err
}

// StreamSynchronize waits for a stream.
func StreamSynchronize(stream int64) error {
	const op = "stream_synchronize"
	return withStream(op, stream, func(w device.Asynchronous, s device.Stream) error { return w.Wait(op, s) })
}

// StreamWaitStream has a stream wait for another.
func StreamWaitStream(stream, other int64) error {
	const op = "stream_wait_stream"
	if _, err := device.StreamWork(op, device.Stream(other)); err != nil {
		return err
	}
	return withStream(op, stream, func(w device.Asynchronous, s device.Stream) error { return w.WaitStream(op, s, device.Stream(other)) })
}

// StreamWaitEvent has a stream wait for an event.
func StreamWaitEvent(stream, event int64) error {
	const op = "stream_wait_event"
	return withStream(op, stream, func(w device.Asynchronous, s device.Stream) error { return w.WaitEvent(op, s, device.Event(event)) })
}

// EventNew returns a mark for streams.
func EventNew(d device.Device, timing, blocking bool) (int64, error) {
	const op = "event_new"
	e, err := withDeviceResult(op, d, func(w device.Asynchronous, _ device.Device) (device.Event, error) {
		return w.NewEvent(op, timing, blocking)
	})
	return int64(e), err
}

// EventFree frees an event.
func EventFree(event int64) error {
	const op = "event_free"
	return withEvent(op, event, func(w device.Asynchronous, e device.Event) error { return w.FreeEvent(op, e) })
}

// EventRecord sets an event behind a stream's work.
func EventRecord(event, stream int64) error {
	const op = "event_record"
	return withStream(op, stream, func(w device.Asynchronous, s device.Stream) error { return w.Record(op, device.Event(event), s) })
}

// EventQuery reports whether the work before an event is done.
func EventQuery(event int64) (done bool, err error) {
	const op = "event_query"
	err = withEvent(op, event, func(w device.Asynchronous, e device.Event) (err error) {
		done, err = w.EventDone(op, e)
		return err
	})
	return done, err
}

// EventSynchronize waits for the work before an event.
func EventSynchronize(event int64) error {
	const op = "event_synchronize"
	return withEvent(op, event, func(w device.Asynchronous, e device.Event) error { return w.WaitForEvent(op, e) })
}

// EventElapsedTime returns the time between two events.
func EventElapsedTime(start, end int64) (ms float64, err error) {
	const op = "event_elapsed_time"
	err = withEvent(op, start, func(w device.Asynchronous, e device.Event) (err error) {
		ms, err = w.Elapsed(op, e, device.Event(end))
		return err
	})
	return ms, err
}

// EventHandle returns the driver's handle of an event.
func EventHandle(event int64) (handle int64, err error) {
	const op = "event_handle"
	err = withEvent(op, event, func(w device.Asynchronous, e device.Event) error {
		h, err := w.EventHandle(op, e)
		handle = int64(h)
		return err
	})
	return handle, err
}

// RecordStream notes that a stream uses the memory of a tensor.
func RecordStream(self *tensor.Tensor, stream int64) error {
	const op = "record_stream"
	return withStream(op, stream, func(_ device.Asynchronous, s device.Stream) error {
		if self.Device().Type != s.Device().Type {
			return status.NotImplementedf("%s: the tensor is on %v, but the stream is on %v; tensors in pinned memory need no record_stream()", op,
				self.Device(), s.Device())
		}
		return backend.On(self).Use(op, backend.Using{Of: self, Stream: s})
	})
}
