package kernel

// #include "float8.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Go and C must agree to the byte.
var (
	_ [unsafe.Sizeof(dtype.Float8Format{}) - C.sizeof_lt_float8_format]struct{}
	_ [C.sizeof_lt_float8_format - unsafe.Sizeof(dtype.Float8Format{})]struct{}
)
