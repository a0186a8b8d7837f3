package kernel

// #include "alignment.h"
import "C"

import "unsafe"

// AlignmentRoom is the number of scratch elements per part of an alignment, in addition to the states.
const AlignmentRoom = C.LT_ALIGNMENT_ROOM

// Alignment is an example of connectionist temporal classification; it mirrors lt_alignment.
type Alignment struct {
	Logs, Labels, Forward, Gradient, Room     uintptr
	Steps, Step, Classes, Count, Blank, Width int64
	Loss, Given                               float64
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(Alignment{}) - C.sizeof_lt_alignment]struct{}
	_ [C.sizeof_lt_alignment - unsafe.Sizeof(Alignment{})]struct{}
)
