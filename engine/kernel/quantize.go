package kernel

// #include "quantize.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

var (
	_ [unsafe.Sizeof(kernelapi.QuantizedPair{}) - C.sizeof_lt_quantized_pair]struct{}
	_ [C.sizeof_lt_quantized_pair - unsafe.Sizeof(kernelapi.QuantizedPair{})]struct{}
)
