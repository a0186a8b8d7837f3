package kernel

// #include "pooling.h"
import "C"

import "unsafe"

// Windows are those along a dimension of an image; it mirrors lt_windows.
type Windows struct {
	Size, Positions, Taps, Stride, Step, Origin int64
}

// Pool holds the arguments of a kernel on windows of images. It mirrors lt_pool.
type Pool struct {
	Image, Result, Indices, Samples, Room                                       uintptr
	Bytes, Channels, Begin, End, ImagePlane, ResultPlane, Divisor, Padded, Dims int64
	Windows                                                                     [C.LT_POOL_DIMS]Windows
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Pool{}) - C.sizeof_lt_pool]struct{}
	_ [C.sizeof_lt_pool - unsafe.Sizeof(Pool{})]struct{}
)
