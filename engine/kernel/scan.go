package kernel

// #include "scan.h"
import "C"

import "unsafe"

// SortEntry returns the scratch, in bytes, for the entry of an element of size bytes: its key and its index.
func SortEntry(size int64) int64 { return size + C.LT_SORT_INDEX }

// Scan runs a kernel along the middle dimension of a contiguous tensor seen as Outer x N x Inner, for Width inner positions
// from where the pointers start; it mirrors lt_scan.
type Scan struct {
	In                     uintptr
	Out                    [2]uintptr
	Scratch, With          uintptr
	Outer, N, Inner, Width int64
	Params                 [2]int64
}

// The two must agree to the byte.
var _ [unsafe.Sizeof(Scan{}) - C.sizeof_lt_scan]struct{}
var _ [C.sizeof_lt_scan - unsafe.Sizeof(Scan{})]struct{}
