package kernel

// #include "scan.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

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
var _ [kernelapi.SortIndex - C.LT_SORT_INDEX]struct{}
var _ [C.LT_SORT_INDEX - kernelapi.SortIndex]struct{}
var _ [unsafe.Sizeof(Scan{}) - C.sizeof_lt_scan]struct{}
var _ [C.sizeof_lt_scan - unsafe.Sizeof(Scan{})]struct{}
