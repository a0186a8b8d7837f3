// Package driver calls the CUDA driver, if it is installed, through gorgonia.org/cu, and directly for functions that cu
// lacks. Its trampolines (trampolines.c) load the driver at the first call.
package driver

// #include "driver.h"
// #include <cuda.h>
//
// // Arguments go as one buffer: cu's own Launch takes 8 bytes for each.
// static CUresult lt_launch(CUfunction f, unsigned blocks, unsigned threads, CUstream s, void *arguments, size_t n) {
//   void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END};
//   return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, NULL, extra);
// }
// // The log is what the driver's assembler says of an error.
// static CUresult lt_load(CUmodule *module, const char *ptx, char *log, size_t size) {
//   CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
//   void *values[] = {log, (void *)size};
//   return cuModuleLoadDataEx(module, ptx, 2, options, values);
// }
import "C"

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// Absence returns the reason why no driver can be called, or "".
func Absence() string { return C.GoString(C.lt_driver_absence()) }

// Devices is the number of devices, and why there are none.
var Devices = sync.OnceValues(func() (n int, absence string) {
	if why := Absence(); why != "" {
		return 0, why
	}
	n, err := cu.NumDevices()
	switch {
	case err != nil:
		return 0, "the driver does not tell its devices: " + Text(err)
	case n == 0:
		return 0, "the driver has no device"
	}
	return min(n, Most), ""
})

// Launch runs a kernel whose arguments are the n bytes at args.
func Launch(f cu.Function, blocks, threads int, s cu.Stream, args unsafe.Pointer, n uintptr) error {
	function := *(*C.CUfunction)(unsafe.Pointer(&f))
	stream := C.CUstream(unsafe.Pointer(s.C()))
	return makeError(C.lt_launch(function, C.uint(blocks), C.uint(threads), stream, args, C.size_t(n)))
}

// Load loads a module of PTX, which the driver compiles for the current context's device. log is the compiler's description of an error.
func Load(ptx string) (module cu.Module, log string, err error) {
	text := append([]byte(ptx), 0)
	buffer := make([]byte, 8192)
	err = makeError(C.lt_load((*C.CUmodule)(unsafe.Pointer(&module)), (*C.char)(unsafe.Pointer(&text[0])),
		(*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer))))
	log, _, _ = strings.Cut(string(buffer), "\x00")
	return module, strings.TrimSpace(log), err
}

// driverError is an error code of the driver.
type driverError int

func (f driverError) Error() string { return Text(f) }

func makeError(code C.CUresult) error {
	if code == C.CUDA_SUCCESS {
		return nil
	}
	return driverError(code)
}

// Code returns the number of an error that a call of the driver gave, cu's among them.
func Code(err error) int {
	if v := reflect.ValueOf(err); v.CanInt() {
		return int(v.Int())
	}
	return -1
}

// Text returns the driver's name and description of an error.
func Text(err error) string {
	code := Code(err)
	var name, text *C.char
	if code < 0 || C.cuGetErrorName(C.CUresult(code), &name) != C.CUDA_SUCCESS ||
		C.cuGetErrorString(C.CUresult(code), &text) != C.CUDA_SUCCESS {
		return fmt.Sprintf("error %d of the driver", code)
	}
	return C.GoString(name) + ", " + C.GoString(text)
}

// OutOfMemory reports whether an error means that a device has no free memory.
func OutOfMemory(err error) bool { return Code(err) == C.CUDA_ERROR_OUT_OF_MEMORY }
