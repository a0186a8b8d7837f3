package device

import "github.com/libtensor/libtensor/engine/status"

// Stream names a queue of a device's work: the device, and a number among its streams, of which 0 is the default one.
type Stream int64

// Event names a mark that streams are given among their work.
type Event int64

const (
	typeShift  = 32
	indexShift = 16
	numberMask = 1<<indexShift - 1
)

// StreamOf returns the stream of a device by its number.
func StreamOf(d Device, number int) Stream {
	return Stream(int64(d.Type)<<typeShift | int64(max(d.Index, 0))<<indexShift | int64(number))
}

// Device returns the device of a stream, which may not exist.
func (s Stream) Device() Device { return Device{Type(s >> typeShift), int16(s >> indexShift)} }

// Number returns the number of a stream among those of its device.
func (s Stream) Number() int { return int(s & numberMask) }

// EventOf returns the event of a type of device by its number.
func EventOf(t Type, number int64) Event { return Event(int64(t)<<typeShift | number) }

// Asynchronous is the interface of backends with devices that execute asynchronously.
type Asynchronous interface {
	SetCurrent(op string, d Device) error
	Name(op string, d Device) (string, error)
	UUID(op string, d Device) (string, error)
	Attribute(op string, d Device, name string) (int64, error)
	CanAccessPeer(op string, d, peer Device) (bool, error)

	DeviceOf(op string, address uintptr) (Device, error)

	ResetPeak(op string, d Device) error
	SetLimit(op string, d Device, bytes int64) error

	NewStream(op string, d Device, priority int64) (Stream, error)
	External(op string, d Device, handle uintptr) (Stream, error)
	Priorities(op string, d Device) (least, greatest int64, err error)
	CurrentStream(d Device) Stream
	SetCurrentStream(op string, s Stream) error
	Handle(op string, s Stream) (uintptr, error) // the driver's
	Done(op string, s Stream) (bool, error)
	Wait(op string, s Stream) error
	WaitStream(op string, s, other Stream) error
	WaitEvent(op string, s Stream, e Event) error

	NewEvent(op string, timing, blocking bool) (Event, error)
	FreeEvent(op string, e Event) error
	Record(op string, e Event, s Stream) error
	EventDone(op string, e Event) (bool, error)
	WaitForEvent(op string, e Event) error
	Elapsed(op string, from, to Event) (milliseconds float64, err error)
	EventHandle(op string, e Event) (uintptr, error)
}

// WorkOf returns the asynchronous interface of d's device type, and d with its index resolved.
func WorkOf(op string, d Device) (Asynchronous, Device, error) {
	d, err := Resolve(op, d)
	if err != nil {
		return nil, d, err
	}
	if w := backends[d.Type].Work; w != nil {
		return w, d, nil
	}
	return nil, d, status.Runtimef("%s: device %v has no streams: its operators are synchronous", op, d)
}

// CurrentStream returns the stream in which the thread leaves work for d; 0 where d has none.
func CurrentStream(d Device) Stream {
	if w := backends[d.Type].Work; w != nil {
		return w.CurrentStream(d)
	}
	return 0
}

// StreamWork is WorkOf the device of a stream.
func StreamWork(op string, s Stream) (Asynchronous, error) {
	if t := s >> typeShift; t < 0 || t >= TypeCount || s.Device().Index < 0 {
		return nil, status.Valuef("%s: there is no stream %d", op, s)
	}
	w, _, err := WorkOf(op, s.Device())
	return w, err
}

// EventWork returns the asynchronous interface of an event's device type.
func EventWork(op string, e Event) (Asynchronous, error) {
	if t := e >> typeShift; t < 0 || t >= TypeCount || backends[t].Work == nil {
		return nil, status.Valuef("%s: there is no event %d", op, e)
	}
	return backends[e>>typeShift].Work, nil
}
