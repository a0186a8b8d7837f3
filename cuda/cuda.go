// Package cuda is the backend for NVIDIA's devices. docs/cuda.md tells how it works.
package cuda

import (
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
)

func init() {
	device.Register(device.CUDA, device.Backend{Count: driver.Count, Absence: absence, Current: func() int { return 0 }})
}

func absence() string {
	if why := driver.Absence(); why != "" || driver.Count() > 0 {
		return why
	}
	return "the driver has no device"
}
