// Package cuda is the backend for NVIDIA's devices. docs/cuda.md tells how it works.
package cuda

import (
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() {
	device.Register(device.CUDA, device.Backend{
		Count: driver.Count, Absence: absence, Current: func() int { return 0 },
		Synchronize: func(op string, d device.Device) error {
			return on(op, d, func(m *machine) error { return m.synchronize(op) })
		},
		Memory: account,
	})
	storage.Register(device.CUDA, memory{})
	storage.AddParking(caches{})
	launch.Register(device.CUDA, launch.Device{
		Elementwise: elementwise,
		Any:         anywhere,

		Copy:     copyTo,
		Fill:     fill,
		Join:     join,
		Triangle: triangular,
		Read:     read,
		Write:    write,

		Reduce: reduce,
		Scan:   scan,

		Indexed: indexed,
		Within:  within,

		Product: multiply,

		Sequence: sequence,
	})
}

func absence() string {
	if why := driver.Absence(); why != "" || driver.Count() > 0 {
		return why
	}
	return "the driver has no device"
}
