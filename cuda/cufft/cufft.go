// Package cufft computes Fourier transforms with NVIDIA's cuFFT, if it is installed. It is loaded by the first transform.
package cufft

// #include "library.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/nvidia"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
)

// Library is cuFFT.
var Library = nvidia.Library{
	Library: dynlib.Library{
		Variable: "LIBTENSOR_CUFFT",
		Table:    dynlib.Table{Names: unsafe.Pointer(&C.lt_cufft_names), Slots: C.lt_cufft_slots, Count: C.LT_CUFFT_NAMES},
		Lacks:    "%s has no %s: cuFFT 11.0 or newer is needed",
	},
	Name: "cuFFT", Folder: "cufft", File: "libcufft.so", Cuda13: 12, Cuda12: 11,
	AllocFailed: C.LT_CUFFT_ALLOC_FAILED, Describe: nvidia.Named("CUFFT_", map[int]string{
		1: "INVALID_PLAN", 2: "ALLOC_FAILED", 3: "INVALID_TYPE", 4: "INVALID_VALUE", 5: "INTERNAL_ERROR", 6: "EXEC_FAILED", 7: "SETUP_FAILED",
		8: "INVALID_SIZE", 9: "UNALIGNED_DATA", 11: "INVALID_DEVICE", 13: "NO_WORKSPACE", 14: "NOT_IMPLEMENTED", 16: "NOT_SUPPORTED",
	}),
}

// MaxRank is the largest number of dimensions that a transform has.
const MaxRank = C.LT_CUFFT_RANK

// Shape identifies a plan: Batch transforms of contiguous arrays of the first Rank of Sizes, of dtype From to dtype To. Real numbers have
// the full sizes, and the Hermitian numbers half of the last one.
type Shape struct {
	Rank     int
	Sizes    [MaxRank]int64
	From, To dtype.DType
	Batch    int64
}

func (s Shape) findKind() C.int {
	switch {
	case s.From == dtype.Complex64 && s.To == dtype.Complex64:
		return C.LT_C2C
	case s.From == dtype.Complex128 && s.To == dtype.Complex128:
		return C.LT_Z2Z
	case s.From == dtype.Float32:
		return C.LT_R2C
	case s.From == dtype.Float64:
		return C.LT_D2Z
	case s.To == dtype.Float32:
		return C.LT_C2R
	}
	return C.LT_Z2D
}

// Plan is a plan of cuFFT, which needs a work area of Bytes.
type Plan struct {
	Shape
	Bytes int64
	plan  C.int
}

// New makes a plan for the device whose context is set.
func New(s Shape) (*Plan, error) {
	p := &Plan{Shape: s}
	var bytes C.size_t
	var function *C.char
	status := C.lt_cufft_plan(&p.plan, C.int(s.Rank), (*C.int64_t)(&s.Sizes[0]), s.findKind(), C.int64_t(s.Batch), &bytes, &function)
	p.Bytes = int64(bytes)
	return p, makeError(status, function)
}

// Transform transforms the array at from, which it may overwrite, to the one at to, in a stream.
func (p *Plan) Transform(stream, room, from, to uintptr, inverse bool) error {
	var function *C.char
	status := C.lt_cufft_transform(p.plan, p.findKind(), C.bool(inverse), C.uintptr_t(stream), C.uint64_t(room),
		C.uint64_t(from), C.uint64_t(to), &function)
	return makeError(status, function)
}

// Forget destroys the plan, in the context of its device.
func (p *Plan) Forget() error {
	var function *C.char
	return makeError(C.lt_cufft_forget(p.plan, &function), function)
}

func makeError(status C.int, function *C.char) error {
	return Library.StatusError(C.GoString(function), int(status))
}
