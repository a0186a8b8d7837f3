// Package cublas multiplies matrices with NVIDIA's cuBLAS, if it is installed. library.c loads it at the first product.
package cublas

// #include "library.h"
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/cuda/nvidia"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
)

// Library is cuBLAS.
var Library = nvidia.Library{
	Library: dynlib.Library{
		Variable: "LIBTENSOR_CUBLAS",
		Table:    dynlib.Table{Names: unsafe.Pointer(&C.lt_cublas_names), Slots: C.lt_cublas_slots, Count: C.LT_CUBLAS_NAMES},
		Lacks:    "%s has no %s: cuBLAS 12.0 or newer is needed",
	},
	Name: "cuBLAS", Folder: "cublas", File: "libcublas.so", Cuda13: 13, Cuda12: 12,
	AllocFailed: C.LT_CUBLAS_ALLOC_FAILED, Describe: describeStatus,
}

// Unsupported reports whether an error of cuBLAS means that a product is not supported on a device.
func Unsupported(err error) bool {
	return hasStatus(err, C.LT_CUBLAS_NOT_SUPPORTED) || hasStatus(err, C.LT_CUBLAS_ARCH_MISMATCH)
}

func hasStatus(err error, status int) bool {
	var f nvidia.Failure
	return errors.As(err, &f) && f.Library == Library.Name && f.Status == status
}

func describeStatus(code int) (name, text string) {
	return C.GoString(C.lt_cublas_name(C.int(code))), C.GoString(C.lt_cublas_text(C.int(code)))
}

func makeError(status C.int, function *C.char) error {
	return Library.StatusError(C.GoString(function), int(status))
}

// types maps dtypes to cuBLAS's data types and compute types.
var types = map[dtype.DType]struct{ name, compute C.int }{
	dtype.Float16:    {C.LT_CUDA_R_16F, C.LT_COMPUTE_32F},
	dtype.BFloat16:   {C.LT_CUDA_R_16BF, C.LT_COMPUTE_32F},
	dtype.Float32:    {C.LT_CUDA_R_32F, C.LT_COMPUTE_32F},
	dtype.Float64:    {C.LT_CUDA_R_64F, C.LT_COMPUTE_64F},
	dtype.Complex64:  {C.LT_CUDA_C_32F, C.LT_COMPUTE_32F},
	dtype.Complex128: {C.LT_CUDA_C_64F, C.LT_COMPUTE_64F},
}

// Serves reports whether cuBLAS multiplies matrices of a dtype.
func Serves(d dtype.DType) bool {
	_, ok := types[d]
	return ok
}

// Operand is a matrix or a batch of matrices: its address, the leading dimension, and the stride between matrices. A turned one is
// row-major instead of column-major.
type Operand struct {
	Data       uintptr
	Lead, Step int64
	Turned     bool
}

// Product is C = Alpha*A*B + Beta*C for a Batch of matrices of M by K and K by N. The factors have the compute type; if Beta is 0, C is not
// read. TF32 allows float32 factors to be rounded to TF32.
type Product struct {
	DType          dtype.DType
	TF32           bool
	M, N, K, Batch int64
	A, B, C        Operand
	Alpha, Beta    [16]byte
}

// Handle is a device's cuBLAS, which threads use one after the other, in the device's context.
type Handle struct {
	mu     sync.Mutex
	handle unsafe.Pointer
}

// New creates a handle for the device whose context is set.
func New() (*Handle, error) {
	h := &Handle{}
	var function *C.char
	status := C.lt_cublas_create(&h.handle, &function)
	return h, makeError(status, function)
}

// Multiply returns a stream a product to compute, which may use the memory from workspace on.
func (h *Handle) Multiply(stream, workspace uintptr, size int64, p *Product) error {
	kind := types[p.DType]
	c := C.lt_cublas_product{
		_type: kind.name, compute: kind.compute, m: C.int64_t(p.M), n: C.int64_t(p.N), k: C.int64_t(p.K), batch: C.int64_t(p.Batch),
		a: C.uint64_t(p.A.Data), b: C.uint64_t(p.B.Data), c: C.uint64_t(p.C.Data),
		lda: C.int64_t(p.A.Lead), ldb: C.int64_t(p.B.Lead), ldc: C.int64_t(p.C.Lead),
		a_step: C.int64_t(p.A.Step), b_step: C.int64_t(p.B.Step), c_step: C.int64_t(p.C.Step),
		alpha: *(*[16]C.char)(unsafe.Pointer(&p.Alpha)), beta: *(*[16]C.char)(unsafe.Pointer(&p.Beta)),
	}
	if p.TF32 && kind.compute == C.LT_COMPUTE_32F && p.DType.Size() > 2 {
		c.compute = C.LT_COMPUTE_32F_FAST_TF32
	}
	c.a_turned, c.b_turned = C.bool(p.A.Turned), C.bool(p.B.Turned)
	var function *C.char
	h.mu.Lock()
	defer h.mu.Unlock()
	status := C.lt_cublas_multiply(h.handle, C.uintptr_t(stream), C.uint64_t(workspace), C.size_t(size), &c, &function)
	return makeError(status, function)
}

// Triangle is a matrix A, of which the upper or the lower triangle counts, and right-hand sides B of M by N, which the solutions of A X =
// B, or X A = B with Right, replace. Both are column-major and contiguous. Unit counts the diagonal as ones, and Adjoint transposes and
// conjugates A.
type Triangle struct {
	DType                       dtype.DType
	Right, Upper, Adjoint, Unit bool
	M, N                        int64
	A, B                        uintptr
}

// Solve returns a stream a triangle to solve with, which may use the memory from workspace on.
func (h *Handle) Solve(stream, workspace uintptr, size int64, t *Triangle) error {
	c := C.lt_cublas_triangle{kind: C.int(nvidia.Kind(t.DType)), right: C.bool(t.Right), upper: C.bool(t.Upper), adjoint: C.bool(t.Adjoint),
		unit: C.bool(t.Unit), m: C.int64_t(t.M), n: C.int64_t(t.N), a: C.uint64_t(t.A), b: C.uint64_t(t.B)}
	var function *C.char
	h.mu.Lock()
	defer h.mu.Unlock()
	status := C.lt_cublas_solve(h.handle, C.uintptr_t(stream), C.uint64_t(workspace), C.size_t(size), &c, &function)
	return makeError(status, function)
}
