package kernel

// #include "quantize.h"
import "C"

import "unsafe"

// QuantizedPair are the parameters of kernels of two quantized operands; it mirrors lt_quantized_pair.
type QuantizedPair struct {
	AScale, BScale, Factor        float32
	AZero, BZero, Zero, Low, High int32
}

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(QuantizedPair{}) - C.sizeof_lt_quantized_pair]struct{}
	_ [C.sizeof_lt_quantized_pair - unsafe.Sizeof(QuantizedPair{})]struct{}
)
