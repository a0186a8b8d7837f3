// Package blas loads OpenBLAS at its first use: the bundled one, which has 64-bit integers, or the system's. OpenBLAS runs single-threaded
// on the caller's thread: callers divide large products among threads.
package blas

// #include "blas.h"
// #include <stdlib.h>
// #cgo noescape lt_blas_gemm
// #cgo nocallback lt_blas_gemm
// #cgo noescape lt_blas_gemv
// #cgo nocallback lt_blas_gemv
import "C"

import (
	"errors"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
	"github.com/libtensor/libtensor/engine/status"
)

// Variable names the library's file, or is "none" to do without OpenBLAS.
const Variable = "LIBTENSOR_OPENBLAS"

const file = "libscipy_openblas64_.so"

// openBLAS is searched for in libtensor's libs folder, in the build folder of a source tree and in the system, with 64-bit or 32-bit
// integers. Builds differ in a prefix of the symbols, and in a suffix for 64 bits.
var openBLAS = dynlib.Library{
	Variable: Variable,
	Files:    []string{"./" + file, "libs/" + file, "openblas/" + file, "libopenblas64_.so.0", "libopenblas64.so.0", "libopenblas.so.0"},
	Prefixes: []string{"scipy_", ""},
	Suffixes: []string{"64_", ""},
	Table:    dynlib.Table{Names: unsafe.Pointer(&C.lt_blas_names), Slots: C.lt_blas_slots, Count: C.LT_BLAS_NAMES},
	Lacks:    "%s: it has not all of OpenBLAS's BLAS and LAPACK: no %s",
	Ready: func() (func(), error) {
		if C.lt_blas_open() == 0 {
			return nil, dynlib.Shortage("memory")
		}
		return func() { C.lt_blas_opened() }, nil
	},
}

// available reports whether OpenBLAS was found. A lack of memory to open it is an error of the current call, since other kernels would
// return other bits until a later call succeeds.
func available() bool {
	found, why := openBLAS.Open()
	if short := dynlib.Shortage(""); errors.As(why, &short) {
		panic(status.Memoryf("OpenBLAS could not be opened at its first use: %v", short))
	}
	return found
}

// Missing returns the error for operators that need OpenBLAS's LAPACK if it was not found.
func Missing(op string) error {
	if _, fault := openBLAS.Open(); fault != nil {
		return status.NotImplementedf("%s: LAPACK is required, but OpenBLAS could not be opened at its first use: %v; set %s to its path", op,
			fault, Variable)
	}
	return status.NotImplementedf("%s: LAPACK is required, but OpenBLAS was not found; set %s to its path, or install a package, which contains it",
		op, Variable)
}

// types numbers the dtypes that BLAS computes in.
var types = map[dtype.DType]int32{dtype.Float32: 0, dtype.Float64: 1, dtype.Complex64: 2, dtype.Complex128: 3}

// Serves reports whether OpenBLAS is there and computes in dtype d.
func Serves(d dtype.DType) bool {
	_, ok := types[d]
	return ok && available()
}

// Integer is the dtype of the integers of an OpenBLAS that is there.
var Integer = sync.OnceValue(func() dtype.DType {
	if C.lt_blas_integer_bytes() == 4 {
		return dtype.Int32
	}
	return dtype.Int64
})

// Reaches reports whether OpenBLAS's integers hold numbers.
func Reaches(numbers ...int64) bool {
	return Integer() == dtype.Int64 || slices.Max(numbers) <= math.MaxInt32
}

// began returns an error for where OpenBLAS could not begin.
func began(yes C.int) {
	if yes == 0 {
		panic(status.Memoryf("not enough memory for OpenBLAS, which allocates 32 MiB for each concurrent call"))
	}
}

// Gemm multiplies matrices of dtype d, which OpenBLAS must serve.
func Gemm(d dtype.DType, p *Product) {
	p.Type = types[d]
	began(C.lt_blas_gemm((*C.lt_blas_product)(unsafe.Pointer(p))))
}

// Gemv multiplies a matrix a and a vector b with stride Ldb into a vector c with stride Ldc.
func Gemv(d dtype.DType, p *Product) {
	p.Type = types[d]
	began(C.lt_blas_gemv((*C.lt_blas_product)(unsafe.Pointer(p))))
}
