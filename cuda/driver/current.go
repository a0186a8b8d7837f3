package driver

// #include <stdint.h>
//
// #include "current.h"
//
// static CUresult lt_device_of(int *index, uintptr_t address) {
//   return cuPointerGetAttribute(index, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)address);
// }
// static CUresult lt_pin(void **at, size_t n) { return cuMemHostAlloc(at, n, CU_MEMHOSTALLOC_PORTABLE); }
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// SharedMemoryOptin is an attribute that cu has no name for.
const SharedMemoryOptin = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

// Most is the largest number of devices that are used.
const Most = C.LT_DEVICES

// Entered is a device's context that Enter has made current on the calling thread.
type Entered struct{ c C.lt_entered }

// Enter makes the context of a device current on the calling thread. Restore must be called on the same thread.
func Enter(context cu.CUContext, device int) (e Entered, err error) {
	err = makeError(C.lt_cuda_enter(*(*C.CUcontext)(unsafe.Pointer(&context)), C.int(device), &e.c))
	return e, err
}

// Stream returns the number of the thread's current stream on the device.
func (e Entered) Stream() int { return int(e.c.stream) }

// Call returns the function of the driver whose error Enter has returned.
func (e Entered) Call() string { return C.GoString(e.c.call) }

// Restore makes the context current again that another library or device had made current before.
func (e Entered) Restore() {
	if e.c.former != nil {
		C.lt_cuda_leave(e.c.former)
	}
}

// CurrentDevice returns the calling thread's.
func CurrentDevice() int { return int(C.lt_current_device()) }

// SetCurrentDevice changes the calling thread's.
func SetCurrentDevice(device int) { C.lt_set_current_device(C.int(device)) }

// CurrentStream returns the number of the calling thread's current stream on a device.
func CurrentStream(device int) int { return int(C.lt_current_stream(C.int(device))) }

// SetCurrentStream changes the current stream of the calling thread on a device.
func SetCurrentStream(device, stream int) { C.lt_set_current_stream(C.int(device), C.int(stream)) }

// Pin returns n bytes of page-locked host memory.
func Pin(n int64) (at unsafe.Pointer, err error) {
	err = makeError(C.lt_pin(&at, C.size_t(n)))
	return at, err
}

// DeviceOf returns the index of the device whose memory is at an address.
func DeviceOf(address uintptr) (int, error) {
	var index C.int
	err := makeError(C.lt_device_of(&index, C.uintptr_t(address)))
	return int(index), err
}

// StreamOf returns the stream behind a handle of the driver's.
func StreamOf(handle uintptr) cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&handle)) }

// StreamHandle returns the driver's handle of a stream.
func StreamHandle(s cu.Stream) uintptr { return *(*uintptr)(unsafe.Pointer(&s)) }

// EventHandle returns the driver's handle of an event.
func EventHandle(e cu.Event) uintptr { return *(*uintptr)(unsafe.Pointer(&e)) }

// Waits reports whether an error says that work is not done yet.
func Waits(err error) bool { return Code(err) == C.CUDA_ERROR_NOT_READY }

// IsEnabled reports whether an error means that peer access was already enabled.
func IsEnabled(err error) bool { return Code(err) == C.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED }
