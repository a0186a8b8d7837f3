// Package driver calls the CUDA driver where there is one: through gorgonia.org/cu, and through declarations of its own for what cu does
// not offer. Its trampolines (trampolines.c) open the driver when it is first called.
package driver

// #include "driver.h"
import "C"

import (
	"sync"

	"gorgonia.org/cu"
)

// Absence tells why there is no driver to call, and is empty where there is one.
func Absence() string { return C.GoString(C.lt_driver_absence()) }

// Count is the number of devices.
var Count = sync.OnceValue(func() int {
	if Absence() != "" {
		return 0
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0
	}
	return n
})
