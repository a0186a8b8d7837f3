// Package backend is the interface between operators and devices. An operator checks its arguments, infers the result and opens its
// outputs; then it launches a kernel, which the device of the tensors executes: the CPU with its kernels
// (engine/cpu), meta by doing nothing.
package backend

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// devices is the table, unguarded the devices without the checks of Cancel, and registered lists the device types with registered
// functions.
var (
	devices    [device.TypeCount]unsafe.Pointer // of *Device: the inlined load of an atomic.Pointer calls a function
	unguarded  [device.TypeCount]*Device
	registered [device.TypeCount]bool
)

func init() {
	for t := range device.Type(device.TypeCount) {
		Register(t, Device{})
	}
	Register(device.Meta, metaDevice)
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
			if t == device.CPU {
				return errorResults(f.Type(), status.NotImplementedf("%v: this build has no kernels for the cpu (build tag nokernels)", args[0]))
			}
			return errorResults(f.Type(), status.NotImplementedf("%v is not implemented on %v, which has no %s; move the tensors to the cpu",
				args[0], t, name))
		}))
	}
	unguarded[t] = &d
	atomic.StorePointer(&devices[t], unsafe.Pointer(&d))
}

// Cancel makes launches check whether the call of their thread is cancelled, in which case they return an error, while some call is. Both
// devices do the work of other threads' calls.
func Cancel(some bool) {
	for t, d := range unguarded {
		if some {
			d = guardedDevices[t]()
		}
		atomic.StorePointer(&devices[t], unsafe.Pointer(d))
	}
}

// guardedDevices returns the devices that check for cancelled calls.
var guardedDevices [device.TypeCount]func() *Device

func init() {
	for t := range guardedDevices {
		guardedDevices[t] = sync.OnceValue(func() *Device { return newGuarded(unguarded[t]) })
	}
}

// newGuarded returns a device whose launches return an error if the call of their thread is cancelled.
func newGuarded(d *Device) *Device {
	made := new(Device)
	from, to := reflect.ValueOf(d).Elem(), reflect.ValueOf(made).Elem()
	for i := range from.NumField() {
		launch := from.Field(i)
		to.Field(i).Set(reflect.MakeFunc(launch.Type(), func(args []reflect.Value) []reflect.Value {
			if !parallel.IsCancelled() {
				return launch.Call(args)
			}
			return errorResults(launch.Type(), status.Cancelledf("%v: the call was cancelled", args[0]))
		}))
	}
	return made
}

// errorResults returns the results of a function that returns an error.
func errorResults(of reflect.Type, err error) (results []reflect.Value) {
	for r := range of.NumOut() - 1 {
		results = append(results, reflect.Zero(of.Out(r)))
	}
	return append(results, reflect.ValueOf(&err).Elem())
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
	return (*Device)(atomic.LoadPointer(&devices[t.Device().Type]))
}

// Copy writes from to to, broadcast and converted; they share no memory.
func Copy(op string, to, from *tensor.Tensor) error {
	return On(to, from).Copy(op, Copying{To: to, From: from})
}
