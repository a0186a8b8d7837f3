// Package device names where a tensor's bytes live.
package device

import (
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/status"
)

// Type is a kind of device. The numbers are those of tensor_device_type in tensor.h.
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

// None asks for the device that the call implies: that of an operand, or the default one.
var None = Device{NoType, -1}

// Host is the CPU.
var Host = Device{CPU, -1}

// IsNone tells whether no device is named.
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

// Resolve replaces None by the CPU and refuses devices that no backend of this process serves.
func Resolve(op string, d Device) (Device, error) {
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
	why := "this library has no backend for it"
	if d.Type == CUDA {
		why = "no CUDA driver was found"
	}
	return d, status.Runtimef("%s: device %v is not available: %s; use device='cpu'", op, d, why)
}
