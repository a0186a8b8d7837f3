package kernel

// #include "reduce.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

var (
	_ [unsafe.Sizeof(kernelapi.Reduction{}) - C.sizeof_lt_reduction]struct{}
	_ [C.sizeof_lt_reduction - unsafe.Sizeof(kernelapi.Reduction{})]struct{}
	_ [kernelapi.TotalBytes - C.LT_TOTAL]struct{}
	_ [C.LT_TOTAL - kernelapi.TotalBytes]struct{}
)
