// Package launch is the seam between operators and devices. An operator checks its arguments, infers the result and opens what it
// writes; then it launches work, which the device of the tensors does in a way of its own: the host with its kernels
// (engine/host), meta by doing nothing.
package launch

import (
	"reflect"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Device is a type of device: a function for every kind of work. op is the operator's name in errors. What a function gives
// beside an error is known only where elements have values, so that meta refuses it: entries of operators that launch such work have
// the tag syncs.
type Device struct {
	Elementwise func(op string, w Elementwise) error
	Any         func(op string, w Elementwise) (bool, error) // whether a kernel without outputs finds what it looks for

	Copy     func(op string, w Copying) error
	Fill     func(op string, w Filling) error
	Join     func(op string, w Joining) error
	Triangle func(op string, w Triangle) error
	Read     func(op string, t *tensor.Tensor) ([]byte, error) // the bytes of a contiguous tensor, not to be written
	Write    func(op string, w Writing) error

	Reduce func(op string, w Reduction) error
	Scan   func(op string, w Lanes) error
	Sort   func(op string, w Sorting) error
	Search func(op string, w Searching) error
	Unique func(op string, w Distinct) (Groups, error)
	Member func(op string, w Membership) error

	Indexed func(op string, w Indexed) error
	Within  func(op string, w Within) error
	Select  func(op string, w Selection) (*tensor.Tensor, error)
	Place   func(op string, w Placement) error
	Unravel func(op string, w Coordinates) error

	Product  func(op string, w Product) error
	Dot      func(op string, w Dot) error
	Distance func(op string, w Distance) error
	Singular func(op string, w SingularSums) error

	Sequence  func(op string, w Sequence) error
	Draw      func(op string, w Drawing) error
	Count     func(op string, w Counting) error
	Histogram func(op string, w Histogram) error
}

// devices is the table.
var devices [device.TypeCount]*Device

func init() {
	for t := range device.Type(device.TypeCount) {
		Register(t, Device{})
	}
	Register(device.Meta, meta)
}

// Register makes d the device of a type, which refuses the work that d has no function for. Call it from init.
func Register(t device.Type, d Device) {
	for i, f := range reflect.ValueOf(&d).Elem().Fields() {
		if !f.IsNil() {
			continue
		}
		name := i.Name
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			var results []reflect.Value
			for r := range f.Type().NumOut() - 1 {
				results = append(results, reflect.Zero(f.Type().Out(r)))
			}
			err := status.NotImplementedf("%v: device %v has no %s", args[0], t, name)
			return append(results, reflect.ValueOf(&err).Elem())
		}))
	}
	devices[t] = &d
}

// On is the device that works on tensors: that of the first which is not the host's.
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
