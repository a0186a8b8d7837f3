package kernel

// #include "reduce.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
)

// TotalBytes is the size of a reduction's running total.
const TotalBytes = C.LT_TOTAL

// Reduction is one reduction of a strided input; it mirrors lt_reduction of reduce.h.
type Reduction struct {
	Op                      uintptr
	In                      uintptr
	Out                     [2]uintptr
	Totals                  uintptr
	Kept, Reduced, Pieces   int32
	Memory, Compute         dtype.DType
	OutMemory               [2]dtype.DType
	Columns, Base, Count    int64
	Params                  [2]float64
	KeptSizes, KeptIn       [64]int64
	KeptOut                 [2][64]int64
	ReducedSizes, ReducedIn [64]int64
}

// The two must agree to the byte.
var _ [unsafe.Sizeof(Reduction{}) - C.sizeof_lt_reduction]struct{}
var _ [C.sizeof_lt_reduction - unsafe.Sizeof(Reduction{})]struct{}
