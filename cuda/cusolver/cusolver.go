// Package cusolver factors matrices with NVIDIA's cuSOLVER, if it is installed. It is loaded by the first factorization.
package cusolver

// #include "library.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/cuda/nvidia"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
)

// Library is cuSOLVER.
var Library = nvidia.Library{
	Library: dynlib.Library{
		Variable: "LIBTENSOR_CUSOLVER",
		Table:    dynlib.Table{Names: unsafe.Pointer(&C.lt_cusolver_names), Slots: C.lt_cusolver_slots, Count: C.LT_CUSOLVER_NAMES},
		Lacks:    "%s has no %s: cuSOLVER 11.4 or newer is needed",
	},
	Name: "cuSOLVER", Folder: "cusolver", File: "libcusolver.so", Cuda13: 12, Cuda12: 11,
	AllocFailed: C.LT_CUSOLVER_ALLOC_FAILED, Describe: nvidia.Named("CUSOLVER_STATUS_", map[int]string{
		1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH", 5: "MAPPING_ERROR", 6: "EXECUTION_FAILED",
		7: "INTERNAL_ERROR", 8: "MATRIX_TYPE_NOT_SUPPORTED", 9: "NOT_SUPPORTED",
	}),
}

// HasGeev reports whether the library, which must have been found, has Geev.
var HasGeev = sync.OnceValue(func() bool {
	return Library.HasAll(dynlib.Table{Names: unsafe.Pointer(&C.lt_cusolver_eigen_names), Slots: C.lt_cusolver_eigen_slots,
		Count: C.LT_CUSOLVER_EIGEN_NAMES})
})

// Function is a function of cuSOLVER, with the name of LAPACK's.
type Function C.int

// The functions.
const (
	Getrf Function = C.LT_GETRF
	Potrf Function = C.LT_POTRF
	Geqrf Function = C.LT_GEQRF
	Orgqr Function = C.LT_ORGQR
	Ormqr Function = C.LT_ORMQR
	Syevd Function = C.LT_SYEVD
	Gesvd Function = C.LT_GESVD
	Sytrf Function = C.LT_SYTRF
	Getrs Function = C.LT_GETRS
	Sytrs Function = C.LT_SYTRS
	Geev  Function = C.LT_GEEV
)

// Call is a call for one matrix A of M by N, all in column-major order. Values are the scales of K reflections, eigenvalues or singular
// values. Vectors computes eigenvectors or singular vectors; with Whole, as many as A has rows and columns. Pivots are int32, and int64
// for Sytrs.
type Call struct {
	Function                              Function
	DType                                 dtype.DType
	Upper, Right, Adjoint, Vectors, Whole bool
	M, N, K, Rows, Columns                int64 // the last two of B
	A, B, Values, U, V, Pivots, Info      uintptr
}

func (c *Call) makeArguments() C.lt_cusolver_call {
	return C.lt_cusolver_call{
		function: C.int(c.Function), kind: C.int(nvidia.Kind(c.DType)),
		upper: C.bool(c.Upper), right: C.bool(c.Right), adjoint: C.bool(c.Adjoint), vectors: C.bool(c.Vectors), whole: C.bool(c.Whole),
		m: C.int64_t(c.M), n: C.int64_t(c.N), k: C.int64_t(c.K), b_rows: C.int64_t(c.Rows), b_columns: C.int64_t(c.Columns),
		a: C.uint64_t(c.A), b: C.uint64_t(c.B), values: C.uint64_t(c.Values), u: C.uint64_t(c.U), v: C.uint64_t(c.V),
		pivots: C.uint64_t(c.Pivots), info: C.uint64_t(c.Info),
	}
}

// Handle is a device's cuSOLVER, which threads use one after the other, in the device's context.
type Handle struct {
	mu     sync.Mutex
	handle unsafe.Pointer
}

// New creates a handle for the device whose context is set.
func New() (*Handle, error) {
	h := &Handle{}
	var function *C.char
	status := C.lt_cusolver_create(&h.handle, &function)
	return h, makeError(status, function)
}

// Room is the size of workspaces in bytes, on the device and on the host.
type Room struct{ Device, Host int64 }

// Measure returns the workspaces of a call.
func (h *Handle) Measure(c *Call) (Room, error) {
	of := c.makeArguments()
	var room C.lt_cusolver_room
	var function *C.char
	h.mu.Lock()
	defer h.mu.Unlock()
	status := C.lt_cusolver_measure(h.handle, &of, &room, &function)
	return Room{int64(room.device), int64(room.host)}, makeError(status, function)
}

// Run runs a call in a stream, with workspaces of the measured size on the device and the host.
func (h *Handle) Run(stream uintptr, c *Call, device uintptr, host []byte, r Room) error {
	of := c.makeArguments()
	room := C.lt_cusolver_room{device: C.size_t(r.Device), host: C.size_t(r.Host)}
	var function *C.char
	h.mu.Lock()
	defer h.mu.Unlock()
	status := C.lt_cusolver_run(h.handle, C.uintptr_t(stream), &of, C.uint64_t(device), unsafe.Pointer(unsafe.SliceData(host)), &room,
		&function)
	return makeError(status, function)
}

func makeError(status C.int, function *C.char) error {
	return Library.StatusError(C.GoString(function), int(status))
}
