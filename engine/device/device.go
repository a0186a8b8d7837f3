// Package device identifies devices: a type and an index.
package device

import (
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/status"
)

// Type is a device type. The values are those of tensor_device_type in tensor.h.
type Type int8

// The device types. Meta tensors have sizes, strides and a dtype, but no bytes. Those after it have a name and no backend.
const (
	NoType Type = -1
	CPU    Type = 0
	CUDA   Type = 1
	Meta   Type = 2
	MPS    Type = 3
	XPU    Type = 4
	XLA    Type = 5

	TypeCount = 6 // the number of types
)

var names = []string{CPU: "cpu", CUDA: "cuda", Meta: "meta", MPS: "mps", XPU: "xpu", XLA: "xla"}

func (t Type) String() string {
	if t < 0 || int(t) >= len(names) {
		return "none"
	}
	return names[t]
}

// Device is a device type and an ordinal; an Index of -1 means the current device of the type.
type Device struct {
	Type  Type
	Index int16
}

// None is the device that the call implies: that of an operand, or the default one.
var None = Device{NoType, -1}

// Host is the CPU.
var Host = Device{CPU, -1}

// IsNone reports whether no device is named.
func (d Device) IsNone() bool { return d.Type == NoType }

// String is "cpu", "cuda:1", ...
func (d Device) String() string {
	if d.Index < 0 {
		return d.Type.String()
	}
	return d.Type.String() + ":" + strconv.Itoa(int(d.Index))
}

// Parse reads "cpu", "cuda", "cuda:1", "meta", ...
func Parse(s string) (Device, error) {
	kind, ordinal, indexed := strings.Cut(s, ":")
	t := NoType
	for i, n := range names {
		if n == kind {
			t = Type(i)
		}
	}
	if t == NoType {
		return None, status.Runtimef("device: expected one of %s device type at start of device string, but got %q", strings.Join(names, ", "), s)
	}
	if !indexed {
		return Device{t, -1}, nil
	}
	i, err := strconv.ParseUint(ordinal, 10, 15)
	if err != nil || (len(ordinal) > 1 && ordinal[0] == '0') {
		return None, status.Runtimef("device: invalid device string %q: the ordinal after ':' must be a number from 0 to 32767", s)
	}
	return Device{t, int16(i)}, nil
}

// Backend serves the devices of a type.
type Backend struct {
	Count   func() int
	Absence func() string // the reason why there are none, for users
	Current func() int    // the default index

	Synchronize func(op string, d Device) error           // nil where no work waits
	Memory      func(op string, d Device) (Memory, error) // nil if the device shares the CPU's memory
	Work        Asynchronous                              // nil where work is done when a call returns
}

// Memory has the memory statistics of a device in bytes: InUse by tensors and its Peak; Reserved from the driver, its peak and its Limit, 0
// for none; Free and Total of the driver. Blocks counts the tensors' allocations, Retries the allocations that succeeded after cached
// blocks had been freed; the last counter is that of failed ones.
type Memory struct{ InUse, Peak, Reserved, ReservedPeak, Limit, Blocks, Retries, Failures, Free, Total int64 }

var one = Backend{Count: func() int { return 1 }, Absence: func() string { return "" }, Current: func() int { return -1 }}

var backends = [TypeCount]Backend{CPU: one, Meta: one}

func init() {
	for t := range backends {
		if backends[t].Count == nil {
			Register(Type(t), Backend{Count: func() int { return 0 }, Absence: func() string { return "this library has no backend for it" }})
		}
	}
}

// Register makes b the backend of a type. Call it from init.
func Register(t Type, b Backend) { backends[t] = b }

// Current returns the default index of a device type, or -1 for types without an index.
func Current(t Type) int {
	if f := backends[t].Current; f != nil {
		return f()
	}
	return -1
}

// Synchronize waits for all work of a device.
func Synchronize(op string, d Device) error {
	d, err := Resolve(op, d)
	if f := backends[d.Type].Synchronize; err == nil && f != nil {
		return f(op, d)
	}
	return err
}

// MemoryOf returns the memory statistics of a device.
func MemoryOf(op string, d Device) (m Memory, err error) {
	if d, err = Resolve(op, d); err != nil {
		return m, err
	}
	f := backends[d.Type].Memory
	if f == nil {
		return m, status.Runtimef("%s: device %v has no memory statistics; memory_stats() returns those of the CPU", op, d)
	}
	return f(op, d)
}

// Count returns the number of devices of a type.
func Count(t Type) int { return backends[t].Count() }

// Absence returns the reason why there is no device of a type, or "".
func Absence(t Type) string { return backends[t].Absence() }

// Resolve replaces None by the CPU, a type alone by its current device, and rejects devices that no backend of this process serves.
func Resolve(op string, d Device) (Device, error) {
	if d.Type != NoType && d.Index < -1 {
		return d, status.Runtimef("%s: a device index must not be negative, or -1 for the current device, but got %d", op, d.Index)
	}
	switch d.Type {
	case NoType:
		return Host, nil
	case CPU:
		if d.Index > 0 {
			return d, status.Runtimef("%s: device %v does not exist; there is one cpu device, index 0", op, d)
		}
		return Host, nil
	case Meta:
		return Device{Meta, -1}, nil
	}
	b := &backends[d.Type]
	n := b.Count()
	switch {
	case n == 0:
		return d, status.Runtimef("%s: device %v is not available: %s; use device='cpu'", op, d, b.Absence())
	case d.Index < 0:
		return Device{d.Type, int16(b.Current())}, nil
	case int(d.Index) >= n:
		return d, status.Runtimef("%s: device %v does not exist: invalid device ordinal; the last of %d is %v:%d", op, d, n, d.Type, n-1)
	}
	return d, nil
}
