package kernel

// #include "update.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

var (
	_ [unsafe.Sizeof(kernelapi.ParameterUpdate{}) - C.sizeof_lt_update]struct{}
	_ [C.sizeof_lt_update - unsafe.Sizeof(kernelapi.ParameterUpdate{})]struct{}
	_ [kernelapi.Adagrad - C.LT_ADAGRAD]struct{}
	_ [C.LT_ADAGRAD - kernelapi.Adagrad]struct{}
)
