package kernel

// #include "sampling.h"
import "C"

import "unsafe"

// Sample holds the arguments of grid sampling; it mirrors lt_sample.
type Sample struct {
	Image, Grid, Along, Values, Slope, Room                                uintptr
	Bytes, Units, Begin, End, Channels, Points, Dims, Mode, Padding, Align int64
	ExampleStride, ChannelStride                                           int64
	Sizes, Strides                                                         [C.LT_SAMPLE_DIMS]int64
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Sample{}) - C.sizeof_lt_sample]struct{}
	_ [C.sizeof_lt_sample - unsafe.Sizeof(Sample{})]struct{}
)
