// Package cublas multiplies matrices with NVIDIA's cuBLAS, if it is installed. library.c loads it at the first product.
package cublas

// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	_ "github.com/libtensor/libtensor/cuda/driver" // with its version, which determines the matching cuBLAS
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
)

var cublas = dynlib.Library{
	Variable: "LIBTENSOR_CUBLAS",
	Table:    dynlib.Table{Names: unsafe.Pointer(&C.lt_cublas_names), Slots: C.lt_cublas_slots, Count: C.LT_CUBLAS_NAMES},
	Lacks:    "%s has no %s: cuBLAS 12.0 or newer is needed",
}

// versions lists the cuBLAS versions that a driver version supports, with the names of the system's libraries and of those of wheels next
// to this package.
var versions = []struct {
	driver C.int
	files  []string
}{
	{13000, []string{"libcublas.so.13", "../../nvidia/cu13/lib/libcublas.so.13"}},
	{12000, []string{"libcublas.so.12", "../../nvidia/cublas/lib/libcublas.so.12"}},
}

// Find reports whether there is a cuBLAS to call. It is an error where LIBTENSOR_CUBLAS names one that cannot be used.
var Find = sync.OnceValues(func() (bool, error) {
	driver := C.lt_driver_version()
	for _, v := range versions {
		if driver >= v.driver {
			cublas.Files = append(cublas.Files, v.files...)
		}
	}
	found, why := cublas.Open()
	if !found && cublas.Named() {
		return false, fmt.Errorf("%s does not name a usable cuBLAS library: %w", cublas.Variable, why)
	}
	return found, nil
})

// Failure is a status that a function of cuBLAS gave.
type Failure struct {
	Function string
	status   C.int
}

func (f Failure) Error() string {
	return fmt.Sprintf("cuBLAS error in %s: %s, %s", f.Function, C.GoString(C.lt_cublas_name(f.status)),
		C.GoString(C.lt_cublas_text(f.status)))
}

// OutOfMemory reports whether an error says that a device has no memory left.
func OutOfMemory(err error) bool { return is(err, C.LT_CUBLAS_ALLOC_FAILED) }

// Unsupported reports whether an error of cuBLAS means that a product is not supported on a device.
func Unsupported(err error) bool {
	return is(err, C.LT_CUBLAS_NOT_SUPPORTED) || is(err, C.LT_CUBLAS_ARCH_MISMATCH)
}

func is(err error, status C.int) bool {
	var f Failure
	return errors.As(err, &f) && f.status == status
}

func result(status C.int, function *C.char) error {
	if status == 0 {
		return nil
	}
	return Failure{C.GoString(function), status}
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
	return h, result(status, function)
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
	if p.A.Turned {
		c.a_turned = 1
	}
	if p.B.Turned {
		c.b_turned = 1
	}
	var function *C.char
	h.mu.Lock()
	defer h.mu.Unlock()
	status := C.lt_cublas_multiply(h.handle, C.uintptr_t(stream), C.uint64_t(workspace), C.size_t(size), &c, &function)
	return result(status, function)
}
