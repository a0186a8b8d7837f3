// Package backend is the interface between operators and devices. An operator checks its arguments, infers the result and opens its
// outputs; then it launches a kernel, which the device of the tensors executes: the CPU with its kernels
// (engine/cpu), meta by doing nothing.
package backend

import (
	"reflect"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// devices is the table, and registered lists the device types with registered functions.
var (
	devices    [device.TypeCount]*Device
	registered [device.TypeCount]bool
)

func init() {
	for t := range device.Type(device.TypeCount) {
		Register(t, Device{})
	}
	Register(device.Meta, meta)
}

// Register makes d the device of a type, which rejects the work that d has no function for. Call it from init.
func Register(t device.Type, d Device) {
	for i, f := range reflect.ValueOf(&d).Elem().Fields() {
		if !f.IsNil() {
			registered[t] = true
			continue
		}
		name := i.Name
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			var results []reflect.Value
			for r := range f.Type().NumOut() - 1 {
				results = append(results, reflect.Zero(f.Type().Out(r)))
			}
			err := status.NotImplementedf("%v is not implemented on %v, which has no %s; move the tensors to the cpu", args[0], t, name)
			return append(results, reflect.ValueOf(&err).Elem())
		}))
	}
	devices[t] = &d
}

// Registered reports whether a type of device does any work.
func Registered(t device.Type) bool { return registered[t] }

// On returns the device that works on tensors: that of the first which is not the host's.
func On(t *tensor.Tensor, others ...*tensor.Tensor) *Device {
	for _, other := range others {
		if t.Device().Type == device.CPU {
			t = other
		}
	}
	return devices[t.Device().Type]
}

// Copy writes from to to, broadcast and converted; they share no memory.
func Copy(op string, to, from *tensor.Tensor) error {
	return On(to, from).Copy(op, Copying{To: to, From: from})
}
