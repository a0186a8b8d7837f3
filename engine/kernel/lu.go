package kernel

// #include "lu.h"
import "C"

import "unsafe"

// LULimit is the largest number of columns of a block, and of rows of a triangle, in an LU factorization.
const LULimit = C.LT_LU

// LU is a call of a kernel for parts of large factorizations; it mirrors lt_lu.
type LU struct {
	A, B, Pivots           uintptr
	M, N                   int64
	ARow, ACol, BRow, BCol int64
	Batch, AStep, BStep    int64
	Upper, Unit, Info      int64
}

// The two must agree to the byte.
var (
	_ [unsafe.Sizeof(LU{}) - C.sizeof_lt_lu]struct{}
	_ [C.sizeof_lt_lu - unsafe.Sizeof(LU{})]struct{}
)
