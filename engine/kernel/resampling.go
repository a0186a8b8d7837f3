package kernel

// #include "resampling.h"
import "C"

import "unsafe"

// Taps holds the interpolation along a dimension; it mirrors lt_taps.
type Taps struct {
	Size, Outputs, Most, Back int64
	Index, Weights, Counts    uintptr
	Unit                      float64
}

// Resample makes rows of planes from those of others; it mirrors lt_resample.
type Resample struct {
	From, To, Room                       uintptr
	Bytes, Lanes, Begin, End, AlongFirst int64
	Axes                                 [C.LT_RESAMPLE_DIMS]Taps
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Resample{}) - C.sizeof_lt_resample]struct{}
	_ [C.sizeof_lt_resample - unsafe.Sizeof(Resample{})]struct{}
)
