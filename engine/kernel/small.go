package kernel

// #include "small.h"
import "C"

import "unsafe"

// SmallLimit is the most rows and columns of small matrices.
const SmallLimit = C.LT_SMALL

// Small is a call of a kernel for small matrices; it mirrors lt_small.
type Small struct {
	A, B, Values, Pivots, Info uintptr
	M, N, Right                int64
	Reflections, Upper         int64
	Begin, End                 int64
}

// The two must agree to the byte.
var (
	_ [unsafe.Sizeof(Small{}) - C.sizeof_lt_small]struct{}
	_ [C.sizeof_lt_small - unsafe.Sizeof(Small{})]struct{}
)
